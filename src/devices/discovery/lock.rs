//! Locks.

use regex::Regex;

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::devices::template::Value as Engine;
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb};

/// Longest accepted code.
const MAX_CODE: usize = 64;

struct Lock {
    command: Command,
    payload_lock: String,
    payload_unlock: String,
    payload_open: Option<String>,
    payload_reset: String,
    /// Device words and Home Assistant's.
    words: [(String, &'static str); 7],
    code_format: Option<Regex>,
    optimistic: bool,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let read = Read::of(fields, "state_topic", "value_template", (), Undefined::Raw)?;
    let reports = read.is_some();
    let word = |key: &str, default: &str, state: &'static str| -> Result<(String, &'static str), Refusal> {
        Ok((fields.text_or(key, default)?, state))
    };
    let code_format = match fields.text("code_format")? {
        None => None,
        Some(pattern) => Some(code_pattern(&pattern)?),
    };
    let component = Lock {
        command: fields.need_command("command_topic", "command_template")?,
        payload_lock: fields.text_or("payload_lock", "LOCK")?,
        payload_unlock: fields.text_or("payload_unlock", "UNLOCK")?,
        payload_open: fields.nullable("payload_open")?.flatten(),
        payload_reset: fields.text_or("payload_reset", "None")?,
        words: [
            word("state_locked", "LOCKED", "locked")?,
            word("state_unlocked", "UNLOCKED", "unlocked")?,
            word("state_locking", "LOCKING", "locking")?,
            word("state_unlocking", "UNLOCKING", "unlocking")?,
            word("state_jammed", "JAMMED", "jammed")?,
            word("state_open", "OPEN", "open")?,
            word("state_opening", "OPENING", "opening")?,
        ],
        code_format,
        optimistic: !reports || fields.flag("optimistic", false)?,
    };
    let spec = |verb| {
        let spec = ActionSpec::new(verb);
        match &component.code_format {
            Some(_) => spec.with(ArgSpec::required(Arg::Code, ArgKind::Text { max_chars: MAX_CODE })),
            None => spec,
        }
    };
    let mut actions = vec![spec(Verb::Lock), spec(Verb::Unlock)];
    if component.payload_open.is_some() {
        actions.push(spec(Verb::Open));
    }
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions,
        reports_state: reports,
        initial: Update::default(),
    })
}

/// A pattern for codes, from the start as Python's `match`.
fn code_pattern(pattern: &str) -> Result<Regex, Refusal> {
    Regex::new(&format!("^(?:{pattern})")).map_err(|_| Refusal::Wrong {
        key: "code_format".into(),
        value: pattern.into(),
        expected: "a regular expression".into(),
    })
}

/// A code that stands for a secret is filled in after this module: nothing can be said about it here.
pub(super) fn is_placeholder(code: &str) -> bool {
    code.starts_with("${secret:")
}

impl Component for Lock {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text == self.payload_reset {
            view.set_unknown();
        } else if let Some((_, state)) = self.words.iter().find(|(word, _)| word == text) {
            view.set(*state);
        } else if !text.is_empty() {
            return Err(bad("state", text, "one of the lock's states"));
        }
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let unsupported = || EncodeError::Unsupported(action.kind());
        let payload = match action.verb {
            Verb::Lock => &self.payload_lock,
            Verb::Unlock => &self.payload_unlock,
            Verb::Open => self.payload_open.as_ref().ok_or_else(unsupported)?,
            _ => return Err(unsupported()),
        };
        let code = action.args.get(&Arg::Code).and_then(ArgValue::as_text);
        if let Some(format) = &self.code_format
            && !code.is_some_and(|code| is_placeholder(code) || format.is_match(code))
        {
            return Err(EncodeError::Argument(
                "the code does not have the form that this lock asks for".into(),
            ));
        }
        let code = code.map_or(Engine::from(()), Engine::from);
        out.send(&self.command, payload.as_str(), &[("code", code)])
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        match action.verb {
            Verb::Lock if self.optimistic => Update::value("locked"),
            Verb::Unlock if self.optimistic => Update::value("unlocked"),
            Verb::Open if self.optimistic => Update::value("open"),
            _ => Update::default(),
        }
    }
}
