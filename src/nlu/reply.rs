//! Sentences about outcomes, short enough to be spoken. They never claim more than the outcomes do.

use crate::home::{Action, Arg, ArgValue, Domain};

use super::describe::{list, number};
use super::lexicon::Lexicon;

/// What became of one action, as the house says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutcomeKind {
    /// Not done: what a schedule or an approval is about. Its sentence is a part of another one.
    Intended,
    /// A live report shows it.
    Confirmed,
    /// It was so before; nothing was sent.
    Already,
    /// Sent; no report came in time.
    Unconfirmed,
    /// Sent; the device reports something else.
    Contradicted,
    /// Not sent: link down, unavailable.
    NotSent,
    /// The device, or a limit, refused it.
    Refused,
    /// A person said no.
    Denied,
    /// Nobody decided in time.
    Expired,
}

/// One action, by the name that people use, and what became of it.
#[derive(Debug, Clone)]
pub struct Told<'a> {
    pub name: &'a str,
    pub action: &'a Action,
    pub kind: OutcomeKind,
    /// Why, in the language of the reply, without a full stop: "the balcony door is open".
    pub detail: Option<&'a str>,
}

/// More names than this are counted instead of read.
const NAMES: usize = 4;

/// The sentence for all outcomes of a command; what went right stands first.
pub fn outcomes_sentence(lexicon: &Lexicon, told: &[Told<'_>]) -> String {
    let mut order: Vec<&Told<'_>> = told.iter().collect();
    order.sort_by_key(|one| one.kind);
    let mut sentences: Vec<String> = Vec::new();
    while let Some(first) = order.first().copied() {
        let same = |one: &&Told<'_>| {
            one.kind == first.kind
                && one.detail == first.detail
                && verb_key(lexicon, one.action) == verb_key(lexicon, first.action)
                && one.action.args == first.action.args
        };
        let (group, rest): (Vec<&Told<'_>>, Vec<&Told<'_>>) = order.into_iter().partition(same);
        order = rest;
        sentences.push(sentence(lexicon, &group, first));
    }
    sentences.join(lexicon.phrase("between_sentences").unwrap_or(" "))
}

fn sentence(lexicon: &Lexicon, group: &[&Told<'_>], first: &Told<'_>) -> String {
    let names: Vec<String> = group.iter().map(|one| lexicon.say("name", &[("name", one.name)])).collect();
    let names = if names.len() > NAMES {
        let domain = first.action.entity.domain();
        let same = group.iter().all(|one| one.action.entity.domain() == domain);
        let kind = same
            .then(|| lexicon.phrase(&format!("kind.{domain}")))
            .flatten()
            .or_else(|| lexicon.phrase("kind.other"))
            .unwrap_or_default();
        lexicon.say("counted", &[("count", &names.len().to_string()), ("kind", kind)])
    } else {
        list(lexicon, &names)
    };
    let value = value(lexicon, first.action);
    let verb = |form: &str| {
        let key = format!("{form}.{}", verb_key(lexicon, first.action));
        let text =
            lexicon.phrase(&key).or_else(|| lexicon.phrase(&format!("{form}.other"))).unwrap_or_default();
        text.replace("{names}", &names).replace("{value}", &value)
    };
    let many = group.len() > 1;
    let key = match first.kind {
        OutcomeKind::Intended => "intended",
        OutcomeKind::Confirmed => "confirmed",
        OutcomeKind::Already => "already",
        OutcomeKind::Unconfirmed => "unconfirmed",
        OutcomeKind::Contradicted if first.detail.is_some() => "contradicted_because",
        OutcomeKind::Contradicted => "contradicted",
        OutcomeKind::NotSent => "not_sent",
        OutcomeKind::Refused => "refused",
        OutcomeKind::Denied => "denied",
        OutcomeKind::Expired => "expired",
    };
    let many_key = format!("{key}_many");
    let key = if many && lexicon.phrase(&many_key).is_some() { many_key.as_str() } else { key };
    let detail = first.detail.map(|detail| lexicon.say("because", &[("detail", detail)])).unwrap_or_default();
    let text = lexicon.say(
        key,
        &[
            ("done", &verb("done")),
            ("do", &verb("do")),
            ("is", &verb("as")),
            ("names", &names),
            ("detail", &detail),
        ],
    );
    if first.kind == OutcomeKind::Intended { text } else { capital(&text) }
}

/// `lock.unlock` where the language has words for the domain's own verb, else `unlock`.
fn verb_key(lexicon: &Lexicon, action: &Action) -> String {
    let kind = action.kind();
    let args = action.args.keys().next().map(|arg| format!("{}.{}", action.verb, arg.word()));
    if let Some(key) = args
        && lexicon.phrase(&format!("done.{key}")).is_some()
    {
        return key;
    }
    if lexicon.phrase(&format!("done.{kind}")).is_some() { kind } else { action.verb.word().to_owned() }
}

/// The first argument with its unit.
fn value(lexicon: &Lexicon, action: &Action) -> String {
    let Some((arg, value)) = action.args.iter().next() else { return String::new() };
    let unit = if action.entity.domain() == Domain::Number { "" } else { arg.unit() };
    match value {
        ArgValue::Number(value) if unit == "%" => format!("{} %", number(*value)),
        ArgValue::Number(value) if unit.is_empty() => number(*value),
        ArgValue::Number(value) => format!("{} {unit}", number(*value)),
        ArgValue::Text(text) => text.replace('_', " "),
        ArgValue::Bool(flag) => flag.to_string(),
        ArgValue::Numbers(numbers) => numbers.iter().map(|part| number(*part)).collect::<Vec<_>>().join(", "),
        ArgValue::Rgb(rgb) => super::lexicon::COLORS
            .iter()
            .position(|(_, known)| known == rgb)
            .and_then(|color| lexicon.color_name(color))
            .map_or_else(|| format!("{rgb:?}"), str::to_owned),
    }
    .chars()
    .take(if *arg == Arg::Message { 200 } else { 60 })
    .collect()
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
