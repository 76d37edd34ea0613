//! Valves: by words or by position.

use serde_json::Value;

use super::cover::Range;
use super::entity_codec::{
    Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad, number,
};
use super::fields::{Command, Fields, Refusal, text_of};
use crate::devices::codec::{EncodeError, Fault};
use crate::devices::template::Value as Engine;
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb, attr};

struct Valve {
    command: Option<Command>,
    /// Whether it speaks positions; then open and close are positions too.
    positions: bool,
    payload_open: Option<String>,
    payload_close: Option<String>,
    payload_stop: Option<String>,
    /// Words for open, opening, closed, closing.
    words: [(String, &'static str); 4],
    range: Range,
    optimistic: bool,
    vars: Vec<(&'static str, Engine)>,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let positions = fields.flag("reports_position", false)?;
    if positions
        && let Some(key) = ["payload_open", "payload_close", "state_open", "state_closed"]
            .into_iter()
            .find(|key| fields.has(key))
    {
        return Err(Refusal::Conflict(format!("{key} and reports_position exclude each other")));
    }
    let range = Range {
        closed: fields.int_or("position_closed", 0)? as f64,
        open: fields.int_or("position_open", 100)? as f64,
    };
    let read = Read::of(fields, "state_topic", "value_template", (), Undefined::Raw)?;
    let reports = read.is_some();
    let component = Valve {
        command: fields.command("command_topic", "command_template")?,
        positions,
        payload_open: fields.payload("payload_open", "OPEN")?,
        payload_close: fields.payload("payload_close", "CLOSE")?,
        payload_stop: fields.nullable("payload_stop")?.flatten(),
        words: [
            (fields.text_or("state_open", "open")?, "open"),
            (fields.text_or("state_opening", "opening")?, "opening"),
            (fields.text_or("state_closed", "closed")?, "closed"),
            (fields.text_or("state_closing", "closing")?, "closing"),
        ],
        range,
        optimistic: !reports || fields.flag("optimistic", false)?,
        vars: vec![
            ("position_open", Engine::from(range.open as i64)),
            ("position_closed", Engine::from(range.closed as i64)),
        ],
    };
    let actions = component.actions();
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions,
        reports_state: reports,
        initial: Update::default(),
    })
}

impl Valve {
    fn actions(&self) -> Vec<ActionSpec> {
        if self.command.is_none() {
            return Vec::new();
        }
        let mut actions = Vec::new();
        if self.positions || self.payload_open.is_some() {
            actions.push(ActionSpec::new(Verb::Open));
        }
        if self.positions || self.payload_close.is_some() {
            actions.push(ActionSpec::new(Verb::Close));
        }
        if self.payload_stop.is_some() {
            actions.push(ActionSpec::new(Verb::Stop));
        }
        if self.positions {
            let position = ArgSpec::required(Arg::Position, ArgKind::percent());
            actions.push(ActionSpec::new(Verb::SetPosition).with(position));
        }
        actions
    }

    /// What a word of the device means.
    fn word(&self, text: &str) -> Option<&'static str> {
        self.words.iter().find(|(word, _)| word == text).map(|(_, state)| *state)
    }

    /// A valve of words.
    fn by_word(&self, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        match self.word(text) {
            Some(state) => view.set(state),
            None if text == "None" => view.set_unknown(),
            None => return Err(bad("state", text, "one of the valve's states")),
        }
        Ok(())
    }

    /// A valve of positions: whether it is open follows from the position, and words only say that it moves.
    fn by_position(
        &self,
        position: Option<&str>,
        state: Option<&str>,
        view: &mut View<'_, '_>,
    ) -> Result<(), Fault> {
        let moving = state.and_then(|state| self.word(state)).filter(|state| MOVING.contains(state));
        let was_moving = view.value().filter(|value| MOVING.contains(value)).is_some();
        if state == Some("None") && moving.is_none() {
            view.clear(attr::CURRENT_POSITION);
            if !was_moving {
                view.set_unknown();
            }
            return Ok(());
        }
        if let Some(state) = moving {
            view.set(state);
        }
        // The text is the position and the state at once, where it is no JSON.
        if moving.is_some() && position == state {
            return Ok(());
        }
        let text = position.ok_or_else(|| bad(attr::CURRENT_POSITION, "null", "a number"))?;
        let percent = self.range.percent(number(attr::CURRENT_POSITION, text)?);
        view.put(attr::CURRENT_POSITION, percent as i64);
        if moving.is_none() && (!was_moving || [0.0, 100.0].contains(&percent)) {
            view.set(if percent == 0.0 { "closed" } else { "open" });
        }
        Ok(())
    }
}

/// States of a valve on its way: they last until it has arrived at an end.
const MOVING: &[&str] = &["opening", "closing"];

impl Component for Valve {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        let object = text.starts_with('{').then(|| view.json(text).map(|json| json.into_owned())).flatten();
        let Some(Value::Object(object)) = &object else {
            return match self.positions {
                true => self.by_position(Some(text), Some(text), view),
                false => self.by_word(text, view),
            };
        };
        let part = |name: &str| object.get(name).and_then(text_of);
        let needed = if self.positions { "position" } else { "state" };
        if !object.contains_key(needed) {
            return Err(bad(needed, text, "a value in the JSON"));
        }
        match self.positions {
            true => self.by_position(part("position").as_deref(), part("state").as_deref(), view),
            false => self.by_word(&part("state").unwrap_or_default(), view),
        }
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let unsupported = || EncodeError::Unsupported(action.kind());
        let command = self.command.as_ref().ok_or_else(unsupported)?;
        let percent = match action.verb {
            Verb::SetPosition => action.args.get(&Arg::Position).and_then(ArgValue::as_number),
            Verb::Open if self.positions => Some(100.0),
            Verb::Close if self.positions => Some(0.0),
            _ => None,
        };
        if let Some(percent) = percent {
            let mut vars = self.vars.clone();
            vars.push(("position", Engine::from(percent as i64)));
            return out.send(command, self.range.value(percent), &vars);
        }
        let payload = match action.verb {
            Verb::Open => &self.payload_open,
            Verb::Close => &self.payload_close,
            Verb::Stop => &self.payload_stop,
            _ => return Err(unsupported()),
        };
        out.send(command, payload.as_deref().ok_or_else(unsupported)?, &[])
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        let position = action.args.get(&Arg::Position).and_then(ArgValue::as_number);
        let percent = match action.verb {
            _ if !self.optimistic => return Update::default(),
            Verb::Open => 100.0,
            Verb::Close => 0.0,
            Verb::SetPosition => position.unwrap_or(0.0),
            _ => return Update::default(),
        };
        let mut update = Update::value(if percent == 0.0 { "closed" } else { "open" });
        if self.positions {
            update.attributes.push((attr::CURRENT_POSITION.into(), Some((percent as i64).into())));
        }
        update
    }

    fn vars(&self) -> &[(&'static str, Engine)] {
        &self.vars
    }
}
