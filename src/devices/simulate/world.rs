//! The simulated devices, what they are asked, and what they will say when.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::behave::{self, Step};
use super::fault::SimFault;
use super::{BIRTH, BIRTH_TOPIC, CONTROL_BASE, Setup, bridge, faulty};
use crate::devices::profile::{ProfileCodec, Said};
use crate::home::{Arg, Args, Attr, Domain, Entity, EntityId, Verb, attr};

/// All simulated devices. Time is what the caller says it is: a duration since any fixed moment.
#[derive(Default)]
pub struct World {
    devices: Vec<Device>,
    /// What announces them, said at the start and to whoever asks anew.
    announcements: Vec<Said>,
    /// Devices by the topics of their commands.
    commands: BTreeMap<String, Vec<usize>>,
    due: BinaryHeap<Reverse<Due>>,
    /// Numbers what is due, so that equal times keep their order.
    number: u64,
}

pub(super) struct Device {
    pub id: EntityId,
    pub domain: Domain,
    name: String,
    codec: Arc<ProfileCodec>,
    pub value: Option<String>,
    pub attributes: BTreeMap<Attr, Value>,
    pub setup: Setup,
    pub fault: Option<SimFault>,
    online: bool,
    /// Counts what it was asked: what an earlier wish still had to do is dropped.
    wish: u64,
    /// Counts its faults: an earlier one that still flaps is dropped.
    faults: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Duration,
    number: u64,
    device: usize,
    what: What,
}

enum What {
    Become { wish: u64, step: Step },
    Flap { faults: u64, every: Duration },
}

// The order of what is due is that of time and number alone.
impl PartialEq for What {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for What {}
impl PartialOrd for What {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for What {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// What a person sets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetJson {
    value: Option<Value>,
    #[serde(default)]
    attributes: Map<String, Value>,
}

impl World {
    pub fn new(devices: impl IntoIterator<Item = (Entity, Arc<ProfileCodec>, Setup)>) -> Self {
        let mut world = Self::default();
        for (entity, codec, setup) in devices {
            let at = world.devices.len();
            for topic in codec.command_topics() {
                world.commands.entry(topic.to_owned()).or_default().push(at);
            }
            world.devices.push(Device {
                domain: entity.domain(),
                value: setup
                    .value
                    .clone()
                    .or_else(|| behave::first_value(entity.domain()).map(str::to_owned)),
                attributes: setup.attributes.clone(),
                id: entity.id,
                name: entity.name,
                codec,
                setup,
                fault: None,
                online: true,
                wish: 0,
                faults: 0,
            });
        }
        world
    }

    /// The same devices, which announce themselves with these messages.
    pub fn announced_by(mut self, announcements: Vec<Said>) -> Self {
        self.announcements = announcements;
        self
    }

    /// The topic filters whose messages [`World::on_message`] wants.
    pub fn subscriptions(&self) -> Vec<String> {
        let mut filters = vec![format!("{CONTROL_BASE}/+/set"), format!("{CONTROL_BASE}/+/fault")];
        if !self.announcements.is_empty() {
            filters.push(BIRTH_TOPIC.into());
        }
        for (topic, devices) in &self.commands {
            filters.push(topic.clone());
            if devices.iter().any(|at| self.is_behind_a_bridge(*at)) {
                filters.push(format!("{topic}/+"));
            }
        }
        filters
    }

    /// What the devices publish when they start: what they are, that they are there, and their states. They say it
    /// again when somebody who reads announcements says that it is there ([`BIRTH_TOPIC`]).
    pub fn start(&self) -> Vec<Said> {
        let mut said = self.announcements.clone();
        for device in &self.devices {
            said.extend(device.codec.availability_messages(device.online, true));
            if device.online && device.fault != Some(SimFault::Silent) {
                said.extend(device.codec.reports(device.value.as_deref(), &device.attributes));
            }
        }
        without_repetition(said)
    }

    /// What is published in their name when they are gone: their last wills.
    pub fn farewell(&self) -> Vec<Said> {
        let all = self.devices.iter();
        without_repetition(all.flat_map(|device| device.codec.availability_messages(false, true)).collect())
    }

