//! What a house keeps besides devices: timers, lists and schedules, behind a trait that the composition root fills.
//!
//! The tools know only this trait; where timers ring and how schedules are stored is `schedule`'s and `journal`'s.

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::actuate::OutcomeEntry;
use crate::home::Action;
use crate::nlu::Intent;
use crate::policy::Principal;

/// Tells a person something before the result.
pub type Interim = std::sync::Arc<dyn Fn(String) + Send + Sync>;

/// A request for something that no device does. The same words serve the offline understanding and language models.
#[derive(Clone)]
pub struct HouseholdRequest {
    /// Timers, lists, schedules, announcements, stop.
    pub intent: Intent,
    pub task: String,
    /// What was said or typed.
    pub utterance: String,
    pub principal: Principal,
    pub conversation: Option<String>,
    /// Caller's area id.
    pub area: Option<String>,
    pub language: String,
    /// The entity whose free text entered the context of the command, if any did.
    pub taint: Option<String>,
    /// For what a person must be told while it waits.
    pub interim: Interim,
}

/// The call on whose occasion something is switched on or off.
#[derive(Debug, Clone)]
pub struct Occasion {
    pub task: String,
    /// Id of the call within the task.
    pub call: String,
    pub principal: Principal,
    pub conversation: Option<String>,
    /// Caller's area id.
    pub area: Option<String>,
    pub language: String,
}

/// Answers household requests.
pub trait Household: Send + Sync {
    /// Does it. `Ok` holds `{"said": sentence, …}` with what a model may need; `Err` a sentence that says why not.
    fn handle(&self, request: HouseholdRequest) -> BoxFuture<'_, Result<Value, String>>;

    /// Before `actions` are sent: makes durable that what must not last by itself (`policy::lasting`) ends. After an
    /// `Err` nothing may be sent.
    fn arrange_ends<'a>(
        &'a self,
        actions: &'a [Action],
        occasion: &'a Occasion,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// When the outcomes of a call are known: drops the ends that are not needed; says which things will end.
    fn settle_ends<'a>(
        &'a self,
        outcomes: &'a [OutcomeEntry],
        occasion: &'a Occasion,
    ) -> BoxFuture<'a, Option<String>>;
}
