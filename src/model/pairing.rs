//! The conversation as every provider accepts it: each call with exactly one result, right behind it and in order.
//!
//! The loop already keeps calls and results paired. Providers refuse a whole conversation for one fault in it, and
//! records may come from another model, from an older version, or be cut by the sliding window: so this last look
//! repairs what can be repaired before anything is sent. It also redacts, and writes ids and arguments in a form that
//! every provider takes. It knows no wire format.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::redact::Redactor;
use super::{Message, ToolCall};

/// One entry of the conversation. Kinds alternate: never two entries of the person or of the model in a row, and
/// results only behind calls.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    User { text: String },
    Assistant { text: String, calls: Vec<WireCall> },
    Results(Vec<WireResult>),
}

/// A call whose id is unique in the conversation and whose arguments are a JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct WireCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WireResult {
    pub id: String,
    pub content: String,
    pub is_error: bool,
}

/// Providers take letters, digits, `_` and `-`, and at most 64 characters (names: OpenAI; ids: 40 on some servers).
const LONGEST_NAME: usize = 64;
const LONGEST_ID: usize = 36;
/// Longest part of arguments that were no JSON which is shown to the model again, in characters.
const LONGEST_BROKEN: usize = 500;

const NO_RESULT: &str =
    r#"{"error":"no_result","detail":"this call was never answered; do not assume that it ran"}"#;
const LEFT_OUT: &str = "(the beginning of the conversation was left out)";

/// The conversation for a provider.
pub(super) fn conversation(messages: &[Message], redactor: &Redactor) -> Vec<Entry> {
    let mut builder = Builder { entries: Vec::new(), open: Vec::new(), ids: HashSet::new(), redactor };
    for message in messages {
        builder.add(message);
    }
    builder.close();
    builder.entries
}

struct Builder<'a> {
    entries: Vec<Entry>,
    /// Calls of the last assistant entry, with what was answered so far.
    open: Vec<OpenCall>,
    ids: HashSet<String>,
    redactor: &'a Redactor,
}

struct OpenCall {
    /// The id as the record has it.
    recorded: String,
    id: String,
    result: Option<WireResult>,
    /// What the person said between call and result; it has to wait.
    said_meanwhile: Vec<String>,
}

