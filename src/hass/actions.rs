//! What can be done with an entity of Home Assistant: its domain's verbs, as far as its features go.
//!
//! Feature bits are those of Home Assistant 2026.11 (`<Domain>EntityFeature`). Domains that are not here can only be
//! read.

use serde_json::Value;

use crate::home::{ActionSpec, Arg, ArgKind, ArgSpec, Domain, Verb};

/// The attributes of a state, as Home Assistant sends them.
pub struct Attributes<'a>(pub &'a serde_json::Map<String, Value>);

impl Attributes<'_> {
    fn has(&self, feature: u64) -> bool {
        self.0.get("supported_features").and_then(Value::as_u64).unwrap_or(0) & feature != 0
    }

    /// The action, where the entity has the feature for it.
    fn when(&self, feature: u64, action: ActionSpec) -> Option<ActionSpec> {
        self.has(feature).then_some(action)
    }

    /// An action with one of the words of a list attribute, where there are any.
    fn chosen(&self, verb: Verb, arg: Arg, list: &str) -> Option<ActionSpec> {
        self.choice(list).map(|choice| ActionSpec::new(verb).with(ArgSpec::required(arg, choice)))
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64).filter(|number| number.is_finite())
    }

    fn words(&self, name: &str) -> Vec<String> {
        let list = self.0.get(name).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    fn choice(&self, name: &str) -> Option<ArgKind> {
        Some(self.words(name)).filter(|words| !words.is_empty()).map(ArgKind::Choice)
    }

    fn range(&self, min: &str, max: &str, usual: (f64, f64), step: f64) -> ArgKind {
        let (min, max) = (self.number(min).unwrap_or(usual.0), self.number(max).unwrap_or(usual.1));
        if min < max {
            ArgKind::Number { min, max, step }
        } else {
            ArgKind::Number { min: usual.0, max: usual.1, step }
        }
    }
}

/// The actions of an entity. `celsius`: whether this Home Assistant works in °C; where it does not, temperatures can
/// only be read.
pub fn of(domain: Domain, attributes: &Attributes<'_>, celsius: bool) -> Vec<ActionSpec> {
    let a = attributes;
    let plain = ActionSpec::new;
    let percent = |verb, arg| plain(verb).with(ArgSpec::required(arg, ArgKind::percent()));
    let specs: Vec<Option<ActionSpec>> = match domain {
        Domain::Light => vec![Some(light(a)), Some(plain(Verb::TurnOff))],
        Domain::Switch | Domain::Siren => vec![Some(plain(Verb::TurnOn)), Some(plain(Verb::TurnOff))],
        Domain::Fan => fan(a),
        Domain::Cover => vec![
            a.when(1, plain(Verb::Open)),
            a.when(2, plain(Verb::Close)),
            a.when(4, percent(Verb::SetPosition, Arg::Position)),
            a.when(8, plain(Verb::Stop)),
            a.when(16, plain(Verb::OpenTilt)),
            a.when(32, plain(Verb::CloseTilt)),
            a.when(64, plain(Verb::StopTilt)),
            a.when(128, percent(Verb::SetTiltPosition, Arg::TiltPosition)),
        ],
        Domain::Valve => vec![
            a.when(1, plain(Verb::Open)),
            a.when(2, plain(Verb::Close)),
            a.when(4, percent(Verb::SetPosition, Arg::Position)),
            a.when(8, plain(Verb::Stop)),
        ],
        Domain::Lock => {
            vec![Some(plain(Verb::Lock)), Some(plain(Verb::Unlock)), a.when(1, plain(Verb::Open))]
        }
        Domain::AlarmControlPanel => alarm(a),
        Domain::Climate => climate(a, celsius),
        Domain::WaterHeater => vec![
            Some(heat_water(a)).filter(|_| celsius && a.has(1)),
            a.chosen(Verb::SetMode, Arg::Mode, "operation_list"),
            a.when(8, plain(Verb::TurnOn)),
            a.when(8, plain(Verb::TurnOff)),
        ],
        Domain::Humidifier => vec![
            Some(plain(Verb::TurnOn)),
            Some(plain(Verb::TurnOff)),
            Some(plain(Verb::SetHumidity).with(ArgSpec::required(
                Arg::Humidity,
                a.range("min_humidity", "max_humidity", (0.0, 100.0), 1.0),
            ))),
            a.chosen(Verb::SetMode, Arg::Mode, "available_modes"),
        ],
        Domain::MediaPlayer => media_player(a),
        Domain::Vacuum => vacuum(a),
        Domain::LawnMower => {
            vec![
                a.when(1, plain(Verb::StartMowing)),
                a.when(2, plain(Verb::Pause)),
                a.when(4, plain(Verb::Dock)),
            ]
        }
        Domain::Number => vec![Some(plain(Verb::SetValue).with(ArgSpec::required(
            Arg::Value,
            a.range("min", "max", (0.0, 100.0), a.number("step").unwrap_or(1.0)),
        )))],
        Domain::Select => vec![a.chosen(Verb::SelectOption, Arg::Option, "options")],
        Domain::Button => vec![Some(plain(Verb::Press))],
        Domain::Scene => vec![Some(plain(Verb::Activate))],
        Domain::Script => vec![Some(plain(Verb::Run))],
        Domain::BinarySensor
        | Domain::Camera
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
        | Domain::Other => Vec::new(),
    };
    specs.into_iter().flatten().collect()
}

