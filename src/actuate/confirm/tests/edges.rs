//! Where a goal ends: reports that only just say something, or say the opposite, and what is sent though it shows.

use super::*;

#[test]
fn reports_at_the_edge_of_a_goal_say_what_they_say() {
    use Seen::{Opposite, Other, Pending, Satisfied};
    let n = || json!({});
    let is = |value: &str| json!({"state": value});
    let at = |value: &str, position: f64| json!({"state": value, "current_position": position});
    let rgbw = |parts: [u8; 4]| json!({"state": "on", "rgbw_color": parts});
    let warm = || json!({"rgbw_color": [255, 128, 64, 32]});
    let lines: Vec<Line> = vec![
        ("light.a", Verb::TurnOn, json!({"brightness_pct": 0}), is("on"), is("on"), Opposite),
        ("light.a", Verb::TurnOn, warm(), n(), rgbw([255, 128, 64, 32]), Satisfied),
        ("light.a", Verb::TurnOn, warm(), n(), rgbw([255, 0, 64, 32]), Other),
        ("light.a", Verb::TurnOn, warm(), n(), is("on"), Other),
        ("light.a", Verb::TurnOn, json!({"effect": "rainbow"}), n(), is("on"), Other),
        ("fan.a", Verb::TurnOn, json!({"preset_mode": "eco"}), n(), is("on"), Other),
        (
            "cover.a",
            Verb::SetTiltPosition,
            json!({"tilt_position": 30}),
            n(),
            json!({"current_tilt_position": 30}),
            Satisfied,
        ),
        ("camera.a", Verb::TurnOn, n(), is("off"), is("off"), Opposite),
        ("fan.a", Verb::SetPercentage, json!({"percentage": 0}), is("on"), is("on"), Opposite),
        ("media_player.a", Verb::TurnOn, n(), is("off"), is("off"), Opposite),
        ("media_player.a", Verb::TurnOn, n(), is("off"), is("standby"), Opposite),
        (
            "media_player.a",
            Verb::VolumeDown,
            n(),
            json!({"volume_level": 0.3}),
            json!({"volume_level": 0.3}),
            Other,
        ),
        ("alarm_control_panel.a", Verb::Disarm, n(), is("armed_away"), is("disarming"), Pending),
        ("alarm_control_panel.a", Verb::Trigger, n(), is("disarmed"), is("pending"), Pending),
        ("number.a", Verb::SetValue, json!({"value": 5}), n(), is("5.3"), Other),
        // A position that flickers by half a percent goes nowhere.
        ("cover.a", Verb::Close, n(), at("open", 60.0), at("open", 60.0), Opposite),
        ("cover.a", Verb::Close, n(), at("open", 60.0), at("open", 59.5), Opposite),
        ("cover.a", Verb::Close, n(), at("open", 60.0), at("open", 59.0), Pending),
        ("cover.a", Verb::Open, n(), at("closed", 0.0), at("closed", 0.5), Opposite),
        ("cover.a", Verb::Open, n(), at("closed", 0.0), at("closed", 1.0), Pending),
        // It was where it should be: further up is not its way.
        ("cover.a", Verb::SetPosition, json!({"position": 40}), at("open", 40.0), at("open", 45.0), Other),
    ];
    for (id, verb, args, before, after, wanted) in lines {
        let action = action(id, verb, args);
        let goal = Goal::of(&action, &entity(&action), &state(&before, 1, true), ConfirmHint::default());
        assert_eq!(seen(&goal, &after), wanted, "{action} {before} {after}");
    }
}

/// A report as far from the wish as a device may round, and one a little further.
#[test]
fn reports_are_as_exact_as_the_class_asks() {
    use Seen::{Other, Pending, Satisfied};
    for (id, verb, args, attribute, last, first, beyond) in [
        (
            "light.a",
            Verb::TurnOn,
            json!({"color_temp_kelvin": 4000}),
            "color_temp_kelvin",
            4120.0,
            4121.0,
            Other,
        ),
        ("fan.a", Verb::SetPercentage, json!({"percentage": 50}), "percentage", 52.0, 52.1, Other),
        ("humidifier.a", Verb::SetHumidity, json!({"humidity": 50}), "humidity", 51.0, 51.01, Other),
        ("climate.a", Verb::SetHumidity, json!({"humidity": 50}), "humidity", 51.0, 51.01, Other),
        ("climate.a", Verb::SetTemperature, json!({"temperature": 26}), "temperature", 26.25, 26.26, Other),
        ("media_player.a", Verb::SetVolume, json!({"volume_pct": 30}), "volume_level", 0.32, 0.321, Other),
        ("cover.a", Verb::SetPosition, json!({"position": 40}), "current_position", 43.0, 43.1, Pending),
        ("cover.a", Verb::Open, json!({}), "current_position", 95.0, 94.9, Pending),
    ] {
        let action = action(id, verb, args);
        let was = json!({"state": "on", attribute: 50.0});
        let before = if id == "cover.a" { state(&was, 1, true) } else { State::default() };
        let goal = Goal::of(&action, &entity(&action), &before, ConfirmHint::default());
        let value = if verb == Verb::Open { "open" } else { "on" };
        let report = |number: f64| json!({"state": value, attribute: number});
        assert_eq!(seen(&goal, &report(last)), Satisfied, "{action} {last}");
        // On the way where a cover still goes toward its position.
        assert_eq!(seen(&goal, &report(first)), beyond, "{action} {first}");
    }
}

#[test]
fn what_is_to_happen_again_is_sent_though_it_shows_already() {
    for (id, verb, args, now, twice_is_once) in [
        ("cover.a", Verb::Stop, json!({}), json!({"state": "open"}), true),
        ("media_player.a", Verb::PlayMedia, json!({"media": "x"}), json!({"state": "playing"}), false),
        ("light.a", Verb::TurnOn, json!({"flash": "short"}), json!({"state": "on"}), false),
    ] {
        let action = action(id, verb, args);
        let now = state(&now, 1, true);
        let goal = Goal::of(&action, &entity(&action), &now, ConfirmHint::default());
        let shows = goal.wants.iter().all(|want| want.holds(&now, &|stamp: &Stamp| stamp.live));
        assert!(shows && !goal.holds_already(&now, |stamp| stamp.live), "{action}");
        assert_eq!(goal.absolute, twice_is_once, "{action}");
    }
}

/// A verb that says nothing of what it wants has a goal that nobody can see, and is not sent twice.
#[test]
fn without_a_wish_nothing_can_be_seen() {
    for (id, verb) in [
        ("fan.a", Verb::SetPercentage),
        ("climate.a", Verb::SetTemperature),
        ("switch.a", Verb::Press),
        ("camera.a", Verb::Press),
        ("number.a", Verb::SetValue),
    ] {
        let action = action(id, verb, json!({}));
        let goal = Goal::of(&action, &entity(&action), &State::default(), ConfirmHint::default());
        assert!(!goal.can_be_seen() && !goal.can_be_already && !goal.absolute, "{action}");
    }
}
