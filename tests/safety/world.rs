//! A small house behind a port that plays its devices, with faults, on simulated time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::BoxFuture;
use homeloop::actuate::{
    ApprovalStore, Codecs, Containment, Door, DoorParts, NotRecorded, OutcomeEntry, Plan, Port, Question,
    Record, Secret, Secrets, SendError,
};
use homeloop::clock::Clock;
use homeloop::devices::{Codec, Decoded, EncodeError, Message, Payload};
use homeloop::home::{
    Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Category, Entity, EntityId, House, Places,
    SharedHouse, Stamp, State, Update, Verb, attr,
};
use homeloop::policy::{
    AnswerWord, Approval, Asked, Channel, Decided, Permit, Policy, Principal, Scope, Verdict,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::store::{Disk, MemoryStore};

/// What a device makes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Does it at once and reports.
    Obey,
    /// Does it after so many milliseconds, with the values on the way before.
    Slow(u64),
    /// Does it and never reports.
    Silent,
    /// Does not do it, and reports the old state again.
    Refuse,
    /// Starts, then goes back.
    Revert,
    /// A lock that jams.
    Jam,
    /// An echo that the broker kept: reported, not live.
    Retained,
    /// The connection breaks before the acknowledgement; done all the same, or not.
    Uncertain { arrives: bool },
    /// The connection is found down when sending.
    Down,
}

/// The port: what was sent, and the devices behind it.
pub struct Devices {
    house: SharedHouse,
    clock: Clock,
    pub up: AtomicBool,
    pub connection: AtomicU64,
    pub sent: Mutex<Vec<(EntityId, Message)>>,
    behaviours: Mutex<HashMap<EntityId, Behaviour>>,
    /// What the devices really are, whatever they report.
    pub truth: Mutex<HashMap<EntityId, String>>,
    record: Arc<Recorder>,
    /// Set when something was sent that was not written down before.
    pub unrecorded: AtomicBool,
    busy: Mutex<HashMap<EntityId, usize>>,
    /// Largest number of commands on their way to one entity at the same time.
    pub most_at_once: AtomicU64,
}

impl Devices {
    pub fn behave(&self, id: &str, behaviour: Behaviour) {
        self.behaviours.lock().unwrap().insert(EntityId::parse(id).unwrap(), behaviour);
    }

    pub fn report(&self, id: &EntityId, update: &Update, live: bool) {
        let stamp = Stamp {
            at: self.clock.now(),
            since_boot: self.clock.since_boot(),
            live,
            connection: self.connection.load(Ordering::SeqCst),
            sequence: 0,
        };
        self.house.apply(id, update, stamp);
    }

    pub fn sent_to(&self, id: &str) -> usize {
        self.sent.lock().unwrap().iter().filter(|(entity, _)| entity.as_str() == id).count()
    }

    fn behaviour(&self, id: &EntityId) -> Behaviour {
        self.behaviours.lock().unwrap().get(id).copied().unwrap_or(Behaviour::Obey)
    }

    /// What a device reports that did not do as it was told: how it is, not what the house believes.
    fn really(&self, id: &EntityId) -> Option<String> {
        self.truth.lock().unwrap().get(id).cloned()
    }

