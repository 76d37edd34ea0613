//! What the daemon does when its record cannot be used: it starts, reads, says so, and moves nothing.
//!
//! A damaged, read-only, full or newer journal is left as it is. Everything runs on an empty one in memory that takes
//! no promise, and the file is tried again until it can be used: then the daemon starts anew. Nothing is repaired here.

use std::path::Path;
use std::time::Duration;

use super::App;
use crate::clock::Clock;
use crate::journal::{Health, Journal, JournalError};

/// Pauses between two looks at a journal that could not be used; the check of a large file is not cheap.
const FIRST_LOOK: Duration = Duration::from_secs(2);
const LAST_LOOK: Duration = Duration::from_secs(60);

/// The journal of `dir`, or safe mode where it cannot be used.
///
/// # Errors
/// Only [`JournalError::Locked`], which another homeloop holds, and a fault of the memory journal itself.
pub(super) fn open(dir: &Path, clock: &Clock) -> Result<Journal, JournalError> {
    match Journal::open(dir, clock.clone()) {
        Err(error @ JournalError::Locked { .. }) => Err(error),
        Err(error) => {
            tracing::error!(%error, "SAFE MODE: the journal cannot be used; homeloop only reads until it can");
            Journal::safe_mode(clock.clone(), &error.to_string())
        }
        journal => journal,
    }
}

/// The word for what is wrong with the journal, as `/readyz` shows it; `None` when nothing is.
pub(super) fn word(health: &Health) -> Option<&'static str> {
    match health {
        Health::Good => None,
        Health::Full => Some("journal_full"),
        Health::ReadOnly => Some("journal_read_only"),
        Health::Busy => Some("journal_busy"),
        Health::Corrupt => Some("journal_corrupt"),
        Health::Failed(_) => Some("journal_failed"),
        Health::SafeMode(_) => Some("safe_mode"),
        Health::Closed => Some("journal_closed"),
    }
}

impl App {
    /// Why the daemon is in safe mode; `None` when it is not.
    pub fn safe_mode(&self) -> Option<String> {
        match self.journal.health() {
            Health::SafeMode(why) => Some(why),
            Health::Good
            | Health::Full
            | Health::ReadOnly
            | Health::Busy
            | Health::Corrupt
            | Health::Failed(_)
            | Health::Closed => None,
        }
    }

    /// In safe mode, resolves when the journal can be used again; otherwise never.
    pub async fn journal_mended(&self) {
        if self.safe_mode().is_none() {
            return std::future::pending().await;
        }
        let (dir, clock) = (self.settings.state_dir(), self.clock.clone());
        let mut pause = FIRST_LOOK;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_LOOK);
            let (dir, clock) = (dir.clone(), clock.clone());
            let looked = tokio::task::spawn_blocking(move || Journal::open(&dir, clock).map(drop)).await;
            if let Ok(Ok(())) = looked {
                tracing::info!("the journal can be used again; homeloop starts anew");
                return;
            }
        }
    }
}
