//! From actions to a plan: groups expanded to their leaves, arguments checked, messages frozen, a hash over all of it.
//!
//! Codes stay as `${secret:name}` in a plan; `perform` fills them in. Nothing here decides or sends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::containment::Containment;
use super::port::{Codecs, Secrets};
use crate::devices::{EncodeError, Message};
use crate::home::{Action, Arg, ArgError, ArgValue, Args, Entity, EntityId, HOME_FILE, House, State, Verb};

/// Leaves that one plan can have; more were refused by every policy.
const LEAVES: usize = 200;

/// Actions frozen to the exact messages that perform them.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    leaves: Vec<PlanLeaf>,
    occasion: Option<Occasion>,
    json: String,
    policy_version: String,
    device_hash: String,
    hash: String,
}

/// What a person is asked about, where it is not doing the plan now. It is part of what is hashed, so that leave to
/// keep a schedule is never leave to act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Occasion {
    /// Keeping a schedule that does it at these times. When it is due it is asked again.
    Scheduled { when: String },
    /// Dropping a schedule that would have done it.
    Dropped { when: String },
}

/// One action on one entity that is no group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanLeaf {
    pub action: Action,
    /// The entity's name and the device's stable identifier, as a person will be shown them.
    pub name: String,
    pub device: Option<String>,
    pub messages: Vec<Message>,
    /// Versions of the secrets that the messages name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
}

/// Why actions cannot become a plan. Nothing was sent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    #[error("there is nothing to do")]
    Empty,
    #[error("no entity {0}")]
    UnknownEntity(EntityId),
    #[error("{entity} cannot {verb}; it can {}", words(allowed))]
    Unsupported { entity: EntityId, verb: Verb, allowed: Vec<Verb> },
    #[error("{entity}: {error}")]
    Arguments { entity: EntityId, error: ArgError },
    #[error("{entity}: {error}")]
    Encode { entity: EntityId, error: EncodeError },
    #[error("{0} has no way to receive commands")]
    NoCodec(EntityId),
    #[error("{entity} would be sent to topic {topic:?}, which is refused: {why}")]
    Topic { entity: EntityId, topic: String, why: &'static str },
    #[error("{entity} is to {one} and to {other}; say which")]
    Contradictory { entity: EntityId, one: Verb, other: Verb },
    #[error("{0} actions in one plan; at most {LEAVES}")]
    TooMany(usize),
    #[error("the secret {0:?} is not set")]
    NoSecret(String),
    #[error("{entity} asks for the secret {name:?}, which the home file does not give it")]
    SecretOfAnother { entity: EntityId, name: String },
}

fn words(verbs: &[Verb]) -> String {
    let words: Vec<&str> = verbs.iter().map(|verb| verb.word()).collect();
    if words.is_empty() { "only be read".to_owned() } else { words.join(", ") }
}

/// What making a plan needs to look at.
pub(super) struct Maker<'a> {
    pub house: &'a House,
    pub codecs: &'a dyn Codecs,
    pub secrets: &'a dyn Secrets,
    pub containment: &'a Containment,
    pub policy_version: &'a str,
}

