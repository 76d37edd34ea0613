//! Bearer tokens: who may use the HTTP API, and for what.
//!
//! A token is 256 random bits. The file holds only SHA-256 hashes, with a name, a kind and scopes; the token itself
//! is shown once, where it is made. The first start makes one for the owner and leaves it in a file of its own.
//! The file may be changed by another process (`homeloop token …`): the store follows it. Which route needs which
//! scope stands in [`super::routes`].

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::policy::Scope;
use crate::strict_json;

/// Name of the file with the hashes, in the state directory.
pub const TOKENS_FILE: &str = "tokens.json";
/// Name of the file with the owner's token as it was made at the first start.
pub const FIRST_TOKEN_FILE: &str = "first-token";

/// Whose credential a token is. Only a person's may approve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    Person,
    Agent,
    Mcp,
    Voice,
    Device,
}

impl TokenKind {
    pub fn may_hold(self, scope: Scope) -> bool {
        match (self, scope) {
            (TokenKind::Person, _) => true,
            (TokenKind::Agent | TokenKind::Mcp | TokenKind::Voice | TokenKind::Device, scope) => {
                match scope {
                    Scope::Read | Scope::Command => true,
                    Scope::Approve | Scope::Admin => false,
                }
            }
        }
    }
}

/// A token as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    pub name: String,
    pub kind: TokenKind,
    pub scopes: Vec<Scope>,
    pub created_at: DateTime<Utc>,
    #[serde(with = "hash_text")]
    sha256: [u8; 32],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensFile {
    version: u32,
    tokens: Vec<Token>,
}

/// Why the tokens cannot be used. The daemon does not start without them.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{} can be read by others (mode {mode:o}); expected 600: run chmod 600 on it", path.display())]
    Open { path: PathBuf, mode: u32 },
    #[error("{}: {problem}", path.display())]
    Malformed { path: PathBuf, problem: String },
    #[error("token name {0:?}: expected 1 to 64 characters a-z, 0-9, _ and -")]
    BadName(String),
    #[error("there is already a token named {0:?}; revoke it first")]
    NameTaken(String),
    #[error("there is no token named {0:?}")]
    NoSuchToken(String),
    #[error("token {name:?}: a token of kind {kind:?} can never hold the scope {scope:?}")]
    ScopeNotAllowed { name: String, kind: TokenKind, scope: Scope },
}

/// The tokens in force, and the file that they come from.
pub struct TokenStore {
    path: PathBuf,
    clock: Clock,
    tokens: RwLock<Loaded>,
    /// Counts changes, so that open streams look whether their token is still there.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Loaded {
    tokens: Vec<Arc<Token>>,
    /// What the file looked like when it was read.
    seen: Option<(SystemTime, u64)>,
}

impl TokenStore {
    /// Opens the tokens in `directory`. Where there are none yet, makes the file with one person's token that may
    /// read, command and approve; the path of the file with that token is returned.
    pub fn open(directory: &Path, clock: Clock) -> Result<(Self, Option<PathBuf>), TokenError> {
        let path = directory.join(TOKENS_FILE);
        let (changed, _) = watch::channel(0);
        let store = Self { path, clock, tokens: RwLock::default(), changed };
        if store.path.exists() {
            store.reload()?;
            return Ok((store, None));
        }
        let first = directory.join(FIRST_TOKEN_FILE);
        let scopes = vec![Scope::Read, Scope::Command, Scope::Approve];
        let (text, token) = store.draw("owner", TokenKind::Person, scopes)?;
        // The token first: a hash without its token would lock the owner out.
        write_private(&first, format!("{text}\n").as_bytes())?;
        store.save(vec![token])?;
        Ok((store, Some(first)))
    }

    /// Makes a token and writes the file. The returned text is nowhere else.
    pub fn create(
        &self,
        name: &str,
        kind: TokenKind,
        scopes: Vec<Scope>,
    ) -> Result<SecretString, TokenError> {
        self.reload()?;
        let mut tokens = self.list();
        if tokens.iter().any(|token| token.name == name) {
            return Err(TokenError::NameTaken(name.to_owned()));
        }
        let (text, token) = self.draw(name, kind, scopes)?;
        tokens.push(token);
        self.save(tokens)?;
        Ok(SecretString::from(text))
    }

    /// Removes a token from the file; its open streams end.
    pub fn revoke(&self, name: &str) -> Result<(), TokenError> {
        self.reload()?;
        let mut tokens = self.list();
        let before = tokens.len();
        tokens.retain(|token| token.name != name);
        if tokens.len() == before {
            return Err(TokenError::NoSuchToken(name.to_owned()));
        }
        self.save(tokens)
    }

    /// The tokens in force, without any secret.
    pub fn list(&self) -> Vec<Token> {
        self.loaded().tokens.iter().map(|token| Token::clone(token)).collect()
    }

