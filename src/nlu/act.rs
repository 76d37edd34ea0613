//! From a frame and one entity to checked actions, as that entity's own specification allows.

mod climates;
mod covers;
mod fits;
mod lights;
mod players;
mod simple;

use serde_json::{Map, Value as Json, json};

use crate::home::{Action, ActionSpec, Arg, ArgError, ArgKind, Domain, Entity, State, Verb};

use super::amount::{Amount, Size};
use super::frame::Frame;
use super::number::Value;

pub use fits::fits;

/// Why an entity cannot do it.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// It has no such verb or setting.
    Unsupported,
    Range {
        value: f64,
        min: f64,
        max: f64,
        unit: &'static str,
    },
    /// A relative change of something that is not known.
    UnknownState,
    /// Not one of its modes.
    NoMode {
        options: Vec<String>,
    },
}

/// The actions that do what `frame` says to one entity.
///
/// # Errors
/// The entity has no such verb or setting, or not that far.
pub fn plan(frame: &Frame, entity: &Entity, state: Option<&State>) -> Result<Vec<Action>, Fault> {
    let plan = Plan { frame, entity, state };
    if !fits(frame, entity.domain()) {
        return Err(Fault::Unsupported);
    }
    match entity.domain() {
        Domain::Light => plan.light(),
        Domain::Fan => plan.fan(),
        Domain::Cover | Domain::Valve => plan.cover(),
        Domain::Climate | Domain::WaterHeater | Domain::Humidifier => plan.climate(),
        Domain::MediaPlayer => plan.media(),
        Domain::Number => match frame.amount {
            Some(Amount::To(value)) => plan.number(Verb::SetValue, Arg::Value, plain(value)),
            Some(Amount::By(_) | Amount::Step { .. } | Amount::Half | Amount::Max | Amount::Min) | None => {
                Err(Fault::Unsupported)
            }
        },
        Domain::Lock => plan.lock(),
        Domain::AlarmControlPanel => plan.alarm(),
        Domain::Vacuum | Domain::LawnMower => plan.robot(),
        Domain::Scene => plan.verb(&[Verb::Activate]),
        Domain::Script => plan.verb(&[Verb::Run]),
        Domain::Button => plan.verb(&[Verb::Press]),
        Domain::Switch | Domain::Siren | Domain::Camera => plan.switch(),
        Domain::Select
        | Domain::BinarySensor
        | Domain::Date
        | Domain::DateTime
        | Domain::DeviceTracker
        | Domain::Event
        | Domain::Image
        | Domain::Notify
        | Domain::Person
        | Domain::Sensor
        | Domain::Tag
        | Domain::Text
        | Domain::Time
        | Domain::Timer
        | Domain::Todo
        | Domain::Update
        | Domain::Weather
        | Domain::Other => Err(Fault::Unsupported),
    }
}

struct Plan<'a> {
    frame: &'a Frame,
    entity: &'a Entity,
    state: Option<&'a State>,
}

type Planned = Result<Vec<Action>, Fault>;

impl Plan<'_> {
    /// One verb without arguments: the first of these that the entity has.
    fn verb(&self, verbs: &[Verb]) -> Planned {
        verbs
            .iter()
            .find(|verb| self.entity.action(**verb).is_some())
            .map(|verb| vec![Action::new(self.entity.id.clone(), *verb)])
            .ok_or(Fault::Unsupported)
    }

    fn spec(&self, verb: Verb) -> Result<&ActionSpec, Fault> {
        self.entity.action(verb).ok_or(Fault::Unsupported)
    }

    /// A verb with checked arguments.
    fn with(&self, verb: Verb, args: &[(Arg, Json)]) -> Planned {
        let spec = self.spec(verb)?;
        let raw: Map<String, Json> =
            args.iter().map(|(arg, value)| (arg.word().to_owned(), value.clone())).collect();
        match spec.check(&raw) {
            Ok(args) => Ok(vec![Action { entity: self.entity.id.clone(), verb, args }]),
            Err(ArgError::Range { arg, got, min, max }) => {
                Err(Fault::Range { value: got, min, max, unit: arg.unit() })
            }
            Err(ArgError::Wrong { arg, .. }) => match spec.arg(arg).map(|spec| &spec.kind) {
                Some(ArgKind::Choice(options)) => Err(Fault::NoMode { options: options.clone() }),
                Some(
                    ArgKind::Number { .. }
                    | ArgKind::Text { .. }
                    | ArgKind::Bool
                    | ArgKind::Rgb
                    | ArgKind::Numbers { .. },
                )
                | None => Err(Fault::Unsupported),
            },
            Err(ArgError::Unknown { .. } | ArgError::Missing { .. }) => Err(Fault::Unsupported),
        }
    }

    fn number(&self, verb: Verb, arg: Arg, value: f64) -> Planned {
        self.with(verb, &[(arg, json!(value))])
    }

    fn range(&self, verb: Verb, arg: Arg) -> Result<(f64, f64), Fault> {
        match self.spec(verb)?.arg(arg).map(|spec| &spec.kind) {
            Some(ArgKind::Number { min, max, .. }) => Ok((*min, *max)),
            Some(
                ArgKind::Choice(_)
                | ArgKind::Text { .. }
                | ArgKind::Bool
                | ArgKind::Rgb
                | ArgKind::Numbers { .. },
            )
            | None => Err(Fault::Unsupported),
        }
    }

    fn is(&self, value: &str) -> bool {
        self.state.and_then(State::text) == Some(value)
    }

    fn attribute(&self, name: &str) -> Option<f64> {
        self.state?.attribute_number(name)
    }

    /// The new value of a number that is now `current`: a change stays inside the range, a wish must be in it.
    fn target(
        &self,
        amount: Amount,
        current: Option<f64>,
        range: (f64, f64),
        step: f64,
    ) -> Result<f64, Fault> {
        let (min, max) = range;
        let moved = |by: f64| current.map(|now| (now + by).clamp(min, max)).ok_or(Fault::UnknownState);
        match amount {
            Amount::To(value) => Ok(plain(value)),
            Amount::By(by) => moved(by),
            Amount::Step { up, size } => {
                let step = match size {
                    Size::Little => step / 2.0,
                    Size::Usual => step,
                    Size::Lot => step * 2.0,
                };
                moved(if up { step } else { -step })
            }
            Amount::Half => match current {
                // Of what is off there is no half.
                Some(now) if now > 0.0 => Ok((now / 2.0).clamp(min, max)),
                Some(_) => Err(Fault::Unsupported),
                None => Err(Fault::UnknownState),
            },
            Amount::Max => Ok(max),
            Amount::Min => Ok(min),
        }
    }

    /// There is no toggle: the known state says which way.
    fn toggled(&self, on: Verb, off: Verb) -> Planned {
        match self.state.and_then(State::text) {
            Some("off" | "closed" | "closing" | "idle" | "paused" | "standby") => self.verb(&[on]),
            Some("on" | "open" | "opening" | "playing") => self.verb(&[off]),
            Some(_) | None => Err(Fault::UnknownState),
        }
    }
}

/// The number of a value, whatever its unit.
fn plain(value: Value) -> f64 {
    match value {
        Value::Number(number)
        | Value::Percent(number)
        | Value::Celsius(number)
        | Value::Fahrenheit(number)
        | Value::Kelvin(number) => number,
        Value::Duration(seconds) => seconds as f64,
    }
}
