//! Where the recorded messages are.

use std::path::PathBuf;

use serde_json::Value;

/// The folder of recorded messages, or `None` with a note that the test is skipped.
pub fn folder() -> Option<PathBuf> {
    let root = std::env::var_os("HOMELOOP_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    let folder = root.join("mqtt");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no recorded messages in {}", folder.display());
    None
}

/// The objects of a file with one JSON object a line; empty where the data is missing.
pub fn lines(name: &str) -> Vec<Value> {
    let Some(folder) = folder() else { return Vec::new() };
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
