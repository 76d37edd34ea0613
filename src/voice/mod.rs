//! Voice: programs that hear and speak, over their own protocols.
//!
//! `wyoming` makes homeloop a conversation agent of Home Assistant, `hermes` speaks with Rhasspy's services, `speech`
//! uses Wyoming's speech services, `zeroconf` tells the network where the server is. Voice may ask and never approve: a principal of
//! this module holds `read` and `command` alone, and a spoken "yes" decides nothing.

mod answer;
mod frame;
pub mod hermes;
pub mod speech;
pub mod wyoming;
pub mod zeroconf;

pub use frame::{Event, FrameError, read_event, write_event};

/// What voice needs from the house besides its [`crate::http::service::Service`]. The daemon implements it.
pub trait Surroundings: Send + Sync + 'static {
    /// The area id of a satellite or device, where it is known.
    fn area_of(&self, device: &str) -> Option<String>;

    /// A sentence of ours in the language of what was said: the given tag, else what the text tells.
    fn say(&self, sentence: Sentence, language: Option<&str>, text: &str) -> String;

    /// A reply that came after its channel had its one answer: spoken in the area, or everywhere.
    fn announce(&self, reply: &str, area: Option<&str>);
}

/// What voice itself has to say. Everything else is the reply of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sentence {
    /// It takes longer than the channel waits; the result follows as an announcement.
    StillWorking,
    /// Too many commands wait already.
    Busy,
    /// The daemon starts, stops, or cannot write its journal.
    Unavailable,
    /// The utterance is longer than any that is taken.
    TooLong,
    /// Nothing was said.
    Nothing,
}
