//! A circuit breaker: a model that failed several times in a row is left alone for a while.
//!
//! After the pause one request may try it; its end decides for the next ones. Time is the clock's time since boot.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::settings::BreakerSettings;
use crate::clock::Clock;

/// The breaker of one model.
pub struct Breaker {
    settings: BreakerSettings,
    state: Mutex<State>,
    clock: Clock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { until: Duration },
    Probing,
}

/// What a person is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BreakerState {
    /// In use.
    Closed { failures_in_a_row: u32 },
    /// Left alone.
    Open { milliseconds_left: u64 },
    /// The pause is over: one request may try, or is trying, whether the model works again.
    HalfOpen,
}

impl BreakerState {
    pub fn word(self) -> &'static str {
        match self {
            BreakerState::Closed { .. } => "closed",
            BreakerState::Open { .. } => "open",
            BreakerState::HalfOpen => "half_open",
        }
    }
}

/// Leave to make one request. Its verdict must be told; dropped without one (the turn was aborted) it counts as neither.
pub struct Attempt {
    breaker: Arc<Breaker>,
    is_probe: bool,
    told: bool,
}

impl Breaker {
    pub fn new(settings: BreakerSettings, clock: Clock) -> Self {
        Self { settings, state: Mutex::new(State::Closed { failures: 0 }), clock }
    }

    /// Leave to make a request, unless the model is paused.
    pub fn admit(self: &Arc<Self>) -> Option<Attempt> {
        let mut state = self.lock();
        let is_probe = match *state {
            State::Closed { .. } => false,
            State::Open { until } if self.clock.since_boot() >= until => {
                *state = State::Probing;
                true
            }
            State::Open { .. } | State::Probing => return None,
        };
        Some(Attempt { breaker: Arc::clone(self), is_probe, told: false })
    }

    pub fn state(&self) -> BreakerState {
        match *self.lock() {
            State::Closed { failures } => BreakerState::Closed { failures_in_a_row: failures },
            State::Open { until } => match until.saturating_sub(self.clock.since_boot()) {
                Duration::ZERO => BreakerState::HalfOpen,
                left => BreakerState::Open {
                    milliseconds_left: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
                },
            },
            State::Probing => BreakerState::HalfOpen,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> State {
        State::Open { until: self.clock.since_boot() + Duration::from_millis(self.settings.pause_ms) }
    }
}

impl Attempt {
    pub fn succeeded(mut self) {
        self.told = true;
        *self.breaker.lock() = State::Closed { failures: 0 };
    }

    pub fn failed(mut self) {
        self.told = true;
        let mut state = self.breaker.lock();
        *state = match *state {
            State::Closed { failures } if failures + 1 < self.breaker.settings.failures => {
                State::Closed { failures: failures + 1 }
            }
            State::Closed { .. } => self.breaker.open(),
            State::Probing if self.is_probe => self.breaker.open(),
            // A request from before the pause: it says nothing new.
            State::Probing | State::Open { .. } => *state,
        };
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.is_probe && !self.told {
            let mut state = self.breaker.lock();
            // A late success may have closed it meanwhile, or a new pause begun.
            if *state == State::Probing {
                *state = State::Open { until: self.breaker.clock.since_boot() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn breaker() -> Arc<Breaker> {
        let clock = Clock::simulated(DateTime::UNIX_EPOCH, 1);
        Arc::new(Breaker::new(BreakerSettings { failures: 3, pause_ms: 30_000 }, clock))
    }

    fn fail(breaker: &Arc<Breaker>) {
        breaker.admit().expect("admitted").failed();
    }

    #[tokio::test(start_paused = true)]
    async fn three_failures_in_a_row_open_it_and_one_probe_decides() {
        let breaker = breaker();
        fail(&breaker);
        fail(&breaker);
        breaker.admit().expect("admitted").succeeded();
        assert_eq!(breaker.state(), BreakerState::Closed { failures_in_a_row: 0 }, "a success ends the row");
        (0..3).for_each(|_| fail(&breaker));
        assert_eq!(breaker.state(), BreakerState::Open { milliseconds_left: 30_000 });
        assert!(breaker.admit().is_none());
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        let probe = breaker.admit().expect("one may try");
        assert!(breaker.admit().is_none(), "only one at a time");
        probe.failed();
        assert_eq!(breaker.state(), BreakerState::Open { milliseconds_left: 30_000 });
        tokio::time::advance(Duration::from_secs(31)).await;
        breaker.admit().expect("one may try").succeeded();
        assert_eq!(breaker.state(), BreakerState::Closed { failures_in_a_row: 0 });
    }

    #[tokio::test(start_paused = true)]
    async fn an_aborted_probe_lets_the_next_one_try() {
        let breaker = breaker();
        (0..3).for_each(|_| fail(&breaker));
        tokio::time::advance(Duration::from_secs(30)).await;
        drop(breaker.admit().expect("one may try"));
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        assert!(breaker.admit().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_failure_does_not_end_a_probe() {
        let breaker = breaker();
        let late = breaker.admit().expect("admitted");
        (0..3).for_each(|_| fail(&breaker));
        tokio::time::advance(Duration::from_secs(30)).await;
        let probe = breaker.admit().expect("one may try");
        late.failed();
        probe.succeeded();
        assert_eq!(breaker.state(), BreakerState::Closed { failures_in_a_row: 0 });
    }
}
