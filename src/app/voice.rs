//! The voice channels over MQTT: Hermes sessions, and recorded utterances.
//!
//! A command from here is a task like any other, of a principal that may read and command and never approve. People who
//! speak wait in silence, so after a few seconds, or when a person must be asked, they hear a sentence; the result
//! follows at the same site.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::Instant;

use super::App;
use crate::agent::{Command, Event, Exit};
use crate::http::service::TaskHandle;
use crate::mqtt::link::{Inbound, Publish};
use crate::policy::{Channel, Principal, Scope};
use crate::tools::ASK_USER;
use crate::voice::hermes::{self, Heard};
use crate::voice::speech;

/// Recorded utterances that are worked on at once; more are told to come again.
const AT_ONCE: usize = 8;

/// What a task says to somebody who listens.
enum Said {
    /// Not the last word: a person must be asked, or it takes longer.
    Meanwhile(String),
    Last {
        text: String,
        exit: Option<Exit>,
        /// It is a question to the one who spoke.
        question: bool,
    },
}

/// A task, as somebody hears it who waits for it.
struct Listening {
    task: TaskHandle,
    /// When to say that it takes longer, and what.
    patience: Option<(Instant, String)>,
    question: bool,
}

impl Listening {
    /// The next thing to be said; after the last one there is nothing more to wait for.
    async fn next(&mut self) -> Said {
        loop {
            let late = async {
                match &self.patience {
                    Some((at, _)) => tokio::time::sleep_until(*at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                event = self.task.events.next() => match event.map(|event| event.event) {
                    Some(Event::Interim { text }) => {
                        self.patience = None;
                        return Said::Meanwhile(text);
                    }
                    Some(Event::ModelSaid { calls, .. }) => {
                        self.question |= calls.iter().any(|(_, call)| call.name == ASK_USER);
                    }
                    Some(_) => {}
                    None => break,
                },
                () = late => {
                    let text = self.patience.take().map(|(_, text)| text);
                    return Said::Meanwhile(text.unwrap_or_default());
                }
            }
        }
        let view = (&mut self.task.result).await;
        Said::Last { text: view.reply.unwrap_or_default(), exit: view.exit, question: self.question }
    }
}

/// Somebody who spoke.
struct Speaker {
    site: String,
    text: String,
    id: Option<String>,
    language: Option<String>,
    conversation: Option<String>,
}

impl App {
    /// Takes a message of Hermes, if it is one for our role.
    pub(super) fn heard_hermes(self: &Arc<Self>, message: &Inbound) -> bool {
        let role = self.settings.voice.hermes.role;
        if !role.listens(&message.topic) {
            return false;
        }
        if message.retain {
            tracing::debug!(topic = %message.topic, "a retained Hermes message is ignored");
            return true;
        }
        match hermes::read(role, &message.payload) {
            Ok(heard) => {
                // Our own reading comes back to a skill of the same broker; it was taken already.
                for message in heard.readings(role) {
                    self.publish_hermes(message);
                }
                let app = self.clone();
                self.tasks.spawn(async move { app.answer_hermes(heard).await });
            }
            Err(error) => tracing::warn!(%error, "a Hermes message is not taken"),
        }
        true
    }

    async fn answer_hermes(self: Arc<Self>, heard: Heard) {
        let role = self.settings.voice.hermes.role;
        let speaker = Speaker {
            site: heard.site.clone(),
            text: heard.text.clone(),
            // A query that is delivered twice runs once.
            id: heard.id.as_ref().map(|id| format!("{} {id}", heard.session.as_deref().unwrap_or_default())),
            language: heard.language.clone(),
            conversation: heard.session.as_ref().map(|session| format!("hermes:{session}")),
        };
        let mut listening = match self.spoken(speaker).await {
            Ok(listening) => listening,
            Err(refusal) => return self.publish_hermes(heard.answer(role, &refusal, false)),
        };
        // The session ends with the first sentence: a dialogue manager gives up after half a minute.
        let mut open = true;
        loop {
            let (text, question, last) = match listening.next().await {
                Said::Meanwhile(text) => (text, false, false),
                Said::Last { text, question, .. } => (text, question, true),
            };
            let message = if open { heard.answer(role, &text, question) } else { heard.say(&text) };
            open = false;
            self.publish_hermes(message);
            if last {
                return;
            }
        }
    }

    pub(super) fn publish_hermes(&self, (topic, body): hermes::Message) {
        if let Err(error) = self.link.begin_publish(Publish::new(topic, body.to_string())) {
            tracing::warn!(%error, "a Hermes message was not published");
        }
    }

    /// Takes a recorded utterance: text, command, and back to speech.
    pub(super) fn heard_audio(self: &Arc<Self>, site: String, wav: Bytes) {
        let Ok(place) = self.listening.clone().try_acquire_owned() else {
            self.tell_site(
                &site,
                &json!({"error": "busy", "text": "too many utterances at once; say it again"}),
            );
            return;
        };
        let app = self.clone();
        self.tasks.spawn(async move {
            let _place = place;
            app.answer_audio(site, wav).await;
        });
    }

    async fn answer_audio(self: Arc<Self>, site: String, wav: Bytes) {
        let language = self.settings.home.language.clone();
        let services = self.settings.voice.speech.limits();
        let text = match speech::transcribe(&wav, &language, &services).await {
            Ok(text) => text,
            Err(error) => {
                tracing::info!(site, %error, "an utterance was not understood");
                let lexicon = self.household.report.lexicon(&language);
                let said = lexicon.say(
                    if matches!(error, speech::SpeechError::Nothing) {
                        "heard_nothing"
                    } else {
                        "cannot_hear"
                    },
                    &[],
                );
                self.tell_site(&site, &json!({"error": error.to_string(), "text": said}));
                return self.speak(&site, &said, &language).await;
            }
        };
        let speaker = Speaker {
            site: site.clone(),
            text: text.clone(),
            id: None,
            language: Some(language.clone()),
            conversation: Some(format!("voice:{site}")),
        };
        let mut listening = match self.spoken(speaker).await {
            Ok(listening) => listening,
            Err(refusal) => {
                self.tell_site(&site, &json!({"heard": text, "error": "not_taken", "text": refusal}));
                return self.speak(&site, &refusal, &language).await;
            }
        };
        let task = listening.task.task_id.clone();
        loop {
            let (said, exit, last) = match listening.next().await {
                Said::Meanwhile(said) => (said, None, false),
                Said::Last { text, exit, .. } => (text, exit, true),
            };
            // First the text: it is there even when speech is not.
            let told = json!({"heard": text, "text": said, "task": task, "exit": exit, "final": last});
            self.tell_site(&site, &told);
            self.speak(&site, &said, &language).await;
            if last {
                return;
            }
        }
    }

    /// Says something at a site that nobody spoke at just now: as text, and spoken where there is a service for it.
    pub(super) async fn say_at_site(&self, site: &str, text: &str, language: &str) {
        self.tell_site(site, &json!({"text": text, "final": true}));
        self.speak(site, text, language).await;
    }

    async fn speak(&self, site: &str, text: &str, language: &str) {
        let services = self.settings.voice.speech.limits();
        if services.tts.is_none() || text.is_empty() {
            return;
        }
        match speech::synthesize(text, language, &services).await {
            Ok(wav) => {
                let message = Publish::new(self.topics.voice(site, "speech"), wav);
                if let Err(error) = self.link.begin_publish(message) {
                    tracing::warn!(site, %error, "speech was not published");
                }
            }
            Err(error) => tracing::warn!(site, %error, "a reply was not spoken"),
        }
    }

    fn tell_site(&self, site: &str, body: &serde_json::Value) {
        let message = Publish::new(self.topics.voice(site, "text"), body.to_string());
        if let Err(error) = self.link.begin_publish(message) {
            tracing::warn!(site, %error, "a text for a voice site was not published");
        }
    }

    /// Opens a task for what was said, or says why not.
    async fn spoken(&self, speaker: Speaker) -> Result<Listening, String> {
        let language = speaker.language.unwrap_or_else(|| self.settings.home.language.clone());
        let patience = Duration::from_secs(self.settings.agent.interim_after_seconds);
        let later = self.household.report.lexicon(&language).say("still_working", &[]);
        let command = Command {
            task: self.clock.new_id(),
            id: speaker.id,
            text: speaker.text,
            origin: Principal {
                name: format!("voice:{}", speaker.site),
                channel: Channel::Voice,
                scopes: vec![Scope::Read, Scope::Command],
            },
            area: self.area_of_site(&speaker.site),
            language: Some(language),
            conversation: speaker.conversation,
            user_hint: None,
            at: self.clock.now(),
            plan: None,
        };
        let submitted = self.queue.submit(command).await.map_err(|error| error.to_string())?;
        Ok(Listening {
            task: self.handle(submitted),
            patience: Some((Instant::now() + patience, later)),
            question: false,
        })
    }

    /// The area of a site: as settings say, else the area of that name.
    pub(super) fn area_of_site(&self, site: &str) -> Option<String> {
        let area = self.settings.voice.sites.get(site).map_or(site, String::as_str);
        self.house.read().places.areas.contains_key(area).then(|| area.to_owned())
    }
}

/// Places for recorded utterances.
pub(super) fn places() -> Arc<tokio::sync::Semaphore> {
    Arc::new(tokio::sync::Semaphore::new(AT_ONCE))
}
