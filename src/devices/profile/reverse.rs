//! A profile read from the device's side: what a message asks of it, and what it would say about its state.
//!
//! Only the simulator and the tests of profiles need this. It knows nothing of time or of how devices behave.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::codec::{Body, ProfileCodec, Report, Send, Target, arg_json};
use super::field::Field;
use super::format::Saying;
use crate::home::{ActionSpec, Arg, Args, Attr, Verb};

/// A message that the device publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub topic: String,
    pub payload: String,
    pub retained: bool,
}

impl ProfileCodec {
    /// The verb and the arguments that a message on a command topic asks for. Where several fit: the one that
    /// explains most of the message and lacks no argument.
    pub fn understand(&self, topic: &str, payload: &str) -> Option<(Verb, Args)> {
        let mut best: Option<(Fit, Verb, Args)> = None;
        for action in &self.actions {
            for send in action.sends.iter().filter(|send| send.topic == topic) {
                let Some((explained, args)) = understand_send(send, &action.spec, payload) else { continue };
                let complete =
                    action.spec.args.iter().all(|arg| !arg.required || args.contains_key(&arg.name));
                let fit = (explained, complete, send.only_with.is_none());
                if best.as_ref().is_none_or(|(known, _, _)| fit > *known) {
                    best = Some((fit, action.spec.verb, args));
                }
            }
        }
        best.map(|(_, verb, args)| (verb, args))
    }

    /// What the device says about its whole state when it starts: one message for each of its report topics that
    /// has something to say.
    pub fn reports(&self, value: Option<&str>, attributes: &BTreeMap<Attr, Value>) -> Vec<Said> {
        let reports = self.reports.iter().filter(|report| report.said != Saying::OnChange);
        reports.filter_map(|report| report.say(value, attributes)).collect()
    }

    /// What it says when something changes: only on topics that tell something `changed`, which is `value` or the
    /// name of an attribute.
    pub fn reports_of_change(
        &self,
        value: Option<&str>,
        attributes: &BTreeMap<Attr, Value>,
        changed: impl Fn(&str) -> bool,
    ) -> Vec<Said> {
        let tells = |report: &&Report| {
            report.said != Saying::AtStart && report.reads.iter().any(|read| changed(read.target.name()))
        };
        self.reports.iter().filter(tells).filter_map(|report| report.say(value, attributes)).collect()
    }

    /// What the device publishes about being reachable, with what its bridge says for all of its devices if
    /// `with_bridge`.
    pub fn availability_messages(&self, online: bool, with_bridge: bool) -> Vec<Said> {
        self.availability
            .iter()
            .filter(|topic| with_bridge || !topic.shared)
            .map(|topic| {
                let word = if online { &topic.online } else { &topic.offline };
                let payload = match &topic.path {
                    None => word.clone(),
                    Some(path) => {
                        let mut json = Value::Null;
                        path.put(&mut json, Value::String(word.clone()));
                        json.to_string()
                    }
                };
                Said { topic: topic.topic.clone(), payload, retained: true }
            })
            .collect()
    }
}

impl Report {
    fn say(&self, value: Option<&str>, attributes: &BTreeMap<Attr, Value>) -> Option<Said> {
        let payload = self.payload(value, attributes)?;
        Some(Said { topic: self.topic.clone(), payload, retained: self.retained })
    }

    fn payload(&self, value: Option<&str>, attributes: &BTreeMap<Attr, Value>) -> Option<String> {
        let mut json = Value::Object(Map::new());
        for read in &self.reads {
            let ours = match &read.target {
                Target::Value => Cow::Owned(Value::String(value?.to_owned())),
                Target::Attribute(attribute) => match attributes.get(attribute) {
                    Some(known) => Cow::Borrowed(known),
                    None => continue,
                },
            };
            let theirs = match read.field.reverse(&ours) {
                Some(theirs) => theirs,
                // A word that stands for "nothing special" is said where the state has no word here.
                None => match read.field.ignore.first() {
                    Some(word) => Value::String(word.to_string()),
                    None => continue,
                },
            };
            match &read.field.path {
                None => return Some(text(&theirs)),
                Some(path) => path.put(&mut json, theirs),
            }
        }
        let empty = json.as_object().is_none_or(Map::is_empty);
        (!empty).then(|| json.to_string())
    }
}

