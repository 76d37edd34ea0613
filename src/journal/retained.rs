//! Retained messages of the embedded broker, written behind: the broker never waits for the disk.
//!
//! The last value of each topic waits in memory until the writer takes them all at once. What a crash loses is the
//! last moments, and a kill -9 between two writes never leaves half a message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, params};

use super::error::JournalError;
use super::writer::{Job, Settle};
use super::{Durability, Journal};

/// A retained message as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetainedRow {
    pub topic: String,
    pub payload: Vec<u8>,
    pub qos: u8,
}

/// The last value of each changed topic; `None` where the message was removed.
type Changes = HashMap<String, Option<(Vec<u8>, u8)>>;

/// What waits for the writer.
#[derive(Default)]
pub(super) struct Pending {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    changes: Changes,
    /// A job to write them is on its way.
    on_its_way: bool,
}

impl Pending {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Changes {
        let mut state = self.state();
        state.on_its_way = false;
        std::mem::take(&mut state.changes)
    }

    /// Puts back what could not be written, except where something newer waits.
    fn put_back(&self, failed: Changes) {
        let mut state = self.state();
        for (topic, change) in failed {
            state.changes.entry(topic).or_insert(change);
        }
    }
}

impl Journal {
    /// All retained messages, by topic. To be read before the broker takes clients.
    pub async fn retained(&self) -> Result<Vec<RetainedRow>, JournalError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached("SELECT * FROM retained ORDER BY topic")?;
            let rows = statement.query_map([], |row| {
                Ok(RetainedRow {
                    topic: row.get("topic")?,
                    payload: row.get("payload")?,
                    qos: row.get("qos")?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Keeps a retained message; returns at once. Written soon, or with the next one when the disk refuses.
    pub fn keep_retained(&self, topic: &str, payload: &[u8], qos: u8) {
        self.change_retained(topic, Some((payload.to_vec(), qos)));
    }

    /// Removes a retained message; returns at once.
    pub fn remove_retained(&self, topic: &str) {
        self.change_retained(topic, None);
    }

    fn change_retained(&self, topic: &str, change: Option<(Vec<u8>, u8)>) {
        let mut state = self.inner.retained.state();
        state.changes.insert(topic.to_owned(), change);
        if std::mem::replace(&mut state.on_its_way, true) {
            return;
        }
        drop(state);
        if self.inner.send(self.write_behind()).is_err() {
            self.inner.retained.state().on_its_way = false;
        }
    }

    fn write_behind(&self) -> Job {
        let pending = Arc::clone(&self.inner.retained);
        let work = move |conn: Result<&Connection, JournalError>| {
            let changes = pending.take();
            let result = conn.and_then(|conn| super::in_savepoint(conn, |conn| write(conn, &changes)));
            let error = result.as_ref().err().cloned();
            let settle: Settle = Box::new(move |committed| {
                if let Err(error) = committed.and(result) {
                    tracing::warn!(%error, "retained messages wait for the next write");
                    pending.put_back(changes);
                }
            });
            (settle, error)
        };
        Job { durability: Durability::Normal, work: Box::new(work), _place: None }
    }
}

fn write(conn: &Connection, changes: &Changes) -> Result<(), JournalError> {
    for (topic, change) in changes {
        match change {
            Some((payload, qos)) => conn
                .prepare_cached("INSERT OR REPLACE INTO retained VALUES (?1, ?2, ?3)")?
                .execute(params![topic, payload, qos])?,
            None => conn.prepare_cached("DELETE FROM retained WHERE topic = ?1")?.execute([topic])?,
        };
    }
    Ok(())
}
