//! Any text, as a command to a small house and as the one after it: read without a panic.
#![no_main]

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use homeloop::eval::{self, HomeFile};
use homeloop::home::House;
use homeloop::nlu::{Dialogue, Nlu, Request};
use libfuzzer_sys::fuzz_target;

const HOME: &str = r#"{
    "id": "fuzz",
    "floors": [{"id": "up", "name": "Upstairs"}],
    "areas": [{"id": "kitchen", "name": "Kitchen", "floor": "up"}, {"id": "keting", "name": "客厅"}],
    "entities": [
        {"id": "light.kitchen", "name": "Kitchen Light", "area": "kitchen", "state": "on", "attributes": {"color": true}},
        {"id": "cover.blind", "name": "Blind", "area": "kitchen", "state": "open", "attributes": {"device_class": "blind", "current_position": 50}},
        {"id": "climate.keting", "name": "客厅空调", "area": "keting", "state": "cool", "attributes": {"temperature": 26}},
        {"id": "lock.door", "name": "Front Door", "state": "locked"},
        {"id": "todo.list", "name": "Shopping List", "state": "0"}
    ]
}"#;

static NLU: LazyLock<Nlu> = LazyLock::new(|| Nlu::new().expect("the data files are part of the program"));
static HOUSE: LazyLock<House> = LazyLock::new(|| {
    let file: HomeFile = serde_json::from_str(HOME).expect("a home");
    eval::house(&file, now())
});

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_772_600_000, 0).expect("a time")
}

fuzz_target!(|text: &str| {
    for language in [None, Some("en"), Some("zh"), Some("de")] {
        let now = now().with_timezone(&chrono_tz::Europe::Berlin);
        let request = Request { text, language, area: Some("kitchen"), device: None, now };
        let mut dialogue = Dialogue::default();
        let first = NLU.understand(&request, &HOUSE, &dialogue);
        dialogue.update(text, &first);
        let _ = NLU.understand(&request, &HOUSE, &dialogue);
    }
});
