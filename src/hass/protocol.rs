//! The messages of Home Assistant's WebSocket API that we send and read.
//!
//! Source: <https://developers.home-assistant.io/docs/api/websocket> and the integration `websocket_api` of Home
//! Assistant 2026.11. Unknown message types and members are skipped.

use serde::Deserialize;
use serde_json::Value;

/// Largest message that is read, in bytes: registries of the biggest houses have a few megabytes.
pub const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// One message from Home Assistant.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Incoming {
    AuthRequired {
        #[serde(default)]
        ha_version: String,
    },
    AuthOk {},
    AuthInvalid {
        #[serde(default)]
        message: String,
    },
    Result {
        id: u64,
        success: bool,
        #[serde(default)]
        result: Value,
        #[serde(default)]
        error: Option<CallError>,
    },
    Event {
        event: Value,
    },
    Pong {},
    #[serde(other)]
    Other,
}

/// Why a request failed.
#[derive(Debug, Clone, Deserialize)]
pub struct CallError {
    #[serde(default)]
    pub code: String,
    #[serde(default)]
    pub message: String,
}

/// A version as `2026.11`; the patch number does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u16, pub u16);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl Version {
    /// The oldest Home Assistant whose registries have floors and labels.
    pub const OLDEST: Version = Version(2024, 4);

    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        Some(Self(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }
}

/// Reads the messages of one frame: one object, or a list of them.
pub fn read(text: &str) -> Result<Vec<Incoming>, serde_json::Error> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text);
    }
    Ok(vec![serde_json::from_str(text)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_hold_one_message_or_several_and_unknown_types_are_skipped() {
        let one = read(r#"{"type":"auth_required","ha_version":"2026.11.0"}"#).unwrap();
        assert!(matches!(&one[..], [Incoming::AuthRequired { ha_version }] if ha_version == "2026.11.0"));
        let two = read(r#"[{"id":3,"type":"pong"},{"type":"news","x":1}]"#).unwrap();
        assert!(matches!(&two[..], [Incoming::Pong {}, Incoming::Other]));
        for bad in ["", "{", "[1]", r#"{"type":"result"}"#, r#"{"id":1}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn versions_are_compared_by_year_and_month() {
        assert!(Version::parse("2026.11.0b3") > Version::parse("2026.9.2"));
        assert!(Version::parse("2024.3.0").is_some_and(|version| version < Version::OLDEST));
        assert_eq!(Version::parse("dev"), None);
    }
}