impl Builder<'_> {
    fn add(&mut self, message: &Message) {
        match message {
            Message::User { text } => self.user(&self.redactor.redact(text)),
            Message::Assistant { text, calls } => {
                self.close();
                self.assistant(&self.redactor.redact(text), calls);
            }
            Message::ToolResult { call_id, content, is_error } => self.result(call_id, content, *is_error),
        }
    }

    fn user(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if let Some(last) = self.open.last_mut() {
            last.said_meanwhile.push(text.to_owned());
            return;
        }
        match self.entries.last_mut() {
            Some(Entry::User { text: earlier }) => {
                earlier.push_str("\n\n");
                earlier.push_str(text);
            }
            Some(Entry::Assistant { .. } | Entry::Results(_)) | None => {
                self.entries.push(Entry::User { text: text.to_owned() });
            }
        }
    }

    fn assistant(&mut self, text: &str, calls: &[ToolCall]) {
        // Providers refuse text that is only white space.
        let text = if text.trim().is_empty() { "" } else { text };
        if text.is_empty() && calls.is_empty() {
            return;
        }
        if self.entries.is_empty() {
            self.entries.push(Entry::User { text: LEFT_OUT.to_owned() });
        }
        let calls: Vec<WireCall> = calls.iter().map(|call| self.call(call)).collect();
        match self.entries.last_mut() {
            // An answer in several parts, after a pause or a cut.
            Some(Entry::Assistant { text: earlier, calls: earlier_calls }) => {
                earlier.push_str(text);
                earlier_calls.extend(calls);
            }
            Some(Entry::User { .. } | Entry::Results(_)) | None => {
                self.entries.push(Entry::Assistant { text: text.to_owned(), calls });
            }
        }
    }

    fn call(&mut self, call: &ToolCall) -> WireCall {
        let wanted = plain(&call.id, LONGEST_ID, "call");
        let mut id = wanted.clone();
        let mut copy = 2_u32;
        while !self.ids.insert(id.clone()) {
            id = format!("{wanted}_{copy}");
            copy += 1;
        }
        self.open.push(OpenCall {
            recorded: call.id.clone(),
            id: id.clone(),
            result: None,
            said_meanwhile: Vec::new(),
        });
        let arguments = object_text(&call.arguments);
        let arguments = self.arguments(&arguments);
        WireCall { id, name: plain(&call.name, LONGEST_NAME, "unknown"), arguments }
    }

    /// JSON without known secrets that is still JSON: a code may be a number.
    fn arguments(&self, arguments: &str) -> String {
        match (self.redactor.redact_known(arguments), serde_json::from_str(arguments)) {
            (Cow::Borrowed(_), _) | (_, Err(_)) => arguments.to_owned(),
            (Cow::Owned(_), Ok(value)) => self.redactor.redact_arguments(&value).to_string(),
        }
    }

    fn result(&mut self, call_id: &str, content: &str, is_error: bool) {
        // With one id given twice, the results stand in the order of the calls.
        let open = self.open.iter_mut().find(|call| call.recorded == call_id && call.result.is_none());
        match open {
            Some(call) => {
                let content = self.redactor.redact(content).into_owned();
                call.result = Some(WireResult { id: call.id.clone(), content, is_error });
            }
            None => tracing::warn!(call_id, "a tool result without its call is left out of the request"),
        }
    }

    /// Ends the calls that are open: their results go in, in the order of the calls, and then what was said meanwhile.
    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let mut said = Vec::new();
        let mut results = Vec::with_capacity(self.open.len());
        for call in self.open.drain(..) {
            said.extend(call.said_meanwhile);
            results.push(call.result.unwrap_or_else(|| WireResult {
                id: call.id,
                content: NO_RESULT.to_owned(),
                is_error: true,
            }));
        }
        self.entries.push(Entry::Results(results));
        for text in said {
            self.user(&text);
        }
    }
}

/// Letters, digits, `_` and `-` only.
fn plain(text: &str, longest: usize, otherwise: &str) -> String {
    let plain: String = text
        .chars()
        .take(longest)
        .map(|character| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
            _ => '_',
        })
        .collect();
    match plain.is_empty() {
        true => otherwise.to_owned(),
        false => plain,
    }
}

/// Arguments as a JSON object. What was none is shown to the model as what it wrote, under one key.
fn object_text(arguments: &str) -> Cow<'_, str> {
    if arguments.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => Cow::Borrowed(arguments),
        Ok(_) | Err(_) => {
            let shown: String = arguments.chars().take(LONGEST_BROKEN).collect();
            Cow::Owned(serde_json::json!({ "not_valid_json": shown }).to_string())
        }
    }
}

