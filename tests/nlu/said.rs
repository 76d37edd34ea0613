//! What is executed is what was said: sentences put together from the words of the language files, with times,
//! conditions, several things and several clauses, covers and heating. A word may be one that does not fit ("douse the
//! blind"); then nothing may be done. Never anything else.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use chrono::Utc;
use homeloop::eval::{self, HomeFile};
use homeloop::home::{Arg, ArgValue, House};
use homeloop::nlu::{Dialogue, Intent, Nlu, Request, Understanding, When};
use proptest::prelude::*;
use serde_json::json;

use crate::sets::now;

static NLU: LazyLock<Nlu> = LazyLock::new(|| Nlu::new().expect("the language files"));
static ENGLISH: LazyLock<Words> = LazyLock::new(|| Words::read(include_str!("../../src/nlu/data/en.toml")));
static CHINESE: LazyLock<Words> = LazyLock::new(|| Words::read(include_str!("../../src/nlu/data/zh.toml")));

/// The verbs of a language file, each list under its names.
struct Words(toml::Table);

impl Words {
    fn read(text: &str) -> Self {
        Self(text.parse().expect("TOML"))
    }

    fn verb(&self, keys: &[&str], pick: usize) -> &str {
        let table = self.0["pred"].as_table().expect("verbs");
        let all: Vec<&str> = keys
            .iter()
            .filter_map(|key| table.get(*key)?.as_array())
            .flatten()
            .filter_map(|word| word.as_str())
            // Words that bring their own thing along.
            .filter(|word| !word.contains("coffee") && !word.contains('灯') && !word.contains('锁'))
            .collect();
        all[pick % all.len()]
    }
}

const LAMPS: [(&str, &str); 3] =
    [("Piano Lamp", "钢琴灯"), ("Chandelier", "水晶灯"), ("Corner Light", "角灯")];
const COVERS: [(&str, &str); 2] = [("Bay Blind", "飘窗帘"), ("Study Curtain", "书房窗帘")];
const HEATING: (&str, &str) = ("Nook Thermostat", "角落空调");

fn house(zh: bool) -> House {
    let of = |names: (&'static str, &'static str)| if zh { names.1 } else { names.0 };
    let mut entities = Vec::new();
    for (number, names) in LAMPS.into_iter().enumerate() {
        // One of them is off, so that on and off both have something to do.
        let state = if number == 0 { "off" } else { "on" };
        entities.push(json!({"id": format!("light.l{number}"), "name": of(names), "state": state, "attributes": {"dimmable": true, "brightness": 100}}));
    }
    for (number, names) in COVERS.into_iter().enumerate() {
        entities.push(json!({"id": format!("cover.c{number}"), "name": of(names), "state": "open", "attributes": {"device_class": "curtain", "current_position": 50}}));
    }
    entities.push(json!({"id": "climate.h", "name": of(HEATING), "state": "heat", "attributes": {"temperature": 20, "current_temperature": 19, "min_temp": 5, "max_temp": 35}}));
    // Things that must never be reached by a word too many.
    entities
        .push(json!({"id": "lock.front", "name": if zh { "大门" } else { "Front Door" }, "state": "locked"}));
    entities
        .push(json!({"id": "switch.freezer", "name": if zh { "冰柜" } else { "Freezer" }, "state": "on"}));
    let file: HomeFile = serde_json::from_value(json!({"id": "h", "entities": entities})).expect("a home");
    eval::house(&file, now().with_timezone(&Utc))
}

/// What is done, each as one line; what is planned begins with its seconds.
fn done(text: &str, zh: bool) -> BTreeSet<String> {
    let request =
        Request { text, language: Some(if zh { "zh" } else { "en" }), area: None, device: None, now: now() };
    match NLU.understand(&request, &house(zh), &Dialogue::default()) {
        Understanding::Act(intents) => lines(&intents, ""),
        Understanding::Answer { .. }
        | Understanding::Ask { .. }
        | Understanding::Refuse { .. }
        | Understanding::Nothing { .. }
        | Understanding::NotUnderstood { .. } => BTreeSet::new(),
    }
}

fn lines(intents: &[Intent], before: &str) -> BTreeSet<String> {
    intents
        .iter()
        .flat_map(|intent| match intent {
            Intent::Actions(actions) => actions
                .iter()
                .map(|action| {
                    let value = action.args.iter().map(|(arg, value): (&Arg, &ArgValue)| {
                        format!(" {}={}", arg.word(), value.as_number().unwrap_or(f64::NAN))
                    });
                    format!("{before}{} {}{}", action.entity, action.verb, value.collect::<String>())
                })
                .collect(),
            Intent::Schedule { when: When::After { seconds }, intents } => {
                lines(intents, &format!("+{seconds} "))
            }
            other => BTreeSet::from([format!("{before}{other:?}")]),
        })
        .collect()
}

