//! Rows of schedules and timers: what is due when, changed only by compare-and-swap on the state and the due time.
//!
//! When something is due, and what the states mean, is decided in `schedule`.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::error::JournalError;
use super::events::{NewEvent, append_all};
use super::{Durability, Journal, from_millis, millis};

/// A schedule as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRow {
    pub id: String,
    /// JSON of what was asked.
    pub spec: String,
    pub state: String,
    pub created_at: DateTime<Utc>,
    pub next_fire: Option<DateTime<Utc>>,
    /// Which boot `due_boottime` belongs to.
    pub boot_id: String,
    /// The due time in milliseconds since boot, where elapsed time counts and not the wall clock.
    pub due_boottime: Option<i64>,
    /// The due time of the last firing that was committed.
    pub last_fired: Option<DateTime<Utc>>,
    /// The due time of a firing that was committed and not yet taken over.
    pub firing: Option<DateTime<Utc>>,
    pub deleted_at: Option<DateTime<Utc>>,
}

/// One change of a schedule: it happens if and only if the row is in `from` and due at `due`.
#[derive(Debug, Clone)]
pub struct ScheduleChange {
    pub id: String,
    pub from: &'static str,
    /// The `next_fire` that the row must have.
    pub due: Option<DateTime<Utc>>,
    pub to: &'static str,
    pub next_fire: Option<DateTime<Utc>>,
    /// Set when the change is a firing of `due`.
    pub fires: bool,
    pub deleted_at: Option<DateTime<Utc>>,
}

/// A timer as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerRow {
    pub id: String,
    pub label: String,
    /// JSON of the channel that it rings through.
    pub origin: String,
    pub conversation: String,
    pub created_at: DateTime<Utc>,
    /// The whole length in seconds, extensions included.
    pub seconds: i64,
    pub due: DateTime<Utc>,
    pub boot_id: String,
    /// The due time in milliseconds since the boot `boot_id`.
    pub due_boottime: i64,
    pub state: String,
    /// What is left, in milliseconds, of a timer that is paused; its due time counts only once it goes on.
    pub left_millis: Option<i64>,
}

impl Journal {
    /// Stores a schedule and its events. `false` when `limit` schedules are in its state already.
    pub async fn insert_schedule(
        &self,
        row: ScheduleRow,
        limit: u32,
        events: Vec<NewEvent>,
    ) -> Result<bool, JournalError> {
        let now = self.now();
        self.write(Durability::Synced, move |conn| {
            let held: u32 = conn
                .prepare_cached("SELECT count(*) FROM schedule WHERE state = ?1")?
                .query_row([&row.state], |found| found.get(0))?;
            if held >= limit {
                return Ok(false);
            }
            insert_schedule(conn, &row)?;
            append_all(conn, now, &events)?;
            Ok(true)
        })
        .await
    }

    /// Changes a schedule, stores the schedules that follow from it and appends the events, all on disk when this
    /// returns. `false`: the row was not as asked, and nothing was done.
    pub async fn change_schedule(
        &self,
        change: ScheduleChange,
        follow: Vec<ScheduleRow>,
        events: Vec<NewEvent>,
    ) -> Result<bool, JournalError> {
        let now = self.now();
        self.write(Durability::Synced, move |conn| {
            let changed = conn
                .prepare_cached(
                    "UPDATE schedule SET
                         state = :to, next_fire = :next, deleted_at = :deleted,
                         last_fired = iif(:fires, :due, last_fired), firing = iif(:fires, :due, firing)
                     WHERE id = :id AND state = :from AND next_fire IS :due",
                )?
                .execute(named_params! {
                    ":id": change.id,
                    ":from": change.from,
                    ":due": change.due.map(millis),
                    ":to": change.to,
                    ":next": change.next_fire.map(millis),
                    ":deleted": change.deleted_at.map(millis),
                    ":fires": change.fires,
                })?;
            if changed == 1 {
                for row in &follow {
                    insert_schedule(conn, row)?;
                }
                append_all(conn, now, &events)?;
            }
            Ok(changed == 1)
        })
        .await
    }

    /// Says that the firing of `due` was taken over. `false` when it was not open.
    pub async fn end_firing(
        &self,
        id: &str,
        due: DateTime<Utc>,
        events: Vec<NewEvent>,
    ) -> Result<bool, JournalError> {
        let (id, now) = (id.to_owned(), self.now());
        self.write(Durability::Synced, move |conn| {
            let ended = conn
                .prepare_cached("UPDATE schedule SET firing = NULL WHERE id = ?1 AND firing = ?2")?
                .execute(params![id, millis(due)])?;
            if ended == 1 {
                append_all(conn, now, &events)?;
            }
            Ok(ended == 1)
        })
        .await
    }

    pub async fn schedule(&self, id: &str) -> Result<Option<ScheduleRow>, JournalError> {
        let id = id.to_owned();
        self.read(move |conn| {
            Ok(conn
                .prepare_cached("SELECT * FROM schedule WHERE id = ?1")?
                .query_row([id], schedule_row)
                .optional()?)
        })
        .await
    }

