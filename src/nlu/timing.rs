//! Delays and clock times of a clause: what is scheduled, and what ends an action that lasts.

use chrono::TimeDelta;

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

impl Command<'_> {
    /// Puts intents at the time that the clause, or a leading one, names.
    pub fn timed(
        &self,
        clause: &Clause,
        frame: &Frame,
        intents: Vec<Intent>,
        running: &Running,
    ) -> Result<Vec<Intent>, Stop> {
        let mut times = if clause.times.is_empty() { running.times.clone() } else { clause.times.clone() };
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
            | Time::Every(_)
            | Time::Rhythm(_)
            | Time::Sun
            | Time::NoClock => None,
        });
        times.retain(|time| !matches!(time, Time::For(_)));
        let at = |times: &[Time]| when(times, self.request.now).map_err(|fault| self.no_time(fault));
        let Some(seconds) = lasting else {
            return Ok(vec![Intent::Schedule { when: at(&times)?, intents }]);
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
                actions.extend(act::plan(&back, entity, self.house.state(action.entity.as_str())).ok()?);
            }
        }
        Some(vec![Intent::Actions(actions)])
    }
}

/// The verb that takes back what a frame does.
fn opposite(frame: &Frame) -> Option<Pred> {
    match frame.pred {
        Pred::On | Pred::Start => Some(Pred::Off),
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
        | Pred::Run
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

/// "Set the volume at 10" names no time.
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
    clause
}
