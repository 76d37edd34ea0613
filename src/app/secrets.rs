//! The codes of locks and alarm panels: read from files or systemd's credentials, handed to the door and to nobody else.
//!
//! Each code is a file of its own in `secrets.dir`, or a credential of the same name. A plan holds the name and a
//! version; the version is a keyed hash, so that a journal that leaks does not give away a code of four digits.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretSlice};
use sha2::Sha256;

use crate::actuate::{Secret, Secrets};
use crate::clock::Clock;
use crate::home::EntityId;
use crate::secret_file;

/// File of the state directory with the key under which versions are made.
const KEY_FILE: &str = "secret-versions.key";

/// See the module.
pub struct SecretStore {
    dir: PathBuf,
    credentials: Option<PathBuf>,
    /// `None` where it could not be read or made: then there are no codes.
    key: Option<SecretSlice<u8>>,
    known: Mutex<HashMap<String, Option<Secret>>>,
    /// Which code an entity that announced itself takes, by the home file.
    codes: Mutex<BTreeMap<EntityId, String>>,
}

impl SecretStore {
    /// Opens the store over `dir`; nothing is read before it is needed.
    pub fn open(dir: PathBuf, state_dir: &Path, clock: &Clock) -> Self {
        let key = version_key(&state_dir.join(KEY_FILE), clock)
            .inspect_err(
                |error| tracing::warn!(%error, "codes of devices cannot be used: no key for versions"),
            )
            .ok();
        let credentials = secret_file::credentials();
        Self { dir, credentials, key, known: Mutex::default(), codes: Mutex::default() }
    }

    /// Says which secret is the code of an entity.
    pub fn set_code(&self, entity: EntityId, name: String) {
        lock(&self.codes).insert(entity, name);
    }

    /// Forgets what was read, so that changed files count from now on.
    pub fn reload(&self) {
        lock(&self.known).clear();
    }

    fn read(&self, name: &str) -> Option<Secret> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || !name.bytes().all(plain) {
            return None;
        }
        let credential = self.credentials.as_ref().filter(|dir| dir.join(name).exists());
        let value = match credential {
            Some(dir) => secret_file::read_from(Some(dir), Path::new(name)),
            None => secret_file::read_from(None, &self.dir.join(name)),
        };
        match value {
            Ok(value) => {
                let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_ref()?.expose_secret()).ok()?;
                mac.update(name.as_bytes());
                mac.update(&[0]);
                mac.update(value.expose_secret().as_bytes());
                let digest = mac.finalize().into_bytes();
                let version = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
                Some(Secret { value, version })
            }
            Err(error) => {
                tracing::warn!(secret = name, %error, "a code cannot be read");
                None
            }
        }
    }
}

impl Secrets for SecretStore {
    fn secret(&self, name: &str) -> Option<Secret> {
        if let Some(known) = lock(&self.known).get(name) {
            return known.clone();
        }
        let read = self.read(name);
        // What is missing is looked for again: it may be put there at any time.
        if read.is_some() {
            lock(&self.known).insert(name.to_owned(), read.clone());
        }
        read
    }

    fn code_of(&self, entity: &EntityId) -> Option<String> {
        lock(&self.codes).get(entity).cloned()
    }
}

/// The key of this installation, made at the first start.
fn version_key(path: &Path, clock: &Clock) -> io::Result<SecretSlice<u8>> {
    if let Ok(key) = std::fs::read(path)
        && key.len() == 32
    {
        return Ok(SecretSlice::from(key));
    }
    let key: Vec<u8> = (0..4).flat_map(|_| clock.random().to_le_bytes()).collect();
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(&key)?;
    file.sync_all()?;
    Ok(SecretSlice::from(key))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn put(path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn a_code_is_read_by_name_and_its_version_tells_nothing_and_changes_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let open = || SecretStore::open(dir.path().to_owned(), dir.path(), &clock);
        put(&dir.path().join("front"), "1234\n");
        let store = open();
        let first = store.secret("front").unwrap();
        assert_eq!(first.value.expose_secret(), "1234");
        assert!(!first.version.contains("1234") && !format!("{first:?}").contains("1234"));
        assert_eq!(open().secret("front").unwrap().version, first.version, "the same after a restart");
        put(&dir.path().join("front"), "4321");
        assert_eq!(store.secret("front").unwrap().version, first.version, "until it is read again");
        store.reload();
        assert_ne!(store.secret("front").unwrap().version, first.version);
        for wrong in ["none", "", "../front", "a/b", "front\0"] {
            assert!(store.secret(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_code_that_everybody_can_read_is_no_code() {
        let dir = tempfile::tempdir().unwrap();
        let store = SecretStore::open(dir.path().to_owned(), dir.path(), &Clock::system());
        std::fs::write(dir.path().join("front"), "1234").unwrap();
        std::fs::set_permissions(dir.path().join("front"), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(store.secret("front").is_none());
    }
}
