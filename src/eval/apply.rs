//! What an action does to the state of a simulated home, as the data sets label it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::home::{Action, Arg, ArgValue, Attr, Domain, House, Stamp, State, Update, Verb, attr};

/// Changes the state of the action's entity as a device would, at once.
pub fn apply(house: &mut House, action: &Action, now: DateTime<Utc>) {
    let Some(state) = house.state(action.entity.as_str()).cloned() else { return };
    let update = effect(action, &state);
    let stamp = Stamp { at: now, since_boot: Duration::from_secs(2), live: true, connection: 1, sequence: 0 };
    house.apply(&action.entity, &update, stamp);
}

/// The report that a device sends after `action`.
pub fn effect(action: &Action, state: &State) -> Update {
    let number = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_number);
    let text = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_text);
    match (action.entity.domain(), action.verb) {
        (Domain::Light, Verb::TurnOn) => light(action, state),
        (Domain::Light, Verb::TurnOff) => Update {
            attributes: vec![(attr::BRIGHTNESS.into(), None), (attr::COLOR_MODE.into(), None)],
            ..Update::value("off")
        },
        (Domain::Fan, Verb::TurnOn) => with("on", attr::PERCENTAGE, json!(100)),
        (Domain::Fan, Verb::TurnOff) => with("off", attr::PERCENTAGE, json!(0)),
        (Domain::Fan, Verb::SetPercentage) => {
            with("on", attr::PERCENTAGE, whole(number(Arg::Percentage).unwrap_or(0.0)))
        }
        (Domain::Fan, Verb::Oscillate) => attribute(attr::OSCILLATING, json!(true)),
        (Domain::Climate | Domain::Humidifier | Domain::WaterHeater, _) => climate(action, state),
        (Domain::MediaPlayer, _) => media(action, state),
        (_, Verb::TurnOn) => Update::value("on"),
        (_, Verb::TurnOff) => Update::value("off"),
        (_, Verb::Open) => position(state, 100.0),
        (_, Verb::Close) => position(state, 0.0),
        (_, Verb::SetPosition) => {
            let target = number(Arg::Position).unwrap_or(0.0);
            with(if target > 0.0 { "open" } else { "closed" }, attr::CURRENT_POSITION, whole(target))
        }
        (_, Verb::Lock) => Update::value("locked"),
        (_, Verb::Unlock) => Update::value("unlocked"),
        (_, Verb::ArmAway) => Update::value("armed_away"),
        (_, Verb::ArmHome) => Update::value("armed_home"),
        (_, Verb::ArmNight) => Update::value("armed_night"),
        (_, Verb::ArmVacation) => Update::value("armed_vacation"),
        (_, Verb::Disarm) => Update::value("disarmed"),
        (Domain::Vacuum, Verb::Start | Verb::CleanSpot) => Update::value("cleaning"),
        // The data labels a stopped vacuum as returning.
        (Domain::Vacuum, Verb::ReturnToBase | Verb::Stop) => Update::value("returning"),
        (Domain::Vacuum | Domain::LawnMower, Verb::Pause) => Update::value("paused"),
        (Domain::LawnMower, Verb::StartMowing) => Update::value("mowing"),
        (Domain::LawnMower, Verb::Dock) => Update::value("returning"),
        (Domain::Todo, Verb::AddItem) => count(state, 1.0),
        (Domain::Todo, Verb::CompleteItem | Verb::RemoveItem) => count(state, -1.0),
        (Domain::Number, Verb::SetValue) => Update::value(plain(number(Arg::Value).unwrap_or(0.0))),
        (Domain::Select, Verb::SelectOption) => {
            Update::value(text(Arg::Option).unwrap_or_default().to_owned())
        }
        (_, _) => Update::default(),
    }
}

fn with(value: &'static str, name: &'static str, attribute: Value) -> Update {
    Update { attributes: vec![(Attr::from(name), Some(attribute))], ..Update::value(value) }
}

fn attribute(name: &'static str, value: Value) -> Update {
    Update { attributes: vec![(Attr::from(name), Some(value))], ..Update::default() }
}

/// A whole number without a point, as devices report it.
fn whole(number: f64) -> Value {
    if number.fract() == 0.0 { json!(number as i64) } else { json!(number) }
}

fn plain(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { number.to_string() }
}

