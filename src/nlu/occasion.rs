//! Remarks that a scene was made for: "good night", 我出门了.

use crate::home::{Action, Domain, Verb};

use super::command::{Command, Stop};
use super::understanding::Intent;
use super::vocabulary::Occasion;

impl Command<'_> {
    /// What runs the scene of an occasion. Where none fits, a remark that stands alone is not understood, and one
    /// beside a command says nothing more.
    pub fn occasion(&self, occasion: Occasion, alone: bool) -> Result<Option<Intent>, Stop> {
        let words = self.lexicon.scenes.iter().filter(|(known, _)| *known == occasion);
        let words: Vec<&[String]> = words.flat_map(|(_, names)| names).map(Vec::as_slice).collect();
        match self.scene_of_the_house(&words).or_else(|| self.scene_entity(&words)) {
            Some(intent) => Ok(Some(intent)),
            None if alone => Err(Box::new(self.not_understood(Vec::new()))),
            None => Ok(None),
        }
    }

    /// The scene of the home file whose name the occasion fills best; of equals the first.
    fn scene_of_the_house(&self, words: &[&[String]]) -> Option<Intent> {
        let fit = |names: &[Vec<String>]| names.iter().map(|keys| share(words, keys)).max().unwrap_or(0);
        let all = self.index.scene_names.iter().zip(&self.index.scenes);
        all.map(|(names, (id, _))| (fit(names), id))
            .filter(|(fit, _)| *fit > 0)
            .rev()
            .max_by_key(|(fit, _)| *fit)
            .map(|(_, id)| Intent::Scene(id.clone()))
    }

    fn scene_entity(&self, words: &[&[String]]) -> Option<Intent> {
        let item = self.index.items.iter().find(|item| {
            item.entity.domain() == Domain::Scene
                && item.entity.all_names().any(|name| share(words, &self.lexicon.keys(name)) > 0)
        })?;
        item.entity.action(Verb::Activate)?;
        Some(Intent::Actions(vec![Action::new(item.entity.id.clone(), Verb::Activate)]))
    }
}

/// How much of a name the words of an occasion fill, in percent: "sleep" is half of "sleep mode", all of "sleep".
fn share(words: &[&[String]], keys: &[String]) -> usize {
    let held = words.iter().filter(|word| keys.windows(word.len().max(1)).any(|window| window == **word));
    held.map(|word| word.len() * 100 / keys.len().max(1)).max().unwrap_or(0)
}