    async fn play(self: Arc<Self>, id: EntityId, effect: Effect, behaviour: Behaviour) {
        let value = |value: &str| Update::value(value.to_owned());
        let done = || {
            if let Some(value) = &effect.value {
                self.truth.lock().unwrap().insert(id.clone(), value.clone());
            }
        };
        match behaviour {
            Behaviour::Obey => {
                done();
                self.report(&id, &effect.update(), true);
            }
            Behaviour::Slow(millis) => {
                if let Some(passing) = effect.passing {
                    self.report(&id, &value(passing), true);
                }
                tokio::time::sleep(Duration::from_millis(millis)).await;
                done();
                self.report(&id, &effect.update(), true);
            }
            Behaviour::Silent => done(),
            Behaviour::Refuse => {
                let old = self.really(&id);
                self.report(&id, &value(old.as_deref().unwrap_or("unknown")), true);
            }
            Behaviour::Revert => {
                let old = self.really(&id);
                if let Some(passing) = effect.passing {
                    self.report(&id, &value(passing), true);
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
                self.report(&id, &value(old.as_deref().unwrap_or("unknown")), true);
            }
            Behaviour::Jam => self.report(&id, &value("jammed"), true),
            Behaviour::Retained => {
                done();
                self.report(&id, &effect.update(), false);
            }
            Behaviour::Uncertain { arrives } => {
                if arrives {
                    done();
                }
            }
            Behaviour::Down => {}
        }
    }
}

/// The port that the door sees.
pub struct Wire(pub Arc<Devices>);

impl Port for Wire {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let devices = &self.0;
            let down = || Err(SendError::Down("test".into()));
            if !devices.up.load(Ordering::SeqCst) {
                return down();
            }
            let payload: Value = serde_json::from_str(&message.payload).unwrap();
            let action: Action = serde_json::from_value(payload["action"].clone()).unwrap();
            let behaviour = devices.behaviour(&action.entity);
            if behaviour == Behaviour::Down {
                return down();
            }
            let sent_before = devices.sent.lock().unwrap().iter().filter(|(_, sent)| sent == message).count();
            if !devices.record.covers(&action, sent_before) {
                devices.unrecorded.store(true, Ordering::SeqCst);
            }
            let now = {
                let mut busy = devices.busy.lock().unwrap();
                let count = busy.entry(action.entity.clone()).or_default();
                *count += 1;
                *count as u64
            };
            devices.most_at_once.fetch_max(now, Ordering::SeqCst);
            devices.sent.lock().unwrap().push((action.entity.clone(), message.clone()));
            tokio::task::yield_now().await;
            *devices.busy.lock().unwrap().entry(action.entity.clone()).or_default() -= 1;
            let effect = Effect::of(&action);
            match behaviour {
                Behaviour::Slow(_) | Behaviour::Revert => {
                    tokio::spawn(devices.clone().play(action.entity, effect, behaviour));
                    Ok(())
                }
                Behaviour::Uncertain { .. } => {
                    devices.clone().play(action.entity, effect, behaviour).await;
                    Err(SendError::Uncertain)
                }
                _ => {
                    devices.clone().play(action.entity, effect, behaviour).await;
                    Ok(())
                }
            }
        })
    }

    fn is_up(&self) -> bool {
        self.0.up.load(Ordering::SeqCst)
    }

    fn connection(&self) -> u64 {
        self.0.connection.load(Ordering::SeqCst)
    }
}

/// What a command changes.
struct Effect {
    value: Option<String>,
    passing: Option<&'static str>,
    attributes: Vec<(&'static str, Value)>,
}

impl Effect {
    fn of(action: &Action) -> Self {
        let (value, passing) = match action.verb {
            Verb::TurnOn | Verb::SetTemperature => ("on", None),
            Verb::TurnOff => ("off", None),
            Verb::Lock => ("locked", Some("locking")),
            Verb::Unlock => ("unlocked", Some("unlocking")),
            Verb::Open => ("open", Some("opening")),
            Verb::Close => ("closed", Some("closing")),
            Verb::Stop => ("open", None),
            Verb::ArmAway => ("armed_away", Some("arming")),
            Verb::ArmHome => ("armed_home", Some("arming")),
            Verb::Disarm => ("disarmed", None),
            _ => ("", None),
        };
        let number = |arg: Arg, name, scale: f64| {
            let number = action.args.get(&arg).and_then(ArgValue::as_number);
            number.map(|number| (name, json!(number * scale)))
        };
        let attributes = [
            number(Arg::BrightnessPct, attr::BRIGHTNESS, 2.55),
            number(Arg::Temperature, attr::TEMPERATURE, 1.0),
        ];
        Self {
            value: (!value.is_empty()).then(|| value.to_owned()),
            passing,
            attributes: attributes.into_iter().flatten().collect(),
        }
    }

