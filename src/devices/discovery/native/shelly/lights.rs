//! Lamps of a Shelly: dimmers, colours, white of a temperature, and bulbs with both.
//!
//! Source: the pages of Light, RGB, RGBW, CCT and RGBCCT in Shelly's API documentation. The separate white of an RGBW
//! lamp is neither read nor set: it stays as it is when the colour changes.

use serde_json::{Map, Value, json};

use super::{keys, read};

/// Whites of Shelly's lamps where the device does not say others, in kelvin.
const WARMEST: u32 = 2700;
const COLDEST: u32 = 6500;

/// Shortest transition that a device takes, in seconds.
const MIN_TRANSITION: f64 = 0.5;

/// The keys of a lamp: component `name` of `kind` with this `number`, called on `rpc`.
pub(super) fn keys_of(kind: &str, number: &str, name: &str, rpc: &str) -> Map<String, Value> {
    let service = if kind == "light" { "Light".to_owned() } else { kind.to_uppercase() };
    let (colors, whites) = (kind.starts_with("rgb"), kind.ends_with("cct"));
    // A lamp of both says which of the two it shines in.
    let both = colors && whites;
    let mode = |word: &str| if both { format!(",\"mode\":\"{word}\"") } else { String::new() };
    let given = |variable: &str, text: &str| format!("{{% if {variable} is defined %}}{text}{{% endif %}}");
    let transition = format!(",\"transition_duration\":{{{{ [{MIN_TRANSITION}, transition] | max }}}}");
    let mut on = format!("\"id\":{number},\"on\":true");
    // The device counts from 1 to 100.
    on += &given("brightness", ",\"brightness\":{{ [1, (brightness / 2.55) | round(0)] | max }}");
    if colors {
        on +=
            &given("red", &format!("{},\"rgb\":[{{{{ red }}}},{{{{ green }}}},{{{{ blue }}}}]", mode("rgb")));
    }
    if whites {
        on += &given("color_temp", &format!("{},\"ct\":{{{{ color_temp }}}}", mode("cct")));
    }
    on += &given("transition", &transition);
    let off = format!("\"id\":{number},\"on\":false{}", given("transition", &transition));
    let call = |params: &str| {
        format!("{{\"id\":1,\"src\":\"homeloop\",\"method\":\"{service}.Set\",\"params\":{{{params}}}}}")
    };
    let mut config = keys(json!({
        "schema": "template",
        "command_topic": rpc,
        "command_on_template": call(&on),
        "command_off_template": call(&off),
        "state_template": read(name, "output", "{{ 'on' if c.output else 'off' }}"),
        "brightness_template": read(name, "brightness", "{{ (c.brightness * 2.55) | round(0) }}"),
    }));
    if colors {
        for (at, channel) in ["red", "green", "blue"].into_iter().enumerate() {
            let value = if both {
                format!("{{{{ 'None' if c.mode is defined and c.mode == 'cct' else c.rgb[{at}] }}}}")
            } else {
                format!("{{{{ c.rgb[{at}] }}}}")
            };
            config.insert(format!("{channel}_template"), read(name, "rgb", &value).into());
        }
    }
    if whites {
        let value = if both {
            "{% if c.mode is defined and c.mode == 'cct' %}{{ c.ct }}{% endif %}"
        } else {
            "{{ c.ct }}"
        };
        config.extend(keys(json!({
            "color_temp_template": read(name, "ct", value),
            "color_temp_kelvin": true,
            "min_kelvin": WARMEST,
            "max_kelvin": COLDEST,
        })));
    }
    config
}
