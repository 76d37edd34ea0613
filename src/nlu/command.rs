//! What a sentence asks for: the order in which its readings are tried, and the actions of its clauses.

use crate::home::{Action, Domain, Entity, House};

use super::act::{self, Fault};
use super::answer::Asker;
use super::clause::{Clause, Noun, Np, Role};
use super::dialogue::{Alternative, Dialogue, Pending};
use super::frame::Frame;
use super::index::{HouseIndex, Target};
use super::lexicon::Lexicon;
use super::number::Value;
use super::resolve::{Found, Resolver};
use super::time::{Time, when};
use super::understand::{Request, Sentence};
use super::understanding::{Intent, RefuseReason, Understanding, When};
use super::vocabulary::{Class, Pred, Word};

/// Everything that reading a sentence needs.
pub struct Command<'a> {
    pub request: &'a Request<'a>,
    pub house: &'a House,
    pub dialogue: &'a Dialogue,
    pub lexicon: &'a Lexicon,
    pub index: &'a HouseIndex,
    /// How often a sentence was rewritten from the conversation; once is enough.
    pub depth: u8,
}

/// Why a clause stops the sentence.
type Stop = Box<Understanding>;

/// What the clauses read so far leave for the next ones.
#[derive(Default)]
struct Running {
    intents: Vec<Intent>,
    /// The areas that were named or acted in.
    areas: Vec<usize>,
    /// A time that stood first: it is for everything that follows.
    times: Vec<Time>,
    asked: Option<(String, Pending)>,
    /// Entities acted on by the clause before: "it".
    last: Vec<usize>,
    pred: Option<Pred>,
    negated: bool,
}

