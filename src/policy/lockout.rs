//! Credentials that guess are locked out: ten wrong tries within ten minutes lock for fifteen.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

const TRIES: usize = 10;
const WITHIN: Duration = Duration::from_secs(600);
const LOCKED: Duration = Duration::from_secs(900);
/// Credentials remembered; beyond it the ones without a recent try are forgotten.
const REMEMBERED: usize = 1024;

/// Wrong tries by credential. Times are since boot.
#[derive(Debug, Default)]
pub struct Lockout {
    tries: HashMap<String, Tries>,
}

#[derive(Debug, Default)]
struct Tries {
    wrong: VecDeque<Duration>,
    until: Duration,
}

impl Lockout {
    /// How long the credential is still locked.
    pub fn locked(&self, who: &str, now: Duration) -> Option<Duration> {
        self.tries.get(who).and_then(|tries| tries.until.checked_sub(now)).filter(|left| !left.is_zero())
    }

    /// Counts a wrong try.
    pub fn wrong(&mut self, who: &str, now: Duration) {
        if self.tries.len() >= REMEMBERED {
            self.tries.retain(|_, tries| {
                tries.until > now || tries.wrong.back().is_some_and(|at| now - *at < WITHIN)
            });
        }
        let tries = self.tries.entry(who.to_owned()).or_default();
        tries.wrong.retain(|at| now.saturating_sub(*at) < WITHIN);
        tries.wrong.push_back(now);
        if tries.wrong.len() >= TRIES {
            tries.wrong.clear();
            tries.until = now + LOCKED;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_wrong_tries_lock_one_credential_for_fifteen_minutes() {
        let at = Duration::from_secs;
        let mut lockout = Lockout::default();
        for second in 0..9 {
            lockout.wrong("phone", at(second));
        }
        assert_eq!(lockout.locked("phone", at(9)), None);
        lockout.wrong("phone", at(9));
        assert_eq!(lockout.locked("phone", at(9)), Some(at(900)));
        assert_eq!(lockout.locked("page", at(9)), None, "others are not locked");
        assert_eq!(lockout.locked("phone", at(908)), Some(at(1)));
        // A wrong try while it is locked makes it no longer.
        lockout.wrong("phone", at(10));
        assert_eq!(lockout.locked("phone", at(908)), Some(at(1)));
        assert_eq!(lockout.locked("phone", at(909)), None);
    }

    #[test]
    fn old_tries_are_forgotten() {
        let at = Duration::from_secs;
        for (tenth, locked) in [(599, true), (600, false), (608, false)] {
            let mut lockout = Lockout::default();
            for _ in 0..9 {
                lockout.wrong("phone", at(0));
            }
            lockout.wrong("phone", at(tenth));
            assert_eq!(lockout.locked("phone", at(tenth)).is_some(), locked, "{tenth}");
        }
    }

    /// A flood of names does not free the one that is locked, nor the one that guesses.
    #[test]
    fn a_flood_of_names_forgets_only_what_is_old() {
        let at = Duration::from_secs;
        let mut lockout = Lockout::default();
        lockout.wrong("old", at(0));
        for _ in 0..TRIES {
            lockout.wrong("locked", at(500));
        }
        for _ in 0..TRIES - 1 {
            lockout.wrong("guessing", at(500));
        }
        for name in lockout.tries.len()..REMEMBERED {
            lockout.wrong(&format!("name {name}"), at(0));
        }
        assert_eq!(lockout.tries.len(), REMEMBERED);
        lockout.wrong("one more", at(600));
        assert_eq!(lockout.tries.len(), 3, "the last tries of the others are ten minutes old");
        assert!(lockout.locked("locked", at(600)).is_some());
        lockout.wrong("guessing", at(601));
        assert!(lockout.locked("guessing", at(601)).is_some());
    }
}
