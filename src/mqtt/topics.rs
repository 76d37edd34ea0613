//! The topics of homeloop, and the rules of MQTT topics.
//!
//! The base is `homeloop/<home>`. This module builds and reads our own topics and checks any topic or filter before it
//! leaves the machine. It does not subscribe and does not publish.

mod filter;

pub use filter::{BadTopic, check_filter, check_topic, overlap, within};

pub use crate::devices::filters::matches;

/// Longest topic or filter that we accept or send, in bytes. MQTT allows 65,535; no house needs them.
pub const MAX_TOPIC: usize = 512;

/// The topics under one base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    base: String,
}

/// What one of our incoming topics asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming<'a> {
    Command,
    Stop,
    Pause,
    /// The decision on the approval with this id.
    Decision {
        approval: &'a str,
    },
    /// What somebody says in the conversation with this id; what homeloop says there is published there too.
    Chat {
        conversation: &'a str,
    },
    /// A recorded utterance from this site.
    Audio {
        site: &'a str,
    },
}

impl Topics {
    /// Topics under `base` (`homeloop/home`), which must be a legal topic without a leading `$` or empty levels.
    pub fn new(base: &str) -> Result<Self, BadTopic> {
        check_topic(base)?;
        if base.split('/').any(str::is_empty) {
            return Err(BadTopic::EmptyLevel(base.to_owned()));
        }
        Ok(Self { base: base.to_owned() })
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// `online` or `offline`, retained; the last will.
    pub fn status(&self) -> String {
        self.under("status")
    }

    pub fn command(&self) -> String {
        self.under("command")
    }

    pub fn stop(&self) -> String {
        self.under("stop")
    }

    /// `ON`: take no commands; `OFF`: take them again.
    pub fn pause(&self) -> String {
        self.under("pause")
    }

    /// What our own device in Home Assistant shows, as one JSON object; retained.
    pub fn device_state(&self) -> String {
        self.under("device/state")
    }

    /// What happens to approvals, for the event entity of our own device.
    pub fn device_event(&self) -> String {
        self.under("device/event")
    }

    /// Results of all tasks.
    pub fn result(&self) -> String {
        self.under("result")
    }

    pub fn task_event(&self, task: &str) -> String {
        format!("{}/task/{task}/event", self.base)
    }

    pub fn task_result(&self, task: &str) -> String {
        format!("{}/task/{task}/result", self.base)
    }

    /// What a person must see; retained until it is resolved.
    pub fn approval(&self, id: &str) -> String {
        format!("{}/approval/{id}", self.base)
    }

    pub fn decision(&self, id: &str) -> String {
        format!("{}/approval/{id}/decision", self.base)
    }

    /// All approvals, to clear what an earlier run left behind.
    pub fn every_approval(&self) -> String {
        self.under("approval/+")
    }

    /// A conversation, both ways.
    pub fn chat(&self, conversation: &str) -> String {
        format!("{}/chat/{conversation}", self.base)
    }

    /// Where a voice site sends its `audio`, and hears its `speech` and reads its `text`.
    pub fn voice(&self, site: &str, what: &str) -> String {
        format!("{}/voice/{site}/{what}", self.base)
    }

    /// The filters of everything that we listen to on our own tree.
    pub fn subscriptions(&self) -> Vec<String> {
        vec![
            self.command(),
            self.stop(),
            self.pause(),
            self.decision("+"),
            self.chat("+"),
            self.voice("+", "audio"),
        ]
    }

    /// Whether a filter for devices would also catch what is sent to us. Some brokers deliver a message once for each
    /// filter that matches it, and a command must not arrive twice; so such a filter is not subscribed.
    pub fn disturbed_by(&self, filter: &str) -> bool {
        self.subscriptions().iter().any(|own| overlap(own, filter))
    }

    /// Whether a topic lies in our own tree. No device may be made to speak or listen there.
    pub fn owns(&self, topic: &str) -> bool {
        topic.strip_prefix(&self.base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// What an incoming topic of our tree asks for; `None` for any other topic.
    pub fn read<'a>(&self, topic: &'a str) -> Option<Incoming<'a>> {
        let rest = topic.strip_prefix(&self.base)?.strip_prefix('/')?;
        match rest {
            "command" => Some(Incoming::Command),
            "stop" => Some(Incoming::Stop),
            "pause" => Some(Incoming::Pause),
            _ => between(rest, "approval/", "/decision")
                .map(|approval| Incoming::Decision { approval })
                .or_else(|| between(rest, "chat/", "").map(|conversation| Incoming::Chat { conversation }))
                .or_else(|| between(rest, "voice/", "/audio").map(|site| Incoming::Audio { site })),
        }
    }

    fn under(&self, rest: &str) -> String {
        format!("{}/{rest}", self.base)
    }
}

/// The id between two parts of a topic, if it is one.
fn between<'a>(topic: &'a str, before: &str, after: &str) -> Option<&'a str> {
    topic.strip_prefix(before)?.strip_suffix(after).filter(|id| is_id(id))
}

