//! Cuts a row of spans into clauses: who does what to which, how much, and when.

use super::index::{HouseIndex, Target, belongs};
use super::lattice::{Reading, Span};
use super::lexicon::Sense;
use super::number::Value;
use super::text::Token;
use super::time::Time;
use super::vocabulary::{Attribute, Class, Mode, Occasion, Pred, Remark, StateWord, Word};

/// One noun of a noun phrase with everything that it can name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Noun {
    pub targets: Vec<Target>,
    pub parts: Vec<usize>,
    pub classes: Vec<Class>,
    pub text: String,
    pub plural: bool,
}

impl Noun {
    fn names_entity(&self) -> bool {
        self.targets.iter().any(|target| matches!(target, Target::Entity(_) | Target::Scene(_)))
    }

    /// Whether it only says where.
    pub fn is_place(&self) -> bool {
        !self.targets.is_empty()
            && self.classes.is_empty()
            && self.targets.iter().all(|target| matches!(target, Target::Area(_) | Target::Floor(_)))
    }

    fn is_head(&self) -> bool {
        !self.is_place() && (self.names_entity() || !self.classes.is_empty())
    }
}

/// What the verb acts on, as said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Np {
    pub nouns: Vec<Noun>,
    pub all: bool,
    pub any: bool,
    pub plural: bool,
    /// Here, upstairs, outside, in the house.
    pub places: Vec<Word>,
    /// Words in it that nothing explains.
    pub unknown: Vec<String>,
    /// Index of the first token, for the order of things.
    pub start: usize,
    /// Whether it was coordinated with the one before it ("and").
    pub joined: bool,
}

impl Np {
    pub fn is_place(&self) -> bool {
        self.unknown.is_empty()
            && (!self.nouns.is_empty() || !self.places.is_empty())
            && self.nouns.iter().all(Noun::is_place)
    }

    pub fn has_class(&self, class: Class) -> bool {
        self.nouns.iter().any(|noun| noun.classes.contains(&class))
    }

    fn has_place(&self) -> bool {
        !self.places.is_empty() || self.nouns.iter().any(Noun::is_place)
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let words = self.unknown.iter().chain(self.nouns.iter().map(|noun| &noun.text));
        for word in words.filter(|word| !word.is_empty()) {
            let han = word.chars().next().is_some_and(super::text::is_han);
            if !text.is_empty() && !han {
                text.push(' ');
            }
            text.push_str(word);
        }
        text
    }
}

/// How a clause stands to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    #[default]
    Main,
    /// if …: looked at now.
    If,
    /// unless …
    Unless,
    /// when …: a standing rule.
    When,
}

/// Everything that one clause says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Clause {
    pub role: Role,
    pub preds: Vec<Pred>,
    pub states: Vec<StateWord>,
    pub nps: Vec<Np>,
    pub except: Vec<Np>,
    pub attributes: Vec<Attribute>,
    pub values: Vec<Value>,
    pub levels: Vec<u8>,
    pub colors: Vec<usize>,
    pub whites: Vec<u16>,
    pub modes: Vec<Mode>,
    pub times: Vec<Time>,
    pub remarks: Vec<Remark>,
    pub occasions: Vec<Occasion>,
    /// Words that shape it: to, by, up, little, not, all, it, again …
    pub words: Vec<Word>,
    pub question: Option<Word>,
    pub unknown: Vec<String>,
    pub start: usize,
    pub end: usize,
    /// The kind that the verb itself names: "vacuum", "light up".
    pub implied: Option<Class>,
    /// The token at which the first verb stands.
    pub pred_at: Option<usize>,
    /// Whether the first noun phrase came before the verb.
    np_first: bool,
}

impl Clause {
    pub fn word(&self, word: Word) -> bool {
        self.words.contains(&word)
    }

    pub fn pred(&self, pred: Pred) -> bool {
        self.preds.contains(&pred)
    }

    /// Whether it says what to do, or asks something, by itself.
    pub fn has_predicate(&self) -> bool {
        !self.preds.is_empty()
            || !self.states.is_empty()
            || !self.remarks.is_empty()
            || !self.occasions.is_empty()
            || self.question.is_some()
            || self.words.iter().any(|word| matches!(word, Word::Up | Word::Down))
            || (!self.nps.is_empty() && self.has_value())
            || (!self.attributes.is_empty() && self.has_value())
    }

