//! The JSON that clients see. Every type here is part of the public API and stands in `/openapi.json`.
//!
//! Names, areas and states are text from devices and people: data, never markup. What is shown is built from the
//! house and the journal; nothing here decides anything.

mod announced;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::actuate::{Outcome, OutcomeEntry};
use crate::agent::{Event, Exit};
use crate::clock::Clock;
use crate::home::{Availability, Entity, House};
use crate::model::Usage;
use crate::policy::{Channel, Principal, Verdict};

pub use announced::{AnnouncementKind, AnnouncementView, DiscoveryView, MessageView, TierView, WhyView};

/// A command. Read strictly: an unknown or repeated member is refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CommandRequest {
    /// What should happen, in the person's own words; at most 10,000 characters.
    pub text: String,
    /// The sender's own id: a repeated id runs nothing and gets the first result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Area id of where the person is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// `en`, `zh`…; missing: taken from the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// A name for the reply. Who asks is what the token says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub issued_at: Option<DateTime<Utc>>,
    /// Seconds to wait for the result, 0 to 600; 300 where missing. After them 202 and the task so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_s: Option<u64>,
    /// `continue` or `cancel`: what becomes of the task when this client goes away. Missing: as `http.on_disconnect` in the settings says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_disconnect: Option<String>,
}

/// A person's answer to an approval. Read strictly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnswerRequest {
    /// 1
    pub v: u64,
    /// The hash that the approval showed.
    pub plan_hash: String,
    /// `approve` or `deny`; no other word decides.
    pub decision: String,
    /// At most 60 s from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub issued_at: Option<DateTime<Utc>>,
}

/// What to stop. Read strictly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StopRequest {
    /// Missing: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
}

/// What was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoppedView {
    /// Ids of the tasks that were stopped.
    pub stopped: Vec<String>,
}

/// Whether commands can be served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadyView {
    pub ready: bool,
    /// Short words: `starting`, `broker_down`, `safe_mode`…
    pub reasons: Vec<String>,
}

/// One task: a command from its arrival to its single result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    pub task_id: String,
    pub state: TaskProgress,
    /// What was said or typed.
    pub text: String,
    #[schema(value_type = String)]
    pub channel: Channel,
    /// Who asked, as the credential says.
    pub requested_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub started_at: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<DateTime<Utc>>,
    /// How it ended: `done`, `declined`, `deadline`, `cancelled`…
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub exit: Option<Exit>,
    /// The sentence for the person; never claims more than `outcomes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// The last sentence that was said before the result (waiting for approval, closing, arming).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interim: Option<String>,
    pub outcomes: Vec<OutcomeView>,
    /// Ids of the approvals that this task waits for.
    pub waiting_for: Vec<String>,
    #[schema(value_type = Object)]
    pub usage: Usage,
    /// Only where one task was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
}

impl TaskView {
    /// A task that was taken and of which nothing is known yet.
    pub fn opened(task_id: &str, text: String, by: &Principal, at: DateTime<Utc>) -> Self {
        Self {
            task_id: task_id.to_owned(),
            state: TaskProgress::Running,
            text,
            channel: by.channel,
            requested_by: by.name.clone(),
            conversation: None,
            started_at: at,
            finished_at: None,
            exit: None,
            reply: None,
            interim: None,
            outcomes: Vec::new(),
            waiting_for: Vec::new(),
            usage: Usage::default(),
            events: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskProgress {
    Running,
    /// A person has been asked and has not answered.
    Waiting,
    Finished,
}

/// What the house says about one action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OutcomeView {
    pub entity: String,
    pub verb: String,
    pub args: BTreeMap<String, Value>,
    /// `confirmed`, `already`, `unconfirmed`, `contradicted`, `not_sent` or `refused`.
    #[schema(value_type = String)]
    pub outcome: Outcome,
    /// Machine-readable cause: `offline`, `denied`, `open_zones`…
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

impl From<&OutcomeEntry> for OutcomeView {
    fn from(entry: &OutcomeEntry) -> Self {
        let args = entry.action.args.iter().map(|(name, value)| {
            (name.word().to_owned(), serde_json::to_value(value).unwrap_or(Value::Null))
        });
        Self {
            entity: entry.action.entity.to_string(),
            verb: entry.action.verb.word().to_owned(),
            args: args.collect(),
            outcome: entry.outcome,
            cause: entry.cause.clone(),
            reported: entry.reported.clone(),
            details: entry.details.clone(),
        }
    }
}

/// One event of a task. Besides these three members it has `event` (`accepted`, `turn_started`, `model_said`,
/// `decided`, `interim`, `approval_asked`, `approval_ended`, `sending`, `outcome`, `call_result`, `finished`) and
/// what belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskEvent {
    pub task_id: String,
    /// Place within the task, from 0.
    pub sequence: u64,
    #[schema(value_type = String, format = DateTime)]
    pub at: DateTime<Utc>,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub event: Event,
}

/// One entity with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EntityView {
    /// `light.kitchen_ceiling`
    pub entity: String,
    pub name: String,
    /// Names in other languages, by language tag.
    pub names: BTreeMap<String, String>,
    pub domain: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_class: Option<String>,
    /// Area id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_name: Option<String>,
    /// The last reported value; missing: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[schema(value_type = Object)]
    pub attributes: BTreeMap<String, Value>,
    /// `online`, `offline` or `unknown`.
    pub availability: String,
    /// Seconds since the last report; missing: never reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_s: Option<u64>,
    pub actions: Vec<ActionView>,
}

/// What can be done with an entity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ActionView {
    pub verb: String,
    /// Argument name to what it takes (`a number from 0 to 100`).
    pub args: BTreeMap<String, String>,
}

