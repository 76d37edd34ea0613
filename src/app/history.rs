//! Who did what, when, through which channel, and approved by whom: read from the journal, for a person who asks.
//!
//! Nothing here decides or remembers anything of its own; the record is the journal's.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use super::foreign::CHANGED;
use super::household::Keeper;
use crate::actuate::{Outcome, OutcomeEntry};
use crate::agent::Event;
use crate::home::{EntityId, Verb};
use crate::journal::{self, Journal, JournalError};
use crate::nlu::Lexicon;
use crate::policy::{Channel, Verdict};
use crate::tools::clean;

/// One thing that was done to an entity, or that happened to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deed {
    pub at: DateTime<Utc>,
    pub entity: EntityId,
    #[serde(flatten)]
    pub what: What,
}

/// What was done, and what is known about who did it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// A command of homeloop.
    Done {
        verb: Verb,
        outcome: Outcome,
        task: String,
        by: String,
        channel: Channel,
        /// What was said or typed.
        text: String,
        /// The person who approved, and through which channel.
        #[serde(skip_serializing_if = "Option::is_none")]
        approved_by: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        approved_via: Option<String>,
        /// The whole outcome, for the sentence about it.
        #[serde(skip)]
        entry: Box<OutcomeEntry>,
    },
    /// The device changed, and no command of homeloop explains it.
    Changed { from: String, to: String },
}

/// What was done to `entity`, or to everything, since `since`: the newest first, at most `limit`.
pub async fn deeds(
    journal: &Journal,
    entity: Option<&str>,
    since: DateTime<Utc>,
    limit: usize,
) -> Result<Vec<Deed>, JournalError> {
    let most = u32::try_from(limit.saturating_mul(8)).unwrap_or(u32::MAX);
    let rows = match entity {
        Some(entity) => journal.about(entity, since, most).await?,
        None => journal.of_kinds(&["outcome", CHANGED], since, most).await?,
    };
    let mut tasks = HashMap::new();
    let mut deeds = Vec::new();
    for row in rows {
        if deeds.len() >= limit {
            break;
        }
        deeds.extend(deed(journal, &mut tasks, &row).await?);
    }
    Ok(deeds)
}

async fn deed(
    journal: &Journal,
    tasks: &mut HashMap<String, Vec<Event>>,
    row: &journal::Event,
) -> Result<Option<Deed>, JournalError> {
    let Some(task) = &row.task else { return Ok(changed(row)) };
    // Events of another version of the program are skipped, not guessed at.
    let Ok(Event::Outcome { call, entry }) = row.parse::<Event>() else { return Ok(None) };
    if matches!(entry.outcome, Outcome::Already | Outcome::NotSent | Outcome::Refused) {
        return Ok(None);
    }
    if !tasks.contains_key(task) {
        let events = journal.events(task).await?.iter().filter_map(|row| row.parse().ok()).collect();
        tasks.insert(task.clone(), events);
    }
    let events = tasks.get(task).map(Vec::as_slice).unwrap_or_default();
    let Some(Event::Accepted { command }) = events.first() else { return Ok(None) };
    let approved = events.iter().find_map(|event| match event {
        Event::ApprovalEnded { call: of, approval, verdict: Verdict::Approved, by } if *of == call => {
            Some((approval.clone(), by.clone()))
        }
        _ => None,
    });
    let (approved_by, approved_via) = match approved {
        Some((approval, by)) => (by, journal.approval(&approval).await?.and_then(|row| row.decided_via)),
        None => (None, None),
    };
    let what = What::Done {
        verb: entry.action.verb,
        outcome: entry.outcome,
        task: task.clone(),
        by: command.origin.name.clone(),
        channel: command.origin.channel,
        text: command.text.clone(),
        approved_by,
        approved_via,
        entry: Box::new(entry.clone()),
    };
    Ok(Some(Deed { at: row.at, entity: entry.action.entity, what }))
}

/// How far back a question looks.
const DAYS: i64 = 7;

impl Keeper {
    /// Tells what was done to each entity last. Only who, when and through what is told: what somebody said is not,
    /// since it would come into the context as text from outside.
    pub(super) async fn history(&self, entities: &[EntityId], language: &str) -> Result<Value, String> {
        let since = self.clock.now() - TimeDelta::days(DAYS);
        let mut sentences = Vec::new();
        let mut all = Vec::new();
        for entity in entities {
            let deeds = deeds(&self.journal, Some(entity.as_str()), since, 1).await;
            let last = deeds.map_err(|error| error.to_string())?.into_iter().next();
            sentences.push(self.tell_deed(entity, last.as_ref(), language));
            all.extend(last.map(|deed| without_text(&deed)));
        }
        Ok(json!({"said": self.report.join(language, &sentences), "last": all}))
    }

    fn tell_deed(&self, entity: &EntityId, deed: Option<&Deed>, language: &str) -> String {
        let lexicon = self.report.lexicon(language);
        let house = self.house.read();
        let known = house.entity(entity.as_str());
        let name = known.map_or_else(|| entity.to_string(), |known| clean(known.name_in(language), 64));
        let Some(deed) = deed else { return lexicon.say("history.none", &[("name", &name)]) };
        let at = deed.at.with_timezone(&self.zone);
        let today = at.date_naive() == self.clock.now().with_timezone(&self.zone).date_naive();
        let time = at.format(if today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M" }).to_string();
        match &deed.what {
            What::Done { by, channel, approved_by, entry, .. } => {
                let approved = approved_by
                    .as_deref()
                    .map(|by| lexicon.say("history.approved", &[("by", &clean(by, 80))]));
                let channel = serde_json::to_value(channel).ok();
                let channel = channel.as_ref().and_then(Value::as_str).unwrap_or_default();
                lexicon.say(
                    "history.done",
                    &[
                        ("what", &self.report.outcomes(language, std::slice::from_ref(entry), &house)),
                        ("time", &time),
                        ("by", &clean(by, 80)),
                        ("channel", channel),
                        ("approved", approved.as_deref().unwrap_or_default()),
                    ],
                )
            }
            What::Changed { from, to } => lexicon.say(
                "history.changed",
                &[
                    ("name", &name),
                    ("from", &state_word(lexicon, from)),
                    ("to", &state_word(lexicon, to)),
                    ("time", &time),
                ],
            ),
        }
    }
}

/// A state as it is said, or as the device calls it where the language has no word for it.
pub(super) fn state_word(lexicon: &Lexicon, state: &str) -> String {
    lexicon.phrase(&format!("is.{state}")).map_or_else(|| clean(state, 40).replace('_', " "), str::to_owned)
}

fn without_text(deed: &Deed) -> Value {
    let mut value = json!(deed);
    if let Some(fields) = value.as_object_mut() {
        fields.remove("text");
    }
    value
}

#[derive(serde::Deserialize)]
struct ChangedBody {
    entity: EntityId,
    from: String,
    to: String,
}

fn changed(row: &journal::Event) -> Option<Deed> {
    if row.kind != CHANGED {
        return None;
    }
    let body: ChangedBody = row.parse().ok()?;
    Some(Deed { at: row.at, entity: body.entity, what: What::Changed { from: body.from, to: body.to } })
}
