//! To-do and shopping lists by sentence; the items are rows of the journal.

use serde_json::{Value, json};

use super::{Keeper, said};
use crate::nlu::{Lexicon, ListChange};
use crate::tools::HouseholdRequest;

/// The list that is meant where none is named.
const SHOPPING: &str = "todo.shopping_list";

impl Keeper {
    pub(super) async fn list(
        &self,
        change: &ListChange,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Value, String> {
        let text = |error: crate::journal::JournalError| error.to_string();
        let id = |list: &Option<crate::home::EntityId>| {
            list.as_ref().map_or_else(|| SHOPPING.to_owned(), std::string::ToString::to_string)
        };
        match change {
            ListChange::Add { list, item } => {
                self.journal.add_list_item(&id(list), item, &request.principal.name).await.map_err(text)?;
                Ok(said(lexicon.say("list_added", &[("item", item)])))
            }
            ListChange::Complete { list, item } => {
                let row = self.item(&id(list), item, lexicon).await?;
                self.journal.set_list_item_done(&row, true).await.map_err(text)?;
                Ok(said(lexicon.say("list_completed", &[("item", item)])))
            }
            ListChange::Remove { list, item } => {
                let row = self.item(&id(list), item, lexicon).await?;
                self.journal.remove_list_item(&row).await.map_err(text)?;
                Ok(said(lexicon.say("list_removed", &[("item", item)])))
            }
            ListChange::Read { list } => {
                let items = self.journal.list_items(&id(list), false).await.map_err(text)?;
                if items.is_empty() {
                    return Ok(said(lexicon.say("list_empty", &[])));
                }
                let names: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
                let names = names.join(lexicon.phrase("comma").unwrap_or(", "));
                Ok(json!({"said": lexicon.say("list_items", &[("items", &names)]), "items": items}))
            }
        }
    }

    async fn item(&self, list: &str, item: &str, lexicon: &Lexicon) -> Result<String, String> {
        let items = self.journal.list_items(list, false).await.map_err(|error| error.to_string())?;
        let wanted = item.to_lowercase();
        let found = items.into_iter().find(|row| row.text.to_lowercase() == wanted);
        found.map(|row| row.id).ok_or_else(|| lexicon.say("list_no_item", &[("item", item)]))
    }
}
