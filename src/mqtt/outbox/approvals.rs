//! Which approvals are to be seen on the broker, and which are to be gone from it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::WaitingApproval;

/// Cleared approvals that are remembered while the broker is away.
const MAX_CLEARED: usize = 1024;

pub(super) struct Approvals {
    entries: Mutex<BTreeMap<String, Entry>>,
}

struct Entry {
    /// `None`: it must be cleared.
    shown: Option<(Bytes, Instant)>,
    /// Whether the broker of the present connection was told.
    told: bool,
}

impl Approvals {
    pub(super) fn new(waiting: Vec<WaitingApproval>) -> Self {
        let approvals = Self { entries: Mutex::default() };
        waiting.into_iter().for_each(|approval| approvals.show(approval));
        approvals
    }

    pub(super) fn show(&self, approval: WaitingApproval) {
        let until = Instant::now() + approval.expires_in;
        let entry = Entry { shown: Some((approval.body, until)), told: false };
        self.lock().insert(approval.id, entry);
    }

    pub(super) fn clear(&self, id: &str) {
        let mut entries = self.lock();
        let cleared = entries.values().filter(|entry| entry.shown.is_none()).count();
        if cleared < MAX_CLEARED || entries.contains_key(id) {
            entries.insert(id.to_owned(), Entry { shown: None, told: false });
        }
    }

    /// Whether nothing is known of this approval.
    pub(super) fn is_foreign(&self, id: &str) -> bool {
        !self.lock().contains_key(id)
    }

    /// Calls `send` for what is to be told; with `all`, for everything. What it takes counts as told, and a cleared
    /// approval that was told is forgotten. An approval whose time is over is cleared.
    pub(super) fn publish(&self, all: bool, mut send: impl FnMut(&str, Option<(Bytes, Duration)>) -> bool) {
        let now = Instant::now();
        self.lock().retain(|id, entry| {
            if entry.shown.as_ref().is_some_and(|(_, until)| *until <= now) {
                *entry = Entry { shown: None, told: false };
            }
            if all || !entry.told {
                // The broker counts in whole seconds; rounding up keeps the message until the very end.
                let shown = entry.shown.as_ref().map(|(body, until)| {
                    let left = until.saturating_duration_since(now);
                    (body.clone(), Duration::from_secs(left.as_secs() + 1))
                });
                entry.told = send(id, shown);
            }
            entry.shown.is_some() || !entry.told
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(id: &str, seconds: u64) -> WaitingApproval {
        WaitingApproval {
            id: id.into(),
            body: id.to_owned().into(),
            expires_in: Duration::from_secs(seconds),
        }
    }

    fn sent(approvals: &Approvals, all: bool, takes: bool) -> Vec<String> {
        let mut sent = Vec::new();
        approvals.publish(all, |id, shown| {
            sent.push(match shown {
                Some((_, expiry)) => format!("{id} for {} s", expiry.as_secs()),
                None => format!("{id} cleared"),
            });
            takes
        });
        sent
    }

    #[tokio::test(start_paused = true)]
    async fn each_change_is_told_once_and_everything_on_a_new_connection() {
        let approvals = Approvals::new(vec![waiting("a", 100)]);
        assert_eq!(sent(&approvals, false, false), ["a for 101 s"], "not taken, so it is told again");
        assert_eq!(sent(&approvals, false, true), ["a for 101 s"]);
        approvals.show(waiting("b", 50));
        assert_eq!(sent(&approvals, false, true), ["b for 51 s"]);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(sent(&approvals, true, true), ["a for 91 s", "b for 41 s"]);
        approvals.clear("a");
        assert!(!approvals.is_foreign("a"));
        assert_eq!(sent(&approvals, false, false), ["a cleared"]);
        assert_eq!(sent(&approvals, true, true), ["a cleared", "b for 41 s"]);
        assert!(approvals.is_foreign("a"), "told and forgotten");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(sent(&approvals, false, true), ["b cleared"], "its time is over");
        assert!(sent(&approvals, true, true).is_empty());
    }
}
