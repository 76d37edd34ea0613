//! The files that remember which announcements brought the process down.
//!
//! `quarantine` has one line a topic: how often the process ended while it was being read, and the topic. Beside it
//! `quarantine.reading` names the announcement that is being read now: it is written before a template is compiled and
//! run for the first time and blanked afterwards, so a name that still stands there at start is a crash. That file is
//! open all the time and only overwritten, since a house may announce tens of thousands of entities in one burst.
//!
//! To give an announcement another chance, take its line out of `quarantine` and restart.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::devices::discovery::Quarantine;

/// Crashes after which an announcement is not read again.
const LIMIT: u32 = 2;
/// Most topics that are remembered; the file stays small whatever is announced.
const MAX_TOPICS: usize = 256;

/// Marks in two files of the state directory.
pub struct QuarantineFile {
    /// Crashes by topic, as they were at start.
    crashes: BTreeMap<String, u32>,
    path: PathBuf,
    reading: File,
}

impl QuarantineFile {
    /// Reads the marks of `path` and counts the crash that the last process left, if it did. Files that are not there
    /// are empty.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut crashes: BTreeMap<String, u32> = text_of(path)?.lines().filter_map(line).collect();
        let mut mark = path.as_os_str().to_owned();
        mark.push(".reading");
        let mark = PathBuf::from(mark);
        if let Some(topic) = text_of(&mark)?.lines().next().filter(|topic| !topic.is_empty())
            && (crashes.len() < MAX_TOPICS || crashes.contains_key(topic))
        {
            let count = crashes.entry(topic.to_owned()).or_default();
            *count = count.saturating_add(1);
            tracing::warn!(topic, crashes = *count, "the process ended while it read this announcement");
            let text: String = crashes.iter().map(|(topic, count)| format!("{count} {topic}\n")).collect();
            std::fs::write(path, text)?;
        }
        Ok(Self { crashes, path: path.to_owned(), reading: File::create(mark)? })
    }

    /// Topics that are quarantined now.
    pub fn quarantined(&self) -> impl Iterator<Item = &str> {
        self.crashes.iter().filter(|(_, count)| **count >= LIMIT).map(|(topic, _)| topic.as_str())
    }

    fn mark(&self, line: &[u8]) {
        // Without the mark a crash would not be seen; that must not stop the devices.
        if let Err(error) = self.reading.write_all_at(line, 0) {
            tracing::warn!(path = %self.path.display(), %error, "cannot write the quarantine mark");
        }
    }
}

impl Quarantine for QuarantineFile {
    fn begin(&self, topic: &str) {
        self.mark(format!("{topic}\n").as_bytes());
    }

    fn end(&self, _: &str) {
        self.mark(b"\n");
    }

    fn holds(&self, topic: &str) -> bool {
        self.crashes.get(topic).is_some_and(|count| *count >= LIMIT)
    }
}

fn text_of(path: &Path) -> io::Result<String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// A line of the file: a count and a topic.
fn line(line: &str) -> Option<(String, u32)> {
    let (count, topic) = line.split_once(' ')?;
    Some((topic.to_owned(), count.parse().ok()?))
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
        assert_eq!(file.quarantined().collect::<Vec<_>>(), [bomb]);
    }
}
