//! Lets clients in and asks the rights for every publish and every subscription.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

use mqtt5::broker::{AuthProvider, AuthResult};
use mqtt5::packet::connect::ConnectPacket;
use mqtt5::protocol::v5::reason_codes::ReasonCode;
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::BrokerSettings;
use super::accounts::{Account, BadAccount, Role};
use super::rights::Rights;
use crate::clock::Clock;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Wrong passwords for one name from one address before it is locked.
const TRIES: u32 = 10;
/// Time within which they count, and time of the lock.
const TRIES_WITHIN: Duration = Duration::from_secs(10 * 60);
const LOCKED_FOR: Duration = Duration::from_secs(15 * 60);
/// Names and addresses that are watched at a time.
const WATCHED: usize = 4096;
/// Client ids that are remembered for each account; its oldest gives way.
const CLIENT_IDS: usize = 256;

pub(super) struct Guard {
    rights: Rights,
    anonymous: Option<Role>,
    accounts: RwLock<HashMap<String, Entry>>,
    clock: Clock,
    /// Drawn at start: digests of passwords are worth nothing outside this process.
    salt: [u8; 32],
    failures: Mutex<HashMap<(IpAddr, String), Failures>>,
    owners: Mutex<Owners>,
}

struct Entry {
    digest: [u8; 32],
    role: Role,
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    since: Duration,
}

/// Which account a client id belongs to, so that nobody takes over another's connection or inherits its session.
/// No account can push out what is remembered of another.
#[derive(Default)]
struct Owners {
    by_client: HashMap<String, Option<String>>,
    by_account: HashMap<Option<String>, VecDeque<String>>,
}

impl Guard {
    pub(super) fn new(settings: &BrokerSettings, clock: &Clock) -> Result<Self, BadAccount> {
        if let Some(role) = &settings.anonymous {
            role.check("", settings.topics.base())?;
        }
        let mut salt = [0; 32];
        for chunk in salt.chunks_mut(8) {
            chunk.copy_from_slice(&clock.random().to_le_bytes());
        }
        let guard = Self {
            rights: Rights {
                topics: settings.topics.clone(),
                discovery_prefix: settings.discovery_prefix.clone(),
            },
            anonymous: settings.anonymous.clone(),
            accounts: RwLock::default(),
            clock: clock.clone(),
            salt,
            failures: Mutex::default(),
            owners: Mutex::default(),
        };
        guard.set_accounts(&settings.accounts)?;
        Ok(guard)
    }

    pub(super) fn set_accounts(&self, accounts: &[Account]) -> Result<(), BadAccount> {
        let mut entries = HashMap::with_capacity(accounts.len());
        for account in accounts {
            account.check(self.rights.topics.base())?;
            let entry = Entry {
                digest: self.digest(account.password.expose_secret().as_bytes()),
                role: account.role.clone(),
            };
            if entries.insert(account.name.clone(), entry).is_some() {
                return Err(BadAccount::Twice(account.name.clone()));
            }
        }
        *self.accounts.write().unwrap_or_else(PoisonError::into_inner) = entries;
        Ok(())
    }

    fn admit(&self, connect: &ConnectPacket, from: IpAddr) -> AuthResult {
        // Old access lists put these names into topics; nobody honest carries a wildcard.
        if connect.client_id.contains(['+', '#']) {
            return AuthResult::fail(ReasonCode::ClientIdentifierNotValid);
        }
        let account = match &connect.username {
            None if self.anonymous.is_some() => None,
            None => return AuthResult::fail(ReasonCode::NotAuthorized),
            Some(name) => {
                let key = (from, name.chars().take(64).collect::<String>());
                if self.locked(&key) {
                    return AuthResult::fail(ReasonCode::BadUsernameOrPassword);
                }
                if !self.password_is_right(name, connect.password.as_deref().unwrap_or_default()) {
                    self.count_failure(key);
                    return AuthResult::fail(ReasonCode::BadUsernameOrPassword);
                }
                Some(name.clone())
            }
        };
        if !self.owns_client_id(&connect.client_id, account.as_deref()) {
            tracing::warn!(client = %connect.client_id, ?account, "a client id of another account was refused");
            return AuthResult::fail(ReasonCode::ClientIdentifierNotValid);
        }
        match account {
            Some(name) => AuthResult::success_with_user(name),
            None => AuthResult::success(),
        }
    }

