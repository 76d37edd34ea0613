//! The door itself: what it stands on, and the steps from actions to a plan and a decision.
//!
//! The rest of it is in the files beside this one: `perform` sends and confirms, `ask` puts questions to people.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use chrono_tz::Tz;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::approvals::ApprovalStore;
use super::containment::Containment;
use super::cool_down::CoolDowns;
use super::outcome::{Outcome, OutcomeEntry};
use super::perform::entry;
use super::plan::{Maker, Occasion, Plan, PlanError};
use super::port::{Codecs, Record, Secrets};
use crate::clock::Clock;
use crate::home::{Action, Domain, EntityId, House, SharedHouse, State, Verb};
use crate::policy::{
    Approval, Asked, Decided, Decision, Direction, Facts, Grant, Leaf, Lockout, Permit, Policy, Principal,
    Rule, Scope, Told, decide, decide_dropping, direction, guard,
};

/// Everything that the door stands on.
pub struct DoorParts {
    pub house: SharedHouse,
    pub codecs: Arc<dyn Codecs>,
    pub secrets: Arc<dyn Secrets>,
    pub store: Arc<dyn ApprovalStore>,
    pub policy: Policy,
    pub containment: Containment,
    pub clock: Clock,
    pub zone: Tz,
}

/// The only way from a decision to a device.
pub struct Door {
    pub(super) house: SharedHouse,
    pub(super) codecs: Arc<dyn Codecs>,
    pub(super) secrets: Arc<dyn Secrets>,
    pub(super) store: Arc<dyn ApprovalStore>,
    pub(super) clock: Clock,
    zone: Tz,
    containment: Containment,
    policy: RwLock<Arc<Policy>>,
    /// Tiers that the home file gives to entities that announced themselves, as rules.
    notes: Mutex<BTreeMap<EntityId, Rule>>,
    grants: RwLock<Arc<Vec<Grant>>>,
    slots: Mutex<HashMap<EntityId, Arc<Slot>>>,
    /// Last command to each motor and compressor, with the time since boot.
    directions: Mutex<HashMap<EntityId, Directions>>,
    /// The last verb sent to each entity, with the time since boot.
    sent: Mutex<HashMap<EntityId, (Verb, Duration)>>,
    /// Notifications of the last minute.
    notified: Mutex<VecDeque<Duration>>,
    /// Movers that the door has started and that have not ended, with how often.
    movers: Mutex<BTreeMap<EntityId, usize>>,
    pub(super) lockout: Mutex<Lockout>,
    pub(super) cool_downs: Mutex<CoolDowns>,
    /// Questions are asked one after the other, so that limits and duplicates are counted right.
    pub(super) asking: tokio::sync::Mutex<()>,
    pub(super) changed: broadcast::Sender<Approval>,
}

/// One action at a time for one entity.
#[derive(Default)]
pub(super) struct Slot {
    pub turn: tokio::sync::Mutex<()>,
    current: Mutex<CancellationToken>,
}

impl Slot {
    /// The token of the action that has the turn now.
    pub fn begin(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *lock(&self.current) = token.clone();
        token
    }

    /// Ends the wait of the action that has the turn now.
    pub fn interrupt(&self) {
        lock(&self.current).cancel();
    }
}

/// Approval changes that a slow listener may lag behind.
const CHANGES: usize = 64;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When a motor or compressor was sent somewhere, by the time since boot.
#[derive(Debug, Clone, Copy, Default)]
struct Directions {
    last: Option<(Direction, Duration)>,
    closed: Option<Duration>,
}

impl Door {
    pub fn new(parts: DoorParts) -> Self {
        Self {
            house: parts.house,
            codecs: parts.codecs,
            secrets: parts.secrets,
            store: parts.store,
            clock: parts.clock,
            zone: parts.zone,
            containment: parts.containment,
            policy: RwLock::new(Arc::new(parts.policy)),
            notes: Mutex::default(),
            grants: RwLock::default(),
            slots: Mutex::default(),
            directions: Mutex::default(),
            sent: Mutex::default(),
            notified: Mutex::default(),
            movers: Mutex::default(),
            lockout: Mutex::default(),
            cool_downs: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
            changed: broadcast::channel(CHANGES).0,
        }
    }

