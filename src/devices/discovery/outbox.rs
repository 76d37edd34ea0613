//! The messages of one action, as templates and plain payloads make them.

use base64::Engine as _;

use super::entity_codec::Common;
use super::fields::Command;
use crate::devices::codec::{EncodeError, Message};
use crate::devices::template::Value as Engine;
use crate::home::State;

/// Collects the messages of one action.
pub(super) struct Outbox<'a> {
    pub now: &'a State,
    pub common: &'a Common,
    pub messages: Vec<Message>,
}

impl Outbox<'_> {
    /// Adds the message of `command` for `value`; `vars` are further variables of its template.
    pub fn send(
        &mut self,
        command: &Command,
        value: impl Into<Engine>,
        vars: &[(&'static str, Engine)],
    ) -> Result<(), EncodeError> {
        let value = value.into();
        let payload = match &command.template {
            None => {
                self.raw(&command.topic, value.to_string());
                return Ok(());
            }
            Some(template) => {
                let mut all = Vec::with_capacity(vars.len() + 1);
                all.push(("value", value));
                all.extend(vars.iter().cloned());
                template.command(self.common.scope(self.now), &all).map_err(|error| {
                    EncodeError::Template { template: template.source().to_owned(), error: error.to_string() }
                })?
            }
        };
        self.rendered(&command.topic, payload);
        Ok(())
    }

    /// Adds a message as it is.
    pub fn raw(&mut self, topic: &str, payload: String) {
        self.push(topic, payload, None);
    }

    /// Adds what a template made, which may be bytes. Bytes that are text are kept as text: containment reads what is sent.
    fn rendered(&mut self, topic: &str, payload: String) {
        match python_bytes(&payload).map(String::from_utf8) {
            Some(Ok(text)) => self.push(topic, text, None),
            Some(Err(bytes)) => {
                let encoded = base64::engine::general_purpose::STANDARD.encode(bytes.into_bytes());
                self.push(topic, String::new(), Some(encoded));
            }
            None => self.push(topic, payload, None),
        }
    }

    fn push(&mut self, topic: &str, payload: String, payload_b64: Option<String>) {
        let qos = self.common.qos.max(1);
        self.messages.push(Message { topic: topic.to_owned(), payload, payload_b64, qos });
    }
}

/// The bytes of a Python bytes literal (`b'\xde\xad'`), which templates use for binary payloads.
fn python_bytes(text: &str) -> Option<Vec<u8>> {
    let quoted = text.strip_prefix('b')?;
    let inner = ['\'', '"'].into_iter().find_map(|quote| quoted.strip_prefix(quote)?.strip_suffix(quote))?;
    let mut out = Vec::new();
    let mut rest = inner.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            let mut buffer = [0; 4];
            out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            continue;
        }
        match rest.next()? {
            'x' => {
                let digits: String = rest.by_ref().take(2).collect();
                out.push(u8::from_str_radix(&digits, 16).ok()?);
            }
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            '0' => out.push(0),
            other if other.is_ascii() => out.push(other as u8),
            _ => return None,
        }
    }
    Some(out)
}
