//! What each role may publish and subscribe. Pure: one function for each, and a table of tests.

use super::accounts::{Announces, DeviceRights, Role, under};
use crate::mqtt::topics::{Incoming, Topics, check_filter, check_topic, within};

/// The names that the rules are about.
#[derive(Debug, Clone)]
pub(super) struct Rights {
    pub(super) topics: Topics,
    pub(super) discovery_prefix: String,
}

impl Rights {
    pub(super) fn may_publish(&self, account: &str, role: &Role, topic: &str) -> bool {
        if check_topic(topic).is_err() {
            return false;
        }
        match role {
            Role::Agent => true,
            Role::ReadOnly => false,
            Role::Person => self.person_publishes(topic),
            Role::Approver => self.person_publishes(topic) || self.decides(topic),
            Role::Device(rights) => !self.topics.owns(topic) && self.device_publishes(account, rights, topic),
        }
    }

    pub(super) fn may_subscribe(&self, account: &str, role: &Role, filter: &str) -> bool {
        // `$share/<group>/<filter>` reads what the filter reads.
        let filter = match filter.strip_prefix("$share/").and_then(|rest| rest.split_once('/')) {
            Some((_, shared)) => shared,
            None => filter,
        };
        if check_filter(filter).is_err() || filter.starts_with('$') {
            return false;
        }
        match role {
            Role::Agent | Role::ReadOnly => true,
            Role::Person | Role::Approver => within(filter, &format!("{}/#", self.topics.base())),
            Role::Device(rights) => {
                let own = rights.trees.iter().any(|tree| within(filter, &format!("{tree}/#")));
                let birth = filter == format!("{}/status", self.discovery_prefix);
                own || (birth && rights.announces != Announces::Nothing)
                    || self.own_announcement(account, rights, filter)
            }
        }
    }

    fn person_publishes(&self, topic: &str) -> bool {
        match self.topics.read(topic) {
            Some(
                Incoming::Command
                | Incoming::Stop
                | Incoming::Pause
                | Incoming::Chat { .. }
                | Incoming::Audio { .. },
            ) => true,
            Some(Incoming::Decision { .. }) | None => false,
        }
    }

    fn decides(&self, topic: &str) -> bool {
        matches!(self.topics.read(topic), Some(Incoming::Decision { .. }))
    }

    fn device_publishes(&self, account: &str, rights: &DeviceRights, topic: &str) -> bool {
        rights.trees.iter().any(|tree| under(topic, tree)) || self.own_announcement(account, rights, topic)
    }

    fn own_announcement(&self, account: &str, rights: &DeviceRights, topic: &str) -> bool {
        let Some(rest) = topic.strip_prefix(&self.discovery_prefix).and_then(|rest| rest.strip_prefix('/'))
        else {
            return false;
        };
        let mut levels = rest.split('/');
        let parts = (levels.next(), levels.next(), levels.next(), levels.next(), levels.next());
        let node = match parts {
            (Some(_), Some(node), Some("config"), None, None) => node,
            (Some(_), Some(node), Some(_), Some("config"), None) => node,
            _ => return false,
        };
        match rights.announces {
            Announces::Nothing => false,
            Announces::OwnNode => node == account && !rest.contains(['+', '#']),
            Announces::Anything => true,
        }
    }
}

#[cfg(test)]
mod deploy_tests;

