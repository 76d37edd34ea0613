//! Hermes, the MQTT protocol of Rhasspy: from a message to what was heard, and from an answer to messages.
//!
//! Source: the messages of Rhasspy 2.5's services. JSON with camelCase keys, QoS 0, never retained; null is absent.
//! Hermes knows no sender: whoever may publish may speak, so a site and a text are only words. The dialogue manager
//! ends a session when it is told to; until then a person stands before a listening box. Pure: nothing here publishes.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Longest text that is taken, in characters.
const MAX_TEXT: usize = 2_000;
/// Longest message, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// Longest site and session id, in characters.
const MAX_ID: usize = 128;

/// The intent under which the reading of a query is published. Its skill is homeloop itself.
const INTENT: &str = "homeloop:Command";

/// What homeloop is on the Hermes bus. One of these and no more, or each command would run twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Off,
    /// The language understanding of a dialogue manager, and the skill behind it.
    Nlu,
    /// A skill behind another language understanding.
    Skill,
    /// Everything behind speech recognition: there is no dialogue manager.
    Text,
}

impl Role {
    /// What it listens to.
    pub fn filter(self) -> Option<&'static str> {
        match self {
            Role::Off => None,
            Role::Nlu => Some("hermes/nlu/query"),
            Role::Skill => Some("hermes/intent/#"),
            Role::Text => Some("hermes/asr/textCaptured"),
        }
    }

    /// Whether a message on `topic` is for it.
    pub fn listens(self, topic: &str) -> bool {
        match self {
            Role::Off => false,
            Role::Skill => topic.starts_with("hermes/intent/"),
            Role::Nlu | Role::Text => self.filter() == Some(topic),
        }
    }
}

/// What somebody said at a site.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    pub text: String,
    pub site: String,
    /// The dialogue manager's session; without one nobody waits for an end.
    pub session: Option<String>,
    /// The query's own id, given back with its reading.
    pub id: Option<String>,
    /// BCP 47 primary tag.
    pub language: Option<String>,
    custom: Value,
}

/// Why a message is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HermesError {
    #[error("the message is not a JSON object: {0}")]
    NotJson(String),
    #[error("the message has {0} bytes; at most {MAX_BYTES} are taken")]
    TooLarge(usize),
    #[error("the text has {0} characters; 1 to {MAX_TEXT} are taken")]
    Text(usize),
    #[error("{field} is longer than {MAX_ID} characters")]
    Id { field: &'static str },
}

/// Reads a message that `role` listens to.
pub fn read(role: Role, payload: &[u8]) -> Result<Heard, HermesError> {
    if payload.len() > MAX_BYTES {
        return Err(HermesError::TooLarge(payload.len()));
    }
    let message: Map<String, Value> =
        serde_json::from_slice(payload).map_err(|error| HermesError::NotJson(error.to_string()))?;
    let text = |key: &str| message.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let said = match role {
        // The raw input is what was heard; the input may have numbers put into words.
        Role::Skill => text("rawInput").or_else(|| text("input")),
        Role::Nlu => text("input"),
        Role::Text => text("text"),
        Role::Off => None,
    };
    let said = said.unwrap_or_default().trim();
    let chars = said.chars().count();
    if !(1..=MAX_TEXT).contains(&chars) {
        return Err(HermesError::Text(chars));
    }
    let id = |field: &'static str| match text(field) {
        Some(id) if id.chars().count() > MAX_ID => Err(HermesError::Id { field }),
        id => Ok(id.map(str::to_owned)),
    };
    let tag = |tag: &str| tag.split(['-', '_']).next().unwrap_or(tag).to_lowercase();
    Ok(Heard {
        text: said.to_owned(),
        site: id("siteId")?.unwrap_or_else(|| "default".into()),
        session: id("sessionId")?,
        id: id("id")?,
        language: text("lang").map(tag),
        custom: message.get("customData").cloned().unwrap_or(Value::Null),
    })
}

/// A message to publish: topic and JSON.
pub type Message = (String, Value);

impl Heard {
    /// What a dialogue manager must see at once, before the command has run: that its query was understood by us.
    pub fn readings(&self, role: Role) -> Vec<Message> {
        match role {
            Role::Nlu => {
                let mut parsed = json!({
                    "input": self.text, "intent": {"intentName": INTENT, "confidenceScore": 1.0},
                    "siteId": self.site, "id": self.id, "slots": [], "sessionId": self.session,
                });
                let reading = parsed.clone();
                parsed["customData"] = self.custom.clone();
                parsed["rawInput"] = json!(self.text);
                vec![("hermes/nlu/intentParsed".into(), reading), (format!("hermes/intent/{INTENT}"), parsed)]
            }
            Role::Off | Role::Skill | Role::Text => Vec::new(),
        }
    }