    /// Takes a message in. What follows from it at once comes back; the rest becomes [`World::due`].
    pub fn on_message(&mut self, now: Duration, topic: &str, payload: &[u8]) -> Vec<Said> {
        let Ok(text) = std::str::from_utf8(payload) else { return Vec::new() };
        if let Some((id, last)) =
            topic.strip_prefix(CONTROL_BASE).and_then(|rest| rest.strip_prefix('/')?.rsplit_once('/'))
        {
            return match last {
                "set" => self.set(now, id, text),
                "fault" => match SimFault::parse(text) {
                    Ok(fault) => self.fault(now, id, fault),
                    Err(error) => {
                        tracing::warn!(entity = id, %error, "the simulator ignores a control message");
                        Vec::new()
                    }
                },
                _ => Vec::new(),
            };
        }
        if topic == BIRTH_TOPIC {
            return if text == BIRTH { self.start() } else { Vec::new() };
        }
        for at in self.commands.get(topic).cloned().unwrap_or_default() {
            let codec = self.devices.get(at).map(|device| &device.codec);
            let asked = codec.and_then(|codec| codec.understand(topic, text));
            if let Some((verb, args)) = asked.or_else(|| self.asked_of_a_bridge(at, topic, text)) {
                self.ask(now, at, verb, &args);
            }
        }
        if let Some((base, property)) = topic.rsplit_once('/') {
            for at in self.commands.get(base).cloned().unwrap_or_default() {
                if let Some((verb, args)) = self.asked_of_a_bridge(at, base, &bridge::one(property, text)) {
                    self.ask(now, at, verb, &args);
                }
            }
        }
        Vec::new()
    }

    fn is_behind_a_bridge(&self, at: usize) -> bool {
        self.devices.get(at).is_some_and(|device| device.codec.is_behind_a_bridge())
    }

    /// What a message asks of a device whose bridge takes more forms than its profile sends.
    fn asked_of_a_bridge(&self, at: usize, topic: &str, text: &str) -> Option<(Verb, Args)> {
        let device = self.devices.get(at).filter(|device| device.codec.is_behind_a_bridge())?;
        device.codec.understand(topic, &bridge::whole(text))
    }

    /// Sets a device as a person would: opens the door, warms the room. `text` is a value, or JSON with `value` and
    /// `attributes`.
    pub fn set(&mut self, now: Duration, id: &str, text: &str) -> Vec<Said> {
        let Some(at) = self.devices.iter().position(|device| device.id.as_str() == id) else {
            tracing::warn!(entity = id, "the simulator has no such entity");
            return Vec::new();
        };
        let step = match serde_json::from_str::<SetJson>(text) {
            Ok(set) => Step {
                value: set.value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
                attributes: set.attributes.into_iter().map(|(name, value)| (name.into(), value)).collect(),
                ..Step::default()
            },
            Err(_) if !text.starts_with('{') && !text.trim().is_empty() => Step::default().value(text.trim()),
            Err(error) => {
                tracing::warn!(entity = id, %error, "the simulator ignores a control message");
                return Vec::new();
            }
        };
        if let Some(device) = self.devices.get_mut(at) {
            device.wish += 1;
        }
        let said = self.become_now(at, &step);
        self.sound_alarms(now, at);
        said
    }

    /// Gives a device a fault, or takes it away.
    pub fn fault(&mut self, now: Duration, id: &str, fault: Option<SimFault>) -> Vec<Said> {
        let Some(at) = self.devices.iter().position(|device| device.id.as_str() == id) else {
            tracing::warn!(entity = id, "the simulator has no such entity");
            return Vec::new();
        };
        let Some(device) = self.devices.get_mut(at) else { return Vec::new() };
        device.fault = fault;
        device.faults += 1;
        let faults = device.faults;
        let online = !matches!(fault, Some(SimFault::Offline | SimFault::Flapping(_)));
        let said = device.be_online(online);
        if let Some(SimFault::Flapping(every)) = fault {
            self.later(now + every, at, What::Flap { faults, every });
        }
        said
    }

    /// When something is due next.
    pub fn next_due(&self) -> Option<Duration> {
        self.due.peek().map(|Reverse(due)| due.at)
    }

    /// Everything that is due by `now`, in order.
    pub fn due(&mut self, now: Duration) -> Vec<Said> {
        let mut said = Vec::new();
        while self.due.peek().is_some_and(|Reverse(due)| due.at <= now) {
            let Some(Reverse(Due { at, device, what, .. })) = self.due.pop() else { break };
            match what {
                What::Become { wish, step } => {
                    if self.devices.get(device).is_some_and(|known| known.wish == wish) {
                        said.extend(self.become_now(device, &step));
                    }
                }
                What::Flap { faults, every } => {
                    if let Some(known) = self.devices.get_mut(device)
                        && known.faults == faults
                    {
                        said.extend(known.be_online(!known.online));
                        // At least a millisecond: a fault of no time must not hold the world.
                        self.later(
                            at + every.max(Duration::from_millis(1)),
                            device,
                            What::Flap { faults, every },
                        );
                    }
                }
            }
        }
        said
    }

    /// The value of a device, for tests and for people who look.
    pub fn value(&self, id: &EntityId) -> Option<&str> {
        self.devices.iter().find(|device| device.id == *id)?.value.as_deref()
    }

