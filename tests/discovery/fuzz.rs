//! Arbitrary input: nothing panics, and limits hold. The same properties as the targets under `tests/fuzz`.

use homeloop::devices::Payload;
use homeloop::devices::template::{MAX_OUTPUT, Scope};
use homeloop::home::State;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{World, sandbox};

/// One announcement of every component with state, for states to be thrown at.
pub fn announcements() -> Vec<(&'static str, Value)> {
    let topics = json!({
        "state_topic": "s", "command_topic": "c", "value_template": "{{ value_json.a | default(value) }}",
        "json_attributes_topic": "s", "brightness": true, "event_types": ["a"], "options": ["a", "b"],
        "position_topic": "s", "set_position_topic": "c", "tilt_status_topic": "s", "tilt_command_topic": "c",
        "mode_state_topic": "s", "mode_command_topic": "c", "temperature_state_topic": "s",
        "temperature_command_topic": "c", "percentage_state_topic": "s", "percentage_command_topic": "c",
        "target_humidity_command_topic": "c", "target_humidity_state_topic": "s", "activity_state_topic": "s",
        "brightness_state_topic": "s", "brightness_command_topic": "c", "hs_state_topic": "s", "hs_command_topic": "c",
        "rgb_state_topic": "s", "rgb_command_topic": "c", "availability_topic": "s", "latest_version_topic": "s",
    });
    let of = |without: &[&str], extra: Value| {
        let mut config = topics.as_object().unwrap().clone();
        for key in without {
            config.remove(*key);
        }
        config.extend(extra.as_object().unwrap().clone());
        Value::Object(config)
    };
    let plain = of(&["options"], json!({}));
    let mut all: Vec<(&'static str, Value)> = [
        "alarm_control_panel",
        "binary_sensor",
        "climate",
        "cover",
        "device_tracker",
        "event",
        "fan",
        "lawn_mower",
        "light",
        "lock",
        "number",
        "sensor",
        "siren",
        "switch",
        "text",
        "update",
        "vacuum",
        "valve",
        "water_heater",
        "date",
        "time",
        "datetime",
    ]
    .into_iter()
    .map(|component| (component, plain.clone()))
    .collect();
    all.push(("select", of(&[], json!({}))));
    all.push(("humidifier", of(&["options"], json!({"modes": ["a"]}))));
    all.push((
        "light",
        of(&["options"], json!({"schema": "json", "supported_color_modes": ["xy", "rgbww", "color_temp"]})),
    ));
    all.push(("sensor", of(&["options"], json!({"device_class": "timestamp"}))));
    all.push(("valve", of(&["options"], json!({"reports_position": true}))));
    all
}

fn key() -> impl Strategy<Value = String> {
    let words = [
        "name",
        "stat_t",
        "cmd_t",
        "state_topic",
        "value_template",
        "val_tpl",
        "device",
        "dev",
        "ids",
        "availability",
        "avty",
        "avty_mode",
        "~",
        "schema",
        "brightness",
        "options",
        "ops",
        "min",
        "max",
        "step",
        "unit_of_meas",
        "dev_cla",
        "uniq_id",
        "sup_clrm",
        "pos_t",
        "modes",
        "cmps",
        "p",
        "o",
        "qos",
        "exp_aft",
        "code",
        "pl_on",
        "ent_cat",
        "migrate_discovery",
        "spd_rng_min",
        "spd_rng_max",
        "temp_cmd_t",
        "evt_typ",
    ];
    prop_oneof![4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => "[a-z_]{1,8}"]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        proptest::sample::select(vec![
            "a/b",
            "s",
            "{{ value }}",
            "{{ value_json.a }}",
            "json",
            "ON",
            "21.5",
            "+/#"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(key(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Filters and functions of templates.
fn call() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "pack",
        "unpack",
        "md5",
        "sha1",
        "from_hex",
        "base64_decode",
        "wordwrap",
        "random",
        "shuffle",
        "sort",
        "min",
        "max",
        "statistical_mode",
        "median",
        "average",
        "atan2",
        "round",
        "int",
        "float",
        "bool",
        "ordinal",
        "slugify",
        "title",
        "version",
        "combine",
        "map",
        "join",
        "format",
        "urlencode",
        "regex_replace",
        "regex_findall",
        "regex_search",
        "strptime",
        "as_datetime",
        "as_timestamp",
        "as_timedelta",
        "timedelta",
        "timestamp_custom",
        "timestamp_local",
        "time_since",
        "time_until",
        "today_at",
        "flatten",
        "zip",
        "set",
        "typeof",
        "truncate",
        "center",
        "to_json",
        "from_json",
        "filesizeformat",
        "clamp",
        "wrap",
        "remap",
        "bitwise_and",
        "list",
    ])
}

fn argument() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        "'[ -&(-\\[\\]-~]{0,12}'",
        proptest::sample::select(vec![
            "value",
            "none",
            "true",
            "[]",
            "[3, 'a', none]",
            "{'a': 1}",
            "now()",
            "timedelta(1)",
            "undefined_x",
            "'>H'",
            "'%Y-%m-%dT%H:%M:%S%z'",
            "'(a+)+(?=b)'",
            "'%5.3f|%s|%(a)s'",
            "99999999999",
            "-1",
            "0",
            "'a' * 9",
            "(1, 2)",
            "set([1])",
            "version('1.2')",
            "value.encode()",
            "('1e400' | float)",
            "default=1",
        ])
        .prop_map(str::to_owned),
    ]
}

