//! Lines for whole groups of things: every domain, class and verb that a row of the specification names.

use super::*;

use Tier::{Act, Ask, Never};

fn none() -> serde_json::Value {
    json!({})
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    comfort(&mut all);
    alarms(&mut all);
    covers(&mut all);
    valves(&mut all);
    generic(&mut all);
    settings_and_scenes(&mut all);
    one_verb_each(&mut all);
    all
}

/// Whatever a lamp, a fan or a vacuum can do is free; only what its name says to burn is not.
fn comfort(all: &mut Vec<Case>) {
    for id in ["light.a", "fan.a", "media_player.a", "vacuum.a", "humidifier.a"] {
        for verb in [Verb::TurnOn, Verb::TurnOff, Verb::Start, Verb::SetPercentage, Verb::Play] {
            all.push(Case::new(entity(id, "", "Thing"), verb, none(), Act, "comfort"));
        }
        let (tier, by) = match id {
            "fan.a" | "humidifier.a" => (Ask, "heat"),
            _ => (Act, "comfort"),
        };
        all.push(Case::new(entity(id, "", "Thing"), Verb::SendCommand, none(), Ask, "send_command"));
        all.push(Case::new(entity(id, "", "Fireplace"), Verb::TurnOn, none(), tier, by));
        all.push(Case::new(entity(id, "", "Fireplace"), Verb::TurnOff, none(), Act, "comfort"));
    }
    for id in ["climate.a", "water_heater.a"] {
        let by = if id == "climate.a" { "climate" } else { "water_heater" };
        for verb in [Verb::TurnOn, Verb::TurnOff, Verb::SetHvacMode, Verb::SetMode] {
            all.push(Case::new(entity(id, "", "Thing"), verb, none(), Act, by));
        }
        // What warms a room is no fire: only a switch of that name is asked about.
        all.push(Case::new(entity(id, "", "Space heater"), Verb::TurnOn, none(), Act, by));
        all.push(Case::new(entity(id, "", "Sauna"), Verb::TurnOn, none(), Ask, "heat"));
        all.push(Case::new(entity(id, "", "Sauna"), Verb::TurnOff, none(), Act, by));
    }
    for (celsius, tier, by) in [(55.0, Act, "water_heater"), (55.1, Ask, "water_heater hot")] {
        for arg in ["temperature", "target_temp_high"] {
            let set = |id: &str, verb, tier, by| {
                Case::new(entity(id, "", "Thing"), verb, json!({ arg: celsius }), tier, by)
            };
            all.push(set("water_heater.a", Verb::SetTemperature, tier, by));
            all.push(set("climate.a", Verb::SetTemperature, Act, "climate"));
        }
    }
}

/// Each way to arm against each present mode: what guards less is asked about.
fn alarms(all: &mut Vec<Case>) {
    let modes = [
        ("disarmed", [false, false, false, false]),
        ("disarming", [false, false, false, false]),
        ("armed_home", [false, false, false, false]),
        ("armed_night", [true, false, false, false]),
        ("armed_away", [true, true, false, false]),
        ("armed_vacation", [true, true, false, false]),
        ("armed_custom_bypass", [true, true, false, false]),
        ("arming", [true, true, false, false]),
        ("pending", [true, true, false, false]),
        ("triggered", [true, true, false, false]),
        ("", [true, true, false, false]),
    ];
    let panel = || entity("alarm_control_panel.a", "", "Alarm");
    for (now, weaker) in modes {
        let arms = [Verb::ArmHome, Verb::ArmNight, Verb::ArmAway, Verb::ArmVacation];
        for (verb, weaker) in arms.into_iter().zip(weaker) {
            let (tier, by) = if weaker { (Ask, "alarm.arm down") } else { (Act, "alarm.arm") };
            all.push(Case { state: state(now), ..Case::new(panel(), verb, none(), tier, by) });
        }
        for (verb, by) in [
            (Verb::ArmCustomBypass, "alarm.bypass"),
            (Verb::Disarm, "alarm.disarm"),
            (Verb::Trigger, "alarm.trigger"),
        ] {
            all.push(Case { state: state(now), ..Case::new(panel(), verb, none(), Ask, by) });
        }
    }
}

