//! A fake of the boundary trait: it remembers what reached it and answers as it is told.

use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use homeloop::agent::{Event, Exit};
use homeloop::http::service::{
    Answer, AnswerError, AnswerWord, CancelError, EntityFilter, GrantError, Health, LiveEvent, NewCommand,
    NewGrant, Progress, Service, StopError, StopTarget, SubmitError, TaskHandle, ToolError, ToolHost,
    ToolReply, ToolSpec, Unavailable,
};
use homeloop::http::views::{
    ApprovalView, BudgetView, DiscoveryView, EntityView, GrantView, MessageView, ModelView, ModelsView,
    ScheduleView, TargetView, TaskEvent, TaskProgress, TaskView, WhyView,
};
use homeloop::policy::{Channel, Principal, Verdict};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};
use tokio_stream::wrappers::BroadcastStream;

pub const PLAN_HASH: &str = "aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11aa11";

pub struct Fake {
    pub submitted: Mutex<Vec<(NewCommand, Principal)>>,
    pub answered: Mutex<Vec<(Answer, Principal)>>,
    pub accepted: Mutex<Vec<(String, Principal)>>,
    /// What reached `stop`.
    pub stopped: watch::Sender<Vec<StopTarget>>,
    /// Results come once this is true.
    pub release: watch::Sender<bool>,
    /// What the next answers to an approval meet.
    pub answer_error: Mutex<Option<AnswerError>>,
    pub submit_error: Mutex<Option<SubmitError>>,
    pub names: Mutex<Vec<String>>,
    /// What every task tells before its result.
    pub told: Mutex<Vec<Event>>,
    pub live: broadcast::Sender<LiveEvent>,
    pub ready: Mutex<bool>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            submitted: Mutex::default(),
            answered: Mutex::default(),
            accepted: Mutex::default(),
            stopped: watch::channel(Vec::new()).0,
            release: watch::channel(true).0,
            answer_error: Mutex::default(),
            submit_error: Mutex::default(),
            names: Mutex::new(vec!["Kitchen ceiling".into()]),
            told: Mutex::new(vec![interim(), interim()]),
            live: broadcast::channel(64).0,
            ready: Mutex::new(true),
        }
    }
}

pub fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_796_000_000, 0).unwrap()
}

pub fn task_view(task_id: &str, text: &str, state: TaskProgress) -> TaskView {
    let finished = state == TaskProgress::Finished;
    TaskView {
        task_id: task_id.into(),
        state,
        text: text.into(),
        channel: Channel::Http,
        requested_by: "token:owner".into(),
        conversation: None,
        started_at: now(),
        finished_at: finished.then(now),
        exit: finished.then_some(Exit::Done),
        reply: finished.then(|| format!("reply to {text}")),
        interim: None,
        outcomes: Vec::new(),
        waiting_for: Vec::new(),
        usage: Default::default(),
        events: Vec::new(),
    }
}

pub fn interim() -> Event {
    Event::Interim { text: "one moment".into() }
}

pub fn task_event(task_id: &str, sequence: u64) -> TaskEvent {
    TaskEvent { task_id: task_id.into(), sequence, at: now(), event: interim() }
}

pub fn entity_view(index: usize, name: &str) -> EntityView {
    let entity = if index == 0 { "light.kitchen_ceiling".into() } else { format!("light.lamp_{index}") };
    EntityView {
        entity,
        name: name.into(),
        names: Default::default(),
        domain: "light".into(),
        device_class: None,
        area: Some("kitchen".into()),
        area_name: Some(name.into()),
        value: Some("on".into()),
        unit: None,
        attributes: Default::default(),
        availability: "online".into(),
        age_s: Some(3),
        actions: Vec::new(),
    }
}

pub fn approval_view(index: usize, name: &str) -> ApprovalView {
    let target = TargetView {
        entity: "lock.front_door".into(),
        name: name.into(),
        device: Some("0x00158d0001a2b3c4".into()),
        verb: "unlock".into(),
        args: Default::default(),
        now: Some("locked".into()),
        age_s: Some(12),
    };
    ApprovalView {
        approval_id: format!("01HOMELOOPAPPROVAL000000{index:02}"),
        task_id: "task-1".into(),
        plan_hash: PLAN_HASH.into(),
        match_code: "47".into(),
        tier: "G2".into(),
        reasons: vec![format!("entry: {name}")],
        warnings: vec![format!("text from device \"{name}\" was read before this request")],
        text: name.into(),
        targets: vec![target],
        utterance: name.into(),
        requested_by: "voice:kitchen".into(),
        channel: Channel::Voice,
        created_at: now(),
        expires_at: now(),
        expires_in_ms: 118_000,
    }
}

