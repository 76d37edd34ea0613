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

#[test]
fn what_is_to_happen_again_is_sent_though_it_shows_already() {
    for (id, verb, args, now) in [
        ("cover.a", Verb::Stop, json!({}), json!({"state": "open"})),
        ("media_player.a", Verb::PlayMedia, json!({"media": "x"}), json!({"state": "playing"})),
        ("light.a", Verb::TurnOn, json!({"flash": "short"}), json!({"state": "on"})),
    ] {
        let action = action(id, verb, args);
        let now = state(&now, 1, true);
        let goal = Goal::of(&action, &entity(&action), &now, ConfirmHint::default());
        let shows = goal.wants.iter().all(|want| want.holds(&now, &|stamp: &Stamp| stamp.live));
        assert!(shows && !goal.holds_already(&now, |stamp| stamp.live), "{action}");
    }
}

#[test]
fn an_opposite_report_stands_as_long_as_the_class_needs() {
    for (id, verb, seconds) in [
        ("lock.a", Verb::Lock, Some(10)),
        ("lock.a", Verb::Unlock, Some(10)),
        ("alarm_control_panel.a", Verb::ArmAway, Some(3)),
        ("alarm_control_panel.a", Verb::Disarm, Some(5)),
        // The whole time is short enough.
        ("light.a", Verb::TurnOn, None),
    ] {
        let action = action(id, verb, json!({}));
        let goal = Goal::of(&action, &entity(&action), &State::default(), ConfirmHint::default());
        assert_eq!(goal.settle, seconds.map(Duration::from_secs), "{action}");
    }
}
