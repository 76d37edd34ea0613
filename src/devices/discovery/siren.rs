//! Sirens.

use serde_json::{Map, Value};

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::devices::template::{Template, Value as Engine};
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb};

struct Siren {
    topic: String,
    on_template: Option<Template>,
    off_template: Option<Template>,
    payload_on: String,
    payload_off: String,
    state_on: String,
    state_off: String,
    optimistic: bool,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let payload_on = fields.text_or("payload_on", "ON")?;
    let payload_off = fields.text_or("payload_off", "OFF")?;
    let read = Read::of(fields, "state_topic", "state_value_template", (), Undefined::Raw)?;
    let reports = read.is_some();
    let on_template = fields.template("command_template")?;
    let component = Siren {
        topic: fields.publish("command_topic")?.ok_or_else(|| Refusal::Missing("command_topic".into()))?,
        off_template: fields.template("command_off_template")?.or_else(|| on_template.clone()),
        on_template,
        state_on: fields.text_or("state_on", &payload_on)?,
        state_off: fields.text_or("state_off", &payload_off)?,
        payload_on,
        payload_off,
        optimistic: !reports || fields.flag("optimistic", false)?,
    };
    let mut on = ActionSpec::new(Verb::TurnOn);
    if let Some(tones) = fields.list("available_tones")?
        && !tones.is_empty()
    {
        on = on.with(ArgSpec::optional(Arg::Tone, ArgKind::Choice(tones)));
    }
    if fields.flag("support_duration", true)? {
        let duration = ArgKind::Number { min: 1.0, max: 3600.0, step: 1.0 };
        on = on.with(ArgSpec::optional(Arg::Duration, duration));
    }
    if fields.flag("support_volume_set", true)? {
        on = on.with(ArgSpec::optional(Arg::VolumePct, ArgKind::percent()));
    }
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions: vec![on, ActionSpec::new(Verb::TurnOff)],
        reports_state: reports,
        // Silent until it is told otherwise.
        initial: if reports { Update::default() } else { Update::value("off") },
    })
}

impl Siren {
    fn word(&self, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text == self.state_on {
            view.set("on");
        } else if text == self.state_off {
            view.set("off");
        } else if text == "None" {
            view.set_unknown();
        } else {
            return Err(bad("state", text, format!("{:?} or {:?}", self.state_on, self.state_off)));
        }
        Ok(())
    }
}

impl Component for Siren {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        let object = text.starts_with('{').then(|| view.json(text).map(|json| json.into_owned())).flatten();
        let Some(Value::Object(object)) = object else { return self.word(text, view) };
        for name in ["tone", "duration", "volume_level"] {
            match object.get(name) {
                None => {}
                Some(Value::Null) => view.clear(name),
                Some(value) => view.put(name, value.clone()),
            }
        }
        match object.get("state").and_then(super::fields::text_of) {
            Some(word) => self.word(&word, view),
            None => Ok(()),
        }
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let (payload, template) = match action.verb {
            Verb::TurnOn => (&self.payload_on, &self.on_template),
            Verb::TurnOff => (&self.payload_off, &self.off_template),
            _ => return Err(EncodeError::Unsupported(action.kind())),
        };
        let mut values: Vec<(&'static str, Value)> = vec![("state", payload.as_str().into())];
        let number = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_number);
        if let Some(tone) = action.args.get(&Arg::Tone).and_then(ArgValue::as_text) {
            values.push(("tone", tone.into()));
        }
        if let Some(duration) = number(Arg::Duration) {
            values.push(("duration", (duration as i64).into()));
        }
        if let Some(volume) = number(Arg::VolumePct) {
            values.push(("volume_level", (volume / 100.0).into()));
        }
        if template.is_none() {
            let object: Map<String, Value> =
                values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            out.raw(&self.topic, Value::Object(object).to_string());
            return Ok(());
        }
        let engine = |value: &Value| match value {
            Value::String(text) => Engine::from(text.as_str()),
            other => other.as_i64().map_or_else(|| other.as_f64().unwrap_or(0.0).into(), Engine::from),
        };
        let vars: Vec<(&'static str, Engine)> =
            values.iter().map(|(name, value)| (*name, engine(value))).collect();
        let command = Command { topic: self.topic.clone(), template: template.clone() };
        out.send(&command, payload.as_str(), &vars)
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        match action.verb {
            Verb::TurnOn if self.optimistic => Update::value("on"),
            Verb::TurnOff if self.optimistic => Update::value("off"),
            _ => Update::default(),
        }
    }
}
