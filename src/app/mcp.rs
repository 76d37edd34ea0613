//! The daemon's tools as other programs call them over MCP: [`ToolHost`] over the queue.
//!
//! A call is a task like any other: one line in the journal, the same loop, policy and door. Nothing here approves; a
//! call that needs a person is answered with the approval's id at once, and the task goes on without its caller.

use std::sync::{Arc, Weak};

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Map, Value, json};

use super::App;
use crate::agent::{Command, Event, SubmitError};
use crate::http::service::{Progress, TaskHandle, ToolError, ToolHost, ToolReply, ToolSpec, Unavailable};
use crate::http::views::{OutcomeView, TaskEvent};
use crate::model::Planned;
use crate::policy::{Channel, Principal};
use crate::tools::{self, ToolCall};

/// The tools of a daemon, for as long as it lives.
pub(super) struct Tools(pub Weak<App>);

impl ToolHost for Tools {
    fn list(&self) -> Vec<ToolSpec> {
        let Some(app) = self.0.upgrade() else { return Vec::new() };
        let prefix = app.queue.agent().prefix();
        prefix.tools.iter().filter(|tool| !tools::is_talk(&tool.name)).map(offered).collect()
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        args: Map<String, Value>,
        by: Principal,
        progress: Progress,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
        async move {
            let gone = || Unavailable("homeloop is stopping".into());
            let app = self.0.upgrade().ok_or_else(gone)?;
            if !self.list().iter().any(|tool| tool.name == name) {
                return Err(ToolError::Unknown(name.to_owned()));
            }
            let submitted = app.queue.submit(app.called(name, args, by)).await;
            let submitted = submitted.map_err(|error| match error {
                error @ (SubmitError::Busy { .. }
                | SubmitError::TooFast { .. }
                | SubmitError::Stopping
                | SubmitError::Paused
                | SubmitError::Journal(_)) => Unavailable(error.to_string()),
            })?;
            Ok(Watched::default().follow(app.handle(submitted), progress).await)
        }
        .boxed()
    }
}

impl App {
    pub(super) fn tools(self: &Arc<Self>) -> Arc<dyn ToolHost> {
        Arc::new(Tools(Arc::downgrade(self)))
    }

    fn called(&self, name: &str, args: Map<String, Value>, by: Principal) -> Command {
        let call =
            ToolCall { id: "mcp".into(), name: name.to_owned(), arguments: Value::Object(args).to_string() };
        Command {
            task: self.clock.new_id(),
            id: None,
            text: format!("{} {}", call.name, call.arguments),
            origin: Principal { channel: Channel::Mcp, ..by },
            area: None,
            language: Some(self.settings.home.language.clone()),
            conversation: None,
            user_hint: None,
            at: self.clock.now(),
            plan: Some(Planned::Call(call)),
        }
    }
}

fn offered(tool: &tools::ToolSpec) -> ToolSpec {
    let traits = tools::traits_of(&tool.name);
    let schema = match &tool.parameters {
        Value::Object(schema) => schema.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        schema,
        read_only: traits.read_only,
        destructive: traits.destructive,
        idempotent: traits.idempotent,
    }
}

/// What was seen of a call so far.
#[derive(Default)]
struct Watched {
    approval: Option<String>,
    content: Option<(String, bool)>,
}

impl Watched {
    /// Follows the task to its end, or to the moment from which it waits for a person.
    async fn follow(mut self, task: TaskHandle, progress: Progress) -> ToolReply {
        let TaskHandle { task_id, mut events, result, .. } = task;
        while let Some(event) = events.next().await {
            if let Some(waiting) = self.take(event, &task_id, &progress) {
                return waiting;
            }
        }
        let view = result.await;
        let outcomes: Vec<OutcomeView> = view.outcomes;
        let (content, failed) = self.content.unwrap_or_default();
        let found = serde_json::from_str(&content).unwrap_or(Value::String(content));
        let text = view.reply.filter(|reply| !reply.is_empty()).unwrap_or_else(|| found.to_string());
        ToolReply {
            text,
            result: json!({"task_id": task_id, "outcomes": outcomes, "result": found}),
            is_error: failed,
            approval_id: None,
        }
    }

    /// The answer, when the event means that a person must decide first.
    fn take(&mut self, event: TaskEvent, task: &str, progress: &Progress) -> Option<ToolReply> {
        match event.event {
            Event::ApprovalAsked { approval, .. } => {
                self.approval = Some(approval);
                None
            }
            Event::Interim { text } => match self.approval.take() {
                Some(approval) => Some(ToolReply {
                    text,
                    result: json!({"task_id": task, "outcomes": [], "waits_for_approval": true}),
                    is_error: false,
                    approval_id: Some(approval),
                }),
                None => {
                    progress(text);
                    None
                }
            },
            Event::CallResult { content, is_error, .. } => {
                self.content = Some((content, is_error));
                None
            }
            Event::Accepted { .. }
            | Event::TurnStarted { .. }
            | Event::Called { .. }
            | Event::ModelSaid { .. }
            | Event::ModelFailed { .. }
            | Event::Decided { .. }
            | Event::ApprovalEnded { .. }
            | Event::Sending { .. }
            | Event::Outcome { .. }
            | Event::Finished { .. } => None,
        }
    }
}
