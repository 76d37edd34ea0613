//! Whose decisions over MQTT are believed, by the configured mode.
//!
//! The mode is what the settings ask for, unless the broker cannot carry it: a mode that rests on the broker's word is
//! refused where the broker lets everybody in. The daemon then says so and takes approvals over HTTP alone.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::{ExposeSecret, SecretString};

use crate::mqtt::broker::accounts::{Account, Role};
use crate::mqtt::inbox::DecisionMessage;
use crate::policy::{Channel, Principal, Scope};
use crate::secret_file;
use crate::settings::{Broker, Mqtt, MqttApprovals};

/// Shortest key of an approver, in bytes.
const MIN_KEY: usize = 32;

/// Why the settings cannot say who approves over MQTT. It stops the start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApproversError {
    #[error(
        "mqtt.commands.approvals is \"accounts\"; it needs mqtt.broker = \"embedded\" and an account of role approver \
         in mqtt.embedded.accounts_file"
    )]
    NoApprover,
    #[error(
        "mqtt.commands.approvals is \"acl\"; it is for an external broker whose ACL you vouch for; with the embedded \
         broker use \"accounts\""
    )]
    NotExternal,
    #[error("mqtt.commands.approvals is \"hmac\"; it needs at least one key in mqtt.commands.hmac_keys")]
    NoKey,
    #[error("mqtt.commands.hmac_keys.{name}: {why}")]
    Key { name: String, why: String },
}

/// See the module.
#[derive(Default)]
pub struct Approvers {
    accounts: BTreeSet<String>,
    keys: BTreeMap<String, SecretString>,
    /// Whoever may write the topic of decisions, as the operator vouches for the broker's ACL.
    by_acl: bool,
}

impl Approvers {
    /// Reads who may decide. `anonymous` says whether the broker lets clients in without a name.
    pub fn new(mqtt: &Mqtt, accounts: &[Account], anonymous: bool) -> Result<Self, ApproversError> {
        let mode = mqtt.commands.approvals;
        if anonymous && mode != MqttApprovals::Off {
            tracing::error!(
                ?mode,
                "the broker lets everybody in, so decisions over MQTT are refused; approve over HTTP, or give \
                 homeloop and every client an account on the broker"
            );
            return Ok(Self::default());
        }
        match mode {
            MqttApprovals::Off => Ok(Self::default()),
            MqttApprovals::Accounts => {
                let approver = |account: &&Account| account.role == Role::Approver;
                let accounts: BTreeSet<String> =
                    accounts.iter().filter(approver).map(|account| account.name.clone()).collect();
                if mqtt.broker != Broker::Embedded || accounts.is_empty() {
                    return Err(ApproversError::NoApprover);
                }
                Ok(Self { accounts, ..Self::default() })
            }
            MqttApprovals::Acl if mqtt.broker == Broker::Embedded => Err(ApproversError::NotExternal),
            MqttApprovals::Acl => Ok(Self { by_acl: true, ..Self::default() }),
            MqttApprovals::Hmac => Ok(Self { keys: keys(mqtt)?, ..Self::default() }),
        }
    }

    /// The person behind a decision; `None` where nobody vouches for the sender.
    pub fn of(&self, decision: &DecisionMessage) -> Option<Principal> {
        if let Some(sender) = decision.sender.as_deref().filter(|sender| self.accounts.contains(*sender)) {
            return Some(approver(Some(sender)));
        }
        if let Some((name, _)) = self.keys.iter().find(|(_, key)| decision.signed_with(key)) {
            return Some(approver(Some(name)));
        }
        self.by_acl.then(|| approver(None))
    }
}

fn approver(name: Option<&str>) -> Principal {
    let name = name.map_or_else(|| "mqtt".to_owned(), |name| format!("mqtt:{name}"));
    Principal { name, channel: Channel::Mqtt, scopes: vec![Scope::Approve] }
}

