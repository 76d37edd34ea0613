//! What understanding returns.

use chrono::{NaiveDateTime, NaiveTime};
use serde::{Deserialize, Serialize};

use crate::home::{Action, EntityId};

use super::dialogue::Pending;

/// The result of reading one sentence. Texts are in the language of the command, short enough to be spoken.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Understanding {
    /// Every word is explained, every target resolved, every argument checked.
    Act(Vec<Intent>),
    /// A question, answered from state. It never acts.
    Answer { text: String, entities: Vec<EntityId> },
    /// Something is ambiguous: one question back. `pending` goes into the [`super::Dialogue`].
    Ask { question: String, pending: Pending },
    /// Understood, and cannot or must not be done as said. Nothing is done, not even the rest of the sentence.
    Refuse { reply: String, reason: RefuseReason },
    /// Understood as nothing to do: a negated command, noise, a "yes" that answers no question.
    Nothing { reply: String },
    /// Not understood. For the language model, or for an honest reply where there is none.
    NotUnderstood { unexplained: Vec<String>, nearest: Option<String>, reply: String },
}

/// Why an understood sentence is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefuseReason {
    /// No entity of that name; the nearest names, best first.
    UnknownName { said: String, nearest: Vec<String> },
    /// The place exists and has nothing of that kind.
    NothingThere,
    /// The target cannot do that (a lamp without colour).
    Unsupported { entity: EntityId },
    /// Opposite things of one entity at the same time.
    Contradiction { entity: EntityId },
    /// A value outside what the device takes.
    OutOfRange { entity: EntityId },
    /// A standing rule ("when everyone has left …") that the scheduler cannot hold.
    Condition,
    /// A time that is over, does not exist, is too far ahead or comes too often.
    Time,
    /// An `if` whose condition is false now: nothing is done.
    ConditionFalse,
    /// The state that a relative change starts from is not known.
    UnknownState { entity: EntityId },
}

/// One thing to do. Targets are resolved and arguments checked against the entities' own specifications.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    Actions(Vec<Action>),
    /// Id of a scene of the house.
    Scene(String),
    /// `intents` at `when`.
    Schedule {
        when: When,
        intents: Vec<Intent>,
    },
    /// What is scheduled?
    ScheduleQuery,
    /// Cancel what was scheduled.
    ScheduleCancel(ScheduleChoice),
    Timer(TimerChange),
    List(ListChange),
    /// Say this text on the speakers.
    Broadcast {
        message: String,
        area: Option<String>,
    },
    /// Stop everything that moves, and every running task.
    StopAll,
    /// Tell who changed these, when, and how. It reads only.
    History(Vec<EntityId>),
}

/// Which of the scheduled things.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleChoice {
    /// The only one there is, or the last one of this conversation.
    Any,
    /// The last one that was made in this conversation, and no other.
    Last,
    /// Those that act on one of these.
    Of(Vec<EntityId>),
    All,
}

/// When a scheduled intent runs. Local times are in the zone of the request's `now`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Seconds from now.
    After {
        seconds: u64,
    },
    At {
        local: NaiveDateTime,
    },
    /// Every week on these days.
    Every {
        at: NaiveTime,
        days: Weekdays,
    },
}

/// Days of the week, Monday first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Weekdays(pub [bool; 7]);

impl Weekdays {
    pub const ALL: Weekdays = Weekdays([true; 7]);
    pub const WORKDAYS: Weekdays = Weekdays([true, true, true, true, true, false, false]);
    pub const WEEKEND: Weekdays = Weekdays([false, false, false, false, false, true, true]);
}

/// A change of, or a question about, kitchen timers. Durations are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerChange {
    Start { seconds: u64, label: Option<String> },
    Extend { timer: TimerFilter, seconds: u64 },
    Shorten { timer: TimerFilter, seconds: u64 },
    Pause(TimerFilter),
    Resume(TimerFilter),
    Cancel(TimerFilter),
    CancelAll { area: Option<String> },
    Query(TimerFilter),
}

/// Which timer: by label, by the length that it was set to, by the area of the one who set it; all empty: the one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TimerFilter {
    pub label: Option<String>,
    pub length: Option<u64>,
    /// Area id.
    pub area: Option<String>,
}

/// A change of, or a question about, a list. `list` is a todo entity, `None` the house's shopping list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListChange {
    Add { list: Option<EntityId>, item: String },
    Complete { list: Option<EntityId>, item: String },
    Remove { list: Option<EntityId>, item: String },
    Read { list: Option<EntityId> },
}

impl ListChange {
    /// The same change in another list.
    pub fn in_list(&self, id: EntityId) -> Self {
        let mut change = self.clone();
        match &mut change {
            ListChange::Add { list, .. }
            | ListChange::Complete { list, .. }
            | ListChange::Remove { list, .. }
            | ListChange::Read { list } => *list = Some(id),
        }
        change
    }
}