    /// Unknown names cost as much as wrong passwords.
    fn password_is_right(&self, name: &str, password: &[u8]) -> bool {
        let given = self.digest(password);
        let accounts = self.accounts.read().unwrap_or_else(PoisonError::into_inner);
        let known = accounts.get(name);
        let expected = known.map_or(self.salt, |entry| entry.digest);
        bool::from(given.ct_eq(&expected)) && known.is_some()
    }

    fn digest(&self, password: &[u8]) -> [u8; 32] {
        Sha256::new().chain_update(self.salt).chain_update(password).finalize().into()
    }

    fn locked(&self, key: &(IpAddr, String)) -> bool {
        let now = self.clock.since_boot();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(seen) = failures.get(key).copied() else { return false };
        let age = now.saturating_sub(seen.since);
        let over = if seen.count >= TRIES { age >= LOCKED_FOR } else { age >= TRIES_WITHIN };
        if over {
            failures.remove(key);
        }
        !over && seen.count >= TRIES
    }

    fn count_failure(&self, key: (IpAddr, String)) {
        let now = self.clock.since_boot();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= WATCHED && !failures.contains_key(&key) {
            failures.retain(|_, seen| now.saturating_sub(seen.since) < LOCKED_FOR);
            if failures.len() >= WATCHED {
                failures.clear();
            }
        }
        let seen = failures.entry(key.clone()).or_insert(Failures { count: 0, since: now });
        seen.count += 1;
        if seen.count >= TRIES {
            seen.since = now;
            tracing::warn!(address = %key.0, user = ?key.1, "too many wrong passwords; locked for 15 minutes");
        }
    }

    fn owns_client_id(&self, client_id: &str, account: Option<&str>) -> bool {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = owners.by_client.get(client_id) {
            return owner.as_deref() == account;
        }
        let account = account.map(str::to_owned);
        let own = owners.by_account.entry(account.clone()).or_default();
        let oldest = if own.len() >= CLIENT_IDS { own.pop_front() } else { None };
        own.push_back(client_id.to_owned());
        if let Some(oldest) = oldest {
            owners.by_client.remove(&oldest);
        }
        owners.by_client.insert(client_id.to_owned(), account);
        true
    }

    fn allows(&self, account: Option<&str>, asks: impl Fn(&Rights, &str, &Role) -> bool) -> bool {
        match account {
            None => self.anonymous.as_ref().is_some_and(|role| asks(&self.rights, "", role)),
            Some(name) => {
                let accounts = self.accounts.read().unwrap_or_else(PoisonError::into_inner);
                accounts.get(name).is_some_and(|entry| asks(&self.rights, name, &entry.role))
            }
        }
    }
}

impl AuthProvider for Guard {
    fn authenticate<'a>(
        &'a self,
        connect: &'a ConnectPacket,
        client_addr: SocketAddr,
    ) -> Boxed<'a, mqtt5::Result<AuthResult>> {
        let result = self.admit(connect, client_addr.ip());
        Box::pin(std::future::ready(Ok(result)))
    }

    fn authorize_publish<'a>(
        &'a self,
        _client_id: &str,
        user_id: Option<&'a str>,
        topic: &'a str,
    ) -> Boxed<'a, bool> {
        let allowed = self.allows(user_id, |rights, name, role| rights.may_publish(name, role, topic));
        Box::pin(std::future::ready(allowed))
    }

    fn authorize_subscribe<'a>(
        &'a self,
        _client_id: &str,
        user_id: Option<&'a str>,
        topic_filter: &'a str,
    ) -> Boxed<'a, bool> {
        let allowed =
            self.allows(user_id, |rights, name, role| rights.may_subscribe(name, role, topic_filter));
        Box::pin(std::future::ready(allowed))
    }
}
