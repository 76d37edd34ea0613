//! How near an alarm panel is to calling people out.

use super::*;

#[test]
fn a_panel_guards_in_the_order_of_what_follows() {
    for (alarm, nearness) in [
        ("triggered", 3),
        ("pending", 2),
        ("arming", 1),
        ("armed_home", 1),
        ("armed_away", 1),
        ("armed_custom_bypass", 1),
        ("disarmed", 0),
        ("disarming", 0),
        ("unavailable", 0),
        ("", 0),
    ] {
        assert_eq!(guard(alarm), nearness, "{alarm}");
    }
}

/// On its way out of the house a panel guards already.
#[test]
fn a_panel_that_arms_raises_like_an_armed_one() {
    let mut case = Case::new(Vec::new());
    case.policy.raises.when_armed = true;
    for (alarm, decision) in [
        (Some("arming"), Decision::Ask),
        (Some("armed_night"), Decision::Ask),
        (Some("disarmed"), Decision::Allow),
        (None, Decision::Allow),
    ] {
        case.facts.alarm = alarm.map(str::to_owned);
        assert_eq!(case.decision("light.a", Verb::TurnOn), decision, "{alarm:?}");
    }
}
