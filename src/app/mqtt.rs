//! The MQTT channel: commands, stops and decisions in; events, results and approvals out. And the way of every other
//! message to the codecs and to discovery.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::discovery::arrival;
use super::{App, views};
use crate::actuate::Port;
use crate::agent::{Command, Event, Exit, SubmitError, TaskEvent, TaskResult};
use crate::mqtt::inbox::{CommandMessage, DecisionMessage, ReplyTo, Request, StopMessage, StopWhat};
use crate::mqtt::link::{Arrivals, Inbound, Publish};
use crate::mqtt::outbox::{ANSWER_ROLE, WaitingApproval};
use crate::policy::{AnswerWord, Approval, ApprovalState, Channel, Principal, Scope};
use crate::settings::MqttScope;

/// Where a task is answered, besides our own topics.
#[derive(Debug, Clone, Default)]
struct Asked {
    reply_to: Option<ReplyTo>,
    /// The conversation on `<base>/chat/…` that the command belongs to.
    chat: Option<String>,
}

/// Who wants an answer in a place of its own, by task.
#[derive(Default)]
pub struct Replies {
    by_task: Mutex<HashMap<String, Asked>>,
}

impl Replies {
    fn want(&self, task: &str, asked: Asked) {
        self.by_task.lock().unwrap_or_else(PoisonError::into_inner).insert(task.to_owned(), asked);
    }

    /// Has a task answered in the conversation that asked for it before: `chat:<id>`; other ones have no such place.
    pub(super) fn want_in(&self, task: &str, conversation: Option<&str>) {
        let Some(chat) = conversation.and_then(|conversation| conversation.strip_prefix("chat:")) else {
            return;
        };
        self.want(task, Asked { reply_to: None, chat: Some(chat.to_owned()) });
    }

    fn chat_of(&self, task: &str) -> Option<String> {
        self.by_task.lock().unwrap_or_else(PoisonError::into_inner).get(task)?.chat.clone()
    }

    fn take(&self, task: &str) -> Asked {
        self.by_task.lock().unwrap_or_else(PoisonError::into_inner).remove(task).unwrap_or_default()
    }
}

impl App {
    /// Takes in everything that the link receives, in order, until it ends.
    pub(super) async fn receive(self: Arc<Self>, mut arrivals: Arrivals) {
        let port: Arc<dyn Port> = Arc::new(self.link.clone());
        while let Some(message) = arrivals.recv().await {
            if self.topics.owns(&message.topic) {
                self.own_message(&message).await;
                continue;
            }
            if self.heard_hermes(&message) || self.is_birth(&message) || self.announced(&message, &port) {
                continue;
            }
            self.registry.on_message(&message.topic, &message.payload, arrival(&message));
        }
    }

    async fn own_message(self: &Arc<Self>, message: &Inbound) {
        match self.inbox.read(message) {
            None => self.outbox.tidy(message),
            Some(Err(rejected)) => self.outbox.reject(&rejected),
            Some(Ok(Request::Command(command))) => self.mqtt_command(command, None).await,
            Some(Ok(Request::Chat { conversation, command })) => {
                self.mqtt_command(command, Some(conversation)).await;
            }
            Some(Ok(Request::Audio { site, wav })) => self.heard_audio(site, wav),
            Some(Ok(Request::Pause { on, sender })) => {
                let by = mqtt_principal(sender.as_deref(), Vec::new()).name;
                let app = self.clone();
                self.tasks.spawn(async move { app.pause(on, &by).await });
            }
            // Both wait for devices or the broker, whose messages come through this very loop.
            Some(Ok(Request::Stop(stop))) => {
                let app = self.clone();
                self.tasks.spawn(async move { app.mqtt_stop(stop).await });
            }
            Some(Ok(Request::Decision(decision))) => {
                let app = self.clone();
                self.tasks.spawn(async move { app.mqtt_decision(decision).await });
            }
        }
    }