    fn update(&self) -> Update {
        Update {
            value: self.value.clone().map(|value| Some(value.into())),
            attributes: self
                .attributes
                .iter()
                .map(|(name, value)| ((*name).into(), Some(value.clone())))
                .collect(),
            ..Update::default()
        }
    }
}

/// Puts the whole action into the payload, and the panel's code beside it.
struct Speaks;

impl Codec for Speaks {
    fn subscriptions(&self) -> Vec<String> {
        Vec::new()
    }

    fn decode(&self, _topic: &str, _payload: &Payload<'_>, _now: &State) -> Decoded {
        Decoded::Nothing
    }

    fn encode(&self, action: &Action, _now: &State) -> Result<Vec<Message>, EncodeError> {
        let code = if action.verb == Verb::Disarm { "${secret:panel}" } else { "" };
        let payload = json!({"action": action, "code": code}).to_string();
        Ok(vec![Message::text(format!("dev/{}/set", action.entity), payload)])
    }
}

struct AllSpeak(Arc<Devices>);

impl Codecs for AllSpeak {
    fn codec(&self, _entity: &EntityId) -> Option<(Arc<dyn Codec>, Arc<dyn Port>)> {
        Some((Arc::new(Speaks), Arc::new(Wire(self.0.clone()))))
    }
}

struct Code;

impl Secrets for Code {
    fn secret(&self, name: &str) -> Option<Secret> {
        (name == "panel").then(|| Secret { value: SecretString::from("4711"), version: "1".into() })
    }
}

/// Writes down what is about to be sent.
#[derive(Default)]
pub struct Recorder {
    pub lines: Mutex<Vec<(Action, String, bool)>>,
    pub broken: AtomicBool,
}

impl Recorder {
    /// Whether more intentions to do this were written than were sent before.
    fn covers(&self, action: &Action, sent: usize) -> bool {
        self.lines.lock().unwrap().iter().filter(|(written, _, _)| written == action).count() > sent
    }
}

impl Record for Recorder {
    fn sending<'a>(
        &'a self,
        action: &'a Action,
        plan_hash: &'a str,
        gated: bool,
    ) -> BoxFuture<'a, Result<(), NotRecorded>> {
        Box::pin(async move {
            if self.broken.load(Ordering::SeqCst) {
                return Err(NotRecorded("disk full".into()));
            }
            self.lines.lock().unwrap().push((action.clone(), plan_hash.to_owned(), gated));
            Ok(())
        })
    }
}

pub struct World {
    pub house: SharedHouse,
    pub devices: Arc<Devices>,
    pub record: Arc<Recorder>,
    pub clock: Clock,
    pub store: Arc<MemoryStore>,
    pub door: Arc<Door>,
}

pub fn start_of_time() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(20_000)
}

impl World {
    /// A house on simulated time; the runtime must be paused.
    pub fn new(seed: u64) -> Self {
        let clock = Clock::simulated(start_of_time(), seed);
        let house = SharedHouse::new(house());
        let record = Arc::new(Recorder::default());
        let devices = Arc::new(Devices {
            house: house.clone(),
            clock: clock.clone(),
            up: AtomicBool::new(true),
            connection: AtomicU64::new(1),
            sent: Mutex::default(),
            behaviours: Mutex::default(),
            truth: Mutex::default(),
            record: record.clone(),
            unrecorded: AtomicBool::new(false),
            busy: Mutex::default(),
            most_at_once: AtomicU64::new(0),
        });
        let store = Arc::new(MemoryStore::default());
        let door = door(&house, &devices, store.clone(), &clock);
        let world = Self { house, devices, record, clock, store, door };
        for (id, value) in START {
            world.is(id, value);
        }
        world
    }

    /// A device reports this, live.
    pub fn is(&self, id: &str, value: &str) {
        let id = EntityId::parse(id).unwrap();
        self.devices.truth.lock().unwrap().insert(id.clone(), value.to_owned());
        self.devices.report(&id, &Update::value(value.to_owned()), true);
    }

    /// The daemon starts again on the same store.
    pub async fn restart(&mut self) {
        // A start waits until the disk can be used; before that there is no door.
        *self.store.disk.lock().unwrap() = Disk::Good;
        self.door = door(&self.house, &self.devices, self.store.clone(), &self.clock);
        self.door.recover().await.unwrap();
    }

