//! Which verbs share a tool: one table.
//!
//! Verbs of one domain and tier share a tool with an explicit verb; verbs of opposite risk never do. So locking and
//! unlocking, arming and disarming, opening and closing what lets people in are tools of their own.

use crate::home::{Domain, Entity, Verb};

/// A tool that acts on entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    pub name: &'static str,
    pub description: &'static str,
}

const LIGHT: Group =
    Group { name: "light", description: "Switch lights and set brightness, colour or colour temperature." };
const SWITCH: Group =
    Group { name: "switch", description: "Switch sockets, switches and cameras on or off." };
const COVER: Group = Group {
    name: "cover",
    description: "Move curtains, blinds, shades, shutters and awnings. Position 100 is open.",
};
const ENTRY_OPEN: Group = Group {
    name: "entry_open",
    description: "Open garages, gates, doors, windows or valves. A person is asked first where the house requires it.",
};
const ENTRY_CLOSE: Group =
    Group { name: "entry_close", description: "Close or stop garages, gates, doors, windows or valves." };
const CLIMATE: Group = Group {
    name: "climate",
    description: "Set heating, cooling, fans, humidity and hot water: mode, target, speed, preset, on or off.",
};
const MEDIA: Group = Group {
    name: "media_player",
    description: "Control players: play, pause, stop, next, previous, volume, source, on or off.",
};
const VACUUM: Group =
    Group { name: "vacuum", description: "Send vacuum cleaners and lawn mowers to work or home." };
const SIREN: Group = Group {
    name: "siren",
    description: "Sound or silence sirens, or trigger the alarm. A person is asked first.",
};
const LOCK_LOCK: Group = Group { name: "lock_lock", description: "Lock doors." };
const LOCK_UNLOCK: Group =
    Group { name: "lock_unlock", description: "Unlock or open doors. A person is asked first and decides." };
const ALARM_ARM: Group =
    Group { name: "alarm_arm", description: "Arm the alarm panel. The panel refuses while zones are open." };
const ALARM_DISARM: Group = Group {
    name: "alarm_disarm",
    description: "Disarm the alarm panel. A person is asked first and decides.",
};
const SETTING: Group = Group {
    name: "device_setting",
    description: "Set numbers, choices and texts of devices, press their buttons, run their own scenes, send a notice.",
};

/// The tool through which `verb` of `entity` is reached; `None` for what no model may do at all.
pub fn tool_for(entity: &Entity, verb: Verb) -> Option<Group> {
    match entity.domain() {
        Domain::Light => Some(LIGHT),
        Domain::Switch | Domain::Camera => Some(SWITCH),
        Domain::Cover if lets_people_in(entity) => Some(entry(verb)),
        Domain::Cover => Some(COVER),
        Domain::Valve => Some(entry(verb)),
        Domain::Climate | Domain::Fan | Domain::Humidifier | Domain::WaterHeater => Some(CLIMATE),
        Domain::MediaPlayer => Some(MEDIA),
        Domain::Vacuum | Domain::LawnMower => Some(VACUUM),
        Domain::Siren => Some(SIREN),
        Domain::Lock if verb == Verb::Lock => Some(LOCK_LOCK),
        Domain::Lock => Some(LOCK_UNLOCK),
        Domain::AlarmControlPanel => Some(match verb {
            Verb::Disarm => ALARM_DISARM,
            Verb::Trigger => SIREN,
            _ => ALARM_ARM,
        }),
        Domain::Number
        | Domain::Select
        | Domain::Text
        | Domain::Date
        | Domain::Time
        | Domain::DateTime
        | Domain::Button
        | Domain::Scene
        | Domain::Script
        | Domain::Notify => Some(SETTING),
        // A firmware installs nothing because a model says so (SAFETY.md section 1, G3).
        Domain::Update => None,
        Domain::BinarySensor
        | Domain::DeviceTracker
        | Domain::Event
        | Domain::Image
        | Domain::Person
        | Domain::Sensor
        | Domain::Tag
        | Domain::Timer
        | Domain::Todo
        | Domain::Weather
        | Domain::Other => None,
    }
}

/// A cover that a person can walk through, or whose class nobody told.
fn lets_people_in(entity: &Entity) -> bool {
    !matches!(
        entity.device_class.as_deref(),
        Some("curtain" | "blind" | "shade" | "shutter" | "awning" | "damper")
    )
}

/// A position may be an opening one, so setting it belongs to the guarded tool.
fn entry(verb: Verb) -> Group {
    match verb {
        Verb::Close | Verb::Stop | Verb::CloseTilt | Verb::StopTilt => ENTRY_CLOSE,
        _ => ENTRY_OPEN,
    }
}
