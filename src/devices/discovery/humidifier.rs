//! Humidifiers and dehumidifiers.

use super::entity_codec::{
    Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad, number,
};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb, attr};

const ACTIONS: &[&str] = &["off", "humidifying", "drying", "idle"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    State,
    Target,
    Mode,
    Current,
    Action,
}

struct Humidifier {
    command: Command,
    payload_on: String,
    payload_off: String,
    target: Command,
    reset_humidity: String,
    range: (f64, f64),
    mode: Option<Command>,
    modes: Vec<String>,
    reset_mode: String,
    optimistic: bool,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let reads = vec![
        Read::of(fields, "state_topic", "state_value_template", Field::State, Undefined::Raw)?,
        Read::of(
            fields,
            "target_humidity_state_topic",
            "target_humidity_state_template",
            Field::Target,
            Undefined::Raw,
        )?,
        Read::of(fields, "mode_state_topic", "mode_state_template", Field::Mode, Undefined::Raw)?,
        Read::of(
            fields,
            "current_humidity_topic",
            "current_humidity_template",
            Field::Current,
            Undefined::Raw,
        )?,
        Read::of(fields, "action_topic", "action_template", Field::Action, Undefined::Raw)?,
    ];
    let reports = reads.iter().flatten().any(|read| read.field == Field::State);
    let mode = fields.command("mode_command_topic", "mode_command_template")?;
    let component = Humidifier {
        command: fields.need_command("command_topic", "command_template")?,
        payload_on: fields.text_or("payload_on", "ON")?,
        payload_off: fields.text_or("payload_off", "OFF")?,
        target: fields.need_command("target_humidity_command_topic", "target_humidity_command_template")?,
        reset_humidity: fields.text_or("payload_reset_humidity", "None")?,
        range: (fields.number_or("min_humidity", 0.0)?, fields.number_or("max_humidity", 100.0)?),
        modes: if mode.is_some() { fields.list("modes")?.unwrap_or_default() } else { Vec::new() },
        mode,
        reset_mode: fields.text_or("payload_reset_mode", "None")?,
        optimistic: !reports || fields.flag("optimistic", false)?,
    };
    let (min, max) = component.range;
    let humidity = ArgSpec::required(Arg::Humidity, ArgKind::Number { min, max, step: 1.0 });
    let mut actions = vec![
        ActionSpec::new(Verb::TurnOn),
        ActionSpec::new(Verb::TurnOff),
        ActionSpec::new(Verb::SetHumidity).with(humidity),
    ];
    if !component.modes.is_empty() {
        let modes = ArgSpec::required(Arg::Mode, ArgKind::Choice(component.modes.clone()));
        actions.push(ActionSpec::new(Verb::SetMode).with(modes));
    }
    let codec = EntityCodec::shared(common, reads, component);
    Ok(Built { codec, actions, reports_state: reports, initial: Update::default() })
}

impl Component for Humidifier {
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
            Field::Target if text == self.reset_humidity => view.clear(attr::HUMIDITY),
            Field::Target => {
                let value = number(attr::HUMIDITY, text)?.round_ties_even();
                if !(self.range.0..=self.range.1).contains(&value) {
                    return Err(bad(attr::HUMIDITY, text, format!("{} to {}", self.range.0, self.range.1)));
                }
                view.put(attr::HUMIDITY, value as i64);
            }
            Field::Mode if text == self.reset_mode => view.clear(attr::MODE),
            Field::Mode if self.modes.iter().any(|mode| mode == text) => view.put(attr::MODE, text),
            Field::Mode => return Err(bad(attr::MODE, text, self.modes.join(", "))),
            Field::Current if text == self.reset_humidity => view.clear(attr::CURRENT_HUMIDITY),
            Field::Current => {
                let value = number(attr::CURRENT_HUMIDITY, text)?;
                if !(0.0..=100.0).contains(&value) {
                    return Err(bad(attr::CURRENT_HUMIDITY, text, "0 to 100"));
                }
                view.put(attr::CURRENT_HUMIDITY, value.round_ties_even() as i64);
            }
            Field::Action if text == "None" => view.clear("action"),
            Field::Action if ACTIONS.contains(&text) => view.put("action", text),
            Field::Action => return Err(bad("action", text, ACTIONS.join(", "))),
        }
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        match (action.verb, action.args.get(&Arg::Humidity), action.args.get(&Arg::Mode), &self.mode) {
            (Verb::TurnOn, ..) => out.send(&self.command, self.payload_on.as_str(), &[]),
            (Verb::TurnOff, ..) => out.send(&self.command, self.payload_off.as_str(), &[]),
            (Verb::SetHumidity, Some(ArgValue::Number(humidity)), ..) => {
                out.send(&self.target, humidity.round_ties_even() as i64, &[])
            }
            (Verb::SetMode, _, Some(ArgValue::Text(mode)), Some(command)) => {
                out.send(command, mode.as_str(), &[])
            }
            _ => Err(EncodeError::Unsupported(action.kind())),
        }
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        match action.verb {
            Verb::TurnOn if self.optimistic => Update::value("on"),
            Verb::TurnOff if self.optimistic => Update::value("off"),
            _ => Update::default(),
        }
    }
}