    /// The token that `presented` is. Every stored hash is compared in constant time, whatever was presented.
    pub fn verify(&self, presented: &[u8]) -> Option<Arc<Token>> {
        let hash: [u8; 32] = Sha256::digest(presented).into();
        let loaded = self.loaded();
        let mut found = u64::MAX;
        for (index, token) in (0u64..).zip(&loaded.tokens) {
            let same: Choice = token.sha256.ct_eq(&hash);
            found.conditional_assign(&index, same);
        }
        usize::try_from(found).ok().and_then(|index| loaded.tokens.get(index).cloned())
    }

    /// Resolves once `token` is no longer in force.
    pub async fn revoked(&self, token: &Token) {
        let mut changes = self.changed.subscribe();
        while self.loaded().tokens.iter().any(|other| **other == *token) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Follows changes of the file that other processes make, for ever. A file that cannot be read changes nothing.
    pub async fn follow(&self, every: Duration) {
        let mut broken = false;
        loop {
            tokio::time::sleep(every).await;
            match self.reload() {
                Ok(()) => broken = false,
                Err(error) if !broken => {
                    broken = true;
                    tracing::error!(%error, "the tokens file cannot be read; the tokens from before stay in force");
                }
                Err(_) => {}
            }
        }
    }

    /// Reads the file if it changed since it was last read.
    pub fn reload(&self) -> Result<(), TokenError> {
        let io = |error| TokenError::Io { path: self.path.clone(), error };
        let about = fs::metadata(&self.path).map_err(io)?;
        let seen = (about.modified().map_err(io)?, std::os::unix::fs::MetadataExt::ino(&about));
        if self.loaded().seen == Some(seen) {
            return Ok(());
        }
        let mode = about.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(TokenError::Open { path: self.path.clone(), mode });
        }
        let tokens = self.read(&fs::read(&self.path).map_err(io)?)?;
        self.put(tokens, seen);
        Ok(())
    }

    fn read(&self, bytes: &[u8]) -> Result<Vec<Token>, TokenError> {
        let malformed = |problem: String| TokenError::Malformed { path: self.path.clone(), problem };
        let value = strict_json::parse(bytes).map_err(|error| malformed(error.to_string()))?;
        let file: TokensFile = serde_json::from_value(value).map_err(|error| malformed(error.to_string()))?;
        if file.version != 1 {
            return Err(malformed(format!("version is {}; expected 1", file.version)));
        }
        for (index, token) in file.tokens.iter().enumerate() {
            check(&token.name, token.kind, &token.scopes)?;
            if file.tokens.iter().take(index).any(|other| other.name == token.name) {
                return Err(TokenError::NameTaken(token.name.clone()));
            }
        }
        Ok(file.tokens)
    }

    fn save(&self, tokens: Vec<Token>) -> Result<(), TokenError> {
        let file = TokensFile { version: 1, tokens };
        let text = serde_json::to_vec_pretty(&file)
            .map_err(|error| TokenError::Malformed { path: self.path.clone(), problem: error.to_string() })?;
        write_private(&self.path, &text)?;
        self.reload()
    }

    fn put(&self, tokens: Vec<Token>, seen: (SystemTime, u64)) {
        let mut loaded = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        *loaded = Loaded { tokens: tokens.into_iter().map(Arc::new).collect(), seen: Some(seen) };
        drop(loaded);
        self.changed.send_modify(|count| *count += 1);
    }

    fn draw(&self, name: &str, kind: TokenKind, scopes: Vec<Scope>) -> Result<(String, Token), TokenError> {
        check(name, kind, &scopes)?;
        let mut bits = [0; 32];
        for part in bits.chunks_exact_mut(8) {
            part.copy_from_slice(&self.clock.random().to_le_bytes());
        }
        let text = format!("hl_{}", URL_SAFE_NO_PAD.encode(bits));
        let sha256 = Sha256::digest(text.as_bytes()).into();
        let token = Token { name: name.to_owned(), kind, scopes, created_at: self.clock.now(), sha256 };
        Ok((text, token))
    }

    fn loaded(&self) -> std::sync::RwLockReadGuard<'_, Loaded> {
        self.tokens.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(name: &str, kind: TokenKind, scopes: &[Scope]) -> Result<(), TokenError> {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(good) {
        return Err(TokenError::BadName(name.chars().take(80).collect()));
    }
    match scopes.iter().find(|scope| !kind.may_hold(**scope)) {
        Some(scope) => Err(TokenError::ScopeNotAllowed { name: name.to_owned(), kind, scope: *scope }),
        None => Ok(()),
    }
}

/// Writes a file that only its owner can read, whole or not at all.
fn write_private(path: &Path, bytes: &[u8]) -> Result<(), TokenError> {
    let write = || {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let fresh = path.with_file_name(name);
        // A leftover of a crash could carry another mode.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        match path.parent() {
            Some(directory) => fs::File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(|error| TokenError::Io { path: path.to_owned(), error })
}

/// SHA-256 as 64 hexadecimal digits.
mod hash_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(hash: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        let text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || D::Error::custom("sha256: expected 64 hexadecimal digits");
        let mut hash = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
        }
        Ok(hash)
    }
}
