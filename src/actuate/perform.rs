//! From a plan and a permit to outcomes: look first, write down, send, and wait until the house says so.
//!
//! This is the only place that hands bytes to a [`super::Port`] (invariant `only_actuate_sends`). It decides nothing:
//! without a permit for this very plan nothing is sent.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use secrecy::ExposeSecret;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::confirm::{Goal, details};
use super::door::Door;
use super::hand::{Hand, Wait};
use super::outcome::{Outcome, OutcomeEntry};
use super::plan::{Plan, PlanLeaf};
use super::port::{Port, Record, SendError};
use crate::devices::Message;
use crate::home::{Action, Availability, Entity, Stamp, State, Update, Verb};
use crate::policy::{Direction, Pace, Permit, direction, pace};

/// Leaves that are worked on at the same time.
const AT_ONCE: usize = 8;
/// How long the other side may take to acknowledge.
const ACKNOWLEDGED: Duration = Duration::from_secs(10);

/// What goes with every leaf of one plan.
struct Job<'a> {
    plan_hash: &'a str,
    gated: bool,
    record: &'a dyn Record,
    cancel: &'a CancellationToken,
}

impl Door {
    /// Performs a plan, all its leaves side by side, and says what became of each, in their order.
    ///
    /// The permit is used up. After `cancel` nothing more is sent; what was sent is still verified.
    pub async fn perform(
        &self,
        plan: &Plan,
        permit: Permit,
        record: &dyn Record,
        cancel: &CancellationToken,
    ) -> Vec<OutcomeEntry> {
        if !permit.covers(plan.hash()) {
            return plan
                .leaves()
                .iter()
                .map(|leaf| entry(&leaf.action, Outcome::Refused, "no_permit"))
                .collect();
        }
        let gated = permit.approval().is_some();
        let job = Job { plan_hash: plan.hash(), gated, record, cancel };
        let job = &job;
        let mut leaves: Vec<BoxFuture<'_, OutcomeEntry>> = Vec::with_capacity(plan.leaves().len());
        for leaf in plan.leaves() {
            leaves.push(Box::pin(self.perform_leaf(leaf, job)));
        }
        let outcomes: Vec<OutcomeEntry> = stream::iter(leaves).buffered(AT_ONCE).collect().await;
        if let Some(approval) = permit.approval() {
            self.close_approval(approval, &outcomes).await;
        }
        outcomes
    }

    async fn perform_leaf(&self, leaf: &PlanLeaf, job: &Job<'_>) -> OutcomeEntry {
        let action = &leaf.action;
        let begun = Instant::now();
        let slot = self.slot(&action.entity);
        if direction(action) == Some(Direction::Stop) {
            // Whoever waits for this mover's end gives way.
            slot.interrupt();
        }
        let _one_at_a_time = tokio::select! {
            guard = slot.turn.lock() => guard,
            () = job.cancel.cancelled() => return entry(action, Outcome::NotSent, "cancelled"),
        };
        let interrupt = slot.begin();
        if job.gated && begun.elapsed() > Duration::from_secs(self.policy().approvals.dispatch_s) {
            // Another command had the turn for so long that nobody expects this one any more. A motor's own rest, which
            // comes after this, and the other leaves of the same plan do not count.
            return entry(action, Outcome::NotSent, "waited");
        }
        let ready = match self.look(leaf).await {
            Ok(ready) => ready,
            Err(done) => return *done,
        };
        let hand = Hand {
            house: &self.house,
            action,
            goal: &ready.goal,
            port: ready.port.as_ref(),
            interrupt: &interrupt,
        };
        self.send_and_confirm(leaf, &ready, &hand, job).await
    }

    /// Everything that is checked before anything is written down or sent.
    async fn look(&self, leaf: &PlanLeaf) -> Result<Ready, Box<OutcomeEntry>> {
        let action = &leaf.action;
        let not_sent = |cause: &str| Box::new(entry(action, Outcome::NotSent, cause));
        let Some((entity, before)) = self.known(action) else { return Err(not_sent("gone")) };
        let Some((codec, port)) = self.codecs.codec(&action.entity) else { return Err(not_sent("no_codec")) };
        if !port.is_up() {
            return Err(not_sent(port.down_cause()));
        }
        if before.availability == Availability::Offline {
            return Err(not_sent("offline"));
        }
        let goal = Goal::of(action, &entity, &before, codec.confirm_hint(action));
        let connection = port.connection();
        if goal.holds_already(&before, |stamp| is_live(stamp, connection)) {
            return Err(Box::new(reported(action, Outcome::Already, None, &before)));
        }
        match pace(action, &entity, self.told(&action.entity)) {
            Pace::Now => {}
            Pace::Wait(rest) => tokio::time::sleep(rest).await,
            Pace::TooSoon(rest) => {
                let mut entry = entry(action, Outcome::NotSent, "too_soon");
                entry.details.push(format!("{} s", rest.as_secs().max(1)));
                return Err(Box::new(entry));
            }
        }
        if action.verb == Verb::SendMessage && !self.may_notify() {
            return Err(not_sent("too_soon"));
        }
        let messages = self.filled(leaf).ok_or_else(|| not_sent("no_secret"))?;
        let assumed = codec.assume(action, &before);
        Ok(Ready { goal, port, messages, reports: entity.reports_state, assumed })
    }

