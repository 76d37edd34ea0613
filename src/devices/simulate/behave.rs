//! What a device of each kind does when it is asked: the states it goes through, and when.

use std::time::Duration;

use serde_json::{Value, json};

use super::Setup;
use super::world::Device;
use crate::home::{Arg, ArgValue, Args, Attr, Domain, Verb, attr};

/// How long a device takes to answer.
pub(super) const ANSWER: Duration = Duration::from_millis(80);

/// A state that a device reaches some time after it was asked. What is left out stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Step {
    pub after: Duration,
    pub value: Option<String>,
    pub attributes: Vec<(Attr, Value)>,
    /// Reported only: the device does not become so.
    pub only_said: bool,
}

impl Step {
    fn at(after: Duration) -> Self {
        Self { after, ..Self::default() }
    }

    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(value.into());
        self
    }

    fn with(mut self, name: &'static str, value: Value) -> Self {
        self.attributes.push((name.into(), value));
        self
    }
}

/// The value with which a device of this kind begins.
pub(super) fn first_value(domain: Domain) -> Option<&'static str> {
    match domain {
        Domain::AlarmControlPanel => Some("disarmed"),
        Domain::BinarySensor
        | Domain::Climate
        | Domain::Fan
        | Domain::Humidifier
        | Domain::Light
        | Domain::MediaPlayer
        | Domain::Siren
        | Domain::Switch
        | Domain::WaterHeater => Some("off"),
        Domain::Camera => Some("on"),
        Domain::Cover | Domain::Valve => Some("closed"),
        Domain::Lock => Some("locked"),
        Domain::Vacuum | Domain::LawnMower => Some("docked"),
        Domain::DeviceTracker | Domain::Person => Some("home"),
        Domain::Button
        | Domain::Date
        | Domain::DateTime
        | Domain::Event
        | Domain::Image
        | Domain::Notify
        | Domain::Number
        | Domain::Scene
        | Domain::Script
        | Domain::Select
        | Domain::Sensor
        | Domain::Tag
        | Domain::Text
        | Domain::Time
        | Domain::Timer
        | Domain::Todo
        | Domain::Update
        | Domain::Weather
        | Domain::Other => None,
    }
}

/// The state of a device as it is, to be reported again or to come back to.
pub(super) fn as_it_is(device: &Device, after: Duration) -> Step {
    Step {
        after,
        value: device.value.clone(),
        attributes: device.attributes.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        only_said: false,
    }
}

/// The states of `device` after it is asked, when it is well. `open_zones` are the names of contacts that keep an
/// alarm panel from arming.
pub(super) fn healthy(device: &Device, verb: Verb, args: &Args, open_zones: &[String]) -> Vec<Step> {
    match verb {
        Verb::Open | Verb::Close | Verb::SetPosition => travel(device, verb, args),
        Verb::Stop if matches!(device.domain, Domain::Cover | Domain::Valve) => {
            let open = device
                .number(attr::CURRENT_POSITION)
                .map_or(device.value.as_deref() != Some("closed"), |position| position > 0.0);
            vec![Step::at(ANSWER).value(if open { "open" } else { "closed" })]
        }
        Verb::Lock => through(device, "locking", "locked", 1500),
        Verb::Unlock => through(device, "unlocking", "unlocked", 1500),
        Verb::ReturnToBase | Verb::Dock => through(device, "returning", "docked", 3000),
        Verb::ArmHome => arm(device, "armed_home", open_zones),
        Verb::ArmAway => arm(device, "armed_away", open_zones),
        Verb::ArmNight => arm(device, "armed_night", open_zones),
        Verb::ArmVacation => arm(device, "armed_vacation", open_zones),
        Verb::ArmCustomBypass => arm(device, "armed_custom_bypass", &[]),
        Verb::TurnOn
        | Verb::TurnOff
        | Verb::Stop
        | Verb::OpenTilt
        | Verb::CloseTilt
        | Verb::StopTilt
        | Verb::SetTiltPosition
        | Verb::SetTemperature
        | Verb::SetHvacMode
        | Verb::SetFanMode
        | Verb::SetSwingMode
        | Verb::SetSwingHorizontalMode
        | Verb::SetPresetMode
        | Verb::SetHumidity
        | Verb::SetMode
        | Verb::SetPercentage
        | Verb::Oscillate
        | Verb::SetDirection
        | Verb::Disarm
        | Verb::Trigger
        | Verb::Play
        | Verb::Pause
        | Verb::NextTrack
        | Verb::PreviousTrack
        | Verb::SetVolume
        | Verb::VolumeUp
        | Verb::VolumeDown
        | Verb::Mute
        | Verb::Unmute
        | Verb::SelectSource
        | Verb::PlayMedia
        | Verb::Start
        | Verb::CleanSpot
        | Verb::Locate
        | Verb::SetFanSpeed
        | Verb::SendCommand
        | Verb::StartMowing
        | Verb::SetValue
        | Verb::SelectOption
        | Verb::Press
        | Verb::Activate
        | Verb::Run
        | Verb::SendMessage
        | Verb::Install
        | Verb::AddItem
        | Verb::CompleteItem
        | Verb::RemoveItem => at_once(device, verb, args),
    }
}

