//! Which model takes a turn: the offline model, and an ordered chain of language models, as one model.
//!
//! A task stays with the model that started it unless that fails. What was called before a failure stands in the
//! record, and the next model goes on from it: nothing is asked or done again. No wire format and no retry is here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::BoxStream;
use secrecy::SecretString;
use serde::Serialize;

use super::breaker::{Breaker, BreakerState};
use super::redact::{RedactSettings, Redactor};
use super::relay::{Failed, Sink, produce, relay};
use super::retry::{Consequence, Retrying, consequence};
use super::settings::{Api, BreakerSettings, Mode, ModelsFault, ModelsSettings};
use super::{Anthropic, Delta, Model, ModelError, OpenAi, Stop, TurnRequest};
use crate::clock::Clock;

/// All models as one. Cheap to clone; clones share breakers and the memory of who takes which task.
#[derive(Clone)]
pub struct Router {
    mode: Mode,
    shared: Arc<Shared>,
}

struct Shared {
    offline: Option<Arc<dyn Model>>,
    chain: Vec<Member>,
    takers: Mutex<VecDeque<(String, Taker)>>,
}

struct Member {
    model: Arc<dyn Model>,
    breaker: Arc<Breaker>,
}

/// Who started a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taker {
    Offline,
    /// Place in the chain.
    Chain(usize),
}

/// Tasks whose taker is remembered. Far more than run at once; an older one would start again at the chain's head.
const REMEMBERED: usize = 256;

/// A model that had less time than this is not blamed for using it up.
const FAIR_TIME: Duration = Duration::from_secs(10);

/// One model of the chain, as a person is shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelState {
    pub name: String,
    #[serde(flatten)]
    pub breaker: BreakerState,
}

impl Router {
    /// `chain` in the order in which they are asked.
    pub fn new(
        mode: Mode,
        offline: Option<Arc<dyn Model>>,
        chain: Vec<Arc<dyn Model>>,
        breaker: BreakerSettings,
        clock: Clock,
    ) -> Self {
        let chain = chain
            .into_iter()
            .map(|model| Member { model, breaker: Arc::new(Breaker::new(breaker, clock.clone())) })
            .collect();
        Self { mode, shared: Arc::new(Shared { offline, chain, takers: Mutex::default() }) }
    }

    /// The chain that the settings name. `secrets` are values that must never leave; see [`Redactor::new`].
    ///
    /// # Errors
    /// The first fault of the settings; [`ModelsSettings::faults`] has all of them.
    pub fn from_settings(
        settings: &ModelsSettings,
        offline: Option<Arc<dyn Model>>,
        secrets: &[SecretString],
        clock: Clock,
    ) -> Result<Self, ModelsFault> {
        if let Some(fault) = settings.faults().into_iter().next() {
            return Err(fault);
        }
        // Costs about 15 ms, which a house without language models is spared.
        let redact = match settings.chain.is_empty() {
            true => RedactSettings { kinds: Vec::new(), ..settings.redact.clone() },
            false => settings.redact.clone(),
        };
        let redactor = Redactor::new(&redact, secrets)
            .map_err(|fault| ModelsFault { at: "redact".to_owned(), reason: fault.to_string() })?;
        let redactor = Arc::new(redactor);
        let chain = settings
            .chain
            .iter()
            .filter_map(|name| language_model(settings, name, &redactor, &clock))
            .collect();
        Ok(Self::new(settings.mode, offline, chain, settings.breaker, clock))
    }

    /// The same models in another mode: offline alone when the money is spent, or what a command line asks for.
    pub fn with_mode(&self, mode: Mode) -> Self {
        Self { mode, shared: Arc::clone(&self.shared) }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The chain and the state of its breakers.
    pub fn states(&self) -> Vec<ModelState> {
        let state = |member: &Member| ModelState {
            name: member.model.name().to_owned(),
            breaker: member.breaker.state(),
        };
        self.shared.chain.iter().map(state).collect()
    }
}

/// The model `name` of the settings, with its retries and its rate. `None`: there is no such name.
pub fn language_model(
    settings: &ModelsSettings,
    name: &str,
    redactor: &Arc<Redactor>,
    clock: &Clock,
) -> Option<Arc<dyn Model>> {
    let own = settings.named.get(name)?.clone();
    let rate = own.requests_per_minute;
    let model: Arc<dyn Model> = match own.api {
        Api::Openai => Arc::new(OpenAi::new(name, own, Arc::clone(redactor), clock.clone())),
        Api::Anthropic => Arc::new(Anthropic::new(name, own, Arc::clone(redactor), clock.clone())),
    };
    Some(Arc::new(Retrying::new(model, settings.retry, rate, clock.clone())))
}

impl Model for Router {
    /// Not the name of any model: [`Delta::Model`] tells who took a turn.
    fn name(&self) -> &str {
        "router"
    }

