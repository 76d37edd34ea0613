//! THE LOOP: one command, from its arrival to its single result.
//!
//! ```text
//! state = fold(events of the task)          state.rs
//! loop {
//!     match next(&state, &limits) {         next.rs, pure
//!         CallModel       => turn.rs
//!         RunCalls        => calls.rs, through the door of `actuate`
//!         AwaitApproval   => calls.rs
//!         Finish          => reply.rs, from the ledger of outcomes
//!     }
//! }
//! ```
//!
//! Each command runs in a tokio task of its own with its own limits and its own stretch of the journal; a panic ends
//! that task alone, with a result. What may happen is decided in `policy`, what is sent in `actuate`.

mod act;
mod budget;
mod calls;
mod claim;
mod command;
mod conversation;
mod event;
mod limits;
mod log;
mod next;
mod prompt;
mod rate;
mod repeat;
mod reply;
mod run;
mod state;
mod submit;
mod turn;

use std::sync::{Arc, Mutex, PoisonError};

use chrono::DateTime;
use chrono_tz::Tz;

use crate::actuate::Door;
use crate::clock::Clock;
use crate::home::SharedHouse;
use crate::journal::{Journal, JournalError};
use crate::model::{Model, Report};
use crate::tools::Household;

pub use budget::{Balance, Budget, Period};
pub use claim::{claims, is_so};
pub use command::Command;
pub use conversation::{Conversations, Exchange};
pub use event::{CallId, Event, Exit, Failure};
pub use limits::Limits;
pub use log::{Bus, TaskEvent, TaskLog};
pub use next::{Step, Why, next};
pub use prompt::{Prefix, prefix};
pub use state::{CallState, Phase, TaskState, Turn};
pub use submit::{Queue, QueueLimits, SubmitError, Submitted, TaskResult};

// Defined lower down, where policy and the door can reach them; the loop's readers find them here too.
pub use crate::actuate::{Ledger, Outcome, OutcomeEntry};
pub use crate::policy::{Channel, Decision, Principal, Scope, Verdict};

use budget::Purse;

/// Everything that the loop stands on.
pub struct Parts {
    pub house: SharedHouse,
    pub door: Arc<Door>,
    pub journal: Journal,
    pub model: Arc<dyn Model>,
    /// The same without any language model: takes the turns when the money is spent.
    pub frugal: Arc<dyn Model>,
    /// Takes plans that were understood before, and reports on them.
    pub offline: Arc<dyn Model>,
    pub household: Arc<dyn Household>,
    pub report: Report,
    pub conversations: Conversations,
    pub clock: Clock,
    pub zone: Tz,
    /// Language of the home: that of what a language model is told (`en`, `zh`).
    pub language: String,
    pub limits: Limits,
    pub budget: Budget,
}

/// Runs commands. Cheap to share behind an `Arc`.
pub struct Agent {
    house: SharedHouse,
    door: Arc<Door>,
    journal: Journal,
    model: Arc<dyn Model>,
    frugal: Arc<dyn Model>,
    offline: Arc<dyn Model>,
    household: Arc<dyn Household>,
    report: Report,
    conversations: Conversations,
    clock: Clock,
    zone: Tz,
    language: String,
    limits: Limits,
    purse: Purse,
    bus: Bus,
    /// The prefix of the house at a revision; made again when the registry changes.
    prefix: Mutex<Option<(u64, Prefix)>>,
}

/// Events that a slow listener may lag behind.
const LISTENING: usize = 4096;

impl Agent {
    pub fn new(parts: Parts) -> Self {
        let purse = Purse::new(parts.budget, parts.journal.clone(), parts.clock.clone(), parts.zone);
        Self {
            house: parts.house,
            door: parts.door,
            journal: parts.journal,
            model: parts.model,
            frugal: parts.frugal,
            offline: parts.offline,
            household: parts.household,
            report: parts.report,
            conversations: parts.conversations,
            clock: parts.clock,
            zone: parts.zone,
            language: parts.language,
            limits: parts.limits,
            purse,
            bus: tokio::sync::broadcast::channel(LISTENING).0,
            prefix: Mutex::new(None),
        }
    }

    /// Events of all tasks from now on.
    pub fn events(&self) -> tokio::sync::broadcast::Receiver<Arc<TaskEvent>> {
        self.bus.subscribe()
    }

    /// The system text and tools of the house as it is.
    pub fn prefix(&self) -> Prefix {
        let house = self.house.read();
        let mut known = self.prefix.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((revision, prefix)) if *revision == house.revision() => prefix.clone(),
            Some(_) | None => {
                let made = prompt::prefix(&house, &self.language);
                *known = Some((house.revision(), made.clone()));
                made
            }
        }
    }

    /// What language models have cost today and this month, and what they may cost.
    pub async fn balance(&self) -> Result<Balance, JournalError> {
        self.purse.balance().await
    }

    fn now_local(&self) -> DateTime<Tz> {
        self.clock.now().with_timezone(&self.zone)
    }

    /// The language of a task's reply: the command's own, else that of its text.
    fn language_of(&self, command: &Command) -> String {
        self.report.language(command.language.as_deref(), &command.text).to_owned()
    }
}
