//! How long the record is kept, and how it leaves: cuts at the old end, and export as JSON lines.

use std::io::Write;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;

use super::chain::{self, Hash};
use super::error::JournalError;
use super::events::{NewEvent, append, event_row};
use super::{Durability, Journal, Seq, from_millis, millis};

/// Events removed in one transaction, so that a large cut does not hold up the writer.
const CHUNK: i64 = 5_000;

/// What a cut removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub events: u64,
    /// The last event that was removed; what is left begins with the next.
    pub through: Seq,
}

impl Journal {
    /// Removes events older than `before`, from the old end only, never an event of an open task nor the last event.
    /// Each cut is signed off by an event in the chain that carries the hash of the last removed event, so that
    /// [`Journal::verify`] still covers all that is left. Closed approvals and done list items of that age go too.
    pub async fn cut(&self, before: DateTime<Utc>) -> Result<Cut, JournalError> {
        let before = before.min(self.now());
        let mut total = Cut { events: 0, through: 0 };
        loop {
            let now = self.now();
            let cut =
                self.write(Durability::Synced, move |conn| cut_chunk(conn, now, millis(before))).await?;
            let Some(cut) = cut else { break };
            total = Cut { events: total.events + cut.events, through: cut.through };
            if cut.events < CHUNK.unsigned_abs() {
                break;
            }
        }
        self.write(Durability::Normal, move |conn| {
            let before = millis(before);
            conn.execute(
                "DELETE FROM approval WHERE created_at < ?1 AND task NOT IN (SELECT id FROM task)",
                [before],
            )?;
            conn.execute("DELETE FROM list_item WHERE done_at < ?1", [before])?;
            Ok(())
        })
        .await?;
        self.shrink().await?;
        Ok(total)
    }

    /// Gives free pages back to the file system, a part at a time.
    async fn shrink(&self) -> Result<(), JournalError> {
        self.on_writer(Durability::Normal, |conn| {
            let mut statement = conn.prepare("PRAGMA incremental_vacuum(2000)")?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            Ok(())
        })
        .await
    }

    /// Writes the events after number `since` as JSON lines, each with its hash and the hash before it, and returns how
    /// many. Reads one snapshot; the writer goes on meanwhile.
    pub async fn export<W>(&self, since: Seq, mut to: W) -> Result<u64, JournalError>
    where
        W: Write + Send + 'static,
    {
        self.read(move |conn| {
            let mut lines = 0;
            let mut statement = conn.prepare("SELECT * FROM event WHERE seq > ?1 ORDER BY seq")?;
            let mut rows = statement.query([since])?;
            while let Some(row) = rows.next()? {
                let event = event_row(row)?;
                let (prev, hash): (Hash, Hash) = (row.get("prev_hash")?, row.get("hash")?);
                // The body goes in as it is, so that an exported line can be checked against its hash.
                writeln!(
                    to,
                    r#"{{"seq":{},"task":{},"at":{},"kind":{},"entities":{},"body":{},"prev_hash":"{}","hash":"{}"}}"#,
                    event.seq,
                    json!(event.task),
                    json!(event.at),
                    json!(event.kind),
                    json!(event.entities),
                    event.body,
                    chain::hex(&prev),
                    chain::hex(&hash),
                )?;
                lines += 1;
            }
            to.flush()?;
            Ok(lines)
        })
        .await
    }

    /// When and up to where retention cut the record last.
    pub async fn last_cut(&self) -> Result<Option<(Seq, DateTime<Utc>)>, JournalError> {
        self.read(|conn| {
            Ok(conn
                .prepare_cached("SELECT seq, at FROM checkpoint WHERE one = 1")?
                .query_row([], |row| Ok((row.get(0)?, from_millis(row.get(1)?))))
                .optional()?)
        })
        .await
    }
}

/// Cuts up to [`CHUNK`] events; `None` when there is nothing to cut.
fn cut_chunk(conn: &Connection, now: DateTime<Utc>, before: i64) -> Result<Option<Cut>, JournalError> {
    let (start, _) = chain::start(conn)?;
    let (head, _) = chain::head(conn)?;
    // The first event that must stay: not old, or of a task that is still open, or the last one.
    let young: Option<i64> = conn
        .prepare_cached(
            "SELECT min(seq) FROM (SELECT seq FROM event WHERE seq <= ?1 AND at >= ?2 ORDER BY seq LIMIT 1)",
        )?
        .query_row([start + CHUNK + 1, before], |row| row.get(0))?;
    let open: Option<i64> = conn
        .prepare_cached("SELECT min(first_seq) FROM task WHERE closed_at IS NULL")?
        .query_row([], |row| row.get(0))?;
    let stays = [young, open, Some(head), Some(start + CHUNK + 1)].into_iter().flatten().min().unwrap_or(0);
    let through = stays - 1;
    if through <= start {
        return Ok(None);
    }
    let hash: Hash = conn
        .prepare_cached("SELECT hash FROM event WHERE seq = ?1")?
        .query_row([through], |row| row.get(0))?;
    conn.prepare_cached("DELETE FROM event_entity WHERE seq <= ?1")?.execute([through])?;
    let removed = conn.prepare_cached("DELETE FROM event WHERE seq <= ?1")?.execute([through])?;
    conn.prepare_cached("DELETE FROM task WHERE last_seq <= ?1")?.execute([through])?;
    conn.prepare_cached("INSERT OR REPLACE INTO checkpoint VALUES (1, ?1, ?2, ?3)")?.execute(params![
        through,
        hash,
        millis(now)
    ])?;
    let body = json!({ "through": through, "hash": chain::hex(&hash), "events": removed });
    append(conn, now, &NewEvent::of_house(chain::CUT_KIND, &body)?)?;
    Ok(Some(Cut { events: u64::try_from(removed).unwrap_or(0), through }))
}
