//! Thermostats and air conditioners.

use serde_json::Value;

use super::entity_codec::{
    Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad, number,
};
use super::fields::{Command, Fields, Refusal};
use super::thermometer::{Thermometer, degrees};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb, attr};

const ACTIONS: &[&str] = &["cooling", "defrosting", "drying", "fan", "heating", "idle", "off", "preheating"];
/// How many degrees Celsius an optimistic thermostat starts at.
const INITIAL: f64 = 21.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Mode,
    Temperature,
    Low,
    High,
    FanMode,
    SwingMode,
    SwingHorizontal,
    Preset,
    Action,
    CurrentTemperature,
    CurrentHumidity,
    TargetHumidity,
}

struct Climate {
    thermometer: Thermometer,
    mode: Option<Command>,
    modes: Vec<String>,
    power: Option<Command>,
    payload_on: String,
    payload_off: String,
    temperature: Option<Command>,
    low: Option<Command>,
    high: Option<Command>,
    humidity: Option<Command>,
    fan: Option<Command>,
    fan_modes: Vec<String>,
    swing: Option<Command>,
    swing_modes: Vec<String>,
    swing_horizontal: Option<Command>,
    swing_horizontal_modes: Vec<String>,
    preset: Option<Command>,
    presets: Vec<String>,
    reads: Vec<Field>,
    optimistic: bool,
}

/// A read whose template falls back to `value_template`.
pub(super) fn read(
    fields: Fields<'_>,
    topic: &str,
    template: &str,
    field: Field,
) -> Result<Option<Read<Field>>, Refusal> {
    let key = if fields.has(template) { template } else { "value_template" };
    Read::of(fields, topic, key, field, Undefined::Raw)
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let state = |name: &str, field| {
        read(fields, &format!("{name}_state_topic"), &format!("{name}_state_template"), field)
    };
    let reads = vec![
        state("mode", Field::Mode)?,
        state("temperature", Field::Temperature)?,
        state("temperature_low", Field::Low)?,
        state("temperature_high", Field::High)?,
        state("fan_mode", Field::FanMode)?,
        state("swing_mode", Field::SwingMode)?,
        state("swing_horizontal_mode", Field::SwingHorizontal)?,
        read(fields, "preset_mode_state_topic", "preset_mode_value_template", Field::Preset)?,
        read(fields, "action_topic", "action_template", Field::Action)?,
        read(fields, "current_temperature_topic", "current_temperature_template", Field::CurrentTemperature)?,
        read(fields, "current_humidity_topic", "current_humidity_template", Field::CurrentHumidity)?,
        state("target_humidity", Field::TargetHumidity)?,
    ];
    let kinds: Vec<Field> = reads.iter().flatten().map(|read| read.field).collect();
    let of =
        |name: &str| fields.command(&format!("{name}_command_topic"), &format!("{name}_command_template"));
    let list = |key: &str, default: &[&str]| -> Result<Vec<String>, Refusal> {
        Ok(fields.list(key)?.unwrap_or_else(|| words(default)))
    };
    fields.together("preset_mode_command_topic", "preset_modes")?;
    let presets = list("preset_modes", &[])?;
    if presets.iter().any(|preset| preset == "none") {
        return Err(Refusal::Wrong {
            key: "preset_modes".into(),
            value: "none".into(),
            expected: "names of presets; none is always there".into(),
        });
    }
    let thermometer = Thermometer::read(fields)?;
    let reports = kinds.contains(&Field::Mode);
    let component = Climate {
        thermometer,
        mode: of("mode")?,
        modes: list("modes", &["auto", "off", "cool", "heat", "dry", "fan_only"])?,
        power: of("power")?,
        payload_on: fields.text_or("payload_on", "ON")?,
        payload_off: fields.text_or("payload_off", "OFF")?,
        temperature: of("temperature")?,
        low: of("temperature_low")?,
        high: of("temperature_high")?,
        humidity: of("target_humidity")?,
        fan: of("fan_mode")?,
        fan_modes: list("fan_modes", &["auto", "low", "medium", "high"])?,
        swing: of("swing_mode")?,
        swing_modes: list("swing_modes", &["on", "off"])?,
        swing_horizontal: of("swing_horizontal_mode")?,
        swing_horizontal_modes: list("swing_horizontal_modes", &["on", "off"])?,
        preset: of("preset_mode")?,
        presets,
        optimistic: fields.flag("optimistic", false)?,
        reads: kinds,
    };
    let (min, max, step) = thermometer.range(fields, 7.0, 35.0)?;
    let humidity = humidity_range(fields)?;
    let actions = component.actions(min, max, step, humidity);
    let initial = component.initial(fields)?;
    Ok(Built {
        codec: EntityCodec::shared(common, reads, component),
        actions,
        reports_state: reports,
        initial,
    })
}

