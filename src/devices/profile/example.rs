//! The examples of a profile are its test vectors; they are run both ways whenever the file is read.

use toml::Spanned;

use super::codec::ProfileCodec;
use super::format::{AvailabilityWord, ExampleFile, StateFile};
use super::reverse::same_args;
use super::{FileError, Profile, Source};
use crate::devices::{Codec, Decoded, Payload};
use crate::home::{Action, Args, Availability, EntityId, Stamp, State, Verb};

/// Runs every example; the error is at the example that does not hold.
pub(super) fn run_all(source: Source<'_>, profile: &Profile) -> Result<(), FileError> {
    for example in &profile.file.example {
        run(profile, example).map_err(|why| source.error(example.span(), format!("example: {why}")))?;
    }
    Ok(())
}

fn run(profile: &Profile, example: &Spanned<ExampleFile>) -> Result<(), String> {
    let example = example.get_ref();
    let given = example.with.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let codec = profile.bind(&given).map_err(|error| error.to_string())?;
    match (&example.action, &example.topic) {
        (Some(verb), None) => action(profile, &codec, verb, example),
        (None, Some(topic)) => message(&codec, topic, example),
        (Some(_), Some(_)) | (None, None) => {
            Err("give either action, args and sends, or topic, payload and state".into())
        }
    }
}

/// An action gives exactly these messages, and the device that gets them understands that action.
fn action(profile: &Profile, codec: &ProfileCodec, verb: &str, example: &ExampleFile) -> Result<(), String> {
    let specs = codec.actions();
    let spec = Verb::from_word(verb)
        .and_then(|verb| specs.iter().find(|spec| spec.verb == verb))
        .ok_or_else(|| format!("{verb} is no action of this profile with these parameters"))?;
    let args = spec.check(&example.args).map_err(|error| error.to_string())?;
    let entity = EntityId::from_name(profile.domain(), "example");
    let action = Action { entity, verb: spec.verb, args };
    let messages = codec.encode(&action, &State::default()).map_err(|error| error.to_string())?;
    let sent: Vec<[String; 2]> =
        messages.iter().map(|message| [message.topic.clone(), message.payload.clone()]).collect();
    if sent != example.sends {
        return Err(format!("{action} sends {sent:?}; the example says {:?}", example.sends));
    }
    // One message of several may be that of a smaller action; together they are the action.
    let mut understood = Args::new();
    let mut verbs = Vec::new();
    for [topic, payload] in &sent {
        let (verb, args) = codec
            .understand(topic, payload)
            .ok_or_else(|| format!("{payload:?} on {topic:?} reads back as nothing"))?;
        verbs.push(verb);
        understood.extend(args);
    }
    if !verbs.contains(&spec.verb) {
        // Two verbs may say the same: a speed that is set also switches the fan on.
        let same = verbs.iter().any(|verb| {
            let action = Action { verb: *verb, args: understood.clone(), ..action.clone() };
            codec.encode(&action, &State::default()).is_ok_and(|again| again == messages)
        });
        if !same {
            return Err(format!("the messages read back as {verbs:?}"));
        }
    }
    if same_args(&understood, &action.args) {
        Ok(())
    } else {
        Err(format!("the arguments read back as {understood:?}; sent were {:?}", action.args))
    }
}

/// A message gives exactly this state, and a device in that state says something that gives it again.
fn message(codec: &ProfileCodec, topic: &str, example: &ExampleFile) -> Result<(), String> {
    let payload = example.payload.as_deref().ok_or("the example has a topic and no payload")?;
    let before = example.before.as_ref().map_or_else(State::default, state_of);
    let decoded = codec.decode(topic, &Payload::new(payload.as_bytes(), false), &before);
    let state = match (decoded, &example.state) {
        (Decoded::Nothing, None) if example.nothing => return Ok(()),
        (Decoded::Fault(_), None) if example.fault => return Ok(()),
        (Decoded::Report(update), Some(expected)) => {
            let mut state = before;
            state.apply(&update, stamp());
            let expected = state_of(expected);
            if !same(&state, &expected) {
                return Err(format!("the state is {}; the example says {}", show(&state), show(&expected)));
            }
            state
        }
        (decoded, _) => return Err(format!("the message is read as {decoded:?}")),
    };
    let mut again = State { availability: state.availability, ..State::default() };
    let at_start = codec.reports(state.text(), &state.attributes);
    let on_change = codec.reports_of_change(state.text(), &state.attributes, |_| true);
    for said in at_start.into_iter().chain(on_change) {
        if let Decoded::Report(update) =
            codec.decode(&said.topic, &Payload::new(said.payload.as_bytes(), false), &again)
        {
            again.apply(&update, stamp());
        }
    }
    if state.value.is_none() || same(&again, &state) {
        Ok(())
    } else {
        Err(format!("a device in this state says what is read as {}", show(&again)))
    }
}

fn state_of(file: &StateFile) -> State {
    State {
        value: file.value.clone().map(Into::into),
        attributes: file
            .attributes
            .iter()
            .map(|(name, value)| (name.clone().into(), value.clone()))
            .collect(),
        availability: match file.availability {
            Some(AvailabilityWord::Online) => Availability::Online,
            Some(AvailabilityWord::Offline) => Availability::Offline,
            None => Availability::Unknown,
        },
        ..State::default()
    }
}

fn same(left: &State, right: &State) -> bool {
    left.value == right.value
        && left.attributes == right.attributes
        && left.availability == right.availability
}

fn show(state: &State) -> String {
    let attributes: serde_json::Map<String, serde_json::Value> =
        state.attributes.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let attributes = serde_json::Value::Object(attributes);
    format!("{:?} {attributes} {:?}", state.text(), state.availability)
}

fn stamp() -> Stamp {
    Stamp {
        at: chrono::DateTime::UNIX_EPOCH,
        since_boot: std::time::Duration::ZERO,
        live: true,
        connection: 1,
        sequence: 0,
    }
}
