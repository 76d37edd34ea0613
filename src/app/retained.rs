//! Retained messages of the embedded broker, kept in the journal's file and written behind.

use std::sync::{Mutex, PoisonError};

use crate::journal::{Journal, RetainedRow};
use crate::mqtt::broker::{Retained, RetainedStore, StoreError};

/// Gives the broker what was retained before, once, and takes every change.
pub struct InJournal {
    journal: Journal,
    before: Mutex<Vec<RetainedRow>>,
}

impl InJournal {
    pub fn new(journal: Journal, before: Vec<RetainedRow>) -> Self {
        Self { journal, before: Mutex::new(before) }
    }
}

impl RetainedStore for InJournal {
    fn load(&self) -> Result<Vec<Retained>, StoreError> {
        let before = std::mem::take(&mut *self.before.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(before
            .into_iter()
            .map(|row| Retained { topic: row.topic, payload: row.payload.into(), qos: row.qos })
            .collect())
    }

    fn save(&self, messages: &[Retained]) -> Result<(), StoreError> {
        for message in messages {
            self.journal.keep_retained(&message.topic, &message.payload, message.qos);
        }
        Ok(())
    }

    fn remove(&self, topics: &[String]) -> Result<(), StoreError> {
        for topic in topics {
            self.journal.remove_retained(topic);
        }
        Ok(())
    }
}