/// The range of the target humidity.
fn humidity_range(fields: Fields<'_>) -> Result<(f64, f64), Refusal> {
    let (min, max) = (fields.number_or("min_humidity", 30.0)?, fields.number_or("max_humidity", 99.0)?);
    if min < 0.0 || min >= max || max > 100.0 {
        return Err(Refusal::Wrong {
            key: "min_humidity".into(),
            value: format!("{min} to {max}"),
            expected: "a range within 0 to 100".into(),
        });
    }
    if fields.has("target_humidity_state_topic") && !fields.has("target_humidity_command_topic") {
        return Err(Refusal::Missing("target_humidity_command_topic".into()));
    }
    Ok((min, max))
}

impl Climate {
    /// What Home Assistant shows of a thermostat that has not reported yet.
    fn initial(&self, fields: Fields<'_>) -> Result<Update, Refusal> {
        let mut initial = Update::default();
        if !self.presets.is_empty() {
            initial.attributes.push((attr::PRESET_MODE.into(), Some("none".into())));
        }
        let start = self
            .thermometer
            .shown(fields.number("initial")?.map_or(INITIAL, |value| self.thermometer.celsius(value)));
        let range = self.low.is_some() || self.high.is_some();
        let mut assume = |field: Field, has: bool, name: &'static str, value: Value| {
            if has && self.assumes(field) {
                initial.attributes.push((name.into(), Some(value)));
            }
        };
        assume(Field::Temperature, self.temperature.is_some(), attr::TEMPERATURE, start.into());
        assume(Field::Low, range, attr::TARGET_TEMP_LOW, start.into());
        assume(Field::High, range, attr::TARGET_TEMP_HIGH, start.into());
        assume(Field::FanMode, self.fan.is_some(), attr::FAN_MODE, "low".into());
        assume(Field::SwingMode, self.swing.is_some(), attr::SWING_MODE, "off".into());
        let horizontal = self.swing_horizontal.is_some();
        assume(Field::SwingHorizontal, horizontal, attr::SWING_HORIZONTAL_MODE, "off".into());
        if self.assumes(Field::Mode) {
            initial.value = Some(Some("off".into()));
        }
        Ok(initial)
    }

    /// Whether a field is taken to be as it was asked for: nobody reports it, or the device is said not to.
    fn assumes(&self, field: Field) -> bool {
        self.optimistic || !self.reads.contains(&field)
    }

    /// The mode that an action asks for.
    fn asked_mode<'a>(&'a self, action: &'a Action) -> Option<&'a str> {
        match action.verb {
            // Switched by the power topic: which mode it then has, the device knows.
            Verb::TurnOn if self.power.is_some() => None,
            Verb::TurnOff if self.power.is_some() => Some("off").filter(|_| self.optimistic),
            Verb::TurnOn => self.on_mode(),
            Verb::TurnOff => Some("off"),
            _ => action.args.get(&Arg::HvacMode).and_then(ArgValue::as_text),
        }
    }

    fn actions(&self, min: f64, max: f64, step: f64, humidity: (f64, f64)) -> Vec<ActionSpec> {
        let degrees =
            |arg, required: bool| ArgSpec { name: arg, required, kind: ArgKind::Number { min, max, step } };
        let choice = |arg, list: &[String]| ArgSpec::required(arg, ArgKind::Choice(list.to_vec()));
        let mut actions = Vec::new();
        let off = self.modes.iter().any(|mode| mode == "off");
        let on = self.modes.iter().any(|mode| mode != "off");
        if self.power.is_some() || (self.mode.is_some() && off && on) {
            actions.push(ActionSpec::new(Verb::TurnOn));
            actions.push(ActionSpec::new(Verb::TurnOff));
        }
        if self.mode.is_some() {
            actions.push(ActionSpec::new(Verb::SetHvacMode).with(choice(Arg::HvacMode, &self.modes)));
        }
        let range = self.low.is_some() && self.high.is_some();
        if self.temperature.is_some() || range {
            let mut spec = ActionSpec::new(Verb::SetTemperature);
            if self.temperature.is_some() {
                spec = spec.with(degrees(Arg::Temperature, !range));
            }
            if range {
                spec = spec.with(degrees(Arg::TargetTempLow, self.temperature.is_none()));
                spec = spec.with(degrees(Arg::TargetTempHigh, self.temperature.is_none()));
            }
            if self.mode.is_some() {
                spec = spec.with(ArgSpec::optional(Arg::HvacMode, ArgKind::Choice(self.modes.clone())));
            }
            actions.push(spec);
        }
        if self.fan.is_some() {
            actions.push(ActionSpec::new(Verb::SetFanMode).with(choice(Arg::FanMode, &self.fan_modes)));
        }
        if self.swing.is_some() {
            actions.push(ActionSpec::new(Verb::SetSwingMode).with(choice(Arg::SwingMode, &self.swing_modes)));
        }
        if self.swing_horizontal.is_some() {
            let modes = choice(Arg::SwingHorizontalMode, &self.swing_horizontal_modes);
            actions.push(ActionSpec::new(Verb::SetSwingHorizontalMode).with(modes));
        }
        if self.preset.is_some() && !self.presets.is_empty() {
            let mut presets = words(&["none"]);
            presets.extend(self.presets.iter().cloned());
            actions.push(ActionSpec::new(Verb::SetPresetMode).with(choice(Arg::PresetMode, &presets)));
        }
        if self.humidity.is_some() {
            let kind = ArgKind::Number { min: humidity.0, max: humidity.1, step: 1.0 };
            actions.push(ActionSpec::new(Verb::SetHumidity).with(ArgSpec::required(Arg::Humidity, kind)));
        }
        actions
    }

    /// The mode for "on": the first that heats and cools, heats or cools; else any that is not off.
    fn on_mode(&self) -> Option<&str> {
        ["heat_cool", "heat", "cool"]
            .into_iter()
            .find(|mode| self.modes.iter().any(|known| known == mode))
            .or_else(|| self.modes.iter().map(String::as_str).find(|mode| *mode != "off"))
    }

    fn send_mode(&self, mode: &str, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        match &self.mode {
            Some(command) => out.send(command, mode, &[]),
            None => Err(EncodeError::Unsupported("climate.set_hvac_mode".into())),
        }
    }
}

