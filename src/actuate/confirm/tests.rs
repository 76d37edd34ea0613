//! What every verb waits for.

mod edges;
mod terms;
mod times;

use chrono::DateTime;
use serde_json::{Value, json};

use super::*;
use crate::home::{ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Category, EntityId, Verb};

fn entity(action: &Action) -> Entity {
    let mut spec = ActionSpec::new(action.verb);
    if action.args.contains_key(&Arg::Value) {
        spec = spec.with(ArgSpec::required(Arg::Value, ArgKind::Number { min: 0.0, max: 100.0, step: 0.5 }));
    }
    Entity {
        id: action.entity.clone(),
        name: String::new(),
        aliases: Vec::new(),
        area: None,
        device: None,
        device_class: None,
        category: Category::Main,
        unit: None,
        actions: vec![spec],
        members: Vec::new(),
        reports_state: true,
        source: String::new(),
    }
}

fn action(id: &str, verb: Verb, args: Value) -> Action {
    let mut action = Action::new(EntityId::parse(id).unwrap(), verb);
    for (name, value) in args.as_object().unwrap() {
        let value = match value {
            Value::Number(number) => ArgValue::Number(number.as_f64().unwrap()),
            Value::Bool(flag) => ArgValue::Bool(*flag),
            Value::Array(parts) if parts.len() == 3 => {
                ArgValue::Rgb(serde_json::from_value(value.clone()).unwrap())
            }
            Value::Array(_) => ArgValue::Numbers(serde_json::from_value(value.clone()).unwrap()),
            other => ArgValue::Text(other.as_str().unwrap().to_owned()),
        };
        action.args.insert(Arg::from_word(name).unwrap(), value);
    }
    action
}

/// A state that came with report number `sequence`. The member `state` is the value.
fn state(report: &Value, sequence: u64, live: bool) -> State {
    let stamp = Stamp { at: DateTime::UNIX_EPOCH, since_boot: Duration::ZERO, live, connection: 1, sequence };
    let mut update = crate::home::Update::default();
    for (name, value) in report.as_object().unwrap() {
        if name == "state" {
            update.value = Some(value.as_str().map(|value| value.to_owned().into()));
        } else {
            update.attributes.push((name.clone().into(), Some(value.clone())));
        }
    }
    let mut state = State::default();
    state.apply(&update, stamp);
    state
}

fn seen(goal: &Goal, report: &Value) -> Seen {
    goal.look(&state(report, 2, true), |stamp| stamp.live, |stamp| stamp.live && stamp.sequence > 1)
}

