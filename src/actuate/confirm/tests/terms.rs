//! The same wish in other terms: offsets of a time, notations of a colour.

use super::*;

#[test]
fn a_time_is_the_same_in_every_offset() {
    for (wished, told, same) in [
        ("2026-11-30T07:30:00Z", "2026-11-30T08:30:00+01:00", true),
        ("2026-11-30T07:30:00Z", "2026-11-30T07:30:00+01:00", false),
        ("2026-11-30T07:30", "2026-11-30T07:30:00+01:00", true),
        ("2026-11-30 07:31:00", "2026-11-30T07:30:00+01:00", false),
        ("soon", "soon", true),
        ("soon", "2026-11-30T07:30:00+01:00", false),
    ] {
        let action = action("datetime.a", Verb::SetValue, json!({"value": wished}));
        let goal = Goal::of(&action, &entity(&action), &State::default(), ConfirmHint::default());
        assert_eq!(seen(&goal, &json!({"state": told})) == Seen::Satisfied, same, "{wished} {told}");
    }
}

#[test]
fn white_and_hue_are_seen_in_the_report() {
    use Seen::{Other, Satisfied};
    let on = |more: Value| {
        let mut shown = json!({"state": "on"});
        shown.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        shown
    };
    for (args, after, wanted) in [
        (json!({"white": 200}), on(json!({"color_mode": "white", "brightness": 202})), Satisfied),
        (json!({"white": 200}), on(json!({"color_mode": "rgb", "brightness": 200})), Other),
        (json!({"white": 200}), on(json!({"color_mode": "white", "brightness": 100})), Other),
        (
            json!({"white": 200, "brightness_pct": 40}),
            on(json!({"color_mode": "white", "brightness": 102})),
            Satisfied,
        ),
        (json!({"hs_color": [120, 100]}), on(json!({"hs_color": [119, 98]})), Satisfied),
        (json!({"hs_color": [120, 100]}), on(json!({"rgb_color": [255, 0, 0]})), Other),
        // A lamp shows what of a colour it can.
        (json!({"xy_color": [0.17, 0.7]}), on(json!({"rgb_color": [0, 255, 80]})), Other),
        (json!({"xy_color": [0.3, 0.6]}), on(json!({"hs_color": [119, 98]})), Satisfied),
        (json!({"xy_color": [0.3, 0.6]}), on(json!({"xy_color": [0.31, 0.58]})), Satisfied),
    ] {
        let action = action("light.a", Verb::TurnOn, args);
        let goal = Goal::of(&action, &entity(&action), &State::default(), ConfirmHint::default());
        assert_eq!(seen(&goal, &after), wanted, "{action} {after}");
    }
}
