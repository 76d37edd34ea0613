//! What a sentence says was done, or is so, and whether the outcomes and the house say the same.
//!
//! The words are the lexicon's: `claims` for "done", and for each verb what our own sentences say (`done.*`, `as.*`)
//! with other ways to say it (`claims.*`). A clause that denies, offers or asks claims nothing. This reads sentences; it
//! does not understand them: what it takes for a claim and cannot find in the ledger or the house gives way to our own
//! sentence, which is true.

mod text;

use text::{begins_with, clauses, find, holds, position, spaced};

use crate::actuate::Ledger;
use crate::home::{ArgValue, Domain, Entity, House, Verb, attr};
use crate::nlu::Lexicon;

/// What a sentence is compared with.
pub(super) struct Facts<'a> {
    pub ledger: &'a Ledger,
    pub house: &'a House,
    pub lexicon: &'a Lexicon,
    /// A timer, list or schedule did what it was asked.
    pub household: bool,
    /// The command asks how things are: an answer to it may tell what no call of the task has done.
    pub question: bool,
}

/// Whether a text says anywhere that something was done or is so.
pub fn claims(text: &str, lexicon: &Lexicon) -> bool {
    clauses(text, lexicon).iter().any(|clause| !found(clause, lexicon).is_empty())
}

/// Whether what `text` claims is in the ledger, or is how the house is now.
pub fn is_so(text: &str, ledger: &Ledger, house: &House, lexicon: &Lexicon) -> bool {
    agrees(text, &Facts { ledger, house, lexicon, household: false, question: false })
}

/// Whether everything that `text` claims is so.
pub(super) fn agrees(text: &str, facts: &Facts<'_>) -> bool {
    clauses(text, facts.lexicon).iter().all(|clause| clause_agrees(clause, facts))
}

/// Whether a command asks how things are, and nothing in it asks for something to be done ("could you …?", "is it on?
/// If not, turn it on").
pub(super) fn asks(command: &str, lexicon: &Lexicon) -> bool {
    let begins = |clause: &str, key: &str| words(lexicon, key).any(|word| begins_with(clause, word.trim()));
    let parts = text::parts(command, lexicon);
    let mut asked = false;
    for part in &parts {
        if begins(part, "requests") {
            return false;
        }
        if begins(part, "asks") {
            asked = true;
        } else if begins(part, "deeds") {
            return false;
        }
    }
    asked
}

/// One way in which a clause claims something.
struct Claim {
    /// Any of these would make it so; empty: that it is done, whatever it is.
    verbs: Vec<Verb>,
    /// It says how something is ("is locked"), and not that it was done ("turned on").
    state: bool,
    /// The speaker says it of itself ("I've locked"): no answer to a question is.
    of_itself: bool,
}

fn clause_agrees(clause: &str, facts: &Facts<'_>) -> bool {
    let claims = found(clause, facts.lexicon);
    let named = named(clause, facts.house);
    let numbers = measures(clause);
    let set =
        facts.ledger.iter().any(|entry| entry.action.args.values().any(|value| value.as_number().is_some()));
    // "It is at 80 %" after 40 needs no verb to be false.
    let spoken_of = named.is_empty() || named.iter().any(|entity| held(entity, facts));
    if (!claims.is_empty() || (set && spoken_of))
        && !facts.question
        && !denied(clause, facts.lexicon)
        && !numbers.iter().all(|number| known(*number, &named, facts))
    {
        return false;
    }
    claims.iter().all(|claim| claim_agrees(claim, &named, facts))
}

fn claim_agrees(claim: &Claim, named: &[&Entity], facts: &Facts<'_>) -> bool {
    if claim.verbs.is_empty() {
        let answers = facts.question && !claim.of_itself;
        let something = !facts.ledger.is_empty() || facts.household || answers;
        return something && (answers || named.iter().all(|entity| held(entity, facts) || is_read(entity)));
    }
    let did = |entity: Option<&Entity>| {
        facts.ledger.iter().any(|entry| {
            claim.verbs.contains(&entry.action.verb)
                && entry.outcome.is_wished()
                && entity.is_none_or(|entity| covers(entity, entry.action.entity.as_str(), facts.house))
        })
    };
    if named.is_empty() {
        let answers = facts.question && !claim.of_itself;
        return did(None) || answers || (facts.household && facts.ledger.is_empty());
    }
    named.iter().all(|entity| {
        did(Some(entity))
            || ((claim.state || facts.question)
                && claim.verbs.iter().any(|verb| shows(entity, *verb, facts.house)))
    })
}

/// A thing that can only be looked at: no claim is about having done something to it.
fn is_read(entity: &Entity) -> bool {
    entity.actions.is_empty()
}