    pub fn has_value(&self) -> bool {
        !self.values.is_empty()
            || !self.levels.is_empty()
            || !self.colors.is_empty()
            || !self.whites.is_empty()
            || !self.modes.is_empty()
            || self.word(Word::Max)
            || self.word(Word::Min)
    }

    fn is_empty(&self) -> bool {
        let fresh = Clause { role: self.role, start: self.start, end: self.end, ..Clause::default() };
        *self == fresh
    }

    /// Only a light verb so far: what follows completes it.
    fn is_light(&self) -> bool {
        self.preds.iter().all(|pred| matches!(pred, Pred::Set | Pred::Tell | Pred::Start | Pred::Play))
            && self.states.is_empty()
            && !self.has_value()
    }

    fn absorb(&mut self, other: Clause) {
        let into_except = !self.except.is_empty() && other.except.is_empty() && !other.has_predicate();
        for mut np in other.nps {
            np.joined = true;
            if into_except {
                self.except.push(np);
            } else {
                self.nps.push(np);
            }
        }
        self.except.extend(other.except);
        self.preds.extend(other.preds);
        self.states.extend(other.states);
        self.attributes.extend(other.attributes);
        self.values.extend(other.values);
        self.levels.extend(other.levels);
        self.colors.extend(other.colors);
        self.whites.extend(other.whites);
        self.modes.extend(other.modes);
        self.times.extend(other.times);
        self.remarks.extend(other.remarks);
        self.occasions.extend(other.occasions);
        self.words.extend(other.words);
        self.unknown.extend(other.unknown);
        self.question = self.question.or(other.question);
        self.implied = self.implied.or(other.implied);
        self.pred_at = self.pred_at.or(other.pred_at);
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
    }

    /// Puts a clause that has no predicate before this one.
    fn prepend(&mut self, mut other: Clause) {
        std::mem::swap(self, &mut other);
        self.absorb(other);
    }
}

/// Cuts `row` into clauses. `asking` says that the sentence is a question, where "open" is a state and no verb.
pub fn clauses(row: &[Span], tokens: &[Token], index: &HouseIndex, han: bool, asking: bool) -> Vec<Clause> {
    let mut scanner = Scanner {
        row,
        tokens,
        index,
        han,
        asking,
        done: Vec::new(),
        clause: Clause::default(),
        np: None,
        linked: false,
        excepting: false,
        joined: false,
    };
    for position in 0..row.len() {
        scanner.step(position);
    }
    scanner.close_clause(false);
    merged(scanner.done)
}

/// A clause and whether a strong break ("then", a full stop) stands after it.
type Cut = (Clause, bool);

/// Joins clauses that say nothing by themselves to the ones beside them.
fn merged(cuts: Vec<Cut>) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut waiting: Option<Clause> = None;
    let mut last_strong = false;
    for (clause, strong) in cuts {
        let complete = clause.has_predicate() || clause.role != Role::Main;
        match (complete, clauses.last_mut()) {
            (true, _) => {
                let mut clause = clause;
                if clause.role == Role::Main
                    && let Some(before) = waiting.take()
                {
                    clause.prepend(before);
                }
                clauses.push(clause);
            }
            (false, Some(last)) if !last_strong && waiting.is_none() && last.role == Role::Main => {
                last.absorb(clause);
            }
            (false, _) => match &mut waiting {
                Some(before) => before.absorb(clause),
                None => waiting = Some(clause),
            },
        }
        last_strong = strong;
    }
    if let Some(rest) = waiting {
        match clauses.last_mut() {
            Some(last) if last.role == Role::Main => last.absorb(rest),
            Some(_) | None => clauses.push(rest),
        }
    }
    clauses
}

struct Scanner<'a> {
    row: &'a [Span],
    tokens: &'a [Token],
    index: &'a HouseIndex,
    han: bool,
    asking: bool,
    done: Vec<Cut>,
    clause: Clause,
    np: Option<Np>,
    /// A word like "in" or 的 stands before: the next noun belongs to the open phrase.
    linked: bool,
    excepting: bool,
    joined: bool,
}

