//! From an utterance to the one final event that answers it, within a bounded time.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::wyoming::WyomingSettings;
use super::{Event, Sentence, Surroundings};
use crate::agent::{Event as TaskEvent, Exit};
use crate::http::service::{NewCommand, Service, SubmitError};
use crate::http::views::TaskView;
use crate::policy::{Channel, Principal};

/// Characters of one utterance.
const MAX_TEXT: usize = 2000;
/// Sentences that follow the first one so soon belong into the same answer.
const GATHER: Duration = Duration::from_millis(150);

/// What was said, as the client sent it.
struct Utterance {
    text: String,
    /// Primary language tag (`en`, `zh`), where one was given.
    language: Option<String>,
    conversation: Option<String>,
    area: Option<String>,
}

impl Utterance {
    fn read(event: &Event, surroundings: &dyn Surroundings) -> Self {
        let context = event.data.get("context");
        let inner = |key: &str| context.and_then(|context| context.get(key)).and_then(Value::as_str);
        let area_of = |key: &str| inner(key).and_then(|device| surroundings.area_of(device));
        let primary = |tag: &str| tag.split(['-', '_']).next().unwrap_or(tag).to_lowercase();
        Self {
            text: event.text("text").unwrap_or_default().trim().to_owned(),
            language: event.text("language").map(primary).filter(|tag| !tag.is_empty()),
            conversation: inner("conversation_id").map(|id| format!("wyoming:{id}")),
            area: area_of("satellite_id").or_else(|| area_of("device_id")),
        }
    }
}

/// Runs an utterance and gives the one final event. What takes longer than the channel waits goes on, and its result
/// is announced.
pub(super) async fn answer(
    event: &Event,
    settings: &WyomingSettings,
    service: &dyn Service,
    surroundings: &Arc<dyn Surroundings>,
) -> Event {
    let said = Utterance::read(event, surroundings.as_ref());
    let own = |sentence| surroundings.say(sentence, said.language.as_deref(), &said.text);
    if said.text.is_empty() {
        return final_event("not-recognized", &own(Sentence::Nothing));
    }
    if said.text.chars().count() > MAX_TEXT {
        return final_event("not-handled", &own(Sentence::TooLong));
    }
    let command = NewCommand {
        language: said.language.clone(),
        conversation: said.conversation.clone(),
        area: said.area.clone(),
        ..NewCommand::text(said.text.clone())
    };
    // One principal for everybody: who spoke is not known, and what a message says about it proves nothing.
    let principal = Principal {
        name: settings.principal.clone(),
        channel: Channel::HomeAssistant,
        scopes: settings.scopes.clone(),
    };
    let task = match service.submit(command, principal).await {
        Ok(task) => task,
        Err(SubmitError::Busy | SubmitError::TooFast { .. }) => {
            return final_event("not-handled", &own(Sentence::Busy));
        }
        Err(SubmitError::Unavailable(error)) => {
            tracing::warn!(%error, "an utterance was not taken");
            return final_event("not-handled", &own(Sentence::Unavailable));
        }
        Err(SubmitError::Rejected { reason, .. }) => return final_event("not-handled", &reason),
    };
    let mut result = task.result;
    let interims = task.events.filter_map(|event| {
        let interim = if let TaskEvent::Interim { text } = event.event { Some(text) } else { None };
        std::future::ready(interim)
    });
    let mut interims = pin!(interims);
    let interim = tokio::select! {
        biased;
        view = &mut result => return of_result(&view),
        Some(text) = interims.next() => Some(text),
        () = tokio::time::sleep(settings.answer_within) => None,
    };
    let Some(first) = interim else {
        announce_later(result, surroundings.clone(), said.area.clone());
        return final_event("handled", &own(Sentence::StillWorking));
    };
    // A person must be told now: this channel has one answer, and what became of it follows as an announcement.
    let mut told = vec![first];
    let gathered = tokio::time::timeout(GATHER, async {
        loop {
            tokio::select! {
                biased;
                view = &mut result => return view,
                Some(text) = interims.next() => told.push(text),
            }
        }
    });
    if let Ok(view) = gathered.await {
        return of_result(&view);
    }
    announce_later(result, surroundings.clone(), said.area.clone());
    final_event("handled", &told.join(" "))
}

fn announce_later(
    result: BoxFuture<'static, TaskView>,
    surroundings: Arc<dyn Surroundings>,
    area: Option<String>,
) {
    tokio::spawn(async move {
        if let Some(reply) = result.await.reply {
            surroundings.announce(&reply, area.as_deref());
        }
    });
}

fn of_result(view: &TaskView) -> Event {
    let kind = match view.exit {
        Some(Exit::Done) => "handled",
        Some(
            Exit::Turns
            | Exit::Calls
            | Exit::Deadline
            | Exit::Declined
            | Exit::ModelFailed
            | Exit::Cancelled
            | Exit::Shutdown
            | Exit::Internal
            | Exit::Budget
            | Exit::Repetition
            | Exit::ContextFull
            | Exit::Malformed
            | Exit::Interrupted,
        )
        | None => "not-handled",
    };
    final_event(kind, view.reply.as_deref().unwrap_or_default())
}

fn final_event(kind: &str, text: &str) -> Event {
    Event::new(kind, json!({"text": text}))
}
