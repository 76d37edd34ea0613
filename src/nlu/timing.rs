//! Delays and clock times of a clause: what is scheduled, and what ends an action that lasts.

use chrono::{NaiveDateTime, TimeDelta};

use crate::home::State;

use super::act;
use super::clause::Clause;
use super::command::{Command, Running, Stop};
use super::describe::number;
use super::frame::Frame;
use super::number::Value;
use super::time::Time;
use super::understanding::{Intent, RefuseReason, Understanding, When};
use super::vocabulary::{Pred, Word};
use super::when::{TimeFault, when};

/// The clause at its time: a time that stands first is for the clauses after it too, and a clock time without a day is
/// on the days of the clause before it.
pub fn in_time(clause: &Clause, running: &mut Running) -> Clause {
    let mut clause = clause.clone();
    if clause.after_stop {
        running.times.clear();
        running.days.clear();
        running.moment = None;
    }
    if clause.times.iter().any(|time| matches!(time, Time::Clock(_)))
        && !clause.times.iter().any(Time::names_day)
    {
        let known = clause.times.iter().any(|time| matches!(time, Time::Clock(clock) if clock.half_known));
        clause.times.extend(running.days.iter().map(|day| match day {
            Time::Every { days, .. } if known => Time::Every { days: *days, part: None },
            other => *other,
        }));
    }
    let lasts = |time: &Time| matches!(time, Time::For(_));
    if clause.times_first && clause.has_predicate() && !clause.times.iter().all(lasts) {
        running.times = clause.times.iter().copied().filter(|time| !lasts(time)).collect();
    }
    // "In ten minutes on, and ten minutes later off": the same thing, after that.
    if let [Time::After(seconds)] = clause.times.as_mut_slice() {
        match running.delay {
            Some(before) if clause.nps.is_empty() && *seconds <= before => {
                *seconds = seconds.saturating_add(before);
            }
            Some(_) | None => {}
        }
        running.delay = Some(*seconds);
    }
    if !clause.times.is_empty() {
        running.days = clause.times.iter().copied().filter(Time::names_day).collect();
    }
    clause
}

/// 书房灯开半小时就关, "… for an hour and then turn it off": whether a clause only says what the length of the one before
/// it says already.
pub fn ends(before: &Clause, clause: &Clause) -> bool {
    let lasts = before.times.iter().any(|time| matches!(time, Time::For(_)))
        || before.values.iter().any(|value| matches!(value, Value::Duration(_)));
    let (Some(did), Some(does)) = (Frame::of(before), Frame::of(clause)) else { return false };
    let back = opposite(&did).is_some_and(|back| {
        let off = |pred: Pred| matches!(pred, Pred::Off | Pred::OffOrClose);
        back == does.pred || (off(back) && off(does.pred))
    });
    lasts && back && clause.nps.is_empty() && clause.times.is_empty() && !clause.has_value()
}

impl Command<'_> {
    /// Puts intents at the time that the clause, or a leading one, names.
    pub fn timed(
        &self,
        clause: &Clause,
        frame: &Frame,
        intents: Vec<Intent>,
        running: &mut Running,
    ) -> Result<Vec<Intent>, Stop> {
        let mut times = match (clause.times.is_empty(), clause.now) {
            (false, _) => clause.times.clone(),
            (true, false) => running.times.clone(),
            (true, true) => Vec::new(),
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
            Time::After(_)
            | Time::Clock(_)
            | Time::Day(_)
            | Time::Every { .. }
            | Time::NotOn(_)
            | Time::Range { .. }
            | Time::Rhythm(_)
            | Time::Sun
            | Time::NoClock => None,
        });
        times.retain(|time| !matches!(time, Time::For(_)));
        let after = running.moment;
        let at = |times: &[Time]| {
            let when = when(times, self.request.now).map_err(|fault| self.no_time(fault))?;
            Ok::<When, Stop>(not_before(when, times, after))
        };
        let Some(seconds) = lasting else {
            let when = at(&times)?;
            if let When::At { local } = when {
                running.moment = Some(local);
            }
            return Ok(vec![Intent::Schedule { when, intents }]);
        };
        let back = self.reverse(frame, &intents).ok_or_else(|| self.no_time(TimeFault::Unclear))?;
        if times.is_empty() {
            let end = Intent::Schedule { when: at(&[Time::After(seconds)])?, intents: back };
            return Ok(intents.into_iter().chain([end]).collect());
        }
        let start = at(&times)?;
        let end = later(&start, seconds);
        Ok(vec![Intent::Schedule { when: start, intents }, Intent::Schedule { when: end, intents: back }])
    }

    /// Why a time cannot be waited for.
    pub fn no_time(&self, fault: TimeFault) -> Stop {
        let (month, day) = match fault {
            TimeFault::NoDate { month, day } => (month, day),
            TimeFault::Past
            | TimeFault::NoClock
            | TimeFault::TooFar
            | TimeFault::TooOften
            | TimeFault::Rhythm
            | TimeFault::Sun
            | TimeFault::Unclear => (0, 0),
        };
        let month = self.lexicon.phrase(&format!("month.{month}")).unwrap_or_default();
        let reply = self.say(fault.key(), &[("month", month), ("day", &number(f64::from(day)))]);
        Box::new(Understanding::Refuse { reply, reason: RefuseReason::Time })
    }

    /// What ends a lasting action: off after on, closed after open. `None` where nothing does.
    fn reverse(&self, frame: &Frame, intents: &[Intent]) -> Option<Vec<Intent>> {
        let back = Frame {
            pred: opposite(frame)?,
            amount: None,
            color: None,
            white: None,
            mode: None,
            ..frame.clone()
        };
        let mut actions = Vec::new();
        for intent in intents {
            let Intent::Actions(list) = intent else { return None };
            for action in list {
                let entity = self.house.entity(action.entity.as_str())?;
                // A value for a while: how it was before is not kept, so only what it switches on can be ended.
                let off = self.house.state(action.entity.as_str()).and_then(State::text) == Some("off");
                if frame.sets() && !off {
                    return None;
                }
                actions.extend(act::plan(&back, entity, self.house.state(action.entity.as_str())).ok()?);
            }
        }
        Some(vec![Intent::Actions(actions)])
    }
}

