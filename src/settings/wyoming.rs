//! Settings of the Wyoming server.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::Deserialize;

use super::{MqttScope, SettingsError};

/// The Wyoming server, which Home Assistant takes as a conversation agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wyoming {
    pub enabled: bool,
    pub bind: SocketAddr,
    /// Announce it on the local network, where it listens beyond loopback.
    pub zeroconf: bool,
    pub principal: String,
    pub scope: MqttScope,
    pub languages: Vec<String>,
    pub answer_within_seconds: u64,
    /// Area ids by the id of a device or satellite in Home Assistant.
    pub areas: BTreeMap<String, String>,
}

impl Wyoming {
    /// Checks what the types cannot say.
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        if !super::is_word(&self.principal) {
            return Err(SettingsError::Value {
                key: "voice.wyoming.principal",
                value: self.principal.clone(),
                expected: "1 to 64 letters, digits, - or _",
            });
        }
        if !(1..=120).contains(&self.answer_within_seconds) {
            return Err(SettingsError::Value {
                key: "voice.wyoming.answer_within_seconds",
                value: self.answer_within_seconds.to_string(),
                expected: "1 to 120 seconds",
            });
        }
        Ok(())
    }
}