fn grant_view(id: &str) -> GrantView {
    GrantView {
        grant_id: id.into(),
        entity: "lock.side_door".into(),
        verbs: vec!["unlock".into()],
        principal: "token:cleaner".into(),
        from: now(),
        until: now(),
        given_by: "token:owner".into(),
        reason: "cleans on Mondays".into(),
    }
}

impl Service for Fake {
    fn submit(&self, command: NewCommand, by: Principal) -> BoxFuture<'_, Result<TaskHandle, SubmitError>> {
        if let Some(error) = self.submit_error.lock().unwrap().clone() {
            return async { Err(error) }.boxed();
        }
        let text = command.text.clone();
        self.submitted.lock().unwrap().push((command, by));
        let task_id = format!("task-{}", self.submitted.lock().unwrap().len());
        let mut release = self.release.subscribe();
        let events: Vec<TaskEvent> = (0..)
            .zip(self.told.lock().unwrap().iter())
            .map(|(sequence, event)| TaskEvent { event: event.clone(), ..task_event(&task_id, sequence) })
            .collect();
        let (id, events) = (task_id.clone(), stream::iter(events));
        let result = async move {
            let _ = release.wait_for(|go| *go).await;
            task_view(&id, &text, TaskProgress::Finished)
        };
        let handle = TaskHandle { task_id, events: events.boxed(), result: result.boxed(), repeated: false };
        async { Ok(handle) }.boxed()
    }

    fn tasks(&self, limit: usize) -> BoxFuture<'_, Result<Vec<TaskView>, Unavailable>> {
        let tasks =
            (0..limit.min(3)).map(|index| task_view(&format!("task-{index}"), "hi", TaskProgress::Finished));
        let tasks = tasks.collect();
        async { Ok(tasks) }.boxed()
    }

    fn task<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<TaskView>, Unavailable>> {
        let known = id.starts_with("task-");
        let view = || TaskView {
            events: vec![task_event(id, 0)],
            interim: Some("waiting for approval".into()),
            ..task_view(id, "hi", TaskProgress::Waiting)
        };
        let view = known.then(view);
        async { Ok(view) }.boxed()
    }

    fn entities(&self, filter: &EntityFilter) -> Vec<EntityView> {
        let names = self.names.lock().unwrap();
        let views = names.iter().enumerate().map(|(index, name)| entity_view(index, name));
        views.filter(|view| filter.area.is_none() || filter.area == view.area).collect()
    }

    fn entity(&self, id: &str) -> Option<EntityView> {
        self.entities(&EntityFilter::default()).into_iter().find(|view| view.entity == id)
    }

    fn why(&self, id: &str) -> Result<WhyView, String> {
        let entity = self.entity(id).ok_or_else(|| format!("no entity {id}"))?;
        let last = MessageView {
            topic: "zigbee2mqtt/lamp".into(),
            payload: r#"{"state":"ON"}"#.into(),
            cut: false,
            retained: true,
            at: DateTime::UNIX_EPOCH,
            fault: None,
        };
        Ok(WhyView {
            entity,
            source: "homeassistant/light/lamp/config".into(),
            announcement: Some(json!({"command_topic": "zigbee2mqtt/lamp/set"})),
            reads: vec!["zigbee2mqtt/lamp".into()],
            publishes: [("command_topic".into(), "zigbee2mqtt/lamp/set".into())].into(),
            templates: Default::default(),
            last_message: Some(last),
            faults: 0,
            availability: "online".into(),
            suspended: None,
            tiers: Vec::new(),
        })
    }

    fn discovery(&self) -> DiscoveryView {
        DiscoveryView { announced: 1, suspended: Default::default(), refused: Default::default() }
    }

    fn accept(&self, id: &str, by: Principal) -> bool {
        self.accepted.lock().unwrap().push((id.into(), by));
        id == "cover.garage_door"
    }

    fn approvals(&self) -> BoxFuture<'_, Result<Vec<ApprovalView>, Unavailable>> {
        let names = self.names.lock().unwrap();
        let approvals = names.iter().enumerate().map(|(index, name)| approval_view(index, name)).collect();
        async { Ok(approvals) }.boxed()
    }

    fn answer(&self, answer: Answer, by: Principal) -> BoxFuture<'_, Result<Verdict, AnswerError>> {
        let result = match self.answer_error.lock().unwrap().clone() {
            Some(error) => Err(error),
            None => match answer.decision {
                AnswerWord::Approve => Ok(Verdict::Approved),
                AnswerWord::Deny => Ok(Verdict::Denied),
            },
        };
        self.answered.lock().unwrap().push((answer, by));
        async { result }.boxed()
    }

    fn stop(&self, target: StopTarget, _by: Principal) -> BoxFuture<'_, Result<Vec<String>, StopError>> {
        let ids = match &target {
            StopTarget::All => vec!["task-1".to_owned()],
            StopTarget::Task(id) => vec![id.clone()],
        };
        self.stopped.send_modify(|stopped| stopped.push(target));
        async { Ok(ids) }.boxed()
    }

    fn grants(&self) -> Vec<GrantView> {
        vec![grant_view("01HOMELOOPGRANT")]
    }

    fn give_grant(&self, grant: NewGrant, by: Principal) -> BoxFuture<'_, Result<GrantView, GrantError>> {
        let given = GrantView {
            entity: grant.entity,
            verbs: grant.verbs,
            principal: grant.principal,
            until: grant.until,
            given_by: by.name,
            reason: grant.reason,
            ..grant_view("01HOMELOOPGRANT2")
        };
        let local = by.channel == Channel::Local;
        async move { if local { Ok(given) } else { Err(GrantError::NotLocal) } }.boxed()
    }

    fn revoke_grant<'a>(&'a self, id: &'a str, _by: Principal) -> BoxFuture<'a, Result<(), GrantError>> {
        let known = id == "01HOMELOOPGRANT";
        async move { if known { Ok(()) } else { Err(GrantError::NotFound) } }.boxed()
    }

    fn schedules(&self) -> BoxFuture<'_, Result<Vec<ScheduleView>, Unavailable>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn cancel_schedule<'a>(&'a self, id: &'a str, _by: Principal) -> BoxFuture<'a, Result<(), CancelError>> {
        let result = match id {
            "lights" => Ok(()),
            "lock" => Err(CancelError::Forbidden("it locks something".into())),
            _ => Err(CancelError::NotFound),
        };
        async { result }.boxed()
    }

    fn restore_schedule<'a>(&'a self, id: &'a str, _by: Principal) -> BoxFuture<'a, Result<(), CancelError>> {
        let result = if id == "lights" { Ok(()) } else { Err(CancelError::NotFound) };
        async { result }.boxed()
    }

    fn events(&self) -> BoxStream<'static, LiveEvent> {
        let live = BroadcastStream::new(self.live.subscribe());
        let name = self.names.lock().unwrap().first().cloned().unwrap_or_default();
        let first = stream::iter([LiveEvent::State(entity_view(0, &name))]);
        first.chain(live.filter_map(|event| async { event.ok() })).boxed()
    }

    fn health(&self) -> Health {
        let ready = *self.ready.lock().unwrap();
        Health { ready, reasons: if ready { vec![] } else { vec!["broker_down".into()] } }
    }

    fn models(&self) -> BoxFuture<'_, Result<ModelsView, Unavailable>> {
        let (name, state) = ("anthropic".to_owned(), "closed".to_owned());
        let model = ModelView { name, state, failures_in_a_row: 0, paused_ms: 0 };
        let budget = BudgetView { day_limit: 1_000_000, ..BudgetView::default() };
        let view = ModelsView { mode: "offline-first".into(), chain: vec![model], budget };
        async move { Ok(view) }.boxed()
    }

    fn metrics(&self) -> String {
        "# EOF\n".into()
    }
}

