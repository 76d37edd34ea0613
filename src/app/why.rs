//! Why an entity is what it is: its announcement, its topics and templates, its last message, its tiers.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::discovered::Discovered;
use crate::actuate::Port;
use crate::clock::Clock;
use crate::devices::registry::{LastMessage, Registry};
use crate::home::{Action, Availability, Entity, House, SharedHouse, State};
use crate::http::views::{DiscoveryView, EntityView, MessageView, TierView, WhyView};
use crate::policy::{Asked, Channel, Decision, Facts, Leaf, Policy, Principal, Scope, decide};
use crate::tools::clean;

/// What the answer is taken from.
pub struct Sources<'a> {
    pub house: &'a SharedHouse,
    pub codecs: &'a Registry<dyn Port>,
    pub discovered: &'a Discovered,
    pub policy: &'a Policy,
    pub facts: Facts,
    pub clock: &'a Clock,
}

impl Sources<'_> {
    /// Everything about one entity, or why there is none.
    pub fn why(&self, id: &str) -> Result<WhyView, String> {
        let house = self.house.read();
        let Some(entity) = house.entity(id).cloned() else { return Err(self.missing(id)) };
        let state = house.state(id).cloned().unwrap_or_default();
        let view = EntityView::of(&house, &entity, self.clock);
        drop(house);
        let registry = self.discovered.registry();
        let announcement = registry.announcement(id).map(|(_, keys)| keys);
        let suspended = registry.suspended(id).map(str::to_owned);
        drop(registry);
        let keys = announcement.as_ref();
        Ok(WhyView {
            entity: view,
            source: entity.source.clone(),
            reads: self
                .codecs
                .speaker(&entity.id)
                .map(|(codec, _)| codec.subscriptions())
                .unwrap_or_default(),
            publishes: keys.map(publishes).unwrap_or_default(),
            templates: keys.map(templates).unwrap_or_default(),
            last_message: self.codecs.last_message(&entity.id).map(message),
            faults: self.codecs.faults(&entity.id),
            availability: availability(&state, keys),
            suspended,
            tiers: self.tiers(&entity, &state),
            announcement: announcement.map(Value::Object),
        })
    }

    /// What waits for a person, and what was not accepted.
    pub fn discovery(&self) -> DiscoveryView {
        let registry = self.discovered.registry();
        DiscoveryView {
            announced: registry.entities().count(),
            suspended: registry.all_suspended().into_iter().map(|(id, why)| (id.to_string(), why)).collect(),
            refused: self.discovered.refused(),
        }
    }

    /// A refused announcement whose topic names the entity is the likely reason that it is missing.
    fn missing(&self, id: &str) -> String {
        let object = id.split_once('.').map_or(id, |(_, object)| object);
        let parts: Vec<&str> = object.split('_').filter(|part| part.len() > 2).collect();
        let refused = self.discovered.refused();
        let likely = refused.iter().find(|(topic, _)| {
            let topic = topic.to_lowercase();
            topic.contains(object) || (!parts.is_empty() && parts.iter().all(|part| topic.contains(part)))
        });
        match likely {
            Some((topic, why)) => format!("no entity {id}; the announcement on {topic} was refused: {why}"),
            None => format!("no entity {id}; `homeloop entities` lists what there is"),
        }
    }

    fn tiers(&self, entity: &Entity, state: &State) -> Vec<TierView> {
        let principal = Principal {
            name: "a person of this house".into(),
            channel: Channel::Local,
            scopes: vec![Scope::Read, Scope::Command],
        };
        let asked = Asked { principal: &principal, conversation: None, taint: None, sent: &[] };
        let tier = |action: &Action| {
            let decided =
                decide("", &[Leaf { action, entity, state }], &asked, &self.facts, self.policy, &[]);
            let leaf = decided.leaves().first();
            TierView {
                verb: action.verb.word().to_owned(),
                tier: decided.tier().word().to_owned(),
                decision: match decided.decision() {
                    Decision::Allow => "allow",
                    Decision::Ask => "ask",
                    Decision::Deny => "deny",
                }
                .to_owned(),
                reasons: leaf.map(|leaf| leaf.reasons.clone()).unwrap_or_default(),
            }
        };
        let actions = entity.actions.iter().map(|spec| Action::new(entity.id.clone(), spec.verb));
        actions.map(|action| tier(&action)).collect()
    }
}