    /// Sends once, or twice where that is harmless, and waits for the house.
    async fn send_and_confirm(
        &self,
        leaf: &PlanLeaf,
        ready: &Ready,
        hand: &Hand<'_>,
        job: &Job<'_>,
    ) -> OutcomeEntry {
        let action = &leaf.action;
        // Watching begins before the first byte leaves: a quick answer is not missed.
        let mut watch = self.house.watch(vec![action.entity.clone()]);
        let repeatable = ready.goal.absolute && !job.gated && direction(action).is_none();
        let mut first = true;
        let mut since = None;
        loop {
            if job.cancel.is_cancelled() || hand.interrupt.is_cancelled() {
                return if first {
                    entry(action, Outcome::NotSent, "cancelled")
                } else {
                    entry(action, Outcome::Unconfirmed, "no_answer")
                };
            }
            if let Err(error) = job.record.sending(action, job.plan_hash, job.gated).await {
                tracing::error!(entity = %action.entity, %error, "not sent");
                return entry(action, Outcome::NotSent, "not_recorded");
            }
            // A late answer to the first send is an answer.
            let since = *since.get_or_insert_with(|| self.house.read().sequence());
            match self.send(action, ready).await {
                Sent::Nothing(cause) if first => return entry(action, Outcome::NotSent, cause),
                Sent::Nothing(_) => return entry(action, Outcome::Unconfirmed, "no_answer"),
                Sent::All => self.assume(action, ready),
                Sent::Perhaps => {}
            }
            if !ready.reports || !ready.goal.can_be_seen() {
                return entry(action, Outcome::Unconfirmed, "cannot_confirm");
            }
            let _moving = self.moving(action);
            let found = hand.wait(&mut watch, since).await;
            match found {
                Wait::Silence if repeatable && first => first = false,
                Wait::Silence | Wait::Ended { .. } => return self.outcome(action, found),
            }
        }
    }

    /// Shows what the device does not report by itself. It is no report: it has no live stamp and confirms nothing.
    fn assume(&self, action: &Action, ready: &Ready) {
        if let Some(update) = &ready.assumed {
            let stamp = Stamp {
                at: self.clock.now(),
                since_boot: self.clock.since_boot(),
                live: false,
                connection: ready.port.connection(),
                // Given by the house.
                sequence: 0,
            };
            self.house.apply(&action.entity, update, stamp);
        }
    }

    async fn send(&self, action: &Action, ready: &Ready) -> Sent {
        let down = ready.port.down_cause();
        let mut sent = Sent::Nothing(down);
        self.remember_sent(action);
        for message in &ready.messages {
            if let Some(direction) = direction(action) {
                self.remember_direction(&action.entity, direction);
            }
            let answer = tokio::time::timeout(ACKNOWLEDGED, ready.port.send(message)).await;
            // Half of it may have done something, and is not all.
            let half = sent != Sent::Nothing(down);
            match answer.unwrap_or(Err(SendError::Uncertain)) {
                Ok(()) if sent == Sent::Perhaps => {}
                Ok(()) => sent = Sent::All,
                Err(SendError::Uncertain) => sent = Sent::Perhaps,
                Err(SendError::Down(_)) => return if half { Sent::Perhaps } else { sent },
                Err(SendError::Refused(why)) => {
                    tracing::warn!(entity = %action.entity, topic = %message.topic, why, "not sent");
                    return if half { Sent::Perhaps } else { Sent::Nothing("refused_by_link") };
                }
            }
        }
        sent
    }

