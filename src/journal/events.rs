//! Events: appended, never changed, read back by task, by number and by entity.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::chain::{self, Link};
use super::error::JournalError;
use super::{Durability, Journal, Seq, from_millis, millis};

/// The largest body of an event, in bytes of JSON.
const MAX_BODY: usize = 1 << 20;

/// An event to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    task: String,
    kind: String,
    body: String,
    entities: String,
    ends_task: bool,
}

impl NewEvent {
    /// An event of a task; the task's first event opens it.
    pub fn of_task(task: &str, kind: &str, body: &impl Serialize) -> Result<Self, JournalError> {
        if task.is_empty() {
            return Err(JournalError::Invalid("the task id is empty".to_owned()));
        }
        Self::new(task, kind, body)
    }

    /// An event of the house that belongs to no task.
    pub fn of_house(kind: &str, body: &impl Serialize) -> Result<Self, JournalError> {
        Self::new("", kind, body)
    }

    fn new(task: &str, kind: &str, body: &impl Serialize) -> Result<Self, JournalError> {
        let body = serde_json::to_string(body)
            .map_err(|error| JournalError::Invalid(format!("event {kind:?} is not JSON: {error}")))?;
        if body.len() > MAX_BODY {
            return Err(JournalError::Invalid(format!(
                "event {kind:?} has {} bytes; at most {MAX_BODY} are stored",
                body.len()
            )));
        }
        Ok(Self {
            task: task.to_owned(),
            kind: kind.to_owned(),
            body,
            entities: String::new(),
            ends_task: false,
        })
    }

    /// Says which entities the event is about, so that [`Journal::about`] finds it.
    pub fn about<I>(mut self, entities: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut ids: Vec<String> = entities
            .into_iter()
            .map(|id| id.as_ref().replace('\n', " "))
            .filter(|id| !id.is_empty())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        self.entities = ids.join("\n");
        self
    }

    /// Marks the task's last event: the task is closed by it.
    pub fn ends_task(mut self) -> Self {
        self.ends_task = true;
        self
    }
}

/// An event as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub seq: Seq,
    /// `None` for events of the house.
    pub task: Option<String>,
    pub at: DateTime<Utc>,
    pub kind: String,
    /// JSON in one line, exactly as it was hashed.
    pub body: String,
    pub entities: Vec<String>,
}

impl Event {
    /// The body as a type of the caller's.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, JournalError> {
        serde_json::from_str(&self.body).map_err(|error| {
            JournalError::Invalid(format!(
                "event {} of kind {:?} cannot be read: {error}",
                self.seq, self.kind
            ))
        })
    }
}

/// A task as the journal knows it: when its first and last events came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub id: String,
    pub opened_at: DateTime<Utc>,
    /// `None` while no event has ended the task.
    pub closed_at: Option<DateTime<Utc>>,
    pub first_seq: Seq,
    pub last_seq: Seq,
}

impl Journal {
    /// Appends one event and returns its number. With [`Durability::Synced`] it is on disk when this returns.
    pub async fn append(&self, event: NewEvent, durability: Durability) -> Result<Seq, JournalError> {
        let now = self.now();
        self.write(durability, move |conn| append(conn, now, &event)).await
    }

    /// Appends several events at once: all of them or none. Returns the number of the last.
    pub async fn append_all(
        &self,
        events: Vec<NewEvent>,
        durability: Durability,
    ) -> Result<Seq, JournalError> {
        let now = self.now();
        self.write(durability, move |conn| append_all(conn, now, &events)).await
    }

    /// All events of a task, in order.
    pub async fn events(&self, task: &str) -> Result<Vec<Event>, JournalError> {
        let task = task.to_owned();
        self.read(move |conn| {
            collect(conn, "SELECT * FROM event WHERE task = ?1 ORDER BY seq", params![task])
        })
        .await
    }

    /// Up to `limit` events after number `seq`, in order. [`Journal::head`] tells when there are more.
    pub async fn since(&self, seq: Seq, limit: u32) -> Result<Vec<Event>, JournalError> {
        self.read(move |conn| {
            collect(conn, "SELECT * FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2", params![seq, limit])
        })
        .await
    }

