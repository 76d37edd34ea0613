//! What a sentence asks for: the order in which its readings are tried, and the clauses put together.

use chrono::NaiveDateTime;

use crate::home::{Action, Domain, EntityId, House, Verb};

use super::answer::Asker;
use super::clause::{Clause, Role};
use super::dialogue::{Dialogue, Pending};
use super::index::HouseIndex;
use super::lexicon::{Lexicon, Sense};
use super::scope::named_areas;
use super::statement::{reports, tells_the_past};
use super::time::Time;
use super::timing::{ends, in_time};
use super::understand::{Request, Sentence};
use super::understanding::{Intent, RefuseReason, Understanding};
use super::vocabulary::{Pred, Word};

/// Everything that reading a sentence needs.
pub struct Command<'a> {
    pub request: &'a Request<'a>,
    pub house: &'a House,
    pub dialogue: &'a Dialogue,
    pub lexicon: &'a Lexicon,
    pub index: &'a HouseIndex,
}

/// Why a clause stops the sentence.
pub type Stop = Box<Understanding>;

/// What the clauses read so far leave for the next ones.
#[derive(Default)]
pub struct Running {
    pub intents: Vec<Intent>,
    /// The areas that were named or acted in.
    pub areas: Vec<usize>,
    /// Whether they were named.
    pub areas_named: bool,
    /// A time that stood first: it is for everything that follows.
    pub times: Vec<Time>,
    /// Our question, if one clause is ambiguous.
    pub asked: Option<(String, Pending)>,
    /// Entities acted on by the clause before, or that the condition is about: "it".
    pub last: Vec<usize>,
    /// Everything that the clauses read so far acted on.
    pub named: Vec<usize>,
    /// What other clauses say is not to be touched.
    pub spared: Vec<usize>,
    /// The days of the clause before; a clock time alone is on these.
    pub days: Vec<Time>,
    /// The delay of the clause before, in seconds.
    pub delay: Option<u64>,
    /// The moment of the clause before; a clock time of which no half of the day is said comes after it.
    pub moment: Option<NaiveDateTime>,
    pub negated: bool,
}