impl EntityView {
    /// The view of an entity of `house` now.
    pub fn of(house: &House, entity: &Entity, clock: &Clock) -> Self {
        let state = house.state(entity.id.as_str());
        let names = entity.aliases.iter().rev();
        let actions = entity.actions.iter().map(|spec| ActionView {
            verb: spec.verb.word().to_owned(),
            args: spec.args.iter().map(|arg| (arg.name.word().to_owned(), arg.kind.to_string())).collect(),
        });
        Self {
            entity: entity.id.to_string(),
            name: entity.name.clone(),
            names: names.filter_map(|name| Some((name.language.clone()?, name.text.clone()))).collect(),
            domain: entity.domain().word().to_owned(),
            device_class: entity.device_class.clone(),
            area: entity.area.clone(),
            area_name: house.area_name(entity).map(str::to_owned),
            value: state.and_then(|state| state.text()).map(str::to_owned),
            unit: entity.unit.clone(),
            attributes: state
                .map(|state| {
                    state.attributes.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
                })
                .unwrap_or_default(),
            availability: match state.map(|state| state.availability).unwrap_or_default() {
                Availability::Unknown => "unknown",
                Availability::Online => "online",
                Availability::Offline => "offline",
            }
            .to_owned(),
            age_s: state
                .and_then(|state| state.reported)
                .map(|stamp| clock.since_boot().saturating_sub(stamp.since_boot).as_secs()),
            actions: actions.collect(),
        }
    }
}

/// What a person must see before deciding. Built from the frozen plan by fixed templates; no model text in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalView {
    pub approval_id: String,
    pub task_id: String,
    /// SHA-256 over the frozen plan, 64 hexadecimal digits; the answer must repeat it.
    pub plan_hash: String,
    /// Two digits, shown wherever this approval is shown.
    pub match_code: String,
    /// `G2`
    pub tier: String,
    pub reasons: Vec<String>,
    /// What should make a person careful, for example untrusted text that was read before.
    pub warnings: Vec<String>,
    /// Everything that a person must see, rendered from the frozen plan, in lines of plain text.
    #[serde(default)]
    pub text: String,
    /// Every target, never cut.
    pub targets: Vec<TargetView>,
    /// What was said or typed, at most 500 characters; not verified.
    pub utterance: String,
    pub requested_by: String,
    #[schema(value_type = String)]
    pub channel: Channel,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: DateTime<Utc>,
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: DateTime<Utc>,
    /// Milliseconds left when this was written; for a countdown that needs no synchronised clock.
    pub expires_in_ms: u64,
}

/// One action of a plan that waits for approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TargetView {
    pub entity: String,
    pub name: String,
    /// The device's stable identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    pub verb: String,
    pub args: BTreeMap<String, Value>,
    /// The state now; missing: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_s: Option<u64>,
}

/// The end of an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnsweredView {
    pub approval_id: String,
    /// `approved` or `denied`.
    #[schema(value_type = String)]
    pub verdict: Verdict,
    /// The credential that decided.
    pub decided_by: String,
}

/// A schedule, timer or trigger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleView {
    pub schedule_id: String,
    pub name: String,
    /// When it fires, for people (`every day at 07:30`).
    pub when: String,
    /// What it does, for people.
    pub what: String,
    pub enabled: bool,
    pub created_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_at: Option<DateTime<Utc>>,
    /// The next firings, at most three, as the clock of the home shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<OccurrenceView>,
    /// Whether a person must approve it each time.
    #[serde(default)]
    pub gated: bool,
}

/// One firing to come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OccurrenceView {
    /// `2027-03-28T03:00:00+02:00`.
    pub local: String,
    /// What a change of the clocks does to it: `skipped_time`, `repeated_time`…
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The language models of this home, and the money for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelsView {
    /// `offline`, `model` or `offline-first`.
    pub mode: String,
    /// In the order in which they are asked. Empty: the offline understanding alone.
    pub chain: Vec<ModelView>,
    pub budget: BudgetView,
}

/// One language model and whether it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelView {
    /// The name in the settings.
    pub name: String,
    /// `closed`: in use. `open`: paused after failures. `half_open`: the next request tries whether it works again.
    pub state: String,
    pub failures_in_a_row: u32,
    /// Milliseconds until a paused model is tried again.
    pub paused_ms: u64,
}

/// Millionths of a US dollar. A limit of 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct BudgetView {
    pub day_spent: u64,
    pub day_limit: u64,
    pub month_spent: u64,
    pub month_limit: u64,
    /// Whether a limit is reached, so that language models are not asked.
    pub is_spent: bool,
}

/// Leave given in advance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GrantView {
    pub grant_id: String,
    pub entity: String,
    pub verbs: Vec<String>,
    /// The exact name of who may: `token:cleaner`.
    pub principal: String,
    #[schema(value_type = String, format = DateTime)]
    pub from: DateTime<Utc>,
    #[schema(value_type = String, format = DateTime)]
    pub until: DateTime<Utc>,
    pub given_by: String,
    pub reason: String,
}

/// What is sent to give leave in advance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GrantRequest {
    pub entity: String,
    pub verbs: Vec<String>,
    pub principal: String,
    /// Now, where it is left out.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub from: Option<DateTime<Utc>>,
    /// At most 30 days after the begin.
    #[schema(value_type = String, format = DateTime)]
    pub until: DateTime<Utc>,
    /// At least 5 characters.
    pub reason: String,
}

/// A fault, in every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorView {
    pub error: ErrorBody,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// Machine-readable: `unauthorized`, `busy`, `bad_request`…
    pub code: String,
    /// For people: what is wrong, what is expected, what to do.
    pub message: String,
}
