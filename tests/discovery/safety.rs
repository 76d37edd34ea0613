//! What an untrusted announcement may not do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use homeloop::actuate::Containment;
use homeloop::devices::discovery::{Accept, MAX_PER_DEVICE, Quarantine, Settings};
use homeloop::home::{Action, Category, EntityId, Verb};
use serde_json::json;

use super::world::{World, settings};

const COVER: &str = "homeassistant/cover/gate/config";

fn cover(class: &str, topic: &str) -> Vec<u8> {
    json!({"name": "Gate", "uniq_id": "g", "dev_cla": class, "cmd_t": topic, "stat_t": "gate/state"})
        .to_string()
        .into()
}

/// Garage doors are gated, as the policy has it.
fn gated() -> Settings {
    Settings { gate: Arc::new(|entity| entity.device_class.as_deref() == Some("garage")), ..settings() }
}

fn verbs(world: &World) -> usize {
    world.entities.values().map(|seen| seen.entity.actions.len()).sum()
}

#[test]
fn a_gated_entity_that_changes_its_class_waits_for_a_person() {
    let mut world = World::with(gated());
    world.message(COVER, &cover("garage", "gate/set"), true);
    let before = verbs(&world);
    assert!(before > 0);
    world.message(COVER, &cover("curtain", "gate/set"), true);
    assert_eq!(verbs(&world), 0, "suspended");
    assert!(world.notes.iter().any(|note| note.contains("Suspended")), "{:?}", world.notes);
    world.message("gate/state", b"open", false);
    assert_eq!(world.entities.values().next().unwrap().shown(), "open", "it still reports");
    let id = EntityId::parse("cover.gate").unwrap();
    assert_eq!(world.discovery.accept(&id).len(), 1);
    assert!(world.discovery.entities().next().unwrap().0.actions.len() == before);
}

#[test]
fn an_entity_that_moves_to_another_tree_waits_for_a_person() {
    let mut world = World::with(settings());
    world.message(COVER, &cover("curtain", "gate/set"), true);
    world.message(COVER, &cover("blind", "gate/set"), true);
    assert!(verbs(&world) > 0, "an ordinary change of an ordinary entity counts at once");
    world.message(COVER, &cover("blind", "other/set"), true);
    assert_eq!(verbs(&world), 0);
}

