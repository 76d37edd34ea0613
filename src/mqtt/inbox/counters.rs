//! How many messages were accepted and refused, and why, for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Rejection;

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Accepted,
    Retained,
    Stale,
    Oversized,
    Malformed,
    /// An id that was there before.
    Duplicate,
    /// A decision whose sender nobody vouches for.
    Disbelieved,
}

/// Counts since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InboxCounters {
    pub accepted: u64,
    pub retained: u64,
    pub stale: u64,
    pub oversized: u64,
    pub malformed: u64,
    pub duplicate: u64,
    pub disbelieved: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    accepted: AtomicU64,
    retained: AtomicU64,
    stale: AtomicU64,
    oversized: AtomicU64,
    malformed: AtomicU64,
    duplicate: AtomicU64,
    disbelieved: AtomicU64,
}

impl Counters {
    pub(super) fn count(&self, what: Counted) {
        let counter = match what {
            Counted::Accepted => &self.accepted,
            Counted::Retained => &self.retained,
            Counted::Stale => &self.stale,
            Counted::Oversized => &self.oversized,
            Counted::Malformed => &self.malformed,
            Counted::Duplicate => &self.duplicate,
            Counted::Disbelieved => &self.disbelieved,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn refused(&self, reason: &Rejection) {
        self.count(match reason {
            Rejection::Retained => Counted::Retained,
            Rejection::Stale(_) | Rejection::Ahead(_) => Counted::Stale,
            Rejection::TooLarge { .. } | Rejection::TooLong(_) | Rejection::FieldTooLong { .. } => {
                Counted::Oversized
            }
            Rejection::NotText
            | Rejection::Json(_)
            | Rejection::Empty
            | Rejection::Control(_)
            | Rejection::Pause
            | Rejection::ReplyTopic(_)
            | Rejection::OtherApproval { .. } => Counted::Malformed,
        });
    }

    pub(super) fn read(&self) -> InboxCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        InboxCounters {
            accepted: read(&self.accepted),
            retained: read(&self.retained),
            stale: read(&self.stale),
            oversized: read(&self.oversized),
            malformed: read(&self.malformed),
            duplicate: read(&self.duplicate),
            disbelieved: read(&self.disbelieved),
        }
    }
}
