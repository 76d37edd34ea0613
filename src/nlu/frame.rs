//! What a command clause asks for, before it is known of which thing.

use crate::home::Domain;

use super::amount::{Amount, Size, amount};
use super::clause::{Clause, Np};
use super::number::Value;
use super::vocabulary::{Attribute, Class, Mode, Pred, Remark, StateWord, Word};

#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub pred: Pred,
    pub attribute: Option<Attribute>,
    pub amount: Option<Amount>,
    /// Whether its value was said in degrees.
    pub degrees: bool,
    /// Index into the colours.
    pub color: Option<usize>,
    /// Kelvin.
    pub white: Option<u16>,
    pub mode: Option<Mode>,
    pub nps: Vec<Np>,
    pub except: Vec<Np>,
    /// The kind that the verb names.
    pub by_verb: Option<Class>,
    /// From a remark ("too bright in here"): only what is on is meant.
    pub remark: bool,
}

impl Frame {
    /// The frame of a clause; `None` where it says nothing to do.
    pub fn of(clause: &Clause) -> Option<Self> {
        let mut frame = Self {
            pred: Pred::Set,
            attribute: attribute(clause),
            amount: None,
            degrees: clause
                .values
                .iter()
                .any(|value| matches!(value, Value::Celsius(_) | Value::Fahrenheit(_))),
            color: clause.colors.last().copied(),
            white: clause.whites.last().copied(),
            mode: clause.modes.last().copied(),
            nps: clause.nps.clone(),
            except: clause.except.clone(),
            by_verb: clause.implied.or_else(|| activity(clause)),
            remark: false,
        };
        if let Some(remark) = clause.remarks.first() {
            frame.remark(*remark);
            return Some(frame);
        }
        frame.pred = pred(clause)?;
        // "Turn off the sound of the tv"
        if frame.attribute == Some(Attribute::Volume) && !clause.has_value() {
            frame.pred = match frame.pred {
                Pred::Off | Pred::OffOrClose => Pred::Mute,
                Pred::On | Pred::OnOrOpen => Pred::Unmute,
                other => other,
            };
        }
        // 音量加十: more of it, and no item of a list.
        if clause.has_value() && matches!(frame.pred, Pred::Add | Pred::Remove) {
            frame.pred = if frame.pred == Pred::Add { Pred::Raise } else { Pred::Lower };
        }
        // "Quita la luz": light is taken away by switching it off.
        let lights = |np: &Np| np.has_class(Class::Light);
        if frame.pred == Pred::Remove && !frame.nps.is_empty() && frame.nps.iter().all(lights) {
            frame.pred = Pred::Off;
        }
        // "Switch to 50 %" is no scene.
        if frame.pred == Pred::Activate && clause.has_value() {
            frame.pred = Pred::Set;
        }
        frame.amount = amount(clause, frame.pred);
        // 灯和风扇都打开: both, and not every light of the house.
        let each = frame.nps.len() > 1 && frame.nps.iter().all(|np| !np.has_place() && !np.plural);
        // "Both the fan and the light in the bedroom": each of these, and not every fan.
        let two = clause.word(Word::Both) && frame.nps.len() > 1;
        if (clause.word(Word::All) || clause.word(Word::Both)) && !each && !two {
            for np in &mut frame.nps {
                np.all = true;
                np.both |= clause.word(Word::Both);
            }
        }
        // "set it to warm": a white; "switch to cool": a mode.
        Some(frame)
    }

    /// The frame of a question: it asks nothing to be done.
    pub fn question() -> Self {
        Self {
            pred: Pred::Tell,
            attribute: None,
            amount: None,
            degrees: false,
            color: None,
            white: None,
            mode: None,
            nps: Vec::new(),
            except: Vec::new(),
            by_verb: None,
            remark: false,
        }
    }

    fn remark(&mut self, remark: Remark) {
        self.remark = true;
        self.pred = match remark {
            Remark::Bright => Pred::Dimmer,
            Remark::Dark => Pred::Brighter,
            Remark::Warm => Pred::Colder,
            Remark::Cold => Pred::Warmer,
            Remark::Loud => Pred::Quieter,
            Remark::Quiet => Pred::Louder,
            Remark::Humid | Remark::Dry => Pred::Set,
        };
        self.amount = Some(Amount::Step { up: remark.wishes_more() == Some(true), size: Size::Usual });
    }

    /// Whether it makes a house safer: what is meant for one door may be done to all.
    pub fn secures(&self) -> bool {
        matches!(self.pred, Pred::Lock)
    }

