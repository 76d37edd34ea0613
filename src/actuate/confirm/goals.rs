//! The goal of every verb, by domain.

use std::time::Duration;

use super::{Goal, Toward, Want};
use crate::devices::ConfirmHint;
use crate::home::{Action, Arg, ArgKind, Domain, Entity, State, Verb, attr};

const MOVING: &[&str] = &["opening", "closing"];
const DARK: &[&str] = &["off", "standby"];
const ARMED: &[&str] =
    &["armed_home", "armed_away", "armed_night", "armed_vacation", "armed_custom_bypass", "triggered"];

pub(super) fn goal(action: &Action, entity: &Entity, before: &State, hint: ConfirmHint) -> Goal {
    let wish = Wish { action, entity, before, hint };
    let mut goal = match action.entity.domain() {
        Domain::Light => wish.light(),
        Domain::Cover | Domain::Valve => wish.cover(),
        Domain::Climate | Domain::WaterHeater => wish.climate(),
        Domain::Lock => wish.lock(),
        Domain::AlarmControlPanel => wish.alarm(),
        Domain::MediaPlayer => wish.media(),
        Domain::Vacuum | Domain::LawnMower => wish.robot(),
        Domain::Fan | Domain::Humidifier => wish.air(),
        Domain::Switch | Domain::Siren | Domain::Camera | Domain::Timer => wish.switch(),
        Domain::Number | Domain::Select | Domain::Text | Domain::Date | Domain::DateTime | Domain::Time => {
            wish.value()
        }
        Domain::BinarySensor
        | Domain::Button
        | Domain::DeviceTracker
        | Domain::Event
        | Domain::Image
        | Domain::Notify
        | Domain::Person
        | Domain::Scene
        | Domain::Script
        | Domain::Sensor
        | Domain::Tag
        | Domain::Todo
        | Domain::Update
        | Domain::Weather
        | Domain::Other => pulse(),
    };
    if let Some(within) = hint.within {
        goal.within = within;
    }
    if let Some(transition) = wish.number(Arg::Transition) {
        goal.within += Duration::from_secs_f64(transition.clamp(0.0, 300.0));
    }
    goal
}

/// An effect that no report shows; sending it twice is not the same as once.
fn pulse() -> Goal {
    Goal { can_be_already: false, absolute: false, ..until(3, Vec::new()) }
}

/// A state to be reached within so many seconds.
fn until(seconds: u64, wants: Vec<Want>) -> Goal {
    Goal {
        wants,
        passing: &[],
        opposite: &[],
        failed: &[],
        toward: None,
        within: Duration::from_secs(seconds),
        settle: None,
        can_be_already: true,
        absolute: true,
    }
}

/// The goal that stands beside `verb`; a verb that is not there has none that can be seen.
fn pick<const N: usize>(verb: Verb, goals: [(Verb, Goal); N]) -> Goal {
    goals.into_iter().find(|(listed, _)| *listed == verb).map_or_else(pulse, |(_, goal)| goal)
}

struct Wish<'a> {
    action: &'a Action,
    entity: &'a Entity,
    before: &'a State,
    hint: ConfirmHint,
}

