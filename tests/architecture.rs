//! Reads the sources and fails when an arrow of the design turns, or when a house rule is broken.

#[path = "architecture/numbers.rs"]
mod numbers;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each module and the modules that it may use. The map of `src/lib.rs`, as data.
const ARROWS: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("strict_json", &[]),
    ("trust", &[]),
    ("home", &[]),
    ("devices", &["home", "clock"]),
    ("policy", &["home", "clock", "strict_json"]),
    ("journal", &["clock"]),
    ("nlu", &["home"]),
    ("actuate", &["home", "devices", "policy", "journal", "clock"]),
    ("tools", &["home", "nlu", "policy", "actuate", "strict_json"]),
    ("model", &["home", "nlu", "tools", "actuate", "policy", "clock", "secret_file"]),
    ("schedule", &["home", "journal", "clock"]),
    ("agent", &["home", "nlu", "policy", "actuate", "journal", "tools", "model", "clock"]),
    ("mqtt", &["actuate", "devices", "clock", "strict_json", "trust"]),
    ("http", &["home", "policy", "clock", "strict_json", "actuate", "agent", "model"]),
    ("hass", &["home", "devices", "actuate", "clock", "trust"]),
    ("voice", &["agent", "http", "policy"]),
    ("settings", &["home", "devices", "policy", "agent", "model", "mqtt", "http", "voice", "secret_file"]),
];

/// The one driver among the pure modules: it gives the simulator its time, over whatever carries messages.
const DRIVER: &str = "devices/simulate/run.rs";

/// Modules that do no I/O and know no async runtime.
const PURE: &[&str] = &["home", "policy", "devices", "nlu", "tools"];

