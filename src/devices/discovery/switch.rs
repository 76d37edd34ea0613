//! Switches: two payloads out, two states in.

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, State, Update, Verb};

struct Switch {
    command: Command,
    payload_on: String,
    payload_off: String,
    state_on: String,
    state_off: String,
    optimistic: bool,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let payload_on = fields.text_or("payload_on", "ON")?;
    let payload_off = fields.text_or("payload_off", "OFF")?;
    let read = Read::of(fields, "state_topic", "value_template", (), Undefined::Raw)?;
    let reports = read.is_some();
    let component = Switch {
        command: fields.need_command("command_topic", "command_template")?,
        state_on: fields.text_or("state_on", &payload_on)?,
        state_off: fields.text_or("state_off", &payload_off)?,
        payload_on,
        payload_off,
        optimistic: !reports || fields.flag("optimistic", false)?,
    };
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions: vec![ActionSpec::new(Verb::TurnOn), ActionSpec::new(Verb::TurnOff)],
        reports_state: reports,
        initial: Update::default(),
    })
}

impl Component for Switch {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text == self.state_on {
            view.set("on");
        } else if text == self.state_off {
            view.set("off");
        } else if text == "None" {
            view.set_unknown();
        } else if !text.is_empty() {
            return Err(bad("state", text, format!("{:?} or {:?}", self.state_on, self.state_off)));
        }
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let payload = match action.verb {
            Verb::TurnOn => &self.payload_on,
            Verb::TurnOff => &self.payload_off,
            _ => return Err(EncodeError::Unsupported(action.kind())),
        };
        out.send(&self.command, payload.as_str(), &[])
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        match action.verb {
            Verb::TurnOn if self.optimistic => Update::value("on"),
            Verb::TurnOff if self.optimistic => Update::value("off"),
            _ => Update::default(),
        }
    }
}
