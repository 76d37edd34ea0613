//! Settings of the voice channels.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::wyoming::Wyoming;
use crate::voice::hermes::Role;
use crate::voice::speech::SpeechSettings;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Voice {
    pub wyoming: Wyoming,
    pub hermes: Hermes,
    pub speech: Speech,
    /// Sites of satellites and microphones: name to area id. A site that is called like an area needs no line.
    pub sites: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hermes {
    pub role: Role,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speech {
    pub stt: String,
    pub tts: String,
    pub longest_seconds: u32,
    pub service_seconds: u64,
}

impl Speech {
    /// What the client of the speech services works with.
    pub fn limits(&self) -> SpeechSettings {
        SpeechSettings {
            stt: Some(self.stt.clone()).filter(|at| !at.is_empty()),
            tts: Some(self.tts.clone()).filter(|at| !at.is_empty()),
            longest: Duration::from_secs(u64::from(self.longest_seconds)),
            within: Duration::from_secs(self.service_seconds),
        }
    }
}
