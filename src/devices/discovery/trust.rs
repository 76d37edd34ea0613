//! What a device may never be given to publish to, and what is pinned when it is first seen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::home::Entity;

/// Topics that no announcement may name as a command topic.
#[derive(Debug, Clone)]
pub struct Reserved {
    /// Discovery prefix (`homeassistant`).
    pub prefix: String,
    /// Our own tree (`homeloop/home`).
    pub base: String,
}

impl Reserved {
    /// Why `topic` is reserved, or `None`.
    pub fn reason(&self, topic: &str) -> Option<&'static str> {
        let under =
            |tree: &str| topic == tree || topic.strip_prefix(tree).is_some_and(|rest| rest.starts_with('/'));
        if topic.starts_with('$') {
            Some("topics with $ belong to the broker")
        } else if under(&self.base) || under("homeloop") {
            Some("it is homeloop's own tree")
        } else if under(&self.prefix) && (topic.ends_with("/config") || topic.ends_with("/status")) {
            Some("it would announce or remove devices")
        } else if topic.contains("/bridge/request/") || topic.contains("/bridge/config/") {
            Some("it configures a bridge")
        } else if topic.contains("/_CLIENTS/") || topic.contains("/driver/") && topic.ends_with("/set") {
            Some("it configures a gateway")
        } else if topic.starts_with("tasmota/discovery/") || topic.starts_with("esphome/discover/") {
            Some("it would announce or remove devices")
        } else {
            None
        }
    }
}

/// What is remembered of an item from the first time that it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    pub device_class: Option<String>,
    pub verbs: Vec<String>,
    /// First levels of the topics that it publishes to: the producer's tree.
    pub trees: Vec<String>,
    pub gated: bool,
    /// Fingerprint of what its actions send, for entities whose actions ask a person. Older pins have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<String>,
}

/// Pins by identity and unique id; kept over restarts by whoever keeps state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pins(pub BTreeMap<String, Pin>);

impl Pin {
    pub fn of(entity: &Entity, topics: &[String], surface: &str, gated: bool) -> Self {
        let mut verbs: Vec<String> = entity.actions.iter().map(|spec| spec.verb.word().to_owned()).collect();
        verbs.sort();
        let mut trees: Vec<String> = topics.iter().map(|topic| tree(topic)).collect();
        trees.sort();
        trees.dedup();
        let surface = gated.then(|| surface.to_owned());
        Self { device_class: entity.device_class.clone(), verbs, trees, gated, surface }
    }

    /// Why a person must accept the re-definition `new` before the entity acts again, or `None`.
    ///
    /// That is so where the entity moves to another producer's tree, or where it is gated and what it is or what it
    /// sends changes, or where it would no longer be gated. What cannot act needs nobody's leave.
    pub fn suspends(&self, new: &Pin) -> Option<String> {
        if new.verbs.is_empty() {
            return None;
        }
        if let Some(foreign) = new.trees.iter().find(|tree| !self.trees.contains(tree))
            && !self.trees.is_empty()
        {
            return Some(format!("it now publishes under {foreign:?}; before: {}", self.trees.join(", ")));
        }
        let gated = self.gated || new.gated;
        if gated && self.device_class != new.device_class {
            let name = |class: &Option<String>| class.clone().unwrap_or_else(|| "none".into());
            return Some(format!(
                "its class changed from {} to {}",
                name(&self.device_class),
                name(&new.device_class)
            ));
        }
        if gated && new.verbs.iter().any(|verb| !self.verbs.contains(verb)) {
            return Some("it offers verbs that it did not offer before".into());
        }
        if self.gated && !new.gated {
            return Some("its actions would no longer wait for a person".into());
        }
        match (&self.surface, &new.surface) {
            // Fingerprints of an earlier, shorter form were taken of other keys and say nothing about these.
            (Some(before), Some(after)) if before != after && before.len() == after.len() => {
                Some("its actions would send something else than before".into())
            }
            _ => None,
        }
    }
}

/// The first levels of a topic: one level is the producer's tree (`zigbee2mqtt`, `shellies`, a device's own name).
fn tree(topic: &str) -> String {
    topic.split('/').find(|level| !level.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_topics_have_reasons_and_ordinary_ones_have_none() {
        let reserved = Reserved { prefix: "homeassistant".into(), base: "homeloop/home".into() };
        for topic in [
            "zigbee2mqtt/bridge/request/permit_join",
            "homeassistant/light/x/config",
            "homeassistant/status",
            "homeloop/home/command",
            "homeloop/home/approval/1/decision",
            "$SYS/broker/uptime",
            "zwave/_CLIENTS/ZWAVE_GATEWAY-x/api/hardReset/set",
            "tasmota/discovery/AABBCC/config",
        ] {
            assert!(reserved.reason(topic).is_some(), "{topic}");
        }
        for topic in
            ["zigbee2mqtt/lamp/set", "homeassistant/light/x/set", "cmnd/plug/POWER", "home/a/config/set"]
        {
            assert_eq!(reserved.reason(topic), None, "{topic}");
        }
    }
}
