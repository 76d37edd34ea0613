//! Recorded messages instead of a broker: the same discovery, codecs and house as in the daemon, and nothing is sent.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::discovered::{Discovered, Target};
use super::why::{Sources, facts_of};
use crate::actuate::{Port, SendError};
use crate::clock::Clock;
use crate::devices::Message;
use crate::devices::discovery::{NoQuarantine, Pins};
use crate::devices::filters::matches;
use crate::devices::registry::{Arrival, Registry};
use crate::devices::template::Sandbox;
use crate::home::SharedHouse;
use crate::http::views::{DiscoveryView, EntityView, WhyView};
use crate::policy::Policy;
use crate::settings::Settings;
use crate::settings::home_file::HomeFile;

/// A message of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub topic: String,
    pub payload: Vec<u8>,
    /// Whether its publisher asked the broker to keep it.
    pub retain: bool,
}

/// Why a line is no message of a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    #[error("it is no JSON object: {0}")]
    NotJson(String),
    #[error("it has no {0}; a line is {{\"topic\": …, \"payload\": …}}, or payload_b64 for bytes")]
    Missing(&'static str),
    #[error("payload_b64 is no base64")]
    NotBase64,
}

impl Recorded {
    /// Reads one line of a recording.
    pub fn parse(line: &str) -> Result<Self, BadLine> {
        let json: Value = serde_json::from_str(line).map_err(|error| BadLine::NotJson(error.to_string()))?;
        let topic = json.get("topic").and_then(Value::as_str).ok_or(BadLine::Missing("topic"))?;
        let payload = match (json.get("payload"), json.get("payload_b64").and_then(Value::as_str)) {
            (Some(Value::String(text)), _) => text.clone().into_bytes(),
            (_, Some(text)) => {
                base64::engine::general_purpose::STANDARD.decode(text).map_err(|_| BadLine::NotBase64)?
            }
            (Some(Value::Null), None) => Vec::new(),
            (_, None) => return Err(BadLine::Missing("payload")),
        };
        let retain = json.get("retain").and_then(Value::as_bool).unwrap_or(false);
        Ok(Self { topic: topic.to_owned(), payload, retain })
    }
}

/// A port that leads nowhere.
struct Nowhere;

impl Port for Nowhere {
    fn send<'a>(&'a self, _: &'a Message) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Err(SendError::Down("this is a recording".into())) })
    }

    fn is_up(&self) -> bool {
        false
    }

    fn connection(&self) -> u64 {
        1
    }
}

/// A house that recorded messages are played to.
pub struct Replay {
    house: SharedHouse,
    codecs: Arc<Registry<dyn Port>>,
    discovered: Discovered,
    port: Arc<dyn Port>,
    policy: Policy,
    clock: Clock,
    zone: chrono_tz::Tz,
    /// What a broker would have kept, for topics that are subscribed to later.
    kept: BTreeMap<String, Vec<u8>>,
}

impl Replay {
    /// An empty house with the places, entities and overrides of `home`.
    pub fn new(
        settings: &Settings,
        home: &HomeFile,
        policy: Policy,
        clock: Clock,
        zone: chrono_tz::Tz,
    ) -> Self {
        let house = SharedHouse::new(home.house());
        let codecs = Arc::new(Registry::<dyn Port>::new(house.clone()));
        let port: Arc<dyn Port> = Arc::new(Nowhere);
        for known in &home.entities {
            if let Some(codec) = &known.codec {
                codecs.insert(known.entity.id.clone(), codec.clone(), port.clone());
            }
        }
        let taken: HashSet<_> = home.entities.iter().map(|known| known.entity.id.clone()).collect();
        let target =
            Target { house: house.clone(), codecs: codecs.clone(), overrides: home.overrides.clone() };
        let sandbox = Sandbox::new(clock.clone(), zone);
        let discovered =
            Discovered::new(settings, target, taken, Pins::default(), Arc::new(NoQuarantine), sandbox);
        Self { house, codecs, discovered, port, policy, clock, zone, kept: BTreeMap::new() }
    }

    /// Plays one message, as if it came live; what it announces gets what was kept on its topics.
    pub fn play(&mut self, message: &Recorded) {
        if message.retain && message.payload.is_empty() {
            self.kept.remove(&message.topic);
        } else if message.retain {
            self.kept.insert(message.topic.clone(), message.payload.clone());
        }
        let effect = self.discovered.read(&message.topic, &message.payload, self.arrival(false), &self.port);
        for filter in &effect.subscribe {
            let kept = self.kept.iter().filter(|(topic, _)| matches(filter, topic));
            for (topic, payload) in kept {
                self.codecs.on_message(topic, payload, self.arrival(true));
            }
        }
        if !effect.consumed {
            self.codecs.on_message(&message.topic, &message.payload, self.arrival(false));
        }
    }

