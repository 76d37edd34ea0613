//! Which topics an action may go to at all, whatever an announcement or a profile says.
//!
//! A device may name the topics of its own commands. It may not make the daemon speak for it: announce devices,
//! administer a bridge, flash firmware, or talk to the daemon itself.

use crate::devices::Message;

/// Where the daemon's own messages live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Containment {
    /// The daemon's own base topic (`homeloop/home`).
    pub own_base: String,
    /// Home Assistant's discovery prefix (`homeassistant`).
    pub discovery_prefix: String,
}

impl Default for Containment {
    fn default() -> Self {
        Self { own_base: "homeloop/home".to_owned(), discovery_prefix: "homeassistant".to_owned() }
    }
}

/// Largest topic in bytes.
const TOPIC_BYTES: usize = 512;

/// Commands of Tasmota that administer the device instead of working it, without the number at their end.
const TASMOTA_ADMINISTRATION: &[&str] = &[
    "ap",
    "br",
    "buttontopic",
    "fulltopic",
    "gpio",
    "gpios",
    "grouptopic",
    "hostname",
    "ipaddress",
    "module",
    "otaurl",
    "password",
    "poweronstate",
    "prefix",
    "publish",
    "reset",
    "restart",
    "rule",
    "ruletimer",
    "script",
    "serialsend",
    "setoption",
    "sleep",
    // Short for SetOption.
    "so",
    "sserialsend",
    "ssid",
    "switchtopic",
    "template",
    "timer",
    "timers",
    "topic",
    "tuyamcu",
    "ufsdelete",
    "ufsrename",
    "ufsrun",
    "upgrade",
    "upload",
    "webpassword",
    "webquery",
    "webserver",
    "websend",
    "wifi",
    "wificonfig",
];

/// What a `Backlog` may hold: several commands of Tasmota in one message, each of which works the device. Shutters and
/// colours are sent so.
const TASMOTA_WORK: &[&str] = &[
    "color",
    "ct",
    "dimmer",
    "fanspeed",
    "hsbcolor",
    "nodelay",
    "power",
    "scheme",
    "shutterclose",
    "shutteropen",
    "shutterposition",
    "shutterstop",
    "shuttertilt",
    "white",
];

/// Where the calls of a Shelly administer it: `"method": "Shelly.FactoryReset"`. All others work it.
const SHELLY_ADMINISTRATION: &[&str] = &[
    "ble", "cloud", "eth", "http", "kvs", "matter", "modbus", "mqtt", "ota", "schedule", "script", "service",
    "shelly", "sys", "wifi", "ws", "webhook",
];

impl Containment {
    /// Why `message` may not be sent; `None` where it may.
    pub fn refuses_message(&self, message: &Message) -> Option<&'static str> {
        if message.payload_b64.is_some() && payload_names_the_command(&message.topic) {
            return Some("bytes could be any command of the device");
        }
        self.refuses(&message.topic, &message.payload)
    }

    /// Why `payload` may not be sent to `topic`; `None` where it may.
    pub fn refuses(&self, topic: &str, payload: &str) -> Option<&'static str> {
        if topic.is_empty() || topic.len() > TOPIC_BYTES {
            return Some("a topic has 1 to 512 bytes");
        }
        if topic.chars().any(|c| c.is_control() || matches!(c, '+' | '#' | '\u{2028}' | '\u{2029}')) {
            return Some("control characters and wildcards are no part of a topic");
        }
        if topic.starts_with('$') {
            return Some("topics that begin with $ belong to the broker");
        }
        let levels: Vec<&str> = topic.split('/').collect();
        // A leading slash is common among old devices; an empty level elsewhere is a mistake or a trick.
        if levels.iter().skip(1).any(|level| level.is_empty()) || levels.contains(&"..") {
            return Some("a topic has no empty level");
        }
        let below = |base: &str| {
            topic.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if below(&self.own_base) || below("homeloop") {
            return Some("it belongs to this or another homeloop");
        }
        let last = levels.last().copied().unwrap_or_default();
        if below(&self.discovery_prefix) && matches!(last, "config" | "status") {
            return Some("it announces devices");
        }
        self.administration(&levels, payload)
    }

    fn administration(&self, levels: &[&str], payload: &str) -> Option<&'static str> {
        let has = |one: &str, two: &str| {
            levels
                .iter()
                .zip(levels.iter().skip(1))
                .any(|(a, b)| a.eq_ignore_ascii_case(one) && b.eq_ignore_ascii_case(two))
        };
        if has("bridge", "request") || has("bridge", "config") {
            return Some("it administers a bridge");
        }
        if levels.contains(&"_CLIENTS") {
            return Some("it administers a gateway");
        }
        if levels.last() == Some(&"rpc") && shelly_administers(payload) {
            return Some("it administers a device");
        }
        let command = tasmota_command(levels.last().copied().unwrap_or_default());
        if !levels.contains(&"cmnd") {
            return None;
        }
        if command == "backlog" {
            let works = |part: &str| {
                let word = tasmota_command(part.split_whitespace().next().unwrap_or_default());
                TASMOTA_WORK.contains(&word.as_str())
            };
            let all = payload.split(';').map(str::trim).filter(|part| !part.is_empty()).all(works);
            return (!all).then_some("a backlog may hold only what works the device");
        }
        if command.starts_with("mqtt") || TASMOTA_ADMINISTRATION.contains(&command.as_str()) {
            return Some("it administers a device");
        }
        None
    }
}

