//! Fans: speed in percent of the device's own range, presets, oscillation, direction.

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad, whole};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb, attr};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    State,
    Percentage,
    Preset,
    Oscillation,
    Direction,
}

struct Fan {
    command: Command,
    payload_on: String,
    payload_off: String,
    percentage: Option<Command>,
    reset_percentage: String,
    /// First and last speed of the device.
    range: (f64, f64),
    preset: Option<Command>,
    presets: Vec<String>,
    reset_preset: String,
    oscillation: Option<Command>,
    oscillate_on: String,
    oscillate_off: String,
    direction: Option<Command>,
    /// What the device does not report, or is said not to.
    assumed: Vec<Field>,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let mut reads = reads(fields)?;
    let reports = reads.iter().flatten().any(|read| read.field == Field::State);
    let range = (fields.int_or("speed_range_min", 1)? as f64, fields.int_or("speed_range_max", 100)? as f64);
    if range.0 < 1.0 || range.0 >= range.1 && range != (1.0, 1.0) {
        return Err(Refusal::Wrong {
            key: "speed_range_min".into(),
            value: range.0.to_string(),
            expected: "at least 1 and less than speed_range_max".into(),
        });
    }
    fields.together("preset_mode_command_topic", "preset_modes")?;
    let preset = fields.command("preset_mode_command_topic", "preset_mode_command_template")?;
    let percentage = fields.command("percentage_command_topic", "percentage_command_template")?;
    let oscillation = fields.command("oscillation_command_topic", "oscillation_command_template")?;
    let direction = fields.command("direction_command_topic", "direction_command_template")?;
    // What cannot be set is not shown either.
    reads.retain(|read| match read.as_ref().map(|read| read.field) {
        Some(Field::Percentage) => percentage.is_some(),
        Some(Field::Preset) => preset.is_some(),
        Some(Field::Oscillation) => oscillation.is_some(),
        Some(Field::Direction) => direction.is_some(),
        Some(Field::State) | None => true,
    });
    let optimistic = fields.flag("optimistic", false)?;
    let reported = |field| reads.iter().flatten().any(|read| read.field == field);
    let all = [Field::State, Field::Percentage, Field::Preset, Field::Oscillation, Field::Direction];
    let component = Fan {
        assumed: all.into_iter().filter(|field| optimistic || !reported(*field)).collect(),
        command: fields.need_command("command_topic", "command_template")?,
        payload_on: fields.text_or("payload_on", "ON")?,
        payload_off: fields.text_or("payload_off", "OFF")?,
        percentage,
        reset_percentage: fields.text_or("payload_reset_percentage", "None")?,
        range,
        presets: if preset.is_some() { fields.list("preset_modes")?.unwrap_or_default() } else { Vec::new() },
        preset,
        reset_preset: fields.text_or("payload_reset_preset_mode", "None")?,
        oscillation,
        oscillate_on: fields.text_or("payload_oscillation_on", "oscillate_on")?,
        oscillate_off: fields.text_or("payload_oscillation_off", "oscillate_off")?,
        direction,
    };
    let actions = component.actions();
    let mut initial = Update::default();
    // It stands still until it is told otherwise, but only where there is somebody to tell.
    if component.oscillation.is_some() && fields.has("oscillation_state_topic") {
        initial.attributes.push((attr::OSCILLATING.into(), Some(false.into())));
    }
    Ok(Built {
        codec: EntityCodec::shared(common, reads, component),
        actions,
        reports_state: reports,
        initial,
    })
}

fn reads(fields: Fields<'_>) -> Result<Vec<Option<Read<Field>>>, Refusal> {
    Ok(vec![
        Read::of(fields, "state_topic", "state_value_template", Field::State, Undefined::Raw)?,
        Read::of(
            fields,
            "percentage_state_topic",
            "percentage_value_template",
            Field::Percentage,
            Undefined::Raw,
        )?,
        Read::of(
            fields,
            "preset_mode_state_topic",
            "preset_mode_value_template",
            Field::Preset,
            Undefined::Raw,
        )?,
        Read::of(
            fields,
            "oscillation_state_topic",
            "oscillation_value_template",
            Field::Oscillation,
            Undefined::Raw,
        )?,
        Read::of(
            fields,
            "direction_state_topic",
            "direction_value_template",
            Field::Direction,
            Undefined::Raw,
        )?,
    ])
}

impl Fan {
    fn actions(&self) -> Vec<ActionSpec> {
        let step = 100.0 / (self.range.1 - self.range.0 + 1.0);
        let percent = ArgKind::Number { min: 0.0, max: 100.0, step };
        let presets = ArgKind::Choice(self.presets.clone());
        let mut on = ActionSpec::new(Verb::TurnOn);
        let mut actions = Vec::new();
        if self.percentage.is_some() {
            on = on.with(ArgSpec::optional(Arg::Percentage, percent.clone()));
            actions
                .push(ActionSpec::new(Verb::SetPercentage).with(ArgSpec::required(Arg::Percentage, percent)));
        }
        if !self.presets.is_empty() {
            on = on.with(ArgSpec::optional(Arg::PresetMode, presets.clone()));
            actions
                .push(ActionSpec::new(Verb::SetPresetMode).with(ArgSpec::required(Arg::PresetMode, presets)));
        }
        if self.oscillation.is_some() {
            let oscillating = ArgSpec::required(Arg::Oscillating, ArgKind::Bool);
            actions.push(ActionSpec::new(Verb::Oscillate).with(oscillating));
        }
        if self.direction.is_some() {
            let directions = ArgKind::Choice(vec!["forward".into(), "reverse".into()]);
            actions.push(
                ActionSpec::new(Verb::SetDirection).with(ArgSpec::required(Arg::Direction, directions)),
            );
        }
        actions.insert(0, ActionSpec::new(Verb::TurnOff));
        actions.insert(0, on);
        actions
    }