impl Maker<'_> {
    /// Makes the plan for `actions`, in their order. The same action twice is one.
    pub fn plan(&self, actions: &[Action]) -> Result<Plan, PlanError> {
        let expanded = self.expand(actions)?;
        if expanded.is_empty() {
            return Err(PlanError::Empty);
        }
        if expanded.len() > LEAVES {
            return Err(PlanError::TooMany(expanded.len()));
        }
        contradiction(&expanded)?;
        let mut leaves = Vec::with_capacity(expanded.len());
        let mut definitions = Sha256::new();
        for action in expanded {
            let entity = self.entity(&action.entity)?;
            leaves.push(self.leaf(action, entity)?);
            definitions.update(serde_json::to_vec(entity).unwrap_or_default());
            definitions.update([0]);
        }
        Ok(Plan::freeze(leaves, self.policy_version.to_owned(), hex(&definitions.finalize())))
    }

    fn entity(&self, id: &EntityId) -> Result<&Entity, PlanError> {
        self.house.entity(id.as_str()).map(AsRef::as_ref).ok_or_else(|| PlanError::UnknownEntity(id.clone()))
    }

    /// Groups become their leaves. What a leaf of a group has no argument for is left out for that leaf; a verb that a
    /// leaf lacks is an error, since a lock in a group of lamps must not go unnoticed.
    fn expand(&self, actions: &[Action]) -> Result<Vec<Action>, PlanError> {
        let mut expanded: Vec<Action> = Vec::new();
        for action in actions {
            for leaf in self.house.leaves(&action.entity) {
                let mut one = Action { entity: leaf, verb: action.verb, args: action.args.clone() };
                if one.entity != action.entity {
                    let entity = self.entity(&one.entity)?;
                    if let Some(spec) = entity.action(one.verb) {
                        one.args.retain(|name, _| spec.arg(*name).is_some());
                    }
                }
                if !expanded.contains(&one) {
                    expanded.push(one);
                }
            }
        }
        Ok(expanded)
    }

    fn leaf(&self, action: Action, entity: &Entity) -> Result<PlanLeaf, PlanError> {
        let id = &action.entity;
        let spec = entity.action(action.verb).ok_or_else(|| PlanError::Unsupported {
            entity: id.clone(),
            verb: action.verb,
            allowed: entity.actions.iter().map(|spec| spec.verb).collect(),
        })?;
        let args = spec
            .check(&raw(&action.args))
            .map_err(|error| PlanError::Arguments { entity: id.clone(), error })?;
        let action = Action { entity: id.clone(), verb: action.verb, args };
        let (codec, _) = self.codecs.codec(id).ok_or_else(|| PlanError::NoCodec(id.clone()))?;
        let unknown = State::default();
        let now = self.house.state(id.as_str()).unwrap_or(&unknown);
        let messages = codec
            .encode(&self.coded(&action), now)
            .map_err(|error| PlanError::Encode { entity: id.clone(), error })?;
        let mut secrets = BTreeMap::new();
        for message in &messages {
            if let Some(why) = self.containment.refuses_message(message) {
                let topic = message.topic.chars().take(128).collect();
                return Err(PlanError::Topic { entity: id.clone(), topic, why });
            }
            for name in secret_names(&message.payload) {
                self.may_have(entity, name)?;
                let secret = self.secrets.secret(name).ok_or_else(|| PlanError::NoSecret(name.to_owned()))?;
                secrets.insert(name.to_owned(), secret.version);
            }
        }
        let device = entity.device.as_ref().map(|device| device.id.clone());
        Ok(PlanLeaf { action, name: entity.name.clone(), device, messages, secrets })
    }

    /// The action with the place of its code, for an entity that takes one. The code itself is nowhere here.
    fn coded(&self, action: &Action) -> Action {
        let mut coded = action.clone();
        if let Some(name) = self.secrets.code_of(&action.entity) {
            coded.args.insert(Arg::Code, ArgValue::Text(format!("${{secret:{name}}}")));
        }
        coded
    }

    /// An announcement must not name a secret by itself: whoever writes it could have any code sent to a topic of
    /// theirs.
    fn may_have(&self, entity: &Entity, name: &str) -> Result<(), PlanError> {
        if entity.source == HOME_FILE || self.secrets.code_of(&entity.id).as_deref() == Some(name) {
            return Ok(());
        }
        Err(PlanError::SecretOfAnother { entity: entity.id.clone(), name: name.to_owned() })
    }
}

fn raw(args: &Args) -> serde_json::Map<String, serde_json::Value> {
    args.iter()
        .map(|(name, value)| (name.word().to_owned(), serde_json::to_value(value).unwrap_or_default()))
        .collect()
}

