//! Vacuum cleaners.

use serde_json::Value;

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Update, Verb, attr};

const STATES: &[&str] = &["cleaning", "docked", "paused", "idle", "returning", "error"];

/// Verb, feature, key of its payload, default payload.
const VERBS: &[(Verb, &str, &str, &str)] = &[
    (Verb::Start, "start", "payload_start", "start"),
    (Verb::Stop, "stop", "payload_stop", "stop"),
    (Verb::Pause, "pause", "payload_pause", "pause"),
    (Verb::ReturnToBase, "return_home", "payload_return_to_base", "return_to_base"),
    (Verb::CleanSpot, "clean_spot", "payload_clean_spot", "clean_spot"),
    (Verb::Locate, "locate", "payload_locate", "locate"),
];

/// Most characters of a command in the device's own language, and of its parameters.
const MAX_COMMAND: usize = 255;
const MAX_PARAMS: usize = 1000;

const DEFAULT_FEATURES: &[&str] = &["start", "stop", "return_home", "clean_spot"];

struct Vacuum {
    command: Option<String>,
    payloads: Vec<(Verb, String)>,
    fan_speed: Option<String>,
    send_command: Option<String>,
    /// Whether it has suction levels at all.
    has_fan_speed: bool,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let read = Read::of(fields, "state_topic", "", (), Undefined::Raw)?;
    let reports = read.is_some();
    let features = fields
        .list("supported_features")?
        .unwrap_or_else(|| DEFAULT_FEATURES.iter().map(|feature| (*feature).to_owned()).collect());
    let has = |feature: &str| features.iter().any(|known| known == feature);
    let command = fields.publish("command_topic")?;
    let (mut payloads, mut actions) = (Vec::new(), Vec::new());
    for (verb, feature, key, default) in VERBS {
        let payload = fields.text_or(key, default)?;
        if has(feature) && command.is_some() {
            payloads.push((*verb, payload));
            actions.push(ActionSpec::new(*verb));
        }
    }
    let speeds = fields.list("fan_speed_list")?.unwrap_or_default();
    let fan_speed = fields.publish("set_fan_speed_topic")?.filter(|_| has("fan_speed") && !speeds.is_empty());
    if fan_speed.is_some() {
        let speed = ArgSpec::required(Arg::FanSpeed, ArgKind::Choice(speeds));
        actions.push(ActionSpec::new(Verb::SetFanSpeed).with(speed));
    }
    let send_command = fields.publish("send_command_topic")?.filter(|_| has("send_command"));
    if send_command.is_some() {
        let text = |max_chars| ArgKind::Text { max_chars };
        let command = ArgSpec::required(Arg::Command, text(MAX_COMMAND));
        let params = ArgSpec::optional(Arg::Params, text(MAX_PARAMS));
        actions.push(ActionSpec::new(Verb::SendCommand).with(command).with(params));
    }
    let component = Vacuum { command, payloads, fan_speed, send_command, has_fan_speed: has("fan_speed") };
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions,
        reports_state: reports,
        initial: Update::default(),
    })
}

impl Component for Vacuum {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        let json = view.json(text).map(|json| json.into_owned());
        let Some(Value::Object(object)) = json else { return Err(bad("state", text, "a JSON object")) };
        match object.get(attr::FAN_SPEED).and_then(super::fields::text_of) {
            _ if !self.has_fan_speed => {}
            Some(speed) => view.put(attr::FAN_SPEED, speed),
            None if object.get(attr::FAN_SPEED) == Some(&Value::Null) => view.clear(attr::FAN_SPEED),
            None => {}
        }
        if let Some(level) = object.get(attr::BATTERY_LEVEL).and_then(Value::as_f64) {
            view.put(attr::BATTERY_LEVEL, super::light_number(level));
        }
        match object.get("state") {
            Some(Value::Null) => view.set_unknown(),
            Some(Value::String(word)) => match STATES.iter().find(|state| *state == word) {
                Some(state) => view.set(*state),
                None => return Err(bad("state", word, STATES.join(", "))),
            },
            _ => {}
        }
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        if let (Verb::SetFanSpeed, Some(topic), Some(ArgValue::Text(speed))) =
            (action.verb, &self.fan_speed, action.args.get(&Arg::FanSpeed))
        {
            out.raw(topic, speed.clone());
            return Ok(());
        }
        if let (Verb::SendCommand, Some(topic)) = (action.verb, &self.send_command) {
            out.raw(topic, own_command(action)?);
            return Ok(());
        }
        let payload = self.payloads.iter().find(|(verb, _)| *verb == action.verb);
        match (&self.command, payload) {
            (Some(topic), Some((_, payload))) => {
                let command = Command { topic: topic.clone(), template: None };
                out.send(&command, payload.as_str(), &[])
            }
            _ => Err(EncodeError::Unsupported(action.kind())),
        }
    }
}

/// A command in the device's own language: its word, or with parameters one JSON object of both.
fn own_command(action: &Action) -> Result<String, EncodeError> {
    let text = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_text);
    let command = text(Arg::Command).ok_or_else(|| EncodeError::Unsupported(action.kind()))?;
    let Some(params) = text(Arg::Params) else { return Ok(command.to_owned()) };
    let wrong =
        |error| EncodeError::Argument(format!("params is no JSON object such as {{\"zone\": 1}}: {error}"));
    let params: serde_json::Map<String, Value> = serde_json::from_str(params).map_err(wrong)?;
    if params.contains_key("command") {
        // It would take the place of the command that a person sees.
        return Err(EncodeError::Argument("params may hold no command of its own".to_owned()));
    }
    let mut message = serde_json::Map::new();
    message.insert("command".to_owned(), command.into());
    message.extend(params);
    Ok(Value::Object(message).to_string())
}
