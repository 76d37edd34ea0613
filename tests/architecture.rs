//! Reads the sources and fails when an arrow of the design turns, or when a house rule is broken.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each module and the modules that it may use. The map of `src/lib.rs`, as data.
const ARROWS: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("strict_json", &[]),
    ("home", &[]),
    ("devices", &["home", "clock"]),
    ("policy", &["home", "clock", "strict_json"]),
    ("journal", &["clock"]),
    ("nlu", &["home"]),
    ("actuate", &["home", "devices", "policy", "journal", "clock"]),
    ("tools", &["home", "nlu", "policy", "actuate", "strict_json"]),
    ("model", &["home", "nlu", "tools", "actuate", "policy", "clock"]),
    ("schedule", &["home", "journal", "clock"]),
    ("agent", &["home", "nlu", "policy", "actuate", "journal", "tools", "model", "clock"]),
    ("mqtt", &["actuate", "devices", "clock", "strict_json"]),
    ("http", &["home", "policy", "clock", "strict_json", "actuate", "agent", "model"]),
    ("voice", &["agent", "http", "policy"]),
    ("settings", &["home", "devices", "policy", "agent", "model", "mqtt", "http", "voice"]),
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
