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
    if !fields.has("state_topic") {
        return Err(Refusal::Missing("state_topic".into()));
    }
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
        // All or nothing: half a message is no message.
        let checked: Result<Vec<_>, Fault> =
            object.iter().map(|(key, value)| Ok((key.clone(), key_value(key, value)?))).collect();
        let mut checked = checked?;
        if let Some(percent) = object.get("update_percentage")
            && !object.contains_key("in_progress")
        {
            checked.push(("in_progress".into(), Value::from(!percent.is_null())));
        }
        for (key, value) in checked {
            match value {
                _ if key == "entity_picture" => {}
                Value::Null => view.clear(key),
                value => view.put(key, value),
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
        let version = |name: &str| out.now.attributes.get(name).and_then(Value::as_str);
        if action.verb == Verb::Install
            && version(LATEST).is_none_or(|latest| version(INSTALLED) == Some(latest))
        {
            return Err(EncodeError::Argument("no other version is known".into()));
        }
        match (action.verb, &self.install) {
            (Verb::Install, Some((command, payload))) => out.send(command, payload.as_str(), &[]),
            _ => Err(EncodeError::Unsupported(action.kind())),
        }
    }
}

/// The value of a key of the state's JSON, as Home Assistant's schema of it takes it.
fn key_value(key: &str, value: &Value) -> Result<Value, Fault> {
    let wrong = |expected: &str| Err(bad(key, &value.to_string(), expected));
    match key {
        "in_progress" => match value {
            Value::Bool(_) => Ok(value.clone()),
            _ => match text_of(value).map(|text| text.to_lowercase()).as_deref() {
                Some("1" | "true" | "yes" | "on" | "enable") => Ok(true.into()),
                Some("0" | "false" | "no" | "off" | "disable") => Ok(false.into()),
                _ => wrong("true or false"),
            },
        },
        "update_percentage" => match value.as_f64() {
            _ if value.is_null() => Ok(Value::Null),
            Some(percent) if (0.0..=100.0).contains(&percent) => Ok(value.clone()),
            _ => wrong("0 to 100"),
        },
        "entity_picture" | "release_url" => match value.as_str() {
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => Ok(url.into()),
            _ => wrong("an address of the web"),
        },
        _ => text_of(value).map_or_else(|| wrong("text"), |text| Ok(text.into())),
    }
}

/// Whether `latest` is a newer version; versions that cannot be compared are newer when they differ.
fn newer(latest: &str, installed: &str) -> bool {
    match (Version::parse(latest), Version::parse(installed)) {
        (Some(latest), Some(installed)) => latest > installed,
        _ => latest != installed,
    }
}

/// A version of numbers, perhaps one before the release that they name: `1.2.0`, `v1.2`, `2024.1.0b3`, `1.2.0-rc.1`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    numbers: Vec<u64>,
    /// The release itself comes after what leads to it.
    stage: Stage,
    step: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Development,
    Alpha,
    Beta,
    Candidate,
    Release,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start_matches(['v', 'V']);
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (release, rest) = text.split_at(end);
        let mut numbers: Vec<u64> =
            release.trim_end_matches('.').split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        // 1.2 and 1.2.0 are the same version.
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        let rest = rest.trim_start_matches(['-', '_']).to_ascii_lowercase();
        let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        let stage = match word.as_str() {
            "" if rest.is_empty() => Stage::Release,
            "dev" | "d" => Stage::Development,
            "alpha" | "a" => Stage::Alpha,
            "beta" | "b" => Stage::Beta,
            "rc" | "c" => Stage::Candidate,
            _ => return None,
        };
        let step = rest.get(word.len()..).unwrap_or_default().trim_start_matches(['.', '-']);
        let step = if step.is_empty() { 0 } else { step.parse().ok()? };
        Some(Self { numbers, stage, step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers_and_by_what_leads_to_a_release() {
        for (latest, installed, expected) in [
            ("1.10.0", "1.9.3", true),
            ("1.2.0", "1.2", false),
            ("1.2.0", "1.2.0-rc1", true),
            ("1.2.0b1", "1.2.0", false),
            ("2024.1.0b3", "2024.1.0b2", true),
            ("v2.0-beta.2", "v2.0-alpha.9", true),
            ("20230104-094756/v1.13.0", "20230913-112003/v1.14.0", true),
            ("same", "same", false),
        ] {
            assert_eq!(newer(latest, installed), expected, "{latest} after {installed}");
        }
    }
}