fn fan(a: &Attributes<'_>) -> Vec<Option<ActionSpec>> {
    let plain = ActionSpec::new;
    let percent = |verb, arg| plain(verb).with(ArgSpec::required(arg, ArgKind::percent()));
    vec![
        Some(plain(Verb::TurnOn)),
        Some(plain(Verb::TurnOff)),
        a.when(1, percent(Verb::SetPercentage, Arg::Percentage)),
        a.when(2, plain(Verb::Oscillate).with(ArgSpec::required(Arg::Oscillating, ArgKind::Bool))),
        a.when(
            4,
            plain(Verb::SetDirection).with(ArgSpec::required(
                Arg::Direction,
                ArgKind::Choice(vec!["forward".into(), "reverse".into()]),
            )),
        ),
        a.chosen(Verb::SetPresetMode, Arg::PresetMode, "preset_modes"),
    ]
}

fn alarm(a: &Attributes<'_>) -> Vec<Option<ActionSpec>> {
    let plain = ActionSpec::new;
    vec![
        Some(plain(Verb::Disarm)),
        a.when(1, plain(Verb::ArmHome)),
        a.when(2, plain(Verb::ArmAway)),
        a.when(4, plain(Verb::ArmNight)),
        a.when(8, plain(Verb::Trigger)),
        a.when(16, plain(Verb::ArmCustomBypass)),
        a.when(32, plain(Verb::ArmVacation)),
    ]
}

fn media_player(a: &Attributes<'_>) -> Vec<Option<ActionSpec>> {
    let plain = ActionSpec::new;
    let percent = |verb, arg| plain(verb).with(ArgSpec::required(arg, ArgKind::percent()));
    vec![
        a.when(128, plain(Verb::TurnOn)),
        a.when(256, plain(Verb::TurnOff)),
        a.when(1, plain(Verb::Pause)),
        a.when(16384, plain(Verb::Play)),
        a.when(4096, plain(Verb::Stop)),
        a.when(16, plain(Verb::PreviousTrack)),
        a.when(32, plain(Verb::NextTrack)),
        a.when(4, percent(Verb::SetVolume, Arg::VolumePct)),
        a.when(4 | 1024, plain(Verb::VolumeUp)),
        a.when(4 | 1024, plain(Verb::VolumeDown)),
        a.when(8, plain(Verb::Mute)),
        a.when(8, plain(Verb::Unmute)),
        a.chosen(Verb::SelectSource, Arg::Source, "source_list"),
    ]
}