impl Command<'_> {
    /// Tries the readings of a sentence in order.
    pub fn understand(&self, sentence: &Sentence) -> Understanding {
        if sentence.too_long {
            return self.not_understood(Vec::new());
        }
        if sentence.is_noise() {
            return self.nothing("noise");
        }
        if let Some(understanding) = self.conversation(sentence) {
            return understanding;
        }
        // "On a trop chaud" begins as what was done does.
        let remarks = sentence.row.iter().any(|span| span.sense(|sense| matches!(sense, Sense::Remark(_))));
        let told = || {
            tells_the_past(&sentence.tokens, self.lexicon)
                || reports(&sentence.row, &sentence.tokens, self.lexicon)
        };
        if !sentence.asking && !remarks && told() {
            return self.not_understood(Vec::new());
        }
        // "Open the gate no no no"
        let last = sentence.row.iter().rfind(|span| !span.is_mark());
        let tag = sentence.tokens.last().is_some_and(|token| token.text == "?");
        if !sentence.asking
            && !tag
            && sentence.row.len() > 1
            && !self.lexicon.han_numbers
            && last.is_some_and(|span| span.word(Word::No))
        {
            return self.nothing("negated");
        }
        if let Some(understanding) = self.free_text(sentence) {
            return understanding;
        }
        if sentence.row.iter().any(|span| span.word(Word::Idiom)) {
            return self.not_understood(Vec::new());
        }
        if let Some(understanding) = self.follow_up(sentence) {
            return understanding;
        }
        if let Some(understanding) = self.timer(sentence) {
            return understanding;
        }
        let clauses = sentence.clauses(self.index, self.lexicon);
        if sentence.asking {
            return Asker { command: self }.answer(&clauses);
        }
        let understood = self.act(&clauses);
        // "Can we open the garage" may only ask for leave.
        if sentence.row.iter().any(|span| span.word(Word::MayWe)) && self.lets_somebody_in(&understood) {
            return self.not_understood(Vec::new());
        }
        understood
    }

    /// Whether something of it opens a door or a gate, unlocks or disarms.
    fn lets_somebody_in(&self, understood: &Understanding) -> bool {
        let door = |action: &Action| {
            let entity = self.house.entity(action.entity.as_str());
            let class = entity.and_then(|entity| entity.device_class.as_deref());
            action.entity.domain() != Domain::Cover || matches!(class, Some("garage" | "gate" | "door"))
        };
        let opens = |action: &Action| match action.verb {
            Verb::Unlock | Verb::Disarm => true,
            Verb::Open | Verb::SetPosition => door(action),
            _ => false,
        };
        let any = |intents: &[Intent]| intents.iter().flat_map(all_actions).any(opens);
        match understood {
            Understanding::Act(intents) => any(intents),
            Understanding::Ask { pending, .. } => {
                any(&pending.rest) || pending.alternatives.iter().any(|one| any(&one.intents))
            }
            _ => false,
        }
    }

    pub fn act(&self, clauses: &[Clause]) -> Understanding {
        let mut running = Running::default();
        if let Some(stop) = self.condition(clauses) {
            return stop;
        }
        // "Turn off the tv, it's too loud": the remark is only why.
        let does =
            |clause: &Clause| clause.role == Role::Main && clause.says_what_to_do() && !clause.nps.is_empty();
        let excused = clauses.iter().any(does);
        let asks = |clause: &&Clause| clause.role == Role::Main && !(excused && clause.only_remarks());
        let (main, beside): (Vec<&Clause>, Vec<&Clause>) = clauses.iter().partition(asks);
        let place = |clause: &&Clause| named_areas(&clause.nps, self.index);
        running.areas = beside.iter().find_map(place).unwrap_or_default();
        running.areas_named = !running.areas.is_empty();
        running.last = self.conditioned(clauses);
        if main.iter().any(|clause| clause.retracts()) {
            return self.nothing("never_mind");
        }
        if main.iter().skip(1).any(|clause| takes_back(clause)) {
            return self.nothing("negated");
        }
        match self.spared(&main) {
            Ok(spared) => running.spared = spared,
            Err(stop) => return *stop,
        }
        if main.iter().any(|clause| waits(clause)) {
            let reply = self.say("condition", &[]);
            return Understanding::Refuse { reply, reason: RefuseReason::Condition };
        }
        let alone = main.len() == 1;
        let mut before: Option<&Clause> = None;
        for clause in main {
            if before.is_some_and(|before| ends(before, clause)) {
                continue;
            }
            if clause.tells_how_it_is(before) {
                return self.not_understood(Vec::new());
            }
            let clause_at_its_time = in_time(clause, &mut running);
            if let Err(stop) = self.clause(&clause_at_its_time, &mut running, alone) {
                return *stop;
            }
            before = Some(clause);
        }
        if let Some((question, mut pending)) = running.asked {
            pending.rest = running.intents;
            return Understanding::Ask { question, pending };
        }
        if running.intents.is_empty() {
            return if running.negated { self.nothing("negated") } else { self.not_understood(Vec::new()) };
        }
        if let Some(entity) = contradiction(&running.intents) {
            let reply = self.say("contradiction", &[]);
            return Understanding::Refuse { reply, reason: RefuseReason::Contradiction { entity } };
        }
        Understanding::Act(running.intents)
    }

    /// What the condition of a sentence is about: "if the coffee maker is on, turn it off".
    fn conditioned(&self, clauses: &[Clause]) -> Vec<usize> {
        let asker = Asker { command: self };
        clauses
            .iter()
            .filter(|clause| matches!(clause.role, Role::If | Role::Unless))
            .map(|clause| asker.subject(clause))
            .find(|items| !items.is_empty())
            .unwrap_or_default()
    }

    /// Looks at the conditions of a sentence: a standing rule is refused, an `if` is looked at now.
    fn condition(&self, clauses: &[Clause]) -> Option<Understanding> {
        for clause in clauses {
            let wanted = match clause.role {
                Role::Main => continue,
                Role::When => {
                    let reply = self.say("condition", &[]);
                    return Some(Understanding::Refuse { reply, reason: RefuseReason::Condition });
                }
                Role::If => true,
                Role::Unless => false,
            };
            let main = clauses.iter().find(|clause| clause.role == Role::Main);
            let holds = Asker { command: self }.holds(clause, main);
            match holds {
                Some(holds) if holds == wanted => {}
                Some(_) => {
                    let reply = self.say("condition_false", &[]);
                    return Some(Understanding::Refuse { reply, reason: RefuseReason::ConditionFalse });
                }
                None => {
                    let reply = self.say("condition", &[]);
                    return Some(Understanding::Refuse { reply, reason: RefuseReason::Condition });
                }
            }
        }
        None
    }

    pub fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.lexicon.say(key, values)
    }

    pub fn nothing(&self, key: &str) -> Understanding {
        Understanding::Nothing { reply: self.say(key, &[]) }
    }

    /// The caller's area.
    pub fn area(&self) -> Option<usize> {
        self.request.area.and_then(|area| self.index.area_of(area))
    }

    pub fn not_understood(&self, unexplained: Vec<String>) -> Understanding {
        let nearest = unexplained.first().and_then(|word| self.index.nearest(word, 1).into_iter().next());
        let reply = match unexplained.first() {
            Some(word) => self.say("not_understood_word", &[("word", word)]),
            None => self.say("not_understood", &[]),
        };
        Understanding::NotUnderstood { unexplained, nearest, reply }
    }

    /// "No such …; did you mean …?"
    pub fn unknown(&self, said: &str) -> Understanding {
        let nearest = self.index.nearest(said, 3);
        let reply = if nearest.is_empty() {
            self.say("unknown_name", &[("what", said)])
        } else {
            let or = self.lexicon.phrase("or").unwrap_or(", ");
            self.say("unknown_name_near", &[("what", said), ("nearest", &nearest.join(or))])
        };
        Understanding::Refuse { reply, reason: RefuseReason::UnknownName { said: said.to_owned(), nearest } }
    }
}

