//! The daemon's settings: defaults, then files, then the environment; every check at start.
//!
//! The home file, the policy file and the device profiles are files of their own with readers of their own; here are
//! only their paths. Nothing here opens a socket or reads a clock.

pub mod accounts;
pub mod hass;
pub mod home_file;
pub mod policy_file;
mod private;
pub mod voice;
pub mod wyoming;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::agent::{Budget, Limits};
use crate::model::settings::ModelsSettings;

/// `config/default.toml`: every setting with its default and its explanation.
pub const DEFAULTS: &str = include_str!("../../config/default.toml");

/// `config/models.toml`: the settings of language models, with presets for common providers.
pub const MODELS: &str = include_str!("../../config/models.toml");

/// The prefix of environment variables; levels are separated by two underscores.
const ENVIRONMENT: &str = "HOMELOOP";

/// All settings. Field docs are the comments of `config/default.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub state_dir: PathBuf,
    pub home: Home,
    pub policy: Policy,
    pub secrets: Secrets,
    pub mqtt: Mqtt,
    pub discovery: Discovery,
    pub http: Http,
    pub agent: Agent,
    pub ends: Ends,
    pub journal: Journal,
    pub models: ModelsSettings,
    pub voice: voice::Voice,
    pub hass: hass::Hass,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Home {
    pub id: String,
    pub file: PathBuf,
    pub profiles: PathBuf,
    pub language: String,
    pub zone: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    pub file: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secrets {
    pub dir: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mqtt {
    pub broker: Broker,
    pub host: String,
    pub port: u16,
    pub version: u8,
    pub client_id: String,
    pub username: String,
    pub password_file: PathBuf,
    pub tls: bool,
    pub ca_file: PathBuf,
    pub keep_alive_seconds: u16,
    pub max_packet: u32,
    pub embedded: Embedded,
    pub commands: MqttCommands,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Broker {
    Embedded,
    External,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedded {
    pub bind: SocketAddr,
    pub accounts_file: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MqttCommands {
    pub scope: MqttScope,
    pub approvals: MqttApprovals,
    /// Files with the keys of approvers, by name.
    pub hmac_keys: BTreeMap<String, PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MqttScope {
    Read,
    Command,
}

/// How approvals over MQTT are believed (SAFETY.md section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MqttApprovals {
    Off,
    Accounts,
    Acl,
    Hmac,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discovery {
    pub enabled: bool,
    pub prefix: String,
    pub birth: bool,
    pub announce: bool,
    pub accept: Accept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accept {
    Auto,
    Manual,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    pub enabled: bool,
    pub bind: SocketAddr,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub public_url: String,
    pub trusted_proxies: Vec<IpAddr>,
    pub tls_cert: PathBuf,
    pub tls_key: PathBuf,
    pub insecure_lan: bool,
    pub on_disconnect: OnDisconnect,
}

/// What becomes of a task whose HTTP client goes away before the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDisconnect {
    Continue,
    Cancel,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    pub at_once: usize,
    pub queue: usize,
    pub commands_per_minute: u32,
    pub interim_after_seconds: u64,
    pub limits: Limits,
    pub budget: Budget,
}

/// After how long what must not last ends by itself.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    pub irrigation_minutes: u32,
    pub heater_minutes: u32,
    pub longest_minutes: u32,
}

impl Ends {
    /// Minutes that may be set: there is always an end, and it is a near one.
    const RANGE: std::ops::RangeInclusive<u32> = 1..=24 * 60;

    /// The first setting that is out of range, with its value.
    fn fault(&self) -> Option<(&'static str, u32)> {
        [
            ("ends.irrigation_minutes", self.irrigation_minutes),
            ("ends.heater_minutes", self.heater_minutes),
            ("ends.longest_minutes", self.longest_minutes),
        ]
        .into_iter()
        .find(|(_, minutes)| !Self::RANGE.contains(minutes))
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    pub retention_days: u32,
}

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Read(#[from] config::ConfigError),
    #[error("models.{0}")]
    Models(String),
    #[error("{key} is {value:?}; expected {expected}")]
    Value { key: &'static str, value: String, expected: &'static str },
    #[error("agent.limits.{key} is 0; expected at least 1")]
    Limit { key: &'static str },
}

impl Settings {
    /// Defaults, then each file in order, then `HOMELOOP__…` variables.
    pub fn load(files: &[PathBuf]) -> Result<Self, SettingsError> {
        Self::with_overrides(files, &[])
    }

    /// As [`Settings::load`], with last words from the caller (command-line flags, the demo).
    pub fn with_overrides(files: &[PathBuf], overrides: &[(&str, String)]) -> Result<Self, SettingsError> {
        let mut builder = config::Config::builder()
            .add_source(config::File::from_str(DEFAULTS, config::FileFormat::Toml))
            .add_source(config::File::from_str(MODELS, config::FileFormat::Toml));
        for file in files {
            builder = builder.add_source(config::File::from(file.as_path()).format(config::FileFormat::Toml));
        }
        let environment = config::Environment::with_prefix(ENVIRONMENT)
            .prefix_separator("__")
            .separator("__")
            .ignore_empty(true);
        builder = builder.add_source(environment);
        for (key, value) in overrides {
            builder = builder.set_override(*key, value.clone())?;
        }
        let settings: Self = builder.build()?.try_deserialize()?;
        settings.check()?;
        Ok(settings)
    }

    /// The state directory: the setting, else systemd's, else `./state`.
    pub fn state_dir(&self) -> PathBuf {
        if !self.state_dir.as_os_str().is_empty() {
            return self.state_dir.clone();
        }
        match std::env::var_os("STATE_DIRECTORY") {
            Some(dir) if !dir.is_empty() => dir.into(),
            Some(_) | None => PathBuf::from("state"),
        }
    }

    /// Where codes of devices are kept: the setting, else `secrets` in the state directory.
    pub fn secrets_dir(&self) -> PathBuf {
        given(&self.secrets.dir).map_or_else(|| self.state_dir().join("secrets"), Path::to_owned)
    }

    /// The base of all own topics: `homeloop/<home>`.
    pub fn base_topic(&self) -> String {
        format!("homeloop/{}", self.home.id)
    }

    /// The time zone of the home.
    pub fn zone(&self) -> Result<chrono_tz::Tz, SettingsError> {
        let name = if self.home.zone.is_empty() {
            iana_time_zone::get_timezone().unwrap_or_else(|_| "Etc/UTC".into())
        } else {
            self.home.zone.clone()
        };
        name.parse().map_err(|_| SettingsError::Value {
            key: "home.zone",
            value: name,
            expected: "an IANA time zone such as Europe/Berlin",
        })
    }

    fn check(&self) -> Result<(), SettingsError> {
        let rules: [(bool, &'static str, String, &'static str); 5] = [
            (is_word(&self.home.id), "home.id", self.home.id.clone(), "1 to 64 letters, digits, - or _"),
            (
                matches!(self.mqtt.version, 3 | 5),
                "mqtt.version",
                self.mqtt.version.to_string(),
                "5, or 3 for 3.1.1",
            ),
            (self.agent.at_once > 0, "agent.at_once", self.agent.at_once.to_string(), "at least 1"),
            (
                self.mqtt.max_packet >= 64 * 1024,
                "mqtt.max_packet",
                self.mqtt.max_packet.to_string(),
                "at least 65536 bytes",
            ),
            (
                self.http.tls_cert.as_os_str().is_empty() == self.http.tls_key.as_os_str().is_empty(),
                "http.tls_key",
                self.http.tls_key.display().to_string(),
                "a file exactly where http.tls_cert is one",
            ),
        ];
        for (holds, key, value, expected) in rules {
            if !holds {
                return Err(SettingsError::Value { key, value, expected });
            }
        }
        if let Some(key) = self.agent.limits.fault() {
            return Err(SettingsError::Limit { key });
        }
        if let Some((key, minutes)) = self.ends.fault() {
            return Err(SettingsError::Value {
                key,
                value: minutes.to_string(),
                expected: "1 to 1440 minutes",
            });
        }
        if let Some(fault) = self.models.faults().into_iter().next() {
            return Err(SettingsError::Models(fault.to_string()));
        }
        self.voice.wyoming.check()?;
        self.hass.check()?;
        self.zone()?;
        Ok(())
    }
}

/// Whether a text can stand in topics and names: 1 to 64 letters, digits, `-` or `_`.
fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// A path from settings, `None` where it is empty.
pub fn given(path: &Path) -> Option<&Path> {
    (!path.as_os_str().is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_complete_and_valid() {
        let settings = Settings::load(&[]).unwrap();
        assert_eq!(settings.base_topic(), "homeloop/home");
        assert_eq!(
            settings.agent.limits,
            Limits::default(),
            "default.toml and Limits::default() say the same"
        );
        assert_eq!(settings.agent.budget, Budget::default(), "and so do Budget::default() and it");
        let models = crate::model::settings::ModelsSettings::default();
        assert_eq!(settings.models.retry, models.retry, "and so does models.toml");
        assert_eq!(settings.models.breaker, models.breaker);
        assert_eq!(settings.models.redact, models.redact);
    }

    #[test]
    fn unknown_keys_and_bad_values_name_the_key() {
        for (key, value, says) in [
            ("mqtt.prot", "1", "prot"),
            ("mqtt.port", "many", "port"),
            ("home.id", "a/b", "home.id is \"a/b\""),
            ("mqtt.version", "4", "mqtt.version is \"4\""),
            ("home.zone", "Mars/Base", "home.zone is \"Mars/Base\""),
            ("models.mode", "clever", "mode"),
            ("agent.limits.parallel_calls", "0", "agent.limits.parallel_calls is 0; expected at least 1"),
            ("agent.limits.malformed_in_a_row", "0", "agent.limits.malformed_in_a_row is 0"),
            ("agent.limits.tokens", "0", "agent.limits.tokens is 0"),
            ("http.on_disconnect", "explode", "on_disconnect"),
            ("ends.heater_minutes", "0", "ends.heater_minutes is \"0\""),
            ("voice.wyoming.answer_within_seconds", "0", "voice.wyoming.answer_within_seconds is \"0\""),
            ("hass.url", "ha.lan", "hass.url is \"ha.lan\""),
            ("hass.url", "https://ha.lan", "hass.token_file is \"\""),
            ("hass.url", "http://ha.lan", "hass.token_file is \"\""),
            ("voice.wyoming.principal", "a b", "voice.wyoming.principal is \"a b\""),
        ] {
            let error = Settings::with_overrides(&[], &[(key, value.to_owned())]).unwrap_err().to_string();
            assert!(error.contains(says), "{key}={value}: {error}");
        }
    }
}