impl Wish<'_> {
    fn number(&self, arg: Arg) -> Option<f64> {
        self.action.args.get(&arg)?.as_number()
    }

    fn numbers(&self, arg: Arg) -> Option<&[f64]> {
        self.action.args.get(&arg)?.as_numbers()
    }

    /// An argument as a text condition on an attribute.
    fn text(&self, arg: Arg, attribute: &'static str) -> Vec<Want> {
        let text = self.action.args.get(&arg).and_then(|text| text.as_text());
        text.map(|text| Want::Text { attribute, text: text.to_owned() }).into_iter().collect()
    }

    /// An argument as a number condition on an attribute, in the argument's own unit times `scale`.
    fn near(&self, arg: Arg, attribute: &'static str, scale: f64, tolerance: f64) -> Vec<Want> {
        let tolerance = self.hint.tolerance.unwrap_or(tolerance).max(self.half_step(arg));
        self.number(arg)
            .map(|target| Want::Near { attribute, target: target * scale, tolerance: tolerance * scale })
            .into_iter()
            .collect()
    }

    /// Half of what the device can resolve: a device rounds.
    fn half_step(&self, arg: Arg) -> f64 {
        let spec = self.entity.action(self.action.verb).and_then(|spec| spec.arg(arg));
        match spec.map(|spec| &spec.kind) {
            Some(ArgKind::Number { step, .. }) => step / 2.0,
            Some(
                ArgKind::Choice(_)
                | ArgKind::Text { .. }
                | ArgKind::Bool
                | ArgKind::Rgb
                | ArgKind::Numbers { .. },
            )
            | None => 0.0,
        }
    }

    fn on_off(&self, seconds: u64, more: Vec<Want>) -> Goal {
        if self.action.verb == Verb::TurnOff {
            return Goal { opposite: &["on"], ..until(seconds, vec![Want::Value(&["off"])]) };
        }
        let mut wants = vec![Want::Value(&["on"])];
        wants.extend(more);
        Goal { opposite: &["off"], ..until(seconds, wants) }
    }

    fn light(&self) -> Goal {
        if self.number(Arg::BrightnessPct).is_some_and(|percent| percent <= 0.0) {
            return Goal { opposite: &["on"], ..until(3, vec![Want::Value(&["off"])]) };
        }
        let mut more = self.near(Arg::BrightnessPct, attr::BRIGHTNESS, 2.55, 2.0);
        // Lamps count in mired: a step is worth more kelvin where the light is cold.
        let kelvin = self.number(Arg::ColorTempKelvin).unwrap_or(0.0);
        more.extend(self.near(Arg::ColorTempKelvin, attr::COLOR_TEMP_KELVIN, 1.0, kelvin * 0.03));
        more.extend(self.text(Arg::Effect, attr::EFFECT));
        if let Some(crate::home::ArgValue::Rgb(rgb)) = self.action.args.get(&Arg::RgbColor) {
            more.push(Want::Rgb(*rgb));
        }
        if let Some(&[hue, saturation]) = self.numbers(Arg::HsColor) {
            more.push(Want::Rgb(super::color::rgb_of_hue(hue, saturation)));
        }
        if let Some(white) = self.number(Arg::White) {
            let level = self.number(Arg::BrightnessPct).map_or(white, |percent| percent * 2.55);
            more.push(Want::Near { attribute: attr::BRIGHTNESS, target: level, tolerance: 5.1 });
            more.push(Want::Text { attribute: attr::COLOR_MODE, text: "white".to_owned() });
        }
        if let Some(&[x, y]) = self.numbers(Arg::XyColor) {
            more.push(Want::Xy(x, y));
        }
        for (arg, attribute) in [(Arg::RgbwColor, attr::RGBW_COLOR), (Arg::RgbwwColor, attr::RGBWW_COLOR)] {
            more.extend(self.numbers(arg).map(|target| Want::Parts { attribute, target: target.to_vec() }));
        }
        // A lamp that shines already is still to flash, and not twice.
        let lasting = !self.action.args.contains_key(&Arg::Flash);
        Goal { can_be_already: lasting, absolute: lasting, ..self.on_off(3, more) }
    }

    fn switch(&self) -> Goal {
        let domain = self.action.entity.domain();
        let verb = self.action.verb;
        if domain == Domain::Camera && verb == Verb::TurnOn {
            return Goal { opposite: &["off"], ..until(10, vec![Want::NotValue(&["off"])]) };
        }
        if domain == Domain::Timer {
            let reach = |words| until(5, vec![Want::Value(words)]);
            return pick(
                verb,
                [
                    (Verb::Start, reach(&["active"])),
                    (Verb::Pause, reach(&["paused"])),
                    (Verb::Stop, reach(&["idle"])),
                ],
            );
        }
        if matches!(verb, Verb::TurnOn | Verb::TurnOff) { self.on_off(3, Vec::new()) } else { pulse() }
    }

    /// Fans and humidifiers.
    fn air(&self) -> Goal {
        let mut more = self.near(Arg::Percentage, attr::PERCENTAGE, 1.0, 2.0);
        more.extend(self.text(Arg::PresetMode, attr::PRESET_MODE));
        more.extend(self.text(Arg::Mode, attr::MODE));
        more.extend(self.text(Arg::Direction, attr::DIRECTION));
        more.extend(self.near(Arg::Humidity, attr::HUMIDITY, 1.0, 1.0));
        if let Some(crate::home::ArgValue::Bool(is)) = self.action.args.get(&Arg::Oscillating) {
            more.push(Want::Flag { attribute: attr::OSCILLATING, is: *is });
        }
        let stops = self.number(Arg::Percentage).is_some_and(|percent| percent <= 0.0);
        if stops {
            return Goal { opposite: &["on"], ..until(5, vec![Want::Value(&["off"])]) };
        }
        if matches!(self.action.verb, Verb::TurnOn | Verb::TurnOff) {
            return self.on_off(5, more);
        }
        if more.is_empty() { pulse() } else { until(5, more) }
    }

    fn cover(&self) -> Goal {
        let verb = self.action.verb;
        let tilts = matches!(verb, Verb::OpenTilt | Verb::CloseTilt | Verb::SetTiltPosition | Verb::StopTilt);
        let attribute = if tilts { attr::CURRENT_TILT_POSITION } else { attr::CURRENT_POSITION };
        let target = if matches!(verb, Verb::Open | Verb::OpenTilt) {
            Some(100.0)
        } else if matches!(verb, Verb::Close | Verb::CloseTilt) {
            Some(0.0)
        } else {
            self.number(if tilts { Arg::TiltPosition } else { Arg::Position })
        };
        let Some(target) = target else {
            // Stopping is always sent: who says stop has seen something.
            let goal = until(10, vec![Want::NotValue(MOVING)]);
            return Goal { can_be_already: false, passing: MOVING, ..goal };
        };
        let tolerance = self.hint.tolerance.unwrap_or(3.0);
        let mut goal = until(90, Vec::new());
        goal.passing = MOVING;
        goal.absolute = false;
        if tilts || verb == Verb::SetPosition {
            goal.wants.push(Want::Near { attribute, target, tolerance });
            if self.before.value.is_some() {
                goal.wants.push(Want::NotValue(MOVING));
            }
        } else {
            let (word, opposite): (&[&str], &[&str]) =
                if target > 0.0 { (&["open"], &["closed"]) } else { (&["closed"], &["open"]) };
            goal.wants.push(Want::Value(word));
            goal.wants.push(Want::NearIfReported { attribute, target, tolerance: tolerance.max(5.0) });
            goal.opposite = opposite;
        }
        if let Some(from) = self.before.attribute_number(attribute) {
            goal.toward = Some(Toward { attribute, from, up: target > from });
        }
        goal
    }

    fn climate(&self) -> Goal {
        let mut wants = Vec::new();
        for (arg, attribute) in [
            (Arg::Temperature, attr::TEMPERATURE),
            (Arg::TargetTempLow, attr::TARGET_TEMP_LOW),
            (Arg::TargetTempHigh, attr::TARGET_TEMP_HIGH),
        ] {
            wants.extend(self.near(arg, attribute, 1.0, 0.25));
        }
        wants.extend(self.near(Arg::Humidity, attr::HUMIDITY, 1.0, 1.0));
        wants.extend(self.text(Arg::FanMode, attr::FAN_MODE));
        wants.extend(self.text(Arg::SwingMode, attr::SWING_MODE));
        wants.extend(self.text(Arg::SwingHorizontalMode, attr::SWING_HORIZONTAL_MODE));
        wants.extend(self.text(Arg::PresetMode, attr::PRESET_MODE));
        for arg in [Arg::HvacMode, Arg::Mode] {
            let mode = self.action.args.get(&arg).and_then(|mode| mode.as_text());
            wants.extend(mode.map(|mode| Want::ValueText(mode.to_owned())));
        }
        if self.action.verb == Verb::TurnOn {
            wants.push(Want::NotValue(&["off"]));
        } else if self.action.verb == Verb::TurnOff {
            wants.push(Want::Value(&["off"]));
        }
        if wants.is_empty() { pulse() } else { until(10, wants) }
    }

    fn lock(&self) -> Goal {
        let bolt = |word: &'static [&'static str], opposite: &'static [&'static str]| Goal {
            passing: &["locking", "unlocking", "opening"],
            opposite,
            failed: &["jammed"],
            settle: Some(Duration::from_secs(10)),
            // A bolt is a motor.
            absolute: false,
            ..until(15, vec![Want::Value(word)])
        };
        pick(
            self.action.verb,
            [
                (Verb::Lock, bolt(&["locked"], &["unlocked", "open"])),
                (Verb::Unlock, bolt(&["unlocked", "open"], &["locked"])),
                (Verb::Open, bolt(&["open"], &["locked"])),
            ],
        )
    }

    fn alarm(&self) -> Goal {
        // A minute of exit delay, and ten seconds.
        let arm = |word| Goal {
            passing: &["arming", "pending"],
            opposite: &["disarmed", "triggered"],
            settle: Some(Duration::from_secs(3)),
            ..until(70, vec![Want::Value(word)])
        };
        let disarm = Goal {
            passing: &["disarming"],
            opposite: ARMED,
            settle: Some(Duration::from_secs(5)),
            ..until(15, vec![Want::Value(&["disarmed"])])
        };
        pick(
            self.action.verb,
            [
                (Verb::ArmHome, arm(&["armed_home"])),
                (Verb::ArmAway, arm(&["armed_away"])),
                (Verb::ArmNight, arm(&["armed_night"])),
                (Verb::ArmVacation, arm(&["armed_vacation"])),
                (Verb::ArmCustomBypass, arm(&["armed_custom_bypass"])),
                (Verb::Disarm, disarm),
                (
                    Verb::Trigger,
                    Goal { passing: &["pending"], ..until(15, vec![Want::Value(&["triggered"])]) },
                ),
            ],
        )
    }

    fn media(&self) -> Goal {
        let volume = self.before.attribute_number(attr::VOLUME_LEVEL);
        let level = attr::VOLUME_LEVEL;
        let once = |goal: Goal| Goal { can_be_already: false, absolute: false, ..goal };
        let step = |want: Option<Want>| once(until(5, want.into_iter().collect()));
        let mute = |is| until(5, vec![Want::Flag { attribute: attr::IS_VOLUME_MUTED, is }]);
        let playing = || Goal { passing: &["buffering"], ..until(10, vec![Want::Value(&["playing"])]) };
        let on = Goal { opposite: DARK, ..until(10, vec![Want::NotValue(DARK)]) };
        pick(
            self.action.verb,
            [
                (Verb::TurnOn, on),
                (Verb::TurnOff, until(10, vec![Want::Value(DARK)])),
                (Verb::Play, playing()),
                (Verb::PlayMedia, once(playing())),
                (Verb::Pause, until(10, vec![Want::Value(&["paused"])])),
                (Verb::Stop, until(10, vec![Want::Value(&["idle", "stopped", "off", "standby"])])),
                (Verb::SetVolume, until(5, self.near(Arg::VolumePct, level, 0.01, 2.0))),
                (Verb::Mute, mute(true)),
                (Verb::Unmute, mute(false)),
                (Verb::SelectSource, until(10, self.text(Arg::Source, attr::SOURCE))),
                (Verb::VolumeUp, step(volume.map(|than| Want::More { attribute: level, than }))),
                (Verb::VolumeDown, step(volume.map(|than| Want::Less { attribute: level, than }))),
            ],
        )
    }

    fn robot(&self) -> Goal {
        let reach = |words: &'static [&'static str]| until(15, vec![Want::Value(words)]);
        let goal = pick(
            self.action.verb,
            [
                (Verb::Start, reach(&["cleaning"])),
                (Verb::CleanSpot, reach(&["cleaning"])),
                (Verb::StartMowing, reach(&["mowing"])),
                (Verb::Pause, reach(&["paused", "idle", "docked"])),
                (Verb::Stop, reach(&["idle", "paused", "docked"])),
                (Verb::ReturnToBase, reach(&["returning", "docked"])),
                (Verb::Dock, reach(&["returning", "docked"])),
                (Verb::SetFanSpeed, until(10, self.text(Arg::FanSpeed, attr::FAN_SPEED))),
            ],
        );
        Goal { absolute: false, ..goal }
    }

    fn value(&self) -> Goal {
        let text = |arg| self.action.args.get(&arg).and_then(|text| text.as_text());
        if let Some(target) = self.number(Arg::Value) {
            let tolerance = self.hint.tolerance.unwrap_or(0.0).max(self.half_step(Arg::Value));
            return until(5, vec![Want::ValueNumber { target, tolerance }]);
        }
        match text(Arg::Option).or_else(|| text(Arg::Value)) {
            // A device may tell a time with another offset, or without one that the codec then gives it.
            Some(text) if self.action.entity.domain() == Domain::DateTime => {
                until(5, vec![Want::Moment(text.to_owned())])
            }
            Some(text) => until(5, vec![Want::ValueText(text.to_owned())]),
            None => pulse(),
        }
    }
}
