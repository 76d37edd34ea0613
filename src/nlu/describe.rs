//! States in words: what is asked of an entity, whether it holds, and how it is said. `values` does the same for
//! measurements.

mod values;

use chrono::{DateTime, Datelike, Utc};
use chrono_tz::Tz;

use crate::home::{Domain, State, attr};

use super::index::Item;
use super::lexicon::Lexicon;
use super::vocabulary::StateWord;

pub use values::{amount, knows, value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    Yes,
    No,
    Unknown,
}

fn kind(item: &Item) -> &str {
    item.entity.device_class.as_deref().unwrap_or("")
}

/// Whether a state can be asked of an entity at all.
pub fn can_be(item: &Item, state: StateWord) -> bool {
    let domain = item.entity.domain();
    let openable = matches!(kind(item), "door" | "window" | "garage_door" | "opening" | "");
    match state {
        StateWord::On | StateWord::Off => !matches!(
            domain,
            Domain::Lock
                | Domain::Person
                | Domain::Sensor
                | Domain::Weather
                | Domain::Scene
                | Domain::Todo
                | Domain::Button
        ),
        StateWord::Open | StateWord::Closed => {
            matches!(domain, Domain::Cover | Domain::Valve) || (domain == Domain::BinarySensor && openable)
        }
        StateWord::Opening | StateWord::Closing => matches!(domain, Domain::Cover | Domain::Valve),
        StateWord::Locked | StateWord::Unlocked | StateWord::Jammed => {
            domain == Domain::Lock || (domain == Domain::BinarySensor && kind(item) == "lock")
        }
        StateWord::Playing | StateWord::Paused => {
            matches!(domain, Domain::MediaPlayer | Domain::Vacuum | Domain::Timer)
        }
        StateWord::Home | StateWord::Away => matches!(domain, Domain::Person | Domain::DeviceTracker),
        StateWord::Armed | StateWord::Disarmed => domain == Domain::AlarmControlPanel,
        StateWord::Detected | StateWord::Clear => {
            const OTHERS: &[&str] = &[
                "door",
                "window",
                "garage_door",
                "opening",
                "lock",
                "battery",
                "battery_charging",
                "connectivity",
                "plug",
                "power",
                "running",
            ];
            domain == Domain::BinarySensor && !OTHERS.contains(&kind(item))
        }
        StateWord::Charging => domain == Domain::BinarySensor,
        StateWord::Low => matches!(domain, Domain::Sensor | Domain::BinarySensor) && kind(item) == "battery",
        StateWord::Running => {
            !matches!(domain, Domain::Sensor | Domain::Scene | Domain::Button | Domain::Lock)
        }
        StateWord::Cleaning | StateWord::Docked => matches!(domain, Domain::Vacuum | Domain::LawnMower),
        StateWord::Available | StateWord::Unavailable => true,
    }
}

/// What "everything" and "what did I leave on" mean for a state: things that are used, not sensors.
pub fn is_switched(item: &Item, state: StateWord) -> bool {
    let domain = item.entity.domain();
    match state {
        StateWord::On | StateWord::Off | StateWord::Running => {
            matches!(
                domain,
                Domain::Light | Domain::Switch | Domain::Fan | Domain::MediaPlayer | Domain::Humidifier
            ) && !item.critical
        }
        StateWord::Open
        | StateWord::Closed
        | StateWord::Locked
        | StateWord::Unlocked
        | StateWord::Playing
        | StateWord::Paused
        | StateWord::Home
        | StateWord::Away
        | StateWord::Armed
        | StateWord::Disarmed
        | StateWord::Detected
        | StateWord::Clear
        | StateWord::Low
        | StateWord::Cleaning
        | StateWord::Docked
        | StateWord::Charging
        | StateWord::Jammed
        | StateWord::Available
        | StateWord::Unavailable
        | StateWord::Opening
        | StateWord::Closing => true,
    }
}

