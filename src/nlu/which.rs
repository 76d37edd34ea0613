//! Our questions back: "which one?", "in which room?", with what each answer would do.

use crate::home::EntityId;

use super::act;
use super::clause::Np;
use super::command::{Command, Stop};
use super::dialogue::{Alternative, Pending};
use super::frame::Frame;
use super::resolve::Resolver;
use super::understanding::{Intent, ListChange, Understanding};

/// Alternatives that are read aloud; of more it is said that there are others.
pub const SPOKEN: usize = 4;

impl Command<'_> {
    /// "Which one: …?", or "in which room: …?" where many things of a kind are in several.
    pub fn ask(
        &self,
        frame: &Frame,
        candidates: &[usize],
        np: &Np,
        resolver: &Resolver<'_>,
    ) -> Result<(String, Pending), Stop> {
        let rooms = self.by_room(candidates);
        let by_room = rooms.len() > 1
            && rooms.len() < candidates.len()
            && np.names_kinds_only()
            && (np.plural || candidates.len() > SPOKEN);
        let groups = if by_room {
            rooms
        } else {
            candidates.iter().map(|item| (self.distinct_name(*item, candidates), vec![*item])).collect()
        };
        let mut alternatives = Vec::new();
        for (name, items) in groups {
            let planned = items.iter().filter_map(|item| {
                let known = self.index.items.get(*item)?;
                let actions = act::plan(frame, &known.entity, resolver.state(*item)).ok()?;
                Some((known.entity.id.clone(), actions))
            });
            let (entities, actions): (Vec<_>, Vec<_>) = planned.unzip();
            if !entities.is_empty() {
                let intents = vec![Intent::Actions(actions.concat())];
                alternatives.push(Alternative { entities, name, intents });
            }
        }
        if alternatives.is_empty() {
            return Err(self.none_can(frame, candidates, resolver));
        }
        let key = if by_room { "which_room" } else { "which" };
        Ok((self.question(key, &alternatives), Pending { alternatives, all_allowed: true, rest: Vec::new() }))
    }

    /// Why the first of several cannot do it, where none can.
    fn none_can(&self, frame: &Frame, candidates: &[usize], resolver: &Resolver<'_>) -> Stop {
        let fault = candidates.iter().find_map(|item| {
            let entity = &self.index.items.get(*item)?.entity;
            Some(self.fault(entity, &act::plan(frame, entity, resolver.state(*item)).err()?))
        });
        Box::new(fault.unwrap_or_else(|| self.not_understood(Vec::new())))
    }

    /// "Which list: …?", each with the same change.
    pub fn ask_list(&self, lists: &[EntityId], change: &ListChange) -> Understanding {
        let alternatives: Vec<Alternative> = lists
            .iter()
            .filter_map(|id| {
                let entity = self.house.entity(id.as_str())?;
                Some(Alternative {
                    entities: vec![id.clone()],
                    name: entity.name_in(self.lexicon.language).to_owned(),
                    intents: vec![Intent::List(change.in_list(id.clone()))],
                })
            })
            .collect();
        let question = self.question("which", &alternatives);
        Understanding::Ask {
            question,
            pending: Pending { alternatives, all_allowed: false, rest: Vec::new() },
        }
    }

    fn question(&self, key: &str, alternatives: &[Alternative]) -> String {
        let names: Vec<&str> = alternatives.iter().take(SPOKEN).map(|one| one.name.as_str()).collect();
        let or = self.lexicon.phrase("or").unwrap_or(", ");
        let mut list = match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) if alternatives.len() <= SPOKEN => {
                format!("{}{or}{last}", rest.join(self.lexicon.phrase("comma").unwrap_or(", ")))
            }
            Some(_) | None => names.join(self.lexicon.phrase("comma").unwrap_or(", ")),
        };
        if alternatives.len() > SPOKEN {
            list.push_str(self.lexicon.phrase("and_more").unwrap_or("…"));
        }
        self.say(key, &[("names", &list)])
    }

    /// Items by the room that they are in; what is in none stands alone.
    fn by_room(&self, items: &[usize]) -> Vec<(String, Vec<usize>)> {
        let mut rooms: Vec<(Option<usize>, String, Vec<usize>)> = Vec::new();
        for item in items {
            let area = self.index.items.get(*item).and_then(|known| known.area);
            match rooms.iter_mut().find(|(known, _, _)| known.is_some() && *known == area) {
                Some((_, _, known)) => known.push(*item),
                None => {
                    let place = area.and_then(|area| self.index.areas.get(area));
                    let name =
                        place.map_or_else(|| self.distinct_name(*item, items), |place| place.name.clone());
                    rooms.push((area, name, vec![*item]));
                }
            }
        }
        rooms.into_iter().map(|(_, name, items)| (name, items)).collect()
    }

    /// A name that tells an entity from the others: with its area where another has the same.
    pub fn distinct_name(&self, item: usize, among: &[usize]) -> String {
        let Some(known) = self.index.items.get(item) else { return String::new() };
        let language = self.lexicon.language;
        let name = known.entity.name_in(language);
        let twin = among.iter().any(|other| {
            *other != item
                && self.index.items.get(*other).is_some_and(|other| other.entity.name_in(language) == name)
        });
        match known.area.and_then(|area| self.index.areas.get(area)) {
            Some(area) if twin => self.say("name_in_area", &[("name", name), ("area", &area.name)]),
            Some(_) | None => name.to_owned(),
        }
    }
}
