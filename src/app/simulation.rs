//! Drives simulated devices ([`World`]) in real time over whatever carries their messages.

use std::future::Future;

use futures_util::{Stream, StreamExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::devices::profile::Said;
use crate::devices::simulate::World;

/// Runs until `stop` or until `messages` ends. `messages` are those of [`World::subscriptions`], topic and payload;
/// `publish` sends one message and is awaited, so that order is kept. At the end the devices say that they are gone.
pub async fn run<P, F>(
    mut world: World,
    messages: impl Stream<Item = (String, Vec<u8>)>,
    mut publish: P,
    stop: CancellationToken,
) where
    P: FnMut(Said) -> F,
    F: Future<Output = ()>,
{
    let begun = Instant::now();
    tokio::pin!(messages);
    for said in world.start() {
        publish(said).await;
    }
    loop {
        let next = world.next_due().map(|due| begun + due);
        let said = tokio::select! {
            () = stop.cancelled() => break,
            message = messages.next() => match message {
                Some((topic, payload)) => world.on_message(begun.elapsed(), &topic, &payload),
                None => break,
            },
            () = sleep_until(next), if next.is_some() => world.due(begun.elapsed()),
        };
        for said in said {
            publish(said).await;
        }
    }
    for said in world.farewell() {
        publish(said).await;
    }
}

async fn sleep_until(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at).await;
    }
}
