//! Approvals as rows: stored with their limits, changed only by compare-and-swap, always on disk before a call returns.
//!
//! Which states exist and which edges are allowed is said in `policy`. Here every edge is one `UPDATE … WHERE` in one
//! transaction with the events that record it, so exactly one of two deciders wins, also across a crash.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use serde::{Deserialize, Serialize};

use super::error::JournalError;
use super::events::{NewEvent, append_all};
use super::{Durability, Journal, from_millis, millis};
use crate::clock::Clock;

/// How far the wall clock may stand before the time an approval was made, and the approval still be trusted.
const CLOCK_SLACK: TimeDelta = TimeDelta::seconds(5);

/// One gated action and the question about it, as plain columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRow {
    /// A ULID.
    pub id: String,
    pub task: String,
    /// The place of the action in its task.
    pub step: u32,
    pub conversation: String,
    /// What is asked for, as verb and target, so that a repeated question is recognised.
    pub subject: String,
    pub requester_channel: String,
    pub requester_principal: String,
    pub requester_device: String,
    pub requester_trust: String,
    /// What was said, as heard; not verified.
    pub utterance: String,
    /// The exact bytes that the hash covers.
    pub plan_json: String,
    pub plan_hash: String,
    pub policy_version: String,
    pub device_hash: String,
    pub tier: String,
    /// JSON list of reasons for the tier.
    pub reasons: String,
    /// Which untrusted text was read since the command, if any.
    pub taint: Option<String>,
    /// JSON of the state that the plan rests on.
    pub precondition: String,
    pub match_code: String,
    pub created_at: DateTime<Utc>,
    pub boot_id: String,
    pub created_boottime: Duration,
    pub expires_at: DateTime<Utc>,
    pub expires_boottime: Duration,
    pub state: String,
    pub wrong_hashes: u32,
    pub decided_by: Option<String>,
    pub decided_via: Option<String>,
    pub decided_at: Option<DateTime<Utc>>,
    pub dispatched_at: Option<DateTime<Utc>>,
    pub puback_at: Option<DateTime<Utc>>,
    pub observed_at: Option<DateTime<Utc>>,
    pub outcome: Option<String>,
}

/// How many approvals may be in the state that the new one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalLimits {
    pub per_requester: u32,
    pub total: u32,
}

/// What became of a new approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    Stored,
    /// The requester has as many as one may have; nothing was stored, and nothing was evicted.
    RequesterFull,
    /// There are as many as there may be in all; nothing was stored, and nothing was evicted.
    Full,
}

/// The moment at which an expiry is checked: both clocks, so that neither can lengthen an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    pub now: DateTime<Utc>,
    pub boot_id: String,
    pub boottime: Duration,
}

impl Moment {
    pub fn of(clock: &Clock) -> Self {
        Self { now: clock.now(), boot_id: clock.boot_id(), boottime: clock.since_boot() }
    }
}

/// One edge: the row changes if and only if it is in one of `from` and every condition given holds.
#[derive(Debug, Clone, Default)]
pub struct Transition {
    pub id: String,
    pub from: Vec<&'static str>,
    pub to: &'static str,
    /// The row's hash must be this.
    pub plan_hash: Option<String>,
    /// The row must not have expired: by the wall clock, and by the time since boot where the boot is the same; a wall
    /// clock more than 5 s before the row was made counts as expired.
    pub unexpired_at: Option<Moment>,
    pub set: ApprovalSet,
}

/// Columns that an edge fills in; `None` leaves what is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalSet {
    pub decided_by: Option<String>,
    pub decided_via: Option<String>,
    pub decided_at: Option<DateTime<Utc>>,
    pub dispatched_at: Option<DateTime<Utc>>,
    pub puback_at: Option<DateTime<Utc>>,
    pub observed_at: Option<DateTime<Utc>>,
    pub outcome: Option<String>,
}

