//! Counts wrong tokens per address, so that guessing ends after a few tries.
//!
//! An IPv6 client owns a whole /64 and counts as one. The table is bounded: addresses that stopped trying go first.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Clock;

/// Wrong tokens that an address may present within [`WINDOW`].
pub const LIMIT: usize = 10;
const WINDOW: Duration = Duration::from_secs(60);
const ADDRESSES: usize = 4096;

pub struct FailedAttempts {
    clock: Clock,
    by_address: Mutex<HashMap<IpAddr, VecDeque<Duration>>>,
}

impl FailedAttempts {
    pub fn new(clock: Clock) -> Self {
        Self { clock, by_address: Mutex::default() }
    }

    /// Seconds that `address` must wait before it is heard again, if it must.
    pub fn blocked(&self, address: IpAddr) -> Option<u64> {
        let now = self.clock.since_boot();
        let by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let times = by_address.get(&group(address))?;
        let first = times.iter().rev().nth(LIMIT - 1)?;
        let until = *first + WINDOW;
        (until > now).then(|| (until - now).as_secs() + 1)
    }

    /// Notes one wrong token from `address`.
    pub fn failed(&self, address: IpAddr) {
        let now = self.clock.since_boot();
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let address = group(address);
        if by_address.len() >= ADDRESSES && !by_address.contains_key(&address) {
            by_address.retain(|_, times| times.back().is_some_and(|last| *last + WINDOW > now));
            let oldest = by_address.iter().min_by_key(|(_, times)| times.back().copied());
            if by_address.len() >= ADDRESSES
                && let Some(oldest) = oldest.map(|(address, _)| *address)
            {
                by_address.remove(&oldest);
            }
        }
        let times = by_address.entry(address).or_default();
        times.push_back(now);
        while times.len() > LIMIT {
            times.pop_front();
        }
    }
}

/// What counts as one client: an IPv4 address, or a whole IPv6 /64.
pub fn group(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (!0 << 64))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[tokio::test(start_paused = true)]
    async fn an_address_waits_after_ten_wrong_tokens_and_others_do_not() {
        let attempts = FailedAttempts::new(Clock::simulated(DateTime::UNIX_EPOCH, 1));
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for _ in 0..LIMIT {
            assert_eq!(attempts.blocked(address("192.0.2.1")), None);
            attempts.failed(address("192.0.2.1"));
        }
        assert!(attempts.blocked(address("192.0.2.1")).is_some());
        assert!(attempts.blocked(address("::ffff:192.0.2.1")).is_some(), "the same address in other clothes");
        assert_eq!(attempts.blocked(address("192.0.2.2")), None);
        tokio::time::sleep(WINDOW).await;
        assert_eq!(attempts.blocked(address("192.0.2.1")), None);

        for low in 0..LIMIT {
            attempts.failed(address(&format!("2001:db8::{low:x}")));
        }
        assert!(attempts.blocked(address("2001:db8::ffff:1")).is_some(), "one /64 is one client");
        assert_eq!(attempts.blocked(address("2001:db8:0:1::1")), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_table_is_bounded() {
        let attempts = FailedAttempts::new(Clock::simulated(DateTime::UNIX_EPOCH, 1));
        for number in 0..(ADDRESSES as u32 + 100) {
            attempts.failed(IpAddr::from(number.to_be_bytes()));
        }
        assert_eq!(attempts.by_address.lock().unwrap().len(), ADDRESSES);
    }
}