fn count(state: &State, by: f64) -> Update {
    Update::value(plain((state.number().unwrap_or(0.0) + by).max(0.0)))
}

fn position(state: &State, target: f64) -> Update {
    let value = if target > 0.0 { "open" } else { "closed" };
    if state.attributes.contains_key(attr::CURRENT_POSITION) {
        with(value, attr::CURRENT_POSITION, whole(target))
    } else {
        Update::value(value)
    }
}

fn light(action: &Action, state: &State) -> Update {
    let mut update = Update::value("on");
    let modes = state.attributes.get("supported_color_modes").and_then(Value::as_array);
    let dims = modes.is_none_or(|modes| modes.iter().any(|mode| mode.as_str() != Some("onoff")));
    let mut mode = if dims { "brightness" } else { "onoff" };
    for (arg, value) in &action.args {
        match (arg, value) {
            (Arg::BrightnessPct, ArgValue::Number(percent)) => {
                update
                    .attributes
                    .push((attr::BRIGHTNESS.into(), Some(whole((percent * 255.0 / 100.0).round()))));
            }
            (Arg::ColorTempKelvin, ArgValue::Number(kelvin)) => {
                mode = "color_temp";
                update.attributes.push((attr::COLOR_TEMP_KELVIN.into(), Some(whole(*kelvin))));
            }
            (Arg::RgbColor, ArgValue::Rgb(rgb)) => {
                mode = "rgb";
                update.attributes.push((attr::RGB_COLOR.into(), Some(json!(rgb))));
            }
            _ => {}
        }
    }
    update.attributes.push((attr::COLOR_MODE.into(), Some(json!(mode))));
    update
}

fn climate(action: &Action, state: &State) -> Update {
    let number = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_number);
    match action.verb {
        Verb::TurnOff => Update::value("off"),
        Verb::TurnOn if state.text() == Some("off") => Update::value(match action.entity.domain() {
            Domain::Climate => "auto",
            _ => "on",
        }),
        Verb::SetTemperature => attribute(attr::TEMPERATURE, json!(number(Arg::Temperature).unwrap_or(0.0))),
        Verb::SetHumidity => attribute(attr::HUMIDITY, json!(number(Arg::Humidity).unwrap_or(0.0))),
        Verb::SetHvacMode => {
            let mode =
                action.args.get(&Arg::HvacMode).and_then(ArgValue::as_text).unwrap_or("off").to_owned();
            Update { attributes: vec![("hvac_mode".into(), Some(json!(mode)))], ..Update::value(mode) }
        }
        Verb::SetFanMode => {
            let mode = action.args.get(&Arg::FanMode).and_then(ArgValue::as_text).unwrap_or_default();
            attribute(attr::FAN_MODE, json!(mode))
        }
        _ => Update::default(),
    }
}

fn media(action: &Action, state: &State) -> Update {
    let level = state.attribute_number(attr::VOLUME_LEVEL).unwrap_or(0.5);
    let track = state.attribute_number("media_track").unwrap_or(1.0);
    match action.verb {
        Verb::TurnOn => Update::value("on"),
        Verb::TurnOff => Update::value("off"),
        Verb::Play | Verb::PlayMedia => Update::value("playing"),
        Verb::Pause => Update::value("paused"),
        Verb::Stop => Update::value("idle"),
        Verb::NextTrack => attribute("media_track", whole(track + 1.0)),
        Verb::PreviousTrack => attribute("media_track", whole((track - 1.0).max(1.0))),
        Verb::SetVolume => {
            let percent = action.args.get(&Arg::VolumePct).and_then(ArgValue::as_number).unwrap_or(0.0);
            attribute(attr::VOLUME_LEVEL, json!(percent / 100.0))
        }
        Verb::VolumeUp => attribute(attr::VOLUME_LEVEL, json!((level + 0.1).min(1.0))),
        Verb::VolumeDown => attribute(attr::VOLUME_LEVEL, json!((level - 0.1).max(0.0))),
        // The data labels silence by its volume.
        Verb::Mute => Update {
            attributes: vec![
                (attr::VOLUME_LEVEL.into(), Some(json!(0.0))),
                (attr::IS_VOLUME_MUTED.into(), Some(json!(true))),
            ],
            ..Update::default()
        },
        Verb::Unmute => attribute(attr::IS_VOLUME_MUTED, json!(false)),
        _ => Update::default(),
    }
}