impl Journal {
    /// Stores a new approval and its events, unless that many are in its state already. Counted and stored at once.
    pub async fn insert_approval(
        &self,
        row: ApprovalRow,
        limits: ApprovalLimits,
        events: Vec<NewEvent>,
    ) -> Result<Inserted, JournalError> {
        let now = self.now();
        self.write(Durability::Synced, move |conn| {
            let count = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
                conn.prepare_cached(sql)?.query_row(values, |found| found.get::<_, u32>(0))
            };
            let all = count("SELECT count(*) FROM approval WHERE state = ?1", &[&row.state])?;
            let own = count(
                "SELECT count(*) FROM approval WHERE state = ?1 AND requester_principal = ?2",
                &[&row.state, &row.requester_principal],
            )?;
            if own >= limits.per_requester {
                return Ok(Inserted::RequesterFull);
            }
            if all >= limits.total {
                return Ok(Inserted::Full);
            }
            insert(conn, &row)?;
            append_all(conn, now, &events)?;
            Ok(Inserted::Stored)
        })
        .await
    }

    pub async fn approval(&self, id: &str) -> Result<Option<ApprovalRow>, JournalError> {
        let id = id.to_owned();
        self.read(move |conn| {
            Ok(conn
                .prepare_cached("SELECT * FROM approval WHERE id = ?1")?
                .query_row([id], approval_row)
                .optional()?)
        })
        .await
    }

    /// Approvals in one of `states`, the oldest first; of every state when none is given.
    pub async fn approvals(&self, states: &[&str]) -> Result<Vec<ApprovalRow>, JournalError> {
        let states = serde_json::to_string(states).unwrap_or_default();
        let sql = if states == "[]" {
            "SELECT * FROM approval WHERE ?1 = '[]' ORDER BY created_at, id"
        } else {
            "SELECT * FROM approval WHERE state IN (SELECT value FROM json_each(?1)) ORDER BY created_at, id"
        };
        self.read(move |conn| list(conn, sql, params![states])).await
    }

    /// Approvals of one task, in the order of its steps.
    pub async fn approvals_of_task(&self, task: &str) -> Result<Vec<ApprovalRow>, JournalError> {
        let task = task.to_owned();
        self.read(move |conn| {
            list(conn, "SELECT * FROM approval WHERE task = ?1 ORDER BY step, id", params![task])
        })
        .await
    }

    /// Approvals about the same subject in one conversation, the newest first: what cool-downs look at.
    pub async fn approvals_about(
        &self,
        conversation: &str,
        subject: &str,
        since: DateTime<Utc>,
    ) -> Result<Vec<ApprovalRow>, JournalError> {
        let (conversation, subject) = (conversation.to_owned(), subject.to_owned());
        self.read(move |conn| {
            list(
                conn,
                "SELECT * FROM approval WHERE conversation = ?1 AND subject = ?2 AND created_at >= ?3
                 ORDER BY created_at DESC, id DESC",
                params![conversation, subject, millis(since)],
            )
        })
        .await
    }

    /// Takes one edge and appends its events, all on disk when this returns. `false`: the row was not as asked, and
    /// nothing was changed or appended.
    pub async fn transition_approval(
        &self,
        edge: Transition,
        events: Vec<NewEvent>,
    ) -> Result<bool, JournalError> {
        let now = self.now();
        self.write(Durability::Synced, move |conn| {
            let taken = transition(conn, &edge)?;
            if taken {
                append_all(conn, now, &events)?;
            }
            Ok(taken)
        })
        .await
    }

    /// Counts a decision with a wrong hash and returns how many there were; 0 when there is no such approval.
    pub async fn count_wrong_hash(&self, id: &str) -> Result<u32, JournalError> {
        let id = id.to_owned();
        self.write(Durability::Synced, move |conn| {
            let counted = conn
                .prepare_cached(
                    "UPDATE approval SET wrong_hashes = wrong_hashes + 1 WHERE id = ?1 RETURNING wrong_hashes",
                )?
                .query_row([id], |row| row.get(0))
                .optional()?;
            Ok(counted.unwrap_or(0))
        })
        .await
    }
}