/// Whether `state` is what the entity reports.
pub fn truth(item: &Item, known: Option<&State>, state: StateWord) -> Truth {
    let Some(text) = known.and_then(State::text) else { return Truth::Unknown };
    if matches!(text, "unavailable" | "unknown") {
        return if state == StateWord::Unavailable { Truth::Yes } else { Truth::Unknown };
    }
    let binary = item.entity.domain() == Domain::BinarySensor;
    let sure = |holds: bool| if holds { Truth::Yes } else { Truth::No };
    match state {
        StateWord::On | StateWord::Running => {
            sure(!matches!(text, "off" | "idle" | "standby" | "closed" | "docked" | "disarmed" | "paused"))
        }
        StateWord::Off => sure(matches!(text, "off" | "standby" | "closed" | "disarmed" | "idle")),
        StateWord::Open => sure(matches!(text, "open" | "opening") || (binary && text == "on")),
        StateWord::Closed => sure(text == "closed" || (binary && text == "off")),
        // A lock sensor is on when it is unlocked.
        StateWord::Locked => sure(text == "locked" || (binary && text == "off")),
        StateWord::Unlocked => {
            sure(matches!(text, "unlocked" | "open" | "opening") || (binary && text == "on"))
        }
        StateWord::Playing => sure(matches!(text, "playing" | "buffering")),
        StateWord::Paused => sure(text == "paused"),
        StateWord::Home => sure(text == "home"),
        StateWord::Away => sure(text != "home"),
        StateWord::Armed => sure(text.starts_with("armed") || matches!(text, "triggered" | "pending")),
        StateWord::Disarmed => sure(text == "disarmed"),
        StateWord::Detected | StateWord::Charging => sure(text == "on"),
        StateWord::Clear => sure(text == "off"),
        StateWord::Low => match text.parse::<f64>() {
            Ok(level) => sure(level <= 20.0),
            Err(_) => sure(text == "on"),
        },
        StateWord::Cleaning => sure(matches!(text, "cleaning" | "mowing")),
        StateWord::Docked => sure(text == "docked"),
        StateWord::Jammed => sure(text == "jammed"),
        StateWord::Available => Truth::Yes,
        StateWord::Unavailable => Truth::No,
        StateWord::Opening => sure(text == "opening"),
        StateWord::Closing => sure(text == "closing"),
    }
}

/// The state of an entity as it is said: "open", "21.5 °C", "on at 40 %".
pub fn state(lexicon: &Lexicon, item: &Item, known: Option<&State>) -> String {
    let Some(text) = known.and_then(State::text) else {
        return lexicon.phrase("unknown").unwrap_or("unknown").to_owned();
    };
    let domain = item.entity.domain();
    if let Ok(value) = text.parse::<f64>() {
        return match (domain, item.entity.unit.as_deref()) {
            (Domain::Todo, _) => lexicon.say("items", &[("count", text)]),
            (_, Some(unit)) => with_unit(&spoken(lexicon, value), unit),
            (_, None) if kind(item) == "battery" => with_unit(&spoken(lexicon, value), "%"),
            (_, None) => spoken(lexicon, value),
        };
    }
    let word = if domain == Domain::BinarySensor { binary(item, text) } else { text };
    let mut said = lexicon.phrase(&format!("is.{word}")).unwrap_or(word).replace('_', " ");
    if domain == Domain::Light
        && text == "on"
        && let Some(level) = known.and_then(|state| state.attribute_number(attr::BRIGHTNESS))
        && level > 0.0
    {
        said = lexicon.say("on_at", &[("state", &said), ("percent", &number((level / 2.55).round()))]);
    }
    said
}

/// What on and off mean for a binary sensor of a class: the words for both.
const BINARY: &[(&[&str], &str, &str)] = &[
    (&["door", "window", "garage_door", "opening"], "open", "closed"),
    (&["lock"], "unlocked", "locked"),
    (
        &[
            "motion",
            "occupancy",
            "presence",
            "smoke",
            "gas",
            "carbon_monoxide",
            "moisture",
            "sound",
            "vibration",
            "tamper",
        ],
        "detected",
        "clear",
    ),
    (&["battery"], "low", "normal"),
    (&["connectivity"], "connected", "disconnected"),
    (&["battery_charging"], "charging", "not_charging"),
    (&["plug"], "plugged_in", "unplugged"),
    (&["running"], "running", "not_running"),
];

fn binary<'a>(item: &'a Item, text: &'a str) -> &'a str {
    let words = BINARY.iter().find(|(classes, _, _)| classes.contains(&kind(item)));
    match (words, text) {
        (Some((_, on, _)), "on") => on,
        (Some((_, _, off)), "off") => off,
        (Some(_) | None, _) => text,
    }
}

