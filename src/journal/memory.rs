//! Small things kept by key: memory, what was spent, and the first result of each command id.

use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::error::JournalError;
use super::{Durability, Journal, from_millis, millis};

/// Command ids that are remembered; the oldest go first.
const FIRST_RESULTS: u32 = 10_000;

/// How long a command id is remembered.
const FIRST_RESULT_AGE: TimeDelta = TimeDelta::days(7);

/// A remembered value, with who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryRow {
    pub scope: String,
    pub key: String,
    pub value: String,
    pub by: String,
    pub at: DateTime<Utc>,
}

/// What was spent in a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Millionths of a US dollar.
    pub micro_dollars: u64,
    pub tokens: u64,
}

/// What was spent on one local day and in its month.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Budget {
    pub day: Spent,
    pub month: Spent,
}

/// Whether a command id is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Nobody had it; it is now this task's.
    New,
    /// It was this task's before; the result is there when that task has ended.
    Seen { task: String, result: Option<String> },
}

impl Journal {
    /// Remembers a value; replaces what the key held.
    pub async fn remember(&self, scope: &str, key: &str, value: &str, by: &str) -> Result<(), JournalError> {
        let row = (scope.to_owned(), key.to_owned(), value.to_owned(), by.to_owned(), millis(self.now()));
        self.write(Durability::Normal, move |conn| {
            conn.prepare_cached("INSERT OR REPLACE INTO memory VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(row)?;
            Ok(())
        })
        .await
    }

    /// Forgets a key; `false` when there was nothing.
    pub async fn forget(&self, scope: &str, key: &str) -> Result<bool, JournalError> {
        let key = (scope.to_owned(), key.to_owned());
        self.write(Durability::Normal, move |conn| {
            let gone =
                conn.prepare_cached("DELETE FROM memory WHERE scope = ?1 AND key = ?2")?.execute(key)?;
            Ok(gone == 1)
        })
        .await
    }

    pub async fn memory(&self, scope: &str, key: &str) -> Result<Option<MemoryRow>, JournalError> {
        let key = (scope.to_owned(), key.to_owned());
        self.read(move |conn| {
            Ok(conn
                .prepare_cached("SELECT * FROM memory WHERE scope = ?1 AND key = ?2")?
                .query_row(key, memory_row)
                .optional()?)
        })
        .await
    }

    /// Everything in a scope, by key.
    pub async fn memories(&self, scope: &str) -> Result<Vec<MemoryRow>, JournalError> {
        let scope = scope.to_owned();
        self.read(move |conn| {
            let mut statement = conn.prepare_cached("SELECT * FROM memory WHERE scope = ?1 ORDER BY key")?;
            let rows = statement.query_map([scope], memory_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Adds to what was spent on `day` (local) and in its month, and returns both. Days older than 62 are dropped.
    pub async fn spend(&self, day: NaiveDate, more: Spent) -> Result<Budget, JournalError> {
        self.write(Durability::Normal, move |conn| {
            for period in [day_key(day), month_key(day)] {
                conn.prepare_cached(
                    "INSERT INTO budget VALUES (?1, ?2, ?3) ON CONFLICT (period) DO UPDATE SET
                         micro_dollars = micro_dollars + ?2, tokens = tokens + ?3",
                )?
                .execute(params![
                    period,
                    stored(more.micro_dollars),
                    stored(more.tokens)
                ])?;
            }
            let oldest = day.checked_sub_days(Days::new(62)).map(day_key).unwrap_or_default();
            conn.prepare_cached("DELETE FROM budget WHERE length(period) = 10 AND period < ?1")?
                .execute([oldest])?;
            budget(conn, day)
        })
        .await
    }

    /// What was spent on `day` (local) and in its month.
    pub async fn spent(&self, day: NaiveDate) -> Result<Budget, JournalError> {
        self.read(move |conn| budget(conn, day)).await
    }

    /// Claims a command id for a task, durably: of two claims, also across a restart, one is [`Claim::New`].
    pub async fn claim_command(&self, command: &str, task: &str) -> Result<Claim, JournalError> {
        let (command, task, now) = (command.to_owned(), task.to_owned(), self.now());
        self.write(Durability::Normal, move |conn| {
            let seen = conn
                .prepare_cached("SELECT task, result FROM first_result WHERE command = ?1")?
                .query_row([&command], |row| Ok(Claim::Seen { task: row.get(0)?, result: row.get(1)? }))
                .optional()?;
            if let Some(seen) = seen {
                return Ok(seen);
            }
            conn.prepare_cached("INSERT INTO first_result (command, task, at) VALUES (?1, ?2, ?3)")?
                .execute(params![command, task, millis(now)])?;
            conn.prepare_cached(
                "DELETE FROM first_result WHERE at < ?1 OR rowid <= (SELECT max(rowid) FROM first_result) - ?2",
            )?
            .execute(params![millis(now - FIRST_RESULT_AGE), FIRST_RESULTS])?;
            Ok(Claim::New)
        })
        .await
    }

    /// Stores the first result (JSON) of every command id that this task claimed; a second result changes nothing.
    pub async fn store_first_result(&self, task: &str, result: &str) -> Result<(), JournalError> {
        let (task, result) = (task.to_owned(), result.to_owned());
        self.write(Durability::Normal, move |conn| {
            conn.prepare_cached("UPDATE first_result SET result = ?2 WHERE task = ?1 AND result IS NULL")?
                .execute([task, result])?;
            Ok(())
        })
        .await
    }
}

fn memory_row(row: &Row<'_>) -> rusqlite::Result<MemoryRow> {
    Ok(MemoryRow {
        scope: row.get("scope")?,
        key: row.get("key")?,
        value: row.get("value")?,
        by: row.get("by")?,
        at: from_millis(row.get("at")?),
    })
}

fn budget(conn: &Connection, day: NaiveDate) -> Result<Budget, JournalError> {
    let spent = |period: String| -> Result<Spent, JournalError> {
        let row = conn
            .prepare_cached("SELECT micro_dollars, tokens FROM budget WHERE period = ?1")?
            .query_row([period], |row| {
                Ok(Spent { micro_dollars: counted(row.get(0)?), tokens: counted(row.get(1)?) })
            })
            .optional()?;
        Ok(row.unwrap_or_default())
    };
    Ok(Budget { day: spent(day_key(day))?, month: spent(month_key(day))? })
}

fn day_key(day: NaiveDate) -> String {
    day.format("%Y-%m-%d").to_string()
}

fn month_key(day: NaiveDate) -> String {
    day.format("%Y-%m").to_string()
}

fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn counted(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
