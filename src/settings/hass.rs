//! Settings of Home Assistant's WebSocket API.

use std::path::PathBuf;

use serde::Deserialize;

use super::SettingsError;

/// Home Assistant, as the place where further entities live.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hass {
    /// `http://homeassistant.local:8123` or `https://…`; empty: none.
    pub url: String,
    /// Authorities to believe for `https`; empty: those of the machine.
    pub ca_file: PathBuf,
    pub token_file: PathBuf,
    pub entities: Entities,
    pub label: String,
}

/// Which of its entities are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entities {
    Exposed,
    Label,
    All,
}

impl Hass {
    /// The address of the WebSocket API; `None` where Home Assistant is not used.
    pub fn websocket(&self) -> Option<String> {
        let (scheme, rest) = match self.url.strip_prefix("https://") {
            Some(rest) => ("wss", rest),
            None => ("ws", self.url.strip_prefix("http://")?),
        };
        Some(format!("{scheme}://{}/api/websocket", rest.trim_end_matches('/')))
    }

    /// Checks what the types cannot say.
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let bad =
            |key, value: &str, expected| Err(SettingsError::Value { key, value: value.to_owned(), expected });
        if self.url.is_empty() {
            return Ok(());
        }
        if self.websocket().is_none() {
            return bad("hass.url", &self.url, "an address that begins with http:// or https://");
        }
        if self.token_file.as_os_str().is_empty() {
            return bad("hass.token_file", "", "a file that holds a long-lived access token");
        }
        if self.entities == Entities::Label && self.label.is_empty() {
            return bad("hass.label", "", "the id of a label, because hass.entities is \"label\"");
        }
        Ok(())
    }
}