    fn turn(&self, request: Arc<TurnRequest>) -> BoxStream<'static, Result<Delta, ModelError>> {
        let (mode, shared) = (self.mode, Arc::clone(&self.shared));
        produce(move |out| async move { shared.turn(mode, &request, &out).await })
    }
}

impl Shared {
    async fn turn(&self, mode: Mode, request: &Arc<TurnRequest>, out: &Sink) -> Result<(), ModelError> {
        let taker = self.taker_of(&request.situation.task);
        let mut honest_reply = None;
        let mut reasons = Vec::new();
        if self.asks_offline_first(mode, taker, request) {
            let first = self.before_the_chain(mode, taker, request);
            if let Some(ended) = self.try_offline(&first, out, &mut honest_reply, &mut reasons).await {
                return ended;
            }
        }
        if mode != Mode::Offline {
            if let Some(ended) = self.ask_chain(taker, request, out, &mut reasons).await {
                return ended;
            }
            if let Some(deadline) = request.deadline
                && tokio::time::Instant::now() >= deadline
            {
                return Err(ModelError::NoneLeft(format!("the time is over; {}", reasons.join("; "))));
            }
            // Without any model, what can be done offline is still done, but only for a task that no model began.
            if self.offline.is_some()
                && request.situation.turns == 0
                && let Some(ended) = self.try_offline(request, out, &mut honest_reply, &mut reasons).await
            {
                return ended;
            }
        }
        match honest_reply {
            Some(reply) => {
                if !reasons.is_empty() {
                    tracing::warn!(reasons = reasons.join("; "), "no language model could be asked");
                }
                out.delta(Delta::Text(reply)).await;
                // Nothing was understood and nothing done: that is no success.
                out.delta(Delta::End(Stop::Refused)).await;
                Ok(())
            }
            None if reasons.is_empty() => Err(ModelError::NoneLeft("none is configured".to_owned())),
            None => Err(ModelError::NoneLeft(reasons.join("; "))),
        }
    }

    /// `None`: the offline model could not take the turn; what it would say, or why, is kept.
    async fn try_offline(
        &self,
        request: &Arc<TurnRequest>,
        out: &Sink,
        honest_reply: &mut Option<String>,
        reasons: &mut Vec<String>,
    ) -> Option<Result<(), ModelError>> {
        match self.ask_offline(request, out).await {
            Ok(()) => return Some(Ok(())),
            Err(Failed { error, called: true }) => return Some(Err(error)),
            Err(Failed { error: ModelError::NotUnderstood { reply }, .. }) => *honest_reply = Some(reply),
            Err(Failed { error, .. }) => reasons.push(error.to_string()),
        }
        None
    }

    /// The request for the offline model when a language model may be asked next: it then leaves its questions to that.
    fn before_the_chain(
        &self,
        mode: Mode,
        taker: Option<Taker>,
        request: &Arc<TurnRequest>,
    ) -> Arc<TurnRequest> {
        if mode != Mode::OfflineFirst || self.chain.is_empty() || taker.is_some() {
            return Arc::clone(request);
        }
        let mut first = TurnRequest::clone(request);
        Arc::make_mut(&mut first.situation).leaves_questions = true;
        Arc::new(first)
    }

    fn asks_offline_first(&self, mode: Mode, taker: Option<Taker>, request: &TurnRequest) -> bool {
        if self.offline.is_none() {
            return false;
        }
        match (mode, taker) {
            (Mode::Offline, _) | (_, Some(Taker::Offline)) => true,
            (Mode::Model | Mode::OfflineFirst, Some(Taker::Chain(_))) | (Mode::Model, None) => false,
            // After a restart in the middle of a task nobody remembers who took it: with a chain, the chain goes on.
            (Mode::OfflineFirst, None) => request.situation.turns == 0 || self.chain.is_empty(),
        }
    }