fn keys(mqtt: &Mqtt) -> Result<BTreeMap<String, SecretString>, ApproversError> {
    let mut keys: BTreeMap<String, SecretString> = BTreeMap::new();
    for (name, file) in &mqtt.commands.hmac_keys {
        let wrong = |why: String| ApproversError::Key { name: name.clone(), why };
        if !crate::mqtt::topics::is_id(name) {
            return Err(wrong("the name must be 1 to 64 of A-Z a-z 0-9 _ -".to_owned()));
        }
        let key = secret_file::read(file).map_err(|error| wrong(error.to_string()))?;
        if key.expose_secret().len() < MIN_KEY {
            return Err(wrong(format!(
                "the key has fewer than {MIN_KEY} bytes; make one with: openssl rand -hex 32"
            )));
        }
        if keys.values().any(|other| other.expose_secret() == key.expose_secret()) {
            return Err(wrong("another approver has the same key; each needs their own".to_owned()));
        }
        keys.insert(name.clone(), key);
    }
    if keys.is_empty() { Err(ApproversError::NoKey) } else { Ok(keys) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use std::os::unix::fs::PermissionsExt;

    fn mqtt(broker: Broker, mode: MqttApprovals) -> Mqtt {
        let mut mqtt = Settings::load(&[]).unwrap().mqtt;
        (mqtt.broker, mqtt.commands.approvals) = (broker, mode);
        mqtt
    }

    fn account(name: &str, role: Role) -> Account {
        Account { name: name.into(), password: SecretString::from("x".to_owned()), role }
    }

    #[test]
    fn s11_a_mode_that_the_broker_cannot_carry_is_refused() {
        use MqttApprovals::{Accounts, Acl, Hmac, Off};
        let accounts = [account("anna", Role::Approver), account("tv", Role::Person)];
        for (broker, mode, accounts, anonymous, expected) in [
            (Broker::Embedded, Off, &accounts[..], false, Ok(0)),
            (Broker::Embedded, Accounts, &accounts[..], false, Ok(1)),
            (Broker::Embedded, Accounts, &accounts[1..], false, Err(ApproversError::NoApprover)),
            (Broker::External, Accounts, &accounts[..], false, Err(ApproversError::NoApprover)),
            (Broker::Embedded, Acl, &accounts[..], false, Err(ApproversError::NotExternal)),
            (Broker::External, Acl, &[][..], false, Ok(0)),
            (Broker::External, Hmac, &[][..], false, Err(ApproversError::NoKey)),
            // It starts, and nobody is believed.
            (Broker::External, Acl, &[][..], true, Ok(0)),
            (Broker::External, Hmac, &[][..], true, Ok(0)),
            (Broker::Embedded, Accounts, &accounts[..], true, Ok(0)),
        ] {
            let made = Approvers::new(&mqtt(broker, mode), accounts, anonymous);
            let found = made.as_ref().map(|made| made.accounts.len()).map_err(Clone::clone);
            assert_eq!(found, expected, "{broker:?} {mode:?} {anonymous}");
            let vouched = mode == Acl && broker == Broker::External && !anonymous;
            assert_eq!(made.is_ok_and(|made| made.by_acl), vouched, "{broker:?} {mode:?} {anonymous}");
        }
    }

    #[test]
    fn keys_are_long_private_and_different() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str, mode: u32| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let (long, other) = ("k".repeat(64), "o".repeat(64));
        let good = [put("anna", &long, 0o600), put("ben", &other, 0o600)];
        let with = |files: &[(&str, &std::path::Path)]| {
            let mut mqtt = mqtt(Broker::External, MqttApprovals::Hmac);
            mqtt.commands.hmac_keys =
                files.iter().map(|(name, path)| ((*name).to_owned(), path.to_path_buf())).collect();
            Approvers::new(&mqtt, &[], false)
        };
        assert_eq!(with(&[("anna", &good[0]), ("ben", &good[1])]).unwrap().keys.len(), 2);
        assert!(with(&[("anna", &good[0]), ("ben", &good[0])]).is_err(), "one key for two");
        assert!(with(&[("anna", &put("short", "k", 0o600))]).is_err());
        assert!(with(&[("anna", &put("open", &long, 0o644))]).is_err());
        assert!(with(&[("a/b", &good[0])]).is_err());
    }
}