    /// The policy in effect.
    pub fn policy(&self) -> Arc<Policy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a policy in force, with the rules of the home file behind its own.
    pub(super) fn put_policy(&self, mut policy: Policy) {
        // Held to the end: whoever notes a tier meanwhile must not put the old policy back.
        let notes = lock(&self.notes);
        policy.rules.extend(notes.values().cloned());
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    /// Takes the rule that the home file gives an entity. The policy's version covers the home file as a whole, so
    /// that it does not change here.
    pub fn note_tier(&self, entity: &EntityId, rule: Rule) {
        let mut notes = lock(&self.notes);
        let before = notes.insert(entity.clone(), rule.clone());
        if before.as_ref() == Some(&rule) {
            return;
        }
        let mut policy = Policy::clone(&self.policy());
        policy.rules.retain(|known| before.as_ref() != Some(known));
        policy.rules.push(rule);
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    /// Grants that have not ended.
    pub fn grants(&self) -> Arc<Vec<Grant>> {
        self.grants.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the grants in one step: of two changes at a time none is lost.
    pub(super) fn change_grants(&self, change: impl FnOnce(&mut Vec<Grant>)) {
        change(Arc::make_mut(&mut self.grants.write().unwrap_or_else(PoisonError::into_inner)));
    }

    /// Freezes actions to a plan. Nothing is decided and nothing is sent.
    pub fn plan(&self, actions: &[Action]) -> Result<Plan, PlanError> {
        let house = self.house.read();
        let policy = self.policy();
        let maker = Maker {
            house: &house,
            codecs: self.codecs.as_ref(),
            secrets: self.secrets.as_ref(),
            containment: &self.containment,
            policy_version: &policy.version,
        };
        maker.plan(actions)
    }

    /// Decides about a plan, now. A plan whose entities are gone meanwhile is denied. Where the plan is what a schedule
    /// would have done, the decision is about dropping it.
    pub fn decide(&self, plan: &Plan, asked: &Asked<'_>) -> Decided {
        let house = self.house.read();
        let unknown = State::default();
        let leaves: Vec<Leaf<'_>> = plan
            .leaves()
            .iter()
            .filter_map(|leaf| {
                let id = leaf.action.entity.as_str();
                let state = house.state(id).unwrap_or(&unknown);
                house.entity(id).map(|entity| Leaf { action: &leaf.action, entity, state })
            })
            .collect();
        let complete = leaves.len() == plan.leaves().len();
        let policy = self.policy();
        let facts = self.facts_of(&house, &policy);
        if matches!(plan.occasion(), Some(Occasion::Dropped { .. })) {
            return decide_dropping(plan.hash(), &leaves);
        }
        decide(plan.hash(), if complete { &leaves } else { &[] }, asked, &facts, &policy, &self.grants())
    }

    /// What rules ask about the home, now.
    pub fn facts(&self, policy: &Policy) -> Facts {
        self.facts_of(&self.house.read(), policy)
    }

    fn facts_of(&self, house: &House, policy: &Policy) -> Facts {
        let mut somebody_home = None;
        let mut alarm = None;
        for entity in house.entities() {
            // Most entities of a big house are neither; the prefix is cheaper to read than the domain.
            let id = entity.id.as_str();
            let value = || house.state(id).and_then(State::text);
            if id.starts_with("person.") || id.starts_with("device_tracker.") {
                somebody_home = match (somebody_home, value()) {
                    (Some(true), _) | (_, Some("home")) => Some(true),
                    (known, None | Some("unknown" | "unavailable")) => known,
                    (_, Some(_)) => Some(false),
                };
            } else if id.starts_with("alarm_control_panel.") {
                // Of several the one that guards most counts: a further one that is disarmed changes nothing.
                let more = |state: &&str| alarm.as_deref().is_none_or(|known| guard(state) > guard(known));
                alarm = value().filter(more).map(str::to_owned).or(alarm);
            }
        }
        let sensor = policy.limits.outdoor_sensor.as_deref();
        let outside = sensor.and_then(|id| house.state(id)).and_then(State::number);
        let now = self.clock.now();
        Facts { now, local: now.with_timezone(&self.zone).naive_local(), somebody_home, alarm, outside }
    }

    /// Parts a plan that is asked about into what needs nobody and what needs a person, so that the lights of a scene
    /// need not wait for its lock. `None` where the parts are not to be parted: nothing is gated, everything is, or the
    /// whole is asked about because of its size.
    pub fn split(&self, plan: &Plan, decided: &Decided) -> Option<(Plan, Plan)> {
        if decided.decision() != Decision::Ask || decided.plan_hash() != plan.hash() {
            return None;
        }
        let is = |wanted: Decision| {
            move |at: usize| decided.leaves().get(at).is_some_and(|leaf| leaf.decision == wanted)
        };
        let house = self.house.read();
        let free = plan.part(&house, is(Decision::Allow))?;
        let gated = plan.part(&house, is(Decision::Ask))?;
        Some((free, gated))
    }

    /// The outcomes of a plan that policy denied, with the reason of each leaf.
    pub fn refused(&self, plan: &Plan, decided: &Decided) -> Vec<OutcomeEntry> {
        let whole = decided.reasons();
        plan.leaves()
            .iter()
            .enumerate()
            .map(|(at, leaf)| {
                let by = decided.leaves().get(at).filter(|by| by.decision == Decision::Deny);
                let (outcome, cause) = match by {
                    Some(by) if by.refusal.is_some() => (Outcome::Refused, "limit"),
                    Some(_) => (Outcome::Refused, "policy"),
                    // Refused because of the others, or of the whole.
                    None => (Outcome::Refused, "refused_with_others"),
                };
                let mut entry = entry(&leaf.action, outcome, cause);
                entry.details = match by {
                    Some(by) => {
                        by.refusal.clone().or_else(|| by.reasons.last().cloned()).into_iter().collect()
                    }
                    None => whole.first().cloned().into_iter().collect(),
                };
                entry
            })
            .collect()
    }

    /// Sends `stop` to every mover that the door has started and that has not ended. Needs no model and no approval.
    pub async fn stop_movers(&self, record: &dyn Record) -> Vec<OutcomeEntry> {
        let movers: Vec<EntityId> = lock(&self.movers).keys().cloned().collect();
        let actions: Vec<Action> = {
            let house = self.house.read();
            let can_stop =
                |id: &EntityId| house.entity(id.as_str()).is_some_and(|it| it.action(Verb::Stop).is_some());
            movers.into_iter().filter(can_stop).map(|id| Action::new(id, Verb::Stop)).collect()
        };
        let Ok(plan) = self.plan(&actions) else { return Vec::new() };
        let principal = Principal {
            name: "stop".to_owned(),
            channel: crate::policy::Channel::Local,
            scopes: vec![Scope::Command],
        };
        let asked = Asked { principal: &principal, conversation: None, taint: None, sent: &[] };
        match Permit::free(&self.decide(&plan, &asked)) {
            Some(permit) => self.perform(&plan, permit, record, &CancellationToken::new()).await,
            None => {
                plan.leaves().iter().map(|leaf| entry(&leaf.action, Outcome::Refused, "policy")).collect()
            }
        }
    }

    /// Counts a notification; `false` where six were sent within a minute.
    pub fn may_notify(&self) -> bool {
        const IN_A_MINUTE: usize = 6;
        let now = self.clock.since_boot();
        let mut notified = lock(&self.notified);
        notified.retain(|at| now.saturating_sub(*at) < Duration::from_secs(60));
        let may = notified.len() < IN_A_MINUTE;
        if may {
            notified.push_back(now);
        }
        may
    }

    pub(super) fn remember_sent(&self, action: &Action) {
        lock(&self.sent).insert(action.entity.clone(), (action.verb, self.clock.since_boot()));
    }

    /// What was sent to an entity last by this process, and how long ago.
    pub fn last_sent(&self, entity: &EntityId) -> Option<(Verb, Duration)> {
        let (verb, at) = lock(&self.sent).get(entity).copied()?;
        Some((verb, self.clock.since_boot().saturating_sub(at)))
    }

    pub(super) fn slot(&self, entity: &EntityId) -> Arc<Slot> {
        lock(&self.slots).entry(entity.clone()).or_default().clone()
    }

    /// Which way an entity was sent before, and how long ago.
    pub(super) fn told(&self, entity: &EntityId) -> Told {
        let now = self.clock.since_boot();
        let known = lock(&self.directions).get(entity).copied().unwrap_or_default();
        Told {
            last: known.last.map(|(direction, at)| (direction, now.saturating_sub(at))),
            closed: known.closed.map(|at| now.saturating_sub(at)),
        }
    }

    pub(super) fn remember_direction(&self, entity: &EntityId, direction: Direction) {
        let now = self.clock.since_boot();
        let mut directions = lock(&self.directions);
        let known = directions.entry(entity.clone()).or_default();
        known.last = Some((direction, now));
        if direction == Direction::Back {
            known.closed = Some(now);
        }
    }

    /// Counts a mover as moving until the guard is dropped; nothing for what does not move or stops.
    pub(super) fn moving(&self, action: &Action) -> Option<Moving<'_>> {
        let moves = matches!(direction(action), Some(Direction::Forth | Direction::Back))
            && action.entity.domain() != Domain::Climate;
        moves.then(|| {
            *lock(&self.movers).entry(action.entity.clone()).or_default() += 1;
            Moving { door: self, entity: action.entity.clone() }
        })
    }
}

/// See [`Door::moving`].
pub(super) struct Moving<'a> {
    door: &'a Door,
    entity: EntityId,
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        let mut movers = lock(&self.door.movers);
        if let Some(count) = movers.get_mut(&self.entity) {
            *count -= 1;
            if *count == 0 {
                movers.remove(&self.entity);
            }
        }
    }
}