    async fn ask_offline(&self, request: &Arc<TurnRequest>, out: &Sink) -> Result<(), Failed> {
        let Some(offline) = &self.offline else {
            let error = ModelError::NoneLeft("there is no offline model".to_owned());
            return Err(Failed { error, called: false });
        };
        out.delta(Delta::Model(offline.name().into())).await;
        relay(&**offline, request, out).await?;
        self.remember(&request.situation.task, Taker::Offline);
        Ok(())
    }

    /// `None`: no model of the chain could take the turn; `reasons` tells why.
    async fn ask_chain(
        &self,
        taker: Option<Taker>,
        request: &Arc<TurnRequest>,
        out: &Sink,
        reasons: &mut Vec<String>,
    ) -> Option<Result<(), ModelError>> {
        let first = match taker {
            Some(Taker::Chain(place)) => Some(place),
            Some(Taker::Offline) | None => None,
        };
        let others = (0..self.chain.len()).filter(|place| Some(*place) != first);
        for place in first.into_iter().chain(others) {
            let Some(member) = self.chain.get(place) else { continue };
            let name = member.model.name();
            let Some(attempt) = member.breaker.admit() else {
                reasons.push(format!("{name}: paused after failures"));
                continue;
            };
            out.delta(Delta::Model(name.into())).await;
            let asked = self.with_time_for_others(place, first, request);
            let begun = tokio::time::Instant::now();
            let Err(failed) = relay(&*member.model, &asked, out).await else {
                attempt.succeeded();
                self.remember(&request.situation.task, Taker::Chain(place));
                return Some(Ok(()));
            };
            if request.stop.is_cancelled() {
                return Some(Err(failed.error));
            }
            let hurried = matches!(failed.error, ModelError::TimedOut { .. })
                && asked
                    .deadline
                    .is_some_and(|deadline| deadline.saturating_duration_since(begun) < FAIR_TIME);
            match consequence(&failed.error) {
                Consequence::GiveBack => {
                    attempt.succeeded();
                    self.remember(&request.situation.task, Taker::Chain(place));
                    return Some(Err(failed.error));
                }
                // What a task leaves at its end may be too little for any model.
                Consequence::Again | Consequence::NextModel if hurried => drop(attempt),
                Consequence::Again | Consequence::NextModel => attempt.failed(),
            }
            if failed.called {
                self.remember(&request.situation.task, Taker::Chain(place));
                return Some(Err(failed.error));
            }
            tracing::warn!(model = name, error = %failed.error, "the model could not take the turn");
            reasons.push(format!("{name}: {}", failed.error));
        }
        None
    }

    /// The request for the model at `place`: while another one is left to ask, it gets two thirds of the time.
    fn with_time_for_others(
        &self,
        place: usize,
        first: Option<usize>,
        request: &Arc<TurnRequest>,
    ) -> Arc<TurnRequest> {
        let usable = |at: &usize| {
            let state = self.chain.get(*at).map(|member| member.breaker.state());
            !matches!(state, Some(BreakerState::Open { .. }))
        };
        let others = (0..self.chain.len()).filter(|other| Some(*other) != first && *other != place);
        let last = others.filter(usable).filter(|other| Some(place) == first || *other > place).last();
        let last = last.or(Some(place));
        let Some(deadline) = request.deadline.filter(|_| last != Some(place)) else {
            return Arc::clone(request);
        };
        let now = tokio::time::Instant::now();
        let share = deadline.saturating_duration_since(now) * 2 / 3;
        Arc::new(TurnRequest { deadline: Some(now + share), ..TurnRequest::clone(request) })
    }

    fn taker_of(&self, task: &str) -> Option<Taker> {
        let takers = self.takers.lock().unwrap_or_else(PoisonError::into_inner);
        takers.iter().rev().find(|(known, _)| known == task).map(|(_, taker)| *taker)
    }

    fn remember(&self, task: &str, taker: Taker) {
        let mut takers = self.takers.lock().unwrap_or_else(PoisonError::into_inner);
        takers.retain(|(known, _)| known != task);
        if takers.len() >= REMEMBERED {
            takers.pop_front();
        }
        takers.push_back((task.to_owned(), taker));
    }
}

#[cfg(test)]
mod tests;