fn held(entity: &Entity, facts: &Facts<'_>) -> bool {
    facts.ledger.iter().any(|entry| covers(entity, entry.action.entity.as_str(), facts.house))
}

/// Whether `entity`, found by its name in a text, may be the entity `id`: a short name may be a part of a long one.
fn covers(entity: &Entity, id: &str, house: &House) -> bool {
    entity.id.as_str() == id
        || house.entity(id).is_some_and(|other| {
            other.all_names().any(|long| {
                let long = long.to_lowercase();
                entity.all_names().any(|short| long.contains(&short.to_lowercase()))
            })
        })
}

/// Whether the house shows what `verb` would leave behind.
fn shows(entity: &Entity, verb: Verb, house: &House) -> bool {
    let Some(text) = house.state(entity.id.as_str()).and_then(|state| state.text()) else { return false };
    let contact = entity.domain() == Domain::BinarySensor;
    match verb {
        Verb::TurnOn => text == "on" || (!matches!(text, "off" | "unavailable" | "unknown") && runs(entity)),
        Verb::TurnOff => text == "off",
        Verb::Open => text == "open" || (contact && text == "on"),
        Verb::Close => text == "closed" || (contact && text == "off"),
        Verb::Lock => text == "locked",
        Verb::Unlock => text == "unlocked",
        Verb::ArmHome | Verb::ArmAway | Verb::ArmNight | Verb::ArmVacation => text.starts_with("armed"),
        Verb::Disarm => text == "disarmed",
        Verb::Play | Verb::PlayMedia => text == "playing",
        Verb::Pause => text == "paused",
        Verb::Start | Verb::CleanSpot => text == "cleaning",
        Verb::StartMowing => text == "mowing",
        Verb::ReturnToBase | Verb::Dock => matches!(text, "docked" | "returning"),
        _ => false,
    }
}

/// Kinds whose state names a mode while they are on.
fn runs(entity: &Entity) -> bool {
    matches!(entity.domain(), Domain::Climate | Domain::MediaPlayer | Domain::WaterHeater)
}

/// The entities that a clause names; of names within names the longest.
fn named<'h>(clause: &str, house: &'h House) -> Vec<&'h Entity> {
    let mut all: Vec<(String, &Entity)> = house
        .entities()
        .flat_map(|entity| entity.all_names().map(move |name| (spaced(name), &**entity)))
        .filter(|(name, _)| name.trim().chars().count() > 1 && holds(clause, name.trim()))
        .collect();
    let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    all.retain(|(name, _)| {
        !names.iter().any(|other| other.len() > name.len() && other.contains(name.trim()))
    });
    all.into_iter().map(|(_, entity)| entity).collect()
}

/// Numbers with a unit that something is set to: percents and degrees.
fn measures(clause: &str) -> Vec<f64> {
    let mut all = Vec::new();
    let mut rest = clause;
    while let Some(at) = rest.find(|character: char| character.is_ascii_digit()) {
        let tail = rest.get(at..).unwrap_or_default();
        let end = tail.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(tail.len());
        let (digits, after) = tail.split_at(end);
        let after = after.trim_start();
        let unit = [
            "%",
            "％",
            "°",
            "percent",
            "per cent",
            "prozent",
            "procent",
            "pour cent",
            "por ciento",
            "degree",
            "grad",
            "degré",
            "grado",
            "度",
        ];
        let before = rest.get(..at).unwrap_or_default().trim_end();
        if unit.iter().any(|unit| after.starts_with(unit)) || before.ends_with("百分之") {
            all.extend(digits.trim_matches(['.', ',']).replace(',', ".").parse::<f64>().ok());
        }
        rest = after;
    }
    all
}

/// Whether a number is what was set, or what an entity of the ledger or a sensor reports, or one that is named and was
/// not acted on.
fn known(number: f64, named: &[&Entity], facts: &Facts<'_>) -> bool {
    let near = |other: f64| (other - number).abs() < 0.6;
    let set = facts.ledger.iter().flat_map(|entry| entry.action.args.values());
    let mut set = set.filter_map(ArgValue::as_number);
    let reported = |id: &str| {
        facts.house.state(id).is_some_and(|state| {
            let scaled =
                |name: &str, by: f64| state.attribute_number(name).is_some_and(|level| near(level * by));
            state.number().is_some_and(near)
                || scaled(attr::BRIGHTNESS, 1.0 / 2.55)
                || scaled(attr::VOLUME_LEVEL, 100.0)
                || [
                    attr::TEMPERATURE,
                    attr::CURRENT_TEMPERATURE,
                    attr::CURRENT_POSITION,
                    attr::PERCENTAGE,
                    attr::HUMIDITY,
                    attr::CURRENT_HUMIDITY,
                    attr::BATTERY_LEVEL,
                ]
                .iter()
                .any(|name| scaled(name, 1.0))
        })
    };
    set.any(near)
        || named.iter().any(|entity| !held(entity, facts) && reported(entity.id.as_str()))
        || facts.ledger.iter().any(|entry| reported(entry.action.entity.as_str()))
        || facts
            .house
            .entities()
            .filter(|entity| matches!(entity.domain(), Domain::Sensor | Domain::Weather))
            .any(|entity| reported(entity.id.as_str()))
}