impl Command<'_> {
    pub fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.lexicon.say(key, values)
    }

    pub fn nothing(&self, key: &str) -> Understanding {
        Understanding::Nothing { reply: self.say(key, &[]) }
    }

    pub fn area(&self) -> Option<usize> {
        self.request.area.and_then(|area| self.index.area_of(area))
    }

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
        if let Some(understanding) = self.free_text(sentence) {
            return understanding;
        }
        if sentence.has_class(Class::Timer)
            && let Some(understanding) = self.timer(sentence)
        {
            return understanding;
        }
        let clauses = sentence.clauses(self.index, self.lexicon);
        if sentence.asking {
            return Asker { command: self }.answer(&clauses);
        }
        self.act(&clauses)
    }

    pub fn not_understood(&self, unexplained: Vec<String>) -> Understanding {
        let nearest = unexplained.first().and_then(|word| self.index.nearest(word, 1).into_iter().next());
        let reply = match unexplained.first() {
            Some(word) => self.say("not_understood_word", &[("word", word)]),
            None => self.say("not_understood", &[]),
        };
        Understanding::NotUnderstood { unexplained, nearest, reply }
    }

    pub fn act(&self, clauses: &[Clause]) -> Understanding {
        let mut running = Running::default();
        if let Some(stop) = self.condition(clauses) {
            return stop;
        }
        running.areas = clauses
            .iter()
            .filter(|clause| clause.role != Role::Main)
            .find_map(|clause| named_areas(&clause.nps, self.index))
            .unwrap_or_default();
        let main: Vec<&Clause> = clauses.iter().filter(|clause| clause.role == Role::Main).collect();
        let alone = main.len() == 1;
        for clause in main {
            if let Err(stop) = self.clause(clause, &mut running, alone) {
                return *stop;
            }
        }
        if let Some((question, mut pending)) = running.asked {
            pending.rest = running.intents;
            return Understanding::Ask { question, pending };
        }
        if running.intents.is_empty() {
            return if running.negated { self.nothing("negated") } else { self.not_understood(Vec::new()) };
        }
        Understanding::Act(running.intents)
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

    fn clause(&self, clause: &Clause, running: &mut Running, alone: bool) -> Result<(), Stop> {
        if !clause.unknown.is_empty() {
            return Err(Box::new(self.not_understood(clause.unknown.clone())));
        }
        if clause.question.is_some() && clause.preds.is_empty() {
            return Err(Box::new(self.not_understood(Vec::new())));
        }
        if clause.word(Word::Not) {
            running.negated = true;
            return Ok(());
        }
        if let Some(occasion) = clause.occasions.first()
            && clause.preds.is_empty()
            && clause.nps.is_empty()
        {
            return self.occasion(*occasion, running, alone);
        }
        let leading =
            clause.times.iter().all(|time| !matches!(time, Time::For(_))) && clause.preds.is_empty();
        if leading && !clause.times.is_empty() && clause.nps.is_empty() {
            running.times.clone_from(&clause.times);
            return Ok(());
        }
        if clause.pred(Pred::Stop)
            && clause.nps.is_empty()
            && clause.preds.len() == 1
            && clause.times.is_empty()
        {
            push(&mut running.intents, Intent::StopAll);
            return Ok(());
        }
        let clause = &bare_clock_as_value(clause);
        let named = self.scene_alone(clause);
        let Some(mut frame) = named.or_else(|| Frame::of(clause)) else {
            let unknown: Vec<String> = clause.nps.iter().flat_map(|np| np.unknown.clone()).collect();
            return Err(Box::new(self.not_understood(unknown)));
        };
        if frame.pred == Pred::Wake {
            frame.pred = Pred::On;
        }
        self.no_leftovers(clause, &frame)?;
        let alarm = clause.nps.iter().any(|np| np.has_class(Class::Alarm));
        let arms = matches!(
            frame.pred,
            Pred::Arm | Pred::ArmHome | Pred::ArmAway | Pred::ArmNight | Pred::ArmVacation | Pred::Disarm
        );
        let set_off = clause.pred(Pred::Set) && frame.pred == Pred::Off;
        if alarm && ((!clause.times.is_empty() && !arms) || set_off) {
            // An alarm clock, which no house has: "set the alarm for seven".
            return Err(Box::new(self.not_understood(Vec::new())));
        }
        let asked = running.asked.is_some();
        let intents = self.frame(clause, &mut frame, running)?;
        if !asked && let Some((question, mut pending)) = running.asked.take() {
            for one in &mut pending.alternatives {
                one.intents = self.timed(clause, &frame, std::mem::take(&mut one.intents), running)?;
            }
            running.asked = Some((question, pending));
        }
        let intents = self.timed(clause, &frame, intents, running)?;
        running.pred = Some(frame.pred);
        for intent in intents {
            push(&mut running.intents, intent);
        }
        Ok(())
    }

    /// The name of a scene and nothing else: "movie night".
    fn scene_alone(&self, clause: &Clause) -> Option<Frame> {
        let [np] = clause.nps.as_slice() else { return None };
        let bare = clause.preds.is_empty() && clause.states.is_empty() && !clause.has_value();
        let scene =
            |noun: &Noun| {
                noun.classes == [Class::Scene]
                    || noun.targets.iter().any(|target| match target {
                        Target::Scene(_) => true,
                        Target::Entity(item) => self.index.items.get(*item).is_some_and(|item| {
                            matches!(item.entity.domain(), Domain::Scene | Domain::Script)
                        }),
                        Target::Area(_) | Target::Floor(_) => false,
                    })
            };
        (bare && np.unknown.is_empty() && !np.nouns.is_empty() && np.nouns.iter().all(scene)).then(|| Frame {
            pred: Pred::Activate,
            nps: clause.nps.clone(),
            ..Frame::question()
        })
    }

    /// A value or a setting that the verb cannot take is something that was not understood.
    fn no_leftovers(&self, clause: &Clause, frame: &Frame) -> Result<(), Stop> {
        let plain = matches!(
            frame.pred,
            Pred::Off
                | Pred::Lock
                | Pred::Unlock
                | Pred::Stop
                | Pred::Toggle
                | Pred::Pause
                | Pred::Resume
                | Pred::Next
                | Pred::Previous
                | Pred::Mute
                | Pred::Unmute
                | Pred::Dock
                | Pred::Mow
                | Pred::Disarm
        );
        let counted = clause.values.iter().any(|value| !matches!(value, Value::Duration(_)));
        let valued = counted || frame.color.is_some() || frame.white.is_some();
        let both = frame.pred == Pred::Toggle;
        let odd = clause.words.iter().any(|word| {
            matches!(word, Word::Until | Word::Other | Word::HowMany | Word::Which | Word::Who | Word::Where)
        });
        let choice = clause.word(Word::Or) && !both;
        let colors = clause.colors.iter().any(|color| Some(*color) != frame.color);
        if (plain && valued) || odd || choice || colors {
            return Err(Box::new(self.not_understood(Vec::new())));
        }
        Ok(())
    }

    fn resolver<'b>(&'b self, frame: &'b Frame, running: &Running) -> Resolver<'b> {
        Resolver {
            house: self.house,
            index: self.index,
            dialogue: self.dialogue,
            area: self.area(),
            carried: running.areas.clone(),
            frame,
        }
    }

    /// The intents of one frame: every noun phrase resolved, exclusions taken away, actions planned.
    fn frame(&self, clause: &Clause, frame: &mut Frame, running: &mut Running) -> Result<Vec<Intent>, Stop> {
        let frame = &*frame;
        let resolver = self.resolver(frame, running);
        let pronoun = clause.word(Word::It) || clause.word(Word::Them);
        let (nps, excluded) = scoped(clause, frame);
        let nps = distributed(&nps);
        let mut items: Vec<usize> = Vec::new();
        let mut intents: Vec<Intent> = Vec::new();
        let mut several: Option<(Vec<usize>, Np)> = None;
        let sweeping = clause.word(Word::All) && matches!(frame.pred, Pred::Off | Pred::OffOrClose);
        if nps.is_empty() && sweeping && !pronoun && frame.attribute.is_none() {
            let everything = Noun { classes: vec![Class::Everything], ..Noun::default() };
            let np = Np { nouns: vec![everything], all: true, ..Np::default() };
            self.collect(resolver.find(&np), &np, &mut items, &mut intents, &mut several)?;
        } else if nps.is_empty() {
            let found = if pronoun && !running.last.is_empty() {
                Found::Items(running.last.clone())
            } else {
                resolver.unnamed(pronoun)
            };
            self.collect(found, &Np::default(), &mut items, &mut intents, &mut several)?;
        }
        for np in &nps {
            let mut np = np.clone();
            // "make the lights in here brighter": the pronoun is not needed where a place is named.
            if np.is_place() && np.nouns.is_empty() {
                let found = self.placed(&resolver, &np, running, pronoun);
                self.collect(found, &np, &mut items, &mut intents, &mut several)?;
                continue;
            }
            np.all |= !excluded.is_empty();
            let found = if frame.remark { resolver.remarked_at(&np) } else { resolver.find(&np) };
            self.collect(found, &np, &mut items, &mut intents, &mut several)?;
        }
        let mut except: Vec<usize> = Vec::new();
        for np in &excluded {
            match resolver.excluded(np) {
                Some(found) => except.extend(found),
                None => return Err(Box::new(self.unknown(&np.text()))),
            }
        }
        items.retain(|item| !except.contains(item));
        if !items.is_empty() {
            running.areas = named_areas(&nps, self.index).unwrap_or_else(|| resolver.areas(&items));
            let actions = self.plan(frame, &items, &resolver)?;
            running.last = items;
            intents.push(Intent::Actions(actions));
        }
        if let Some((candidates, np)) = several {
            if running.asked.is_none() {
                running.asked = Some(self.ask(frame, &candidates, &np, &resolver)?);
            } else {
                return Err(Box::new(self.not_understood(Vec::new())));
            }
        } else if intents.is_empty() {
            return Err(Box::new(self.not_understood(Vec::new())));
        }
        Ok(intents)
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

    fn collect(
        &self,
        found: Found,
        np: &Np,
        items: &mut Vec<usize>,
        intents: &mut Vec<Intent>,
        several: &mut Option<(Vec<usize>, Np)>,
    ) -> Result<(), Stop> {
        match found {
            Found::Items(found) => {
                for item in found {
                    if !items.contains(&item) {
                        items.push(item);
                    }
                }
            }
            Found::Scene(scene) => intents.push(Intent::Scene(scene)),
            Found::Several(candidates) => *several = Some((candidates, np.clone())),
            Found::Unknown(said) => return Err(Box::new(self.unknown(&said))),
            Found::Nothing(said) => {
                let reply = self.say("nothing_there", &[("what", &said)]);
                return Err(Box::new(Understanding::Refuse { reply, reason: RefuseReason::NothingThere }));
            }
            Found::Missing => return Err(Box::new(self.not_understood(Vec::new()))),
        }
        Ok(())
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

    /// Plans every item. What only some of several cannot do is left out; what none can do is refused.
    fn plan(&self, frame: &Frame, items: &[usize], resolver: &Resolver<'_>) -> Result<Vec<Action>, Stop> {
        let mut actions = Vec::new();
        let mut fault: Option<(&Entity, Fault)> = None;
        for item in items {
            let Some(known) = self.index.items.get(*item) else { continue };
            match act::plan(frame, &known.entity, resolver.state(*item)) {
                Ok(planned) => actions.extend(planned),
                Err(found @ Fault::Range { .. }) => return Err(Box::new(self.fault(&known.entity, &found))),
                Err(found) => fault = fault.or(Some((&known.entity, found))),
            }
        }
        match fault {
            Some((entity, fault)) if actions.is_empty() => Err(Box::new(self.fault(entity, &fault))),
            Some(_) | None => Ok(actions),
        }
    }

    fn fault(&self, entity: &Entity, fault: &Fault) -> Understanding {
        let name = entity.name_in(self.lexicon.language);
        let id = entity.id.clone();
        match fault {
            Fault::Range { value, min, max, unit } => {
                let values = [
                    ("name", name),
                    ("value", &number(*value)),
                    ("min", &number(*min)),
                    ("max", &number(*max)),
                    ("unit", unit),
                ];
                let reply = self.say("out_of_range", &values);
                Understanding::Refuse { reply, reason: RefuseReason::OutOfRange { entity: id } }
            }
            Fault::Unsupported => {
                let reply = self.say("unsupported", &[("name", name)]);
                Understanding::Refuse { reply, reason: RefuseReason::Unsupported { entity: id } }
            }
            Fault::NoMode { options } => {
                let reply = self.say("no_mode", &[("name", name), ("options", &options.join(", "))]);
                Understanding::Refuse { reply, reason: RefuseReason::Unsupported { entity: id } }
            }
            Fault::UnknownState => {
                let reply = self.say("unknown_state", &[("name", name)]);
                Understanding::Refuse { reply, reason: RefuseReason::UnknownState { entity: id } }
            }
        }
    }

    /// "Which one: …?"
    fn ask(
        &self,
        frame: &Frame,
        candidates: &[usize],
        np: &Np,
        resolver: &Resolver<'_>,
    ) -> Result<(String, Pending), Stop> {
        let mut alternatives = Vec::new();
        for item in candidates {
            let Some(known) = self.index.items.get(*item) else { continue };
            let Ok(actions) = act::plan(frame, &known.entity, resolver.state(*item)) else { continue };
            alternatives.push(Alternative {
                entities: vec![known.entity.id.clone()],
                name: self.distinct_name(*item, candidates),
                intents: vec![Intent::Actions(actions)],
            });
        }
        if alternatives.is_empty() {
            return Err(Box::new(self.not_understood(vec![np.text()])));
        }
        const SPOKEN: usize = 4;
        let names: Vec<&str> = alternatives.iter().take(SPOKEN).map(|one| one.name.as_str()).collect();
        let or = self.lexicon.phrase("or").unwrap_or(", ");
        let mut list = names.join(or);
        if alternatives.len() > SPOKEN {
            list.push_str(self.lexicon.phrase("and_more").unwrap_or("…"));
        }
        let question = self.say("which", &[("names", &list)]);
        Ok((question, Pending { alternatives, all_allowed: true, rest: Vec::new() }))
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

    fn occasion(
        &self,
        occasion: super::vocabulary::Occasion,
        running: &mut Running,
        alone: bool,
    ) -> Result<(), Stop> {
        let words = self.lexicon.scenes.iter().filter(|(known, _)| *known == occasion);
        let words: Vec<&Vec<String>> = words.flat_map(|(_, names)| names).collect();
        let names = |keys: &[String]| {
            words.iter().any(|name| keys.windows(name.len().max(1)).any(|window| window == name.as_slice()))
        };
        // How much of a name the occasion fills: "sleep" is half of "sleep mode", all of "sleep", little of "movie night".
        let share = |keys: &[String]| {
            let held = words
                .iter()
                .filter(|name| keys.windows(name.len().max(1)).any(|window| window == name.as_slice()));
            held.map(|name| name.len() * 100 / keys.len().max(1)).max().unwrap_or(0)
        };
        let fit = |all: &[Vec<String>]| all.iter().map(|keys| share(keys)).max().unwrap_or(0);
        let scene = self
            .index
            .scene_names
            .iter()
            .zip(&self.index.scenes)
            .map(|(all, (id, _))| (fit(all), id))
            .filter(|(fit, _)| *fit > 0)
            .rev()
            .max_by_key(|(fit, _)| *fit)
            .map(|(_, id)| Intent::Scene(id.clone()));
        let entity = || {
            let item = self.index.items.iter().find(|item| {
                item.entity.domain() == Domain::Scene
                    && item.entity.all_names().any(|name| names(&self.lexicon.keys(name)))
            })?;
            let verb = crate::home::Verb::Activate;
            item.entity.action(verb)?;
            Some(Intent::Actions(vec![Action::new(item.entity.id.clone(), verb)]))
        };
        match scene.or_else(entity) {
            Some(intent) => {
                push(&mut running.intents, intent);
                Ok(())
            }
            None if alone => Err(Box::new(self.not_understood(Vec::new()))),
            // A remark beside a command: the command says what to do.
            None => Ok(()),
        }
    }

    /// Puts intents at the time that the clause, or a leading one, names.
    fn timed(
        &self,
        clause: &Clause,
        frame: &Frame,
        intents: Vec<Intent>,
        running: &Running,
    ) -> Result<Vec<Intent>, Stop> {
        let mut times = if clause.times.is_empty() { running.times.clone() } else { clause.times.clone() };
        let refuse = || {
            let reply = self.say("no_such_time", &[]);
            Box::new(Understanding::Refuse { reply, reason: RefuseReason::Condition })
        };
        // 打开风扇二十分钟
        times.extend(clause.values.iter().filter_map(|value| match value {
            Value::Duration(seconds) => Some(Time::For(*seconds)),
            Value::Number(_)
            | Value::Percent(_)
            | Value::Celsius(_)
            | Value::Fahrenheit(_)
            | Value::Kelvin(_) => None,
        }));
        if times.is_empty() || intents.is_empty() {
            return Ok(intents);
        }
        let lasting = times.iter().find_map(|time| match time {
            Time::For(seconds) => Some(*seconds),
            Time::After(_) | Time::Clock(_) | Time::Day(_) | Time::Every(_) | Time::Sun => None,
        });
        times.retain(|time| !matches!(time, Time::For(_)));
        let Some(seconds) = lasting else {
            // "tonight" and "today" beside a command for now say nothing more.
            let Some(when) = when(&times, self.request.now) else { return Err(refuse()) };
            return Ok(vec![Intent::Schedule { when, intents }]);
        };
        let back = self.reverse(frame, &intents).ok_or_else(refuse)?;
        if times.is_empty() {
            let mut all = intents;
            all.push(Intent::Schedule { when: When::After { seconds }, intents: back });
            return Ok(all);
        }
        let Some(start) = when(&times, self.request.now) else { return Err(refuse()) };
        let end = match &start {
            When::After { seconds: delay } => When::After { seconds: delay + seconds },
            When::At { local } => {
                let length = chrono::TimeDelta::try_seconds(i64::try_from(seconds).unwrap_or(0));
                When::At {
                    local: length.and_then(|length| local.checked_add_signed(length)).unwrap_or(*local),
                }
            }
            When::Every { at, days } => {
                let length = chrono::TimeDelta::try_seconds(i64::try_from(seconds).unwrap_or(0));
                When::Every { at: *at + length.unwrap_or_default(), days: *days }
            }
        };
        Ok(vec![Intent::Schedule { when: start, intents }, Intent::Schedule { when: end, intents: back }])
    }

    /// What ends a lasting action: off after on, closed after open.
    fn reverse(&self, frame: &Frame, intents: &[Intent]) -> Option<Vec<Intent>> {
        let pred = match frame.pred {
            Pred::On | Pred::Start => Pred::Off,
            Pred::Off => Pred::On,
            Pred::Open => Pred::Close,
            Pred::Close => Pred::Open,
            Pred::OnOrOpen => Pred::OffOrClose,
            Pred::OffOrClose => Pred::OnOrOpen,
            Pred::Play | Pred::Resume => Pred::Pause,
            Pred::Pause => Pred::Resume,
            Pred::Unlock => Pred::Lock,
            Pred::Mute => Pred::Unmute,
            Pred::Water => Pred::Close,
            Pred::Set if frame.sets() => Pred::Off,
            _ => return None,
        };
        let back = Frame { pred, amount: None, color: None, white: None, mode: None, ..frame.clone() };
        let mut actions = Vec::new();
        for intent in intents {
            let Intent::Actions(list) = intent else { return None };
            for action in list {
                let entity = self.house.entity(action.entity.as_str())?;
                actions.extend(act::plan(&back, entity, self.house.state(action.entity.as_str())).ok()?);
            }
        }
        Some(vec![Intent::Actions(actions)])
    }
}

/// "Set the volume at 10" names no time.
fn bare_clock_as_value(clause: &Clause) -> Clause {
    let mut clause = clause.clone();
    if clause.values.is_empty()
        && !clause.attributes.is_empty()
        && let [Time::Clock(clock)] = clause.times.as_slice()
        && clock.bare
    {
        clause.values.push(Value::Number(f64::from(clock.hour)));
        clause.words.push(Word::To);
        clause.times.clear();
    }
    clause
}

/// Adds an intent; actions go to the actions before them, and a scene that is already there is not run twice.
fn push(intents: &mut Vec<Intent>, intent: Intent) {
    match (&intent, intents.last_mut()) {
        (Intent::Actions(actions), Some(Intent::Actions(known))) => {
            for action in actions {
                if known.last() != Some(action) {
                    known.push(action.clone());
                }
            }
        }
        _ => {
            if !intents.contains(&intent) {
                intents.push(intent);
            }
        }
    }
}

/// The noun phrases with a place that stands before the verb put into those after it ("in the kitchen, turn on
/// the light"), and the exclusions. 除了客厅的灯都关掉 excludes a place and names the thing in one phrase.
fn scoped(clause: &Clause, frame: &Frame) -> (Vec<Np>, Vec<Np>) {
    let mut nps = frame.nps.clone();
    let mut except = frame.except.clone();
    if nps.is_empty()
        && let [excluded] = except.as_mut_slice()
    {
        let things: Vec<Noun> = excluded.nouns.iter().filter(|noun| !noun.is_place()).cloned().collect();
        let kinds = things.iter().all(|noun| !noun.classes.is_empty());
        if excluded.is_place() || (kinds && things.len() < excluded.nouns.len()) {
            excluded.nouns.retain(Noun::is_place);
            let everything = Noun { classes: vec![Class::Everything], ..Noun::default() };
            let nouns = if things.is_empty() { vec![everything] } else { things };
            nps.push(Np { nouns, all: true, ..Np::default() });
        }
    }
    let before = |np: &Np| clause.pred_at.is_some_and(|at| np.start < at);
    let scopes = nps.len() > 1
        && nps.first().is_some_and(|np| np.is_place() && before(np))
        && nps.iter().skip(1).all(|np| !before(np));
    if scopes {
        let place = nps.remove(0);
        for np in &mut nps {
            let placed = !np.places.is_empty() || np.nouns.iter().any(Noun::is_place);
            if !placed {
                np.places.extend(place.places.iter().copied().filter(|word| *word != Word::House));
                np.nouns.extend(place.nouns.iter().cloned());
            }
        }
    }
    (nps, except)
}

/// "the kitchen and hallway lights", "the lights in the kitchen and the hall": places take the thing of their
/// neighbours.
fn distributed(nps: &[Np]) -> Vec<Np> {
    let mut all = nps.to_vec();
    let heads: Vec<bool> = all.iter().map(|np| !np.is_place() && !np.nouns.is_empty()).collect();
    for position in 0..all.len() {
        if heads.get(position) != Some(&false) || all.get(position).is_none_or(|np| !np.unknown.is_empty()) {
            continue;
        }
        let after = (position + 1..all.len()).find(|next| heads.get(*next) == Some(&true));
        let before = (0..position).rev().find(|earlier| heads.get(*earlier) == Some(&true));
        let Some(source) = before.or(after).and_then(|source| all.get(source)).cloned() else { continue };
        let things: Vec<_> = source
            .nouns
            .iter()
            .filter(|noun| !noun.is_place())
            .cloned()
            .map(|mut noun| {
                noun.targets.retain(|target| matches!(target, Target::Scene(_)));
                noun
            })
            .filter(|noun| !noun.classes.is_empty())
            .collect();
        if let Some(np) = all.get_mut(position)
            && !things.is_empty()
        {
            np.nouns.extend(things);
            np.all |= source.all;
            np.plural |= source.plural;
        }
    }
    // A place at the very end is for all of them: "the lights and the fan in the bedroom".
    all
}

/// The areas that noun phrases name.
fn named_areas(nps: &[Np], index: &HouseIndex) -> Option<Vec<usize>> {
    let mut areas: Vec<usize> = Vec::new();
    for noun in nps.iter().flat_map(|np| &np.nouns).filter(|noun| noun.is_place()) {
        for target in &noun.targets {
            match target {
                Target::Area(area) => areas.push(*area),
                Target::Floor(floor) => {
                    areas.extend((0..index.areas.len()).filter(|area| {
                        index.areas.get(*area).is_some_and(|area| area.floor == Some(*floor))
                    }));
                }
                Target::Entity(_) | Target::Scene(_) => {}
            }
        }
    }
    (!areas.is_empty()).then_some(areas)
}

/// A number without needless digits.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{}", (value * 100.0).round() / 100.0) }
}
