//! What the noun phrases of a clause mean together, or what is meant where it has none.

use super::clause::{Clause, Noun, Np};
use super::command::{Command, Running, Stop};
use super::kinds::belongs;
use super::resolve::{Found, Resolver};
use super::understanding::{Intent, RefuseReason, Understanding};
use super::vocabulary::{Class, Pred, Word};

/// What the noun phrases of a clause were found to mean together.
#[derive(Default)]
pub struct Collected {
    pub items: Vec<usize>,
    pub intents: Vec<Intent>,
    /// Candidates of a phrase that means one of several.
    pub several: Option<(Vec<usize>, Np)>,
    /// The items of each phrase.
    pub groups: Vec<Vec<usize>>,
}

impl Command<'_> {
    /// What all noun phrases mean, or what is meant where there is none.
    /// # Errors
    /// A phrase names nothing that the house has, or two are ambiguous.
    pub fn collected(
        &self,
        clause: &Clause,
        nps: &[Np],
        excluding: bool,
        resolver: &Resolver<'_>,
        running: &Running,
    ) -> Result<Collected, Stop> {
        let frame = resolver.frame;
        let pronoun = clause.word(Word::It) || clause.word(Word::Them);
        let mut collected = Collected::default();
        if nps.is_empty() {
            self.unnamed(clause, resolver, running, &mut collected)?;
        }
        for np in nps {
            let mut np = np.clone();
            // "Clean the whole house": the robot, wherever it is.
            if frame.by_verb == Some(Class::Vacuum)
                && !excluding
                && np.nouns.iter().all(|noun| noun.classes == [Class::Everything])
                && !np.nouns.is_empty()
            {
                let implied = resolver.implied_np().unwrap_or_default();
                self.collect(resolver.unnamed(pronoun), &implied, &mut collected)?;
                continue;
            }
            // "make the lights in here brighter": the pronoun is not needed where a place is named.
            let found = if np.is_place() && np.nouns.is_empty() {
                self.placed(resolver, &np, running, pronoun)
            } else {
                let keeps = excluding || self.spares_some(resolver, &np, running);
                np.all |= keeps && (np.plural || (nps.len() == 1 && !np.singles_out()));
                if frame.remark { resolver.remarked_at(&np) } else { resolver.find(&np) }
            };
            self.collect(found, &np, &mut collected)?;
        }
        Ok(collected)
    }

    /// What is meant where nothing is named: everything, what was spoken of, or what the verb implies.
    fn unnamed(
        &self,
        clause: &Clause,
        resolver: &Resolver<'_>,
        running: &Running,
        collected: &mut Collected,
    ) -> Result<(), Stop> {
        let frame = resolver.frame;
        let pronoun = clause.word(Word::It) || clause.word(Word::Them);
        let sweeping = clause.word(Word::All) && matches!(frame.pred, Pred::Off | Pred::OffOrClose);
        // "Which lights are on" – "all off": those.
        let spoken: Vec<usize> =
            self.dialogue.entities.iter().filter_map(|id| self.index.item_of(id.as_str())).collect();
        if sweeping && spoken.len() > 1 {
            collected.items = spoken;
            return Ok(());
        }
        if sweeping && !pronoun && frame.attribute.is_none() {
            let everything = Noun { classes: vec![Class::Everything], ..Noun::default() };
            let np = Np { nouns: vec![everything], all: true, ..Np::default() };
            return self.collect(resolver.find(&np), &np, collected);
        }
        // "… on at seven and off at nine": the same thing.
        let goes_on = clause.preds.is_empty() && clause.states.is_empty() && clause.remarks.is_empty();
        // "If the back door isn't locked, lock": what was spoken of, where it can be done to that.
        let fits =
            |item: &usize| self.index.items.get(*item).is_some_and(|item| frame.fits(item.entity.domain()));
        let able = frame.secures() && running.last.iter().all(fits);
        // "Turn on the reading lamp, a bit darker": that one, and not every light of the room.
        let theirs = frame.implied().is_some_and(|class| {
            let of = |item: &usize| self.index.items.get(*item).is_some_and(|item| belongs(item, class) > 0);
            frame.sets() && running.last.iter().all(|item| of(item) && fits(item))
        });
        let same = pronoun || goes_on || able || theirs || frame.implied().is_none();
        let found = if same && !running.last.is_empty() {
            Found::Items(running.last.clone())
        } else {
            resolver.unnamed(pronoun)
        };
        self.collect(found, &resolver.implied_np().unwrap_or_default(), collected)
    }

    /// Whether another clause keeps something that a phrase would mean: "turn off the lights but leave the kitchen on".
    fn spares_some(&self, resolver: &Resolver<'_>, np: &Np, running: &Running) -> bool {
        let all = Np { all: true, ..np.clone() };
        !running.spared.is_empty()
            && matches!(resolver.find(&all), Found::Items(items) if items.iter().any(|item| running.spared.contains(item)))
    }

    /// "here", "upstairs", "in the house" without a thing.
    fn placed(&self, resolver: &Resolver<'_>, np: &Np, running: &Running, pronoun: bool) -> Found {
        if pronoun && !running.last.is_empty() {
            return Found::Items(running.last.clone());
        }
        if resolver.frame.remark {
            return resolver.remarked_at(np);
        }
        match resolver.find(np) {
            Found::Missing => resolver.unnamed(pronoun),
            found => found,
        }
    }

    pub fn collect(&self, found: Found, np: &Np, collected: &mut Collected) -> Result<(), Stop> {
        match found {
            Found::Items(found) => {
                collected.groups.push(found.clone());
                for item in found {
                    if !collected.items.contains(&item) {
                        collected.items.push(item);
                    }
                }
            }
            Found::Scene(scene) => collected.intents.push(Intent::Scene(scene)),
            Found::Several(_) if collected.several.is_some() => {
                return Err(Box::new(self.not_understood(Vec::new())));
            }
            Found::Several(candidates) => collected.several = Some((candidates, np.clone())),
            Found::Unknown(said) => return Err(Box::new(self.unknown(&said))),
            Found::Nothing(said) => {
                let reply = self.say("nothing_there", &[("what", &said)]);
                return Err(Box::new(Understanding::Refuse { reply, reason: RefuseReason::NothingThere }));
            }
            Found::NoneSo(state) => {
                let said = self.lexicon.phrase(&format!("is.{}", state.word())).unwrap_or(state.word());
                let reply = self.say("none", &[("state", said)]);
                return Err(Box::new(Understanding::Refuse { reply, reason: RefuseReason::NothingThere }));
            }
            Found::NothingIn(place) => {
                let reply = self.say("nothing_in", &[("where", &place)]);
                return Err(Box::new(Understanding::Refuse { reply, reason: RefuseReason::NothingThere }));
            }
            Found::Missing => return Err(Box::new(self.not_understood(Vec::new()))),
        }
        Ok(())
    }
}