/// What is done in one step.
fn at_once(device: &Device, verb: Verb, args: &Args) -> Vec<Step> {
    if SAYS_NOTHING.contains(&verb) {
        return Vec::new();
    }
    let mut step = Step::at(ANSWER);
    step.value = value_after(device, verb).map(str::to_owned);
    step.attributes = attributes_after(device, verb);
    for (arg, given) in args {
        match effect(device, *arg, given) {
            Effect::Value(value) => step.value = Some(value),
            Effect::Attribute(name, value) => step = step.with(name, value),
            Effect::None => {}
        }
    }
    // A lamp that is switched on shines as brightly as it last did.
    let dimmable = device.takes(Verb::TurnOn, Arg::BrightnessPct);
    if device.domain == Domain::Light && verb == Verb::TurnOn && dimmable {
        let told = step.attributes.iter().any(|(name, _)| name == attr::BRIGHTNESS);
        if !told {
            let last = device.attributes.get(attr::BRIGHTNESS).cloned().unwrap_or(json!(255));
            step = step.with(attr::BRIGHTNESS, last);
        }
    }
    if device.domain == Domain::Light {
        step = shine(step);
    }
    if device.domain == Domain::Fan {
        step = spin(device, step);
    }
    if device.domain == Domain::Climate {
        step = heat(device, step);
    }
    if step.value.is_none() {
        step.value.clone_from(&device.value);
    }
    vec![step]
}

/// What leaves no state behind.
const SAYS_NOTHING: &[Verb] = &[Verb::Press, Verb::Activate, Verb::SendMessage, Verb::Run];

/// The values that verbs lead to at once, whatever their arguments.
const VALUES: &[(Verb, &str)] = &[
    (Verb::TurnOn, "on"),
    (Verb::TurnOff, "off"),
    (Verb::Disarm, "disarmed"),
    (Verb::Trigger, "triggered"),
    (Verb::Play, "playing"),
    (Verb::PlayMedia, "playing"),
    (Verb::Pause, "paused"),
    (Verb::Stop, "idle"),
    (Verb::Start, "cleaning"),
    (Verb::CleanSpot, "cleaning"),
    (Verb::StartMowing, "mowing"),
];

/// What switched on means where it is not `on`.
const ON_VALUES: &[(Domain, &str)] =
    &[(Domain::MediaPlayer, "idle"), (Domain::Climate, "auto"), (Domain::WaterHeater, "eco")];

fn value_after(device: &Device, verb: Verb) -> Option<&'static str> {
    if verb == Verb::TurnOn
        && let Some((_, on)) = ON_VALUES.iter().find(|(domain, _)| *domain == device.domain)
    {
        return Some(on);
    }
    if verb == Verb::SetPercentage && device.domain == Domain::Fan {
        return Some("on");
    }
    VALUES.iter().find(|(known, _)| *known == verb).map(|(_, value)| *value)
}

fn attributes_after(device: &Device, verb: Verb) -> Vec<(Attr, Value)> {
    let known = [
        (Verb::Mute, attr::IS_VOLUME_MUTED, json!(true)),
        (Verb::Unmute, attr::IS_VOLUME_MUTED, json!(false)),
        (Verb::VolumeUp, attr::VOLUME_LEVEL, json!(device.volume(0.05))),
        (Verb::VolumeDown, attr::VOLUME_LEVEL, json!(device.volume(-0.05))),
        (Verb::OpenTilt, attr::CURRENT_TILT_POSITION, json!(100)),
        (Verb::CloseTilt, attr::CURRENT_TILT_POSITION, json!(0)),
    ];
    let here = known.into_iter().filter(|(known, _, _)| *known == verb);
    here.map(|(_, name, value)| (name.into(), value)).collect()
}

