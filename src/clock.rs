//! The only reader of time and randomness (invariant `time_only_through_clock`).
//!
//! Everything that asks "what time is it", "how long has it been" or "give me an id" asks a [`Clock`].
//! A simulated clock follows tokio's clock, so that a paused runtime skips waiting and a seed repeats a run.
//! This module does not schedule anything and does not sleep: `tokio::time` does that.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A cheap handle on a source of wall time, monotonic time and random numbers.
#[derive(Clone)]
pub struct Clock {
    source: Arc<Source>,
}

enum Source {
    System,
    Simulated(Box<Simulated>),
}

struct Simulated {
    start: DateTime<Utc>,
    begun: tokio::time::Instant,
    /// How far the wall clock was stepped by [`Clock::step_wall`].
    step: Mutex<TimeDelta>,
    /// How long the machine slept by [`Clock::suspend`].
    suspended: Mutex<Duration>,
    random: Mutex<StdRng>,
    boot_id: String,
}

impl Clock {
    /// The machine's own clock and random numbers.
    pub fn system() -> Self {
        Self { source: Arc::new(Source::System) }
    }

    /// A clock that starts at `start`, advances with tokio's clock and draws its random numbers from `seed`.
    pub fn simulated(start: DateTime<Utc>, seed: u64) -> Self {
        Self {
            source: Arc::new(Source::Simulated(Box::new(Simulated {
                start,
                begun: tokio::time::Instant::now(),
                step: Mutex::new(TimeDelta::zero()),
                suspended: Mutex::default(),
                random: Mutex::new(StdRng::seed_from_u64(seed)),
                boot_id: format!("simulated-{seed}"),
            }))),
        }
    }

    /// Wall time. May jump; expiry must also look at [`Clock::since_boot`].
    pub fn now(&self) -> DateTime<Utc> {
        match &*self.source {
            Source::System => Utc::now(),
            Source::Simulated(simulated) => {
                let elapsed = TimeDelta::from_std(simulated.begun.elapsed()).unwrap_or(TimeDelta::MAX);
                simulated.start + elapsed + *simulated.step.lock().unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    /// Time since the machine booted, suspend included (`CLOCK_BOOTTIME`). Never jumps.
    pub fn since_boot(&self) -> Duration {
        match &*self.source {
            Source::System => {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                Duration::new(
                    u64::try_from(time.tv_sec).unwrap_or(0),
                    u32::try_from(time.tv_nsec).unwrap_or(0),
                )
            }
            Source::Simulated(simulated) => {
                let suspended = *simulated.suspended.lock().unwrap_or_else(PoisonError::into_inner);
                simulated.begun.elapsed() + suspended
            }
        }
    }

    /// Names this boot of the machine: times since boot compare only within one boot. Empty where the kernel does
    /// not say.
    pub fn boot_id(&self) -> String {
        match &*self.source {
            Source::System => std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
                .map(|id| id.trim().to_owned())
                .unwrap_or_default(),
            Source::Simulated(simulated) => simulated.boot_id.clone(),
        }
    }

    /// Whether time follows tokio's clock. A paused runtime runs ahead while nothing in it is ready, so whoever waits
    /// for another thread must then wait in place.
    pub fn is_simulated(&self) -> bool {
        match &*self.source {
            Source::System => false,
            Source::Simulated(_) => true,
        }
    }

    /// Suspends a simulated machine: wall time and time since boot go on, tokio's clock stands. A system clock ignores it.
    pub fn suspend(&self, by: Duration) {
        if let Source::Simulated(simulated) = &*self.source {
            *simulated.suspended.lock().unwrap_or_else(PoisonError::into_inner) += by;
            self.step_wall(TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX));
        }
    }

    /// Steps a simulated wall clock, as NTP or a person would. A system clock ignores it.
    pub fn step_wall(&self, by: TimeDelta) {
        if let Source::Simulated(simulated) = &*self.source {
            let mut step = simulated.step.lock().unwrap_or_else(PoisonError::into_inner);
            *step += by;
        }
    }

    /// A random 64-bit number.
    pub fn random(&self) -> u64 {
        match &*self.source {
            Source::System => rand::rng().next_u64(),
            Source::Simulated(simulated) => {
                simulated.random.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
            }
        }
    }

    /// A new ULID: 26 characters, sortable by wall time.
    pub fn new_id(&self) -> String {
        let millis = u64::try_from(self.now().timestamp_millis()).unwrap_or(0);
        let random = (u128::from(self.random()) << 64) | u128::from(self.random());
        ulid::Ulid::from_parts(millis, random).to_string()
    }
}

/// Time since boot as `governor` reads clocks.
#[derive(Clone)]
pub struct SinceBoot(pub Clock);

impl governor::clock::Clock for SinceBoot {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.since_boot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn simulated_time_follows_tokio_and_repeats_by_seed() {
        let start = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        let clock = Clock::simulated(start, 7);
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert_eq!(clock.now(), start + TimeDelta::seconds(90));
        assert_eq!(clock.since_boot(), Duration::from_secs(90));
        clock.step_wall(TimeDelta::hours(-1));
        assert_eq!(clock.now(), start + TimeDelta::seconds(90) - TimeDelta::hours(1));
        assert_eq!(
            clock.since_boot(),
            Duration::from_secs(90),
            "a step of the wall clock is not elapsed time"
        );
        assert_eq!(Clock::simulated(start, 7).new_id(), Clock::simulated(start, 7).new_id());
        assert_ne!(Clock::simulated(start, 7).new_id(), Clock::simulated(start, 8).new_id());
    }
}