impl Scanner<'_> {
    fn step(&mut self, position: usize) {
        let Some(span) = self.row.get(position) else { return };
        if self.clause.is_empty() && self.np.is_none() {
            self.clause.start = span.start;
        }
        self.clause.end = span.end;
        if span.is_mark() {
            self.mark(span);
        } else if let Some(time) = span.time() {
            self.close_np();
            self.clause.times.push(time);
        } else if let Some(noun) = self.as_noun(span, position) {
            self.noun(noun, span);
        } else if let Some(value) = span.value() {
            self.close_np();
            self.clause.values.push(value);
        } else if span.is_unknown() {
            self.unknown(span);
        } else {
            self.sense(span, position);
        }
    }

    fn text(&self, span: &Span) -> String {
        super::text::joined(self.tokens.get(span.start..span.end).unwrap_or(&[]))
    }

    fn mark(&mut self, span: &Span) {
        let text = self.text(span);
        match text.as_str() {
            "," | "、" | "，" | "-" | "–" | "—" | "/" | "(" | ")" | "\"" | ":" => {
                self.separate(false);
                if self.han {
                    self.excepting = false;
                }
            }
            "." | ";" | "!" | "。" | "；" | "?" => {
                if text == "?" {
                    self.clause.words.push(Word::Asks);
                }
                self.separate(true);
            }
            _ => {}
        }
    }

    /// Ends the clause; whether it stands alone is decided when all are known.
    fn separate(&mut self, strong: bool) {
        let excepting = self.excepting && !strong;
        self.close_clause(strong);
        self.excepting = excepting;
        self.joined = true;
    }

    fn close_clause(&mut self, strong: bool) {
        self.close_np();
        let clause = std::mem::take(&mut self.clause);
        if clause.is_empty() {
            if strong && let Some(last) = self.done.last_mut() {
                last.1 = true;
            }
        } else {
            self.done.push((clause, strong));
        }
        self.linked = false;
        self.excepting = false;
        self.joined = false;
    }

    fn close_np(&mut self) {
        self.linked = false;
        let Some(np) = self.np.take() else { return };
        if self.excepting {
            self.clause.except.push(np);
        } else {
            if self.clause.nps.is_empty() && self.clause.preds.is_empty() && self.clause.states.is_empty() {
                self.clause.np_first = true;
            }
            self.clause.nps.push(np);
        }
    }

    fn unknown(&mut self, span: &Span) {
        let text = self.text(span);
        match &mut self.np {
            Some(np) => np.unknown.push(text),
            None => {
                // It may begin a noun phrase ("the sauna lights"): the phrase takes it if one follows at once.
                let mut np = Np { start: span.start, ..Np::default() };
                np.unknown.push(text);
                self.np = Some(np);
            }
        }
    }

    /// The noun that a span is here, if it is one.
    fn as_noun(&self, span: &Span, position: usize) -> Option<Noun> {
        let mut noun = Noun { text: self.text(span), plural: span.plural, ..Noun::default() };
        let mut other = false;
        let mut pred = false;
        for reading in &span.readings {
            match reading {
                Reading::Name(targets) => noun.targets.extend(targets.iter().copied()),
                Reading::Part(items) => noun.parts.extend(items.iter().copied()),
                Reading::Sense(Sense::Class(class)) => noun.classes.push(*class),
                Reading::Sense(Sense::Pred(_)) => pred = true,
                Reading::Sense(Sense::Mode(_)) => other |= self.wants_mode(position),
                Reading::Sense(
                    Sense::Attribute(_)
                    | Sense::Word(_)
                    | Sense::State(_)
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
        if !noun.targets.is_empty() {
            return Some(noun);
        }
        if pred && self.takes_verb(position) {
            return None;
        }
        // "A blue shade" is a colour.
        if noun.classes == [Class::Shade] && !self.clause.colors.is_empty() {
            return None;
        }
        if !noun.classes.is_empty() {
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

    /// Whether a word that is a verb and a thing ("lock", "vacuum") is the verb here.
    fn takes_verb(&self, position: usize) -> bool {
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
        (bare && !determined && !last)
            || (self.han && last && self.clause.preds.is_empty() && self.np.is_some())
            || (bare && !determined && self.row.len() == 1)
    }

    fn is_determiner(&self, span: &Span) -> bool {
        !self.han
            && (span.word(Word::All)
                || matches!(self.text(span).as_str(), "the" | "my" | "our" | "a" | "an" | "your" | "all the"))
    }

    /// "to cool": a setting is expected, no thing.
    fn wants_mode(&self, position: usize) -> bool {
        let before = position.checked_sub(1).and_then(|before| self.row.get(before));
        let after = self.row.get(position + 1);
        before.is_some_and(|span| span.word(Word::To))
            || after.is_some_and(|span| {
                span.sense(|sense| matches!(sense, Sense::Attribute(Attribute::Mode | Attribute::Speed)))
            })
    }

    fn noun(&mut self, noun: Noun, span: &Span) {
        if !self.linked && self.ends_clause_before(&noun) {
            self.close_clause(false);
            self.clause.start = span.start;
            self.clause.end = span.end;
        }
        if let Some(np) = &self.np
            && !self.linked
            && !self.belongs_to(np, &noun)
        {
            self.close_np();
        }
        self.linked = false;
        let words = std::mem::take(&mut self.clause.words);
        let np =
            self.np.get_or_insert_with(|| Np { start: span.start, joined: self.joined, ..Np::default() });
        // "all the", "any" belong to the noun that follows.
        for word in words {
            match word {
                Word::All | Word::Both => np.all = true,
                Word::Any => np.any = true,
                other => self.clause.words.push(other),
            }
        }
        // "Play some songs" is no wish for every player.
        let sound = noun.classes.contains(&Class::Music);
        np.plural |= noun.plural && !noun.is_place() && !sound;
        np.all |= span.word(Word::All);
        np.any |= span.word(Word::Any);
        np.nouns.push(noun);
        self.joined = false;
    }

    /// "…off living room…": a noun after a complete clause that began with one starts the next.
    fn ends_clause_before(&self, noun: &Noun) -> bool {
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
    fn belongs_to(&self, np: &Np, noun: &Noun) -> bool {
        let head = np.nouns.iter().rev().find(|known| known.is_head());
        let Some(head) = head else {
            // "kitchen living room": two places are two phrases.
            return !(noun.is_place() && np.nouns.iter().any(Noun::is_place)) || self.place_narrows(np, noun);
        };
        if noun.is_place() {
            return !self.han && (!np.has_place() || self.place_narrows(np, noun));
        }
        let items = |noun: &Noun| -> Vec<usize> {
            let mut items: Vec<usize> = noun
                .targets
                .iter()
                .filter_map(|target| match target {
                    Target::Entity(item) => Some(*item),
                    Target::Area(_) | Target::Floor(_) | Target::Scene(_) => None,
                })
                .collect();
            items.extend(&noun.parts);
            items
        };
        let is = |item: usize, classes: &[Class]| {
            self.index
                .items
                .get(item)
                .is_some_and(|item| classes.iter().any(|class| belongs(item, *class) > 0))
        };
        let scene = |noun: &Noun| noun.targets.iter().any(|target| matches!(target, Target::Scene(_)));
        if scene(head) && noun.classes.contains(&Class::Scene)
            || scene(noun) && head.classes.contains(&Class::Scene)
        {
            return true;
        }
        match (head.names_entity(), noun.names_entity()) {
            (true, true) => false,
            (true, false) => {
                items(head).iter().any(|item| is(*item, &noun.classes) || noun.parts.contains(item))
            }
            (false, true) => {
                items(noun).iter().any(|item| is(*item, &head.classes) || head.parts.contains(item))
            }
            (false, false) => {
                noun.classes.is_empty()
                    || head.classes.is_empty()
                    || (0..self.index.items.len())
                        .any(|item| is(item, &head.classes) && is(item, &noun.classes))
            }
        }
    }

    /// "upstairs bedroom": a floor and an area of it.
    fn place_narrows(&self, np: &Np, noun: &Noun) -> bool {
        let floor = |noun: &Noun| noun.targets.iter().all(|target| matches!(target, Target::Floor(_)));
        np.nouns.iter().any(|known| floor(known) != floor(noun))
    }

    /// A word of the lexicon that is no noun here.
    fn sense(&mut self, span: &Span, position: usize) {
        let find = |test: &dyn Fn(&Sense) -> bool| {
            span.readings.iter().find_map(|reading| match reading {
                Reading::Sense(sense) if test(sense) => Some(*sense),
                Reading::Sense(_)
                | Reading::Name(_)
                | Reading::Part(_)
                | Reading::Value(_)
                | Reading::Time(_)
                | Reading::Mark
                | Reading::Unknown => None,
            })
        };
        let state = find(&|sense| matches!(sense, Sense::State(_)));
        let pred = find(&|sense| matches!(sense, Sense::Pred(_)));
        let value = find(&|sense| {
            matches!(sense, Sense::Color(_) | Sense::White(_) | Sense::Level(_) | Sense::Mode(_))
        });
        let remark = find(&|sense| matches!(sense, Sense::Remark(_) | Sense::Occasion(_)));
        let attribute = find(&|sense| matches!(sense, Sense::Attribute(_)));
        // 不要 is a "no" and a "not": what forbids comes first.
        let word = if span.word(Word::Not) {
            Some(Sense::Word(Word::Not))
        } else {
            find(&|sense| matches!(sense, Sense::Word(_)))
        };
        let chosen = if remark.is_some() && !self.asking {
            remark
        } else if self.on_is_link(span, position) || self.shapes(word, position) {
            word
        } else if state.is_some() && (self.asking || pred.is_none() || self.state_fits()) {
            state
        } else if let (Some(_), Some(Sense::Word(Word::Up | Word::Down))) = (pred, word) {
            word
        } else if pred.is_some() && !(self.asking && (word.is_some() || attribute.is_some())) {
            pred
        } else {
            attribute.or(value).or(word).or(remark)
        };
        if let Some(sense) = chosen {
            self.apply(sense, span);
            // 降到 is both: lower, and to; 亮一点 brighter, and a little.
            for word in [Word::To, Word::Little] {
                if matches!(sense, Sense::Pred(_)) && span.word(word) {
                    self.clause.words.push(word);
                }
            }
        }
    }

    /// Words whose shape of the sentence comes before any other meaning.
    fn shapes(&self, word: Option<Sense>, _position: usize) -> bool {
        matches!(
            word,
            Some(Sense::Word(
                Word::Not | Word::If | Word::Unless | Word::Except | Word::And | Word::Then | Word::Polite
            ))
        )
    }

    /// "on" before a floor, a list or a thing, in a clause that has its verb.
    fn on_is_link(&self, span: &Span, position: usize) -> bool {
        if !span.word(Word::OnLink) {
            return false;
        }
        let mut after = position + 1;
        while self.row.get(after).is_some_and(|span| {
            span.word(Word::Filler) && !span.sense(|sense| matches!(sense, Sense::Pred(_) | Sense::State(_)))
        }) {
            after += 1;
        }
        let Some(next) = self.row.get(after) else { return false };
        let thing = next.targets().iter().any(|target| !matches!(target, Target::Scene(_)))
            || (!next.parts().is_empty() && !next.word(Word::Link));
        let floor = next.targets().iter().any(|target| matches!(target, Target::Floor(_)));
        let verb = self.clause.preds.iter().any(|pred| *pred != Pred::Set)
            || !self.clause.states.is_empty()
            || self.clause.word(Word::Up)
            || self.clause.word(Word::Down)
            || self.clause.has_value();
        let later =
            self.row.iter().skip(after + 1).any(|span| {
                span.sense(|sense| matches!(sense, Sense::State(StateWord::On | StateWord::Off)))
            });
        (thing && verb) || (floor && later)
    }

    /// A state completes "make sure …", "leave … open"; elsewhere "open" is the verb.
    fn state_fits(&self) -> bool {
        self.clause.pred(Pred::Set) && (self.np.is_some() || !self.clause.nps.is_empty())
    }

    fn apply(&mut self, sense: Sense, span: &Span) {
        match sense {
            Sense::Pred(pred) => self.pred(pred, span),
            Sense::State(state) => {
                self.close_np();
                self.excepting = false;
                self.clause.states.push(state);
            }
            Sense::Attribute(attribute) => {
                // "the brightness of the lamp", "living room temperature": the phrase goes on.
                self.clause.attributes.push(attribute);
            }
            Sense::Word(word) => self.word(word, span),
            Sense::Mode(mode) => self.clause.modes.push(mode),
            Sense::Remark(remark) => self.clause.remarks.push(remark),
            Sense::Occasion(occasion) => self.clause.occasions.push(occasion),
            Sense::Color(color) => self.clause.colors.push(color),
            Sense::White(kelvin) => self.clause.whites.push(kelvin),
            Sense::Level(level) => self.clause.levels.push(level),
            Sense::Class(_) | Sense::Talk(_) => {}
        }
    }

    fn pred(&mut self, pred: Pred, span: &Span) {
        self.close_np();
        self.excepting = false;
        let targets = !self.clause.nps.is_empty();
        let complete = !self.clause.preds.is_empty() || !self.clause.states.is_empty();
        // "Advance … to the next song", "activate … to clean": the verb goes on.
        let goes_on = self.clause.preds.last() == Some(&pred)
            || (!self.han && !self.clause.has_value() && self.clause.words.last() == Some(&Word::To));
        let condition = self.clause.role != Role::Main && (complete || self.clause.has_value());
        let new = (complete
            && !goes_on
            && !self.clause.is_light()
            && (targets || self.clause.has_value())
            && !self.asking)
            || (condition && !self.asking);
        if new {
            // 打开客厅灯窗帘拉上: the last thing belongs to this verb.
            let moved = (self.han && self.clause.nps.len() > 1 && !self.clause.np_first)
                .then(|| self.clause.nps.pop_if(|np| !np.joined))
                .flatten();
            self.close_clause(false);
            self.clause.start = moved.as_ref().map_or(span.start, |np| np.start);
            self.clause.end = span.end;
            if let Some(np) = moved {
                self.clause.np_first = true;
                self.clause.nps.push(np);
            }
        }
        self.clause.implied = self.clause.implied.or_else(|| {
            span.readings.iter().find_map(|reading| match reading {
                Reading::Sense(Sense::Class(class)) => Some(*class),
                Reading::Sense(_)
                | Reading::Name(_)
                | Reading::Part(_)
                | Reading::Value(_)
                | Reading::Time(_)
                | Reading::Mark
                | Reading::Unknown => None,
            })
        });
        self.clause.pred_at = self.clause.pred_at.or(Some(span.start));
        self.clause.preds.push(pred);
    }

    fn word(&mut self, word: Word, span: &Span) {
        match word {
            Word::Filler => {}
            Word::Polite => {
                self.clause.words.push(word);
            }
            Word::And => self.separate(false),
            Word::Or => {
                self.clause.words.push(Word::Or);
                // "On or off" is one state to be chosen.
                let state = self.row.iter().any(|next| {
                    next.start == span.end && next.sense(|sense| matches!(sense, Sense::State(_)))
                });
                if self.clause.states.is_empty() || !state {
                    self.separate(false);
                }
            }
            Word::Then => self.separate(true),
            Word::Except => {
                self.close_np();
                self.excepting = true;
            }
            Word::ExceptEnd => {
                self.close_np();
                self.excepting = false;
            }
            Word::Link | Word::OnLink | Word::In | Word::At => {
                self.linked = self.np.is_some() || self.reopen()
            }
            Word::If | Word::Unless | Word::When => self.condition(word, span),
            Word::Here | Word::House | Word::Outside | Word::Upstairs | Word::Downstairs => {
                self.place(word, span)
            }
            Word::Which
            | Word::HowMany
            | Word::What
            | Word::Where
            | Word::Who
            | Word::HowLong
            | Word::Asks => {
                self.clause.question = self.clause.question.or(Some(word));
                self.clause.words.push(word);
            }
            Word::Is | Word::Did => {
                if self.asking {
                    self.clause.question = self.clause.question.or(Some(word));
                }
            }
            _ => self.clause.words.push(word),
        }
    }

    /// "lights on in the kitchen": the place belongs to the phrase that was closed by the verb.
    fn reopen(&mut self) -> bool {
        if self.han || self.excepting {
            return false;
        }
        if let Some(np) = self.clause.nps.pop_if(|np| !np.is_place()) {
            self.np = Some(np);
            return true;
        }
        false
    }

    fn condition(&mut self, word: Word, span: &Span) {
        if self.clause.pred(Pred::Tell) || self.asking && word == Word::When {
            self.clause.question = self.clause.question.or(Some(Word::Is));
            return;
        }
        self.separate(false);
        self.clause.start = span.start;
        self.clause.role = match word {
            Word::Unless => Role::Unless,
            Word::When => Role::When,
            _ => Role::If,
        };
    }

    fn place(&mut self, word: Word, span: &Span) {
        if self.np.as_ref().is_some_and(|np| self.han && np.nouns.iter().any(Noun::is_head)) && !self.linked {
            self.close_np();
        }
        self.linked = false;
        let words = std::mem::take(&mut self.clause.words);
        let reopened = self.np.is_none() && self.reopen();
        let np = self.np.get_or_insert_with(|| Np { start: span.start, ..Np::default() });
        for said in words {
            match said {
                Word::All | Word::Both if !reopened => np.all = true,
                other => self.clause.words.push(other),
            }
        }
        np.places.push(word);
        self.linked = self.han;
    }
}