/// One of `allowed`, or `None`; nothing is ignored.
fn word(
    attribute: &'static str,
    text: &str,
    allowed: &[String],
    view: &mut View<'_, '_>,
) -> Result<(), Fault> {
    match text {
        "" => {}
        "None" => view.clear(attribute),
        _ if allowed.iter().any(|word| word == text) => view.put(attribute, text),
        _ => return Err(bad(attribute, text, allowed.join(", "))),
    }
    Ok(())
}

impl Component for Climate {
    type Field = Field;

    fn apply(&self, field: Field, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        match field {
            Field::Mode => match text {
                "" => {}
                "None" => view.set_unknown(),
                _ if self.modes.iter().any(|mode| mode == text) => view.set(text.to_owned()),
                _ => return Err(bad("hvac_mode", text, self.modes.join(", "))),
            },
            Field::Temperature => degrees(attr::TEMPERATURE, text, self.thermometer, view)?,
            Field::Low => degrees(attr::TARGET_TEMP_LOW, text, self.thermometer, view)?,
            Field::High => degrees(attr::TARGET_TEMP_HIGH, text, self.thermometer, view)?,
            Field::CurrentTemperature => degrees(attr::CURRENT_TEMPERATURE, text, self.thermometer, view)?,
            Field::CurrentHumidity => whole(attr::CURRENT_HUMIDITY, text, view)?,
            Field::TargetHumidity => whole(attr::HUMIDITY, text, view)?,
            Field::FanMode => word(attr::FAN_MODE, text, &self.fan_modes, view)?,
            Field::SwingMode => word(attr::SWING_MODE, text, &self.swing_modes, view)?,
            Field::SwingHorizontal => {
                word(attr::SWING_HORIZONTAL_MODE, text, &self.swing_horizontal_modes, view)?
            }
            Field::Preset => match text {
                "" => {}
                "None" | "none" => view.put(attr::PRESET_MODE, "none"),
                _ => word(attr::PRESET_MODE, text, &self.presets, view)?,
            },
            Field::Action => match text {
                "" => {}
                "None" => view.clear(attr::HVAC_ACTION),
                _ if ACTIONS.contains(&text) => view.put(attr::HVAC_ACTION, text),
                _ => return Err(bad(attr::HVAC_ACTION, text, ACTIONS.join(", "))),
            },
        }
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let unsupported = || EncodeError::Unsupported(action.kind());
        let text = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_text).ok_or_else(unsupported);
        let number = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_number);
        let send = |command: &Option<Command>, value: &str, out: &mut Outbox<'_>| match command {
            Some(command) => out.send(command, value, &[]),
            None => Err(EncodeError::Unsupported(action.kind())),
        };
        match action.verb {
            Verb::TurnOn if self.power.is_some() => send(&self.power, &self.payload_on, out),
            Verb::TurnOff if self.power.is_some() => send(&self.power, &self.payload_off, out),
            Verb::TurnOn => self.send_mode(self.on_mode().ok_or_else(unsupported)?, out),
            Verb::TurnOff => self.send_mode("off", out),
            Verb::SetHvacMode => self.send_mode(text(Arg::HvacMode)?, out),
            Verb::SetTemperature => {
                if let Some(mode) = action.args.get(&Arg::HvacMode).and_then(ArgValue::as_text) {
                    self.send_mode(mode, out)?;
                }
                let targets = [
                    (Arg::Temperature, &self.temperature),
                    (Arg::TargetTempLow, &self.low),
                    (Arg::TargetTempHigh, &self.high),
                ];
                for (arg, command) in targets {
                    if let (Some(celsius), Some(command)) = (number(arg), command) {
                        out.send(command, self.thermometer.device(celsius), &[])?;
                    }
                }
                Ok(())
            }
            Verb::SetFanMode => send(&self.fan, text(Arg::FanMode)?, out),
            Verb::SetSwingMode => send(&self.swing, text(Arg::SwingMode)?, out),
            Verb::SetSwingHorizontalMode => {
                send(&self.swing_horizontal, text(Arg::SwingHorizontalMode)?, out)
            }
            Verb::SetPresetMode => send(&self.preset, text(Arg::PresetMode)?, out),
            Verb::SetHumidity => match (&self.humidity, number(Arg::Humidity)) {
                (Some(command), Some(humidity)) => out.send(command, humidity as i64, &[]),
                _ => Err(unsupported()),
            },
            _ => Err(unsupported()),
        }
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        let mut update = Update::default();
        if let Some(mode) = self.asked_mode(action).filter(|_| self.assumes(Field::Mode)) {
            update.value = Some(Some(mode.to_owned().into()));
        }
        let targets = [
            (Arg::Temperature, attr::TEMPERATURE, Field::Temperature),
            (Arg::TargetTempLow, attr::TARGET_TEMP_LOW, Field::Low),
            (Arg::TargetTempHigh, attr::TARGET_TEMP_HIGH, Field::High),
        ];
        for (arg, name, field) in targets {
            if let Some(celsius) = action.args.get(&arg).and_then(ArgValue::as_number)
                && self.assumes(field)
            {
                update.attributes.push((name.into(), Some(self.thermometer.shown(celsius).into())));
            }
        }
        let words = [
            (Arg::FanMode, attr::FAN_MODE, Field::FanMode),
            (Arg::SwingMode, attr::SWING_MODE, Field::SwingMode),
            (Arg::SwingHorizontalMode, attr::SWING_HORIZONTAL_MODE, Field::SwingHorizontal),
            (Arg::PresetMode, attr::PRESET_MODE, Field::Preset),
        ];
        for (arg, name, field) in words {
            if let Some(word) = action.args.get(&arg).and_then(ArgValue::as_text)
                && self.assumes(field)
            {
                update.attributes.push((name.into(), Some(word.into())));
            }
        }
        if let Some(humidity) = action.args.get(&Arg::Humidity).and_then(ArgValue::as_number)
            && self.assumes(Field::TargetHumidity)
        {
            update.attributes.push((attr::HUMIDITY.into(), Some(super::light_number(humidity))));
        }
        update
    }
}

fn whole(attribute: &'static str, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
    match text {
        "" => {}
        "None" => view.clear(attribute),
        _ => {
            let value = number(attribute, text)?;
            view.put(attribute, super::light_number(value));
        }
    }
    Ok(())
}