/// Ways to open further, and ways to shut. A position that is not given may be any.
fn moves() -> [(Verb, serde_json::Value, bool); 10] {
    [
        (Verb::Open, none(), true),
        (Verb::OpenTilt, none(), true),
        (Verb::SetPosition, json!({"position": 1}), true),
        (Verb::SetPosition, none(), true),
        (Verb::SetTiltPosition, json!({"tilt_position": 1}), true),
        (Verb::SetTiltPosition, none(), true),
        (Verb::Close, none(), false),
        (Verb::CloseTilt, none(), false),
        (Verb::SetPosition, json!({"position": 0}), false),
        (Verb::SetTiltPosition, json!({"tilt_position": 0}), false),
    ]
}

fn covers(all: &mut Vec<Case>) {
    let (entry, heavy) = ((Ask, "cover.open entry"), (Ask, "cover.close heavy"));
    let shade = (Act, "cover shade");
    let classes = [
        ("garage", entry, heavy),
        ("gate", entry, heavy),
        ("door", entry, heavy),
        ("window", entry, (Act, "cover.close window")),
        ("blind", shade, shade),
        ("curtain", shade, shade),
        ("shade", shade, shade),
        ("shutter", shade, shade),
        ("awning", shade, shade),
        ("damper", (Ask, "cover.open unknown"), (Ask, "cover.close unknown")),
        ("", (Ask, "cover.open unknown"), (Ask, "cover.close unknown")),
    ];
    for (class, opening, closing) in classes {
        for (verb, args, opens) in moves() {
            let (tier, by) = if opens { opening } else { closing };
            all.push(Case::new(entity("cover.a", class, "Thing"), verb, args, tier, by));
        }
        for verb in [Verb::Stop, Verb::StopTilt] {
            all.push(Case::new(entity("cover.a", class, "Thing"), verb, none(), Act, "cover.stop"));
        }
        // What a cover is not known to do is asked about, whatever its class.
        all.push(Case::new(entity("cover.a", class, "Thing"), Verb::Press, none(), Ask, ""));
    }
}

fn valves(all: &mut Vec<Case>) {
    for class in ["gas", "water", "irrigation", "", "damper"] {
        for (verb, args, opens) in moves() {
            let (tier, by) = match (opens, class) {
                (false, _) => (Act, "valve.close"),
                (true, "gas") => (Never, "valve.open gas"),
                // Without a length it may run for ever.
                (true, "irrigation") => (Ask, ""),
                (true, _) => (Ask, "valve.open water"),
            };
            all.push(Case::new(entity("valve.a", class, "Thing"), verb, args, tier, by));
        }
        all.push(Case::new(entity("valve.a", class, "Thing"), Verb::Stop, none(), Act, "valve.stop"));
        all.push(Case::new(entity("valve.a", class, "Thing"), Verb::Press, none(), Ask, ""));
    }
    for (seconds, tier, by) in
        [(60.0, Act, "valve.open irrigation"), (1800.0, Act, "valve.open irrigation"), (1800.5, Ask, "")]
    {
        let args = json!({"duration": seconds});
        all.push(Case::new(entity("valve.a", "irrigation", "Lawn"), Verb::Open, args, tier, by));
    }
}

/// Things whose domain says nothing: free, unless their name says what hangs on them.
fn generic(all: &mut Vec<Case>) {
    let ids = [
        "switch.a",
        "button.a",
        "number.a",
        "select.a",
        "text.a",
        "scene.a",
        "date.a",
        "datetime.a",
        "time.a",
        "timer.a",
        "todo.a",
    ];
    // Name, the row, and whether turning off is as dangerous as turning on.
    let names = [
        ("Gate", "generic entry", true),
        ("Kettle", "generic fire", false),
        ("Space heater", "generic heat", false),
        ("Fridge", "generic critical", true),
        ("Pump", "generic flow", true),
        ("Sprinkler", "generic irrigation", false),
        ("Camera", "generic watch", true),
        ("Router", "generic network", true),
    ];
    for id in ids {
        for verb in [Verb::TurnOn, Verb::TurnOff, Verb::Press, Verb::SetValue, Verb::Activate] {
            all.push(Case::new(entity(id, "", "Thing"), verb, none(), Act, "generic"));
            for (name, by, off) in names {
                let free = verb == Verb::TurnOff && !off;
                let (tier, by) = if free { (Act, "generic") } else { (Ask, by) };
                all.push(Case::new(entity(id, "", name), verb, none(), tier, by));
            }
            let reset = entity(id, "", "Factory reset");
            all.push(Case::new(reset, verb, none(), Never, "administration"));
        }
        // A pump that must run is not stopped unasked; a sprinkler's is.
        all.push(Case::new(entity(id, "", "Sprinkler pump"), Verb::TurnOff, none(), Act, "generic"));
        all.push(Case::new(entity(id, "", "Sprinkler pump"), Verb::TurnOn, none(), Ask, "generic flow"));
    }
}