/// Two tools: one that tells its progress, one that needs a person.
#[derive(Default)]
pub struct FakeTools {
    pub called: Mutex<Vec<(String, Value, Principal)>>,
}

impl ToolHost for FakeTools {
    fn list(&self) -> Vec<ToolSpec> {
        let schema = json!({"type": "object", "properties": {"entities": {"type": "array"}}});
        let spec = |name: &str, destructive| ToolSpec {
            name: name.into(),
            description: format!("what {name} does"),
            schema: schema.as_object().cloned().unwrap(),
            read_only: false,
            destructive,
            idempotent: true,
        };
        vec![spec("light", false), spec("lock_unlock", true)]
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        args: serde_json::Map<String, Value>,
        by: Principal,
        progress: Progress,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
        self.called.lock().unwrap().push((name.into(), Value::Object(args), by));
        let result = match name {
            "light" => {
                progress("sent to light.kitchen".into());
                let outcomes = json!({"outcomes": [{"entity": "light.kitchen", "outcome": "confirmed"}]});
                let text = "The kitchen light is on.".to_owned();
                Ok(ToolReply { text, result: outcomes, is_error: false, approval_id: None })
            }
            "lock_unlock" => Ok(ToolReply {
                text: "Waiting for approval.".into(),
                result: json!({"outcomes": []}),
                is_error: false,
                approval_id: Some("01A".into()),
            }),
            other => Err(ToolError::Unknown(other.into())),
        };
        async { result }.boxed()
    }
}

pub fn fake() -> Arc<Fake> {
    Arc::new(Fake::default())
}
