//! Asking the same model again, and what follows from every failure.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use futures_util::stream::BoxStream;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

use super::relay::{produce, relay};
use super::settings::RetrySettings;
use super::{Delta, Model, ModelError, TurnRequest};
use crate::clock::{Clock, SinceBoot};

/// What follows from a failure that came before any complete call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// It may pass: the same model again, after a pause.
    Again,
    /// This model will not do it; another one may.
    NextModel,
    /// No model is at fault: the loop must change something.
    GiveBack,
}

/// What a status that is no success says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// 429: too many requests for now.
    TooMany,
    /// 5xx, 529 for "overloaded" among them: the server's own trouble.
    Server,
    /// Everything else: the same request will be refused again.
    Request,
}

impl From<u16> for Refusal {
    fn from(status: u16) -> Self {
        match status {
            429 => Refusal::TooMany,
            500..=599 => Refusal::Server,
            0..=428 | 430..=499 | 600..=u16::MAX => Refusal::Request,
        }
    }
}

/// The one place where it is decided.
pub fn consequence(error: &ModelError) -> Consequence {
    match error {
        ModelError::Connect { .. } | ModelError::Cut(_) | ModelError::Malformed(_) => Consequence::Again,
        ModelError::Status { status, .. } => match Refusal::from(*status) {
            Refusal::TooMany | Refusal::Server => Consequence::Again,
            Refusal::Request => Consequence::NextModel,
        },
        // The time that the same wait would take again is better given to another model.
        ModelError::TimedOut { .. } | ModelError::Misconfigured(_) => Consequence::NextModel,
        ModelError::ContextFull(_) | ModelError::NotUnderstood { .. } | ModelError::NoneLeft(_) => {
            Consequence::GiveBack
        }
    }
}

/// A model that is asked again when a failure may pass, within the time of the task and its own rate.
pub struct Retrying {
    model: Arc<dyn Model>,
    settings: RetrySettings,
    rate: Option<Rate>,
    clock: Clock,
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, SinceBoot, NoOpMiddleware<Duration>>;

struct Rate {
    limiter: Arc<Limiter>,
    per_minute: NonZeroU32,
}

impl Retrying {
    /// `requests_per_minute` counts every attempt.
    pub fn new(
        model: Arc<dyn Model>,
        settings: RetrySettings,
        requests_per_minute: Option<NonZeroU32>,
        clock: Clock,
    ) -> Self {
        let rate = requests_per_minute.map(|per_minute| {
            let quota = Quota::per_minute(per_minute);
            let limiter = RateLimiter::direct_with_clock(quota, SinceBoot(clock.clone()));
            Rate { limiter: Arc::new(limiter), per_minute }
        });
        Self { model, settings, rate, clock }
    }
}

impl Model for Retrying {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn turn(&self, request: Arc<TurnRequest>) -> BoxStream<'static, Result<Delta, ModelError>> {
        let settings = self.settings;
        let model = Arc::clone(&self.model);
        let rate = self.rate.as_ref().map(|rate| (Arc::clone(&rate.limiter), rate.per_minute));
        let clock = self.clock.clone();
        let end =
            request.deadline.unwrap_or_else(|| Instant::now() + Duration::from_millis(settings.patience_ms));
        let mut pauses = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(settings.first_ms))
            .with_max_delay(Duration::from_millis(settings.longest_ms))
            .with_max_times(settings.times)
            .with_factor(2.0)
            .with_jitter()
            .with_jitter_seed(clock.random())
            .build();
        produce(move |out| async move {
            loop {
                if let Some((limiter, per_minute)) = &rate {
                    await_rate(limiter, *per_minute, &clock, end, settings).await?;
                }
                let Err(failed) = relay(&*model, &request, &out).await else { return Ok(()) };
                let again = consequence(&failed.error) == Consequence::Again
                    && !failed.called
                    && !request.stop.is_cancelled();
                let pause = pauses
                    .next()
                    .filter(|_| again)
                    // Chance is added to the longest pause as well.
                    .map(|planned| planned.min(Duration::from_millis(settings.longest_ms)))
                    .and_then(|planned| pause_before_retry(&failed.error, planned, left(end), settings));
                let Some(pause) = pause else { return Err(failed.error) };
                tracing::info!(model = model.name(), error = %failed.error, ?pause, "the model is asked again");
                tokio::time::sleep(pause).await;
            }
        })
    }
}

/// How long to wait; `None`: there is no time for another attempt, or a rate limit lasts longer than the task.
fn pause_before_retry(
    error: &ModelError,
    planned: Duration,
    left: Duration,
    settings: RetrySettings,
) -> Option<Duration> {
    let room = left.checked_sub(Duration::from_millis(settings.reserve_ms))?;
    match error {
        ModelError::Status { status, retry_after, .. } => {
            let wanted = retry_after.map_or(planned, |asked| asked.max(planned));
            match Refusal::from(*status) {
                // Coming back too early to a rate limit only prolongs it.
                Refusal::TooMany => (wanted <= room).then_some(wanted),
                // A server that says it will take longer than there is time leaves the time to another model.
                Refusal::Server | Refusal::Request if retry_after.is_some_and(|asked| asked > room) => None,
                Refusal::Server | Refusal::Request => Some(wanted.min(room)),
            }
        }
        ModelError::Connect { .. }
        | ModelError::TimedOut { .. }
        | ModelError::Cut(_)
        | ModelError::ContextFull(_)
        | ModelError::Malformed(_)
        | ModelError::Misconfigured(_)
        | ModelError::NotUnderstood { .. }
        | ModelError::NoneLeft(_) => Some(planned.min(room)),
    }
}