    /// Says `text` and ends the session, or goes on listening where it is a question. Where nobody keeps a session,
    /// it is only said.
    pub fn answer(&self, role: Role, text: &str, question: bool) -> Message {
        let session = match role {
            Role::Nlu | Role::Skill => self.session.as_ref(),
            Role::Off | Role::Text => None,
        };
        let Some(session) = session else { return self.say(text) };
        let (topic, mut message) = if question {
            let more = json!({"sessionId": session, "text": text, "sendIntentNotRecognized": false});
            ("hermes/dialogueManager/continueSession", more)
        } else {
            ("hermes/dialogueManager/endSession", json!({"sessionId": session, "text": text}))
        };
        message["customData"] = self.custom.clone();
        (topic.into(), message)
    }

    /// Says `text` at the site, outside of any session.
    pub fn say(&self, text: &str) -> Message {
        say(&self.site, text, self.language.as_deref())
    }
}

/// Says `text` at a site, outside of any session.
pub fn say(site: &str, text: &str, language: Option<&str>) -> Message {
    let message = json!({"text": text, "siteId": site, "lang": language, "id": null, "sessionId": null});
    ("hermes/tts/say".into(), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERY: &str = r#"{"input": " turn off the lamp ", "siteId": "hall", "id": "q1", "intentFilter": null,
        "sessionId": "hall-porcupine-1", "wakewordId": "porcupine", "lang": "en_US", "customData": "x", "asrConfidence": 0.9}"#;

    #[test]
    fn each_role_reads_its_own_message() {
        let heard = read(Role::Nlu, QUERY.as_bytes()).unwrap();
        assert_eq!(heard.text, "turn off the lamp");
        assert_eq!((heard.site.as_str(), heard.session.as_deref()), ("hall", Some("hall-porcupine-1")));
        assert_eq!((heard.id.as_deref(), heard.language.as_deref()), (Some("q1"), Some("en")));
        let intent = br#"{"input": "lamp on 20", "rawInput": "lamp on twenty", "intent": {"intentName": "a:b"}, "sessionId": null}"#;
        let heard = read(Role::Skill, intent).unwrap();
        assert_eq!(
            (heard.text.as_str(), heard.site.as_str(), heard.session),
            ("lamp on twenty", "default", None)
        );
        assert_eq!(read(Role::Text, br#"{"text": "hello"}"#).unwrap().text, "hello");
        for (role, topic, listens) in [
            (Role::Nlu, "hermes/nlu/query", true),
            (Role::Nlu, "hermes/asr/textCaptured", false),
            (Role::Skill, "hermes/intent/a:b", true),
            (Role::Skill, "hermes/nlu/query", false),
            (Role::Text, "hermes/asr/textCaptured", true),
            (Role::Off, "hermes/nlu/query", false),
        ] {
            assert_eq!(role.listens(topic), listens, "{role:?} {topic}");
        }
    }

    #[test]
    fn bad_messages_are_refused() {
        for (payload, says) in [
            ("", "not a JSON object"),
            ("[]", "not a JSON object"),
            (r#"{"input": ""}"#, "0 characters"),
            (r#"{"input": 7}"#, "0 characters"),
            (r#"{"siteId": "hall"}"#, "0 characters"),
        ] {
            let error = read(Role::Nlu, payload.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(says), "{payload}: {error}");
        }
        let long = json!({"input": "a".repeat(2_001)}).to_string();
        assert_eq!(read(Role::Nlu, long.as_bytes()), Err(HermesError::Text(2_001)));
        let site = json!({"input": "a", "siteId": "s".repeat(200)}).to_string();
        assert_eq!(read(Role::Nlu, site.as_bytes()), Err(HermesError::Id { field: "siteId" }));
    }

    #[test]
    fn a_session_is_ended_or_continued_and_its_data_given_back() {
        let heard = read(Role::Nlu, QUERY.as_bytes()).unwrap();
        let readings = heard.readings(Role::Nlu);
        assert_eq!(readings[0].0, "hermes/nlu/intentParsed");
        assert_eq!(readings[1].0, "hermes/intent/homeloop:Command");
        assert_eq!(readings[1].1["customData"], "x");
        assert_eq!(readings[0].1["id"], "q1");
        let (topic, end) = heard.answer(Role::Nlu, "Done.", false);
        assert_eq!(topic, "hermes/dialogueManager/endSession");
        assert_eq!(end, json!({"sessionId": "hall-porcupine-1", "text": "Done.", "customData": "x"}));
        assert_eq!(heard.answer(Role::Nlu, "Which?", true).0, "hermes/dialogueManager/continueSession");
        assert_eq!(heard.answer(Role::Text, "Done.", false).0, "hermes/tts/say");
        assert!(heard.readings(Role::Skill).is_empty());
    }
}
