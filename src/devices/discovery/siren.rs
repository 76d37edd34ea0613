//! Sirens.

use serde_json::{Map, Value};

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Command, Fields, Refusal, number_of, text_of};
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
    tones: Vec<String>,
    duration: bool,
    volume: bool,
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
        tones: fields.list("available_tones")?.unwrap_or_default(),
        duration: fields.flag("support_duration", true)?,
        volume: fields.flag("support_volume_set", true)?,
        optimistic: !reports || fields.flag("optimistic", false)?,
    };
    let mut on = ActionSpec::new(Verb::TurnOn);
    if !component.tones.is_empty() {
        on = on.with(ArgSpec::optional(Arg::Tone, ArgKind::Choice(component.tones.clone())));
    }
    if component.duration {
        let duration = ArgKind::Number { min: 1.0, max: 3600.0, step: 1.0 };
        on = on.with(ArgSpec::optional(Arg::Duration, duration));
    }
    if component.volume {
        on = on.with(ArgSpec::optional(Arg::VolumePct, ArgKind::percent()));
    }
    // Silent until it is told otherwise.
    let initial = if component.optimistic { Update::value("off") } else { Update::default() };
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions: vec![on, ActionSpec::new(Verb::TurnOff)],
        reports_state: reports,
        initial,
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

    /// An attribute of the state's JSON: `None` where the siren has no such thing.
    fn attribute(&self, name: &str, value: &Value) -> Result<Option<Value>, Fault> {
        let number = || value.as_bool().map(f64::from).or_else(|| number_of(value));
        let wrong = |expected: &str| Err(bad(name, &value.to_string(), expected));
        let (known, value) = match name {
            "tone" => match text_of(value) {
                Some(tone) if self.tones.is_empty() => (false, Value::from(tone)),
                Some(tone) if self.tones.contains(&tone) => (true, Value::from(tone)),
                _ => return wrong("one of its tones"),
            },
            "duration" => match number() {
                Some(seconds) if seconds >= 0.0 => (self.duration, Value::from(seconds as i64)),
                _ => return wrong("seconds"),
            },
            "volume_level" => match number() {
                Some(level) if (0.0..=1.0).contains(&level) => (self.volume, Value::from(level)),
                _ => return wrong("0 to 1"),
            },
            _ => return wrong("no such attribute"),
        };
        Ok(known.then_some(value))
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
        if let Some(word) = object.get("state").and_then(text_of) {
            // A state of another word leaves the rest of the message as it is.
            let _ = self.word(&word, view);
        }
        // All attributes or none: a message that is wrong in one is not trusted in another.
        let given = object.iter().filter(|(name, _)| *name != "state");
        let read: Result<Vec<_>, Fault> =
            given.map(|(name, value)| Ok((name.clone(), self.attribute(name, value)?))).collect();
        for (name, value) in read? {
            if let Some(value) = value {
                view.put(name, value);
            }
        }
        Ok(())
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
        if !self.optimistic {
            return Update::default();
        }
        let mut update = match action.verb {
            Verb::TurnOn => Update::value("on"),
            Verb::TurnOff => Update::value("off"),
            _ => return Update::default(),
        };
        for (arg, value) in &action.args {
            let shown = match (arg, value) {
                (Arg::Tone, ArgValue::Text(tone)) => ("tone", tone.as_str().into()),
                (Arg::Duration, ArgValue::Number(seconds)) => ("duration", (*seconds as i64).into()),
                (Arg::VolumePct, ArgValue::Number(percent)) => ("volume_level", (percent / 100.0).into()),
                _ => continue,
            };
            update.attributes.push((shown.0.into(), Some(shown.1)));
        }
        update
    }
}