    /// Schedules in the order in which they were made; of one state, or of all.
    pub async fn schedules(&self, state: Option<&str>) -> Result<Vec<ScheduleRow>, JournalError> {
        let state = state.map(str::to_owned);
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT * FROM schedule WHERE ?1 IS NULL OR state = ?1 ORDER BY created_at, id",
            )?;
            let rows = statement.query_map([state], schedule_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Stores a timer and its events. `false` when `limit` timers are in its state already.
    pub async fn insert_timer(
        &self,
        row: TimerRow,
        limit: u32,
        events: Vec<NewEvent>,
    ) -> Result<bool, JournalError> {
        let now = self.now();
        self.write(Durability::Synced, move |conn| {
            let held: u32 = conn
                .prepare_cached("SELECT count(*) FROM timer WHERE state = ?1")?
                .query_row([&row.state], |found| found.get(0))?;
            if held >= limit {
                return Ok(false);
            }
            conn.prepare_cached("INSERT INTO timer VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?
                .execute(params![
                row.id,
                row.label,
                row.origin,
                row.conversation,
                millis(row.created_at),
                row.seconds,
                millis(row.due),
                row.boot_id,
                row.due_boottime,
                row.state,
                row.left_millis,
            ])?;
            append_all(conn, now, &events)?;
            Ok(true)
        })
        .await
    }

    /// Moves a timer to `row`'s due time, length, rest and state, if it is in state `from` and due at `due`.
    pub async fn change_timer(
        &self,
        from: &'static str,
        due: DateTime<Utc>,
        row: TimerRow,
        events: Vec<NewEvent>,
    ) -> Result<bool, JournalError> {
        let now = self.now();
        self.write(Durability::Synced, move |conn| {
            let changed = conn
                .prepare_cached(
                    "UPDATE timer SET state = ?4, due = ?5, boot_id = ?6, due_boottime = ?7, seconds = ?8,
                            left_millis = ?9
                     WHERE id = ?1 AND state = ?2 AND due = ?3",
                )?
                .execute(params![
                    row.id,
                    from,
                    millis(due),
                    row.state,
                    millis(row.due),
                    row.boot_id,
                    row.due_boottime,
                    row.seconds,
                    row.left_millis,
                ])?;
            if changed == 1 {
                append_all(conn, now, &events)?;
            }
            Ok(changed == 1)
        })
        .await
    }

    /// Timers in one state, the first due first.
    pub async fn timers(&self, state: &str) -> Result<Vec<TimerRow>, JournalError> {
        let state = state.to_owned();
        self.read(move |conn| {
            let mut statement =
                conn.prepare_cached("SELECT * FROM timer WHERE state = ?1 ORDER BY due, id")?;
            let rows = statement.query_map([state], timer_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Removes schedules deleted before `deleted`, schedules without a next firing made before `over`, and timers of
    /// other states than `running` due before `deleted`.
    pub async fn purge_due(
        &self,
        deleted: DateTime<Utc>,
        over: DateTime<Utc>,
        running: &'static str,
    ) -> Result<(), JournalError> {
        self.write(Durability::Normal, move |conn| {
            conn.prepare_cached(
                "DELETE FROM schedule WHERE firing IS NULL
                 AND (deleted_at < ?1 OR (next_fire IS NULL AND deleted_at IS NULL AND created_at < ?2))",
            )?
            .execute(params![millis(deleted), millis(over)])?;
            conn.prepare_cached("DELETE FROM timer WHERE state <> ?2 AND due < ?1")?
                .execute(params![millis(deleted), running])?;
            Ok(())
        })
        .await
    }
}

fn insert_schedule(conn: &Connection, row: &ScheduleRow) -> Result<(), JournalError> {
    conn.prepare_cached("INSERT INTO schedule VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?.execute(
        params![
            row.id,
            row.spec,
            row.state,
            millis(row.created_at),
            row.next_fire.map(millis),
            row.boot_id,
            row.due_boottime,
            row.last_fired.map(millis),
            row.firing.map(millis),
            row.deleted_at.map(millis),
        ],
    )?;
    Ok(())
}

fn schedule_row(row: &Row<'_>) -> rusqlite::Result<ScheduleRow> {
    let time = |column: &str| row.get::<_, Option<i64>>(column).map(|at| at.map(from_millis));
    Ok(ScheduleRow {
        id: row.get("id")?,
        spec: row.get("spec")?,
        state: row.get("state")?,
        created_at: from_millis(row.get("created_at")?),
        next_fire: time("next_fire")?,
        boot_id: row.get("boot_id")?,
        due_boottime: row.get("due_boottime")?,
        last_fired: time("last_fired")?,
        firing: time("firing")?,
        deleted_at: time("deleted_at")?,
    })
}

fn timer_row(row: &Row<'_>) -> rusqlite::Result<TimerRow> {
    Ok(TimerRow {
        id: row.get("id")?,
        label: row.get("label")?,
        origin: row.get("origin")?,
        conversation: row.get("conversation")?,
        created_at: from_millis(row.get("created_at")?),
        seconds: row.get("seconds")?,
        due: from_millis(row.get("due")?),
        boot_id: row.get("boot_id")?,
        due_boottime: row.get("due_boottime")?,
        state: row.get("state")?,
        left_millis: row.get("left_millis")?,
    })
}
