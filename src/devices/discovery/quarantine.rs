//! Announcements that brought the process down are skipped.
//!
//! Before a template of an announcement is compiled and run for the first time, its topic is marked; afterwards the
//! mark is taken away. A mark that is still there at start is a crash; what crashed twice is not read again.

/// Keeps marks over restarts. The file behind it belongs to whoever owns the state directory.
pub trait Quarantine: Send + Sync {
    /// Marks `topic` as being read now.
    fn begin(&self, topic: &str);
    /// Takes the mark away: it was read without a crash.
    fn end(&self, topic: &str);
    /// Whether `topic` crashed the process twice.
    fn holds(&self, topic: &str) -> bool;
}

/// For tests and one-shot commands: nothing is kept.
pub struct NoQuarantine;

impl Quarantine for NoQuarantine {
    fn begin(&self, _: &str) {}
    fn end(&self, _: &str) {}
    fn holds(&self, _: &str) -> bool {
        false
    }
}
