//! The home of the demo with its simulated devices behind a port, under simulated time and without a socket.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use homeloop::actuate::{
    Containment, Door, DoorParts, NoSecrets, NotRecorded, OutcomeEntry, Port, Question, Record, SendError,
};
use homeloop::app::simulation;
use homeloop::clock::Clock;
use homeloop::devices::Message;
use homeloop::devices::discovery::{Accept, Discovery, DiscoveryChange, NoQuarantine, Pins, Settings};
use homeloop::devices::profile::{Profiles, Said};
use homeloop::devices::registry::{Arrival, Registry};
use homeloop::devices::simulate::{Announcement, World};
use homeloop::devices::template::Sandbox;
use homeloop::home::{Action, Arg, ArgValue, EntityId, SharedHouse, Verb};
use homeloop::journal::Journal;
use homeloop::model::Report;
use homeloop::nlu::Nlu;
use homeloop::policy::{AnswerWord, Asked, Channel, Decision, Permit, Policy, Principal, Scope, Verdict};
use homeloop::settings::home_file::{DEMO_ANNOUNCED, HomeFile};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;

pub struct Home {
    pub house: SharedHouse,
    door: Door,
    report: Report,
    devices: Arc<Devices>,
    stop: CancellationToken,
}

/// The way to the simulated devices, and what went over it.
struct Devices {
    sent: Mutex<Vec<(String, String)>>,
    to_world: mpsc::UnboundedSender<(String, Vec<u8>)>,
}

impl Port for Devices {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), SendError>> {
        let (topic, payload) = (message.topic.clone(), message.payload.clone());
        self.sent.lock().unwrap().push((topic.clone(), payload.clone()));
        let taken = self.to_world.send((topic, payload.into_bytes()));
        Box::pin(async move { taken.map_err(|_| SendError::Down("the simulation ended".into())) })
    }

    fn is_up(&self) -> bool {
        true
    }

    fn connection(&self) -> u64 {
        1
    }
}

/// What was done, as the house and the daemon tell it.
pub struct Done {
    /// Topic and payload, in the order of sending.
    pub sent: Vec<(String, String)>,
    pub outcomes: Vec<OutcomeEntry>,
    pub en: String,
    pub zh: String,
    /// Whether a person was asked.
    pub asked: bool,
}

impl Done {
    /// The outcome of one entity, with its cause: `unconfirmed no_answer`.
    pub fn outcome(&self, id: &str) -> String {
        let entry =
            self.outcomes.iter().find(|entry| entry.action.entity.as_str() == id).expect("an outcome");
        let word = serde_json::to_value(entry.outcome).unwrap();
        match &entry.cause {
            Some(cause) => format!("{} {cause}", word.as_str().unwrap()),
            None => word.as_str().unwrap().to_owned(),
        }
    }
}

impl Home {
    /// Starts with what every device reports at its start, known as live. Every device has a profile.
    pub async fn start() -> Self {
        Self::of(Vec::new()).await
    }

    /// The same devices as `homeloop demo` has them: most announce themselves.
    pub async fn start_announced() -> Self {
        Self::of(Announcement::parse_all(DEMO_ANNOUNCED).unwrap()).await
    }

    async fn of(announcements: Vec<Announcement>) -> Self {
        let start: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().unwrap();
        let clock = Clock::simulated(start, 1);
        let demo = || HomeFile::demo(&Profiles::embedded().unwrap()).unwrap();
        let announced = announcements.iter().flat_map(|known| known.entities.clone()).collect();
        let file = demo().leaving_to_announcements(&announced);
        let house = SharedHouse::new(file.house());
        let registry = Arc::new(Registry::<dyn Port>::new(house.clone()));
        let (to_world, messages) = mpsc::unbounded_channel();
        let devices = Arc::new(Devices { sent: Mutex::default(), to_world });
        for known in &file.entities {
            if let Some(codec) = &known.codec {
                registry.insert(known.entity.id.clone(), codec.clone(), devices.clone());
            }
        }
        announce(&announcements, &file, &house, &registry, &devices, &clock);
        let stop = CancellationToken::new();
        simulate(&demo(), &registry, &clock, messages, &stop);
        let home = Self {
            door: Door::new(DoorParts {
                house: house.clone(),
                codecs: registry,
                secrets: Arc::new(NoSecrets),
                store: Arc::new(Journal::in_memory(clock.clone()).unwrap()),
                policy: Policy::default(),
                containment: Containment {
                    own_base: "homeloop/home".into(),
                    discovery_prefix: "homeassistant".into(),
                },
                clock,
                zone: chrono_tz::UTC,
            }),
            house,
            report: Report::new(Arc::new(Nlu::new().unwrap())),
            devices,
            stop,
        };
        rest().await;
        home
    }

    /// Makes a device fail in a way, or as JSON with a time; an empty word mends it.
    pub async fn fault(&self, id: &str, fault: &str) {
        self.control(id, "fault", fault);
        rest().await;
    }

    /// Sets a device by hand, and waits until the house knows.
    pub async fn set(&self, id: &str, value: &str) {
        self.control(id, "set", value);
        self.until(id, |now| now == Some(value)).await;
        rest().await;
    }

