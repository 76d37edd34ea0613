//! How many state messages per second are decoded and applied, by the size of the house.
//!
//! Run with `cargo bench --bench state_path`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chrono::DateTime;
use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher};
use futures_util::future::BoxFuture;
use homeloop::actuate::{Port, SendError};
use homeloop::clock::Clock;
use homeloop::devices::Message;
use homeloop::devices::discovery::{Accept, Discovery, DiscoveryChange, NoQuarantine, Pins, Settings};
use homeloop::devices::profile::Profiles;
use homeloop::devices::registry::{Arrival, Registry};
use homeloop::devices::template::Sandbox;
use homeloop::home::{Category, Entity, EntityId, House, Places, SharedHouse};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const SIZES: [usize; 4] = [100, 1_000, 10_000, 25_000];

struct NoPort;

impl Port for NoPort {
    fn send<'a>(&'a self, _message: &'a Message) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Err(SendError::Down("a bench sends nothing".into())) })
    }

    fn is_up(&self) -> bool {
        false
    }

    fn connection(&self) -> u64 {
        1
    }
}

/// A house of lights with one profile, and the topic of each.
fn house(profile: &str, size: usize) -> (Registry<dyn Port>, Vec<String>) {
    let profiles = Profiles::embedded().expect("the profiles of the binary are right");
    let profile = profiles.get(profile).expect("it is one of them");
    let house = SharedHouse::new(House::new(Places::default()));
    let registry = Registry::<dyn Port>::new(house.clone());
    let port: Arc<dyn Port> = Arc::new(NoPort);
    let mut topics = Vec::new();
    for number in 0..size {
        let name = format!("floor{}/lamp{number}", number % 3);
        let given = BTreeMap::from([("topic".to_owned(), toml::Value::from(name.clone()))]);
        let codec = Arc::new(profile.bind(&given).expect("a topic is all that it needs"));
        let id = EntityId::parse(&format!("light.lamp_{number}")).expect("a right id");
        house.write().insert(Entity {
            id: id.clone(),
            name,
            aliases: Vec::new(),
            area: None,
            device: None,
            device_class: None,
            category: Category::Main,
            unit: None,
            actions: codec.actions(),
            members: Vec::new(),
            reports_state: true,
            source: "bench".into(),
        });
        let first = codec.reports(Some("on"), &BTreeMap::new());
        topics.push(first.first().map(|said| said.topic.clone()).expect("a light reports"));
        registry.insert(id, codec, port.clone());
    }
    (registry, topics)
}

fn arrival() -> Arrival {
    Arrival { at: DateTime::UNIX_EPOCH, since_boot: Duration::from_secs(1), retained: false, connection: 1 }
}

/// Feeds messages that go round all topics and change the state at every round.
fn feed(bencher: Bencher, profile: &str, size: usize, payloads: [&[u8]; 2]) {
    let (registry, topics) = house(profile, size);
    let next = AtomicUsize::new(0);
    bencher.counter(ItemsCount::new(1_usize)).bench(|| {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let payload = payloads[number / topics.len() % 2];
        registry.on_message(&topics[number % topics.len()], payload, arrival());
    });
    assert_eq!(registry.counts().faults, 0);
}

/// Plain text, as a self-built lamp says it.
#[divan::bench(args = SIZES, sample_size = 1000)]
fn plain(bencher: Bencher, size: usize) {
    feed(bencher, "plain.light", size, [b"on", b"off"]);
}

/// A whole message of a Zigbee lamp, as it comes with every change.
#[divan::bench(args = SIZES, sample_size = 1000)]
fn zigbee2mqtt(bencher: Bencher, size: usize) {
    let on = br#"{"brightness":127,"color_mode":"color_temp","color_temp":370,"linkquality":99,"state":"ON","update":{"installed_version":10,"latest_version":10,"state":"idle"}}"#;
    let off = br#"{"brightness":127,"color_mode":"color_temp","color_temp":370,"linkquality":87,"state":"OFF","update":{"installed_version":10,"latest_version":10,"state":"idle"}}"#;
    feed(bencher, "zigbee2mqtt.light", size, [on, off]);
}

/// Announced sensors that read one value of a JSON message each.
fn announced(template: &str, size: usize) -> (Registry<dyn Port>, Vec<String>) {
    let house = SharedHouse::new(House::new(Places::default()));
    let registry = Registry::<dyn Port>::new(house.clone());
    let port: Arc<dyn Port> = Arc::new(NoPort);
    let mut discovery = Discovery::new(
        Sandbox::new(Clock::system(), chrono_tz::UTC),
        Settings {
            prefix: "homeassistant".into(),
            base: "homeloop/home".into(),
            accept: Accept::OnFirstUse,
            gate: Arc::new(|_| false),
            quarantine: Arc::new(NoQuarantine),
            pins: Pins::default(),
            taken: Default::default(),
        },
    );
    let mut topics = Vec::new();
    for number in 0..size {
        let topic = format!("zigbee2mqtt/floor{}/meter {number}", number % 3);
        let config = serde_json::json!({"name": format!("Meter {number}"), "stat_t": topic, "val_tpl": template,
            "unit_of_meas": "W", "dev_cla": "power"});
        let announced = format!("homeassistant/sensor/meter_{number}/power/config");
        for change in discovery.on_message(&announced, config.to_string().as_bytes(), true) {
            if let DiscoveryChange::Added { entity, codec, .. } = change {
                let id = entity.id.clone();
                house.write().insert(entity);
                registry.insert(id, codec, port.clone());
            }
        }
        topics.push(topic);
    }
    assert_eq!(house.read().len(), size);
    (registry, topics)
}

fn feed_announced(bencher: Bencher, template: &str, size: usize) {
    let (registry, topics) = announced(template, size);
    let payloads: [&[u8]; 2] = [
        br#"{"power":12.7,"voltage":231,"current":0.05,"energy":17.31,"linkquality":99,"state":"ON"}"#,
        br#"{"power":13.1,"voltage":230,"current":0.06,"energy":17.32,"linkquality":87,"state":"ON"}"#,
    ];
    let next = AtomicUsize::new(0);
    bencher.counter(ItemsCount::new(1_usize)).bench(|| {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let payload = payloads[number / topics.len() % 2];
        registry.on_message(&topics[number % topics.len()], payload, arrival());
    });
    assert_eq!(registry.counts().faults, 0);
}

/// JSON and a value template that is a path: most announcements.
#[divan::bench(args = SIZES, sample_size = 1000)]
fn announced_path(bencher: Bencher, size: usize) {
    feed_announced(bencher, "{{ value_json.power }}", size);
}

/// JSON and a value template that the engine runs.
#[divan::bench(args = SIZES, sample_size = 1000)]
fn announced_filter(bencher: Bencher, size: usize) {
    feed_announced(bencher, "{{ value_json.power | float(0) | round(1) }}", size);
}

/// A message that nobody reads: the price of a broad subscription.
#[divan::bench(args = SIZES, sample_size = 1000)]
fn unread(bencher: Bencher, size: usize) {
    let (registry, _) = house("zigbee2mqtt.light", size);
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench(|| registry.on_message("zigbee2mqtt/floor1/nobody", b"{}", arrival()));
}

fn main() {
    divan::main();
}
