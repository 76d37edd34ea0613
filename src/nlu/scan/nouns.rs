//! Noun phrases: what is a noun here, and which nouns belong together.

use super::{Break, Scanner};
use crate::nlu::clause::{Noun, Np, Role};
use crate::nlu::index::Target;
use crate::nlu::kinds::belongs;
use crate::nlu::lattice::{Reading, Span};
use crate::nlu::lexicon::{Phrase, Sense};
use crate::nlu::text::Token;
use crate::nlu::vocabulary::{Attribute, Class, Pred, Word};

impl Scanner<'_> {
    /// The noun that a span is here, if it is one.
    pub(super) fn as_noun(&self, span: &Span, position: usize) -> Option<Noun> {
        let (mut noun, other) = self.nameable(span, position);
        let pred = span.is_verb();
        // "Who is home", where the weather is called "Home".
        let stateful = self.asking && span.sense(|sense| matches!(sense, Sense::State(_)));
        let only_named = noun
            .targets
            .iter()
            .all(|target| matches!(target, Target::Entity(item) if !self.index.acts(*item)));
        if stateful && only_named && !noun.targets.is_empty() {
            return None;
        }
        if !noun.targets.is_empty() {
            return Some(self.of_the_room(span, &noun).unwrap_or(noun));
        }
        if pred && self.takes_verb(position) {
            return None;
        }
        // "A blue shade" is a colour, and of a lamp so is "a blue light".
        let colored = !self.clause.colors.is_empty() || !self.clause.whites.is_empty();
        let again = noun.classes == [Class::Light]
            && !span.plural
            && (self.np.is_some() || !self.clause.nps.is_empty());
        if colored && (noun.classes == [Class::Shade] || again) {
            return None;
        }
        if !noun.classes.is_empty() {
            noun.special = self.special(span);
            noun.called = self.called(span);
            let state = span.sense(|sense| matches!(sense, Sense::State(_)));
            return (!other || (!state && !span.word(Word::Filler) && !self.wants_mode(position)))
                .then_some(noun);
        }
        // "living room lights" where the house has no such area, only things of that name.
        let place = span.word(Word::Here) || span.word(Word::House);
        let named =
            place && self.np.as_ref().is_some_and(|np| np.nouns.iter().any(|noun| !noun.parts.is_empty()));
        (!noun.parts.is_empty() && (!other || named) && !pred).then_some(noun)
    }

    /// Everything that a span can name, and whether it can say something else too.
    fn nameable(&self, span: &Span, position: usize) -> (Noun, bool) {
        let mut noun = Noun { text: self.text(span), plural: span.plural, ..Noun::default() };
        let mut other = false;
        for reading in &span.readings {
            match reading {
                Reading::Name(targets) => noun.targets.extend(targets.iter().copied()),
                Reading::Part(items) => noun.parts.extend(items.iter().copied()),
                Reading::Sense(Sense::Class(class)) => noun.classes.push(*class),
                Reading::Sense(Sense::Pred(_)) => {}
                Reading::Sense(Sense::Mode(_)) => other |= self.wants_mode(position),
                Reading::Sense(
                    Sense::Attribute(_)
                    | Sense::Word(_)
                    | Sense::State(_)
                    | Sense::Such(_)
                    | Sense::Remark(_)
                    | Sense::Occasion(_)
                    | Sense::Talk(_)
                    | Sense::Color(_)
                    | Sense::White(_)
                    | Sense::Level(_),
                )
                | Reading::Value(_)
                | Reading::Time(_) => other = true,
                Reading::Mark | Reading::Unknown => {}
            }
        }
        noun.targets.sort_unstable();
        noun.parts.sort_unstable();
        (noun, other)
    }

    /// "The living room lights" are those of the room, also where one of them is called "living room light".
    fn of_the_room(&self, span: &Span, noun: &Noun) -> Option<Noun> {
        let said = self.text(span).to_lowercase();
        let item = |item: usize| self.index.items.get(item);
        let called = |known: usize| {
            item(known).is_some_and(|item| item.entity.all_names().any(|name| name.to_lowercase() == said))
        };
        let entities = noun.entities().count() == noun.targets.len();
        let tokens = self.tokens.get(span.start..span.end)?;
        let kinds =
            |token: &Token| crate::nlu::kinds::classes_in(std::slice::from_ref(&token.key), self.lexicon);
        // "Les lumières du salon": the kind stands first.
        let first_kind = tokens.first().filter(|token| token.plural && !kinds(token).is_empty());
        if (!span.plural && first_kind.is_none()) || !entities || noun.entities().any(called) {
            return None;
        }
        let links = |token: &Token| self.lexicon.means(&token.key, Sense::Word(Word::Link));
        let (kind, place) = match (first_kind, tokens) {
            (Some(kind), [_, rest @ ..]) => {
                let linked = rest.iter().take_while(|token| links(token)).count();
                (kind, rest.get(linked..)?)
            }
            _ => tokens.split_last()?,
        };
        let first = place.first()?;
        let area = self.index.starting(&first.key).iter().find(|entry| {
            entry.keys.len() == place.len()
                && entry.keys.iter().zip(place).all(|(key, token)| *key == token.key)
        })?;
        let there = |position: &usize| {
            let place = item(*position).and_then(|item| item.area);
            place.is_some_and(|place| area.targets.contains(&Target::Area(place)))
        };
        let classes = crate::nlu::kinds::classes_in(std::slice::from_ref(&kind.key), self.lexicon);
        let mut targets: Vec<Target> = classes
            .iter()
            .flat_map(|class| self.index.of_class(*class))
            .filter(|item| there(item) && self.is_of(**item, &classes))
            .map(|item| Target::Entity(*item))
            .collect();
        targets.sort_unstable();
        targets.dedup();
        (!targets.is_empty()).then(|| Noun { targets, parts: Vec::new(), ..noun.clone() })
    }

    /// The entities that the words of a kind mean first: "kitchen ceiling light" where one is called "Kitchen Ceiling",
    /// "nightlight" where one is called "Night Light".
    fn special(&self, span: &Span) -> Vec<usize> {
        let Some(tokens) = self.tokens.get(span.start..span.end) else { return Vec::new() };
        let mut items: Vec<usize> = match tokens {
            [token] if !self.han => self.written_apart(&token.key),
            // 空调 is rather what is called so than what cools too.
            _ if self.han && self.is_common(tokens) && !is_climate(span) => Vec::new(),
            _ if self.han => {
                let said: String = tokens.iter().map(|token| token.key.as_str()).collect();
                self.index.with_part(&said).unwrap_or_default().to_vec()
            }
            _ => {
                let kind = |key: &str| {
                    let class = |sense: &Sense| matches!(sense, Sense::Class(_));
                    let is_kind = |phrase: &Phrase| phrase.keys.len() == 1 && phrase.senses.iter().any(class);
                    self.lexicon.starting(key).iter().any(is_kind)
                };
                let words = tokens.iter().filter(|token| !kind(&token.key));
                words.filter_map(|token| self.index.with_part(&token.key)).flatten().copied().collect()
            }
        };
        items.sort_unstable();
        items.dedup();
        items
    }

    fn is_common(&self, tokens: &[Token]) -> bool {
        let keys: Vec<String> = tokens.iter().map(|token| token.key.clone()).collect();
        self.lexicon.is_common(&keys)
    }

    /// See [`Noun::called`].
    fn called(&self, span: &Span) -> Vec<usize> {
        match self.tokens.get(span.start..span.end) {
            Some([token]) if !self.han && !span.plural && !self.is_common(std::slice::from_ref(token)) => {
                self.index.with_part(&token.key).unwrap_or_default().to_vec()
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// The entities whose name is a word, written as two.
    fn written_apart(&self, word: &str) -> Vec<usize> {
        let joined = |keys: &[String]| keys.len() == 2 && keys.concat() == word;
        word.char_indices()
            .filter_map(|(at, _)| word.get(..at).filter(|start| !start.is_empty()))
            .flat_map(|start| self.index.starting(start))
            .filter(|entry| joined(&entry.keys))
            .flat_map(|entry| &entry.targets)
            .filter_map(|target| match target {
                Target::Entity(item) => Some(*item),
                Target::Area(_) | Target::Floor(_) | Target::Scene(_) => None,
            })
            .collect()
    }

    /// Whether a word that is a verb and a thing ("lock", "vacuum") is the verb here.
    pub(super) fn takes_verb(&self, position: usize) -> bool {
        if self.asking || self.row.get(position).is_some_and(|span| span.plural) {
            return false;
        }
        let bare = self.np.is_none()
            && self.clause.nps.is_empty()
            && (self.clause.preds.is_empty() || self.clause.is_light() && self.clause.preds.is_empty());
        let determined = position
            .checked_sub(1)
            .and_then(|before| self.row.get(before))
            .is_some_and(|span| self.is_determiner(span));
        let last = position + 1 == self.row.len();
        // "At five mow the lawn", "stop the music, mow the lawn": a verb with its object stands at the end too.
        let object = self.row.get(position).is_some_and(|span| span.end > span.start + 1);
        let timed = !self.clause.times.is_empty();
        let whole = !self.han
            && ((timed && (object || self.clause.times_first)) || (object && !self.done.is_empty()));
        (bare && !determined && (!last || whole))
            || (self.han && last && self.clause.preds.is_empty() && self.np.is_some())
            || (bare && !determined && self.row.len() == 1)
    }

    pub(super) fn is_determiner(&self, span: &Span) -> bool {
        !self.han && (span.word(Word::All) || span.word(Word::Article))
    }

    /// "to cool": a setting is expected, no thing.
    pub(super) fn wants_mode(&self, position: usize) -> bool {
        let before = position.checked_sub(1).and_then(|before| self.row.get(before));
        let after = self.row.get(position + 1);
        before.is_some_and(|span| span.word(Word::To))
            || after.is_some_and(|span| {
                span.sense(|sense| matches!(sense, Sense::Attribute(Attribute::Mode | Attribute::Speed)))
            })
    }

    pub(super) fn noun(&mut self, noun: Noun, span: &Span) {
        if !self.linked && self.places_the_last(&noun, span) {
            self.linked = self.reopen();
        }
        if !self.linked && self.ends_clause_before(&noun) {
            self.close_clause(Break::None);
            self.clause.start = span.start;
            self.clause.end = span.end;
        }
        if let Some(np) = &self.np
            && !self.linked
            && !self.belongs_to(np, &noun)
        {
            self.close_or_spoil(&noun);
        }
        self.linked = false;
        // 谁在家: it asks for names.
        if self.han && self.asking && span.word(Word::Who) {
            self.clause.question = self.clause.question.or(Some(Word::Who));
        }
        if span.word(Word::Nobody) {
            self.clause.words.push(Word::Not);
        }
        // "Play some songs" is no wish for every player.
        let sound = noun.classes.contains(&Class::Music);
        let words = std::mem::take(&mut self.clause.words);
        let np =
            self.np.get_or_insert_with(|| Np { start: span.start, joined: self.joined, ..Np::default() });
        // "all the", "any" belong to the noun that follows.
        for word in words {
            match word {
                // "Both the fan and the light"
                Word::Both if !self.han && !noun.plural => {}
                Word::Both if self.excepting => np.one_of = true,
                Word::All => np.all = true,
                Word::Both => (np.all, np.both) = (true, true),
                // "Play some music" leaves no choice.
                Word::OneOf => {
                    np.one_of |= !np.any || (noun.plural && !sound && !noun.is_place());
                }
                Word::Any => np.any = true,
                other => self.clause.words.push(other),
            }
        }
        np.plural |= noun.plural && !noun.is_place() && !sound;
        if let Some(state) = self.such.take() {
            np.such = Some(state);
            np.plural |= self.han;
        }
        // "One light downstairs"
        let before = span.start.checked_sub(1).and_then(|at| self.tokens.get(at));
        let one = before.is_some_and(|token| self.lexicon.number_words.get(&token.key) == Some(&1.0));
        np.one_of |= one && !self.han && !noun.plural && noun.targets.is_empty() && !noun.classes.is_empty();
        np.all |= span.word(Word::All);
        np.any |= span.word(Word::Any);
        np.nouns.push(noun);
        self.joined = false;
    }

    /// Ends the phrase before a noun that does not belong to it. "The smart home cleaning bot" is no thing with a
    /// "smart" in its name and a robot beside it: nothing has that name.
    fn close_or_spoil(&mut self, noun: &Noun) {
        let plain = |known: &Noun| known.targets.is_empty() && known.classes.is_empty();
        let spoils = !self.han && !self.asking && !noun.is_place();
        match &mut self.np {
            Some(np) if spoils && !np.nouns.is_empty() && np.nouns.iter().all(plain) => {
                let said: Vec<String> =
                    np.nouns.iter_mut().map(|noun| std::mem::take(&mut noun.text)).collect();
                np.unknown.extend(said);
            }
            Some(_) | None => self.close_np(),
        }
    }

    /// "all lights off upstairs": a place at the end says where the thing before the verb is.
    fn places_the_last(&self, noun: &Noun, span: &Span) -> bool {
        let next = self.row.iter().find(|next| next.start == span.end);
        let ends = next.is_none_or(|next| {
            next.is_mark() || [Word::And, Word::Then, Word::Polite].iter().any(|word| next.word(*word))
        });
        let open = self.clause.nps.last().is_some_and(|np| !np.is_place() && !np.has_place());
        noun.is_place() && self.np.is_none() && ends && open
    }

    /// "…off living room…": a noun after a complete clause that began with one starts the next.
    pub(super) fn ends_clause_before(&self, noun: &Noun) -> bool {
        let clause = &self.clause;
        if self.np.is_some() || self.excepting || clause.role != Role::Main || self.asking {
            return false;
        }
        let complete = clause.np_first
            && (!clause.states.is_empty()
                || clause.preds.iter().any(|pred| *pred != Pred::Set)
                || clause.has_value());
        complete && (noun.is_head() || self.han || noun.is_place())
    }

    /// Whether a noun can stand beside those of an open phrase and narrow them.
    pub(super) fn belongs_to(&self, np: &Np, noun: &Noun) -> bool {
        let head = np.nouns.iter().rev().find(|known| known.is_head());
        let Some(head) = head else {
            // "kitchen living room": two places are two phrases.
            return !(noun.is_place() && np.nouns.iter().any(Noun::is_place)) || self.place_narrows(np, noun);
        };
        if noun.is_place() {
            return !self.han && (!np.has_place() || self.place_narrows(np, noun));
        }
        // Whether something that `name` names is of the kind, or has the part of a name, that `kind` says.
        let fits = |name: &Noun, kind: &Noun| {
            name.entities()
                .chain(name.parts.iter().copied())
                .any(|item| self.is_of(item, &kind.classes) || kind.parts.binary_search(&item).is_ok())
        };
        let scene = |noun: &Noun| noun.targets.iter().any(|target| matches!(target, Target::Scene(_)));
        if scene(head) && noun.classes.contains(&Class::Scene)
            || scene(noun) && head.classes.contains(&Class::Scene)
        {
            return true;
        }
        match (head.names_entity(), noun.names_entity()) {
            (true, true) => false,
            (true, false) => fits(head, noun),
            (false, true) => fits(noun, head),
            (false, false) => {
                let both = |class: &Class| {
                    self.index.of_class(*class).iter().any(|item| self.is_of(*item, &noun.classes))
                };
                noun.classes.is_empty() || head.classes.is_empty() || head.classes.iter().any(both)
            }
        }
    }

    fn is_of(&self, item: usize, classes: &[Class]) -> bool {
        let item = self.index.items.get(item);
        item.is_some_and(|item| classes.iter().any(|class| belongs(item, *class) > 0))
    }

    /// "upstairs bedroom": a floor and an area of it.
    pub(super) fn place_narrows(&self, np: &Np, noun: &Noun) -> bool {
        let floor = |noun: &Noun| noun.targets.iter().all(|target| matches!(target, Target::Floor(_)));
        np.nouns.iter().any(|known| floor(known) != floor(noun))
    }
}

fn is_climate(span: &Span) -> bool {
    span.sense(|sense| matches!(sense, Sense::Class(Class::AirConditioner | Class::Heating)))
}