fn transition(conn: &Connection, edge: &Transition) -> Result<bool, JournalError> {
    let from = serde_json::to_string(&edge.from).unwrap_or_default();
    let moment = edge.unexpired_at.as_ref();
    let set = &edge.set;
    let changed = conn
        .prepare_cached(
            "UPDATE approval SET
                 state         = :to,
                 decided_by    = coalesce(:decided_by, decided_by),
                 decided_via   = coalesce(:decided_via, decided_via),
                 decided_at    = coalesce(:decided_at, decided_at),
                 dispatched_at = coalesce(:dispatched_at, dispatched_at),
                 puback_at     = coalesce(:puback_at, puback_at),
                 observed_at   = coalesce(:observed_at, observed_at),
                 outcome       = coalesce(:outcome, outcome)
             WHERE id = :id
               AND state IN (SELECT value FROM json_each(:from))
               AND (:plan_hash IS NULL OR plan_hash = :plan_hash)
               AND (:now IS NULL OR (
                     :now < expires_at AND :now >= created_at - :slack
                     AND (:boot_id = '' OR boot_id <> :boot_id OR :boottime < expires_boottime)))",
        )?
        .execute(named_params! {
            ":id": edge.id,
            ":from": from,
            ":to": edge.to,
            ":plan_hash": edge.plan_hash,
            ":now": moment.map(|moment| millis(moment.now)),
            ":slack": CLOCK_SLACK.num_milliseconds(),
            ":boot_id": moment.map_or("", |moment| moment.boot_id.as_str()),
            ":boottime": moment.map(|moment| span(moment.boottime)),
            ":decided_by": set.decided_by,
            ":decided_via": set.decided_via,
            ":decided_at": set.decided_at.map(millis),
            ":dispatched_at": set.dispatched_at.map(millis),
            ":puback_at": set.puback_at.map(millis),
            ":observed_at": set.observed_at.map(millis),
            ":outcome": set.outcome,
        })?;
    Ok(changed == 1)
}

fn insert(conn: &Connection, row: &ApprovalRow) -> Result<(), JournalError> {
    conn.prepare_cached(
        "INSERT INTO approval VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
             ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33)",
    )?
    .execute(params![
        row.id,
        row.task,
        row.step,
        row.conversation,
        row.subject,
        row.requester_channel,
        row.requester_principal,
        row.requester_device,
        row.requester_trust,
        row.utterance,
        row.plan_json,
        row.plan_hash,
        row.policy_version,
        row.device_hash,
        row.tier,
        row.reasons,
        row.taint,
        row.precondition,
        row.match_code,
        millis(row.created_at),
        row.boot_id,
        span(row.created_boottime),
        millis(row.expires_at),
        span(row.expires_boottime),
        row.state,
        row.wrong_hashes,
        row.decided_by,
        row.decided_via,
        row.decided_at.map(millis),
        row.dispatched_at.map(millis),
        row.puback_at.map(millis),
        row.observed_at.map(millis),
        row.outcome,
    ])?;
    Ok(())
}

fn list(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<ApprovalRow>, JournalError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, approval_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn approval_row(row: &Row<'_>) -> rusqlite::Result<ApprovalRow> {
    let time = |column: &str| row.get(column).map(from_millis);
    let maybe_time = |column: &str| row.get::<_, Option<i64>>(column).map(|at| at.map(from_millis));
    let boottime = |column: &str| row.get(column).map(from_span);
    Ok(ApprovalRow {
        id: row.get("id")?,
        task: row.get("task")?,
        step: row.get("step")?,
        conversation: row.get("conversation")?,
        subject: row.get("subject")?,
        requester_channel: row.get("requester_channel")?,
        requester_principal: row.get("requester_principal")?,
        requester_device: row.get("requester_device")?,
        requester_trust: row.get("requester_trust")?,
        utterance: row.get("utterance")?,
        plan_json: row.get("plan_json")?,
        plan_hash: row.get("plan_hash")?,
        policy_version: row.get("policy_version")?,
        device_hash: row.get("device_hash")?,
        tier: row.get("tier")?,
        reasons: row.get("reasons")?,
        taint: row.get("taint")?,
        precondition: row.get("precondition")?,
        match_code: row.get("match_code")?,
        created_at: time("created_at")?,
        boot_id: row.get("boot_id")?,
        created_boottime: boottime("created_boottime")?,
        expires_at: time("expires_at")?,
        expires_boottime: boottime("expires_boottime")?,
        state: row.get("state")?,
        wrong_hashes: row.get("wrong_hashes")?,
        decided_by: row.get("decided_by")?,
        decided_via: row.get("decided_via")?,
        decided_at: maybe_time("decided_at")?,
        dispatched_at: maybe_time("dispatched_at")?,
        puback_at: maybe_time("puback_at")?,
        observed_at: maybe_time("observed_at")?,
        outcome: row.get("outcome")?,
    })
}

/// Milliseconds of a time since boot.
fn span(boottime: Duration) -> i64 {
    i64::try_from(boottime.as_millis()).unwrap_or(i64::MAX)
}

fn from_span(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
