//! How long a report may take, and how long an opposite one may stand.

use super::*;

#[test]
fn times_are_those_of_the_class() {
    for (id, verb, args, seconds) in [
        ("light.a", Verb::TurnOn, json!({}), 3),
        ("light.a", Verb::TurnOn, json!({"brightness_pct": 0}), 3),
        ("light.a", Verb::TurnOn, json!({"transition": 10}), 13),
        ("light.a", Verb::TurnOn, json!({"transition": 300}), 303),
        ("light.a", Verb::TurnOn, json!({"transition": 301}), 303),
        ("light.a", Verb::TurnOn, json!({"transition": -1}), 3),
        ("switch.a", Verb::TurnOn, json!({}), 3),
        ("timer.a", Verb::Start, json!({}), 5),
        ("camera.a", Verb::TurnOn, json!({}), 10),
        ("fan.a", Verb::TurnOn, json!({}), 5),
        ("fan.a", Verb::SetPercentage, json!({"percentage": 0}), 5),
        ("fan.a", Verb::SetPercentage, json!({"percentage": 50}), 5),
        ("lock.a", Verb::Lock, json!({}), 15),
        ("cover.a", Verb::Open, json!({}), 90),
        ("cover.a", Verb::Stop, json!({}), 10),
        ("climate.a", Verb::SetTemperature, json!({"temperature": 20}), 10),
        ("alarm_control_panel.a", Verb::ArmAway, json!({}), 70),
        ("alarm_control_panel.a", Verb::Disarm, json!({}), 15),
        ("alarm_control_panel.a", Verb::Trigger, json!({}), 15),
        ("media_player.a", Verb::TurnOn, json!({}), 10),
        ("media_player.a", Verb::TurnOff, json!({}), 10),
        ("media_player.a", Verb::Play, json!({}), 10),
        ("media_player.a", Verb::Pause, json!({}), 10),
        ("media_player.a", Verb::Stop, json!({}), 10),
        ("media_player.a", Verb::SelectSource, json!({"source": "TV"}), 10),
        ("media_player.a", Verb::SetVolume, json!({"volume_pct": 30}), 5),
        ("media_player.a", Verb::VolumeUp, json!({}), 5),
        ("media_player.a", Verb::Mute, json!({}), 5),
        ("vacuum.a", Verb::Start, json!({}), 15),
        ("vacuum.a", Verb::SetFanSpeed, json!({"fan_speed": "max"}), 10),
        ("number.a", Verb::SetValue, json!({"value": 5}), 5),
        ("select.a", Verb::SelectOption, json!({"option": "b"}), 5),
    ] {
        let action = action(id, verb, args);
        let goal = |hint| Goal::of(&action, &entity(&action), &State::default(), hint);
        assert_eq!(goal(ConfirmHint::default()).within, Duration::from_secs(seconds), "{action}");
    }
    let arm = action("alarm_control_panel.a", Verb::ArmAway, json!({}));
    let hint = ConfirmHint { within: Some(Duration::from_secs(40)), tolerance: None };
    let goal = Goal::of(&arm, &entity(&arm), &State::default(), hint);
    assert_eq!(goal.within, Duration::from_secs(40), "the profile says");
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
