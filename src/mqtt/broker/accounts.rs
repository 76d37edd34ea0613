//! Who may connect to the embedded broker, and as what.

use secrecy::SecretString;

use crate::mqtt::topics::{BadTopic, check_topic, is_id};

/// One name with its password and role.
#[derive(Debug, Clone)]
pub struct Account {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`. Messages carry it to the daemon as the proof of who published.
    pub name: String,
    pub password: SecretString,
    pub role: Role,
}

/// What an account may do. What no role lists is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// homeloop itself: everything but `$` topics.
    Agent,
    /// Gives commands, stops them, reads what becomes of them.
    Person,
    /// A person who may also decide on approvals.
    Approver,
    /// A device or a bridge: its own trees and its own announcement, nothing of anybody else.
    Device(DeviceRights),
    /// Reads everything but decisions; says nothing.
    ReadOnly,
}

/// The trees of a device, and what it may announce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRights {
    /// Topics under which it may publish and subscribe (`zigbee2mqtt`, `shellies/plug-1`). Never under our own base.
    pub trees: Vec<String>,
    pub announces: Announces,
}

impl DeviceRights {
    /// One tree and one announcement, both under the account's own name.
    pub fn own(name: &str) -> Self {
        Self { trees: vec![name.to_owned()], announces: Announces::OwnNode }
    }
}

/// Which discovery messages a device may publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announces {
    Nothing,
    /// `<prefix>/<component>/<account>/config` and `<prefix>/<component>/<account>/<object>/config`.
    OwnNode,
    /// Anything under the prefix that ends in `/config`: for bridges, which announce many devices.
    Anything,
}

/// Why an account is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAccount {
    #[error("the account name {0:?} must be 1 to 64 of A-Z a-z 0-9 _ -")]
    Name(String),
    #[error("the account {0:?} stands twice")]
    Twice(String),
    #[error("the password of account {0:?} is empty")]
    NoPassword(String),
    #[error("the tree {tree:?} of account {account:?} is not possible: {error}")]
    Tree { account: String, tree: String, error: BadTopic },
    #[error("the tree {tree:?} of account {account:?} overlaps {base:?}, which is homeloop's own")]
    OwnTree { account: String, tree: String, base: String },
}

impl Account {
    /// Checks the name, the password and the trees.
    pub fn check(&self, base: &str) -> Result<(), BadAccount> {
        use secrecy::ExposeSecret;
        if !is_id(&self.name) {
            return Err(BadAccount::Name(self.name.clone()));
        }
        if self.password.expose_secret().is_empty() {
            return Err(BadAccount::NoPassword(self.name.clone()));
        }
        self.role.check(&self.name, base)
    }
}

impl Role {
    pub(super) fn check(&self, account: &str, base: &str) -> Result<(), BadAccount> {
        let Self::Device(rights) = self else { return Ok(()) };
        for tree in &rights.trees {
            check_topic(tree).map_err(|error| BadAccount::Tree {
                account: account.to_owned(),
                tree: tree.clone(),
                error,
            })?;
            if under(base, tree) || under(tree, base) {
                return Err(BadAccount::OwnTree {
                    account: account.to_owned(),
                    tree: tree.clone(),
                    base: base.to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Whether `topic` is `tree` or lies below it.
pub(super) fn under(topic: &str, tree: &str) -> bool {
    topic.strip_prefix(tree).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str, password: &str, trees: &[&str]) -> Account {
        let trees = trees.iter().map(|tree| (*tree).to_owned()).collect();
        Account {
            name: name.into(),
            password: password.into(),
            role: Role::Device(DeviceRights { trees, announces: Announces::Nothing }),
        }
    }

    #[test]
    fn bad_accounts_are_refused_with_the_reason() {
        for (account, good) in [
            (account("plug-1", "x", &["shellies/plug-1"]), true),
            (account("#", "x", &[]), false),
            (account("+", "x", &[]), false),
            (account("a/b", "x", &[]), false),
            (account("", "x", &[]), false),
            (account("plug", "", &[]), false),
            (account("plug", "x", &["a/#"]), false),
            (account("plug", "x", &["homeloop"]), false),
            (account("plug", "x", &["homeloop/home"]), false),
            (account("plug", "x", &["homeloop/home/command"]), false),
            (account("plug", "x", &["homeloop/other"]), true),
            (account("plug", "x", &["$SYS"]), false),
        ] {
            assert_eq!(account.check("homeloop/home").is_ok(), good, "{account:?}");
        }
    }
}
