//! From a frame and one entity to checked actions, as that entity's own specification allows.

use serde_json::{Map, Value as Json, json};

use crate::home::{Action, ActionSpec, Arg, ArgError, ArgKind, Domain, Entity, State, Verb, attr};

use super::frame::{Amount, Frame, Size};
use super::lexicon::COLORS;
use super::number::Value;
use super::vocabulary::{Attribute, Mode, Pred};

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

/// Whether things of a domain take a frame at all; used to choose among things of the same name.
pub fn fits(frame: &Frame, domain: Domain) -> bool {
    let sets = frame.sets();
    match domain {
        Domain::Light => {
            matches!(
                frame.pred,
                Pred::On
                    | Pred::Off
                    | Pred::OnOrOpen
                    | Pred::OffOrClose
                    | Pred::Toggle
                    | Pred::Brighter
                    | Pred::Dimmer
                    | Pred::Start
                    | Pred::Activate
            ) || (matches!(frame.pred, Pred::Set | Pred::Raise | Pred::Lower | Pred::Open | Pred::Close)
                && light_attribute(frame)
                && (sets || matches!(frame.pred, Pred::Open | Pred::Close)))
        }
        Domain::Switch | Domain::Siren | Domain::Camera => matches!(
            frame.pred,
            Pred::On
                | Pred::Off
                | Pred::OnOrOpen
                | Pred::OffOrClose
                | Pred::Toggle
                | Pred::Start
                | Pred::Stop
                | Pred::Activate
                | Pred::Run
        ),
        Domain::Fan => {
            matches!(
                frame.pred,
                Pred::On
                    | Pred::Off
                    | Pred::OnOrOpen
                    | Pred::OffOrClose
                    | Pred::Toggle
                    | Pred::Start
                    | Pred::Stop
                    | Pred::Activate
                    | Pred::Faster
                    | Pred::Slower
                    | Pred::Open
                    | Pred::Close
            ) || (matches!(frame.pred, Pred::Set | Pred::Raise | Pred::Lower) && sets)
        }
        Domain::Cover | Domain::Valve => {
            matches!(
                frame.pred,
                Pred::Open
                    | Pred::Close
                    | Pred::OnOrOpen
                    | Pred::OffOrClose
                    | Pred::Stop
                    | Pred::On
                    | Pred::Off
                    | Pred::Toggle
                    | Pred::Raise
                    | Pred::Lower
            ) || (frame.pred == Pred::Set && sets)
                || (domain == Domain::Valve && matches!(frame.pred, Pred::Water | Pred::Start))
        }
        Domain::Lock => matches!(
            frame.pred,
            Pred::Lock | Pred::Unlock | Pred::Open | Pred::Close | Pred::OnOrOpen | Pred::OffOrClose
        ),
        Domain::AlarmControlPanel => {
            matches!(
                frame.pred,
                Pred::Arm
                    | Pred::ArmHome
                    | Pred::ArmAway
                    | Pred::ArmNight
                    | Pred::ArmVacation
                    | Pred::Disarm
                    | Pred::On
                    | Pred::Off
                    | Pred::OnOrOpen
                    | Pred::OffOrClose
                    | Pred::Activate
            ) || (frame.pred == Pred::Set
                && matches!(frame.mode, Some(Mode::Home | Mode::Away | Mode::Sleep)))
        }
        Domain::Climate | Domain::WaterHeater | Domain::Humidifier => {
            matches!(
                frame.pred,
                Pred::On
                    | Pred::Off
                    | Pred::OnOrOpen
                    | Pred::OffOrClose
                    | Pred::Warmer
                    | Pred::Colder
                    | Pred::Start
                    | Pred::Stop
                    | Pred::Toggle
                    | Pred::Activate
                    | Pred::Open
                    | Pred::Close
            ) || (matches!(frame.pred, Pred::Set | Pred::Raise | Pred::Lower) && sets)
        }
        Domain::MediaPlayer => {
            matches!(
                frame.pred,
                Pred::On
                    | Pred::Off
                    | Pred::OnOrOpen
                    | Pred::OffOrClose
                    | Pred::Toggle
                    | Pred::Play
                    | Pred::Pause
                    | Pred::Resume
                    | Pred::Stop
                    | Pred::Next
                    | Pred::Previous
                    | Pred::Mute
                    | Pred::Unmute
                    | Pred::Louder
                    | Pred::Quieter
                    | Pred::Start
            ) || (matches!(frame.pred, Pred::Set | Pred::Raise | Pred::Lower) && sets)
        }
        Domain::Vacuum => matches!(
            frame.pred,
            Pred::Start
                | Pred::On
                | Pred::OnOrOpen
                | Pred::Clean
                | Pred::Run
                | Pred::Resume
                | Pred::Stop
                | Pred::Pause
                | Pred::Off
                | Pred::OffOrClose
                | Pred::Dock
                | Pred::Locate
                | Pred::Activate
        ),
        Domain::LawnMower => matches!(
            frame.pred,
            Pred::Start
                | Pred::On
                | Pred::OnOrOpen
                | Pred::Mow
                | Pred::Run
                | Pred::Resume
                | Pred::Stop
                | Pred::Pause
                | Pred::Off
                | Pred::OffOrClose
                | Pred::Dock
                | Pred::Activate
        ),
        Domain::Scene => {
            matches!(
                frame.pred,
                Pred::On | Pred::OnOrOpen | Pred::Activate | Pred::Start | Pred::Set | Pred::Run
            )
        }
        Domain::Script => {
            matches!(frame.pred, Pred::On | Pred::OnOrOpen | Pred::Activate | Pred::Start | Pred::Run)
        }
        Domain::Button => matches!(frame.pred, Pred::Press | Pred::Activate | Pred::Run),
        Domain::Number | Domain::Select => frame.pred == Pred::Set && sets,
        Domain::BinarySensor
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
        | Domain::Other => false,
    }
}

