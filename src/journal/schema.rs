//! The tables, and the steps from one schema to the next.
//!
//! A schema number, once released, is never edited: a change is a new step at the end of [`STEPS`].

use rusqlite::Connection;

use super::error::JournalError;

/// Marks the file as ours ("HLoo" in ASCII), so that another program's database is never written to.
pub(super) const APPLICATION_ID: i64 = 0x484c_6f6f;

/// The schema that this version writes: the number of steps.
pub(super) fn supported() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings the schema up to date, one transaction a step.
pub(super) fn migrate(conn: &Connection) -> Result<(), JournalError> {
    let found: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(found).unwrap_or(0);
    for (index, step) in STEPS.iter().enumerate().skip(done) {
        conn.execute_batch(&format!(
            "BEGIN IMMEDIATE; {step} PRAGMA user_version = {}; PRAGMA application_id = {APPLICATION_ID}; COMMIT;",
            index + 1
        ))?;
    }
    Ok(())
}

/// Times are milliseconds since 1970 (UTC); columns named `*_boottime` are milliseconds since the boot in `boot_id`.
const STEPS: &[&str] = &[
    "
    -- The record. Sequence numbers have no gaps; each row's hash covers the row and the hash before it.
    CREATE TABLE event (
        seq       INTEGER PRIMARY KEY,
        task      TEXT NOT NULL,            -- '' for events of the house that belong to no task
        at        INTEGER NOT NULL,
        kind      TEXT NOT NULL,
        body      TEXT NOT NULL,            -- JSON
        entities  TEXT NOT NULL,            -- entity ids, one a line
        prev_hash BLOB NOT NULL,
        hash      BLOB NOT NULL
    ) STRICT;
    CREATE INDEX event_of_task ON event (task, seq);

    -- An index over event.entities; holds nothing of its own.
    CREATE TABLE event_entity (
        entity TEXT NOT NULL,
        seq    INTEGER NOT NULL,
        PRIMARY KEY (entity, seq)
    ) STRICT, WITHOUT ROWID;

    -- Where retention cut the record: the hash of the last event that was removed. One row.
    CREATE TABLE checkpoint (
        one  INTEGER PRIMARY KEY CHECK (one = 1),
        seq  INTEGER NOT NULL,
        hash BLOB NOT NULL,
        at   INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE task (
        id        TEXT PRIMARY KEY,
        opened_at INTEGER NOT NULL,
        closed_at INTEGER,
        first_seq INTEGER NOT NULL,
        last_seq  INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX task_by_age ON task (first_seq);
    CREATE INDEX task_open ON task (first_seq) WHERE closed_at IS NULL;

    CREATE TABLE approval (
        id                  TEXT PRIMARY KEY,
        task                TEXT NOT NULL,
        step                INTEGER NOT NULL,
        conversation        TEXT NOT NULL,
        subject             TEXT NOT NULL,
        requester_channel   TEXT NOT NULL,
        requester_principal TEXT NOT NULL,
        requester_device    TEXT NOT NULL,
        requester_trust     TEXT NOT NULL,
        utterance           TEXT NOT NULL,
        plan_json           TEXT NOT NULL,
        plan_hash           TEXT NOT NULL,
        policy_version      TEXT NOT NULL,
        device_hash         TEXT NOT NULL,
        tier                TEXT NOT NULL,
        reasons             TEXT NOT NULL,
        taint               TEXT,
        precondition        TEXT NOT NULL,
        match_code          TEXT NOT NULL,
        created_at          INTEGER NOT NULL,
        boot_id             TEXT NOT NULL,
        created_boottime    INTEGER NOT NULL,
        expires_at          INTEGER NOT NULL,
        expires_boottime    INTEGER NOT NULL,
        state               TEXT NOT NULL,
        wrong_hashes        INTEGER NOT NULL DEFAULT 0,
        decided_by          TEXT,
        decided_via         TEXT,
        decided_at          INTEGER,
        dispatched_at       INTEGER,
        puback_at           INTEGER,
        observed_at         INTEGER,
        outcome             TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX approval_by_state ON approval (state, created_at);
    CREATE INDEX approval_by_subject ON approval (conversation, subject);

    CREATE TABLE memory (
        scope TEXT NOT NULL,
        key   TEXT NOT NULL,
        value TEXT NOT NULL,
        by    TEXT NOT NULL,                -- who wrote it
        at    INTEGER NOT NULL,
        PRIMARY KEY (scope, key)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE budget (
        period        TEXT PRIMARY KEY,     -- '2026-11' or '2026-11-29'
        micro_dollars INTEGER NOT NULL,
        tokens        INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE first_result (
        command TEXT PRIMARY KEY,
        task    TEXT NOT NULL,
        at      INTEGER NOT NULL,
        result  TEXT
    ) STRICT;
    CREATE INDEX first_result_by_age ON first_result (at);

    CREATE TABLE retained (
        topic   TEXT PRIMARY KEY,
        payload BLOB NOT NULL,
        qos     INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE list_item (
        id         TEXT PRIMARY KEY,
        list       TEXT NOT NULL,
        text       TEXT NOT NULL,
        by         TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        done_at    INTEGER
    ) STRICT;
    CREATE INDEX list_item_of_list ON list_item (list, created_at);

    CREATE TABLE timer (
        id           TEXT PRIMARY KEY,
        label        TEXT NOT NULL,
        origin       TEXT NOT NULL,         -- JSON of the channel that it rings through
        conversation TEXT NOT NULL,
        created_at   INTEGER NOT NULL,
        seconds      INTEGER NOT NULL,      -- as asked, extensions included
        due          INTEGER NOT NULL,
        boot_id      TEXT NOT NULL,
        due_boottime INTEGER NOT NULL,
        state        TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX timer_by_state ON timer (state, due);

    CREATE TABLE schedule (
        id           TEXT PRIMARY KEY,
        spec         TEXT NOT NULL,         -- JSON of what was asked
        state        TEXT NOT NULL,
        created_at   INTEGER NOT NULL,
        next_fire    INTEGER,
        boot_id      TEXT NOT NULL,
        due_boottime INTEGER,               -- only where the due time counts elapsed time
        last_fired   INTEGER,
        firing       INTEGER,               -- the due time of a firing that is not yet taken over
        deleted_at   INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX schedule_by_state ON schedule (state, next_fire);
",
    "
    -- What is left of a timer that is paused.
    ALTER TABLE timer ADD COLUMN left_millis INTEGER;
",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_of_the_first_schema_runs_on_after_the_next_step() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(&format!("{} PRAGMA user_version = 1;", STEPS[0])).unwrap();
        conn.execute(
            "INSERT INTO timer VALUES ('t', 'tea', 'null', 'c', 1, 60, 2, 'boot', 3, 'running')",
            [],
        )
        .unwrap();
        migrate(&conn).unwrap();
        let found: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(found, supported());
        let read = "SELECT due, left_millis FROM timer WHERE id = 't'";
        let row: (i64, Option<i64>) = conn.query_row(read, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(row, (2, None), "it is not paused");
    }
}