/// The kinds of sentence.
const FORMS: usize = 9;

/// A sentence and what it must do; a set that is empty: nothing now and nothing later.
fn sentence(zh: bool, form: usize, verb: usize, thing: usize, number: u32) -> (String, BTreeSet<String>) {
    let words = if zh { &*CHINESE } else { &*ENGLISH };
    let of = |names: (&'static str, &'static str)| if zh { names.1 } else { names.0 };
    let (lamp, cover) = (thing % LAMPS.len(), thing % COVERS.len());
    let other = (lamp + 1) % LAMPS.len();
    let (light, second, blind) = (of(LAMPS[lamp]), of(LAMPS[other]), of(COVERS[cover]));
    let on = words.verb(if zh { &["on", "on_or_open"] } else { &["on"] }, verb);
    let off = words.verb(if zh { &["off", "off_or_close"] } else { &["off"] }, verb);
    let open = words.verb(if zh { &["open", "on_or_open"] } else { &["open"] }, verb);
    let close = words.verb(if zh { &["close", "off_or_close"] } else { &["close"] }, verb);
    let heating = of(HEATING);
    let degrees = number % 15 + 15;
    let percent = number % 99 + 1;
    let minutes = number % 50 + 2;
    let set = |lines: &[String]| lines.iter().cloned().collect::<BTreeSet<_>>();
    match form % FORMS {
        0 => {
            let text = if zh {
                format!("{minutes}分钟后{off}{light}")
            } else {
                format!("{off} the {light} in {minutes} minutes")
            };
            (text, set(&[format!("+{} light.l{lamp} turn_off", minutes * 60)]))
        }
        1 => {
            let text = if zh {
                format!("如果下雨，{off}{light}")
            } else {
                format!("when it rains, {off} the {light}")
            };
            (text, set(&[]))
        }
        2 => {
            let text = if zh {
                format!("{off}{light}和{second}")
            } else {
                format!("{off} the {light} and the {second}")
            };
            (text, set(&[format!("light.l{lamp} turn_off"), format!("light.l{other} turn_off")]))
        }
        3 => {
            let text = if zh {
                format!("{on}{light}，{close}{blind}")
            } else {
                format!("{on} the {light} and {close} the {blind}")
            };
            (text, set(&[format!("light.l{lamp} turn_on"), format!("cover.c{cover} close")]))
        }
        4 => {
            let text = if zh { format!("{open}{blind}") } else { format!("{open} the {blind}") };
            (text, set(&[format!("cover.c{cover} open")]))
        }
        5 => {
            let text = if zh {
                format!("把{blind}调到百分之{percent}")
            } else {
                format!("set the {blind} to {percent} percent")
            };
            (text, set(&[format!("cover.c{cover} set_position position={percent}")]))
        }
        6 => {
            let text = if zh {
                format!("把{heating}调到{degrees}度")
            } else {
                format!("set the {heating} to {degrees} degrees")
            };
            (text, set(&[format!("climate.h set_temperature temperature={degrees}")]))
        }
        7 => {
            let text = if zh { format!("不要{off}{light}") } else { format!("do not {off} the {light}") };
            (text, set(&[]))
        }
        _ => {
            let text = if zh {
                format!("{close}{blind}，再把{heating}调到{degrees}度")
            } else {
                format!("{close} the {blind} and set the {heating} to {degrees} degrees")
            };
            (
                text,
                set(&[
                    format!("cover.c{cover} close"),
                    format!("climate.h set_temperature temperature={degrees}"),
                ]),
            )
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// All of what was said, or nothing; and never a part, another thing, another value or another time.
    #[test]
    fn what_is_executed_is_what_was_said(zh in any::<bool>(), form in 0..FORMS, verb in 0..200usize, thing in 0..6usize, number in 0..1000u32) {
        let (text, wanted) = sentence(zh, form, verb, thing, number);
        let got = done(&text, zh);
        prop_assert!(got == wanted || got.is_empty(), "{text:?}: {got:?}, not {wanted:?}");
    }
}

/// Doing nothing is no way to be right: most of the sentences are understood.
#[test]
fn most_of_them_are_understood() {
    let (mut understood, mut total, mut missed) = (0, 0, Vec::new());
    for zh in [false, true] {
        for form in (0..FORMS).filter(|form| !matches!(form, 1 | 7)) {
            for verb in 0..40 {
                let (text, wanted) = sentence(zh, form, verb, verb, u32::try_from(verb).expect("small") * 7);
                total += 1;
                if done(&text, zh) == wanted { understood += 1 } else { missed.push(text) }
            }
        }
    }
    missed.dedup();
    println!("{understood} of {total} understood; not: {missed:?}");
    assert!(understood * 10 >= total * 8, "{understood} of {total}: {missed:#?}");
}
