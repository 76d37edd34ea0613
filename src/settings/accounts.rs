//! Accounts of the embedded broker: who may connect, and as what.
//!
//! ```toml
//! [[account]]
//! name = "anna"
//! password = "…"
//! role = "approver"            # person, approver, device, readonly
//!
//! [[account]]
//! name = "zigbee2mqtt"
//! password = "…"
//! role = "device"
//! trees = ["zigbee2mqtt"]      # its own name where left out
//! announces = "anything"       # nothing, own-node (default), anything (bridges)
//! ```

use std::path::Path;

use secrecy::SecretString;
use serde::Deserialize;

use crate::devices::{FileError, Source};
use crate::mqtt::broker::accounts::{Account, Announces, DeviceRights, Role};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    account: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    password: SecretString,
    role: RoleWord,
    #[serde(default)]
    trees: Vec<String>,
    #[serde(default)]
    announces: AnnouncesWord,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RoleWord {
    Person,
    Approver,
    Device,
    Readonly,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AnnouncesWord {
    Nothing,
    #[default]
    OwnNode,
    Anything,
}

/// Reads an accounts file. It holds passwords: the file must be readable by its owner alone.
pub fn load(path: &Path) -> Result<Vec<Account>, FileError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| FileError::whole(&file, format!("cannot be read: {error}")))?;
    if others_can_read(path) {
        return Err(FileError::whole(
            &file,
            "can be read by others; it holds passwords: chmod 600".to_owned(),
        ));
    }
    parse(&file, &text)
}

fn others_can_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

fn parse(file: &str, text: &str) -> Result<Vec<Account>, FileError> {
    let source = Source { file, text };
    let parsed: File = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
    Ok(parsed.account.into_iter().map(account).collect())
}

fn account(entry: Entry) -> Account {
    let role = match entry.role {
        RoleWord::Person => Role::Person,
        RoleWord::Approver => Role::Approver,
        RoleWord::Readonly => Role::ReadOnly,
        RoleWord::Device => {
            let trees = if entry.trees.is_empty() { vec![entry.name.clone()] } else { entry.trees };
            let announces = match entry.announces {
                AnnouncesWord::Nothing => Announces::Nothing,
                AnnouncesWord::OwnNode => Announces::OwnNode,
                AnnouncesWord::Anything => Announces::Anything,
            };
            Role::Device(DeviceRights { trees, announces })
        }
    };
    Account { name: entry.name, password: entry.password, role }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_and_faults_have_a_line() {
        let text =
            "[[account]]\nname = \"z2m\"\npassword = \"x\"\nrole = \"device\"\nannounces = \"anything\"\n";
        let accounts = parse("a.toml", text).unwrap();
        let rights = DeviceRights { trees: vec!["z2m".into()], announces: Announces::Anything };
        assert_eq!(accounts[0].role, Role::Device(rights));
        let error =
            parse("a.toml", "[[account]]\nname = \"x\"\npassword = \"x\"\nrole = \"king\"\n").err().unwrap();
        assert!(error.to_string().contains("a.toml:4"), "{error}");
    }
}