fn light_attribute(frame: &Frame) -> bool {
    matches!(
        frame.attribute,
        None | Some(
            Attribute::Brightness
                | Attribute::Color
                | Attribute::ColorTemperature
                | Attribute::Temperature
                | Attribute::Illuminance
                | Attribute::Mode
        )
    ) && !matches!(frame.amount, Some(Amount::To(Value::Celsius(_) | Value::Fahrenheit(_))))
        && (frame.attribute != Some(Attribute::Temperature) || frame.is_kelvin())
}

/// The actions that do what `frame` says to one entity.
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
            Some(Amount::By(_) | Amount::Step { .. } | Amount::Max | Amount::Min) | None => {
                Err(Fault::Unsupported)
            }
        },
        Domain::Lock
        | Domain::AlarmControlPanel
        | Domain::Vacuum
        | Domain::LawnMower
        | Domain::Scene
        | Domain::Script
        | Domain::Button
        | Domain::Switch
        | Domain::Siren
        | Domain::Camera
        | Domain::Select
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
        | Domain::Other => plan.simple(),
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
                Some(ArgKind::Number { .. } | ArgKind::Text { .. } | ArgKind::Bool | ArgKind::Rgb) | None => {
                    Err(Fault::Unsupported)
                }
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
            Some(ArgKind::Choice(_) | ArgKind::Text { .. } | ArgKind::Bool | ArgKind::Rgb) | None => {
                Err(Fault::Unsupported)
            }
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
            Amount::Max => Ok(max),
            Amount::Min => Ok(min),
        }
    }

    fn light(&self) -> Planned {
        let frame = self.frame;
        match frame.pred {
            Pred::Off | Pred::OffOrClose | Pred::Close => return self.verb(&[Verb::TurnOff]),
            Pred::Toggle => return self.toggled(Verb::TurnOn, Verb::TurnOff),
            _ => {}
        }
        let mut args: Vec<(Arg, Json)> = Vec::new();
        if frame.is_kelvin() {
            args.push((Arg::ColorTempKelvin, json!(self.kelvin()?)));
        }
        let dimmed = match frame.amount {
            Some(Amount::To(Value::Percent(_)) | Amount::Max | Amount::Min) => true,
            Some(Amount::To(_) | Amount::By(_) | Amount::Step { .. }) => !frame.is_kelvin(),
            None => false,
        };
        if let Some(amount) = frame.amount.filter(|_| dimmed) {
            let now = self.attribute(attr::BRIGHTNESS).map(|raw| (raw / 2.55).round());
            let now = if self.is("off") { Some(0.0) } else { now.or(self.is("on").then_some(100.0)) };
            // The lowest brightness that is still on.
            let range = self.range(Verb::TurnOn, Arg::BrightnessPct)?;
            let least = range.0.max(1.0);
            let mut level = self.target(amount, now, (least, range.1), 20.0)?;
            if matches!(amount, Amount::Step { .. } | Amount::By(_)) {
                level = level.round();
            }
            if level <= 0.0 {
                return self.verb(&[Verb::TurnOff]);
            }
            args.push((Arg::BrightnessPct, json!(level)));
        }
        if let Some((_, rgb)) = frame.color.and_then(|color| COLORS.get(color)) {
            args.push((Arg::RgbColor, json!(rgb)));
        }
        if args.is_empty() && matches!(frame.pred, Pred::Set) {
            return Err(Fault::Unsupported);
        }
        self.with(Verb::TurnOn, &args)
    }

    fn kelvin(&self) -> Result<f64, Fault> {
        if let Some(white) = self.frame.white {
            let (min, max) = self.range(Verb::TurnOn, Arg::ColorTempKelvin)?;
            return Ok(f64::from(white).clamp(min, max));
        }
        let amount = self.frame.amount.ok_or(Fault::Unsupported)?;
        let range = self.range(Verb::TurnOn, Arg::ColorTempKelvin)?;
        self.target(amount, self.attribute(attr::COLOR_TEMP_KELVIN), range, 500.0)
    }

    /// There is no toggle: the known state says which way.
    fn toggled(&self, on: Verb, off: Verb) -> Planned {
        match self.state.and_then(State::text) {
            Some("off" | "closed" | "closing" | "idle" | "paused" | "standby") => self.verb(&[on]),
            Some("on" | "open" | "opening" | "playing") => self.verb(&[off]),
            Some(_) | None => Err(Fault::UnknownState),
        }
    }

    fn fan(&self) -> Planned {
        let frame = self.frame;
        match frame.pred {
            Pred::Off | Pred::OffOrClose | Pred::Stop | Pred::Close => return self.verb(&[Verb::TurnOff]),
            Pred::Toggle => return self.toggled(Verb::TurnOn, Verb::TurnOff),
            _ => {}
        }
        if let Some(mode) = frame.mode {
            return self.fan_mode(mode);
        }
        let Some(amount) = frame.amount else { return self.verb(&[Verb::TurnOn]) };
        let now = self.attribute(attr::PERCENTAGE);
        let now = if self.is("off") { Some(0.0) } else { now };
        let range = self.range(Verb::SetPercentage, Arg::Percentage)?;
        let target = self.target(amount, now, range, 20.0)?.round();
        if target <= 0.0 {
            return self.verb(&[Verb::TurnOff]);
        }
        self.number(Verb::SetPercentage, Arg::Percentage, target)
    }

    fn fan_mode(&self, mode: Mode) -> Planned {
        if mode == Mode::Swing {
            return self.with(Verb::Oscillate, &[(Arg::Oscillating, json!(true))]);
        }
        let preset = self.with(Verb::SetPresetMode, &[(Arg::PresetMode, json!(mode.word()))]);
        let percent = match mode {
            Mode::Low | Mode::Quiet => 33.0,
            Mode::Medium => 66.0,
            Mode::High | Mode::Boost => 100.0,
            Mode::Cool
            | Mode::Heat
            | Mode::Auto
            | Mode::Dry
            | Mode::FanOnly
            | Mode::Eco
            | Mode::Sleep
            | Mode::Comfort
            | Mode::Away
            | Mode::Home
            | Mode::Swing => return preset,
        };
        preset.or_else(|_| self.number(Verb::SetPercentage, Arg::Percentage, percent))
    }

    fn cover(&self) -> Planned {
        let frame = self.frame;
        if let Some(amount @ (Amount::To(_) | Amount::By(_) | Amount::Max | Amount::Min)) = frame.amount {
            let tilt = frame.attribute == Some(Attribute::Tilt);
            let (verb, arg, name) = if tilt {
                (Verb::SetTiltPosition, Arg::TiltPosition, attr::CURRENT_TILT_POSITION)
            } else {
                (Verb::SetPosition, Arg::Position, attr::CURRENT_POSITION)
            };
            let range = match self.range(verb, arg) {
                Ok(range) => range,
                // What cannot stand half way can still be opened and closed fully.
                Err(fault) => {
                    return match amount {
                        Amount::To(value) if plain(value) == 100.0 => self.verb(&[Verb::Open]),
                        Amount::To(value) if plain(value) == 0.0 => self.verb(&[Verb::Close]),
                        Amount::Max => self.verb(&[Verb::Open]),
                        Amount::Min => self.verb(&[Verb::Close]),
                        Amount::To(_) | Amount::By(_) | Amount::Step { .. } => Err(fault),
                    };
                }
            };
            let target = self.target(amount, self.attribute(name), range, 20.0)?;
            return self.number(verb, arg, target);
        }
        match frame.pred {
            Pred::Open | Pred::OnOrOpen | Pred::On | Pred::Raise | Pred::Water | Pred::Start => {
                self.verb(&[Verb::Open])
            }
            Pred::Close | Pred::OffOrClose | Pred::Off | Pred::Lower => self.verb(&[Verb::Close]),
            Pred::Stop if self.entity.domain() == Domain::Valve => self.verb(&[Verb::Stop, Verb::Close]),
            Pred::Stop => self.verb(&[Verb::Stop]),
            Pred::Toggle => self.toggled(Verb::Open, Verb::Close),
            _ => Err(Fault::Unsupported),
        }
    }

    fn climate(&self) -> Planned {
        let frame = self.frame;
        match frame.pred {
            Pred::Off | Pred::OffOrClose | Pred::Stop | Pred::Close => {
                return self
                    .verb(&[Verb::TurnOff])
                    .or_else(|_| self.with(Verb::SetHvacMode, &[(Arg::HvacMode, json!("off"))]));
            }
            Pred::Toggle => return self.toggled(Verb::TurnOn, Verb::TurnOff),
            _ => {}
        }
        if let Some(amount) = frame.amount {
            if self.entity.domain() == Domain::Humidifier || frame.attribute == Some(Attribute::Humidity) {
                let range = self.range(Verb::SetHumidity, Arg::Humidity)?;
                let target = self.target(amount, self.attribute(attr::HUMIDITY), range, 5.0)?;
                return self.number(Verb::SetHumidity, Arg::Humidity, target);
            }
            return self.temperature(amount);
        }
        if let Some(mode) = frame.mode {
            return self.climate_mode(mode);
        }
        self.verb(&[Verb::TurnOn]).or_else(|fault| {
            // Without a verb for it, on is the mode that it has.
            let spec = self.spec(Verb::SetHvacMode)?;
            match spec.arg(Arg::HvacMode).map(|spec| &spec.kind) {
                Some(ArgKind::Choice(options)) => options
                    .iter()
                    .find(|option| matches!(option.as_str(), "auto" | "heat_cool"))
                    .or_else(|| options.iter().find(|option| option.as_str() != "off"))
                    .map_or(Err(fault), |mode| self.with(Verb::SetHvacMode, &[(Arg::HvacMode, json!(mode))])),
                Some(ArgKind::Number { .. } | ArgKind::Text { .. } | ArgKind::Bool | ArgKind::Rgb) | None => {
                    Err(fault)
                }
            }
        })
    }

    fn temperature(&self, amount: Amount) -> Planned {
        let range = self.range(Verb::SetTemperature, Arg::Temperature)?;
        if let Amount::To(Value::Percent(_)) = amount {
            return Err(Fault::Unsupported);
        }
        let now = self.attribute(attr::TEMPERATURE);
        let mut target = self.target(amount, now, range, 1.0)?;
        if let Amount::To(Value::Fahrenheit(value)) = amount {
            target = ((value - 32.0) / 1.8 * 10.0).round() / 10.0;
        }
        if let Amount::Step { up, .. } = amount {
            // Half a degree is nothing that a person feels; steps are whole.
            target = now.map_or(target, |now| (now + if up { 1.0 } else { -1.0 }).clamp(range.0, range.1));
        }
        self.number(Verb::SetTemperature, Arg::Temperature, target)
    }

    fn climate_mode(&self, mode: Mode) -> Planned {
        let word = json!(mode.word());
        let hvac = self.with(Verb::SetHvacMode, &[(Arg::HvacMode, word.clone())]);
        if hvac.is_ok() {
            return hvac;
        }
        [
            (Verb::SetPresetMode, Arg::PresetMode),
            (Verb::SetFanMode, Arg::FanMode),
            (Verb::SetSwingMode, Arg::SwingMode),
            (Verb::SetMode, Arg::Mode),
        ]
        .into_iter()
        .find_map(|(verb, arg)| self.with(verb, &[(arg, word.clone())]).ok())
        .map_or(hvac, Ok)
    }

    fn media(&self) -> Planned {
        let frame = self.frame;
        let volume =
            matches!(frame.pred, Pred::Louder | Pred::Quieter | Pred::Raise | Pred::Lower | Pred::Set);
        if frame.sets() && !volume {
            return Err(Fault::Unsupported);
        }
        match frame.pred {
            Pred::On | Pred::OnOrOpen => self.verb(&[Verb::TurnOn, Verb::Play]),
            Pred::Off | Pred::OffOrClose | Pred::Close => {
                self.verb(&[Verb::TurnOff, Verb::Stop, Verb::Pause])
            }
            Pred::Toggle => self.toggled(Verb::TurnOn, Verb::TurnOff),
            Pred::Play | Pred::Resume | Pred::Start => self.verb(&[Verb::Play, Verb::TurnOn]),
            Pred::Pause => self.verb(&[Verb::Pause]),
            Pred::Stop => self.verb(&[Verb::Stop, Verb::Pause]),
            Pred::Next => self.verb(&[Verb::NextTrack]),
            Pred::Previous => self.verb(&[Verb::PreviousTrack]),
            Pred::Mute => self.verb(&[Verb::Mute]),
            Pred::Unmute => self.verb(&[Verb::Unmute]),
            Pred::Louder | Pred::Quieter | Pred::Raise | Pred::Lower | Pred::Set => self.volume(),
            _ => Err(Fault::Unsupported),
        }
    }

    fn volume(&self) -> Planned {
        let amount = self.frame.amount.ok_or(Fault::Unsupported)?;
        if let Amount::Step { up, .. } = amount
            && self.entity.action(Verb::VolumeUp).is_some()
        {
            return self.verb(&[if up { Verb::VolumeUp } else { Verb::VolumeDown }]);
        }
        let now = self.attribute(attr::VOLUME_LEVEL).map(|level| (level * 100.0).round());
        let range = self.range(Verb::SetVolume, Arg::VolumePct)?;
        let target = self.target(amount, now, range, 10.0)?;
        self.number(Verb::SetVolume, Arg::VolumePct, target)
    }

    /// Things whose predicates are verbs without arguments.
    fn simple(&self) -> Planned {
        let home = self.frame.mode;
        let alarm = self.entity.domain() == Domain::AlarmControlPanel;
        if self.frame.amount.is_some() || self.frame.color.is_some() || (home.is_some() && !alarm) {
            return Err(Fault::Unsupported);
        }
        match (self.entity.domain(), self.frame.pred) {
            (Domain::Lock, Pred::Lock | Pred::Close | Pred::OffOrClose) => self.verb(&[Verb::Lock]),
            (Domain::Lock, Pred::Unlock | Pred::Open | Pred::OnOrOpen) => self.verb(&[Verb::Unlock]),
            (Domain::AlarmControlPanel, Pred::Disarm | Pred::Off | Pred::OffOrClose) => {
                self.verb(&[Verb::Disarm])
            }
            (Domain::AlarmControlPanel, Pred::ArmHome) => self.verb(&[Verb::ArmHome]),
            (Domain::AlarmControlPanel, Pred::ArmNight) => self.verb(&[Verb::ArmNight]),
            (Domain::AlarmControlPanel, Pred::ArmVacation) => self.verb(&[Verb::ArmVacation]),
            (Domain::AlarmControlPanel, _) => match home {
                Some(Mode::Home) => self.verb(&[Verb::ArmHome]),
                Some(Mode::Sleep) => self.verb(&[Verb::ArmNight, Verb::ArmHome]),
                Some(_) | None => self.verb(&[Verb::ArmAway, Verb::ArmHome]),
            },
            (Domain::Vacuum, Pred::Dock) => self.verb(&[Verb::ReturnToBase]),
            (Domain::Vacuum, Pred::Off | Pred::OffOrClose) => self.verb(&[Verb::ReturnToBase, Verb::Stop]),
            (Domain::Vacuum, Pred::Stop) => self.verb(&[Verb::Stop, Verb::ReturnToBase, Verb::Pause]),
            (Domain::Vacuum | Domain::LawnMower, Pred::Pause) => self.verb(&[Verb::Pause]),
            (Domain::Vacuum, Pred::Locate) => self.verb(&[Verb::Locate]),
            (Domain::Vacuum, _) => self.verb(&[Verb::Start]),
            (Domain::LawnMower, Pred::Dock | Pred::Stop | Pred::Off | Pred::OffOrClose) => {
                self.verb(&[Verb::Dock])
            }
            (Domain::LawnMower, _) => self.verb(&[Verb::StartMowing]),
            (Domain::Scene, _) => self.verb(&[Verb::Activate]),
            (Domain::Script, _) => self.verb(&[Verb::Run]),
            (Domain::Button, _) => self.verb(&[Verb::Press]),
            (_, Pred::Off | Pred::OffOrClose | Pred::Stop | Pred::Close) => self.verb(&[Verb::TurnOff]),
            (_, Pred::Toggle) => self.toggled(Verb::TurnOn, Verb::TurnOff),
            (_, Pred::Set | Pred::Raise | Pred::Lower) => Err(Fault::Unsupported),
            (_, _) => self.verb(&[Verb::TurnOn]),
        }
    }
}

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