    /// Up to `limit` events about an entity since `since`, the newest first: "why is the hall light on?".
    pub async fn about(
        &self,
        entity: &str,
        since: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<Event>, JournalError> {
        let (entity, since) = (entity.to_owned(), millis(since));
        self.read(move |conn| {
            collect(
                conn,
                // The index is walked from its end, so that the newest few do not cost a sort of all.
                "SELECT event.* FROM event_entity CROSS JOIN event ON event.seq = event_entity.seq
                 WHERE entity = ?1 AND at >= ?2 ORDER BY event_entity.seq DESC LIMIT ?3",
                params![entity, since, limit],
            )
        })
        .await
    }

    /// Up to `limit` events of some kinds since `since`, the newest first. Reads from the end of the record.
    pub async fn of_kinds(
        &self,
        kinds: &[&str],
        since: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<Event>, JournalError> {
        let (kinds, since) = (serde_json::to_string(kinds).unwrap_or_default(), millis(since));
        self.read(move |conn| {
            collect(
                conn,
                "SELECT * FROM event WHERE kind IN (SELECT value FROM json_each(?1)) AND at >= ?2
                 ORDER BY seq DESC LIMIT ?3",
                params![kinds, since, limit],
            )
        })
        .await
    }

    /// Up to `limit` tasks, the newest first.
    pub async fn tasks(&self, limit: u32, open_only: bool) -> Result<Vec<TaskRow>, JournalError> {
        self.read(move |conn| {
            let sql = if open_only {
                "SELECT * FROM task WHERE closed_at IS NULL ORDER BY first_seq DESC LIMIT ?1"
            } else {
                "SELECT * FROM task ORDER BY first_seq DESC LIMIT ?1"
            };
            let mut statement = conn.prepare_cached(sql)?;
            let rows = statement.query_map([limit], task_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// One task, if the journal has it.
    pub async fn task(&self, id: &str) -> Result<Option<TaskRow>, JournalError> {
        let id = id.to_owned();
        self.read(move |conn| {
            Ok(conn
                .prepare_cached("SELECT * FROM task WHERE id = ?1")?
                .query_row([id], task_row)
                .optional()?)
        })
        .await
    }

    /// Checks the hash chain over all events: reads and hashes the whole record.
    pub async fn verify(&self) -> Result<chain::Verification, JournalError> {
        self.read(chain::verify).await
    }
}

pub(super) fn append_all(
    conn: &Connection,
    now: DateTime<Utc>,
    events: &[NewEvent],
) -> Result<Seq, JournalError> {
    let mut last = chain::head(conn)?.0;
    for event in events {
        last = append(conn, now, event)?;
    }
    Ok(last)
}

/// Appends inside the writer's transaction: the event, its place in the chain, the index, and the task's row.
pub(super) fn append(conn: &Connection, now: DateTime<Utc>, event: &NewEvent) -> Result<Seq, JournalError> {
    let (last, prev) = chain::head(conn)?;
    let (seq, at) = (last + 1, millis(now));
    let link =
        Link { seq, at, task: &event.task, kind: &event.kind, entities: &event.entities, body: &event.body };
    let hash = link.hash(&prev);
    conn.prepare_cached("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(params![
        seq,
        event.task,
        at,
        event.kind,
        event.body,
        event.entities,
        prev,
        hash
    ])?;
    for entity in event.entities.lines() {
        conn.prepare_cached("INSERT INTO event_entity VALUES (?1, ?2)")?.execute(params![entity, seq])?;
    }
    if !event.task.is_empty() {
        let closed = event.ends_task.then_some(at);
        conn.prepare_cached(
            "INSERT INTO task VALUES (?1, ?2, ?3, ?4, ?4)
             ON CONFLICT (id) DO UPDATE SET last_seq = ?4, closed_at = coalesce(closed_at, ?3)",
        )?
        .execute(params![event.task, at, closed, seq])?;
    }
    Ok(seq)
}

pub(super) fn collect(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<Event>, JournalError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, event_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn event_row(row: &Row<'_>) -> rusqlite::Result<Event> {
    let task: String = row.get("task")?;
    let entities: String = row.get("entities")?;
    Ok(Event {
        seq: row.get("seq")?,
        task: (!task.is_empty()).then_some(task),
        at: from_millis(row.get("at")?),
        kind: row.get("kind")?,
        body: row.get("body")?,
        entities: entities.lines().map(str::to_owned).collect(),
    })
}

fn task_row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        id: row.get("id")?,
        opened_at: from_millis(row.get("opened_at")?),
        closed_at: row.get::<_, Option<i64>>("closed_at")?.map(from_millis),
        first_seq: row.get("first_seq")?,
        last_seq: row.get("last_seq")?,
    })
}
