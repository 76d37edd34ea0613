//! Everything that the daemon itself holds and that must never reach a provider of language models.

use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};

use super::{Settings, given};
use crate::model::settings::KeySource;
use crate::secret_file;

/// Most files of a directory of secrets that are read: a directory named by mistake is not searched to its end.
const MOST_FILES: usize = 1000;

impl Settings {
    /// The broker's password, Home Assistant's token, keys of providers and approvers, the codes of devices, and
    /// systemd's credentials, as far as they can be read now. What is replaced later is known from the next start on.
    pub fn private_values(&self) -> Vec<SecretString> {
        let keys = self.models.named.values().filter_map(|model| model.key.as_ref());
        let headers = self.models.named.values().flat_map(|model| &model.headers);
        let mut values: Vec<SecretString> =
            headers.filter_map(|(name, value)| secret_of_header(name, value.expose_secret())).collect();
        let mut files: Vec<PathBuf> = Vec::new();
        for key in keys {
            match key {
                KeySource::Env(name) => values.extend(std::env::var(name).ok().map(SecretString::from)),
                KeySource::File(path) => files.push(path.clone()),
                KeySource::Credential(name) => files.push(PathBuf::from(name)),
            }
        }
        let single = [&self.mqtt.password_file, &self.hass.token_file];
        files.extend(single.into_iter().filter_map(|file| given(file)).map(Path::to_owned));
        files.extend(self.mqtt.commands.hmac_keys.values().cloned());
        files.extend(secrets_in(&self.secrets_dir()));
        if let Some(credentials) = secret_file::credentials() {
            files.extend(secrets_in(&credentials));
        }
        // What cannot be read is told where it is needed.
        values.extend(files.iter().filter_map(|file| secret_file::read(file).ok()));
        values
    }
}

/// The secret in a header of that name, without its scheme (`Bearer`); none in a header that only names something.
fn secret_of_header(name: &str, value: &str) -> Option<SecretString> {
    const SECRET: [&str; 5] = ["auth", "key", "token", "secret", "cookie"];
    let name = name.to_ascii_lowercase();
    let value = value.split_whitespace().next_back()?;
    SECRET.iter().any(|word| name.contains(word)).then(|| SecretString::from(value.to_owned()))
}

/// The files of a directory; none where there is none.
fn secrets_in(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let files = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file());
    files.take(MOST_FILES).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn headers_hold_a_secret_where_their_name_says_so() {
        for (name, value, secret) in [
            ("Authorization", "Bearer abc-5150", Some("abc-5150")),
            ("x-api-key", "abc-5150", Some("abc-5150")),
            ("X-Title", "homeloop", None),
            ("x-token", "", None),
        ] {
            let found = secret_of_header(name, value);
            assert_eq!(found.as_ref().map(|found| found.expose_secret()), secret, "{name}");
        }
    }

    #[test]
    fn tokens_passwords_keys_and_codes_are_all_private() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            file
        };
        let mut settings = Settings::load(&[]).unwrap();
        settings.mqtt.password_file = write("mqtt", "broker-password\n");
        settings.hass.token_file = write("hass", "hass-token");
        settings.mqtt.commands.hmac_keys.insert("anna".into(), write("anna", "approver-key"));
        write("codes/front", "4711");
        settings.secrets.dir = dir.path().join("codes");
        let model = settings.models.named.values_mut().next().unwrap();
        model.key = Some(KeySource::File(write("key", "provider-key")));
        let values = settings.private_values();
        let values: Vec<&str> = values.iter().map(|value| value.expose_secret()).collect();
        for wanted in ["broker-password", "hass-token", "approver-key", "4711", "provider-key"] {
            assert!(values.contains(&wanted), "{wanted} of {values:?}");
        }
    }
}
