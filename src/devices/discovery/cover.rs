//! Covers: open and closed by words, positions of any range, tilt.

use std::sync::atomic::{AtomicBool, Ordering};

use super::entity_codec::{
    Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad, number,
};
use super::fields::{Command, Fields, Refusal, number_of};
use crate::devices::codec::{EncodeError, Fault};
use crate::devices::template::Value as Engine;
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb, attr};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Position,
    Tilt,
    State,
}

/// A device's range for 0–100 %; either end may be the larger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub closed: f64,
    pub open: f64,
}

impl Range {
    /// Percent of a device's value: cut, not rounded, and inside 0–100.
    pub fn percent(self, value: f64) -> f64 {
        if self.open == self.closed {
            return 0.0;
        }
        ((value - self.closed) * 100.0 / (self.open - self.closed)).floor().clamp(0.0, 100.0)
    }

    /// A device's value for percent.
    pub fn value(self, percent: f64) -> i64 {
        (self.closed + percent * (self.open - self.closed) / 100.0).round_ties_even() as i64
    }
}

/// The words of a cover's state topic.
struct Words {
    open: String,
    opening: String,
    closed: String,
    closing: String,
    stopped: String,
}

struct Cover {
    command: Option<Command>,
    payload_open: Option<String>,
    payload_close: Option<String>,
    payload_stop: Option<String>,
    payload_stop_tilt: Option<String>,
    set_position: Option<Command>,
    tilt: Option<Command>,
    range: Range,
    tilt_range: Range,
    tilt_closed: i64,
    tilt_opened: i64,
    words: Words,
    /// Whether a state topic says open or closed; else the position does.
    reports_state: bool,
    reports_position: bool,
    optimistic: bool,
    /// Whether the tilt is taken to be as it was asked for, whatever the device says.
    assumes_tilt: bool,
    /// Whether the device tells its tilt: on a topic of its own, or, as was seen, with the position.
    tells_tilt: AtomicBool,
    vars: Vec<(&'static str, Engine)>,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let range = Range {
        closed: fields.int_or("position_closed", 0)? as f64,
        open: fields.int_or("position_open", 100)? as f64,
    };
    let tilt_range =
        Range { closed: fields.int_or("tilt_min", 0)? as f64, open: fields.int_or("tilt_max", 100)? as f64 };
    let reads = vec![
        // The position first: what "stopped" means depends on it.
        Read::of(fields, "position_topic", "position_template", Field::Position, Undefined::Raw)?,
        Read::of(fields, "tilt_status_topic", "tilt_status_template", Field::Tilt, Undefined::Raw)?,
        Read::of(fields, "state_topic", "value_template", Field::State, Undefined::Raw)?,
    ];
    let reports = |field| reads.iter().flatten().any(|read| read.field == field);
    let (position, state, tilt) = (reports(Field::Position), reports(Field::State), reports(Field::Tilt));
    templates_have_topics(fields)?;
    let set_position = fields.command("set_position_topic", "set_position_template")?;
    if set_position.is_some() && !position {
        return Err(Refusal::Missing("position_topic (set_position_topic needs it)".into()));
    }
    let vars = [
        ("position_open", range.open),
        ("position_closed", range.closed),
        ("tilt_min", tilt_range.closed),
        ("tilt_max", tilt_range.open),
    ];
    let component = Cover {
        // Covers have no template for their commands.
        command: fields.publish("command_topic")?.map(|topic| Command { topic, template: None }),
        payload_open: fields.payload("payload_open", "OPEN")?,
        payload_close: fields.payload("payload_close", "CLOSE")?,
        payload_stop: fields.payload("payload_stop", "STOP")?,
        payload_stop_tilt: fields.payload("payload_stop_tilt", "STOP")?,
        set_position,
        tilt: fields.command("tilt_command_topic", "tilt_command_template")?,
        range,
        tilt_range,
        tilt_closed: fields.int_or("tilt_closed_value", 0)?,
        tilt_opened: fields.int_or("tilt_opened_value", 100)?,
        words: Words {
            open: fields.text_or("state_open", "open")?,
            opening: fields.text_or("state_opening", "opening")?,
            closed: fields.text_or("state_closed", "closed")?,
            closing: fields.text_or("state_closing", "closing")?,
            stopped: fields.text_or("state_stopped", "stopped")?,
        },
        reports_state: state,
        reports_position: position,
        optimistic: (!state && !position && !tilt) || fields.flag("optimistic", false)?,
        assumes_tilt: fields.flag("tilt_optimistic", false)?,
        tells_tilt: AtomicBool::new(tilt),
        vars: vars.map(|(name, number)| (name, Engine::from(number as i64))).to_vec(),
    };
    let actions = component.actions();
    Ok(Built {
        codec: EntityCodec::shared(common, reads, component),
        actions,
        reports_state: state || position,
        initial: Update::default(),
    })
}

