//! Events: a doorbell was pressed, a button was held.
//!
//! The value is the type of the last event (Home Assistant shows its time there, which our state has beside the
//! value), and `occurrences` counts them, so that the same event twice is two changes.

use serde_json::Value;

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, Update};

struct Event {
    types: Vec<String>,
}

const OCCURRENCES: &str = "occurrences";

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let read = Read::of(fields, "state_topic", "value_template", (), Undefined::Ignore)?
        .ok_or_else(|| Refusal::Missing("state_topic".into()))?;
    let types = fields.list("event_types")?.ok_or_else(|| Refusal::Missing("event_types".into()))?;
    Ok(Built {
        codec: EntityCodec::shared(common, vec![Some(read)], Event { types }),
        actions: Vec::new(),
        reports_state: true,
        initial: Update::default(),
    })
}

impl Component for Event {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        // A retained event happened at a time that nobody knows: it is none.
        if view.payload.retained || text.is_empty() || matches!(text, "None" | "null" | "{}") {
            return Ok(());
        }
        let json = view.json(text).map(|json| json.into_owned());
        let Some(Value::Object(object)) = json else {
            return Err(bad("event_type", text, "a JSON object with event_type"));
        };
        let kind = match object.get("event_type").and_then(Value::as_str) {
            Some(kind) if self.types.iter().any(|known| known == kind) => kind.to_owned(),
            Some(kind) => return Err(bad("event_type", kind, self.types.join(", "))),
            None => return Err(bad("event_type", text, "a JSON object with event_type")),
        };
        let before = view.attribute(OCCURRENCES).and_then(Value::as_u64).unwrap_or(0);
        let stale: Vec<_> =
            view.names().filter(|name| !object.contains_key(name.as_ref())).cloned().collect();
        for name in stale {
            view.clear(name);
        }
        view.put(OCCURRENCES, before.wrapping_add(1));
        view.set(kind);
        for (name, value) in object {
            view.put(name, value);
        }
        Ok(())
    }

    fn encode(&self, action: &Action, _: &mut Outbox<'_>) -> Result<(), EncodeError> {
        Err(EncodeError::Unsupported(action.kind()))
    }
}
