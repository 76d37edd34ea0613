//! What a house keeps besides devices: timers, lists and schedules, behind a trait that the composition root fills.
//!
//! The tools know only this trait; where timers ring and how schedules are stored is `schedule`'s and `journal`'s.

use futures_util::future::BoxFuture;
use serde_json::Value;

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

/// Answers household requests.
pub trait Household: Send + Sync {
    /// Does it. `Ok` holds `{"said": sentence, …}` with what a model may need; `Err` a sentence that says why not.
    fn handle(&self, request: HouseholdRequest) -> BoxFuture<'_, Result<Value, String>>;
}