    fn outcome(&self, action: &Action, found: Wait) -> OutcomeEntry {
        let state = self.known(action).map(|(_, state)| state).unwrap_or_default();
        match found {
            Wait::Silence => entry(action, Outcome::Unconfirmed, "no_answer"),
            Wait::Ended { outcome, cause } => {
                let open = details(&state);
                let refused = outcome == Outcome::Contradicted && !open.is_empty();
                let cause = if refused { Some("open_zones") } else { cause };
                let mut entry = reported(action, outcome, cause, &state);
                if outcome != Outcome::Confirmed {
                    entry.details = open;
                }
                entry
            }
        }
    }

    /// Whether sending the plan a second time would change nothing: no motor, no pulse, no step up or down.
    pub fn is_absolute(&self, plan: &Plan) -> bool {
        plan.leaves().iter().all(|leaf| {
            let known = self.known(&leaf.action).zip(self.codecs.codec(&leaf.action.entity));
            known.is_some_and(|((entity, before), (codec, _))| {
                let hint = codec.confirm_hint(&leaf.action);
                Goal::of(&leaf.action, &entity, &before, hint).absolute && direction(&leaf.action).is_none()
            })
        })
    }

    /// What became of actions that were sent before the daemon stopped. Nothing is sent: the house is only read, for
    /// as long as the class allows. Without a live report they stay unconfirmed, and that is said.
    pub async fn verify(&self, actions: &[Action]) -> Vec<OutcomeEntry> {
        let mut looks: Vec<BoxFuture<'_, OutcomeEntry>> = Vec::with_capacity(actions.len());
        for action in actions {
            looks.push(Box::pin(self.verify_one(action)));
        }
        stream::iter(looks).buffered(AT_ONCE).collect().await
    }

    async fn verify_one(&self, action: &Action) -> OutcomeEntry {
        let known = self.known(action).zip(self.codecs.codec(&action.entity));
        let Some(((entity, before), (codec, port))) = known else {
            return entry(action, Outcome::Unconfirmed, "uncertain");
        };
        let goal = Goal::of(action, &entity, &before, codec.confirm_hint(action));
        let mut watch = self.house.watch(vec![action.entity.clone()]);
        let interrupt = CancellationToken::new();
        let hand =
            Hand { house: &self.house, action, goal: &goal, port: port.as_ref(), interrupt: &interrupt };
        match hand.wait(&mut watch, 0).await {
            ended @ Wait::Ended { outcome: Outcome::Confirmed, .. } => self.outcome(action, ended),
            Wait::Silence | Wait::Ended { .. } => {
                let state = self.known(action).map(|(_, state)| state).unwrap_or_default();
                reported(action, Outcome::Unconfirmed, Some("uncertain"), &state)
            }
        }
    }

    /// The messages with their secrets filled in; `None` where one is missing, has changed since the plan was made, or
    /// would break out of its place.
    fn filled(&self, leaf: &PlanLeaf) -> Option<Vec<Message>> {
        let mut messages = leaf.messages.clone();
        for (name, version) in &leaf.secrets {
            let secret = self.secrets.secret(name).filter(|secret| secret.version == *version)?;
            let value = secret.value.expose_secret();
            if !value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\') {
                return None;
            }
            let place = format!("${{secret:{name}}}");
            for message in &mut messages {
                message.payload = message.payload.replace(&place, value);
            }
        }
        Some(messages)
    }

    fn known(&self, action: &Action) -> Option<(Arc<Entity>, State)> {
        let house = self.house.read();
        let entity = house.entity(action.entity.as_str())?.clone();
        Some((entity, house.state(action.entity.as_str()).cloned().unwrap_or_default()))
    }
}

/// What the look before sending found.
struct Ready {
    goal: Goal,
    port: Arc<dyn Port>,
    messages: Vec<Message>,
    reports: bool,
    /// What is shown once it was sent, where the device does not report it.
    assumed: Option<Update>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Nothing(&'static str),
    All,
    /// It may have arrived or not.
    Perhaps,
}

/// Whether a report is a live one of the present connection.
pub(super) fn is_live(stamp: &Stamp, connection: u64) -> bool {
    stamp.live && stamp.connection == connection
}

pub(super) fn entry(action: &Action, outcome: Outcome, cause: &str) -> OutcomeEntry {
    OutcomeEntry {
        action: action.clone(),
        outcome,
        cause: Some(cause.to_owned()),
        reported: None,
        details: Vec::new(),
    }
}

fn reported(action: &Action, outcome: Outcome, cause: Option<&str>, state: &State) -> OutcomeEntry {
    OutcomeEntry {
        action: action.clone(),
        outcome,
        cause: cause.map(str::to_owned),
        reported: state.text().map(str::to_owned),
        details: Vec::new(),
    }
}