fn component() -> impl Strategy<Value = &'static str> {
    let names: Vec<&'static str> =
        announcements().into_iter().map(|(name, _)| name).chain(["device", "tag"]).collect();
    proptest::sample::select(names)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_topic_is_read_or_ignored(topic in ".{0,60}", object in "[ -~]{0,12}") {
        let mut world = World::new();
        world.message(&topic, b"{}", true);
        world.message(&format!("homeassistant/light/{object}/config"), br#"{"cmd_t":"a"}"#, true);
        prop_assert!(world.entities.len() <= 1);
    }

    #[test]
    fn any_announcement_is_read_or_refused(
        component in component(),
        config in proptest::collection::hash_map(key(), json_value(), 0..14),
    ) {
        let mut world = World::new();
        let topic = format!("homeassistant/{component}/x/config");
        let config = Value::Object(config.into_iter().collect());
        world.message(&topic, config.to_string().as_bytes(), true);
        world.message(&topic, config.to_string().as_bytes(), true);
        world.message(&topic, b"", true);
        prop_assert!(world.entities.is_empty(), "a removal leaves nothing");
    }

    #[test]
    fn any_bytes_are_no_announcement(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut world = World::new();
        world.message("homeassistant/device/x/config", &bytes, true);
        world.message("zigbee2mqtt/bridge/devices", &bytes, true);
        world.message("tasmota/discovery/AA/config", &bytes, true);
        prop_assert!(world.entities.is_empty());
    }

    #[test]
    fn any_state_is_read_by_every_component(
        json in json_value(),
        text in "[ -~]{0,30}",
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        for (component, config) in announcements() {
            let mut world = World::new();
            world.message(&format!("homeassistant/{component}/x/config"), config.to_string().as_bytes(), true);
            prop_assert_eq!(world.entities.len(), 1, "{}: {:?}", component, world.notes);
            for payload in [json.to_string().into_bytes(), text.clone().into_bytes(), bytes.clone()] {
                world.message("s", &payload, false);
            }
            for value in world.entities.values().next().unwrap().state.attributes.values() {
                prop_assert!(!value.is_null());
            }
        }
    }

    #[test]
    fn any_call_in_a_template_ends_within_its_limits(
        calls in proptest::collection::vec((call(), proptest::collection::vec(argument(), 0..4), 0..3u8), 1..6),
        payload in "[ -~]{0,40}",
    ) {
        let mut source = String::from("{{ value");
        for (name, arguments, form) in calls {
            let arguments = arguments.join(", ");
            source.push_str(&match form {
                0 => format!("|{name}({arguments})"),
                1 => format!(" < {name}({arguments}) + 1"),
                _ => format!(" ~ now() - {name}({arguments}) % 3"),
            });
        }
        source.push_str(" }}");
        if let Ok(template) = sandbox().compile(&source) {
            let state = State::default();
            let payload = Payload::new(payload.as_bytes(), false);
            let scope = Scope { entity_id: "sensor.x", name: "x", state: &state };
            for text in [template.value(&payload, scope, &[]), template.value_of_bytes(&payload, scope, &[])]
                .into_iter()
                .flatten()
            {
                prop_assert!(text.len() <= MAX_OUTPUT);
            }
        }
    }

    #[test]
    fn any_template_ends_within_its_limits(
        source in "(\\{\\{ |\\{% |value|value_json|\\.a|\\['b'\\]|[|]|int|float|round|default| \\}\\}| %\\}|if |for x in |range|[0-9]|[-+*/%~().,'\\[\\]]| ){0,40}",
        payload in "[ -~]{0,40}",
    ) {
        if let Ok(template) = sandbox().compile(&source) {
            let state = State::default();
            let payload = Payload::new(payload.as_bytes(), false);
            let scope = Scope { entity_id: "sensor.x", name: "x", state: &state };
            if let Ok(text) = template.value(&payload, scope, &[]) {
                prop_assert!(text.len() <= MAX_OUTPUT);
            }
        }
    }
}
