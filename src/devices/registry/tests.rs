use std::collections::BTreeMap;

use super::*;
use crate::devices::profile::Profiles;
use crate::home::{Availability, Category, Entity, House, Places};

/// The registry only hands ports on.
struct NoPort;

fn entity(id: &EntityId) -> Entity {
    Entity {
        id: id.clone(),
        name: id.object_id().into(),
        aliases: Vec::new(),
        area: None,
        device: None,
        device_class: None,
        category: Category::Main,
        unit: None,
        actions: Vec::new(),
        members: Vec::new(),
        reports_state: true,
        source: "test".into(),
    }
}

fn codec(profile: &str, topic: &str) -> Arc<dyn Codec> {
    let profiles = Profiles::embedded().unwrap();
    let given = BTreeMap::from([("topic".to_owned(), toml::Value::from(topic))]);
    Arc::new(profiles.get(profile).unwrap().bind(&given).unwrap())
}

fn registry(entities: &[(&str, &str, &str)]) -> (Registry<NoPort>, SharedHouse, Vec<EntityId>) {
    let house = SharedHouse::new(House::new(Places::default()));
    let registry = Registry::new(house.clone());
    let ids = entities
        .iter()
        .map(|(id, profile, topic)| {
            let id = EntityId::parse(id).unwrap();
            house.write().insert(entity(&id));
            registry.insert(id.clone(), codec(profile, topic), Arc::new(NoPort));
            id
        })
        .collect();
    (registry, house, ids)
}

fn arrival(retained: bool, seconds: u64) -> Arrival {
    Arrival {
        at: DateTime::UNIX_EPOCH + Duration::from_secs(seconds),
        since_boot: Duration::from_secs(seconds),
        retained,
        connection: 3,
    }
}

#[test]
fn a_message_reaches_every_entity_that_reads_its_topic_once() {
    let (registry, house, ids) = registry(&[
        ("light.desk", "zigbee2mqtt.light", "desk"),
        ("light.shelf", "zigbee2mqtt.light", "shelf"),
    ]);
    assert_eq!(
        registry.subscriptions(),
        [
            "zigbee2mqtt/bridge/state",
            "zigbee2mqtt/desk",
            "zigbee2mqtt/desk/availability",
            "zigbee2mqtt/shelf",
            "zigbee2mqtt/shelf/availability",
        ]
    );
    registry.on_message("zigbee2mqtt/desk", br#"{"state":"ON","brightness":254}"#, arrival(true, 1));
    registry.on_message("zigbee2mqtt/bridge/state", br#"{"state":"online"}"#, arrival(true, 2));
    registry.on_message("zigbee2mqtt/shelf/availability", br#"{"state":"offline"}"#, arrival(false, 3));
    registry.on_message("zigbee2mqtt/nobody", b"1", arrival(false, 4));

    let house = house.read();
    let desk = house.state("light.desk").unwrap();
    assert_eq!((desk.text(), desk.availability), (Some("on"), Availability::Online));
    let stamp = desk.reported.unwrap();
    assert!(!stamp.live, "a retained message says what was");
    assert_eq!((stamp.connection, stamp.since_boot), (3, Duration::from_secs(1)));
    let shelf = house.state("light.shelf").unwrap();
    assert_eq!((shelf.text(), shelf.availability), (None, Availability::Offline));
    assert_eq!(registry.counts(), Counts { messages: 4, unread: 1, faults: 0 });
    assert_eq!(registry.last_message(&ids[0]).unwrap().topic, "zigbee2mqtt/bridge/state");
    assert!(registry.speaker(&ids[0]).is_some());
}

#[test]
fn faults_are_counted_and_the_state_stays() {
    let (registry, house, ids) = registry(&[("light.desk", "zigbee2mqtt.light", "desk")]);
    registry.on_message("zigbee2mqtt/desk", br#"{"state":"ON"}"#, arrival(false, 1));
    let long = vec![b' '; MAX_STATE_BYTES + 1];
    for bad in [&b"\xff\xfe"[..], b"{\"state\":", b"[]", b"{\"state\":\"DIM\"}", &long] {
        registry.on_message("zigbee2mqtt/desk", bad, arrival(false, 2));
    }
    assert_eq!(registry.faults(&ids[0]), 5);
    assert_eq!(registry.counts().faults, 5);
    assert_eq!(house.read().state("light.desk").unwrap().text(), Some("on"));
    let last = registry.last_message(&ids[0]).unwrap();
    assert_eq!((last.payload.len(), last.cut), (4096, true));
    assert_eq!(last.fault, Some(Fault::TooLong { bytes: MAX_STATE_BYTES + 1, limit: MAX_STATE_BYTES }));
}

/// The last number stays, as Home Assistant has it (DISCOVERY.md, sensor); before the first one nothing is known.
#[test]
fn b38_what_is_no_number_is_counted_and_never_becomes_a_value() {
    let (registry, house, ids) = registry(&[("sensor.t", "plain.sensor", "t")]);
    registry.on_message("t/state", b"warm", arrival(false, 1));
    assert_eq!(house.read().state("sensor.t").and_then(State::text), None);
    registry.on_message("t/state", b"21.5", arrival(false, 2));
    registry.on_message("t/state", b"warm", arrival(false, 3));
    assert_eq!(house.read().state("sensor.t").unwrap().text(), Some("21.5"));
    assert_eq!(registry.faults(&ids[0]), 2);
    assert!(matches!(registry.last_message(&ids[0]).unwrap().fault, Some(Fault::Value { .. })));
}

#[test]
fn replacing_and_removing_say_which_filters_change() {
    let (registry, _, ids) =
        registry(&[("light.desk", "plain.light", "a"), ("switch.fan", "plain.switch", "b")]);
    let new = registry.insert(ids[0].clone(), codec("plain.light", "c"), Arc::new(NoPort));
    assert_eq!(new, ["c/availability", "c/brightness", "c/state"]);
    assert_eq!(registry.remove(&ids[0]), ["c/availability", "c/brightness", "c/state"]);
    assert_eq!(registry.remove(&ids[0]), Vec::<String>::new());
    assert_eq!(registry.subscriptions(), ["b/availability", "b/state"]);
    assert!(registry.speaker(&ids[0]).is_none());
}
