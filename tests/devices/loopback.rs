//! A house and its simulated devices, joined without a broker: what one says the other hears. Time is a number.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use futures_util::future::BoxFuture;
use homeloop::actuate::{Codecs, Port, SendError};
use homeloop::devices::Message;
use homeloop::devices::profile::{Profiles, Said};
use homeloop::devices::registry::{Arrival, Registry};
use homeloop::devices::simulate::World;
use homeloop::home::{Action, EntityId, SharedHouse, State, Verb};
use homeloop::settings::home_file::HomeFile;

/// A port that is not used: the tests hand messages to the simulator themselves.
struct Unused;

impl Port for Unused {
    fn send<'a>(&'a self, _message: &'a Message) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Err(SendError::Down("not used".into())) })
    }

    fn is_up(&self) -> bool {
        false
    }

    fn connection(&self) -> u64 {
        1
    }
}

pub struct Loopback {
    pub house: SharedHouse,
    pub registry: Registry<dyn Port>,
    pub world: World,
    now: Duration,
    /// Everything that the devices said since it was last taken.
    said: Vec<Said>,
}

impl Loopback {
    pub fn demo() -> Self {
        Self::of(&HomeFile::demo(&Profiles::embedded().unwrap()).unwrap())
    }

    fn of(home: &HomeFile) -> Self {
        let house = SharedHouse::new(home.house());
        let registry = Registry::<dyn Port>::new(house.clone());
        for (entity, codec, _) in home.players() {
            registry.insert(entity.id.clone(), codec, Arc::new(Unused));
        }
        let world = World::new(home.players());
        let mut this = Self { house, registry, world, now: Duration::ZERO, said: Vec::new() };
        let said = this.world.start();
        this.hear(said, true);
        this.said.clear();
        this
    }

    fn hear(&mut self, said: Vec<Said>, retained: bool) {
        for message in said {
            let arrival = Arrival {
                at: DateTime::UNIX_EPOCH + self.now,
                since_boot: self.now,
                retained,
                connection: 1,
            };
            self.registry.on_message(&message.topic, message.payload.as_bytes(), arrival);
            self.said.push(message);
        }
    }

    /// Publishes to the simulator as a person would.
    pub fn publish(&mut self, topic: &str, payload: &str) {
        let said = self.world.on_message(self.now, topic, payload.as_bytes());
        self.hear(said, false);
    }

    /// Encodes an action with the entity's codec and hands its messages to the simulator.
    pub fn act(&mut self, id: &str, verb: Verb, args: serde_json::Value) {
        let id = EntityId::parse(id).unwrap();
        let entity = self.house.read().entity(id.as_str()).unwrap().clone();
        let spec = entity.action(verb).unwrap_or_else(|| panic!("{id} has no {verb}"));
        let args = spec.check(args.as_object().unwrap()).unwrap();
        let (codec, _) = self.registry.codec(&id).unwrap();
        let messages = codec.encode(&Action { entity: id, verb, args }, &State::default()).unwrap();
        for message in messages {
            self.publish(&message.topic, &message.payload);
        }
    }

    /// Lets the time pass. Returns the values that the entity went through, its first one included.
    pub fn pass(&mut self, seconds: u64, id: &str) -> Vec<String> {
        let end = self.now + Duration::from_secs(seconds);
        let mut values = vec![self.value(id)];
        while let Some(next) = self.world.next_due().filter(|next| *next <= end) {
            self.now = next;
            let said = self.world.due(next);
            self.hear(said, false);
            let value = self.value(id);
            if values.last() != Some(&value) {
                values.push(value);
            }
        }
        self.now = end;
        values
    }

    pub fn state(&self, id: &str) -> State {
        self.house.read().state(id).unwrap().clone()
    }

    pub fn value(&self, id: &str) -> String {
        self.state(id).text().unwrap_or("unknown").to_owned()
    }

    /// What the devices said since this was last asked, as topic and payload.
    pub fn said(&mut self) -> Vec<(String, String)> {
        self.said.drain(..).map(|said| (said.topic, said.payload)).collect()
    }
}