fn vacuum(a: &Attributes<'_>) -> Vec<Option<ActionSpec>> {
    let plain = ActionSpec::new;
    vec![
        a.when(8192, plain(Verb::Start)),
        a.when(4, plain(Verb::Pause)),
        a.when(8, plain(Verb::Stop)),
        a.when(16, plain(Verb::ReturnToBase)),
        a.when(512, plain(Verb::Locate)),
        a.when(1024, plain(Verb::CleanSpot)),
        a.chosen(Verb::SetFanSpeed, Arg::FanSpeed, "fan_speed_list"),
    ]
}

fn light(a: &Attributes<'_>) -> ActionSpec {
    let modes = a.words("supported_color_modes");
    let any = |wanted: &[&str]| modes.iter().any(|mode| wanted.contains(&mode.as_str()));
    let mut on = ActionSpec::new(Verb::TurnOn);
    if modes.iter().any(|mode| !matches!(mode.as_str(), "onoff" | "unknown")) {
        on = on.with(ArgSpec::optional(Arg::BrightnessPct, ArgKind::percent()));
    }
    if any(&["color_temp"]) {
        let kelvin = a.range("min_color_temp_kelvin", "max_color_temp_kelvin", (2000.0, 6500.0), 1.0);
        on = on.with(ArgSpec::optional(Arg::ColorTempKelvin, kelvin));
    }
    if any(&["hs", "rgb", "rgbw", "rgbww", "xy"]) {
        on = on.with(ArgSpec::optional(Arg::RgbColor, ArgKind::Rgb));
    }
    if let Some(effects) = a.choice("effect_list").filter(|_| a.has(4)) {
        on = on.with(ArgSpec::optional(Arg::Effect, effects));
    }
    if a.has(32) {
        let seconds = ArgKind::Number { min: 0.0, max: 300.0, step: 0.1 };
        on = on.with(ArgSpec::optional(Arg::Transition, seconds));
    }
    on
}

fn temperatures(a: &Attributes<'_>) -> ArgKind {
    a.range("min_temp", "max_temp", (7.0, 35.0), a.number("target_temp_step").unwrap_or(0.5))
}

fn heat_water(a: &Attributes<'_>) -> ActionSpec {
    let set =
        ActionSpec::new(Verb::SetTemperature).with(ArgSpec::required(Arg::Temperature, temperatures(a)));
    match a.choice("operation_list") {
        Some(modes) => set.with(ArgSpec::optional(Arg::Mode, modes)),
        None => set,
    }
}

fn climate(a: &Attributes<'_>, celsius: bool) -> Vec<Option<ActionSpec>> {
    let mut set = ActionSpec::new(Verb::SetTemperature);
    if a.has(1) {
        set = set.with(ArgSpec::optional(Arg::Temperature, temperatures(a)));
    }
    if a.has(2) {
        set = set.with(ArgSpec::optional(Arg::TargetTempLow, temperatures(a)));
        set = set.with(ArgSpec::optional(Arg::TargetTempHigh, temperatures(a)));
    }
    vec![
        Some(set).filter(|_| celsius && a.has(1 | 2)),
        a.chosen(Verb::SetHvacMode, Arg::HvacMode, "hvac_modes"),
        a.chosen(Verb::SetFanMode, Arg::FanMode, "fan_modes").filter(|_| a.has(8)),
        a.chosen(Verb::SetPresetMode, Arg::PresetMode, "preset_modes").filter(|_| a.has(16)),
        a.chosen(Verb::SetSwingMode, Arg::SwingMode, "swing_modes").filter(|_| a.has(32)),
        a.chosen(Verb::SetSwingHorizontalMode, Arg::SwingHorizontalMode, "swing_horizontal_modes")
            .filter(|_| a.has(512)),
        a.has(256).then(|| ActionSpec::new(Verb::TurnOn)),
        a.has(128).then(|| ActionSpec::new(Verb::TurnOff)),
        a.has(4).then(|| {
            let humidity = a.range("min_humidity", "max_humidity", (30.0, 99.0), 1.0);
            ActionSpec::new(Verb::SetHumidity).with(ArgSpec::required(Arg::Humidity, humidity))
        }),
    ]
}