fn sources() -> BTreeMap<PathBuf, String> {
    fn walk(dir: &Path, found: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.insert(path.clone(), fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    walk(&root, &mut found);
    found.into_iter().map(|(path, text)| (path.strip_prefix(&root).unwrap().to_owned(), text)).collect()
}

/// The part of a file that is not a test module, without comments.
fn code(text: &str) -> String {
    let cut = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    text[..cut].lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn module_of(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

fn is_test_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("tests.rs"))
        || path.components().any(|part| part.as_os_str() == "tests")
}

#[test]
fn arrows_point_one_way() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == module) else { continue };
        if is_test_file(&path) {
            continue;
        }
        for (number, line) in code(&text).lines().enumerate() {
            for used in line.split("crate::").skip(1) {
                let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !used.is_empty() && used != module && !allowed.contains(&used.as_str()) {
                    wrong.push(format!("{}:{}: {module} may not use {used}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pure_modules_do_no_io_and_are_not_async() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if !PURE.contains(&module_of(&path).as_str()) || is_test_file(&path) || path == Path::new(DRIVER) {
            continue;
        }
        for word in
            ["std::net", "std::process", "async fn", ".await", "tokio::net", "tokio::fs", "tokio::spawn"]
        {
            if code(&text).contains(word) {
                wrong.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_in_src_can_panic_by_choice() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if is_test_file(&path) {
            continue;
        }
        for word in
            [".unwrap()", ".expect(", "panic!(", "todo!(", "unimplemented!(", "unsafe {", "unreachable!("]
        {
            if code(&text).contains(word) {
                wrong.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Invariant `only_actuate_sends`: bytes reach a port in one file.
#[test]
fn only_actuate_sends() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        let at_the_door = path == Path::new("actuate/perform.rs") || path.starts_with("actuate/perform");
        if is_test_file(&path) || at_the_door || module == "mqtt" {
            continue;
        }
        if code(&text).contains("port.send(") || code(&text).contains("Port::send(") {
            wrong.push(path.display().to_string());
        }
    }
    assert!(wrong.is_empty(), "these files send beside the door: {}", wrong.join(", "));
}

/// Invariant `time_only_through_clock`.
#[test]
fn time_only_through_clock() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if is_test_file(&path) || path == Path::new("clock.rs") {
            continue;
        }
        for word in
            ["Utc::now()", "Local::now()", "SystemTime::now()", "std::time::Instant::now()", "rand::rng()"]
        {
            if code(&text).contains(word) {
                wrong.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Only the door turns a person's approval into a permit, and permits are made in `policy` alone.
#[test]
fn only_actuate_redeems_approvals() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        if is_test_file(&path) || path == Path::new("policy/permit.rs") {
            continue;
        }
        let text = code(&text);
        if text.contains("Permit::approved(") && module != "actuate" {
            wrong.push(format!("{}: redeems an approval", path.display()));
        }
        if text.contains("Permit {") {
            wrong.push(format!("{}: makes a permit by hand", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files that publish over MQTT beside the door, and what: nothing of it changes a device.
const PUBLISHERS: &[(&str, &str)] = &[
    ("app/mod.rs", "announcements on our own topic"),
    ("app/discovery.rs", "the birth message, and questions for states"),
    ("app/mqtt.rs", "answers to chat programs on their own topics"),
    ("app/own_device.rs", "our own device: its announcement, state and events"),
    ("app/voice.rs", "what is said to satellites"),
    ("cli/demo/simulation.rs", "what the simulated devices say"),
];

#[test]
fn nothing_else_publishes_to_devices() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let known = PUBLISHERS.iter().any(|(file, _)| path == Path::new(file));
        if is_test_file(&path) || module_of(&path) == "mqtt" || known {
            continue;
        }
        let text = code(&text);
        if text.contains("Publish::new(") || text.contains(".begin_publish(") {
            wrong.push(path.display().to_string());
        }
    }
    assert!(wrong.is_empty(), "these files publish and are not in the list: {}", wrong.join(", "));
}

/// Files that open a connection of their own, and to whom. Each address comes from the owner's settings.
const CALLERS: &[(&str, &str)] = &[
    ("model", "the providers that the settings name"),
    ("cli", "the daemon that the settings name"),
    ("mqtt", "the broker that the settings name"),
    ("voice", "the speech services that the settings name"),
    ("hass", "the Home Assistant that the settings name"),
    ("http", "nobody: it is called"),
];

/// Nothing fetches an address that a model, a device or a page names: there is no tool with an address, and only the
/// parts above have a client at all. So there is nothing to resolve, to redirect or to tell apart by its error.
#[test]
fn s44_to_s48_nothing_fetches_what_a_model_or_a_device_names() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        if is_test_file(&path) || CALLERS.iter().any(|(known, _)| *known == module) {
            continue;
        }
        let text = code(&text);
        for word in
            ["reqwest::", "TcpStream::connect", "UnixStream::connect", "tokio_tungstenite::", "Command::new("]
        {
            if text.contains(word) {
                wrong.push(format!("{}: {word}", path.display()));
            }
        }
    }
    for (path, text) in sources() {
        if module_of(&path) != "tools" || is_test_file(&path) {
            continue;
        }
        for word in ["\"url\"", "\"uri\"", "\"address\"", "\"endpoint\"", "\"topic\"", "\"payload\""] {
            if code(&text).contains(word) {
                wrong.push(format!("{}: a tool takes {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The invariants of the architecture. Each is held by a test that is named after it.
const INVARIANTS: &[&str] = &[
    "only_actuate_sends",
    "no_effect_without_decision",
    "journal_before_send",
    "every_call_has_one_result",
    "incomplete_call_never_runs",
    "one_action_in_flight_per_entity",
    "confirmed_needs_live_report",
    "nothing_sent_while_down",
    "stale_starts_nothing",
    "approval_is_exact_once_and_expires_to_denied",
    "deny_beats_ask_beats_allow",
    "risk_only_rises",
    "device_text_is_data",
    "state_is_fold_of_journal",
    "one_result_per_task",
    "limits_checked_before",
    "retry_never_replays_a_completed_call",
    "reply_never_exceeds_outcomes",
    "same_house_same_prefix",
    "time_only_through_clock",
    "stop_needs_no_model",
    "every_channel_same_door",
];

#[test]
fn every_invariant_has_a_test_of_its_name() {
    fn walk(dir: &Path, text: &mut String) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    walk(&root.join("src"), &mut text);
    walk(&root.join("tests"), &mut text);
    let missing: Vec<&&str> =
        INVARIANTS.iter().filter(|name| !text.contains(&format!("fn {name}"))).collect();
    assert!(missing.is_empty(), "no test is named after {missing:?}");
}
