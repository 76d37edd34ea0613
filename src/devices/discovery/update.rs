//! Firmware updates: `on` is "there is a newer version".

use serde_json::Value;

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Command, Fields, Refusal, text_of};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, Update as Change, Verb};

const INSTALLED: &str = "installed_version";
const LATEST: &str = "latest_version";
/// Keys that a device may give; any other refuses the whole message.
const KEYS: &[&str] = &[
    INSTALLED,
    LATEST,
    "title",
    "release_summary",
    "release_url",
    "entity_picture",
    "in_progress",
    "update_percentage",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    State,
    Latest,
}

struct Update {
    install: Option<(Command, String)>,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let reads = vec![
        Read::of(fields, "state_topic", "value_template", Field::State, Undefined::Ignore)?,
        Read::of(
            fields,
            "latest_version_topic",
            "latest_version_template",
            Field::Latest,
            Undefined::Ignore,
        )?,
    ];
    let payload = fields.nullable("payload_install")?.flatten();
    let command = match fields.command("command_topic", "command_template") {
        // zigbee2mqtt installs through its bridge, which is not ours to command: the versions are shown all the same.
        Err(Refusal::Reserved { .. }) => None,
        command => command?,
    };
    let install = command.zip(payload);
    let mut initial = Change::default();
    for key in ["title", "release_summary", "release_url"] {
        if let Some(text) = fields.nullable(key)?.flatten() {
            initial.attributes.push((key.into(), Some(text.into())));
        }
    }
    let actions = install.iter().map(|_| ActionSpec::new(Verb::Install)).collect();
    Ok(Built {
        codec: EntityCodec::shared(common, reads, Update { install }),
        actions,
        reports_state: true,
        initial,
    })
}

impl Component for Update {
    type Field = Field;

    fn apply(&self, field: Field, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text.is_empty() || text == "None" {
            return Ok(());
        }
        if field == Field::Latest {
            view.put(LATEST, text);
            return Ok(());
        }
        let object = match view.json(text).as_deref() {
            Some(Value::Object(object)) => object.clone(),
            // A bare word or number is the installed version.
            _ => {
                view.put(INSTALLED, text);
                return Ok(());
            }
        };
        if object.is_empty() {
            return Ok(());
        }
        if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(bad("state", key, KEYS.join(", ")));
        }
        for key in KEYS.iter().filter(|key| **key != "entity_picture") {
            match object.get(*key) {
                None => {}
                Some(Value::Null) => view.clear(*key),
                Some(value) if [INSTALLED, LATEST].contains(key) => {
                    if let Some(version) = text_of(value) {
                        view.put(*key, version);
                    }
                }
                Some(value) => view.put(*key, value.clone()),
            }
        }
        Ok(())
    }

    fn settle(&self, view: &mut View<'_, '_>) {
        let version = |name: &str| view.attribute(name).and_then(Value::as_str).map(str::to_owned);
        match (version(INSTALLED), version(LATEST)) {
            (Some(installed), Some(latest)) => {
                view.set(if newer(&latest, &installed) { "on" } else { "off" })
            }
            _ => view.set_unknown(),
        }
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        match (action.verb, &self.install) {
            (Verb::Install, Some((command, payload))) => out.send(command, payload.as_str(), &[]),
            _ => Err(EncodeError::Unsupported(action.kind())),
        }
    }
}

/// Whether `latest` is a newer version; versions that are no numbers are newer when they differ.
fn newer(latest: &str, installed: &str) -> bool {
    let numbers = |text: &str| -> Option<Vec<u64>> {
        text.trim_start_matches(['v', 'V']).split('.').map(|part| part.parse().ok()).collect()
    };
    match (numbers(latest), numbers(installed)) {
        (Some(mut latest), Some(mut installed)) => {
            let length = latest.len().max(installed.len());
            latest.resize(length, 0);
            installed.resize(length, 0);
            latest > installed
        }
        _ => latest != installed,
    }
}