/// Everything that a clause claims.
fn found(clause: &str, lexicon: &Lexicon) -> Vec<Claim> {
    let mut all = Vec::new();
    let particles: Vec<&str> = words(lexicon, "claims.particles").collect();
    let claimed = |phrase: &str| {
        position(clause, phrase, &particles).is_some_and(|at| !denied_before(clause, at, lexicon))
    };
    let of_itself = words(lexicon, "claims.self").any(|word| holds(clause, word));
    for key in ["claims", "claims.done"] {
        if words(lexicon, key).any(&claimed) {
            all.push(Claim { verbs: Vec::new(), state: false, of_itself });
        }
    }
    // Several verbs are told in the same words ("started"): each of them makes the sentence true.
    let mut by_phrase: Vec<(String, bool, Vec<Verb>)> = Vec::new();
    for verb in Verb::ALL {
        for (phrase, state) in phrases(*verb, lexicon) {
            match by_phrase.iter_mut().find(|(known, of, _)| *known == phrase && *of == state) {
                Some((_, _, verbs)) => verbs.push(*verb),
                None => by_phrase.push((phrase, state, vec![*verb])),
            }
        }
    }
    let spoken: Vec<_> = by_phrase.into_iter().filter(|(phrase, ..)| claimed(phrase)).collect();
    for (_, state, verbs) in &spoken {
        // "Is locked" holds "locked", and says how it is.
        let said_as_state = spoken.iter().any(|(_, other, same)| *other && same == verbs);
        if *state || !said_as_state {
            all.push(Claim { verbs: verbs.clone(), state: *state, of_itself });
        }
    }
    // "Turned on" is said by its verb; that something was done is then no claim of its own.
    if all.iter().any(|claim| !claim.verbs.is_empty()) {
        all.retain(|claim| !claim.verbs.is_empty());
    }
    all
}

/// How it is told that `verb` was done (false), or that it is so (true). Three dots stand for any words between.
fn phrases(verb: Verb, lexicon: &Lexicon) -> Vec<(String, bool)> {
    let mut all: Vec<(String, bool)> =
        words(lexicon, &format!("claims.{verb}")).map(|phrase| (phrase.to_owned(), false)).collect();
    // What all our sentences begin with says nothing of the verb ("ich habe … eingeschaltet").
    let frame =
        lexicon.phrase("done.other").and_then(|done| done.split('{').next()).unwrap_or_default().trim();
    if let Some(done) = lexicon.phrase(&format!("done.{verb}")) {
        let without: String = outside(done).join("…");
        let without = without.strip_prefix(frame).unwrap_or(&without);
        let without = without.trim_matches(|character: char| character == '…' || character == ' ');
        let tells = without.chars().count() > 3 || lexicon.phrase("between_sentences") == Some("");
        if tells && frame.chars().count() != without.chars().count() {
            all.push((without.to_lowercase(), false));
        }
    }
    let state = lexicon.phrase(&format!("as.{verb}")).filter(|state| !state.contains('{'));
    if let Some(state) = state {
        all.extend(words(lexicon, "claims.is").map(|is| (is.replace("{is}", state).to_lowercase(), true)));
    }
    all
}

/// The parts of a template outside its fields.
fn outside(template: &str) -> Vec<&str> {
    template
        .split('{')
        .enumerate()
        .map(
            |(number, part)| {
                if number == 0 { part } else { part.split_once('}').map_or("", |(_, rest)| rest) }
            },
        )
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

fn words<'l>(lexicon: &'l Lexicon, key: &str) -> impl Iterator<Item = &'l str> {
    lexicon.phrase(key).unwrap_or_default().split('|').filter(|word| !word.trim().is_empty())
}

fn denied(clause: &str, lexicon: &Lexicon) -> bool {
    denied_before(clause, clause.len(), lexicon)
}

/// Whether a word before `at` denies, offers or supposes what follows.
fn denied_before(clause: &str, at: usize, lexicon: &Lexicon) -> bool {
    // "is not on": the denial may stand within the phrase.
    let until = clause.get(..at).map_or(clause.len(), str::len);
    words(lexicon, "claims.denied").any(|word| find(clause, word, 0).is_some_and(|found| found <= until))
}

#[cfg(test)]
mod tests;