    /// Whether it puts things to rest or makes them safe: what is meant for whichever there are may be done to all.
    pub fn rests(&self) -> bool {
        matches!(
            self.pred,
            Pred::Off | Pred::OffOrClose | Pred::Close | Pred::Lock | Pred::Pause | Pred::Mute
        )
    }

    /// Whether it names a setting or a value.
    pub fn sets(&self) -> bool {
        self.amount.is_some() || self.color.is_some() || self.white.is_some() || self.mode.is_some()
    }

    /// The kind of thing that is meant where none is named: volume is of players, brightness of lights.
    pub fn implied(&self) -> Option<Class> {
        let by_attribute = self.attribute.and_then(|attribute| match attribute {
            Attribute::Brightness | Attribute::Color | Attribute::ColorTemperature => Some(Class::Light),
            Attribute::Temperature if self.is_kelvin() => Some(Class::Light),
            Attribute::Temperature
            | Attribute::TargetTemperature
            | Attribute::FanMode
            | Attribute::Preset => Some(Class::Climate),
            Attribute::Volume | Attribute::Source | Attribute::Title => Some(Class::Media),
            Attribute::Position | Attribute::Tilt => Some(Class::Cover),
            Attribute::Speed | Attribute::Swing => Some(Class::Fan),
            Attribute::Humidity => Some(Class::Humidifier),
            Attribute::Mode
            | Attribute::Battery
            | Attribute::Power
            | Attribute::Energy
            | Attribute::Illuminance
            | Attribute::CarbonDioxide
            | Attribute::Pm25
            | Attribute::AirQuality
            | Attribute::Pressure
            | Attribute::Status
            | Attribute::Name
            | Attribute::Age
            | Attribute::Clock
            | Attribute::Date => None,
        });
        let by_mode =
            matches!(self.mode, Some(Mode::Cool | Mode::Heat | Mode::Dry)).then_some(Class::Climate);
        by_attribute.or(self.by_verb).or_else(|| self.implied_by_pred()).or(by_mode)
    }

