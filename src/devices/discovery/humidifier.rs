//! Humidifiers and dehumidifiers.

use std::sync::{Mutex, PoisonError};

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
    /// What the device does not report, or is said not to.
    assumed: Vec<Field>,
    /// What it does, as reported; shown while it is on.
    action: Mutex<Option<&'static str>>,
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
    fields.together("mode_command_topic", "modes")?;
    let mode = fields.command("mode_command_topic", "mode_command_template")?;
    let optimistic = fields.flag("optimistic", false)?;
    let reported = |field| reads.iter().flatten().any(|read| read.field == field);
    let assumed = [Field::State, Field::Target, Field::Mode];
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
        assumed: assumed.into_iter().filter(|field| optimistic || !reported(*field)).collect(),
        action: Mutex::default(),
    };
    let (min, max) = component.range;
    if min < 0.0 || min >= max || max > 100.0 {
        return Err(Refusal::Wrong {
            key: "min_humidity".into(),
            value: format!("{min} to {max}"),
            expected: "a range within 0 to 100".into(),
        });
    }
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

impl Humidifier {
    fn action(&self) -> std::sync::MutexGuard<'_, Option<&'static str>> {
        self.action.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a device does, as it is shown: one that is off does nothing.
fn shown_action(action: &'static str, value: Option<&str>) -> &'static str {
    if value == Some("on") { action } else { "off" }
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
            Field::Action if text == "None" => {}
            Field::Action => match ACTIONS.iter().find(|action| **action == text) {
                Some(action) => {
                    *self.action() = Some(action);
                    let shown = shown_action(action, view.value());
                    view.put("action", shown);
                }
                None => return Err(bad("action", text, ACTIONS.join(", "))),
            },
        }
        Ok(())
    }

    fn settle(&self, view: &mut View<'_, '_>) {
        // What was reported is shown again when the device is on again; that is no new report.
        let Some(action) = *self.action() else { return };
        let shown = shown_action(action, view.value());
        if view.attribute("action").and_then(serde_json::Value::as_str) != Some(shown) {
            view.update.recalled.push(("action".into(), Some(shown.into())));
        }
    }

    fn inherit(&self, before: &Self) {
        let known = *before.action();
        *self.action() = known;
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        match (action.verb, action.args.get(&Arg::Humidity), action.args.get(&Arg::Mode), &self.mode) {
            (Verb::TurnOn, ..) => out.send(&self.command, self.payload_on.as_str(), &[]),
            (Verb::TurnOff, ..) => out.send(&self.command, self.payload_off.as_str(), &[]),
            (Verb::SetHumidity, Some(ArgValue::Number(humidity)), ..) => {
                out.send(&self.target, humidity.trunc() as i64, &[])
            }
            (Verb::SetMode, _, Some(ArgValue::Text(mode)), Some(command)) => {
                out.send(command, mode.as_str(), &[])
            }
            _ => Err(EncodeError::Unsupported(action.kind())),
        }
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        let field = match action.verb {
            Verb::SetHumidity => Field::Target,
            Verb::SetMode => Field::Mode,
            _ => Field::State,
        };
        if !self.assumed.contains(&field) {
            return Update::default();
        }
        let attribute = |name: &'static str, value: serde_json::Value| Update {
            attributes: vec![(name.into(), Some(value))],
            ..Update::default()
        };
        match (action.verb, action.args.get(&Arg::Humidity), action.args.get(&Arg::Mode)) {
            (Verb::TurnOn, ..) => Update::value("on"),
            (Verb::TurnOff, ..) => Update::value("off"),
            (Verb::SetHumidity, Some(ArgValue::Number(humidity)), _) => {
                attribute(attr::HUMIDITY, (*humidity as i64).into())
            }
            (Verb::SetMode, _, Some(ArgValue::Text(mode))) => attribute(attr::MODE, mode.as_str().into()),
            _ => Update::default(),
        }
    }
}
