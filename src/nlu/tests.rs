//! Sentences over a small invented house, and properties of any text.

use std::sync::LazyLock;

use chrono::TimeZone;
use proptest::prelude::*;

use super::{Dialogue, Intent, Nlu, Request, Understanding, When};
use crate::eval::{self, HomeFile};
use crate::home::House;

#[path = "said_tests.rs"]
mod said;

/// Reading the words of six languages is the slow part of these tests.
static NLU: LazyLock<Nlu> = LazyLock::new(|| Nlu::new().unwrap());

fn house() -> House {
    let file: HomeFile = serde_json::from_value(serde_json::json!({
        "id": "test",
        "floors": [{"id": "g", "name": "Ground floor"}, {"id": "u", "name": "Upper floor"}],
        "areas": [
            {"id": "den", "name": "Den", "floor": "g"}, {"id": "pantry", "name": "Pantry", "floor": "g"},
            {"id": "loft", "name": "Loft", "floor": "u"}, {"id": "chashi", "name": "茶室", "floor": "u"}
        ],
        "entities": [
            {"id": "light.den_main", "name": "Den Main", "area": "den", "state": "on", "attributes": {"dimmable": true, "brightness": 128}},
            {"id": "light.den_reading", "name": "Reading Lamp", "area": "den", "state": "off", "attributes": {"color": true}},
            {"id": "light.loft", "name": "Loft Light", "area": "loft", "state": "on"},
            {"id": "light.chashi", "name": "茶室灯", "area": "chashi", "state": "off", "attributes": {"dimmable": true}},
            {"id": "cover.loft", "name": "Loft Curtain", "area": "loft", "state": "open", "attributes": {"device_class": "curtain", "current_position": 100}},
            {"id": "cover.chashi", "name": "茶室窗帘", "area": "chashi", "state": "open", "attributes": {"device_class": "curtain", "current_position": 100}},
            {"id": "climate.den", "name": "Den Heater", "area": "den", "state": "heat", "attributes": {"temperature": 20, "min_temp": 10, "max_temp": 28, "current_temperature": 19.5}},
            {"id": "climate.chashi", "name": "茶室空调", "area": "chashi", "state": "cool", "attributes": {"temperature": 27, "min_temp": 16, "max_temp": 30}},
            {"id": "lock.gate", "name": "Gate Lock", "area": "den", "state": "locked"},
            {"id": "switch.deep_freezer", "name": "Deep Freezer", "area": "pantry", "state": "on"},
            {"id": "switch.pump", "name": "Record Player", "area": "den", "state": "on"},
            {"id": "fan.loft", "name": "Loft Fan", "area": "loft", "state": "off", "attributes": {"percentage": 0}},
            {"id": "alarm_control_panel.home", "name": "Alarm", "state": "disarmed"},
            {"id": "scene.shuimian", "name": "睡眠模式", "state": "unknown"}
        ]
    }))
    .unwrap();
    eval::house(&file, now().to_utc())
}

fn now() -> chrono::DateTime<chrono_tz::Tz> {
    chrono_tz::Europe::Berlin.with_ymd_and_hms(2026, 3, 4, 10, 0, 0).unwrap()
}

fn request<'a>(text: &'a str, area: Option<&'a str>) -> Request<'a> {
    Request { text, language: None, area, device: None, now: now() }
}

/// What was understood in one short line.
fn short(understanding: &Understanding) -> String {
    match understanding {
        Understanding::Act(intents) => intents.iter().map(intent).collect::<Vec<_>>().join(" + "),
        Understanding::Answer { text, .. } => format!("answer {text}"),
        Understanding::Ask { pending, .. } => format!("ask {}", pending.alternatives.len()),
        Understanding::Refuse { reply, .. } => format!("refuse {reply}"),
        Understanding::Nothing { .. } => "nothing".to_owned(),
        Understanding::NotUnderstood { .. } => "not understood".to_owned(),
    }
}