    fn implied_by_pred(&self) -> Option<Class> {
        match self.pred {
            Pred::Brighter | Pred::Dimmer => Some(Class::Light),
            Pred::Louder
            | Pred::Quieter
            | Pred::Play
            | Pred::Pause
            | Pred::Resume
            | Pred::Next
            | Pred::Previous
            | Pred::Mute
            | Pred::Unmute => Some(Class::Media),
            Pred::Warmer | Pred::Colder => Some(Class::Climate),
            Pred::Faster | Pred::Slower => Some(Class::Fan),
            Pred::Lock | Pred::Unlock => Some(Class::Lock),
            Pred::Arm | Pred::ArmHome | Pred::ArmAway | Pred::ArmNight | Pred::ArmVacation | Pred::Disarm => {
                Some(Class::Alarm)
            }
            Pred::Dock | Pred::Clean => Some(Class::Vacuum),
            Pred::Mow => Some(Class::Mower),
            Pred::Water => Some(Class::Valve),
            Pred::Set | Pred::On | Pred::Raise | Pred::Lower if self.degrees => Some(Class::Climate),
            Pred::Set | Pred::On | Pred::Raise | Pred::Lower => match self.amount {
                Some(Amount::To(Value::Celsius(_) | Value::Fahrenheit(_))) => Some(Class::Climate),
                Some(Amount::To(Value::Kelvin(_))) => Some(Class::Light),
                Some(
                    Amount::To(_)
                    | Amount::By(_)
                    | Amount::Step { .. }
                    | Amount::Half
                    | Amount::Max
                    | Amount::Min,
                )
                | None => (self.color.is_some() || self.white.is_some()).then_some(Class::Light),
            },
            Pred::Off
            | Pred::Open
            | Pred::Close
            | Pred::OnOrOpen
            | Pred::OffOrClose
            | Pred::Toggle
            | Pred::Stop
            | Pred::Start
            | Pred::Locate
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

    /// Whether its value is a colour temperature.
    pub fn is_kelvin(&self) -> bool {
        self.white.is_some()
            || self.attribute == Some(Attribute::ColorTemperature)
            || match self.amount {
                Some(Amount::To(Value::Kelvin(_))) => true,
                Some(Amount::To(Value::Number(number))) => (1000.0..=10_000.0).contains(&number),
                Some(
                    Amount::To(
                        Value::Percent(_) | Value::Celsius(_) | Value::Fahrenheit(_) | Value::Duration(_),
                    )
                    | Amount::By(_)
                    | Amount::Step { .. }
                    | Amount::Half
                    | Amount::Max
                    | Amount::Min,
                )
                | None => false,
            }
    }

    /// Whether things of this domain take it at all.
    pub fn fits(&self, domain: Domain) -> bool {
        super::act::fits(self, domain)
    }
}

fn attribute(clause: &Clause) -> Option<Attribute> {
    let known = |wanted: Attribute| clause.attributes.contains(&wanted).then_some(wanted);
    // The more special one wins where two were said ("color temperature", "fan speed mode").
    known(Attribute::ColorTemperature)
        .or_else(|| known(Attribute::TargetTemperature))
        .or_else(|| clause.attributes.iter().find(|attribute| **attribute != Attribute::Status).copied())
}

/// The one thing that the verbs and states of a clause ask for.
fn pred(clause: &Clause) -> Option<Pred> {
    let handled = handled_activity(clause);
    let special = handled
        .iter()
        .chain(clause.preds.iter().rev())
        .find(|pred| {
            !matches!(pred, Pred::Set | Pred::Tell | Pred::Start | Pred::Play | Pred::Activate | Pred::Run)
        })
        .or_else(|| clause.preds.iter().rev().find(|pred| !matches!(pred, Pred::Set | Pred::Tell)))
        .copied();
    let up = clause.word(Word::Up);
    let down = clause.word(Word::Down);
    // "Flip it on or off", "change the state of …".
    let both = clause.states.contains(&StateWord::On) && clause.states.contains(&StateWord::Off);
    let state =
        clause.pred(Pred::Set) && clause.attributes == [Attribute::Status] && clause.states.is_empty();
    if (both || state) && !clause.has_value() {
        return Some(Pred::Toggle);
    }
    if let Some(special) = special {
        return Some(special);
    }
    if let Some(state) = clause.states.last() {
        // "The front door unlocked" may tell what somebody did: without a verb nothing is made less safe.
        if matches!(state, StateWord::Unlocked | StateWord::Disarmed)
            && clause.preds.is_empty()
            && !clause.word(Word::Polite)
        {
            return None;
        }
        return state_pred(*state);
    }
    if up || down {
        return Some(if up { Pred::Raise } else { Pred::Lower });
    }
    if clause.pred(Pred::Set) || (clause.preds.is_empty() && clause.has_value()) {
        return Some(Pred::Set);
    }
    clause.preds.last().copied()
}

/// The kind of thing that works where a verb names the work.
fn activity(clause: &Clause) -> Option<Class> {
    clause.preds.iter().find_map(|pred| match pred {
        Pred::Clean => Some(Class::Vacuum),
        Pred::Mow => Some(Class::Mower),
        Pred::Water => Some(Class::Valve),
        _ => None,
    })
}

/// "Stop cleaning", 暂停扫地: what is done to an activity, and not the activity.
fn handled_activity(clause: &Clause) -> Option<Pred> {
    let has = |test: fn(&Pred) -> bool| clause.preds.iter().any(test);
    let works = has(|pred| matches!(pred, Pred::Clean | Pred::Mow | Pred::Water));
    let moves = has(|pred| {
        matches!(
            pred,
            Pred::Open | Pred::Close | Pred::OnOrOpen | Pred::OffOrClose | Pred::Raise | Pred::Lower
        )
    });
    let found =
        clause.preds.iter().position(|pred| matches!(pred, Pred::Stop | Pred::Pause | Pred::Cancel))?;
    let first = clause.preds.get(found).copied()?;
    match clause.preds.get(found + 1) {
        _ if works => Some(first),
        Some(_) if moves => Some(Pred::Stop),
        Some(next) if *next != Pred::Set && first != Pred::Pause => Some(first),
        Some(_) | None => None,
    }
}

fn state_pred(state: StateWord) -> Option<Pred> {
    Some(match state {
        StateWord::On | StateWord::Running => Pred::On,
        StateWord::Off => Pred::Off,
        StateWord::Open | StateWord::Opening => Pred::Open,
        StateWord::Closed | StateWord::Closing => Pred::Close,
        StateWord::Locked => Pred::Lock,
        StateWord::Unlocked => Pred::Unlock,
        StateWord::Playing => Pred::Resume,
        StateWord::Paused => Pred::Pause,
        StateWord::Armed => Pred::Arm,
        StateWord::Disarmed => Pred::Disarm,
        StateWord::Cleaning => Pred::Clean,
        StateWord::Docked | StateWord::Charging => Pred::Dock,
        StateWord::Home
        | StateWord::Away
        | StateWord::Detected
        | StateWord::Clear
        | StateWord::Low
        | StateWord::Jammed
        | StateWord::Available
        | StateWord::Unavailable => return None,
    })
}
