//! Passing a turn on: a stream made of a future, and one model's turn handed to whoever asked for it.

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::mpsc;

use super::{Delta, Model, ModelError, TurnRequest};

/// Where a turn's deltas go.
pub(super) struct Sink {
    out: mpsc::Sender<Result<Delta, ModelError>>,
}

impl Sink {
    /// Hands one delta over. The reader being gone is no error: dropping the stream drops the work as well.
    pub async fn delta(&self, delta: Delta) {
        self.out.send(Ok(delta)).await.ok();
    }
}

/// A stream of what `work` hands to its sink, ended by its error if it has one. The work runs only while the stream
/// is read, and ends when it is dropped.
pub(super) fn produce<Work, Run>(work: Work) -> BoxStream<'static, Result<Delta, ModelError>>
where
    Work: FnOnce(Sink) -> Run,
    Run: Future<Output = Result<(), ModelError>> + Send + 'static,
{
    let (out, received) = mpsc::channel(1);
    let run = work(Sink { out: out.clone() });
    let run = async move {
        if let Err(error) = run.await {
            out.send(Err(error)).await.ok();
        }
    };
    let silent = stream::once(run).filter_map(|()| std::future::ready(None));
    stream::select(silent, tokio_stream::wrappers::ReceiverStream::new(received)).boxed()
}

/// A turn that failed.
pub(super) struct Failed {
    pub error: ModelError,
    /// Complete calls were passed on: they may be running already, so the turn must not be asked again.
    pub called: bool,
}

/// Asks `model` and passes on what it says. Text waits until a call or the end follows it: text of an attempt that
/// fails is never seen.
pub(super) async fn relay(model: &dyn Model, request: &Arc<TurnRequest>, out: &Sink) -> Result<(), Failed> {
    let mut turn = model.turn(Arc::clone(request));
    let mut held = String::new();
    let mut called = false;
    while let Some(item) = turn.next().await {
        let delta = item.map_err(|error| Failed { error, called })?;
        match &delta {
            Delta::Text(text) => {
                held.push_str(text);
                continue;
            }
            Delta::Call(_) | Delta::End(_) => {
                if !held.is_empty() {
                    out.delta(Delta::Text(std::mem::take(&mut held))).await;
                }
            }
            Delta::Model(_) | Delta::Usage(_) => {}
        }
        called = called || matches!(delta, Delta::Call(_));
        let ended = matches!(delta, Delta::End(_));
        out.delta(delta).await;
        if ended {
            return Ok(());
        }
    }
    let error = ModelError::Cut("the turn ended without saying why".to_owned());
    Err(Failed { error, called })
}
