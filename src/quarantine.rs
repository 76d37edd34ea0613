//! The file that remembers which announcements brought the process down.
//!
//! One line a topic: how often it was being read when the process ended, and the topic. A mark is written before a
//! template of an announcement is compiled and run for the first time and taken away afterwards, so a mark that is
//! still there at start is a crash.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::devices::discovery::Quarantine;

/// Crashes after which an announcement is not read again.
const LIMIT: u32 = 2;
/// Most topics that are remembered; the file stays small whatever is announced.
const MAX_TOPICS: usize = 256;

/// Marks in a file of the state directory.
pub struct QuarantineFile {
    path: PathBuf,
    /// Crashes by topic, with those that are being read now counted already.
    marks: Mutex<BTreeMap<String, u32>>,
}

impl QuarantineFile {
    /// Reads the marks of `path`; a file that is not there is empty.
    pub fn open(path: &Path) -> io::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let line = |line: &str| {
            let (count, topic) = line.split_once(' ')?;
            Some((topic.to_owned(), count.parse().ok()?))
        };
        let marks = text.lines().filter_map(line).take(MAX_TOPICS).collect();
        Ok(Self { path: path.to_owned(), marks: Mutex::new(marks) })
    }

    /// Topics that are quarantined now.
    pub fn quarantined(&self) -> Vec<String> {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.iter().filter(|(_, count)| **count >= LIMIT).map(|(topic, _)| topic.clone()).collect()
    }

    fn change(&self, topic: &str, with: impl FnOnce(&mut u32)) {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        if marks.len() >= MAX_TOPICS && !marks.contains_key(topic) {
            return;
        }
        let count = marks.entry(topic.to_owned()).or_default();
        with(count);
        if *count == 0 {
            marks.remove(topic);
        }
        let text: String = marks.iter().map(|(topic, count)| format!("{count} {topic}\n")).collect();
        // Without the mark a crash would not be seen; that must not stop the devices.
        if let Err(error) = std::fs::write(&self.path, text) {
            tracing::warn!(path = %self.path.display(), %error, "cannot write the quarantine marks");
        }
    }
}

impl Quarantine for QuarantineFile {
    fn begin(&self, topic: &str) {
        self.change(topic, |count| *count = count.saturating_add(1));
    }

    fn end(&self, topic: &str) {
        self.change(topic, |count| *count = count.saturating_sub(1));
    }

    fn holds(&self, topic: &str) -> bool {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.get(topic).is_some_and(|count| *count >= LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_crashes_quarantine_a_topic_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("quarantine");
        let bomb = "homeassistant/sensor/bomb/config";
        for crashes in 0..3 {
            let file = QuarantineFile::open(&path).unwrap();
            assert_eq!(file.holds(bomb), crashes >= 2, "after {crashes} crashes");
            // Read without a crash.
            file.begin("homeassistant/sensor/good/config");
            file.end("homeassistant/sensor/good/config");
            // The process ends here.
            file.begin(bomb);
        }
        let file = QuarantineFile::open(&path).unwrap();
        assert_eq!(file.quarantined(), [bomb]);
    }
}