    /// Opens a task for a command on `<base>/command`, or in a conversation.
    async fn mqtt_command(self: &Arc<Self>, message: CommandMessage, chat: Option<String>) {
        let mut scopes = vec![Scope::Read];
        if self.settings.mqtt.commands.scope == MqttScope::Command {
            scopes.push(Scope::Command);
        }
        let known_area = |area: &String| self.house.read().places.areas.contains_key(area);
        let command = Command {
            task: self.clock.new_id(),
            id: message.id,
            text: message.text,
            origin: mqtt_principal(message.sender.as_deref(), scopes),
            area: message.area.filter(known_area),
            language: message.language,
            conversation: match &chat {
                Some(id) => Some(format!("chat:{id}")),
                None => message.conversation.map(|id| format!("mqtt:{id}")),
            },
            user_hint: message.user,
            at: self.clock.now(),
            plan: None,
        };
        let asked = Asked { reply_to: message.reply_to, chat };
        // Before the task begins: its first words must find their way.
        self.replies.want(&command.task, asked.clone());
        let opened = command.task.clone();
        match self.queue.submit(command).await {
            Ok(submitted) if submitted.repeated => {
                self.replies.take(&opened);
                self.inbox.count_duplicate();
                let (app, mut result) = (self.clone(), submitted.result);
                self.tasks.spawn(async move {
                    if let Some(first) = result.result().await {
                        app.tell_result(&first, asked.reply_to.as_ref()).await;
                        app.say_in_chat(asked.chat.as_deref(), &first.task, &first.reply, Some(first.exit));
                    }
                });
            }
            Ok(_) => {}
            Err(error) => {
                self.replies.take(&opened);
                let exit = match &error {
                    SubmitError::Busy { .. } | SubmitError::TooFast { .. } => "busy",
                    SubmitError::Stopping | SubmitError::Paused | SubmitError::Journal(_) => "unavailable",
                };
                let app = self.clone();
                self.tasks.spawn(async move {
                    app.say_in_chat(asked.chat.as_deref(), &opened, &error.to_string(), None);
                    app.tell_refusal(exit, &error.to_string(), asked.reply_to.as_ref()).await;
                });
            }
        }
    }

    async fn tell_refusal(&self, exit: &str, why: &str, reply_to: Option<&ReplyTo>) {
        let body = json!({"exit": exit, "reply": why}).to_string();
        let told = match reply_to {
            Some(reply) => self.outbox.reply(reply, body).await,
            None => {
                self.outbox.reply(&ReplyTo { topic: self.topics.result(), correlation: None }, body).await
            }
        };
        if let Err(error) = told {
            tracing::debug!(%error, "a refusal was not told");
        }
    }

    async fn mqtt_stop(self: &Arc<Self>, stop: StopMessage) {
        let stopped = match stop.what {
            StopWhat::All => self.stop_everything().await,
            StopWhat::Task(task) if self.queue.stop(&task) => vec![task],
            StopWhat::Task(_) => Vec::new(),
        };
        if let Some(reply) = &stop.reply_to
            && let Err(error) = self.outbox.reply(reply, json!({"stopped": stopped}).to_string()).await
        {
            tracing::debug!(%error, "a stop was not acknowledged");
        }
    }

    async fn mqtt_decision(self: &Arc<Self>, decision: DecisionMessage) {
        let Some(principal) = self.approvers.of(&decision) else {
            self.inbox.count_disbelieved();
            tracing::warn!(approval = %decision.approval, "a decision over MQTT was ignored: its sender is not believed");
            return;
        };
        let word = if decision.approve { AnswerWord::Approve } else { AnswerWord::Deny };
        let answered = self
            .door
            .answer(&decision.approval, &decision.plan_hash, word, Some(decision.issued_at), &principal)
            .await;
        let body = match &answered {
            Ok(verdict) => json!({"approval_id": decision.approval, "verdict": verdict}),
            Err(error) => json!({"approval_id": decision.approval, "error": error.to_string()}),
        };
        if let Some(reply) = &decision.reply_to
            && let Err(error) = self.outbox.reply(reply, body.to_string()).await
        {
            tracing::debug!(%error, "what became of a decision was not told");
        }
    }