/// Two verbs of opposite effect on one entity are a question, not a plan.
fn contradiction(actions: &[Action]) -> Result<(), PlanError> {
    match Action::opposites(actions) {
        Some((one, other)) => {
            Err(PlanError::Contradictory { entity: one.entity.clone(), one: one.verb, other: other.verb })
        }
        None => Ok(()),
    }
}

#[derive(Serialize, Deserialize)]
struct Frozen {
    v: u8,
    leaves: Vec<PlanLeaf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    occasion: Option<Occasion>,
}

impl Plan {
    fn freeze(leaves: Vec<PlanLeaf>, policy_version: String, device_hash: String) -> Self {
        Self::frozen(Frozen { v: 1, leaves, occasion: None }, policy_version, device_hash)
    }

    /// The same plan for another occasion, with a hash of its own.
    pub fn on(self, occasion: Option<Occasion>) -> Self {
        let frozen = Frozen { v: 1, leaves: self.leaves, occasion };
        Self::frozen(frozen, self.policy_version, self.device_hash)
    }

    fn frozen(frozen: Frozen, policy_version: String, device_hash: String) -> Self {
        // Field order and sorted maps make these bytes the same for the same plan.
        let json = serde_json::to_string(&frozen).unwrap_or_default();
        let hash = plan_hash(&json, &policy_version, &device_hash);
        Self { leaves: frozen.leaves, occasion: frozen.occasion, json, policy_version, device_hash, hash }
    }

    /// A plan from its stored bytes; `None` where they do not have the stored hash or are no plan.
    pub fn restore(json: &str, policy_version: &str, device_hash: &str, hash: &str) -> Option<Self> {
        if plan_hash(json, policy_version, device_hash) != hash {
            return None;
        }
        let frozen: Frozen = serde_json::from_str(json).ok()?;
        Some(Self {
            leaves: frozen.leaves,
            occasion: frozen.occasion,
            json: json.to_owned(),
            policy_version: policy_version.to_owned(),
            device_hash: device_hash.to_owned(),
            hash: hash.to_owned(),
        })
    }

    /// The plan of some of its leaves, in their order; `None` where none is left.
    pub(super) fn part(&self, house: &House, keep: impl Fn(usize) -> bool) -> Option<Self> {
        let leaves: Vec<PlanLeaf> = self
            .leaves
            .iter()
            .enumerate()
            .filter(|(at, _)| keep(*at))
            .map(|(_, leaf)| leaf.clone())
            .collect();
        if leaves.is_empty() {
            return None;
        }
        let mut definitions = Sha256::new();
        for leaf in &leaves {
            let entity = house.entity(leaf.action.entity.as_str())?;
            definitions.update(serde_json::to_vec(entity.as_ref()).unwrap_or_default());
            definitions.update([0]);
        }
        Some(Self::freeze(leaves, self.policy_version.clone(), hex(&definitions.finalize())))
    }

    pub fn leaves(&self) -> &[PlanLeaf] {
        &self.leaves
    }

    /// What is asked about, where it is not doing the plan now.
    pub fn occasion(&self) -> Option<&Occasion> {
        self.occasion.as_ref()
    }

    /// The frozen actions, in order.
    pub fn actions(&self) -> Vec<Action> {
        self.leaves.iter().map(|leaf| leaf.action.clone()).collect()
    }

    /// The exact bytes that the hash covers.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// SHA-256 over the bytes, the policy's version and the devices' definitions: 64 hexadecimal digits.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    pub fn policy_version(&self) -> &str {
        &self.policy_version
    }

    pub fn device_hash(&self) -> &str {
        &self.device_hash
    }
}

fn plan_hash(json: &str, policy_version: &str, device_hash: &str) -> String {
    let mut hash = Sha256::new();
    for part in [json, policy_version, device_hash] {
        hash.update(part.as_bytes());
        // Keeps the parts apart: none of them holds this byte.
        hash.update([0]);
    }
    hex(&hash.finalize())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The names in `${secret:name}`.
pub(super) fn secret_names(payload: &str) -> impl Iterator<Item = &str> {
    payload.split("${secret:").skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

#[cfg(test)]
mod tests;
