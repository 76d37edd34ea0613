//! A line for each fault of a device: the outcome and the sentences, which never claim more.

use homeloop::home::Verb::{self, *};
use serde_json::json;

use crate::home::{Home, action};

/// Fault, entity, verb, outcome, English, Chinese.
///
/// A device that repeats the wish and does nothing is found out by what it measures (a position); where nothing is
/// measured its word counts. One that goes back after it has reported what was wished was as wished when it was told;
/// that it left is announced afterwards (tests/daemon/history.rs).
type Line = (&'static str, &'static str, Verb, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const LINES: &[Line] = &[
    ("silent", "light.study", TurnOn, "unconfirmed no_answer", "I asked the Desk lamp to turn on, but it did not confirm.", "已通知台灯打开，但没有得到确认。"),
    ("silent", "cover.kitchen_blind", Close, "unconfirmed no_answer", "I asked the Kitchen blind to close, but it did not confirm.", "已通知厨房百叶窗关上，但没有得到确认。"),
    ("slow", "light.study", TurnOn, "unconfirmed no_answer", "I asked the Desk lamp to turn on, but it did not confirm.", "已通知台灯打开，但没有得到确认。"),
    ("slow", "cover.kitchen_blind", Close, "confirmed", "Closed the Kitchen blind.", "已关上厨房百叶窗。"),
    ("stuck", "light.study", TurnOn, "contradicted opposite", "The Desk lamp did not turn on: it reports something else.", "台灯没有打开，上报的状态不同。"),
    ("stuck", "cover.kitchen_blind", Close, "contradicted opposite", "The Kitchen blind did not close: it reports something else.", "厨房百叶窗没有关上，上报的状态不同。"),
    ("contradicting", "light.study", TurnOn, "contradicted opposite", "The Desk lamp did not turn on: it reports something else.", "台灯没有打开，上报的状态不同。"),
    ("contradicting", "lock.front_door", Lock, "contradicted opposite", "The Front door did not lock: it reports something else.", "前门没有上锁，上报的状态不同。"),
    ("echo_only", "cover.kitchen_blind", Close, "unconfirmed other_state", "I asked the Kitchen blind to close, but it did not confirm.", "已通知厨房百叶窗关上，但没有得到确认。"),
    ("echo_only", "climate.air_conditioner", TurnOff, "confirmed", "Turned off the Air conditioner.", "已关闭空调。"),
    ("reverting", "cover.kitchen_blind", Close, "confirmed", "Closed the Kitchen blind.", "已关上厨房百叶窗。"),
    ("offline", "light.study", TurnOn, "not_sent offline", "Nothing was sent to the Desk lamp: it is offline.", "没有向台灯发送：设备离线。"),
    ("offline", "lock.front_door", Lock, "not_sent offline", "Nothing was sent to the Front door: it is offline.", "没有向前门发送：设备离线。"),
    ("flapping", "light.study", TurnOn, "not_sent offline", "Nothing was sent to the Desk lamp: it is offline.", "没有向台灯发送：设备离线。"),
    ("jammed", "lock.front_door", Lock, "contradicted jammed", "The Front door did not lock: it is jammed.", "前门没有上锁：卡住了。"),
    ("jammed", "cover.kitchen_blind", Close, "unconfirmed still_moving", "I asked the Kitchen blind to close, but it did not confirm.", "已通知厨房百叶窗关上，但没有得到确认。"),
];

/// What each entity is before: the other way round.
fn before(id: &str) -> &'static str {
    match id {
        "cover.kitchen_blind" => "open",
        "lock.front_door" => "unlocked",
        "climate.air_conditioner" => "cool",
        _ => "off",
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_has_its_outcome_and_its_sentences() {
    let mut wrong = Vec::new();
    for &(fault, id, verb, outcome, en, zh) in LINES {
        let home = Home::start().await;
        home.set(id, before(id)).await;
        home.fault(id, fault).await;
        let done = home.act(&[action(id, verb, &json!({}))]).await;
        let told = done.outcome(id);
        if (told.as_str(), done.en.as_str(), done.zh.as_str()) != (outcome, en, zh) {
            wrong.push(format!("({fault:?}, {id:?}, {verb:?}, {told:?}, {:?}, {:?})", done.en, done.zh));
        }
    }
    assert!(wrong.is_empty(), "these lines are otherwise:\n{}", wrong.join(",\n"));
}

/// Some did it and one did not: each is told apart, by name.
#[tokio::test(start_paused = true)]
async fn what_went_right_is_told_apart_from_what_did_not() {
    let home = Home::start().await;
    let covers = ["cover.living_room_curtain", "cover.bedroom_curtain", "cover.kitchen_blind"];
    for id in covers {
        home.set(id, "open").await;
    }
    home.fault("cover.kitchen_blind", "silent").await;
    let actions: Vec<_> = covers.iter().map(|id| action(id, Close, &json!({}))).collect();
    let done = home.act(&actions).await;
    assert_eq!(done.outcome(covers[0]), "confirmed");
    assert_eq!(done.outcome(covers[1]), "confirmed");
    assert_eq!(done.outcome(covers[2]), "unconfirmed no_answer");
    assert_eq!(
        done.en,
        "Closed the Living room curtain and the Bedroom curtain. \
         I asked the Kitchen blind to close, but it did not confirm."
    );
    assert_eq!(done.zh, "已关上客厅窗帘和卧室窗帘。已通知厨房百叶窗关上，但没有得到确认。");
}