type Line = (&'static str, Verb, Value, Value, Value, Seen);

/// entity, verb, arguments, state before, report after, what it says.
fn lines() -> Vec<Line> {
    use Seen::{Failed, Opposite, Other, Pending, Satisfied};
    let n = || json!({});
    let is = |value: &str| json!({"state": value});
    let at = |value: &str, position: u8| json!({"state": value, "current_position": position});
    vec![
        ("light.a", Verb::TurnOn, n(), is("off"), is("on"), Satisfied),
        ("light.a", Verb::TurnOn, n(), is("off"), is("off"), Opposite),
        ("light.a", Verb::TurnOff, n(), is("on"), is("off"), Satisfied),
        ("light.a", Verb::TurnOff, n(), is("on"), is("on"), Opposite),
        (
            "light.a",
            Verb::TurnOn,
            json!({"brightness_pct": 40}),
            n(),
            json!({"state": "on", "brightness": 102}),
            Satisfied,
        ),
        (
            "light.a",
            Verb::TurnOn,
            json!({"brightness_pct": 40}),
            n(),
            json!({"state": "on", "brightness": 107}),
            Satisfied,
        ),
        (
            "light.a",
            Verb::TurnOn,
            json!({"brightness_pct": 40}),
            n(),
            json!({"state": "on", "brightness": 108}),
            Other,
        ),
        ("light.a", Verb::TurnOn, json!({"brightness_pct": 40}), n(), is("on"), Other),
        ("light.a", Verb::TurnOn, json!({"brightness_pct": 0}), n(), is("off"), Satisfied),
        (
            "light.a",
            Verb::TurnOn,
            json!({"color_temp_kelvin": 4000}),
            n(),
            json!({"state": "on", "color_temp_kelvin": 4098}),
            Satisfied,
        ),
        (
            "light.a",
            Verb::TurnOn,
            json!({"color_temp_kelvin": 4000}),
            n(),
            json!({"state": "on", "color_temp_kelvin": 4200}),
            Other,
        ),
        (
            "light.a",
            Verb::TurnOn,
            json!({"rgb_color": [255, 0, 0]}),
            n(),
            json!({"state": "on", "hs_color": [0, 100]}),
            Satisfied,
        ),
        (
            "light.a",
            Verb::TurnOn,
            json!({"rgb_color": [255, 0, 0]}),
            n(),
            json!({"state": "on", "hs_color": [240, 100]}),
            Other,
        ),
        (
            "light.a",
            Verb::TurnOn,
            json!({"effect": "rainbow"}),
            n(),
            json!({"state": "on", "effect": "rainbow"}),
            Satisfied,
        ),
        ("switch.a", Verb::TurnOn, n(), n(), is("on"), Satisfied),
        ("siren.a", Verb::TurnOff, n(), n(), is("off"), Satisfied),
        ("camera.a", Verb::TurnOff, n(), n(), is("off"), Satisfied),
        ("camera.a", Verb::TurnOn, n(), n(), is("idle"), Satisfied),
        ("camera.a", Verb::TurnOn, n(), n(), is("unknown"), Other),
        ("cover.a", Verb::Open, n(), is("closed"), is("opening"), Pending),
        ("cover.a", Verb::Open, n(), is("closed"), is("open"), Satisfied),
        ("cover.a", Verb::Open, n(), at("closed", 0), at("open", 15), Pending),
        ("cover.a", Verb::Open, n(), at("closed", 0), at("open", 97), Satisfied),
        ("cover.a", Verb::Open, n(), is("closed"), is("closed"), Opposite),
        ("cover.a", Verb::Close, n(), at("open", 100), at("open", 60), Pending),
        ("cover.a", Verb::Close, n(), at("open", 60), at("open", 100), Opposite),
        ("cover.a", Verb::Close, n(), is("open"), is("closing"), Pending),
        ("cover.a", Verb::Close, n(), at("open", 100), at("closed", 0), Satisfied),
        ("cover.a", Verb::SetPosition, json!({"position": 40}), at("open", 100), at("open", 42), Satisfied),
        ("cover.a", Verb::SetPosition, json!({"position": 40}), at("open", 100), at("closing", 42), Pending),
        ("cover.a", Verb::SetPosition, json!({"position": 40}), at("open", 10), at("open", 5), Other),
        ("cover.a", Verb::Stop, n(), is("opening"), is("open"), Satisfied),
        ("cover.a", Verb::Stop, n(), is("opening"), is("opening"), Pending),
        ("cover.a", Verb::OpenTilt, n(), n(), json!({"current_tilt_position": 100}), Satisfied),
        ("cover.a", Verb::CloseTilt, n(), n(), json!({"current_tilt_position": 0}), Satisfied),
        (
            "cover.a",
            Verb::SetTiltPosition,
            json!({"tilt_position": 30}),
            n(),
            json!({"current_tilt_position": 50}),
            Other,
        ),
        ("cover.a", Verb::StopTilt, n(), is("opening"), is("open"), Satisfied),
        ("valve.a", Verb::Close, n(), is("open"), is("closed"), Satisfied),
        (
            "climate.a",
            Verb::SetTemperature,
            json!({"temperature": 26}),
            n(),
            json!({"temperature": 26}),
            Satisfied,
        ),
        (
            "climate.a",
            Verb::SetTemperature,
            json!({"temperature": 26}),
            n(),
            json!({"temperature": 25.5}),
            Other,
        ),
        (
            "climate.a",
            Verb::SetTemperature,
            json!({"temperature": 26, "hvac_mode": "cool"}),
            n(),
            json!({"state": "cool", "temperature": 26}),
            Satisfied,
        ),
        (
            "climate.a",
            Verb::SetTemperature,
            json!({"temperature": 26, "hvac_mode": "cool"}),
            n(),
            json!({"state": "off", "temperature": 26}),
            Other,
        ),
        (
            "climate.a",
            Verb::SetTemperature,
            json!({"target_temp_low": 20, "target_temp_high": 24}),
            n(),
            json!({"target_temp_low": 20, "target_temp_high": 24}),
            Satisfied,
        ),
        ("climate.a", Verb::SetHvacMode, json!({"hvac_mode": "heat"}), n(), is("heat"), Satisfied),
        (
            "climate.a",
            Verb::SetFanMode,
            json!({"fan_mode": "low"}),
            n(),
            json!({"fan_mode": "low"}),
            Satisfied,
        ),
        (
            "climate.a",
            Verb::SetSwingMode,
            json!({"swing_mode": "on"}),
            n(),
            json!({"swing_mode": "off"}),
            Other,
        ),
        (
            "climate.a",
            Verb::SetSwingHorizontalMode,
            json!({"swing_horizontal_mode": "left"}),
            n(),
            json!({"swing_horizontal_mode": "left", "swing_mode": "off"}),
            Satisfied,
        ),
        (
            "climate.a",
            Verb::SetPresetMode,
            json!({"preset_mode": "eco"}),
            n(),
            json!({"preset_mode": "eco"}),
            Satisfied,
        ),
        ("climate.a", Verb::SetHumidity, json!({"humidity": 50}), n(), json!({"humidity": 51}), Satisfied),
        ("climate.a", Verb::TurnOff, n(), n(), is("off"), Satisfied),
        ("climate.a", Verb::TurnOn, n(), n(), is("cool"), Satisfied),
        ("climate.a", Verb::TurnOn, n(), n(), is("off"), Other),
        ("water_heater.a", Verb::SetMode, json!({"mode": "eco"}), n(), is("eco"), Satisfied),
        ("humidifier.a", Verb::SetMode, json!({"mode": "eco"}), n(), json!({"mode": "eco"}), Satisfied),
        ("fan.a", Verb::SetPercentage, json!({"percentage": 50}), n(), json!({"percentage": 50}), Satisfied),
        ("fan.a", Verb::SetPercentage, json!({"percentage": 50}), n(), json!({"percentage": 66}), Other),
        ("fan.a", Verb::SetPercentage, json!({"percentage": 0}), n(), is("off"), Satisfied),
        (
            "fan.a",
            Verb::Oscillate,
            json!({"oscillating": true}),
            n(),
            json!({"oscillating": true}),
            Satisfied,
        ),
        (
            "fan.a",
            Verb::SetDirection,
            json!({"direction": "reverse"}),
            n(),
            json!({"direction": "reverse"}),
            Satisfied,
        ),
        ("lock.a", Verb::Lock, n(), is("unlocked"), is("locking"), Pending),
        ("lock.a", Verb::Lock, n(), is("unlocked"), is("locked"), Satisfied),
        ("lock.a", Verb::Lock, n(), is("unlocked"), is("jammed"), Failed),
        ("lock.a", Verb::Lock, n(), is("unlocked"), is("unlocked"), Opposite),
        ("lock.a", Verb::Unlock, n(), is("locked"), is("unlocked"), Satisfied),
        ("lock.a", Verb::Unlock, n(), is("locked"), is("locked"), Opposite),
        ("lock.a", Verb::Open, n(), is("locked"), is("unlocked"), Other),
        ("lock.a", Verb::Open, n(), is("locked"), is("open"), Satisfied),
        ("alarm_control_panel.a", Verb::ArmHome, n(), is("disarmed"), is("arming"), Pending),
        ("alarm_control_panel.a", Verb::ArmHome, n(), is("disarmed"), is("armed_home"), Satisfied),
        ("alarm_control_panel.a", Verb::ArmAway, n(), is("disarmed"), is("armed_home"), Other),
        ("alarm_control_panel.a", Verb::ArmAway, n(), is("disarmed"), is("disarmed"), Opposite),
        ("alarm_control_panel.a", Verb::ArmNight, n(), is("disarmed"), is("armed_night"), Satisfied),
        ("alarm_control_panel.a", Verb::ArmVacation, n(), is("disarmed"), is("armed_vacation"), Satisfied),
        ("alarm_control_panel.a", Verb::ArmCustomBypass, n(), n(), is("armed_custom_bypass"), Satisfied),
        ("alarm_control_panel.a", Verb::Disarm, n(), is("armed_away"), is("disarmed"), Satisfied),
        ("alarm_control_panel.a", Verb::Disarm, n(), is("armed_away"), is("armed_away"), Opposite),
        ("alarm_control_panel.a", Verb::Trigger, n(), n(), is("triggered"), Satisfied),
        ("media_player.a", Verb::TurnOn, n(), n(), is("idle"), Satisfied),
        ("media_player.a", Verb::TurnOff, n(), n(), is("standby"), Satisfied),
        ("media_player.a", Verb::Play, n(), n(), is("buffering"), Pending),
        ("media_player.a", Verb::Play, n(), n(), is("playing"), Satisfied),
        ("media_player.a", Verb::PlayMedia, json!({"media": "x"}), n(), is("playing"), Satisfied),
        ("media_player.a", Verb::Pause, n(), n(), is("paused"), Satisfied),
        ("media_player.a", Verb::Stop, n(), n(), is("idle"), Satisfied),
        (
            "media_player.a",
            Verb::SetVolume,
            json!({"volume_pct": 30}),
            n(),
            json!({"volume_level": 0.31}),
            Satisfied,
        ),
        (
            "media_player.a",
            Verb::SetVolume,
            json!({"volume_pct": 30}),
            n(),
            json!({"volume_level": 0.35}),
            Other,
        ),
        (
            "media_player.a",
            Verb::VolumeUp,
            n(),
            json!({"volume_level": 0.3}),
            json!({"volume_level": 0.32}),
            Satisfied,
        ),
        (
            "media_player.a",
            Verb::VolumeUp,
            n(),
            json!({"volume_level": 0.3}),
            json!({"volume_level": 0.3}),
            Other,
        ),
        (
            "media_player.a",
            Verb::VolumeDown,
            n(),
            json!({"volume_level": 0.3}),
            json!({"volume_level": 0.2}),
            Satisfied,
        ),
        ("media_player.a", Verb::Mute, n(), n(), json!({"is_volume_muted": true}), Satisfied),
        ("media_player.a", Verb::Unmute, n(), n(), json!({"is_volume_muted": true}), Other),
        (
            "media_player.a",
            Verb::SelectSource,
            json!({"source": "TV"}),
            n(),
            json!({"source": "TV"}),
            Satisfied,
        ),
        ("vacuum.a", Verb::Start, n(), n(), is("cleaning"), Satisfied),
        ("vacuum.a", Verb::CleanSpot, n(), n(), is("cleaning"), Satisfied),
        ("vacuum.a", Verb::ReturnToBase, n(), n(), is("returning"), Satisfied),
        (
            "vacuum.a",
            Verb::SetFanSpeed,
            json!({"fan_speed": "max"}),
            n(),
            json!({"fan_speed": "max"}),
            Satisfied,
        ),
        ("lawn_mower.a", Verb::StartMowing, n(), n(), is("mowing"), Satisfied),
        ("lawn_mower.a", Verb::Dock, n(), n(), is("docked"), Satisfied),
        ("number.a", Verb::SetValue, json!({"value": 5}), n(), is("5.25"), Satisfied),
        ("number.a", Verb::SetValue, json!({"value": 5}), n(), is("6"), Other),
        ("text.a", Verb::SetValue, json!({"value": "hi"}), n(), is("hi"), Satisfied),
        ("select.a", Verb::SelectOption, json!({"option": "b"}), n(), is("b"), Satisfied),
        ("timer.a", Verb::Start, n(), n(), is("active"), Satisfied),
    ]
}

#[test]
fn every_verb_has_its_goal() {
    let mut shown: Vec<Verb> = Vec::new();
    for (id, verb, args, before, after, wanted) in lines() {
        let action = action(id, verb, args.clone());
        let before = state(&before, 1, true);
        let goal = Goal::of(&action, &entity(&action), &before, ConfirmHint::default());
        assert!(goal.can_be_seen(), "{action}");
        assert_eq!(seen(&goal, &after), wanted, "{action} {after}");
        shown.push(verb);
    }
    let unseen = [
        ("button.a", Verb::Press),
        ("scene.a", Verb::Activate),
        ("script.a", Verb::Run),
        ("notify.a", Verb::SendMessage),
        ("update.a", Verb::Install),
        ("todo.a", Verb::AddItem),
        ("todo.a", Verb::CompleteItem),
        ("todo.a", Verb::RemoveItem),
        ("media_player.a", Verb::NextTrack),
        ("media_player.a", Verb::PreviousTrack),
        ("vacuum.a", Verb::Locate),
        ("vacuum.a", Verb::SendCommand),
    ];
    for (id, verb) in unseen {
        let action = action(id, verb, json!({}));
        let goal = Goal::of(&action, &entity(&action), &State::default(), ConfirmHint::default());
        assert!(!goal.can_be_seen() && !goal.can_be_already && !goal.absolute, "{action}");
        shown.push(verb);
    }
    for verb in Verb::ALL {
        assert!(shown.contains(verb), "no line for {verb}");
    }
}

#[test]
fn motors_pulses_and_steps_are_not_repeated() {
    for (id, verb, absolute) in [
        ("light.a", Verb::TurnOn, true),
        ("climate.a", Verb::TurnOff, true),
        ("alarm_control_panel.a", Verb::ArmAway, true),
        ("cover.a", Verb::Close, false),
        ("lock.a", Verb::Lock, false),
        ("vacuum.a", Verb::Start, false),
        ("media_player.a", Verb::VolumeUp, false),
        ("button.a", Verb::Press, false),
    ] {
        let action = action(id, verb, json!({}));
        let goal = Goal::of(&action, &entity(&action), &State::default(), ConfirmHint::default());
        assert_eq!(goal.absolute, absolute, "{action}");
    }
}

#[test]
fn confirmed_needs_live_report() {
    let on = action("light.a", Verb::TurnOn, json!({"brightness_pct": 40}));
    let goal = Goal::of(&on, &entity(&on), &State::default(), ConfirmHint::default());
    let report = json!({"state": "on", "brightness": 102});
    let look = |state: &State| goal.look(state, |stamp| stamp.live, |stamp| stamp.live && stamp.sequence > 5);
    assert_eq!(look(&state(&report, 6, true)), Seen::Satisfied);
    assert_eq!(look(&state(&report, 6, false)), Seen::Other, "retained");
    assert_eq!(look(&state(&report, 5, true)), Seen::Other, "before the send");
    // The value came retained, and a live report brought only the brightness.
    let mut mixed = state(&json!({"state": "on"}), 4, false);
    let live = state(&json!({"brightness": 102}), 6, true);
    let stamp = *live.attribute_stamps.values().next().unwrap();
    let update = crate::home::Update {
        attributes: vec![("brightness".into(), Some(json!(102)))],
        ..crate::home::Update::default()
    };
    mixed.apply(&update, stamp);
    assert_eq!(look(&mixed), Seen::Other);
    assert!(!goal.holds_already(&mixed, |stamp| stamp.live));
    // The value was live before, and the brightness is new: together they show it.
    let mut whole = state(&json!({"state": "on"}), 4, true);
    whole.apply(&update, stamp);
    assert_eq!(look(&whole), Seen::Satisfied);
    assert!(goal.holds_already(&whole, |stamp| stamp.live));
}

#[test]
fn open_zones_are_told() {
    for (zones, told) in [
        (json!(["Balcony door", "Window"]), vec!["Balcony door", "Window"]),
        (json!("Balcony door"), vec!["Balcony door"]),
        (json!(""), vec![]),
        (json!(3), vec![]),
    ] {
        assert_eq!(details(&state(&json!({"open_zones": zones}), 1, true)), told);
    }
}