    /// The entities, in the order of their ids.
    pub fn entities(&self) -> Vec<EntityView> {
        let house = self.house.read();
        house.entities().map(|entity| EntityView::of(&house, entity, &self.clock)).collect()
    }

    /// Everything about one entity, or why there is none.
    pub fn why(&self, id: &str) -> Result<WhyView, String> {
        let mut policy = self.policy.clone();
        policy.rules.extend(self.discovered.held());
        self.sources(&policy).why(id)
    }

    pub fn discovery(&self) -> DiscoveryView {
        self.sources(&self.policy).discovery()
    }

    fn sources<'a>(&'a self, policy: &'a Policy) -> Sources<'a> {
        Sources {
            house: &self.house,
            codecs: &self.codecs,
            discovered: &self.discovered,
            policy,
            facts: facts_of(&self.house.read(), &self.clock, self.zone),
            clock: &self.clock,
        }
    }

    fn arrival(&self, retained: bool) -> Arrival {
        Arrival {
            at: self.clock.now(),
            since_boot: self.clock.since_boot().max(Duration::from_millis(1)),
            retained,
            connection: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_messages_or_say_what_they_lack() {
        let text = Recorded::parse(r#"{"topic":"a/b","payload":"x","retain":true,"kind":"state"}"#).unwrap();
        assert_eq!(text, Recorded { topic: "a/b".into(), payload: b"x".to_vec(), retain: true });
        let bytes = Recorded::parse(r#"{"topic":"a","payload_b64":"3q0="}"#).unwrap();
        assert_eq!(bytes.payload, [0xde, 0xad]);
        assert!(Recorded::parse(r#"{"topic":"a","payload":null}"#).unwrap().payload.is_empty());
        for (line, error) in [
            ("nonsense", "no JSON object"),
            (r#"{"payload":"x"}"#, "no topic"),
            (r#"{"topic":"a"}"#, "no payload"),
            (r#"{"topic":"a","payload_b64":"?"}"#, "no base64"),
        ] {
            let told = Recorded::parse(line).unwrap_err().to_string();
            assert!(told.contains(error), "{line}: {told}");
        }
    }

    #[test]
    fn what_was_kept_before_the_announcement_is_known() {
        let profiles = crate::devices::profile::Profiles::embedded().unwrap();
        let home = HomeFile::parse("none", "", &profiles).unwrap();
        let settings = Settings::load(&[]).unwrap();
        let mut replay = Replay::new(&settings, &home, Policy::default(), Clock::system(), chrono_tz::UTC);
        let message = |topic: &str, payload: &str, retain| Recorded {
            topic: topic.into(),
            payload: payload.into(),
            retain,
        };
        replay.play(&message("plug/state", "ON", true));
        let config = r#"{"name":"Plug","stat_t":"plug/state","cmd_t":"plug/set","val_tpl":"{{ value }}"}"#;
        replay.play(&message("homeassistant/switch/plug/config", config, true));
        let why = replay.why("switch.plug").unwrap();
        assert_eq!(why.entity.value.as_deref(), Some("on"));
        assert_eq!(why.source, "homeassistant/switch/plug/config");
        assert_eq!(why.reads, ["plug/state"]);
        assert_eq!(why.publishes["command_topic"], "plug/set");
        assert_eq!(why.templates["value_template"], "{{ value }}");
        let last = why.last_message.unwrap();
        assert_eq!((last.topic.as_str(), last.payload.as_str(), last.retained), ("plug/state", "ON", true));
        let tiers: Vec<_> = why.tiers.iter().map(|tier| (tier.verb.as_str(), tier.tier.as_str())).collect();
        assert_eq!(tiers, [("turn_on", "G1"), ("turn_off", "G1")]);
        replay.play(&message("homeassistant/switch/bad/config", r#"{"name":"Bad"}"#, true));
        assert!(replay.why("switch.bad").unwrap_err().contains("command_topic is missing"));
        assert_eq!(replay.discovery().refused.len(), 1);
        replay.play(&message("plug/state", "\u{7f}?", false));
        assert!(replay.why("switch.plug").unwrap().last_message.unwrap().fault.is_some());
    }
}