    /// Publishes the events of all tasks, and their results.
    pub(super) async fn publish_events(self: Arc<Self>, mut events: Receiver<Arc<TaskEvent>>) {
        loop {
            match events.recv().await {
                Ok(event) => self.publish_event(&event).await,
                Err(RecvError::Lagged(lost)) => {
                    tracing::warn!(lost, "events were not published: too many at once");
                    self.publish_missed_results().await;
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Publishes the results of tasks whose last event was lost on the way here, from their record.
    async fn publish_missed_results(self: &Arc<Self>) {
        for task in self.started.tasks() {
            let Ok(rows) = self.journal.events(&task).await else { continue };
            let number = u64::try_from(rows.len()).unwrap_or(u64::MAX).saturating_sub(1);
            let last = rows.last().and_then(|row| Some((row.at, row.parse::<Event>().ok()?)));
            if let Some((at, event @ Event::Finished { .. })) = last {
                self.publish_event(&Arc::new(TaskEvent { task, number, at, event })).await;
            }
        }
    }

    async fn publish_event(self: &Arc<Self>, event: &Arc<TaskEvent>) {
        if let Event::Accepted { command } = &event.event {
            self.started.note(&event.task, event.at, command.id.clone());
        }
        let started = self.started.get(&event.task);
        let seconds = started.as_ref().map(|(at, _)| (event.at - *at).as_seconds_f64());
        self.metrics.count(event, seconds);
        if let Event::Interim { text } = &event.event {
            self.say_in_chat(self.replies.chat_of(&event.task).as_deref(), &event.task, text, None);
        }
        let Event::Finished { exit, reply, ledger, usage } = &event.event else {
            self.outbox.event(&event.task, serde_json::to_vec(event.as_ref()).unwrap_or_default());
            return;
        };
        let result = json!({
            "task": event.task, "exit": exit, "reply": reply, "outcomes": ledger, "usage": usage,
            "id": started.and_then(|(_, id)| id), "seconds": seconds,
        });
        self.started.forget(&event.task);
        let Asked { reply_to, chat } = self.replies.take(&event.task);
        self.say_in_chat(chat.as_deref(), &event.task, reply, Some(*exit));
        let (app, task) = (self.clone(), event.task.clone());
        // Results are waited for on their own, so that a slow broker does not hold up the next event.
        self.tasks.spawn(async move {
            // What was not delivered is logged and counted by the outbox.
            let _ = app.outbox.result(&task, result.to_string(), reply_to.as_ref()).await;
        });
    }

    async fn tell_result(&self, result: &TaskResult, reply_to: Option<&ReplyTo>) {
        let body = serde_json::to_vec(result).unwrap_or_default();
        let _ = self.outbox.result(&result.task, body, reply_to).await;
    }

    /// Says something in a conversation: the last word of a task with its `exit`, or a sentence in between.
    fn say_in_chat(&self, conversation: Option<&str>, task: &str, text: &str, exit: Option<Exit>) {
        let Some(conversation) = conversation else { return };
        let body = json!({
            "role": ANSWER_ROLE, "text": text, "task": task, "exit": exit, "final": exit.is_some(),
        });
        let message = Publish::new(self.topics.chat(conversation), body.to_string());
        if let Err(error) = self.link.begin_publish(message) {
            tracing::warn!(task, %error, "an answer in a conversation was not published");
        }
    }

    /// Shows approvals while they wait, and clears them when they are resolved.
    pub(super) async fn publish_approvals(self: Arc<Self>, mut changes: Receiver<Approval>) {
        loop {
            match changes.recv().await {
                Ok(approval) if approval.state == ApprovalState::Pending => {
                    self.outbox.show_approval(self.waiting(&approval));
                }
                Ok(approval) => self.outbox.clear_approval(&approval.id),
                Err(RecvError::Lagged(lost)) => {
                    tracing::warn!(lost, "changes of approvals were not published")
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    pub(super) fn waiting(&self, approval: &Approval) -> WaitingApproval {
        let view = views::approval(approval, &self.settings.home.language, &self.house.read(), &self.clock);
        WaitingApproval {
            id: approval.id.clone(),
            expires_in: Duration::from_millis(view.expires_in_ms),
            body: serde_json::to_vec(&view).unwrap_or_default().into(),
        }
    }
}

fn mqtt_principal(sender: Option<&str>, scopes: Vec<Scope>) -> Principal {
    let name = sender.map_or_else(|| "mqtt".to_owned(), |sender| format!("mqtt:{sender}"));
    Principal { name, channel: Channel::Mqtt, scopes }
}