    fn speeds(&self) -> f64 {
        self.range.1 - self.range.0 + 1.0
    }

    fn send_percentage(&self, percent: f64, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let Some(command) = &self.percentage else { return Ok(()) };
        let speed = (percent * self.speeds() / 100.0 + self.range.0 - 1.0).ceil();
        out.send(command, speed as i64, &[])
    }

    fn percentage(&self, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text == self.reset_percentage {
            view.clear(attr::PERCENTAGE);
            return Ok(());
        }
        let speed = whole(attr::PERCENTAGE, text)?;
        let percent = ((speed - (self.range.0 - 1.0)) * 100.0 / self.speeds()).floor();
        if !(0.0..=100.0).contains(&percent) {
            return Err(bad(attr::PERCENTAGE, text, format!("{} to {}", self.range.0, self.range.1)));
        }
        view.put(attr::PERCENTAGE, percent as i64);
        Ok(())
    }
}

impl Component for Fan {
    type Field = Field;

    fn apply(&self, field: Field, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        match field {
            Field::State if text == self.payload_on => view.set("on"),
            Field::State if text == self.payload_off => view.set("off"),
            Field::State if text == "None" => view.set_unknown(),
            Field::State => {
                return Err(bad("state", text, format!("{} or {}", self.payload_on, self.payload_off)));
            }
            Field::Percentage => return self.percentage(text, view),
            Field::Preset if text == self.reset_preset => view.clear(attr::PRESET_MODE),
            Field::Preset if self.presets.iter().any(|preset| preset == text) => {
                view.put(attr::PRESET_MODE, text);
            }
            Field::Preset => return Err(bad(attr::PRESET_MODE, text, self.presets.join(", "))),
            Field::Oscillation if text == self.oscillate_on => view.put(attr::OSCILLATING, true),
            Field::Oscillation if text == self.oscillate_off => view.put(attr::OSCILLATING, false),
            Field::Oscillation => {
                return Err(bad(
                    attr::OSCILLATING,
                    text,
                    format!("{} or {}", self.oscillate_on, self.oscillate_off),
                ));
            }
            Field::Direction => view.put(attr::DIRECTION, text),
        }
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let percent = action.args.get(&Arg::Percentage).and_then(ArgValue::as_number);
        let text = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_text);
        match action.verb {
            Verb::TurnOn => {
                out.send(&self.command, self.payload_on.as_str(), &[])?;
                if let Some(percent) = percent.filter(|percent| *percent != 0.0) {
                    self.send_percentage(percent, out)?;
                }
                match (text(Arg::PresetMode), &self.preset) {
                    (Some(preset), Some(command)) => out.send(command, preset, &[]),
                    _ => Ok(()),
                }
            }
            Verb::TurnOff => out.send(&self.command, self.payload_off.as_str(), &[]),
            Verb::SetPercentage => self.send_percentage(percent.unwrap_or(0.0), out),
            Verb::SetPresetMode => match (text(Arg::PresetMode), &self.preset) {
                (Some(preset), Some(command)) => out.send(command, preset, &[]),
                _ => Err(EncodeError::Unsupported(action.kind())),
            },
            Verb::Oscillate => match (action.args.get(&Arg::Oscillating), &self.oscillation) {
                (Some(ArgValue::Bool(on)), Some(command)) => {
                    let payload = if *on { &self.oscillate_on } else { &self.oscillate_off };
                    out.send(command, payload.as_str(), &[])
                }
                _ => Err(EncodeError::Unsupported(action.kind())),
            },
            Verb::SetDirection => match (text(Arg::Direction), &self.direction) {
                (Some(direction), Some(command)) => out.send(command, direction, &[]),
                _ => Err(EncodeError::Unsupported(action.kind())),
            },
            _ => Err(EncodeError::Unsupported(action.kind())),
        }
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        let mut update = match action.verb {
            Verb::TurnOn if self.assumed.contains(&Field::State) => Update::value("on"),
            Verb::TurnOff if self.assumed.contains(&Field::State) => Update::value("off"),
            _ => Update::default(),
        };
        for (arg, value) in &action.args {
            let (field, name, value) = match (arg, value) {
                // Nothing was sent: on is not at no speed.
                (Arg::Percentage, ArgValue::Number(percent))
                    if *percent == 0.0 && action.verb == Verb::TurnOn =>
                {
                    continue;
                }
                (Arg::Percentage, ArgValue::Number(percent)) => {
                    (Field::Percentage, attr::PERCENTAGE, (*percent as i64).into())
                }
                (Arg::PresetMode, ArgValue::Text(preset)) => {
                    (Field::Preset, attr::PRESET_MODE, preset.as_str().into())
                }
                (Arg::Oscillating, ArgValue::Bool(on)) => {
                    (Field::Oscillation, attr::OSCILLATING, (*on).into())
                }
                (Arg::Direction, ArgValue::Text(direction)) => {
                    (Field::Direction, attr::DIRECTION, direction.as_str().into())
                }
                _ => continue,
            };
            if self.assumed.contains(&field) {
                update.attributes.push((name.into(), Some(value)));
            }
        }
        update
    }
}