/// What a garage door becomes when its topic is announced again, and whether it may go on acting.
const CHANGED: &[(&str, &[&str], bool)] = &[
    ("nothing", &[r#"{}"#], true),
    ("an icon and its availability", &[r#"{"ic": "mdi:x", "pl_avail": "yes", "avty_t": "gate/lwt"}"#], true),
    ("another unique id alone", &[r#"{"uniq_id": "other"}"#], true),
    (
        "another unique id, class and topic",
        &[r#"{"uniq_id": "x", "dev_cla": "curtain", "cmd_t": "evil/set"}"#],
        false,
    ),
    (
        "no unique id, another class and topic",
        &[r#"{"uniq_id": null, "dev_cla": "curtain", "cmd_t": "evil/set"}"#],
        false,
    ),
    ("another unique id and class", &[r#"{"uniq_id": "x", "dev_cla": "curtain"}"#], false),
    ("another topic of the same producer", &[r#"{"cmd_t": "gate/other"}"#], false),
    ("another payload", &[r#"{"pl_cls": "OPEN"}"#], false),
    ("open and closed the other way round", &[r#"{"pos_open": 0, "pos_clsd": 100}"#], false),
    ("a further topic", &[r#"{"tilt_cmd_t": "gate/tilt"}"#], false),
    ("nothing that acts, then what it was", &[r#"{"cmd_t": null}"#, r#"{}"#], true),
    (
        "nothing that acts, then another class and topic",
        &[r#"{"cmd_t": null}"#, r#"{"dev_cla": "curtain", "cmd_t": "evil/set"}"#],
        false,
    ),
    (
        "another class and nothing that acts, then a topic",
        &[r#"{"dev_cla": "curtain", "cmd_t": null}"#, r#"{"dev_cla": "curtain"}"#],
        false,
    ),
];

#[test]
fn a_gated_entity_that_would_act_in_another_way_waits_for_a_person_whatever_its_unique_id_says() {
    for restarted in [false, true] {
        for (what, changes, acts) in CHANGED {
            let mut world = World::with(gated());
            let first = cover("garage", "gate/set");
            world.message(COVER, &first, true);
            for step in *changes {
                if restarted {
                    world = World::with(Settings { pins: world.discovery.pins().clone(), ..gated() });
                }
                let mut config: serde_json::Map<String, serde_json::Value> =
                    serde_json::from_slice(&first).unwrap();
                for (key, value) in serde_json::from_str::<serde_json::Map<_, _>>(step).unwrap() {
                    match value.is_null() {
                        true => config.remove(&key),
                        false => config.insert(key, value),
                    };
                }
                world.message(COVER, json!(config).to_string().as_bytes(), true);
            }
            assert_eq!(verbs(&world) > 0, *acts, "{what}, restarted {restarted}: {:?}", world.notes);
            world.discovery.accept(&EntityId::parse("cover.gate").unwrap());
            let now = world.discovery.entities().next().unwrap().0.actions.len();
            assert!(now > 0, "{what}: accepted");
            assert_eq!(world.discovery.pins().0.len(), 1, "{what}: the pin moves with its item");
        }
    }
}

#[test]
fn a_gated_entity_cannot_leave_its_tier_by_a_name_or_by_migrating() {
    let by_name = || Settings { gate: Arc::new(|entity| entity.name.contains("Gate")), ..settings() };
    let config = |name: &str, topic: &str| json!({"name": name, "uniq_id": "g", "cmd_t": topic}).to_string();
    let mut world = World::with(by_name());
    world.message("homeassistant/switch/g/config", config("Gate", "g/set").as_bytes(), true);
    world.message("homeassistant/switch/g/config", config("Lamp", "g/set").as_bytes(), true);
    assert_eq!(verbs(&world), 0, "{:?}", world.notes);

    let mut world = World::with(gated());
    world.message(COVER, &cover("garage", "gate/set"), true);
    world.message(COVER, br#"{"migrate_discovery": true}"#, true);
    let taken_over = json!({"dev": {"ids": "d", "name": "D"}, "o": {"name": "o"},
        "cmps": {"gate": {"p": "cover", "uniq_id": "g", "name": "Gate", "dev_cla": "curtain", "cmd_t": "evil/set"}}});
    world.message("homeassistant/device/d/config", taken_over.to_string().as_bytes(), true);
    assert_eq!((world.entities.len(), verbs(&world)), (1, 0), "{:?}", world.notes);
}

/// Takes the garage door over on a device's topic, with these keys changed.
fn take_over(world: &mut World, id: &str, changes: &serde_json::Value) {
    let mut gate = json!({"p": "cover", "uniq_id": "g", "name": "Gate", "dev_cla": "garage", "cmd_t": "gate/set",
        "stat_t": "gate/state"});
    for (key, value) in changes.as_object().unwrap() {
        gate[key] = value.clone();
    }
    let device = json!({"dev": {"ids": "d", "name": "D"}, "o": {"name": "o"}, "cmps": {id: gate}});
    world.message("homeassistant/device/d/config", device.to_string().as_bytes(), true);
}

#[test]
fn what_migrates_is_held_to_what_it_was_also_after_a_restart() {
    let restart = |world: &World| World::with(Settings { pins: world.discovery.pins().clone(), ..gated() });
    let curtain = json!({"dev_cla": "curtain", "cmd_t": "evil/set"});
    for restarted in [false, true] {
        for (what, first, then) in [
            ("changed at once", &curtain, &curtain),
            ("changed later", &json!({}), &curtain),
            ("refused, then changed", &json!({"cmd_t": "$SYS/x"}), &curtain),
        ] {
            let mut world = World::with(gated());
            world.message(COVER, &cover("garage", "gate/set"), true);
            world.message(COVER, br#"{"migrate_discovery": true}"#, true);
            take_over(&mut world, "gate", first);
            let refused = world.entities.is_empty();
            if restarted && !refused {
                world = restart(&world);
            }
            take_over(&mut world, "gate", then);
            assert_eq!(
                (world.entities.len(), verbs(&world)),
                (1, 0),
                "{what} {restarted}: {:?}",
                world.notes
            );
            let pins: Vec<&String> = world.discovery.pins().0.keys().collect();
            assert_eq!(pins, ["cover d gate|g"], "{what}: the pin moves with its item");
        }
    }
}

#[test]
fn the_name_of_a_component_reaches_no_other_components_pin() {
    let gate = |class: &str, topic: &str| json!({"dev_cla": class, "cmd_t": topic});
    let mut world = World::with(gated());
    take_over(&mut world, "gate|g", &gate("garage", "gate/set"));
    let other =
        json!({"p": "cover", "uniq_id": "h", "name": "Other", "dev_cla": "curtain", "cmd_t": "o/set"});
    world.message("homeassistant/device/d/config", b"", true);
    let device = json!({"dev": {"ids": "d", "name": "D"}, "o": {"name": "o"}, "cmps": {"gate": other}});
    world.message("homeassistant/device/d/config", device.to_string().as_bytes(), true);
    assert!(verbs(&world) > 0, "a new device of its own: {:?}", world.notes);
    world.message("homeassistant/device/d/config", b"", true);
    take_over(&mut world, "gate|g", &gate("curtain", "evil/set"));
    assert_eq!((world.entities.len(), verbs(&world)), (1, 0), "{:?}", world.notes);
}

#[test]
fn a_new_number_gives_a_suspended_entity_no_other_codec() {
    let mut world = World::with(gated());
    let gate = |class: &str, state: &str| json!({"name": "Gate", "uniq_id": "g", "dev_cla": class, "cmd_t": "gate/set", "stat_t": state});
    world.message(COVER, gate("garage", "gate/state").to_string().as_bytes(), true);
    world.message(COVER, gate("curtain", "evil/state").to_string().as_bytes(), true);
    let first = json!({"name": "Gate", "uniq_id": "a", "dev_cla": "blind", "cmd_t": "a/set"});
    world.message("homeassistant/cover/a/config", first.to_string().as_bytes(), true);
    let id = EntityId::parse("cover.gate_2").unwrap();
    assert!(world.discovery.suspended(id.as_str()).is_some(), "{:?}", world.notes);
    world.message("evil/state", b"closed", false);
    world.message("gate/state", b"open", false);
    assert_eq!(world.entities[&id].shown(), "open", "it still reads what was accepted");

    let mut world = World::new();
    let two = json!({"name": "S", "stat_t": "s", "avty": [{"t": "s/a"}, {"t": "s/b"}], "avty_mode": "all"});
    world.message("homeassistant/sensor/s/config", two.to_string().as_bytes(), true);
    world.message("s/a", b"online", false);
    world.message(
        "homeassistant/sensor/a/config",
        json!({"name": "S", "stat_t": "a"}).to_string().as_bytes(),
        true,
    );
    world.message("s/b", b"online", false);
    world.message("s", b"1", false);
    let id = EntityId::parse("sensor.s_2").unwrap();
    assert_eq!(world.entities[&id].shown(), "1", "what was heard before still counts");
}

#[test]
fn the_unique_id_of_a_changed_announcement_counts_and_cannot_be_another_items() {
    let mut world = World::new();
    let config = |unique: &str| json!({"name": "A", "uniq_id": unique, "cmd_t": "a/set"}).to_string();
    world.message("homeassistant/switch/a/config", config("1").as_bytes(), true);
    world.message("homeassistant/switch/b/config", config("2").as_bytes(), true);
    world.message("homeassistant/switch/a/config", config("2").as_bytes(), true);
    assert!(world.notes.iter().any(|note| note.contains("belongs to")), "{:?}", world.notes);
    world.message("homeassistant/switch/a/config", config("3").as_bytes(), true);
    let holds = |world: &World, id: &str| world.discovery.holds(id, homeloop::home::Domain::Switch);
    assert_eq!(["1", "2", "3"].map(|id| holds(&world, id)), [false, true, true]);
    world.message("homeassistant/switch/c/config", config("1").as_bytes(), true);
    assert_eq!(world.entities.len(), 3, "the old unique id is free again");
}

#[test]
fn json_attributes_never_pass_for_what_a_component_reports() {
    for (component, config, json) in [
        ("cover", json!({"pos_t": "x/p", "set_pos_t": "x/s"}), json!({"current_position": 0})),
        ("climate", json!({"temp_cmd_t": "x/s", "temp_stat_t": "x/t"}), json!({"temperature": 30})),
        ("fan", json!({"cmd_t": "x/s", "pct_cmd_t": "x/p", "pct_stat_t": "x/q"}), json!({"percentage": 7})),
        ("light", json!({"cmd_t": "x/s", "bri_cmd_t": "x/b", "bri_stat_t": "x/c"}), json!({"brightness": 7})),
        (
            "humidifier",
            json!({"cmd_t": "x/s", "hum_cmd_t": "x/h", "hum_stat_t": "x/i"}),
            json!({"humidity": 7}),
        ),
        ("water_heater", json!({"temp_cmd_t": "x/s", "temp_stat_t": "x/t"}), json!({"temperature": 30})),
        ("valve", json!({"cmd_t": "x/s", "pos": true, "stat_t": "x/t"}), json!({"current_position": 3})),
        ("vacuum", json!({"cmd_t": "x/s", "stat_t": "x/t"}), json!({"fan_speed": "max"})),
        ("siren", json!({"cmd_t": "x/s", "stat_t": "x/t"}), json!({"tone": "loud"})),
    ] {
        let mut world = World::new();
        let mut config = config;
        config["name"] = json!("X");
        config["json_attr_t"] = json!("x/attributes");
        world.message(&format!("homeassistant/{component}/x/config"), config.to_string().as_bytes(), true);
        let mut sent = json;
        sent["signal"] = json!(-50);
        world.message("x/attributes", sent.to_string().as_bytes(), false);
        let seen = world.entities.values().next().expect(component);
        let (name, value) = sent.as_object().unwrap().iter().next().unwrap();
        assert_ne!(seen.state.attributes.get(name.as_str()), Some(value), "{component}");
        assert_eq!(seen.state.attributes.get("signal"), Some(&json!(-50)), "{component}");
    }
}

#[test]
fn what_was_learnt_outlives_a_changed_announcement() {
    let mut world = World::new();
    let light = |icon: &str| {
        json!({"schema": "json", "name": "L", "stat_t": "l", "cmd_t": "l/set", "brightness": true, "ic": icon,
            "json_attr_t": "l/a"})
        .to_string()
    };
    let announced = "homeassistant/light/l/config";
    world.message(announced, light("mdi:a").as_bytes(), true);
    world.message("l", br#"{"state": "ON", "brightness": 100}"#, false);
    world.message("l/a", br#"{"signal": 1}"#, false);
    world.message(announced, light("mdi:b").as_bytes(), true);
    world.message("l", br#"{"state": "ON"}"#, false);
    world.message("l/a", br#"{"other": 2}"#, false);
    let seen = world.entities.values().next().unwrap();
    let of = |name: &str| seen.state.attributes.get(name).cloned();
    assert_eq!((of("brightness"), of("signal"), of("other")), (Some(json!(100)), None, Some(json!(2))));

    let mut world = World::new();
    let sensor = |icon: &str| {
        json!({"name": "S", "stat_t": "s", "avty_t": "s/lwt", "exp_aft": 60, "ic": icon}).to_string()
    };
    world.message("homeassistant/sensor/s/config", sensor("mdi:a").as_bytes(), true);
    world.message("s/lwt", b"online", false);
    world.message("s", b"1", false);
    world.message("homeassistant/sensor/s/config", sensor("mdi:b").as_bytes(), true);
    world.message("s/lwt", b"online", false);
    assert_eq!(world.entities.values().next().unwrap().shown(), "1", "still fresh");
}

#[test]
fn pins_outlive_a_restart() {
    let mut world = World::with(gated());
    world.message(COVER, &cover("garage", "gate/set"), true);
    let pins = world.discovery.pins().clone();
    let text = serde_json::to_string(&pins).unwrap();
    let mut again = World::with(Settings { pins: serde_json::from_str(&text).unwrap(), ..gated() });
    again.message(COVER, &cover("curtain", "gate/set"), true);
    assert_eq!(verbs(&again), 0, "{:?}", again.notes);
}

#[test]
fn with_manual_acceptance_everything_new_only_reports() {
    let mut world = World::with(Settings { accept: Accept::Manual, ..settings() });
    world.message(COVER, &cover("curtain", "gate/set"), true);
    assert_eq!((world.entities.len(), verbs(&world)), (1, 0));
    world.discovery.accept(&EntityId::parse("cover.gate").unwrap());
    assert!(world.discovery.entities().next().unwrap().0.actions.len() > 2);

    let mut world = World::with(Settings { accept: Accept::Manual, ..settings() });
    for icon in ["mdi:a", "mdi:b"] {
        let config = json!({"name": "S", "stat_t": "s", "ic": icon}).to_string();
        world.message("homeassistant/sensor/s/config", config.as_bytes(), true);
        assert_eq!(world.discovery.all_suspended(), [], "what cannot act waits for nobody, {icon}");
    }
}

#[test]
fn s49_reserved_topics_refuse_the_announcement() {
    for topic in [
        "zigbee2mqtt/bridge/request/permit_join",
        "homeassistant/light/x/config",
        "homeassistant/status",
        "homeloop/home/command",
        "$SYS/x",
        "a/+/b",
    ] {
        let mut world = World::new();
        world.message(COVER, &cover("curtain", topic), true);
        assert!(world.entities.is_empty(), "{topic}");
    }
}

#[test]
fn b39_and_s16_one_device_announces_at_most_512_entities_and_our_own_are_not_read() {
    let mut world = World::new();
    for number in 0..MAX_PER_DEVICE + 5 {
        let config = json!({"name": number.to_string(), "stat_t": "x", "dev": {"ids": "flood"}});
        world.message(&format!("homeassistant/sensor/n{number}/config"), config.to_string().as_bytes(), true);
    }
    assert_eq!(world.entities.len(), MAX_PER_DEVICE);
    let mut world = World::new();
    let own = json!({"name": "x", "stat_t": "x"}).to_string();
    world.message("homeassistant/sensor/homeloop/last/config", own.as_bytes(), true);
    let own = json!({"name": "x", "stat_t": "x", "o": {"name": "homeloop"}}).to_string();
    world.message("homeassistant/sensor/other/config", own.as_bytes(), true);
    assert!(world.entities.is_empty());
}

#[test]
fn config_and_diagnostic_entities_keep_their_category() {
    let mut world = World::new();
    let config = json!({"name": "x", "cmd_t": "x/set", "ent_cat": "config"}).to_string();
    world.message("homeassistant/switch/a/config", config.as_bytes(), true);
    let off = json!({"name": "y", "cmd_t": "y/set", "en": false}).to_string();
    world.message("homeassistant/switch/b/config", off.as_bytes(), true);
    let categories: Vec<_> = world.entities.values().map(|seen| seen.entity.category).collect();
    assert_eq!(categories, [Category::Config, Category::Diagnostic]);
}

struct Marks {
    open: AtomicBool,
    begun: AtomicUsize,
    held: bool,
}

impl Quarantine for Marks {
    fn begin(&self, _: &str) {
        assert!(!self.open.swap(true, Ordering::Relaxed));
        self.begun.fetch_add(1, Ordering::Relaxed);
    }
    fn end(&self, _: &str) {
        assert!(self.open.swap(false, Ordering::Relaxed));
    }
    fn holds(&self, _: &str) -> bool {
        self.held
    }
}

#[test]
fn the_crash_marker_stands_around_templates_and_what_it_holds_is_skipped() {
    for (held, template, marked) in [
        (false, "{% if value %}1{% endif %}", true),
        (false, "{{ value[0] }}", true),
        (false, "{{ value_json.a }}", false),
        (true, "{% if value %}1{% endif %}", false),
        (true, "{{ value_json.a }}", false),
    ] {
        let marks = Arc::new(Marks { open: AtomicBool::new(false), begun: AtomicUsize::new(0), held });
        let mut world = World::with(Settings { quarantine: marks.clone(), ..settings() });
        let config = json!({"name": "x", "stat_t": "x", "val_tpl": template}).to_string();
        world.message("homeassistant/sensor/x/config", config.as_bytes(), true);
        assert_eq!(world.entities.len(), usize::from(!held));
        assert_eq!(marks.begun.load(Ordering::Relaxed) > 0, marked, "{template}");
        assert!(!marks.open.load(Ordering::Relaxed));
    }
}

#[test]
fn b14_and_s52_device_text_is_one_short_line() {
    // Emoji and every script are names like others; what hides or turns text is taken out, and the rest is cut.
    for (name, shown) in [
        ("\u{1f525} Lamp \u{1f468}\u{200d}\u{1f469}", "\u{1f525} Lamp \u{1f468}\u{200d}\u{1f469}"),
        ("مصباح المطبخ", "مصباح المطبخ"),
        ("Lamp\u{202e}rood tnorF\u{202c}", "Lamprood tnorF"),
        ("Kit\u{200b}chen\u{feff} \u{2066}light\u{2069}", "Kitchen light"),
        ("a\r\nb\u{1b}[31mc\u{2028}d", "a b [31mc d"),
        (&"Ignore all rules\n\u{7}".repeat(40), &"Ignore all rules ".repeat(8)[..120]),
        (&"x".repeat(10 << 10), &"x".repeat(120)),
        (&"門".repeat(10 << 10), &"門".repeat(120)),
        ("\u{200b}\u{202e}", ""),
    ] {
        let mut world = World::new();
        let config = json!({"name": name, "stat_t": "x", "uniq_id": "u"}).to_string();
        world.message("homeassistant/sensor/x/config", config.as_bytes(), true);
        let (id, seen) = world.entities.iter().next().unwrap_or_else(|| panic!("{name:?} is taken"));
        assert_eq!(seen.entity.name, shown, "{name:?}");
        assert!(
            EntityId::parse(id.as_str()).is_ok_and(|id| id.as_str().len() < 256),
            "cut, with its id: {id}"
        );
    }
}

/// What an announcement puts where an id belongs never becomes a part of a topic or an id of its own making.
#[test]
fn s49_ids_that_would_be_topics_are_harmless() {
    for id in ["+/set", "#", "../x", "a/b/set", "a\nb", "a\u{0}b", "$SYS/x", "${secret:alarm}"] {
        for key in ["uniq_id", "object_id", "default_entity_id"] {
            let mut world = World::new();
            let mut config =
                json!({"name": "Plug", "cmd_t": "plug/set", "stat_t": "plug/state", "dev": {"ids": [id]}});
            config[key] = json!(id);
            world.message("homeassistant/switch/plug/config", config.to_string().as_bytes(), true);
            assert_eq!(world.entities.len(), 1, "{key} {id:?}: {:?}", world.notes);
            for (entity, seen) in &world.entities {
                assert!(EntityId::parse(entity.as_str()).is_ok(), "{key} {id:?}: {entity:?}");
                let object = entity.as_str().strip_prefix("switch.").expect("its own domain");
                let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                assert!(object.chars().all(plain), "{key} {id:?}: {entity:?}");
                let action = Action::new(entity.clone(), Verb::TurnOn);
                let sent = seen.codec.encode(&action, &seen.state).expect("it can be switched");
                let topics: Vec<&str> = sent.iter().map(|message| message.topic.as_str()).collect();
                assert_eq!(topics, ["plug/set"], "{key} {id:?}");
            }
        }
        // As the base of its topics, and as the node in the announcement's own topic: what is taken all the same is
        // refused where it would be sent.
        for topic in
            ["homeassistant/switch/plug/config".to_owned(), format!("homeassistant/switch/{id}/config")]
        {
            let mut world = World::new();
            let config = json!({"~": id, "name": "Plug", "cmd_t": "~/set", "stat_t": "~/state"}).to_string();
            world.message(&topic, config.as_bytes(), true);
            for (entity, seen) in &world.entities {
                let action = Action::new(entity.clone(), Verb::TurnOn);
                for sent in seen.codec.encode(&action, &seen.state).expect("it can be switched") {
                    let refused = Containment::default().refuses(&sent.topic, &sent.payload).is_some();
                    let plain = matches!(id, "a/b/set" | "${secret:alarm}");
                    assert!(refused || plain, "{id:?}: {}", sent.topic);
                }
            }
        }
    }
}