enum Effect {
    Value(String),
    Attribute(&'static str, Value),
    None,
}

/// What an argument sets.
fn effect(device: &Device, arg: Arg, given: &ArgValue) -> Effect {
    let as_value = match given {
        ArgValue::Bool(flag) => json!(flag),
        ArgValue::Number(number) => crate::devices::profile::json_number(*number),
        ArgValue::Rgb(rgb) => json!(rgb),
        ArgValue::Numbers(numbers) => json!(numbers),
        ArgValue::Text(text) => json!(text),
    };
    let plain = || as_value.as_str().map_or_else(|| as_value.to_string(), str::to_owned);
    let number = given.as_number().unwrap_or_default();
    match arg {
        Arg::BrightnessPct => Effect::Attribute(attr::BRIGHTNESS, json!((number * 2.55).round() as i64)),
        Arg::VolumePct => Effect::Attribute(attr::VOLUME_LEVEL, json!(number.round() / 100.0)),
        Arg::ColorTempKelvin => Effect::Attribute(attr::COLOR_TEMP_KELVIN, as_value),
        Arg::RgbColor => Effect::Attribute(attr::RGB_COLOR, as_value),
        Arg::RgbwColor => Effect::Attribute(attr::RGBW_COLOR, as_value),
        Arg::RgbwwColor => Effect::Attribute(attr::RGBWW_COLOR, as_value),
        Arg::HsColor => Effect::Attribute(attr::HS_COLOR, as_value),
        Arg::XyColor => Effect::Attribute(attr::XY_COLOR, as_value),
        Arg::White => Effect::Attribute(attr::BRIGHTNESS, as_value),
        Arg::Effect => Effect::Attribute(attr::EFFECT, as_value),
        Arg::Position => Effect::Attribute(attr::CURRENT_POSITION, as_value),
        Arg::TiltPosition => Effect::Attribute(attr::CURRENT_TILT_POSITION, as_value),
        Arg::Temperature => Effect::Attribute(attr::TEMPERATURE, as_value),
        Arg::TargetTempLow => Effect::Attribute(attr::TARGET_TEMP_LOW, as_value),
        Arg::TargetTempHigh => Effect::Attribute(attr::TARGET_TEMP_HIGH, as_value),
        Arg::FanMode => Effect::Attribute(attr::FAN_MODE, as_value),
        Arg::SwingMode => Effect::Attribute(attr::SWING_MODE, as_value),
        Arg::SwingHorizontalMode => Effect::Attribute(attr::SWING_HORIZONTAL_MODE, as_value),
        Arg::PresetMode => Effect::Attribute(attr::PRESET_MODE, as_value),
        Arg::Humidity => Effect::Attribute(attr::HUMIDITY, as_value),
        Arg::Percentage => Effect::Attribute(attr::PERCENTAGE, as_value),
        Arg::Oscillating => Effect::Attribute(attr::OSCILLATING, as_value),
        Arg::Direction => Effect::Attribute(attr::DIRECTION, as_value),
        Arg::Source => Effect::Attribute(attr::SOURCE, as_value),
        Arg::Media => Effect::Attribute(attr::MEDIA_TITLE, as_value),
        Arg::FanSpeed => Effect::Attribute(attr::FAN_SPEED, as_value),
        Arg::Mode if device.domain != Domain::WaterHeater => Effect::Attribute(attr::MODE, as_value),
        Arg::HvacMode | Arg::Mode | Arg::Value | Arg::Option => Effect::Value(plain()),
        Arg::Flash
        | Arg::Transition
        | Arg::Tone
        | Arg::Duration
        | Arg::Code
        | Arg::Item
        | Arg::Message
        | Arg::Command
        | Arg::Params => Effect::None,
    }
}

/// A lamp says in which of its modes it shines: its last colour and its last white are both still known.
fn shine(step: Step) -> Step {
    let given = |name: &str| step.attributes.iter().any(|(known, _)| known == name);
    let mode = match (given(attr::RGB_COLOR), given(attr::COLOR_TEMP_KELVIN)) {
        (true, _) => "xy",
        (false, true) => "color_temp",
        (false, false) => return step,
    };
    step.with(attr::COLOR_MODE, json!(mode))
}

/// A fan that is off has no speed, and one that has no speed is off.
fn spin(device: &Device, mut step: Step) -> Step {
    if !device.takes(Verb::SetPercentage, Arg::Percentage) {
        return step;
    }
    let told = step.attributes.iter().find(|(name, _)| name == attr::PERCENTAGE);
    match (step.value.as_deref(), told.and_then(|(_, speed)| speed.as_f64())) {
        (Some("off"), _) => step.with(attr::PERCENTAGE, json!(0)),
        (_, Some(0.0)) => step.value("off"),
        (Some("on"), None) => {
            let last = device.number(attr::PERCENTAGE).filter(|speed| *speed > 0.0).unwrap_or(67.0);
            step.attributes.push((attr::PERCENTAGE.into(), json!(last as i64)));
            step
        }
        (Some(_) | None, _) => step,
    }
}

/// What a thermostat is doing with the settings that it now has.
fn heat(device: &Device, step: Step) -> Step {
    let given = |name: &str| {
        step.attributes.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.as_f64())
    };
    let target = given(attr::TEMPERATURE).or(device.number(attr::TEMPERATURE));
    let current = device.number(attr::CURRENT_TEMPERATURE);
    let mode = step.value.as_deref().or(device.value.as_deref());
    let action = match (mode, target, current) {
        (Some("heat" | "auto" | "heat_cool"), Some(target), Some(current)) if current < target => "heating",
        (Some("cool" | "auto" | "heat_cool"), Some(target), Some(current)) if current > target => "cooling",
        (Some("dry"), _, _) => "drying",
        (Some("fan_only"), _, _) => "fan",
        (Some(_), _, _) | (None, _, _) => "idle",
    };
    step.with(attr::HVAC_ACTION, json!(action))
}