    fn control(&self, id: &str, what: &str, text: &str) {
        let topic = format!("{}/{id}/{what}", homeloop::devices::simulate::CONTROL_BASE);
        self.devices.to_world.send((topic, text.as_bytes().to_vec())).unwrap();
    }

    async fn until(&self, id: &str, reached: impl Fn(Option<&str>) -> bool) {
        let mut changes = self.house.changes();
        loop {
            if reached(self.house.read().state(id).and_then(|state| state.text())) {
                return;
            }
            changes.recv().await.unwrap();
        }
    }

    /// Does it as the daemon would; what needs a person is approved.
    pub async fn act(&self, actions: &[Action]) -> Done {
        self.devices.sent.lock().unwrap().clear();
        let plan = self.door.plan(actions).unwrap();
        let person = Principal {
            name: "anna".into(),
            channel: Channel::Http,
            scopes: vec![Scope::Read, Scope::Command, Scope::Approve],
        };
        let asked = Asked { principal: &person, conversation: None, taint: None, sent: &[] };
        let decided = self.door.decide(&plan, &asked);
        let (record, cancel) = (Nowhere, CancellationToken::new());
        let gated = decided.decision() == Decision::Ask;
        let outcomes = match Permit::free(&decided) {
            Some(permit) => self.door.perform(&plan, permit, &record, &cancel).await,
            None if gated => {
                let question = Question {
                    task: "01TASK",
                    step: 0,
                    conversation: None,
                    principal: &person,
                    device: None,
                    utterance: "",
                    taint: None,
                };
                let approval = self.door.ask(&plan, &decided, &question).await.unwrap();
                let word = AnswerWord::Approve;
                let answer = self.door.answer(&approval.id, &approval.plan_hash, word, None, &person).await;
                assert_eq!(answer.unwrap(), Verdict::Approved);
                self.door.carry_out(&approval.id, &approval.plan_hash, &record, &cancel).await.unwrap()
            }
            None => self.door.refused(&plan, &decided),
        };
        let sentence = |language: &str| self.report.outcomes(language, &outcomes, &self.house.read());
        Done {
            sent: self.devices.sent.lock().unwrap().clone(),
            en: sentence("en"),
            zh: sentence("zh"),
            asked: gated,
            outcomes,
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Reads what announces devices, as the daemon does.
fn announce(
    announcements: &[Announcement],
    file: &HomeFile,
    house: &SharedHouse,
    registry: &Arc<Registry<dyn Port>>,
    devices: &Arc<Devices>,
    clock: &Clock,
) {
    let settings = Settings {
        prefix: "homeassistant".into(),
        base: "homeloop/home".into(),
        accept: Accept::OnFirstUse,
        gate: Arc::new(|_| false),
        quarantine: Arc::new(NoQuarantine),
        pins: Pins::default(),
        taken: file.entities.iter().map(|known| known.entity.id.clone()).collect(),
    };
    let mut discovery = Discovery::new(Sandbox::new(clock.clone(), chrono_tz::UTC), settings);
    for Announcement { said, entities } in announcements {
        let mut made = Vec::new();
        for change in discovery.on_message(&said.topic, said.payload.as_bytes(), said.retained) {
            let DiscoveryChange::Added { mut entity, codec, .. } = change else {
                panic!("{}: {change:?}", said.topic);
            };
            if !file.overrides.apply(&mut entity).hide {
                made.push(entity.id.clone());
                registry.insert(entity.id.clone(), codec, devices.clone());
                house.write().insert(entity);
            }
        }
        assert_eq!(made, *entities, "{}", said.topic);
    }
}

/// Runs the devices of the home; what they say goes through their codecs into the house.
fn simulate(
    file: &HomeFile,
    registry: &Arc<Registry<dyn Port>>,
    clock: &Clock,
    messages: mpsc::UnboundedReceiver<(String, Vec<u8>)>,
    stop: &CancellationToken,
) {
    let (registry, clock) = (registry.clone(), clock.clone());
    let say = move |said: Said| {
        let arrival =
            Arrival { at: clock.now(), since_boot: clock.since_boot(), retained: false, connection: 1 };
        registry.on_message(&said.topic, said.payload.as_bytes(), arrival);
        std::future::ready(())
    };
    let world = World::new(file.players());
    tokio::spawn(simulation::run(world, UnboundedReceiverStream::new(messages), say, stop.clone()));
}

/// Simulated time passes only when nothing is left to do: what was said before has been heard then.
async fn rest() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// `verb {"arg": value}` on an entity.
pub fn action(id: &str, verb: Verb, args: &Value) -> Action {
    let mut action = Action::new(EntityId::parse(id).unwrap(), verb);
    for (name, value) in args.as_object().unwrap() {
        let value = match value {
            Value::Number(number) => ArgValue::Number(number.as_f64().unwrap()),
            Value::Bool(flag) => ArgValue::Bool(*flag),
            Value::String(text) => ArgValue::Text(text.clone()),
            other => panic!("{other} is no argument"),
        };
        action.args.insert(Arg::from_word(name).unwrap(), value);
    }
    action
}

/// These tests read what was sent, not what was written down before.
struct Nowhere;

impl Record for Nowhere {
    fn sending<'a>(&'a self, _: &'a Action, _: &'a str, _: bool) -> BoxFuture<'a, Result<(), NotRecorded>> {
        Box::pin(async { Ok(()) })
    }
}
