//! Settings of language models: which ones there are, in which order they are asked, and how long anything may take.
//!
//! The presets of common providers are data in `config/models.toml`. Nothing is read from the network here, and a key
//! is read only when a request is made.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::prices::Prices;
use super::redact::RedactSettings;

/// The table `[models]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelsSettings {
    pub mode: Mode,
    /// Names out of `named`, in the order in which they are asked.
    pub chain: Vec<String>,
    pub named: BTreeMap<String, ModelSettings>,
    pub retry: RetrySettings,
    pub breaker: BreakerSettings,
    pub redact: RedactSettings,
}

/// What part the offline model plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The offline model alone.
    Offline,
    /// Language models alone; the offline model only when none of them can take a new task.
    Model,
    /// The offline model first; language models take what it does not fully understand.
    #[default]
    OfflineFirst,
}

impl Mode {
    /// As it is written in the settings.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Offline => "offline",
            Mode::Model => "model",
            Mode::OfflineFirst => "offline-first",
        }
    }
}

/// One model at one provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    pub api: Api,
    /// Up to and including the version, without a slash at the end: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The provider's own name of the model.
    pub model: String,
    /// `None`: no key is sent.
    #[serde(default)]
    pub key: Option<KeySource>,
    /// Sent with every request. The values may be secrets and are treated so.
    #[serde(default)]
    pub headers: BTreeMap<String, SecretString>,
    /// Fields added to every request body as they are: `{ temperature = 0, reasoning_effort = "low" }`.
    #[serde(default)]
    pub body: Map<String, Value>,
    /// OpenAI-compatible only: the name of the field that limits the answer.
    #[serde(default)]
    pub max_tokens_field: MaxTokensField,
    /// OpenAI-compatible only: ask for usage at the end of the stream. Off for servers that refuse the field.
    #[serde(default = "yes")]
    pub stream_usage: bool,
    /// Anthropic only: mark tools, system text and the last result for the provider's cache.
    #[serde(default = "yes")]
    pub prompt_cache: bool,
    /// Requests of this daemon a minute. `None`: as many as are wanted.
    #[serde(default)]
    pub requests_per_minute: Option<NonZeroU32>,
    /// A certificate authority (PEM) that is trusted besides those of the system.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    #[serde(default)]
    pub limits: LimitSettings,
    /// US dollars per million tokens.
    #[serde(default)]
    pub prices: Prices,
}

/// The wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// Chat completions, as OpenAI and many others serve them.
    Openai,
    /// Anthropic's messages.
    Anthropic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    #[default]
    MaxCompletionTokens,
    /// The older name, which most other servers know.
    MaxTokens,
}

/// Where the key is read from, for each request anew: a key that is replaced needs no restart.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// Name of an environment variable.
    Env(String),
    File(PathBuf),
    /// Name of a systemd credential (`LoadCredential=`), a file in `$CREDENTIALS_DIRECTORY`.
    Credential(String),
}

/// Time limits of one request, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    pub connect_ms: u64,
    /// From the request to the first byte of the answer.
    pub first_byte_ms: u64,
    /// Between two events that carry something; pings and comments do not count.
    pub event_idle_ms: u64,
    /// For the whole request.
    pub total_ms: u64,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self { connect_ms: 10_000, first_byte_ms: 20_000, event_idle_ms: 30_000, total_ms: 90_000 }
    }
}

impl LimitSettings {
    pub fn connect(&self) -> Duration {
        Duration::from_millis(self.connect_ms)
    }

    pub fn first_byte(&self) -> Duration {
        Duration::from_millis(self.first_byte_ms)
    }

    pub fn event_idle(&self) -> Duration {
        Duration::from_millis(self.event_idle_ms)
    }

    pub fn total(&self) -> Duration {
        Duration::from_millis(self.total_ms)
    }
}

/// The table `[models.retry]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetrySettings {
    /// Attempts after the first one.
    pub times: usize,
    /// The first pause; it doubles, with up to as much again of chance.
    pub first_ms: u64,
    /// The longest pause that is chosen here. A provider's `Retry-After` may ask for more.
    pub longest_ms: u64,
    /// How long a turn may take with all its attempts, where its task sets no deadline.
    pub patience_ms: u64,
    /// What must be left of the time for an attempt to be worth making.
    pub reserve_ms: u64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { times: 3, first_ms: 500, longest_ms: 8_000, patience_ms: 60_000, reserve_ms: 1_000 }
    }
}

/// The table `[models.breaker]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BreakerSettings {
    /// Failures in a row that pause a model.
    pub failures: u32,
    /// How long it is paused before one request may try it again.
    pub pause_ms: u64,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failures: 3, pause_ms: 30_000 }
    }
}

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("models.{at}: {reason}")]
pub struct ModelsFault {
    /// The key below `models`.
    pub at: String,
    pub reason: String,
}