/// One transitional state, then the end.
fn through(device: &Device, via: &str, end: &str, usual_ms: u64) -> Vec<Step> {
    vec![Step::at(ANSWER).value(via), Step::at(ANSWER + takes(&device.setup, usual_ms)).value(end)]
}

fn takes(setup: &Setup, usual_ms: u64) -> Duration {
    setup.takes.unwrap_or(Duration::from_millis(usual_ms))
}

/// A panel arms after its exit delay, or refuses and names the open zones.
fn arm(device: &Device, armed: &str, open_zones: &[String]) -> Vec<Step> {
    if !open_zones.is_empty() {
        return vec![as_it_is(device, ANSWER).with(attr::OPEN_ZONES, json!(open_zones))];
    }
    let mut steps = through(device, "arming", armed, 1000);
    for step in &mut steps {
        step.attributes.push((attr::OPEN_ZONES.into(), json!([])));
    }
    steps
}

/// A cover or valve moves to where it is asked to be, and says where it is on the way.
fn travel(device: &Device, verb: Verb, args: &Args) -> Vec<Step> {
    let asked = args.get(&Arg::Position).and_then(ArgValue::as_number);
    let target = asked.unwrap_or(if verb == Verb::Close { 0.0 } else { 100.0 });
    let closed = device.value.as_deref() == Some("closed");
    let from = device.number(attr::CURRENT_POSITION).unwrap_or(if closed { 0.0 } else { 100.0 });
    let end = if target > 0.0 { "open" } else { "closed" };
    let position = |part: f64| json!((from + (target - from) * part).round() as i64);
    if (from - target).abs() < 0.5 {
        return vec![Step::at(ANSWER).value(end).with(attr::CURRENT_POSITION, position(1.0))];
    }
    let moving = if target > from { "opening" } else { "closing" };
    let whole = takes(&device.setup, 3000);
    let mut steps: Vec<Step> = [0.0, 0.25, 0.5, 0.75]
        .iter()
        .map(|part| {
            Step::at(ANSWER + whole.mul_f64(*part))
                .value(moving)
                .with(attr::CURRENT_POSITION, position(*part))
        })
        .collect();
    steps.push(Step::at(ANSWER + whole).value(end).with(attr::CURRENT_POSITION, position(1.0)));
    steps
}