/// A number as the language writes it: 21.5 or 21,5.
pub fn spoken(lexicon: &Lexicon, value: f64) -> String {
    let text = number(value);
    if lexicon.decimal_comma { text.replace('.', ",") } else { text }
}

fn with_unit(value: &str, unit: &str) -> String {
    match unit {
        "%" => format!("{value} %"),
        _ => format!("{value} {unit}"),
    }
}

/// How old a report is, where that matters: an hour or more.
pub fn age(lexicon: &Lexicon, known: Option<&State>, now: DateTime<Tz>) -> String {
    let Some(at) = known.and_then(|state| state.reported).map(|stamp| stamp.at) else { return String::new() };
    let minutes = (now.with_timezone(&Utc) - at).num_minutes();
    if minutes < 60 {
        return String::new();
    }
    lexicon.say("reported", &[("age", &ago(lexicon, minutes))])
}

fn ago(lexicon: &Lexicon, minutes: i64) -> String {
    let (key, count) = match minutes {
        0 => return lexicon.phrase("just_now").unwrap_or_default().to_owned(),
        1..=89 => ("minutes_ago", minutes),
        90..=2159 => ("hours_ago", (minutes + 30) / 60),
        _ => ("days_ago", (minutes + 720) / 1440),
    };
    let key = if count == 1 { format!("{key}_one") } else { key.to_owned() };
    lexicon.say(&key, &[("count", &count.to_string())])
}

/// "The kitchen light has been on since …".
pub fn since(lexicon: &Lexicon, name: &str, is: &str, known: Option<&State>, now: DateTime<Tz>) -> String {
    match known.and_then(|state| state.changed_at) {
        Some(at) => {
            let minutes = (now.with_timezone(&Utc) - at).num_minutes().max(0);
            let clock = at.with_timezone(&now.timezone()).format("%H:%M").to_string();
            lexicon.say(
                "since",
                &[("name", name), ("is", is), ("clock", &clock), ("age", &ago(lexicon, minutes))],
            )
        }
        None => lexicon.say("since_unknown", &[("name", name), ("is", is)]),
    }
}

pub fn date(lexicon: &Lexicon, now: DateTime<Tz>) -> String {
    let day = now.weekday().num_days_from_monday().to_string();
    let weekday = lexicon.phrase(&format!("day.{day}")).unwrap_or_default().to_owned();
    let month = lexicon.phrase(&format!("month.{}", now.month())).unwrap_or_default().to_owned();
    lexicon.say(
        "date",
        &[
            ("weekday", &weekday),
            ("month", &month),
            ("day", &now.day().to_string()),
            ("year", &now.year().to_string()),
        ],
    )
}

/// "a, b and c".
pub fn list(lexicon: &Lexicon, names: &[String]) -> String {
    let comma = lexicon.phrase("comma").unwrap_or(", ");
    let and = lexicon.phrase("and").unwrap_or(" and ");
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{}{and}{last}", rest.join(comma)),
    }
}

/// A number without needless digits.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{}", (value * 100.0).round() / 100.0) }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::home::Stamp;
    use crate::nlu::Nlu;

    #[test]
    fn b17_an_old_state_is_told_with_its_age() {
        let now = Utc::now().with_timezone(&Tz::UTC);
        let nlu = Nlu::new().unwrap();
        for (minutes, en, zh) in [
            (0, "", ""),
            (59, "", ""),
            (60, "60 minutes ago", "60"),
            (180, "3 hours ago", "3"),
            (60 * 24 * 5, "5 days ago", "5"),
        ] {
            let stamp = Stamp {
                at: now.to_utc() - TimeDelta::minutes(minutes),
                since_boot: std::time::Duration::ZERO,
                live: true,
                connection: 1,
                sequence: 1,
            };
            let state = State { reported: Some(stamp), ..State::default() };
            for (language, says) in [("en", en), ("zh", zh)] {
                let told = age(nlu.lexicon(language), Some(&state), now);
                assert_eq!(told.is_empty(), says.is_empty(), "{minutes} {language}: {told}");
                assert!(told.contains(says), "{minutes} {language}: {told}");
            }
        }
        assert_eq!(age(nlu.lexicon("en"), None, now), "", "never reported: unknown, and no age");
    }
}
