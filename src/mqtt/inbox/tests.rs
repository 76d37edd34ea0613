use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::super::link::Arrival;
use super::*;

const NOW: &str = "2026-11-29T18:00:00Z";
const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn inbox() -> Inbox {
    Inbox::new(Topics::new("homeloop/home").unwrap(), "homeassistant")
}

fn message(topic: &str, payload: impl Into<Bytes>) -> Inbound {
    Inbound {
        topic: format!("homeloop/home/{topic}"),
        payload: payload.into(),
        retain: false,
        response_topic: None,
        correlation: None,
        sender: None,
        arrival: Arrival { at: NOW.parse().unwrap(), since_boot: Duration::ZERO, connection: 1 },
    }
}

fn read(message: &Inbound) -> Result<Request, Rejected> {
    inbox().read(message).expect("one of our topics")
}

fn command(payload: &str) -> CommandMessage {
    match read(&message("command", payload.to_owned())) {
        Ok(Request::Command(command)) => command,
        other => panic!("{payload}: {other:?}"),
    }
}

fn rejection(topic: &str, payload: impl Into<Bytes>) -> String {
    read(&message(topic, payload)).expect_err("it is refused").reason.to_string()
}

#[test]
fn commands_are_text_or_an_object() {
    for (payload, text) in [
        ("turn on the light", "turn on the light"),
        ("  我要睡觉了\n", "我要睡觉了"),
        ("\u{feff}lights on", "lights on"),
        ("[MUSIC]", "[MUSIC]"),
        ("42", "42"),
        ("\"quoted\"", "\"quoted\""),
        (r#"{"text":" lights on "}"#, "lights on"),
        (r#" {"text":"say {\"a\":1}"} "#, "say {\"a\":1}"),
    ] {
        assert_eq!(command(payload).text, text, "{payload}");
    }
    let full = command(
        r#"{"text":"t","id":"7","area":"kitchen","user":"Anna","language":"en","conversation":"c","reply_to":"me/answers","issued_at":"2026-11-29T18:59:31+01:00"}"#,
    );
    assert_eq!(full.id.as_deref(), Some("7"));
    assert_eq!(full.area.as_deref(), Some("kitchen"));
    assert_eq!(full.user.as_deref(), Some("Anna"));
    assert_eq!(full.language.as_deref(), Some("en"));
    assert_eq!(full.conversation.as_deref(), Some("c"));
    assert_eq!(full.reply_to, Some(ReplyTo { topic: "me/answers".into(), correlation: None }));
    assert_eq!(command(r#"{"text":"t","id":null,"area":""}"#).area, None);
}

#[test]
fn bad_commands_are_refused_with_a_sentence() {
    let deep = format!(r#"{{"text":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    let long = "x".repeat(10_001);
    let huge = "x".repeat(20_000);
    let field = format!(r#"{{"text":"t","area":"{}"}}"#, "x".repeat(129));
    for (payload, says) in [
        ("", "the command is empty"),
        (" \n ", "the command is empty"),
        (r#"{"text":" "}"#, "the command is empty"),
        (&long, "10001 characters; at most 10000"),
        (&huge, "20000 bytes; at most 16384"),
        (r#"{"text":"a","text":"b"}"#, "text: the key appears twice"),
        (r#"{"text":"a","admin":true}"#, "admin: unknown field"),
        (r#"{"message":"a"}"#, "text: missing"),
        (r#"{"text":5}"#, "text: expected a string, got a number"),
        ("[1,2]", "expected an object, got an array"),
        ("{", "EOF"),
        (r#"{"text":"a"} extra"#, "trailing"),
        (r#"{"text":"a","id":1e400}"#, "id: "),
        (r#"{"text":NaN}"#, "text: "),
        (&deep, "recursion limit"),
        (&field, "area has 129 characters"),
        ("a\0b", "control character"),
        (r#"{"text":"a","area":"b\u0007"}"#, "area holds a control character"),
        (r#"{"text":"a","issued_at":"yesterday"}"#, "issued_at: expected a time"),
        (r#"{"text":"a","issued_at":"2026-11-29T17:59:29Z"}"#, "31 s old"),
        (r#"{"text":"a","issued_at":"2026-11-29T18:01:01Z"}"#, "61 s in the future"),
        (r#"{"text":"a","reply_to":"zigbee2mqtt/lock/set"}"#, "no reply can go to"),
        (r#"{"text":"a","reply_to":"homeloop/home/command"}"#, "no reply can go to"),
    ] {
        let told = rejection("command", payload.to_owned());
        assert!(told.contains(says), "{payload}: {told}");
    }
    assert_eq!(rejection("command", &b"\xff\xfelights"[..]), "the message is not UTF-8 text");
    for good in ["2026-11-29T17:59:30Z", "2026-11-29T18:01:00Z"] {
        command(&format!(r#"{{"text":"a","issued_at":"{good}"}}"#));
    }
}

#[test]
fn stale_starts_nothing_by_retained_messages() {
    let inbox = inbox();
    for topic in ["command", "stop", "approval/01K/decision"] {
        let retained = Inbound { retain: true, ..message(topic, "all") };
        let refused = inbox.read(&retained).unwrap().unwrap_err();
        assert_eq!(refused, Rejected { reason: Rejection::Retained, tell: None });
    }
    let foreign = Inbound { retain: true, response_topic: Some("a/set".into()), ..message("command", "x") };
    assert_eq!(inbox.read(&foreign).unwrap().unwrap_err().reason, Rejection::Retained);
    assert_eq!(inbox.counters(), InboxCounters { retained: 4, ..InboxCounters::default() });
    assert_eq!(inbox.read(&message("status", "online")), None);
}

#[test]
fn replies_go_where_they_may_and_rejections_too() {
    let ask = |response_topic: &str, payload: &str| {
        read(&Inbound {
            response_topic: Some(response_topic.to_owned()),
            correlation: Some(Bytes::from_static(b"\x00\xff")),
            ..message("command", payload.to_owned())
        })
    };
    let reply = ReplyTo { topic: "me/1".into(), correlation: Some(Bytes::from_static(b"\x00\xff")) };
    let accepted = ask("me/1", r#"{"text":"a","reply_to":"me/2"}"#).unwrap();
    assert_eq!(accepted.reply_to(), Some(&reply), "the protocol's own response topic comes first");
    assert_eq!(ask("me/1", "").unwrap_err().tell, Some(Tell::Reply(reply)));
    let refused = ask("zigbee2mqtt/bridge/request/restart", "lights on").unwrap_err();
    assert_eq!(refused.tell, Some(Tell::Result));
    let inner = read(&message("command", r#"{"text":"a","reply_to":"a/set"}"#)).unwrap_err();
    assert_eq!(inner.tell, Some(Tell::Result));
}

#[test]
fn counters_tell_what_became_of_messages() {
    let inbox = inbox();
    for payload in ["lights on", "", "x", "{", r#"{"text":"a","issued_at":"2020-01-01T00:00:00Z"}"#] {
        let _ = inbox.read(&message("command", payload));
    }
    let _ = inbox.read(&message("command", vec![b'x'; 20_000]));
    inbox.count_duplicate();
    let expected = InboxCounters {
        accepted: 2,
        retained: 0,
        stale: 1,
        oversized: 1,
        malformed: 2,
        duplicate: 1,
        disbelieved: 0,
    };
    assert_eq!(inbox.counters(), expected);
}

#[test]
fn stopping_is_easy() {
    let stop = |payload: &str| match read(&message("stop", payload.to_owned())) {
        Ok(Request::Stop(stop)) => stop.what,
        other => panic!("{payload}: {other:?}"),
    };
    for payload in ["all", "ALL", " all\n", "", "{}", r#"{"task":"all"}"#] {
        assert_eq!(stop(payload), StopWhat::All, "{payload}");
    }
    for payload in ["01JDX", r#"{"task":"01JDX"}"#] {
        assert_eq!(stop(payload), StopWhat::Task("01JDX".into()), "{payload}");
    }
    for (payload, says) in [
        ("a task", "expected \"all\""),
        (r#"{"task":5}"#, "expected a string"),
        (r#"{"all":true}"#, "unknown field"),
        (r#"{"issued_at":"2026-11-29T17:00:00Z"}"#, "3600 s old"),
    ] {
        let told = rejection("stop", payload);
        assert!(told.contains(says), "{payload}: {told}");
    }
}

fn decision_json(change: (&str, &str)) -> String {
    let good = format!(
        r#"{{"v":1,"approval_id":"01K","plan_hash":"{HASH}","decision":"approve","issued_at":"{NOW}"}}"#
    );
    good.replacen(change.0, change.1, 1)
}

#[test]
fn decisions_are_strict_to_the_letter() {
    let Ok(Request::Decision(good)) = read(&message("approval/01K/decision", decision_json(("", "")))) else {
        panic!("a good decision");
    };
    assert!(good.approve && good.approval == "01K" && good.plan_hash == HASH);
    for (change, says) in [
        (("approve", "yes"), "exactly"),
        (("\"approve\"", "true"), "decision: expected a string"),
        (("approve", "Approve"), "exactly"),
        (("\"v\":1,", ""), "v: expected 1"),
        (("\"v\":1", "\"v\":2"), "v: expected 1"),
        (("\"v\":1", "\"v\":1,\"v\":1"), "v: the key appears twice"),
        (("01K", "01L"), "the decision is for \"01L\""),
        ((HASH, "abc"), "plan_hash"),
        (("0123456789abcdef", "0123456789ABCDEF"), "plan_hash"),
        (("\"v\":1", "\"v\":1,\"decided_by\":\"admin\""), "decided_by: unknown field"),
        (("18:00:00Z", "17:58:59Z"), "61 s old"),
        (("18:00:00Z", "18:01:01Z"), "61 s in the future"),
        (("\"v\":1", "\"v\":1,\"hmac\":\"00\""), "hmac"),
        (("{", "yes {"), "expected"),
    ] {
        let told = rejection("approval/01K/decision", decision_json(change));
        assert!(told.contains(says), "{change:?}: {told}");
    }
    assert!(rejection("approval/01K/decision", "approve").contains("expected"));
    assert!(rejection("approval/01K/decision", vec![b' '; 5000]).contains("5000 bytes; at most 4096"));
}

#[test]
fn s12_signatures_bind_every_part() {
    let key = secrecy::SecretString::from("approver's key");
    let mut mac = Hmac::<Sha256>::new_from_slice(b"approver's key").unwrap();
    mac.update(format!("v1|01K|{HASH}|approve|{NOW}").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let signed = decision_json(("\"v\":1", &format!("\"v\":1,\"hmac\":\"{hex}\"")));
    let read = |topic: &str, payload: &str| match read(&message(topic, payload.to_owned())) {
        Ok(Request::Decision(decision)) => decision,
        other => panic!("{payload}: {other:?}"),
    };
    let good = read("approval/01K/decision", &signed);
    assert!(good.signed_with(&key));
    assert!(!format!("{good:?}").contains(&hex));
    assert!(!good.signed_with(&"another key".into()));
    assert!(!read("approval/01K/decision", &decision_json(("", ""))).signed_with(&key));
    for (topic, from, to) in [
        ("approval/01L/decision", "01K", "01L"),
        ("approval/01K/decision", "approve\"", "deny\""),
        ("approval/01K/decision", "18:00:00Z", "18:00:01Z"),
        ("approval/01K/decision", "cdef\",", "cdee\","),
    ] {
        let forged = signed.replacen(from, to, 1);
        assert_ne!(forged, signed, "{from}");
        assert!(!read(topic, &forged).signed_with(&key), "{from}");
    }
}