impl ModelsSettings {
    /// Every fault, so that a person can mend all of them at once. Only entries in the chain must be complete.
    pub fn faults(&self) -> Vec<ModelsFault> {
        let mut faults = Vec::new();
        for (place, name) in self.chain.iter().enumerate() {
            let fault = |reason: String| ModelsFault { at: format!("chain[{place}]"), reason };
            if !self.named.contains_key(name) {
                let known: Vec<&str> = self.named.keys().map(String::as_str).collect();
                faults.push(fault(format!("no model {name:?} in models.named; known: {}", known.join(", "))));
            }
            if self.chain.iter().take(place).any(|earlier| earlier == name) {
                faults.push(fault(format!("{name:?} stands in the chain twice; leave one out")));
            }
        }
        if self.mode == Mode::Model && self.chain.is_empty() {
            let reason =
                "is \"model\", but models.chain is empty; name a model or take \"offline\"".to_owned();
            faults.push(ModelsFault { at: "mode".to_owned(), reason });
        }
        for name in &self.chain {
            let own = self.named.get(name).map(ModelSettings::faults).unwrap_or_default();
            faults.extend(
                own.into_iter()
                    .map(|(key, reason)| ModelsFault { at: format!("named.{name}.{key}"), reason }),
            );
        }
        faults
    }
}

impl ModelSettings {
    /// Pairs of key and reason.
    fn faults(&self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        match reqwest::Url::parse(&self.base_url) {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                faults.push(("base_url", format!("scheme {:?} is neither http nor https", url.scheme())));
            }
            Ok(url) if !url.username().is_empty() || url.password().is_some() || url.query().is_some() => {
                let reason = "holds a user, a password or a query; give a key with `key` or `headers`";
                faults.push(("base_url", reason.to_owned()));
            }
            Ok(_) => {}
            Err(error) => faults.push(("base_url", format!("{:?} is not a URL: {error}", self.base_url))),
        }
        if self.model.trim().is_empty() {
            faults.push(("model", "is empty; write the provider's name of the model".to_owned()));
        }
        if let Some(KeySource::Credential(name)) = &self.key
            && (name.contains('/') || name.starts_with('.') || name.is_empty())
        {
            faults.push(("key.credential", format!("{name:?} is not the plain name of a credential")));
        }
        let thinks = self.body.get("thinking").is_some_and(|thinking| thinking["type"] != "disabled");
        if self.api == Api::Anthropic && thinks {
            let reason = "thinking cannot be used: its blocks would have to be sent back with every call";
            faults.push(("body", reason.to_owned()));
        }
        if let Some(reason) = self.prices.fault() {
            faults.push(("prices", reason));
        }
        let limits = self.limits;
        for (key, value) in [
            ("limits.connect_ms", limits.connect_ms),
            ("limits.first_byte_ms", limits.first_byte_ms),
            ("limits.event_idle_ms", limits.event_idle_ms),
            ("limits.total_ms", limits.total_ms),
        ] {
            if !(1..=3_600_000).contains(&value) {
                faults.push((key, format!("{value} is not between 1 and 3600000 milliseconds")));
            }
        }
        faults
    }
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presets() -> ModelsSettings {
        #[derive(Deserialize)]
        struct File {
            models: ModelsSettings,
        }
        let text = include_str!("../../config/models.toml");
        toml::from_str::<File>(text).expect("the presets are valid").models
    }

    #[test]
    fn every_preset_is_usable_by_naming_it() {
        let mut settings = presets();
        assert!(settings.chain.is_empty(), "nothing is sent anywhere until a person names a model");
        assert_eq!(settings.mode, Mode::OfflineFirst);
        for name in [
            "openai",
            "anthropic",
            "deepseek",
            "qwen",
            "openrouter",
            "ollama",
            "lm-studio",
            "vllm",
            "llama-cpp",
        ] {
            assert!(settings.named.contains_key(name), "{name}");
        }
        settings.chain = settings.named.keys().cloned().collect();
        assert_eq!(settings.faults(), vec![]);
    }

    #[test]
    fn faults_name_the_key_and_what_to_do() {
        let mut settings = presets();
        settings.chain = ["openai", "nobody", "openai"].map(str::to_owned).to_vec();
        let openai = settings.named.get_mut("openai").expect("a preset");
        openai.base_url = "ftp://example.org".to_owned();
        openai.key = Some(KeySource::Credential("../etc/shadow".to_owned()));
        openai.limits.total_ms = 0;
        openai.prices.output = -1.0;
        let found: Vec<String> = settings.faults().iter().map(ToString::to_string).collect();
        for expected in [
            "models.chain[1]: no model \"nobody\" in models.named",
            "models.chain[2]: \"openai\" stands in the chain twice",
            "models.named.openai.base_url: scheme \"ftp\"",
            "models.named.openai.key.credential: \"../etc/shadow\" is not",
            "models.named.openai.limits.total_ms: 0 is not between",
            "models.named.openai.prices: price -1",
        ] {
            assert!(found.iter().any(|fault| fault.starts_with(expected)), "{expected}\n{found:#?}");
        }
        let claude = settings.named.get_mut("anthropic").expect("a preset");
        for (thinking, faults) in [("disabled", 0), ("enabled", 1)] {
            claude.body.insert("thinking".to_owned(), serde_json::json!({"type": thinking}));
            assert_eq!(claude.faults().len(), faults, "{thinking}");
        }
        settings.chain.clear();
        settings.mode = Mode::Model;
        assert_eq!(settings.faults().len(), 1);
    }

    #[test]
    fn unknown_keys_are_refused_and_headers_are_not_shown() {
        let entry = "api = 'openai'\nbase_url = 'http://localhost/v1'\nmodel = 'm'\n";
        assert!(toml::from_str::<ModelSettings>(&format!("{entry}api_key = 'x'\n")).is_err());
        let with_header: ModelSettings =
            toml::from_str(&format!("{entry}headers = {{ api-key = 'canary-5150' }}\n")).expect("valid");
        assert!(!format!("{with_header:?}").contains("canary"));
    }
}