/// "On at 7 and off at 9", said at half past seven: the second comes after the first.
fn not_before(when: When, times: &[Time], after: Option<NaiveDateTime>) -> When {
    let either = times.iter().any(|time| matches!(time, Time::Clock(clock) if !clock.half_known));
    match (when, after) {
        (When::At { local }, Some(after)) if either && local < after => {
            let later = |hours: i64| local.checked_add_signed(TimeDelta::hours(hours));
            let found = [12, 24].into_iter().filter_map(later).find(|moment| *moment > after);
            When::At { local: found.unwrap_or(local) }
        }
        (when, _) => when,
    }
}

/// The verb that takes back what a frame does.
fn opposite(frame: &Frame) -> Option<Pred> {
    match frame.pred {
        Pred::On | Pred::Start | Pred::Run => Some(Pred::Off),
        Pred::Off => Some(Pred::On),
        Pred::Open => Some(Pred::Close),
        Pred::Close => Some(Pred::Open),
        Pred::OnOrOpen => Some(Pred::OffOrClose),
        Pred::OffOrClose => Some(Pred::OnOrOpen),
        Pred::Play | Pred::Resume => Some(Pred::Pause),
        Pred::Pause => Some(Pred::Resume),
        Pred::Unlock => Some(Pred::Lock),
        Pred::Mute => Some(Pred::Unmute),
        Pred::Water => Some(Pred::Close),
        Pred::Set => frame.sets().then_some(Pred::Off),
        Pred::Toggle
        | Pred::Stop
        | Pred::Lock
        | Pred::Arm
        | Pred::ArmHome
        | Pred::ArmAway
        | Pred::ArmNight
        | Pred::ArmVacation
        | Pred::Disarm
        | Pred::Raise
        | Pred::Lower
        | Pred::Brighter
        | Pred::Dimmer
        | Pred::Louder
        | Pred::Quieter
        | Pred::Warmer
        | Pred::Colder
        | Pred::Faster
        | Pred::Slower
        | Pred::Next
        | Pred::Previous
        | Pred::Unmute
        | Pred::Dock
        | Pred::Clean
        | Pred::Locate
        | Pred::Mow
        | Pred::Press
        | Pred::Activate
        | Pred::Cancel
        | Pred::Add
        | Pred::Remove
        | Pred::Broadcast
        | Pred::Tell
        | Pred::Wake
        | Pred::Undo => None,
    }
}

/// `when` and so many seconds more.
fn later(when: &When, seconds: u64) -> When {
    let length = i64::try_from(seconds).ok().and_then(TimeDelta::try_seconds).unwrap_or_default();
    match when {
        When::After { seconds: delay } => When::After { seconds: delay.saturating_add(seconds) },
        When::At { local } => When::At { local: local.checked_add_signed(length).unwrap_or(*local) },
        When::Every { at, days } => When::Every { at: *at + length, days: *days },
    }
}

/// "Set the volume at 10", "the brightness from 20 to 22" name no time.
pub fn bare_clock_as_value(clause: &Clause) -> Clause {
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
    let sets = |pred: &Pred| matches!(pred, Pred::Set | Pred::Raise | Pred::Lower);
    let setting =
        !clause.attributes.is_empty() || (!clause.preds.is_empty() && clause.preds.iter().all(sets));
    if clause.values.is_empty()
        && setting
        && let [Time::Range { bare: true, to }] = *clause.times.as_slice()
    {
        clause.values.push(Value::Number(f64::from(to)));
        clause.words.push(Word::To);
        clause.times.clear();
    }
    clause
}
