//! Completion of the names of a house: entities in every language they have, and areas.

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use serde_json::Value;

use crate::tools::clean;

/// Sorted, without repeats.
#[derive(Debug, Default)]
pub struct Names(Vec<String>);

impl Names {
    /// The names in the answer of `/api/entities`.
    pub fn of(entities: &Value) -> Self {
        let entities = entities.as_array().into_iter().flatten();
        let mut names: Vec<String> = entities
            .flat_map(|entity| {
                let translated = entity["names"].as_object().into_iter().flat_map(|names| names.values());
                let all = [&entity["name"], &entity["area_name"]].into_iter().chain(translated);
                all.filter_map(|name| Some(clean(name.as_str()?, 100))).collect::<Vec<_>>()
            })
            .chain(super::WORDS.map(str::to_owned))
            .filter(|name| !name.is_empty())
            .collect();
        names.sort_unstable();
        names.dedup();
        Self(names)
    }

    /// Where the longest beginning of a name before the cursor starts, and the names that go on from there.
    fn complete_at(&self, before: &str) -> (usize, Vec<String>) {
        let mut previous = ' ';
        for (at, character) in before.char_indices() {
            // Words without spaces between them begin anywhere.
            let begins = !previous.is_alphanumeric() || !character.is_ascii();
            previous = character;
            if !begins || character.is_whitespace() {
                continue;
            }
            let typed = before.get(at..).unwrap_or_default().to_lowercase();
            let fit = self.0.iter().filter(|name| name.to_lowercase().starts_with(&typed));
            let fit: Vec<String> = fit.cloned().collect();
            if !fit.is_empty() {
                return (at, fit);
            }
        }
        (before.len(), Vec::new())
    }
}

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.complete_at(line.get(..pos).unwrap_or_default()))
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}

impl Validator for Names {}

impl Helper for Names {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_beginning_of_a_name_is_completed() {
        let names = Names::of(&json!([
            {"name": "Kitchen light", "names": {"zh": "厨房灯"}, "area_name": "Kitchen"},
            {"name": "Kids' room light", "names": {}, "area_name": "Kids' room"},
            {"name": "Desk lamp", "names": {"zh": "台灯"}},
        ]));
        let all = |fit: &[&str]| fit.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (before, at, fit) in [
            ("turn on the kit", 12, all(&["Kitchen", "Kitchen light"])),
            ("turn on the Kitchen l", 12, all(&["Kitchen light"])),
            ("dim the des", 8, all(&["Desk lamp"])),
            ("打开厨", 6, all(&["厨房灯"])),
            ("turn on the ballroom", 20, all(&[])),
            ("app", 0, all(&["approve"])),
            ("", 0, all(&[])),
            ("unkit", 5, all(&[])),
        ] {
            assert_eq!(names.complete_at(before), (at, fit), "{before}");
        }
    }
}