/// Whether `text` can stand as one level of a topic and as an id in our records: 1 to 64 of `A-Z a-z 0-9 _ -`.
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Whether a reply may go to `topic`, which a stranger chose as response topic or `reply_to`.
///
/// A reply is a publish in our name, so it must not reach what acts on messages: our own tree (but `<base>/reply/…`
/// is there for this), discovery, `$` topics, and the usual command topics of devices and bridges.
/// The caller also asks who owns the topic in the house.
pub fn reply_allowed(topics: &Topics, discovery_prefix: &str, topic: &str) -> bool {
    if check_topic(topic).is_err() {
        return false;
    }
    if topics.owns(topic) {
        return topic
            .strip_prefix(topics.base())
            .and_then(|rest| rest.strip_prefix("/reply/"))
            .is_some_and(|rest| !rest.is_empty());
    }
    let discovery =
        topic.strip_prefix(discovery_prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let acts = |level: &str| {
        ["set", "get", "cmnd", "command", "commands", "request", "rpc", "action", "trigger"]
            .iter()
            .any(|word| level.eq_ignore_ascii_case(word))
    };
    !discovery && !topic.split('/').any(acts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics() -> Topics {
        Topics::new("homeloop/home").unwrap()
    }

    #[test]
    fn our_topics_are_those_of_the_design() {
        let topics = topics();
        for (built, expected) in [
            (topics.status(), "homeloop/home/status"),
            (topics.command(), "homeloop/home/command"),
            (topics.stop(), "homeloop/home/stop"),
            (topics.result(), "homeloop/home/result"),
            (topics.task_event("01J"), "homeloop/home/task/01J/event"),
            (topics.task_result("01J"), "homeloop/home/task/01J/result"),
            (topics.approval("01K"), "homeloop/home/approval/01K"),
            (topics.decision("01K"), "homeloop/home/approval/01K/decision"),
            (topics.chat("c1"), "homeloop/home/chat/c1"),
            (topics.voice("hall", "speech"), "homeloop/home/voice/hall/speech"),
        ] {
            assert_eq!(built, expected);
            assert!(topics.owns(&built));
        }
    }

    #[test]
    fn incoming_topics_are_read_exactly() {
        let topics = topics();
        for (topic, expected) in [
            ("homeloop/home/command", Some(Incoming::Command)),
            ("homeloop/home/stop", Some(Incoming::Stop)),
            ("homeloop/home/pause", Some(Incoming::Pause)),
            ("homeloop/home/approval/01K/decision", Some(Incoming::Decision { approval: "01K" })),
            ("homeloop/home/approval//decision", None),
            ("homeloop/home/approval/a/b/decision", None),
            ("homeloop/home/approval/+/decision", None),
            ("homeloop/home/approval/01K", None),
            ("homeloop/home/chat/kitchen-1", Some(Incoming::Chat { conversation: "kitchen-1" })),
            ("homeloop/home/chat/a/b", None),
            ("homeloop/home/chat/", None),
            ("homeloop/home/voice/hall/audio", Some(Incoming::Audio { site: "hall" })),
            ("homeloop/home/voice/hall/speech", None),
            ("homeloop/home/voice/hall/x/audio", None),
            ("homeloop/home/commands", None),
            ("homeloop/home/command/", None),
            ("homeloop/home2/command", None),
            ("homeloop/home", None),
            ("command", None),
        ] {
            assert_eq!(topics.read(topic), expected, "{topic}");
        }
    }

    #[test]
    fn own_tree_ends_at_a_level() {
        let topics = topics();
        for (topic, owned) in [
            ("homeloop/home", true),
            ("homeloop/home/x", true),
            ("homeloop/homes", false),
            ("x/homeloop/home", false),
        ] {
            assert_eq!(topics.owns(topic), owned, "{topic}");
        }
    }

    #[test]
    fn filters_that_catch_commands_are_known() {
        let topics = topics();
        for (filter, disturbs) in [
            ("#", true),
            ("homeloop/#", true),
            ("+/+/command", true),
            ("homeloop/home/approval/+/+", true),
            ("+/+/BTtoMQTT/x", false),
            ("zigbee2mqtt/#", false),
            ("homeloop/home/reply/#", false),
        ] {
            assert_eq!(topics.disturbed_by(filter), disturbs, "{filter}");
        }
    }

    #[test]
    fn a_base_must_be_a_plain_topic() {
        for base in ["", "a//b", "/a", "a/", "a/+", "#", "$SYS/a", "a\nb"] {
            assert!(Topics::new(base).is_err(), "{base:?}");
        }
        assert!(Topics::new("家/一楼").is_ok());
    }

    #[test]
    fn replies_never_reach_what_acts() {
        let topics = topics();
        for (topic, allowed) in [
            ("client/7/response", true),
            ("homeloop/home/reply/phone", true),
            ("homeloop/home/reply/", false),
            ("homeloop/home/command", false),
            ("homeloop/home/approval/01K/decision", false),
            ("homeloop/home/status", false),
            ("homeassistant/light/x/config", false),
            ("homeassistant", false),
            ("homeassistants/x", true),
            ("zigbee2mqtt/lamp/set", false),
            ("zigbee2mqtt/bridge/request/restart", false),
            ("cmnd/plug/POWER", false),
            ("shelly/rpc", false),
            ("a/SET/b", false),
            ("$SYS/x", false),
            ("a/+", false),
            ("", false),
        ] {
            assert_eq!(reply_allowed(&topics, "homeassistant", topic), allowed, "{topic}");
        }
    }
}