/// "Turn on the fan above 25 degrees" waits for something; "to at least 25" sets it.
fn waits(clause: &Clause) -> bool {
    let limited = clause.word(Word::Above) || clause.word(Word::Below);
    limited && !clause.values.is_empty() && !clause.word(Word::To)
}

/// "Open the garage, wait, don't open", "… cancel that": a clause that takes back those before it.
fn takes_back(clause: &Clause) -> bool {
    let forbids = clause.word(Word::Not) && !clause.preds.is_empty();
    let cancels = clause.preds == [Pred::Cancel] && clause.word(Word::It);
    clause.nps.is_empty() && clause.times.is_empty() && !clause.has_value() && (forbids || cancels)
}

/// Adds an intent; actions go to the actions before them, and a scene that is already there is not run twice.
pub fn push(intents: &mut Vec<Intent>, intent: Intent) {
    if let (Intent::Actions(actions), Some(Intent::Actions(known))) = (&intent, intents.last_mut()) {
        for action in actions {
            if known.last() != Some(action) {
                known.push(action.clone());
            }
        }
    } else if !intents.contains(&intent) {
        intents.push(intent);
    }
}

/// What an intent does, now or later.
fn all_actions(intent: &Intent) -> Vec<&Action> {
    match intent {
        Intent::Actions(actions) => actions.iter().collect(),
        Intent::Schedule { intents, .. } => intents.iter().flat_map(all_actions).collect(),
        _ => Vec::new(),
    }
}

/// An entity that a sentence would do opposite things to, now: lock and unlock, on and off. What it does at another time is no contradiction.
fn contradiction(intents: &[Intent]) -> Option<EntityId> {
    let now =
        |intent: &Intent| if let Intent::Actions(actions) = intent { actions.clone() } else { Vec::new() };
    let actions: Vec<Action> = intents.iter().flat_map(now).collect();
    Action::opposites(&actions).map(|(one, _)| one.entity.clone())
}