/// How well an action fits a message: how much it explains, whether it lacks nothing, and whether the message stands
/// for itself and is not a mere companion of another.
type Fit = (usize, bool, bool);

/// A fixed part of a message explains more than an argument, which could hold anything.
const FIXED: usize = 2;

/// How many parts of the message `send` explains, and the arguments in it.
fn understand_send(send: &Send, spec: &ActionSpec, payload: &str) -> Option<(usize, Args)> {
    match &send.body {
        Body::Text(text) => (text == payload).then(|| (FIXED, Args::new())),
        Body::Arg(arg, field) => {
            let number = serde_json::from_str(payload).ok().filter(|value| !is_text(value));
            let read = |value: Value| argument(*arg, field, spec, &value);
            let value = number.and_then(read).or_else(|| read(Value::String(payload.to_owned())))?;
            Some((1, Args::from([value])))
        }
        Body::Json { fixed, fields } => {
            let message: Value = serde_json::from_str(payload).ok()?;
            // An argument may stand where the profile has a fixed default.
            let mut default = fixed.clone();
            for path in fields.iter().filter_map(|(_, field)| field.path.as_ref()) {
                if let (Some(_), Some(said)) = (path.find(fixed), path.find(&message)) {
                    path.set(&mut default, said.clone());
                }
            }
            let fixed = default.as_object()?;
            for (name, expected) in fixed {
                // Any secret is taken: the simulator does not know it.
                let secret = expected.as_str().is_some_and(|text| text.starts_with("${secret:"));
                if !secret && !contains(message.get(name)?, expected) {
                    return None;
                }
            }
            let mut args = Args::new();
            for (arg, field) in fields {
                match field.path.as_ref().and_then(|path| path.find(&message)) {
                    Some(value) => args.extend([argument(*arg, field, spec, value)?]),
                    None if spec.arg(*arg).is_some_and(|spec| spec.required) => return None,
                    None => {}
                }
            }
            let explained = fixed.len() * FIXED + args.len();
            (explained > 0).then_some((explained, args))
        }
    }
}

fn argument(
    arg: Arg,
    field: &Field,
    spec: &ActionSpec,
    value: &Value,
) -> Option<(Arg, crate::home::ArgValue)> {
    let ours = field.reverse(value)?;
    Some((arg, spec.arg(arg)?.check(&ours).ok()?))
}

/// Whether `expected` is part of `message`: objects may hold more.
fn contains(message: &Value, expected: &Value) -> bool {
    match (message, expected) {
        (Value::Object(message), Value::Object(expected)) => expected
            .iter()
            .all(|(name, expected)| message.get(name).is_some_and(|there| contains(there, expected))),
        (message, expected) => message == expected,
    }
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::String(_))
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Whether two sets of arguments mean the same to the device: numbers may differ by what its scale rounds away.
pub(super) fn same_args(left: &Args, right: &Args) -> bool {
    let close = |left: &Value, right: &Value| match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => (left - right).abs() <= 0.02 * left.abs().max(right.abs()).max(1.0),
        (None, _) | (_, None) => match (left.as_array(), right.as_array()) {
            (Some(left), Some(right)) => left.iter().zip(right).all(|(left, right)| {
                (left.as_f64().unwrap_or_default() - right.as_f64().unwrap_or_default()).abs() <= 8.0
            }),
            (None, _) | (_, None) => left == right,
        },
    };
    left.len() == right.len()
        && left.iter().zip(right).all(|((left_arg, left), (right_arg, right))| {
            left_arg == right_arg && close(&arg_json(left), &arg_json(right))
        })
}