    pub fn plan(&self, actions: &[Action]) -> Plan {
        self.door.plan(actions).unwrap()
    }

    pub fn decide(&self, plan: &Plan) -> Decided {
        let who = requester();
        self.door.decide(plan, &Asked { principal: &who, conversation: Some("c"), taint: None, sent: &[] })
    }

    /// Performs what needs nobody.
    pub async fn act(&self, actions: &[Action]) -> Vec<OutcomeEntry> {
        let plan = self.plan(actions);
        let permit = Permit::free(&self.decide(&plan)).expect("it needs nobody");
        self.door.perform(&plan, permit, self.record.as_ref(), &CancellationToken::new()).await
    }

    /// Asks about what needs somebody, as task `task`.
    pub async fn ask(&self, task: &str, actions: &[Action]) -> Approval {
        self.try_ask(task, &requester(), actions).await.unwrap()
    }

    pub async fn try_ask(
        &self,
        task: &str,
        who: &Principal,
        actions: &[Action],
    ) -> Result<Approval, homeloop::actuate::AskError> {
        self.try_ask_about(task, who, &self.plan(actions)).await
    }

    /// Asks about a plan for an occasion of its own.
    pub async fn ask_about(&self, task: &str, plan: &Plan) -> Approval {
        self.try_ask_about(task, &requester(), plan).await.unwrap()
    }

    async fn try_ask_about(
        &self,
        task: &str,
        who: &Principal,
        plan: &Plan,
    ) -> Result<Approval, homeloop::actuate::AskError> {
        let decided = self.decide(plan);
        let question = Question {
            task,
            step: 0,
            conversation: Some("c"),
            principal: who,
            device: Some("Kitchen"),
            utterance: "open up for the courier",
            taint: None,
        };
        self.door.ask(plan, &decided, &question).await
    }

    pub async fn approve(&self, approval: &Approval) -> Result<Verdict, homeloop::actuate::AnswerError> {
        self.answer(approval, AnswerWord::Approve).await
    }

    pub async fn deny(&self, approval: &Approval) -> Result<Verdict, homeloop::actuate::AnswerError> {
        self.answer(approval, AnswerWord::Deny).await
    }

    async fn answer(
        &self,
        approval: &Approval,
        word: AnswerWord,
    ) -> Result<Verdict, homeloop::actuate::AnswerError> {
        self.door.answer(&approval.id, &approval.plan_hash, word, Some(self.clock.now()), &person()).await
    }

    pub async fn carry_out(
        &self,
        approval: &Approval,
    ) -> Result<Vec<OutcomeEntry>, homeloop::actuate::RedeemError> {
        self.door
            .carry_out(&approval.id, &approval.plan_hash, self.record.as_ref(), &CancellationToken::new())
            .await
    }

    pub fn sent(&self) -> usize {
        self.devices.sent.lock().unwrap().len()
    }

    pub async fn set_policy(&self, change: impl FnOnce(&mut Policy)) {
        let mut policy = self.door.policy().as_ref().clone();
        policy.version.push('+');
        change(&mut policy);
        // The policy is in force also where the open questions cannot be looked at again.
        let told = self.door.set_policy(policy).await;
        assert!(told.is_ok() || *self.store.disk.lock().unwrap() != Disk::Good);
    }
}

/// A door onto these devices.
pub fn door(
    house: &SharedHouse,
    devices: &Arc<Devices>,
    store: Arc<dyn ApprovalStore>,
    clock: &Clock,
) -> Arc<Door> {
    Arc::new(Door::new(DoorParts {
        house: house.clone(),
        codecs: Arc::new(AllSpeak(devices.clone())),
        secrets: Arc::new(Code),
        store,
        policy: Policy::default(),
        containment: Containment::default(),
        clock: clock.clone(),
        zone: chrono_tz::Tz::UTC,
    }))
}

/// The phone that asks.
pub fn requester() -> Principal {
    Principal {
        name: "token:phone".into(),
        channel: Channel::Http,
        scopes: vec![Scope::Read, Scope::Command],
    }
}