/// Keys that name a topic to publish to and do not end in `command_topic`.
const PUBLISH_KEYS: &[&str] = &["set_position_topic", "set_fan_speed_topic", "send_command_topic"];

fn publishes(keys: &Map<String, Value>) -> BTreeMap<String, String> {
    let is_publish = |key: &str| key.ends_with("command_topic") || PUBLISH_KEYS.contains(&key);
    texts(keys, is_publish)
}

fn templates(keys: &Map<String, Value>) -> BTreeMap<String, String> {
    let mut found = texts(keys, |key| key.ends_with("template"));
    for (number, source) in
        keys.get("availability").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        if let Some(template) = source.get("value_template").and_then(Value::as_str) {
            found.insert(format!("availability[{number}].value_template"), template.to_owned());
        }
    }
    found
}

fn texts(keys: &Map<String, Value>, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let wanted = keys.iter().filter(|(key, _)| wanted(key));
    wanted.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn message(last: LastMessage) -> MessageView {
    MessageView {
        topic: last.topic,
        payload: clean(&String::from_utf8_lossy(&last.payload), 4096),
        cut: last.cut,
        retained: last.retained,
        at: last.at,
        fault: last.fault.map(|fault| fault.to_string()),
    }
}

/// Why it can be reached or not, in words.
fn availability(state: &State, keys: Option<&Map<String, Value>>) -> String {
    let expires = keys.and_then(|keys| keys.get("expire_after")).map(|seconds| format!("{seconds} s"));
    let topics = keys.map(availability_topics).unwrap_or_default();
    let named = topics.join(", ");
    match (state.availability, topics.is_empty(), expires) {
        (Availability::Online, true, None) => {
            "online: it has no availability topic; the connection stands for it".into()
        }
        (Availability::Online, true, Some(after)) => {
            format!("online: a message came within the last {after}")
        }
        (Availability::Online, false, _) => format!("online: so it was said on {named}"),
        (Availability::Offline, _, Some(after)) if state.reported.is_some() => {
            format!("offline: no message came for {after}, or it was said on {named}")
        }
        (Availability::Offline, true, _) => "offline: nothing was heard of it".into(),
        (Availability::Offline, false, _) => {
            format!("offline: so it was said on {named}, or one of them is silent")
        }
        (Availability::Unknown, true, Some(_)) => "unknown: no message came yet".into(),
        (Availability::Unknown, true, None) => "unknown: nothing was heard of it yet".into(),
        (Availability::Unknown, false, _) => format!("unknown: nothing was heard on {named}"),
    }
}

fn availability_topics(keys: &Map<String, Value>) -> Vec<String> {
    let single = keys.get("availability_topic").and_then(Value::as_str);
    let list = keys.get("availability").and_then(Value::as_array).into_iter().flatten();
    let list = list.filter_map(|source| source.get("topic").and_then(Value::as_str));
    single.into_iter().chain(list).map(str::to_owned).collect()
}

/// Facts of a house whose time is not now and whose people are not known: of a recording.
pub fn facts_of(house: &House, clock: &Clock, zone: chrono_tz::Tz) -> Facts {
    let now = clock.now();
    let alarm = house.entities().find(|entity| entity.id.as_str().starts_with("alarm_control_panel."));
    Facts {
        now,
        local: now.with_timezone(&zone).naive_local(),
        somebody_home: None,
        alarm: alarm.and_then(|panel| house.state(panel.id.as_str())?.text().map(str::to_owned)),
        outside: None,
    }
}
