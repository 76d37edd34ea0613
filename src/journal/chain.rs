//! The hash chain over the events: what a hash covers, and how the chain is checked.
//!
//! The chain shows every edit, insertion, removal and reordering between its ends. Cutting events off the *end* leaves
//! a shorter chain that is whole; that shows only against a head that somebody kept elsewhere, so the head is returned.

use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};

use super::Seq;
use super::error::JournalError;

pub(super) type Hash = [u8; 32];

/// The hash before the first event ever written.
pub(super) const GENESIS: Hash = [0; 32];

/// The kind of the event that signs off a cut; its body holds `through` and `hash`.
pub(super) const CUT_KIND: &str = "journal_cut";

/// What a hash covers besides the hash before it.
pub(super) struct Link<'a> {
    pub seq: Seq,
    pub at: i64,
    pub task: &'a str,
    pub kind: &'a str,
    pub entities: &'a str,
    pub body: &'a str,
}

impl Link<'_> {
    /// SHA-256 over a version mark, the hash before, and each field with its length in front, so that no two events
    /// have the same bytes.
    pub(super) fn hash(&self, prev: &Hash) -> Hash {
        let mut sha = Sha256::new();
        sha.update(b"homeloop event 1\n");
        sha.update(prev);
        sha.update(self.seq.to_be_bytes());
        sha.update(self.at.to_be_bytes());
        for field in [self.task, self.kind, self.entities, self.body] {
            sha.update((field.len() as u64).to_be_bytes());
            sha.update(field.as_bytes());
        }
        sha.finalize().into()
    }
}

pub(super) fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a check of the whole chain found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// Every event that is here is as it was written.
    Intact {
        events: u64,
        /// The last event, 0 in an empty journal.
        head: Seq,
        /// SHA-256 of the head in hex. Keep it elsewhere to notice a journal that was cut at its end.
        head_hash: String,
        /// Events up to this one were removed by retention, as signed off in the chain. 0 when none was.
        cut_through: Seq,
    },
    /// The first event that is not as it was written.
    Broken { seq: Seq, why: Break },
}

/// How the chain is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Break {
    /// An event is missing before this one.
    Gap,
    /// The event does not follow from the one before it.
    Order,
    /// The event's content was changed.
    Content,
    /// The beginning was removed without a cut event that signs it off.
    UnsignedCut,
    /// The index of entities does not match the events.
    Index,
}

/// Where the chain starts: the checkpoint of the last cut, else the genesis.
pub(super) fn start(conn: &Connection) -> Result<(Seq, Hash), JournalError> {
    let row = conn
        .prepare_cached("SELECT seq, hash FROM checkpoint WHERE one = 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(row.unwrap_or((0, GENESIS)))
}

/// The last event, else where the chain starts.
pub(super) fn head(conn: &Connection) -> Result<(Seq, Hash), JournalError> {
    let row = conn
        .prepare_cached("SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match row {
        Some(head) => Ok(head),
        None => start(conn),
    }
}

/// Walks the whole chain in one read transaction.
pub(super) fn verify(conn: &Connection) -> Result<Verification, JournalError> {
    let transaction = conn.unchecked_transaction()?;
    let (cut_through, cut_hash) = start(&transaction)?;
    let (mut seq, mut hash) = (cut_through, cut_hash);
    let (mut events, mut mentions) = (0_u64, 0_i64);
    let mut signed = cut_through == 0;
    let mut statement = transaction
        .prepare("SELECT seq, at, task, kind, entities, body, prev_hash, hash FROM event ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = |column| row.get_ref(column).and_then(|value| Ok(value.as_str()?));
        let link = Link {
            seq: row.get(0)?,
            at: row.get(1)?,
            task: text(2)?,
            kind: text(3)?,
            entities: text(4)?,
            body: text(5)?,
        };
        let (prev, own): (Vec<u8>, Vec<u8>) = (row.get(6)?, row.get(7)?);
        let expected = link.hash(&hash);
        let broken = |why| Ok(Verification::Broken { seq: link.seq, why });
        if link.seq != seq + 1 {
            return broken(Break::Gap);
        }
        if prev != hash {
            return broken(Break::Order);
        }
        if own != expected {
            return broken(Break::Content);
        }
        signed = signed || signs(&link, cut_through, &cut_hash);
        mentions += i64::try_from(link.entities.lines().count()).unwrap_or(i64::MAX);
        (seq, hash) = (link.seq, expected);
        events += 1;
    }
    if !signed {
        return Ok(Verification::Broken { seq: cut_through + 1, why: Break::UnsignedCut });
    }
    let indexed: i64 = transaction.query_row("SELECT count(*) FROM event_entity", [], |row| row.get(0))?;
    if indexed != mentions {
        return Ok(Verification::Broken { seq, why: Break::Index });
    }
    Ok(Verification::Intact { events, head: seq, head_hash: hex(&hash), cut_through })
}

/// Whether this event is the one that signs off the cut at `through`.
fn signs(link: &Link<'_>, through: Seq, hash: &Hash) -> bool {
    link.kind == CUT_KIND
        && serde_json::from_str::<serde_json::Value>(link.body).is_ok_and(|body| {
            body.get("through").and_then(serde_json::Value::as_i64) == Some(through)
                && body.get("hash").and_then(serde_json::Value::as_str) == Some(hex(hash).as_str())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_events_share_their_bytes() {
        let base = || Link { seq: 1, at: 2, task: "ab", kind: "c", entities: "", body: "{}" };
        let hash = base().hash(&GENESIS);
        assert_eq!(hash, base().hash(&GENESIS));
        for (other, what) in [
            (Link { seq: 2, ..base() }, "number"),
            (Link { at: 3, ..base() }, "time"),
            (Link { task: "a", kind: "bc", ..base() }, "a letter moved from the task to the kind"),
            (Link { kind: "", entities: "c", ..base() }, "the kind moved to the entities"),
            (Link { body: "{ }", ..base() }, "body"),
        ] {
            assert_ne!(hash, other.hash(&GENESIS), "{what}");
        }
        assert_ne!(hash, base().hash(&hash), "the hash before counts");
    }

    #[test]
    fn the_hash_is_stable_over_versions() {
        let link = Link { seq: 1, at: 2, task: "t", kind: "k", entities: "light.a", body: "{\"x\":1}" };
        // Computed apart from this code, over the bytes that Link::hash describes.
        assert_eq!(hex(&link.hash(&GENESIS)), STABLE);
    }

    const STABLE: &str = "cc739872ba0e714d0efdf2c91b10037f5bcc1ca309a7272f4954b30814bbe130";
}