/// The person that decides.
pub fn person() -> Principal {
    Principal { name: "token:anna".into(), channel: Channel::Http, scopes: vec![Scope::Read, Scope::Approve] }
}

pub fn action(id: &str, verb: Verb) -> Action {
    Action::new(EntityId::parse(id).unwrap(), verb)
}

/// The states that the devices report at the start.
const START: &[(&str, &str)] = &[
    ("light.kitchen", "off"),
    ("light.hall", "off"),
    ("light.blind", "off"),
    ("switch.fan", "off"),
    ("switch.garage_door", "off"),
    ("cover.curtain", "open"),
    ("cover.garage", "closed"),
    ("climate.living", "off"),
    ("lock.front", "locked"),
    ("lock.back", "locked"),
    ("alarm_control_panel.home", "disarmed"),
    ("siren.roof", "off"),
];

fn house() -> House {
    let mut house = House::new(Places::default());
    let dim = ActionSpec::new(Verb::TurnOn).with(ArgSpec::optional(Arg::BrightnessPct, ArgKind::percent()));
    let off = || ActionSpec::new(Verb::TurnOff);
    let of = |verbs: &[Verb]| verbs.iter().map(|verb| ActionSpec::new(*verb)).collect::<Vec<_>>();
    let celsius = ArgKind::Number { min: 5.0, max: 65.0, step: 0.5 };
    let set = ActionSpec::new(Verb::SetTemperature).with(ArgSpec::required(Arg::Temperature, celsius));
    let on_off = of(&[Verb::TurnOn, Verb::TurnOff]);
    let moves = of(&[Verb::Open, Verb::Close, Verb::Stop]);
    let bolt = of(&[Verb::Lock, Verb::Unlock, Verb::Open]);
    let arm = of(&[Verb::ArmHome, Verb::ArmAway, Verb::Disarm]);
    for (id, name, class, actions) in [
        ("light.kitchen", "Kitchen lamp", "", vec![dim.clone(), off()]),
        ("light.hall", "Hall lamp", "", vec![dim.clone(), off()]),
        ("light.blind", "Lamp that says nothing", "", vec![dim, off()]),
        ("switch.fan", "Desk fan", "", on_off.clone()),
        ("switch.garage_door", "Garage door relay", "", on_off.clone()),
        ("cover.curtain", "Curtain", "curtain", moves.clone()),
        ("cover.garage", "Garage", "garage", moves),
        ("climate.living", "Air conditioner", "", vec![set, ActionSpec::new(Verb::TurnOn), off()]),
        ("lock.front", "Front door", "", bolt.clone()),
        ("lock.back", "Back door", "", bolt),
        ("alarm_control_panel.home", "Alarm", "", arm),
        ("siren.roof", "Siren", "", on_off.clone()),
        ("button.bell", "Bell", "", of(&[Verb::Press])),
        ("script.unknown", "Good morning", "", of(&[Verb::Run])),
        ("update.lamp", "Lamp firmware", "", of(&[Verb::Install])),
        ("switch.permit_join", "Permit join", "", on_off),
    ] {
        let mut entity = entity(id, name, class, actions);
        entity.reports_state = id != "light.blind";
        house.insert(entity);
    }
    let mut lamps = entity("light.lamps", "All lamps", "", of(&[Verb::TurnOn, Verb::TurnOff]));
    lamps.members = ["light.kitchen", "light.hall"].map(|id| EntityId::parse(id).unwrap()).to_vec();
    house.insert(lamps);
    house
}

pub fn entity(id: &str, name: &str, class: &str, actions: Vec<ActionSpec>) -> Entity {
    Entity {
        id: EntityId::parse(id).unwrap(),
        name: name.into(),
        aliases: Vec::new(),
        area: None,
        device: None,
        device_class: (!class.is_empty()).then(|| class.into()),
        category: Category::Main,
        unit: None,
        actions,
        members: Vec::new(),
        reports_state: true,
        source: homeloop::home::HOME_FILE.into(),
    }
}
