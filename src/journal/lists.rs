//! To-do and shopping lists: items with a text, who added them, and whether they are done.

use chrono::{DateTime, Utc};
use rusqlite::{Row, params};
use serde::Serialize;

use super::error::JournalError;
use super::{Durability, Journal, from_millis, millis};

/// Items that one list holds at most.
const ITEMS: u32 = 1_000;

/// An item's text at most, in characters.
const TEXT: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListItem {
    pub id: String,
    /// The list's entity id, for example `todo.shopping`.
    pub list: String,
    pub text: String,
    pub by: String,
    pub created_at: DateTime<Utc>,
    /// `None` while it is to be done.
    pub done_at: Option<DateTime<Utc>>,
}

impl Journal {
    /// Adds an item at the end of a list.
    pub async fn add_list_item(&self, list: &str, text: &str, by: &str) -> Result<ListItem, JournalError> {
        let text = text.trim();
        let chars = text.chars().count();
        if chars == 0 || chars > TEXT {
            return Err(JournalError::Invalid(format!(
                "an item has 1 to {TEXT} characters; this one has {chars}"
            )));
        }
        let item = ListItem {
            id: self.inner.clock.new_id(),
            list: list.to_owned(),
            text: text.to_owned(),
            by: by.to_owned(),
            created_at: self.now(),
            done_at: None,
        };
        let stored = item.clone();
        self.write(Durability::Synced, move |conn| {
            let held: u32 = conn
                .prepare_cached("SELECT count(*) FROM list_item WHERE list = ?1")?
                .query_row([&stored.list], |row| row.get(0))?;
            if held >= ITEMS {
                return Err(JournalError::Invalid(format!("{} holds {ITEMS} items, the most", stored.list)));
            }
            conn.prepare_cached("INSERT INTO list_item VALUES (?1, ?2, ?3, ?4, ?5, NULL)")?.execute(
                params![stored.id, stored.list, stored.text, stored.by, millis(stored.created_at)],
            )?;
            Ok(())
        })
        .await?;
        Ok(item)
    }

    /// Marks an item as done, or as to be done again. `false` when there is no such item or nothing changed.
    pub async fn set_list_item_done(&self, id: &str, done: bool) -> Result<bool, JournalError> {
        let (id, at) = (id.to_owned(), done.then(|| millis(self.now())));
        self.write(Durability::Synced, move |conn| {
            let changed = conn
                .prepare_cached(
                    "UPDATE list_item SET done_at = ?2 WHERE id = ?1 AND (done_at IS NULL) = (?2 IS NOT NULL)",
                )?
                .execute(params![id, at])?;
            Ok(changed == 1)
        })
        .await
    }

    /// Removes an item. `false` when there is no such item.
    pub async fn remove_list_item(&self, id: &str) -> Result<bool, JournalError> {
        let id = id.to_owned();
        self.write(Durability::Synced, move |conn| {
            Ok(conn.prepare_cached("DELETE FROM list_item WHERE id = ?1")?.execute([id])? == 1)
        })
        .await
    }

    /// The items of a list in the order in which they were added, with or without those that are done.
    pub async fn list_items(&self, list: &str, with_done: bool) -> Result<Vec<ListItem>, JournalError> {
        let list = list.to_owned();
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT * FROM list_item WHERE list = ?1 AND (?2 OR done_at IS NULL) ORDER BY created_at, rowid",
            )?;
            let rows = statement.query_map(params![list, with_done], item_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }
}

fn item_row(row: &Row<'_>) -> rusqlite::Result<ListItem> {
    Ok(ListItem {
        id: row.get("id")?,
        list: row.get("list")?,
        text: row.get("text")?,
        by: row.get("by")?,
        created_at: from_millis(row.get("created_at")?),
        done_at: row.get::<_, Option<i64>>("done_at")?.map(from_millis),
    })
}