/// A template without its topic refuses the message.
fn templates_have_topics(fields: Fields<'_>) -> Result<(), Refusal> {
    for (template, topic) in [
        ("value_template", "state_topic"),
        ("position_template", "position_topic"),
        ("set_position_template", "set_position_topic"),
        ("tilt_command_template", "tilt_command_topic"),
        ("tilt_status_template", "tilt_status_topic"),
    ] {
        if fields.has(template) && !fields.has(topic) {
            return Err(Refusal::Missing(format!("{topic} ({template} needs it)")));
        }
    }
    Ok(())
}

impl Cover {
    fn actions(&self) -> Vec<ActionSpec> {
        let percent = |arg| ArgSpec::required(arg, ArgKind::percent());
        let plain = self.command.is_some();
        let mut actions = Vec::new();
        if plain && self.payload_open.is_some() || self.set_position.is_some() {
            actions.push(ActionSpec::new(Verb::Open));
        }
        if plain && self.payload_close.is_some() || self.set_position.is_some() {
            actions.push(ActionSpec::new(Verb::Close));
        }
        if plain && self.payload_stop.is_some() {
            actions.push(ActionSpec::new(Verb::Stop));
        }
        if self.set_position.is_some() {
            actions.push(ActionSpec::new(Verb::SetPosition).with(percent(Arg::Position)));
        }
        if self.tilt.is_some() {
            actions.push(ActionSpec::new(Verb::OpenTilt));
            actions.push(ActionSpec::new(Verb::CloseTilt));
            if self.payload_stop_tilt.is_some() {
                actions.push(ActionSpec::new(Verb::StopTilt));
            }
            actions.push(ActionSpec::new(Verb::SetTiltPosition).with(percent(Arg::TiltPosition)));
        }
        actions
    }

    fn position(&self, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        let object = text.starts_with('{').then(|| view.json(text).map(|json| json.into_owned())).flatten();
        let value = match &object {
            Some(object) => {
                if let Some(tilt) = object.get("tilt_position").and_then(number_of) {
                    self.tells_tilt.store(true, Ordering::Relaxed);
                    self.tilt_value(tilt, view)?;
                }
                match object.get("position").and_then(number_of) {
                    Some(value) => value,
                    None => return Ok(()),
                }
            }
            None => number(attr::CURRENT_POSITION, text)?,
        };
        if self.range.open == self.range.closed {
            return Err(bad(attr::CURRENT_POSITION, text, "open and closed at different positions"));
        }
        let percent = self.range.percent(value);
        view.put(attr::CURRENT_POSITION, percent as i64);
        if !self.reports_state {
            view.set(if percent == 0.0 { "closed" } else { "open" });
        }
        Ok(())
    }

    fn tilt_value(&self, value: f64, view: &mut View<'_, '_>) -> Result<(), Fault> {
        let value = value.round_ties_even();
        let (low, high) = (self.tilt_range.closed, self.tilt_range.open);
        if value < low.min(high) || value > low.max(high) {
            return Err(bad(attr::CURRENT_TILT_POSITION, &value.to_string(), format!("{low} to {high}")));
        }
        view.put(attr::CURRENT_TILT_POSITION, self.tilt_range.percent(value) as i64);
        Ok(())
    }

