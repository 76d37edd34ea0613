//! What was said before in the same conversation. Kept in memory, bounded, and forgotten after a pause.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::model::Dialogues;
use crate::nlu::Dialogue;

/// Exchanges that are kept; how many of them a model is shown is a setting.
const EXCHANGES: usize = 32;
/// Conversations kept at once; the longest silent one goes first.
const CONVERSATIONS: usize = 256;
/// A conversation that was silent for so long is over.
const SILENCE: Duration = Duration::from_secs(600);

/// One command and its reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    pub said: String,
    pub reply: String,
    /// The entity whose free text had entered the context of the command, if any had: the reply may repeat it.
    pub taint: Option<String>,
}

/// All open conversations. Cheap to clone.
#[derive(Clone)]
pub struct Conversations {
    clock: Clock,
    open: Arc<Mutex<HashMap<String, Conversation>>>,
}

#[derive(Default)]
struct Conversation {
    dialogue: Dialogue,
    exchanges: VecDeque<Exchange>,
    /// Time since boot of the last word.
    last: Duration,
}

impl Conversations {
    pub fn new(clock: Clock) -> Self {
        Self { clock, open: Arc::default() }
    }

    /// The last exchanges, at most `most`, oldest first. A command without a conversation has no history.
    pub fn history(&self, id: Option<&str>, most: usize) -> Vec<Exchange> {
        self.with(id, |conversation| {
            let skipped = conversation.exchanges.len().saturating_sub(most);
            conversation.exchanges.iter().skip(skipped).cloned().collect()
        })
        .unwrap_or_default()
    }

    pub fn add(&self, id: Option<&str>, exchange: Exchange) {
        self.with(id, |conversation| {
            conversation.exchanges.push_back(exchange);
            while conversation.exchanges.len() > EXCHANGES {
                conversation.exchanges.pop_front();
            }
        });
    }

    fn with<T>(&self, id: Option<&str>, look: impl FnOnce(&mut Conversation) -> T) -> Option<T> {
        let id = id?;
        let now = self.clock.since_boot();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, conversation| now.saturating_sub(conversation.last) < SILENCE);
        if open.len() >= CONVERSATIONS && !open.contains_key(id) {
            let oldest =
                open.iter().min_by_key(|(_, conversation)| conversation.last).map(|(id, _)| id.clone());
            if let Some(oldest) = oldest {
                open.remove(&oldest);
            }
        }
        let conversation = open.entry(id.to_owned()).or_default();
        conversation.last = now;
        Some(look(conversation))
    }
}

impl Dialogues for Conversations {
    fn dialogue(&self, conversation: Option<&str>) -> Dialogue {
        self.with(conversation, |conversation| conversation.dialogue.clone()).unwrap_or_default()
    }

    fn keep(&self, conversation: Option<&str>, dialogue: Dialogue) {
        self.with(conversation, |conversation| conversation.dialogue = dialogue);
    }
}