/// Waits until the model's own rate allows a request, if that is within the time.
async fn await_rate(
    limiter: &Limiter,
    per_minute: NonZeroU32,
    clock: &Clock,
    end: Instant,
    settings: RetrySettings,
) -> Result<(), ModelError> {
    while let Err(not_until) = limiter.check() {
        let wait = not_until.wait_time_from(clock.since_boot());
        if wait + Duration::from_millis(settings.reserve_ms) > left(end) {
            return Err(ModelError::Status {
                status: 429,
                message: format!("the limit of {per_minute} requests a minute in the settings is reached"),
                retry_after: Some(wait),
            });
        }
        tokio::time::sleep(wait).await;
    }
    Ok(())
}

fn left(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Wait;

    fn status(status: u16, retry_after: Option<u64>) -> ModelError {
        ModelError::Status {
            status,
            message: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn every_failure_has_one_consequence() {
        let text = String::new;
        for (error, expected) in [
            (ModelError::Connect { endpoint: text(), reason: text() }, Consequence::Again),
            (ModelError::Cut(text()), Consequence::Again),
            (ModelError::Malformed(text()), Consequence::Again),
            (status(429, None), Consequence::Again),
            (status(500, None), Consequence::Again),
            (status(502, None), Consequence::Again),
            (status(503, None), Consequence::Again),
            (status(529, None), Consequence::Again),
            (status(301, None), Consequence::NextModel),
            (status(400, None), Consequence::NextModel),
            (status(401, None), Consequence::NextModel),
            (status(404, None), Consequence::NextModel),
            (status(600, None), Consequence::NextModel),
            (ModelError::TimedOut { what: Wait::FirstByte, limit: Duration::ZERO }, Consequence::NextModel),
            (ModelError::Misconfigured(text()), Consequence::NextModel),
            (ModelError::ContextFull(text()), Consequence::GiveBack),
            (ModelError::NotUnderstood { reply: text() }, Consequence::GiveBack),
            (ModelError::NoneLeft(text()), Consequence::GiveBack),
        ] {
            assert_eq!(consequence(&error), expected, "{error:?}");
        }
    }

    /// Fails as often as it is asked, and notes when that was.
    struct Broken(std::sync::Mutex<Vec<Instant>>);

    impl Model for Broken {
        fn name(&self) -> &str {
            "broken"
        }

        fn turn(&self, _: Arc<TurnRequest>) -> BoxStream<'static, Result<Delta, ModelError>> {
            self.0.lock().expect("no panic").push(Instant::now());
            let error = ModelError::Connect { endpoint: String::new(), reason: String::new() };
            Box::pin(futures_util::stream::iter([Err(error)]))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn three_more_attempts_come_after_doubling_pauses_with_some_chance() {
        use futures_util::StreamExt;
        let broken = Arc::new(Broken(std::sync::Mutex::default()));
        let clock = Clock::simulated(chrono::DateTime::UNIX_EPOCH, 7);
        let retrying = Retrying::new(broken.clone(), RetrySettings::default(), None, clock);
        let request = TurnRequest {
            system: "".into(),
            tools: Arc::from([]),
            messages: Vec::new(),
            tool_choice: crate::model::ToolChoice::Auto,
            max_tokens: 1,
            deadline: None,
            stop: Default::default(),
            situation: Arc::default(),
        };
        assert!(retrying.turn(Arc::new(request)).any(|delta| async move { delta.is_err() }).await);
        let asked = broken.0.lock().expect("no panic").clone();
        let pauses: Vec<u128> =
            asked.iter().zip(asked.iter().skip(1)).map(|(one, next)| (*next - *one).as_millis()).collect();
        assert_eq!(pauses.len(), 3, "{pauses:?}");
        for (pause, least) in pauses.iter().zip([500, 1_000, 2_000]) {
            assert!((least..=2 * least + 1).contains(pause), "{pauses:?}");
        }
    }

    #[test]
    fn pauses_stay_within_the_time_left() {
        let settings = RetrySettings::default();
        let seconds = Duration::from_secs;
        for (error, planned, left, expected) in [
            (status(500, None), 2, 60, Some(2)),
            (status(500, Some(10)), 2, 60, Some(10)),
            (status(500, Some(3_600)), 2, 21, None),
            (status(500, Some(15)), 2, 21, Some(15)),
            (status(529, Some(1)), 4, 60, Some(4)),
            (status(500, None), 8, 5, Some(4)),
            (status(500, None), 8, 0, None),
            (status(429, Some(30)), 1, 60, Some(30)),
            (status(429, Some(3_600)), 1, 60, None),
            (status(429, None), 1, 60, Some(1)),
            (ModelError::Cut(String::new()), 8, 3, Some(2)),
        ] {
            let pause = pause_before_retry(&error, seconds(planned), seconds(left), settings);
            assert_eq!(pause, expected.map(seconds), "{error:?} with {left} s left");
        }
    }
}
