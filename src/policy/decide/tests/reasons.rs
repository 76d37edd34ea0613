//! What is said of each step: the tier, the rule and the last reason.

use super::*;

/// Rules, entity, verb; the tier, the rule and the reasons that follow.
type Line = (Vec<Rule>, &'static str, Verb, Tier, Option<&'static str>, &'static [&'static str]);

/// The tier and the rule of the only leaf, and how its reasons go on after the table's.
fn told(case: &Case, id: &str, verb: Verb) -> (Tier, Option<String>, Vec<String>) {
    let decided = case.decide(&[action(id, verb)]);
    let leaf = &decided.leaves()[0];
    (leaf.tier, leaf.rule.clone(), leaf.reasons[1..].to_vec())
}

#[test]
fn every_step_says_what_it_did() {
    let deny = || rule(Decision::Deny, |rule| rule.domains = vec![Domain::Lock]);
    let ask_lights = || rule(Decision::Ask, |rule| rule.domains = vec![Domain::Light]);
    let by_hand = || {
        rule(Decision::Ask, |rule| {
            rule.entities = vec![EntityId::parse("update.a").unwrap()];
            rule.reason = Some("I update by hand".into());
        })
    };
    let by_rule = Some("r");
    let lines: [Line; 7] = [
        (vec![], "lock.a", Verb::Unlock, Tier::Ask, None, &[]),
        // Denied, it keeps the tier that it has by the table.
        (vec![deny()], "lock.a", Verb::Unlock, Tier::Ask, by_rule, &["denied by rule \"r\""]),
        (
            vec![lowers("lock.a")],
            "lock.a",
            Verb::Unlock,
            Tier::Act,
            by_rule,
            &["lowered to G1 by rule \"r\": it is safe here"],
        ),
        (vec![ask_lights()], "light.a", Verb::TurnOn, Tier::Ask, by_rule, &["raised to G2 by rule \"r\""]),
        (
            vec![by_hand()],
            "update.a",
            Verb::Install,
            Tier::Ask,
            by_rule,
            &["lowered to G2 by rule \"r\": I update by hand"],
        ),
        // Nothing that is never done by itself is ever said to be lowered to G1.
        (
            vec![by_hand(), lowers("update.a")],
            "update.a",
            Verb::Install,
            Tier::Ask,
            by_rule,
            &["lowered to G2 by rule \"r\": I update by hand"],
        ),
        (vec![lowers("light.a")], "light.a", Verb::TurnOn, Tier::Act, None, &[]),
    ];
    for (rules, id, verb, tier, by, reasons) in lines {
        let case = Case::new(rules);
        let expected = (tier, by.map(str::to_owned), reasons.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(told(&case, id, verb), expected, "{:?}", case.policy.rules);
    }
    let mut away = Case::new(Vec::new());
    away.policy.raises.when_away = true;
    away.facts.somebody_home = Some(false);
    let raised = (Tier::Ask, None, vec!["raised to G2: nobody is home".to_owned()]);
    assert_eq!(told(&away, "light.a", Verb::TurnOn), raised);
}

#[test]
fn a_grant_and_a_limit_say_so() {
    let mut case = Case::new(Vec::new());
    case.grants.push(Grant {
        id: "7".into(),
        entity: EntityId::parse("lock.a").unwrap(),
        verbs: vec![Verb::Unlock],
        principal: "token:phone".into(),
        from: case.facts.now,
        until: case.facts.now + TimeDelta::hours(1),
        plan_hash: None,
        given_by: "local".into(),
        reason: "the cleaner".into(),
    });
    let (tier, by, reasons) = told(&case, "lock.a", Verb::Unlock);
    assert_eq!((tier, by.as_deref()), (Tier::Act, Some("grant 7")));
    assert_eq!(reasons, ["lowered to G1 by grant 7 of local: the cleaner"]);
    let hot = action("climate.a", Verb::SetTemperature).with(Arg::Temperature, ArgValue::Number(60.0));
    let decided = case.decide(&[hot]);
    assert_eq!(decided.leaves()[0].reasons, ["temperature 60 °C is outside 10 to 28 °C"]);
}

/// What holds for the whole stands before the leaves.
#[test]
fn the_explanation_begins_with_the_whole() {
    let case = Case::new(Vec::new());
    let text = case.decide(&lights(26, Verb::TurnOn)).explain();
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(
        lines,
        [
            "ask (G2)",
            "  the whole: 26 writes in one command; 25 need no approval",
            "  turn_on light.l0: allow (G1)"
        ]
    );
}
