//! How long the offline understanding takes for a sentence, by the size of the house, and what its start costs.
//!
//! Run with `cargo bench --bench nlu`. The sentences are of every kind: names, kinds, places, exclusions, values,
//! delays, questions, slips of the tongue, names that are not there. Each is read alone, so that the slowest column of
//! `sentence` is that of the slowest kind; `all` reads all of them after one another.

use std::sync::LazyLock;

use chrono::{DateTime, TimeZone};
use chrono_tz::Tz;
use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher};
use homeloop::eval::{self, HomeFile};
use homeloop::home::House;
use homeloop::nlu::{Dialogue, Nlu, Request};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const SIZES: [usize; 3] = [100, 1_000, 5_000];

const SENTENCES: [&str; 24] = [
    "turn on the light in room 3",
    "turn off all the lights",
    "please dim the lamp 7 light to 40 percent",
    "set the room 4 thermostat to twenty one and a half degrees",
    "close the blinds in room 2 and turn on the fan",
    "turn off everything except room 1",
    "is the light in room 5 on?",
    "how many lights are on",
    "what is the temperature in room 3",
    "turn off the lights in ten minutes",
    "every weekday at seven open the blinds in room 6",
    "turn on the lihgt in room 3",
    "turn on the sauna lights",
    "make it a bit brighter in room 8",
    "lock the doors",
    "which blinds are open upstairs",
    "order a pizza with extra cheese for tonight",
    "add milk to the shopping list",
    "打开三号房间的灯",
    "除了书房，把所有的灯都关了",
    "把空调调到二十六度半",
    "哪些灯开着",
    "十分钟后关灯",
    "帮我把窗帘拉上一半",
];

static NLU: LazyLock<Nlu> = LazyLock::new(|| Nlu::new().expect("the data files are part of the program"));

fn entity(index: usize) -> Value {
    let room = index / 10 % 50 + 1;
    let area = format!("room_{room}");
    let thing = |domain: &str, name: &str, state: &str, attributes: Value| {
        json!({"id": format!("{domain}.{}_{index}", name.to_lowercase()), "name": format!("{name} {index}"),
            "area": area, "state": state, "attributes": attributes})
    };
    match index % 10 {
        0..=2 => thing("light", "Lamp", "on", json!({"dimmable": true, "color": true})),
        3 => thing("climate", "Thermostat", "heat", json!({"temperature": 20, "current_temperature": 19.5})),
        4 => thing("cover", "Blind", "open", json!({"device_class": "blind", "current_position": 100})),
        5 => thing("fan", "Fan", "off", json!({"percentage": 0})),
        6 => thing("sensor", "Temperature", "20.5", json!({"device_class": "temperature", "unit": "°C"})),
        7 => thing("binary_sensor", "Window", "off", json!({"device_class": "window"})),
        8 => thing("switch", "Plug", "off", json!({"device_class": "outlet"})),
        _ => thing("lock", "Door", "locked", json!({})),
    }
}

fn house(size: usize) -> House {
    let areas: Vec<Value> = (1..=50)
        .map(|room| json!({"id": format!("room_{room}"), "name": format!("Room {room}"), "floor": if room < 25 { "down" } else { "up" }}))
        .collect();
    let entities: Vec<Value> = (0..size).map(entity).collect();
    let file: HomeFile = serde_json::from_value(json!({
        "id": "bench",
        "floors": [{"id": "down", "name": "Downstairs"}, {"id": "up", "name": "Upstairs"}],
        "areas": areas,
        "entities": entities,
    }))
    .expect("a home");
    eval::house(&file, now().to_utc())
}

fn now() -> DateTime<Tz> {
    chrono_tz::Europe::Berlin.with_ymd_and_hms(2026, 3, 4, 10, 0, 0).single().expect("a time")
}

fn request(text: &str) -> Request<'_> {
    Request { text, language: None, area: Some("room_3"), device: None, now: now() }
}

/// The percentiles over all sentences, each read some times.
#[divan::bench(args = SIZES, sample_count = 40)]
fn all(bencher: Bencher<'_, '_>, size: usize) {
    let house = house(size);
    let dialogue = Dialogue::default();
    for sentence in SENTENCES {
        NLU.understand(&request(sentence), &house, &dialogue);
    }
    percentiles(size, &house);
    bencher.counter(ItemsCount::new(SENTENCES.len())).bench_local(|| {
        for sentence in SENTENCES {
            divan::black_box(NLU.understand(&request(sentence), &house, &dialogue));
        }
    });
}

/// Prints p50 and p95 of a sentence: what the goals are stated in.
fn percentiles(size: usize, house: &House) {
    let mut spent = Vec::new();
    for _ in 0..20 {
        for sentence in SENTENCES {
            let begun = std::time::Instant::now();
            divan::black_box(NLU.understand(&request(sentence), house, &Dialogue::default()));
            spent.push((begun.elapsed(), sentence));
        }
    }
    spent.sort_unstable();
    let at = |percent: usize| spent[spent.len() * percent / 100];
    println!("\n{size} entities: p50 {:?}, p95 {:?} ({})", at(50).0, at(95).0, at(95).1);
}

#[divan::bench(args = SENTENCES)]
fn sentence(bencher: Bencher<'_, '_>, text: &str) {
    let house = house(100);
    NLU.understand(&request(text), &house, &Dialogue::default());
    bencher.bench_local(|| NLU.understand(&request(text), &house, &Dialogue::default()));
}

/// Reading the words of every language: once at the start of the daemon.
#[divan::bench(sample_count = 20)]
fn start() -> Nlu {
    Nlu::new().expect("the data files are part of the program")
}

/// Indexing a house in one language: once per change of the registry.
#[divan::bench(args = SIZES, sample_count = 10)]
fn index(bencher: Bencher<'_, '_>, size: usize) {
    let house = house(size);
    bencher
        .with_inputs(|| Nlu::new().expect("the data files are part of the program"))
        .bench_local_refs(|nlu| nlu.index(&house, nlu.lexicon("en")));
}

fn main() {
    divan::main();
}