/// Whether what a message to `topic` does is said by its payload: only text can be looked at.
fn payload_names_the_command(topic: &str) -> bool {
    let last = topic.rsplit('/').next().unwrap_or_default();
    last == "rpc" || tasmota_command(last) == "backlog"
}

/// Whether a call to a Shelly names a method that administers it, wherever it stands: of two methods in one call it is
/// not known which the device takes. An escape could spell any name.
fn shelly_administers(payload: &str) -> bool {
    let payload = payload.to_ascii_lowercase();
    payload.contains("\\u")
        || SHELLY_ADMINISTRATION.iter().any(|space| payload.contains(&format!("\"{space}.")))
}

/// A command of Tasmota as the lists above have it: small letters, without the number at its end.
fn tasmota_command(word: &str) -> String {
    word.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_nobody_can_read_go_to_no_topic_of_commands() {
        let bytes = |topic: &str| Message {
            payload: String::new(),
            payload_b64: Some("3q0=".to_owned()),
            ..Message::text(topic, "")
        };
        let containment = Containment::default();
        for (topic, refused) in
            [("cmnd/plug/Backlog", true), ("cmnd/plug/BACKLOG0", true), ("a/rpc", true), ("a/set", false)]
        {
            assert_eq!(containment.refuses_message(&bytes(topic)).is_some(), refused, "{topic}");
        }
        let text = Message::text("cmnd/plug/Backlog", "Reset 1");
        assert!(containment.refuses_message(&text).is_some());
    }

    #[test]
    fn topics_that_are_not_a_devices_own_are_refused() {
        let containment = Containment::default();
        for topic in [
            "",
            "a\u{0}b",
            "a\nb",
            "a/+/set",
            "#",
            "$SYS/broker/restart",
            "a//set",
            "a/../b",
            "a/",
            "homeloop/home/approval/01A/decision",
            "homeloop/other/command",
            "homeassistant/switch/x/config",
            "homeassistant/status",
            "zigbee2mqtt/bridge/request/permit_join",
            "z2m2/bridge/request/device/remove",
            "zigbee2mqtt/bridge/config/permit_join",
            "zwave/_CLIENTS/ZWAVE_GATEWAY-js/api/startInclusion/set",
            "plug/cmnd/RESET",
            "cmnd/plug/Rule",
            "cmnd/plug/Rule3",
            "cmnd/plug/SSId",
            "cmnd/plug/Password2",
            "cmnd/plug/SetOption19",
            "cmnd/plug/MqttHost1",
            "cmnd/plug/WebSend",
            "cmnd/plug/WebQuery",
            "cmnd/plug/SO65",
            "cmnd/plug/UfsRun",
            &"x".repeat(513),
        ] {
            assert!(containment.refuses(topic, "ON").is_some(), "{topic:?}");
        }
        for payload in
            ["Reset 1", "ShutterOpen1; Rule1 1", "Power ON;Restart 99", "x", "Publish lock/set UNLOCK"]
        {
            for backlog in ["cmnd/plug/Backlog", "cmnd/plug/BACKLOG0", "plug/cmnd/Backlog3"] {
                assert!(containment.refuses(backlog, payload).is_some(), "{backlog} {payload}");
            }
        }
        for payload in ["ShutterOpen1", "NoDelay;HsbColor1 120;NoDelay;HsbColor2 80", "ShutterStop2; "] {
            assert_eq!(containment.refuses("cmnd/plug/Backlog", payload), None, "{payload}");
        }
        let call = |method: &str| format!("{{\"id\":1,\"method\":\"{method}\",\"params\":{{\"id\":0}}}}");
        for method in
            ["Shelly.FactoryReset", "shelly.Reboot", "Script.Eval", "HTTP.GET", "KVS.Set", "S\\u0079s.Reboot"]
        {
            assert!(containment.refuses("shellyplus1-aabb/rpc", &call(method)).is_some(), "{method}");
        }
        let two = r#"{"method":"Switch.Set","method":"Sys.SetConfig"}"#;
        assert!(
            containment.refuses("shellyplus1-aabb/rpc", two).is_some(),
            "of two methods either may count"
        );
        for method in ["Switch.Set", "Light.Set", "Cover.GoToPosition", "RGBW.Set", "Thermostat.SetConfig"] {
            assert_eq!(containment.refuses("shellyplus1-aabb/rpc", &call(method)), None, "{method}");
        }
        for topic in [
            "zigbee2mqtt/Kitchen lamp/set",
            "zigbee2mqtt/0x00158d0001a2b3c4/set/state",
            "cmnd/plug/POWER1",
            "shellies/shelly1-AABB/relay/0/command",
            "homeassistant/light/x/set",
            "/old/device/set",
            "卧室/灯/set",
            "homeloops/lamp/set",
            // One word of two that administer together is a word.
            "lamps/bridge/set",
            "lamps/request",
            "lamps/config",
            // A command of Tasmota only where Tasmota listens.
            "lamps/restart",
            "lamps/backlog",
            &"x".repeat(512),
        ] {
            assert_eq!(containment.refuses(topic, "ON"), None, "{topic}");
        }
    }
}
