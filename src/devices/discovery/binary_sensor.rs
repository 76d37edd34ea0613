//! Binary sensors.

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, Update};

struct BinarySensor {
    on: String,
    off: String,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let read = Read::of(fields, "state_topic", "value_template", (), Undefined::Raw)?
        .ok_or_else(|| Refusal::Missing("state_topic".into()))?;
    let component =
        BinarySensor { on: fields.text_or("payload_on", "ON")?, off: fields.text_or("payload_off", "OFF")? };
    Ok(Built {
        codec: EntityCodec::shared(common, vec![Some(read)], component),
        actions: Vec::new(),
        reports_state: true,
        initial: Update::default(),
    })
}

impl Component for BinarySensor {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text == self.on {
            view.set("on");
        } else if text == self.off {
            view.set("off");
        } else if text == "None" {
            view.set_unknown();
        } else if !text.is_empty() {
            return Err(bad("state", text, format!("{:?} or {:?}", self.on, self.off)));
        }
        Ok(())
    }

    fn encode(&self, action: &Action, _: &mut Outbox<'_>) -> Result<(), EncodeError> {
        Err(EncodeError::Unsupported(action.kind()))
    }
}