#[cfg(test)]
fn rights() -> Rights {
    Rights { topics: Topics::new("homeloop/home").unwrap(), discovery_prefix: "homeassistant".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plug() -> Role {
        Role::Device(DeviceRights { trees: vec!["shellies/plug-1".into()], announces: Announces::OwnNode })
    }

    fn bridge() -> Role {
        Role::Device(DeviceRights { trees: vec!["zigbee2mqtt".into()], announces: Announces::Anything })
    }

    #[test]
    fn who_may_publish_what() {
        // Agent, person, approver, read only, plug-1, bridge.
        let roles = [Role::Agent, Role::Person, Role::Approver, Role::ReadOnly, plug(), bridge()];
        let table: [(&str, [bool; 6]); 24] = [
            ("homeloop/home/command", [true, true, true, false, false, false]),
            ("homeloop/home/stop", [true, true, true, false, false, false]),
            ("homeloop/home/approval/01K/decision", [true, false, true, false, false, false]),
            ("homeloop/home/approval/01K", [true, false, false, false, false, false]),
            ("homeloop/home/approval/a/b/decision", [true, false, false, false, false, false]),
            ("homeloop/home/chat/c1", [true, true, true, false, false, false]),
            ("homeloop/home/chat/c1/x", [true, false, false, false, false, false]),
            ("homeloop/home/voice/hall/audio", [true, true, true, false, false, false]),
            ("homeloop/home/voice/hall/speech", [true, false, false, false, false, false]),
            ("homeloop/home/result", [true, false, false, false, false, false]),
            ("homeloop/home/status", [true, false, false, false, false, false]),
            ("homeloop/home", [true, false, false, false, false, false]),
            ("shellies/plug-1/relay/0", [true, false, false, false, true, false]),
            ("shellies/plug-1", [true, false, false, false, true, false]),
            ("shellies/plug-10/relay/0", [true, false, false, false, false, false]),
            ("shellies/plug-2/relay/0/command", [true, false, false, false, false, false]),
            ("zigbee2mqtt/lock/set", [true, false, false, false, false, true]),
            ("zigbee2mqtt/bridge/request/permit_join", [true, false, false, false, false, true]),
            ("homeassistant/switch/plug-1/relay/config", [true, false, false, false, true, true]),
            ("homeassistant/switch/plug-1/config", [true, false, false, false, true, true]),
            ("homeassistant/switch/plug-2/config", [true, false, false, false, false, true]),
            ("homeassistant/switch/plug-1/a/b/config", [true, false, false, false, false, false]),
            ("homeassistant/status", [true, false, false, false, false, false]),
            ("$SYS/broker/version", [false, false, false, false, false, false]),
        ];
        for (topic, expected) in table {
            for (role, expected) in roles.iter().zip(expected) {
                assert_eq!(rights().may_publish("plug-1", role, topic), expected, "{topic} {role:?}");
            }
        }
    }

    #[test]
    fn who_may_subscribe_what() {
        let roles = [Role::Agent, Role::Person, Role::Approver, Role::ReadOnly, plug(), bridge()];
        let table: [(&str, [bool; 6]); 14] = [
            ("#", [true, false, false, true, false, false]),
            ("+/#", [true, false, false, true, false, false]),
            ("homeloop/#", [true, false, false, true, false, false]),
            ("homeloop/home/#", [true, true, true, true, false, false]),
            ("homeloop/home/result", [true, true, true, true, false, false]),
            ("homeloop/home/approval/+", [true, true, true, true, false, false]),
            ("shellies/plug-1/#", [true, false, false, true, true, false]),
            ("shellies/+/relay/0", [true, false, false, true, false, false]),
            ("shellies/#", [true, false, false, true, false, false]),
            ("zigbee2mqtt/+/set", [true, false, false, true, false, true]),
            ("homeassistant/status", [true, false, false, true, true, true]),
            ("homeassistant/#", [true, false, false, true, false, false]),
            ("$SYS/#", [false, false, false, false, false, false]),
            ("$share/g/shellies/plug-1/#", [true, false, false, true, true, false]),
        ];
        for (filter, expected) in table {
            for (role, expected) in roles.iter().zip(expected) {
                assert_eq!(rights().may_subscribe("plug-1", role, filter), expected, "{filter} {role:?}");
            }
        }
        for filter in ["$share/g/#", "$share/g/shellies/#", "$share/#", "$share/g"] {
            assert!(!rights().may_subscribe("plug-1", &plug(), filter), "{filter}");
        }
    }
}