/// Settings of devices are nobody's, and so is what administers, in every domain; scenes of Home Assistant are asked
/// about.
fn settings_and_scenes(all: &mut Vec<Case>) {
    for domain in Domain::ALL {
        let thing = || entity(&format!("{}.a", domain.word()), "", "Thing");
        for category in [Category::Config, Category::Diagnostic] {
            let setting = Entity { category, ..thing() };
            all.push(Case::new(setting, Verb::TurnOn, none(), Never, "category"));
        }
        let reset = Entity { name: "Factory reset".into(), ..thing() };
        all.push(Case::new(reset, Verb::TurnOff, none(), Never, "administration"));
    }
    let foreign = |id: &str| Entity { source: "hass".into(), ..entity(id, "", "Thing") };
    for verb in [Verb::Activate, Verb::TurnOn] {
        all.push(Case::new(foreign("scene.a"), verb, none(), Ask, "scene of home assistant"));
        all.push(Case::new(foreign("switch.a"), verb, none(), Act, "generic"));
        all.push(Case::new(foreign("light.a"), verb, none(), Act, "comfort"));
    }
}

/// For what a row names by its verb: that verb, and one that is unknown there.
fn one_verb_each(all: &mut Vec<Case>) {
    for (id, verb, tier, by) in [
        ("lock.a", Verb::Lock, Act, "lock.lock"),
        ("lock.a", Verb::Unlock, Ask, "lock.unlock"),
        ("lock.a", Verb::Open, Ask, "lock.unlock"),
        ("lock.a", Verb::TurnOn, Ask, ""),
        ("alarm_control_panel.a", Verb::TurnOn, Ask, ""),
        ("siren.a", Verb::TurnOn, Ask, "siren"),
        ("siren.a", Verb::TurnOff, Ask, "siren"),
        ("siren.a", Verb::SetVolume, Ask, "siren"),
        ("camera.a", Verb::TurnOn, Act, "camera.on"),
        ("camera.a", Verb::TurnOff, Ask, "camera.off"),
        ("camera.a", Verb::Press, Ask, ""),
        ("update.a", Verb::Install, Never, "update.install"),
        ("update.a", Verb::Press, Ask, ""),
        ("script.a", Verb::Run, Ask, "script"),
        ("script.a", Verb::TurnOff, Ask, "script"),
        ("notify.a", Verb::SendMessage, Act, "notify"),
        ("notify.a", Verb::Press, Ask, ""),
        ("lawn_mower.a", Verb::StartMowing, Ask, "mower.start"),
        ("lawn_mower.a", Verb::Dock, Act, "mower.stop"),
        ("lawn_mower.a", Verb::Pause, Act, "mower.stop"),
        ("lawn_mower.a", Verb::Stop, Act, "mower.stop"),
        ("lawn_mower.a", Verb::TurnOff, Ask, ""),
    ] {
        all.push(Case::new(entity(id, "", "Thing"), verb, none(), tier, by));
    }
    // What no row knows, by domain: it is asked about whatever it is to do, and whatever its class says it is.
    let unknown =
        ["binary_sensor", "device_tracker", "event", "image", "person", "sensor", "tag", "weather", "quux"];
    for domain in unknown {
        let id = format!("{domain}.a");
        for verb in Verb::ALL {
            let by = if *verb == Verb::SendCommand { "send_command" } else { "" };
            all.push(Case::new(entity(&id, "", "Thing"), *verb, none(), Ask, by));
        }
        for class in ["garage", "window", "curtain", "gas", "irrigation"] {
            for (verb, args, _) in moves() {
                all.push(Case::new(entity(&id, class, "Thing"), verb, args, Ask, ""));
            }
            let minute = json!({"duration": 60});
            all.push(Case::new(entity(&id, class, "Thing"), Verb::Open, minute, Ask, ""));
        }
    }
    // A name raises only what its domain says nothing about: a lamp at the gate is a lamp.
    for name in ["Gate", "Space heater", "Fridge", "Pump", "Sprinkler", "Camera", "Router"] {
        all.push(Case::new(entity("light.a", "", name), Verb::TurnOn, none(), Act, "comfort"));
        all.push(Case::new(entity("lock.a", "", name), Verb::Lock, none(), Act, "lock.lock"));
    }
}
