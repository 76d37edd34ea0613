//! How many commands one principal may give in a minute.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::clock::{Clock, SinceBoot};

/// Principals that are remembered before those who have been silent long enough are forgotten.
const REMEMBERED: usize = 1024;

type Limiter = RateLimiter<String, HashMapStateStore<String>, SinceBoot, NoOpMiddleware<Duration>>;

/// A minute's worth may come at once; then they come at an even pace.
pub(super) struct Rate {
    limiter: Limiter,
    clock: Clock,
}

impl Rate {
    pub fn new(per_minute: NonZeroU32, clock: Clock) -> Self {
        let state = HashMapStateStore::default();
        let limiter = RateLimiter::new(Quota::per_minute(per_minute), state, SinceBoot(clock.clone()));
        Self { limiter, clock }
    }

    /// Counts one command of `principal`; the time until the next one may come, where this one comes too soon.
    pub fn check(&self, principal: &str) -> Result<(), Duration> {
        if self.limiter.len() >= REMEMBERED {
            self.limiter.retain_recent();
        }
        self.limiter
            .check_key(&principal.to_owned())
            .map_err(|not_until| not_until.wait_time_from(self.clock.since_boot()))
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_principal_has_a_rate_of_its_own() {
        let clock = Clock::simulated(DateTime::UNIX_EPOCH, 1);
        let rate = Rate::new(NonZeroU32::new(2).unwrap(), clock);
        assert_eq!((rate.check("anna"), rate.check("anna")), (Ok(()), Ok(())));
        let wait = rate.check("anna").unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(30), "{wait:?}");
        assert_eq!(rate.check("bert"), Ok(()), "another one is not held back");
        tokio::time::advance(wait).await;
        assert_eq!(rate.check("anna"), Ok(()));
        assert!(rate.check("anna").is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn the_memory_of_principals_is_bounded() {
        let clock = Clock::simulated(DateTime::UNIX_EPOCH, 1);
        let rate = Rate::new(NonZeroU32::new(60).unwrap(), clock);
        for stranger in 0..REMEMBERED {
            rate.check(&stranger.to_string()).unwrap();
        }
        tokio::time::advance(Duration::from_secs(120)).await;
        rate.check("one more").unwrap();
        assert_eq!(rate.limiter.len(), 1);
    }
}