fn intent(intent: &Intent) -> String {
    match intent {
        Intent::Actions(actions) => actions
            .iter()
            .map(|action| {
                let args: Vec<String> =
                    action.args.iter().map(|(arg, value)| format!(" {}={value:?}", arg.word())).collect();
                format!("{} {}{}", action.verb, action.entity.object_id(), args.concat())
            })
            .collect::<Vec<_>>()
            .join("; "),
        Intent::Schedule { when, intents } => {
            let when = match when {
                When::After { seconds } => format!("after {seconds}"),
                When::At { local } => format!("at {local}"),
                When::Every { at, .. } => format!("every {at}"),
            };
            format!("{when}: {}", intents.iter().map(self::intent).collect::<Vec<_>>().join(" + "))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn a_name_may_hold_the_mark_of_the_passive() {
    let file: HomeFile = serde_json::from_value(serde_json::json!({
        "id": "passive",
        "floors": [],
        "areas": [],
        "entities": [{"id": "light.beiwo", "name": "被窝灯", "state": "on"}]
    }))
    .unwrap();
    let house = eval::house(&file, now().to_utc());
    let become_of = |text: &str| short(&NLU.understand(&request(text, None), &house, &Dialogue::default()));
    assert_eq!(become_of("打开被窝灯"), "turn_on beiwo");
    assert_eq!(become_of("被窝灯被打开了"), "not understood");
}

#[test]
fn sentences_become_exactly_what_they_say() {
    let nlu = &NLU;
    let house = house();
    for (text, area, expected) in [
        ("turn on the reading lamp", None, "turn_on den_reading"),
        ("den lights off", None, "turn_off den_main; turn_off den_reading"),
        ("turn off the light", None, "ask 4"),
        ("turn off the light", Some("loft"), "turn_off loft"),
        ("dim the den main to a quarter", None, "turn_on den_main brightness_pct=Number(25.0)"),
        ("make the den main a bit brighter", None, "turn_on den_main brightness_pct=Number(60.0)"),
        (
            "set the den heater to twenty one and a half degrees",
            None,
            "set_temperature den temperature=Number(21.5)",
        ),
        ("set the den heater to 60 °C", None, "refuse Den Heater cannot do 60 °C; it takes 10 to 28 °C."),
        (
            "set the loft curtain to half and turn on the loft fan",
            None,
            "set_position loft position=Number(50.0); turn_on loft",
        ),
        ("turn off everything except the loft", None, "turn_off den_main; turn_off pump"),
        ("don't turn off the loft fan", None, "nothing"),
        ("never unlock the gate lock", None, "nothing"),
        ("unlock the gate lock", None, "unlock gate"),
        ("turn on the cellar lights", None, "refuse There is no cellar lights. Did you mean Loft Light?"),
        ("turn on the raeding lamp", None, "turn_on den_reading"),
        ("turn on the loft fan for 20 minutes", None, "turn_on loft + after 1200: turn_off loft"),
        ("in ten minutes turn off the loft light", None, "after 600: turn_off loft"),
        ("turn on the loft light at 7:30 tomorrow", None, "at 2026-03-05 07:30:00: turn_on loft"),
        ("is the loft light on?", None, "answer Yes, Loft Light is on."),
        (
            "when everyone has left turn off the lights",
            None,
            "refuse I cannot wait for that condition yet, so I did nothing.",
        ),
        ("make the loft light blue", None, "refuse Loft Light cannot do that."),
        ("[MUSIC]", None, "nothing"),
        ("yes", None, "nothing"),
        ("order a pizza", None, "not understood"),
        ("我要睡觉了，把家里调成睡眠模式", None, "activate shuimian"),
        (
            "把茶室灯打开窗帘拉上空调调到二十六度半",
            None,
            "turn_on chashi; close chashi; set_temperature chashi temperature=Number(26.5)",
        ),
        ("不要开茶室的灯", None, "nothing"),
        ("茶室空调调到六十度", None, "refuse 茶室空调不能设为60°C，范围是16到30°C。"),
        ("除了茶室，楼上的灯都关掉", None, "turn_off loft"),
        ("半个小时以后打开茶室灯", None, "after 1800: turn_on chashi"),
        ("茶室灯开着吗", None, "answer 没有，茶室灯关着。"),
        ("茶十灯打开", None, "turn_on chashi"),
    ] {
        let got = nlu.understand(&request(text, area), &house, &Dialogue::default());
        assert_eq!(short(&got), expected, "{text}");
    }
}

#[test]
fn a_conversation_is_followed() {
    let nlu = &NLU;
    let house = house();
    let mut dialogue = Dialogue::default();
    for (text, expected) in [
        ("turn on the loft light", "turn_on loft"),
        ("turn it off again", "turn_off loft"),
        ("turn off the light", "ask 4"),
        ("the reading lamp", "turn_off den_reading"),
        ("are any lights on in the den?", "answer Yes: Den Main."),
        ("and in the loft?", "answer Yes, Loft Light is on."),
    ] {
        let got = nlu.understand(&request(text, None), &house, &dialogue);
        assert_eq!(short(&got), expected, "{text}");
        dialogue.update(text, &got);
    }
}

/// 关灯 stands inside 玄关灯 and means something else.
#[test]
fn a_command_inside_a_name_is_a_command() {
    let file: HomeFile = serde_json::from_value(serde_json::json!({
        "id": "names",
        "areas": [{"id": "hall", "name": "玄关"}, {"id": "study", "name": "书房"}],
        "entities": [
            {"id": "light.hall", "name": "玄关灯", "area": "hall", "state": "on"},
            {"id": "light.study", "name": "书房灯", "area": "study", "state": "on"}
        ]
    }))
    .unwrap();
    let house = eval::house(&file, now().to_utc());
    for (text, area, expected) in [
        ("关灯", None, "ask 2"),
        ("十分钟后关灯", None, "ask 2"),
        ("关灯", Some("study"), "turn_off study"),
        ("十分钟后关灯", Some("study"), "after 600: turn_off study"),
        ("关玄关灯", None, "turn_off hall"),
    ] {
        let got = NLU.understand(&request(text, area), &house, &Dialogue::default());
        assert_eq!(short(&got), expected, "{text}");
    }
}

#[test]
fn what_was_made_is_cancelled() {
    let house = house();
    for (first, then, expected) in [
        ("in ten minutes turn off the loft light", "cancel that", "ScheduleCancel(Last)"),
        ("turn on the loft fan", "cancel that", "turn_off loft"),
        ("dim the den main to a quarter", "cancel that", "nothing"),
        ("is the loft light on?", "cancel that", "nothing"),
        ("十分钟后关掉茶室灯", "取消", "ScheduleCancel(Last)"),
    ] {
        let mut dialogue = Dialogue::default();
        dialogue.update(first, &NLU.understand(&request(first, None), &house, &dialogue));
        let query = NLU.understand(&request("what is scheduled", None), &house, &dialogue);
        dialogue.update("what is scheduled", &query);
        let got = NLU.understand(&request(then, None), &house, &dialogue);
        assert_eq!(short(&got), expected, "{first}; {then}");
    }
}

#[test]
fn languages_are_told_apart() {
    let nlu = &NLU;
    assert_eq!(nlu.detect_language("turn on the light"), "en");
    assert_eq!(nlu.detect_language("打开客厅的灯"), "zh");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any text is read without a panic, and nothing that is no sentence acts.
    #[test]
    fn any_text_is_read(text in "\\PC{0,60}", lang in prop::option::of(prop::sample::select(vec!["en", "zh", "de", "fr", "es", "nl", "xx"]))) {
        let nlu = &NLU;
        let request = Request { language: lang, ..request(&text, Some("den")) };
        let _ = nlu.understand(&request, &house(), &Dialogue::default());
    }

    /// Words of the lexicon in any order never panic either.
    #[test]
    fn any_words_are_read(words in prop::collection::vec(prop::sample::select(vec![
        "turn", "on", "off", "the", "light", "den", "and", "except", "not", "50", "%", "if", "when", "for", "at", "minutes",
        "timer", "in", "loft", "all", "set", "to", "blue", "open", "half", "list", "add", ",", "?", "把", "灯", "关", "茶室",
        "百", "分", "之", "度", "半", "点", "除了", "和", "再", "不要", "吗",
    ]), 0..24)) {
        let nlu = &NLU;
        let text = words.join(" ");
        let _ = nlu.understand(&request(&text, None), &house(), &Dialogue::default());
    }
}