    fn ask(&mut self, now: Duration, at: usize, verb: Verb, args: &Args) {
        let open = self.open_zones(at);
        let Some(device) = self.devices.get_mut(at) else { return };
        // A device that is away hears nothing.
        if !device.online {
            return;
        }
        device.wish += 1;
        let wish = device.wish;
        for step in faulty::steps(device, verb, args, &open) {
            self.later(now + step.after, at, What::Become { wish, step });
        }
    }

    fn later(&mut self, at: Duration, device: usize, what: What) {
        self.number += 1;
        self.due.push(Reverse(Due { at, number: self.number, device, what }));
    }

    /// The names of contacts that keep the alarm panel at `at` from arming.
    fn open_zones(&self, at: usize) -> Vec<String> {
        let zones = self.devices.get(at).map(|panel| panel.setup.zones.as_slice()).unwrap_or_default();
        let open = |device: &&Device| zones.contains(&device.id) && device.value.as_deref() == Some("on");
        self.devices.iter().filter(open).map(|device| device.name.clone()).collect()
    }

    /// An armed panel waits its entry delay when one of its zones opens, and then goes off.
    fn sound_alarms(&mut self, now: Duration, zone: usize) {
        let Some(zone) = self.devices.get(zone).filter(|zone| zone.value.as_deref() == Some("on")) else {
            return;
        };
        let (id, name) = (zone.id.clone(), zone.name.clone());
        let armed: Vec<usize> = (0..self.devices.len())
            .filter(|at| {
                self.devices.get(*at).is_some_and(|panel| {
                    panel.setup.zones.contains(&id)
                        && panel.value.as_deref().is_some_and(|value| value.starts_with("armed_"))
                })
            })
            .collect();
        for at in armed {
            let Some(panel) = self.devices.get_mut(at) else { continue };
            panel.wish += 1;
            let (wish, entry) = (panel.wish, panel.setup.entry.unwrap_or(Duration::from_secs(10)));
            let zones = vec![(attr::OPEN_ZONES.into(), serde_json::json!([name]))];
            let pending = Step { attributes: zones, ..Step::default() }.value("pending");
            let triggered = Step::default().value("triggered");
            self.later(now, at, What::Become { wish, step: pending });
            self.later(now + entry, at, What::Become { wish, step: triggered });
        }
    }

    fn become_now(&mut self, at: usize, step: &Step) -> Vec<Said> {
        self.devices.get_mut(at).map(|device| device.become_so(step)).unwrap_or_default()
    }
}

impl Device {
    /// An attribute as a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.attributes.get(name).and_then(Value::as_f64)
    }

    /// The volume after a step up or down.
    pub fn volume(&self, by: f64) -> f64 {
        let volume = self.number(attr::VOLUME_LEVEL).unwrap_or(0.5) + by;
        (volume.clamp(0.0, 1.0) * 100.0).round() / 100.0
    }

    /// Whether the device offers a verb with an argument.
    pub fn takes(&self, verb: Verb, arg: Arg) -> bool {
        self.codec.actions().iter().any(|spec| spec.verb == verb && spec.arg(arg).is_some())
    }

    fn become_so(&mut self, step: &Step) -> Vec<Said> {
        let (was, had) = (self.value.clone(), self.attributes.clone());
        if let Some(value) = &step.value {
            self.value = Some(value.clone());
        }
        for (name, value) in &step.attributes {
            self.attributes.insert(name.clone(), value.clone());
        }
        let told = |name: &str| {
            (name == "value" && step.value.is_some())
                || step.attributes.iter().any(|(known, _)| known == name)
        };
        let said = if self.online {
            self.codec.reports_of_change(self.value.as_deref(), &self.attributes, told)
        } else {
            Vec::new()
        };
        if step.only_said {
            self.value = was;
            self.attributes = had;
        }
        said
    }

    /// Goes away or comes back. Who comes back tells its state again.
    fn be_online(&mut self, online: bool) -> Vec<Said> {
        if self.online == online {
            return Vec::new();
        }
        self.online = online;
        let mut said = self.codec.availability_messages(online, false);
        if online {
            said.extend(self.codec.reports(self.value.as_deref(), &self.attributes));
        }
        said
    }
}

/// The last message of each topic, in the order of the first.
fn without_repetition(said: Vec<Said>) -> Vec<Said> {
    let mut kept: Vec<Said> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for message in said {
        match places.get(&message.topic).and_then(|at| kept.get_mut(*at)) {
            Some(known) => *known = message,
            None => {
                places.insert(message.topic.clone(), kept.len());
                kept.push(message);
            }
        }
    }
    kept
}
