//! One clause of a command to intents: its frame, what it acts on, and the actions.

use crate::home::{Action, Domain, Entity};

use super::act::{self, Fault};
use super::clause::{Clause, Noun, Np};
use super::collect::Collected;
use super::command::{Command, Running, Stop, push};
use super::describe::number;
use super::frame::Frame;
use super::index::Target;
use super::resolve::Resolver;
use super::scope::{distributed, named_areas, scoped};
use super::time::Time;
use super::timing::bare_clock_as_value;
use super::understanding::{Intent, RefuseReason, Understanding};
use super::vocabulary::{Class, Pred, Word};

/// An item and what it would do.
type Planned = (usize, Result<Vec<Action>, Fault>);

impl Command<'_> {
    /// Adds what a clause asks for to what is done.
    pub fn clause(&self, clause: &Clause, running: &mut Running, alone: bool) -> Result<(), Stop> {
        if !clause.unknown.is_empty() {
            return Err(Box::new(self.not_understood(clause.unknown.clone())));
        }
        // "Every light but one": what is kept is not known.
        let kept =
            !clause.except.is_empty() || clause.times.iter().any(|time| matches!(time, Time::NotOn(_)));
        if clause.word(Word::Except) && !kept {
            return Err(Box::new(self.not_understood(Vec::new())));
        }
        if clause.question.is_some() && clause.preds.is_empty() {
            return Err(Box::new(self.not_understood(Vec::new())));
        }
        if clause.word(Word::Not) || (clause.spares() && (!alone || self.is_kept(clause, running))) {
            running.negated = true;
            return Ok(());
        }
        // "Good night", "activate movie mode".
        let starts = |pred: &Pred| {
            matches!(pred, Pred::On | Pred::OnOrOpen | Pred::Activate | Pred::Start | Pred::Set | Pred::Run)
        };
        if let Some(occasion) = clause.occasions.first()
            && clause.preds.iter().all(starts)
            && clause.nps.is_empty()
        {
            let intents: Vec<Intent> = self.occasion(*occasion, alone)?.into_iter().collect();
            for intent in self.timed(clause, &Frame::question(), intents, running)? {
                push(&mut running.intents, intent);
            }
            return Ok(());
        }
        let leading =
            clause.times.iter().all(|time| !matches!(time, Time::For(_))) && !clause.has_predicate();
        if leading && !clause.times.is_empty() && clause.nps.is_empty() {
            running.times.clone_from(&clause.times);
            return Ok(());
        }
        // "Stop everything"
        let everything = |np: &Np| {
            let all = np.nouns.iter().all(|noun| noun.classes == [Class::Everything]);
            all && !np.nouns.is_empty() && np.unknown.is_empty() && !np.has_place()
        };
        let bare = clause.nps.iter().all(everything) && clause.preds.len() == 1 && clause.times.is_empty();
        if clause.pred(Pred::Stop) && bare {
            push(&mut running.intents, Intent::StopAll);
            return Ok(());
        }
        if let Some(cancelled) = self.cancelled(clause) {
            push(&mut running.intents, cancelled?);
            return Ok(());
        }
        self.command_clause(&bare_clock_as_value(clause), running)
    }

    fn command_clause(&self, clause: &Clause, running: &mut Running) -> Result<(), Stop> {
        let named = self.scene_alone(clause);
        let Some(mut frame) = named.or_else(|| Frame::of(clause)) else {
            let unknown: Vec<String> = clause.nps.iter().flat_map(|np| np.unknown.clone()).collect();
            return Err(Box::new(self.not_understood(unknown)));
        };
        if frame.pred == Pred::Wake {
            frame.pred = Pred::On;
            return self.frame_at(&in_the_morning(clause), &frame, running);
        }
        self.frame_at(clause, &frame, running)
    }

    /// Resolves a frame and puts it at its time.
    fn frame_at(&self, clause: &Clause, frame: &Frame, running: &mut Running) -> Result<(), Stop> {
        self.no_leftovers(clause, frame)?;
        if is_alarm_clock(clause, frame) {
            return Err(Box::new(self.not_understood(Vec::new())));
        }
        let asked = running.asked.is_some();
        let intents = self.frame(clause, frame, running)?;
        if !asked && let Some((question, mut pending)) = running.asked.take() {
            for one in &mut pending.alternatives {
                one.intents = self.timed(clause, frame, std::mem::take(&mut one.intents), running)?;
            }
            running.asked = Some((question, pending));
        }
        for intent in self.timed(clause, frame, intents, running)? {
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

    pub fn resolver<'b>(&'b self, frame: &'b Frame, running: &Running) -> Resolver<'b> {
        Resolver {
            house: self.house,
            index: self.index,
            dialogue: self.dialogue,
            area: self.area(),
            carried: running.areas.clone(),
            carried_named: running.areas_named,
            frame,
        }
    }

    /// The intents of one frame: every noun phrase resolved, exclusions taken away, actions planned.
    fn frame(&self, clause: &Clause, frame: &Frame, running: &mut Running) -> Result<Vec<Intent>, Stop> {
        let (nps, excluded) = scoped(clause, frame);
        if let Some(said) = self.in_pieces(&nps) {
            return Err(Box::new(self.unknown(&said)));
        }
        let mut nps = distributed(&nps);
        let others = if excluded.is_empty() { self.not_the_others(clause, frame, running)? } else { None };
        if let Some(others) = &others {
            // "The others" are not only those of the room of the one.
            running.areas.clear();
            self.mean_the_others(others, &mut nps);
        }
        let resolver = self.resolver(frame, running);
        let excluding = !excluded.is_empty();
        let Collected { mut items, mut intents, several, groups } =
            self.collected(clause, &nps, excluding, &resolver, running)?;
        // Of several, the only one that can do it is meant.
        let only = several.as_ref().and_then(|(candidates, _)| self.only_able(frame, candidates, &resolver));
        let several = several.filter(|_| only.is_none());
        items.extend(only);
        let mut except = others.unwrap_or_default();
        except.extend(self.left_out(&excluded, &resolver)?);
        if let Some(all) = self.swept_but(clause, &nps, &items, &except, &resolver)? {
            items = all;
        }
        if !excluded.is_empty() && self.are_robots(&items) {
            return Err(Box::new(self.not_understood(Vec::new())));
        }
        let found = items.len();
        items.retain(|item| !except.contains(item) && !running.spared.contains(item));
        if items.is_empty() && found > 0 && several.is_none() && intents.is_empty() {
            running.negated = true;
            return Ok(intents);
        }
        let planned = self.planned(frame, &items, &resolver);
        self.each_can(if frame.remark { &[] } else { &groups }, &planned)?;
        if !items.is_empty() {
            running.named.extend(&items);
            let named = named_areas(&nps, self.index);
            // 都 says "all" of what is spoken of.
            running.areas_named = named.is_some() || self.lexicon.han_numbers;
            let areas = named.unwrap_or_else(|| resolver.areas(&items));
            let actions = self.of_all(&planned)?;
            running.areas = areas;
            running.last = items;
            intents.push(Intent::Actions(actions));
        }
        if let Some((candidates, np)) = several {
            if running.asked.is_some() {
                return Err(Box::new(self.not_understood(Vec::new())));
            }
            running.asked = Some(self.ask(frame, &candidates, &np, &resolver)?);
        } else if intents.is_empty() {
            return Err(Box::new(self.not_understood(Vec::new())));
        }
        Ok(intents)
    }

    /// A phrase that only holds a part of names, and another thing right after it: "the smart home cleaning bot" is no
    /// thing with a "smart" in its name and a robot.
    fn in_pieces(&self, nps: &[Np]) -> Option<String> {
        let part = |np: &Np| {
            let plain = |noun: &Noun| noun.targets.is_empty() && noun.classes.is_empty();
            !np.nouns.is_empty() && np.nouns.iter().all(plain) && np.unknown.is_empty()
        };
        let pair = nps.windows(2).find(
            |pair| matches!(pair, [first, second] if part(first) && !second.joined && !second.is_place()),
        )?;
        let said: Vec<String> = pair.iter().map(Np::text).collect();
        Some(said.join(" ")).filter(|_| !self.lexicon.han_numbers)
    }

    /// The one of several that can do what is asked, where the others cannot.
    fn only_able(&self, frame: &Frame, candidates: &[usize], resolver: &Resolver<'_>) -> Option<usize> {
        let can = |item: &&usize| {
            let known = self.index.items.get(**item);
            known.is_some_and(|known| act::plan(frame, &known.entity, resolver.state(**item)).is_ok())
        };
        let mut able = candidates.iter().filter(can);
        able.next().filter(|_| able.next().is_none()).copied()
    }

    /// What the exclusions of a clause take away.
    fn left_out(&self, excluded: &[Np], resolver: &Resolver<'_>) -> Result<Vec<usize>, Stop> {
        let mut except = Vec::new();
        for np in excluded {
            let found = resolver.excluded(np).ok_or_else(|| Box::new(self.unknown(&np.text())))?;
            except.extend(found);
        }
        Ok(except)
    }

    /// 一楼除了咖啡机全关了: what is kept is no light, and all of the place is meant.
    fn swept_but(
        &self,
        clause: &Clause,
        nps: &[Np],
        items: &[usize],
        except: &[usize],
        resolver: &Resolver<'_>,
    ) -> Result<Option<Vec<usize>>, Stop> {
        let off = matches!(resolver.frame.pred, Pred::Off | Pred::OffOrClose) && clause.word(Word::All);
        let [place] = nps else { return Ok(None) };
        let apart = !except.is_empty() && !except.iter().any(|item| items.contains(item));
        if !off || !apart || !place.is_place() {
            return Ok(None);
        }
        let mut np = place.clone();
        np.nouns.push(Noun { classes: vec![Class::Everything], ..Noun::default() });
        let mut all = Collected::default();
        self.collect(resolver.find(&np), &np, &mut all)?;
        Ok(Some(all.items))
    }

    /// "Clean everywhere except the bedroom": no robot is told where not to go.
    fn are_robots(&self, items: &[usize]) -> bool {
        let robot = |item: &usize| {
            let known = self.index.items.get(*item);
            known.is_some_and(|item| matches!(item.entity.domain(), Domain::Vacuum | Domain::LawnMower))
        };
        !items.is_empty() && items.iter().all(robot)
    }

    /// Of what is named by itself something must be able to do it: nothing is left out without a word.
    fn each_can(&self, groups: &[Vec<usize>], planned: &[Planned]) -> Result<(), Stop> {
        for group in groups {
            let kept: Vec<&Planned> = planned.iter().filter(|(item, _)| group.contains(item)).collect();
            if !kept.is_empty() {
                self.of_all(kept)?;
            }
        }
        Ok(())
    }

    /// What every item would do.
    fn planned(&self, frame: &Frame, items: &[usize], resolver: &Resolver<'_>) -> Vec<Planned> {
        let plan = |item: &usize| {
            let entity = &self.index.items.get(*item)?.entity;
            Some((*item, act::plan(frame, entity, resolver.state(*item))))
        };
        items.iter().filter_map(plan).collect()
    }

    /// The actions together. What only some of several cannot do is left out; what none can do is refused.
    fn of_all<'p>(&self, planned: impl IntoIterator<Item = &'p Planned>) -> Result<Vec<Action>, Stop> {
        let mut actions = Vec::new();
        let mut fault: Option<(&Entity, &Fault)> = None;
        for (item, plan) in planned {
            let Some(known) = self.index.items.get(*item) else { continue };
            match plan {
                Ok(planned) => actions.extend(planned.iter().cloned()),
                Err(found @ Fault::Range { .. }) => return Err(Box::new(self.fault(&known.entity, found))),
                Err(found) => fault = fault.or(Some((&known.entity, found))),
            }
        }
        match fault {
            Some((entity, fault)) if actions.is_empty() => Err(Box::new(self.fault(entity, fault))),
            Some(_) | None => Ok(actions),
        }
    }

    pub fn fault(&self, entity: &Entity, fault: &Fault) -> Understanding {
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
}

/// "Wake me at seven" means the morning.
fn in_the_morning(clause: &Clause) -> Clause {
    let mut clause = clause.clone();
    for time in &mut clause.times {
        if let Time::Clock(clock) = time {
            clock.half_known = true;
        }
    }
    clause
}

/// "Set the alarm for seven": an alarm clock, which no house has.
fn is_alarm_clock(clause: &Clause, frame: &Frame) -> bool {
    let alarm = clause.nps.iter().any(|np| np.has_class(Class::Alarm));
    let arms = matches!(
        frame.pred,
        Pred::Arm | Pred::ArmHome | Pred::ArmAway | Pred::ArmNight | Pred::ArmVacation | Pred::Disarm
    );
    let set_off = clause.pred(Pred::Set) && frame.pred == Pred::Off;
    alarm && ((!clause.times.is_empty() && !arms) || set_off)
}