    fn state(&self, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        let words = &self.words;
        if text == words.stopped {
            let at_zero =
                view.attribute(attr::CURRENT_POSITION).and_then(serde_json::Value::as_f64) == Some(0.0);
            let closed = if self.reports_position {
                at_zero
            } else {
                matches!(view.value(), Some("closed" | "closing"))
            };
            view.set(if closed { "closed" } else { "open" });
        } else if text == words.open {
            view.set("open");
        } else if text == words.opening {
            view.set("opening");
        } else if text == words.closed {
            view.set("closed");
        } else if text == words.closing {
            view.set("closing");
        } else if text == "None" {
            view.set_unknown();
        } else {
            return Err(bad("state", text, "one of the cover's states"));
        }
        Ok(())
    }

    fn set_position(&self, percent: f64, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let Some(command) = &self.set_position else {
            return Err(EncodeError::Unsupported("cover.set_position".into()));
        };
        let mut vars = self.vars.clone();
        vars.push(("position", Engine::from(percent.round_ties_even() as i64)));
        out.send(command, self.range.value(percent), &vars)
    }

    fn set_tilt(&self, value: i64, percent: Option<f64>, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let Some(command) = &self.tilt else { return Err(EncodeError::Unsupported("cover.tilt".into())) };
        let mut vars = self.vars.clone();
        vars.push((
            "tilt_position",
            Engine::from(percent.map_or(value, |percent| percent.round_ties_even() as i64)),
        ));
        out.send(command, value, &vars)
    }
}

impl Component for Cover {
    type Field = Field;

    fn apply(&self, field: Field, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        match field {
            Field::Position => self.position(text, view),
            Field::Tilt => self.tilt_value(number(attr::CURRENT_TILT_POSITION, text)?, view),
            Field::State => self.state(text, view),
        }
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let argument = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_number).unwrap_or(0.0);
        let plain = |payload: &Option<String>, out: &mut Outbox<'_>| match (&self.command, payload) {
            (Some(command), Some(payload)) => {
                out.raw(&command.topic, payload.clone());
                Ok(true)
            }
            _ => Ok(false),
        };
        match action.verb {
            Verb::Open if plain(&self.payload_open, out)? => Ok(()),
            Verb::Open => self.set_position(100.0, out),
            Verb::Close if plain(&self.payload_close, out)? => Ok(()),
            Verb::Close => self.set_position(0.0, out),
            Verb::Stop => plain(&self.payload_stop, out).map(|_| ()),
            Verb::SetPosition => self.set_position(argument(Arg::Position), out),
            Verb::OpenTilt => self.set_tilt(self.tilt_opened, None, out),
            Verb::CloseTilt => self.set_tilt(self.tilt_closed, None, out),
            Verb::StopTilt => {
                if let (Some(tilt), Some(payload)) = (&self.tilt, &self.payload_stop_tilt) {
                    out.raw(&tilt.topic, payload.clone());
                }
                Ok(())
            }
            Verb::SetTiltPosition => {
                let percent = argument(Arg::TiltPosition);
                self.set_tilt(self.tilt_range.value(percent), Some(percent), out)
            }
            _ => Err(EncodeError::Unsupported(action.kind())),
        }
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        let argument = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_number).unwrap_or(0.0);
        let assumes_tilt = self.assumes_tilt || !self.tells_tilt.load(Ordering::Relaxed);
        let tilt = match action.verb {
            Verb::OpenTilt => Some(self.tilt_range.percent(self.tilt_opened as f64)),
            Verb::CloseTilt => Some(self.tilt_range.percent(self.tilt_closed as f64)),
            Verb::SetTiltPosition => Some(argument(Arg::TiltPosition)),
            _ => None,
        };
        if let Some(percent) = tilt.filter(|_| assumes_tilt) {
            let shown = (attr::CURRENT_TILT_POSITION.into(), Some((percent as i64).into()));
            return Update { attributes: vec![shown], ..Update::default() };
        }
        let percent = match action.verb {
            _ if !self.optimistic => return Update::default(),
            Verb::Open => 100.0,
            Verb::Close => 0.0,
            Verb::SetPosition => argument(Arg::Position),
            _ => return Update::default(),
        };
        let mut update = Update::value(if percent == 0.0 { "closed" } else { "open" });
        if self.reports_position || self.set_position.is_some() {
            update.attributes.push((attr::CURRENT_POSITION.into(), Some((percent as i64).into())));
        }
        update
    }

    fn vars(&self) -> &[(&'static str, Engine)] {
        &self.vars
    }
}
