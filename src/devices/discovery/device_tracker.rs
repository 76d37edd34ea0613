//! Device trackers: home, away, or the name of a zone.
//!
//! Zones of Home Assistant are not known here: coordinates stay attributes and do not become a place.

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View};
use super::fields::{Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, Update};

struct Tracker {
    home: String,
    not_home: String,
    reset: String,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let read = Read::of(fields, "state_topic", "value_template", (), Undefined::Raw)?;
    if read.is_none() && common.attributes.is_none() {
        return Err(Refusal::Missing("state_topic".into()));
    }
    let component = Tracker {
        home: fields.text_or("payload_home", "home")?,
        not_home: fields.text_or("payload_not_home", "not_home")?,
        reset: fields.text_or("payload_reset", "None")?,
    };
    let source = fields.choice("source_type", &["gps", "router", "bluetooth", "bluetooth_le"], "gps")?;
    let initial =
        Update { attributes: vec![("source_type".into(), Some(source.into()))], ..Update::default() };
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions: Vec::new(),
        reports_state: true,
        initial,
    })
}

impl Component for Tracker {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text == self.home {
            view.set("home");
        } else if text == self.not_home {
            view.set("not_home");
        } else if text == self.reset {
            view.set_unknown();
        } else if !text.is_empty() {
            view.set(text.to_owned());
        }
        Ok(())
    }

    fn encode(&self, action: &Action, _: &mut Outbox<'_>) -> Result<(), EncodeError> {
        Err(EncodeError::Unsupported(action.kind()))
    }
}