/// True when `arguments` are one complete JSON object: more text after it could not belong to it.
pub(super) fn is_complete_object(arguments: &str) -> bool {
    let trimmed = arguments.trim();
    trimmed.starts_with('{')
        && trimmed.ends_with('}')
        && serde_json::from_str::<serde::de::IgnoredAny>(trimmed).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::redact::RedactSettings;

    fn redactor() -> &'static Redactor {
        static REDACTOR: std::sync::LazyLock<Redactor> =
            std::sync::LazyLock::new(|| Redactor::new(&RedactSettings::default(), &[]).expect("valid"));
        &REDACTOR
    }

    fn user(text: &str) -> Message {
        Message::User { text: text.to_owned() }
    }

    fn said(text: &str, calls: &[(&str, &str, &str)]) -> Message {
        let calls = calls.iter().map(|(id, name, arguments)| ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
        });
        Message::Assistant { text: text.to_owned(), calls: calls.collect() }
    }

    fn result(call_id: &str, content: &str) -> Message {
        Message::ToolResult { call_id: call_id.to_owned(), content: content.to_owned(), is_error: false }
    }

    /// What every provider asks of a conversation.
    fn check(entries: &[Entry]) {
        assert!(!matches!(entries.first(), Some(Entry::Assistant { .. } | Entry::Results(_))), "{entries:?}");
        let mut ids = HashSet::new();
        for (index, entry) in entries.iter().enumerate() {
            let next = entries.get(index + 1);
            match entry {
                Entry::User { text } => {
                    assert!(!text.is_empty());
                    assert!(!matches!(next, Some(Entry::User { .. } | Entry::Results(_))));
                }
                Entry::Assistant { calls, .. } if calls.is_empty() => {
                    assert!(matches!(next, None | Some(Entry::User { .. })));
                }
                Entry::Assistant { calls, .. } => {
                    let Some(Entry::Results(results)) = next else { panic!("calls without results") };
                    let called: Vec<&String> = calls.iter().map(|call| &call.id).collect();
                    assert_eq!(called, results.iter().map(|result| &result.id).collect::<Vec<_>>());
                    for call in calls {
                        assert!(ids.insert(call.id.clone()), "id {} twice", call.id);
                        assert!(is_complete_object(&call.arguments), "{}", call.arguments);
                    }
                }
                Entry::Results(_) => assert!(!matches!(next, Some(Entry::Results(_)))),
            }
        }
    }

    #[test]
    fn calls_and_results_are_paired_in_order() {
        let messages = [
            user("lights"),
            said(
                "",
                &[("0.0", "light", "{\"a\":1}"), ("0.0", "light", "{\"a\":2}"), ("x", "bad.name", "{,")],
            ),
            result("x", "third"),
            user("and the fan"),
            result("0.0", "first"),
            result("0.0", "second"),
            result("nobody", "orphan"),
            said("Done.", &[]),
        ];
        let entries = conversation(&messages, redactor());
        check(&entries);
        let Some(Entry::Assistant { calls, .. }) = entries.get(1) else { panic!("{entries:?}") };
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["0_0", "0_0_2", "x"]);
        assert_eq!(calls[2].name, "bad_name");
        assert_eq!(calls[2].arguments, r#"{"not_valid_json":"{,"}"#);
        let Some(Entry::Results(results)) = entries.get(2) else { panic!("{entries:?}") };
        let contents: Vec<&str> = results.iter().map(|result| result.content.as_str()).collect();
        assert_eq!(contents, ["first", "second", "third"]);
        assert_eq!(entries.get(3), Some(&Entry::User { text: "and the fan".to_owned() }));
        assert_eq!(entries.len(), 5);
    }

    #[test]
    fn a_call_that_was_never_answered_says_so() {
        let entries = conversation(&[user("x"), said("", &[("a", "t", "{}")])], redactor());
        check(&entries);
        let Some(Entry::Results(results)) = entries.last() else { panic!("{entries:?}") };
        assert!(results[0].is_error && results[0].content.contains("never answered"));
    }

    #[test]
    fn a_window_that_starts_in_the_middle_still_starts_with_the_person() {
        let entries = conversation(&[result("a", "lost"), said("Done.", &[]), user("thanks")], redactor());
        check(&entries);
        assert_eq!(entries.len(), 3);
    }

    #[test]
    fn everything_that_leaves_is_redacted() {
        let messages = [
            user("what is at 192.168.1.20?"),
            said("I see 192.168.1.20", &[("a", "t", "{}")]),
            result("a", "{\"ip\":\"10.1.2.3\"}"),
        ];
        let entries = conversation(&messages, redactor());
        let text = format!("{entries:?}");
        assert!(!text.contains("192.168") && !text.contains("10.1.2.3"), "{text}");
    }

    proptest! {
        /// Whatever the record holds, what is sent is a conversation that providers accept.
        #[test]
        fn any_record_becomes_a_valid_conversation(
            kinds in prop::collection::vec((0_u8..4, 0_u8..4, 0_u8..3), 0..40),
        ) {
            let id = |number: u8| format!("{number}.{number}");
            let messages: Vec<Message> = kinds.iter().map(|(kind, first, second)| match kind {
                0 => user(["", "a", "b", " "][usize::from(*first)]),
                1 => said(["", "a", "b", " "][usize::from(*first)], &[]),
                2 => said("", &[(&id(*first), "t", "{}"), (&id(*second), "t", "nope")]),
                _ => result(&id(*first), "r"),
            }).collect();
            check(&conversation(&messages, redactor()));
        }
    }
}
