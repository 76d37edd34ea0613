//! What a rule must say to be one, and where its ranges and hours end.

use chrono::NaiveTime;

use super::*;

fn rule(change: impl FnOnce(&mut Rule)) -> Rule {
    let mut rule = Rule::empty(Decision::Ask);
    change(&mut rule);
    rule
}

/// Each condition alone is enough, and none is not.
#[test]
fn a_rule_speaks_of_something() {
    type Change = fn(&mut Rule);
    let conditions: [Change; 12] = [
        |rule| rule.entities.push(EntityId::parse("lock.a").unwrap()),
        |rule| rule.domains.push(Domain::Lock),
        |rule| rule.areas.push("hall".into()),
        |rule| rule.verbs.push(Verb::Unlock),
        |rule| rule.args.extend([(Arg::Position, Range::default())]),
        |rule| rule.principals.push("token:kid".into()),
        |rule| rule.channels.push(Channel::Http),
        |rule| rule.hours = Some(hours("20:30", "06:30")),
        |rule| rule.days.push(Weekday::Mon),
        |rule| rule.somebody_home = Some(false),
        |rule| rule.alarm.push("armed_away".into()),
        |rule| rule.tainted = Some(false),
    ];
    assert_eq!(rule(|_| {}).check(), Err(RuleError::NoCondition));
    for (at, condition) in conditions.iter().enumerate() {
        assert_eq!(rule(condition).check(), Ok(()), "{at}");
    }
}

#[test]
fn only_one_entity_with_a_reason_can_be_lowered() {
    let entity = |id: &str| EntityId::parse(id).unwrap();
    for (decision, entities, reason, checked) in [
        (Decision::Allow, vec![], Some("because"), Err(RuleError::LowersWithoutEntity(0))),
        (Decision::Allow, vec!["lock.a", "lock.b"], Some("because"), Err(RuleError::LowersWithoutEntity(2))),
        (Decision::Allow, vec!["lock.a"], None, Err(RuleError::LowersWithoutReason)),
        (Decision::Allow, vec!["lock.a"], Some("four"), Err(RuleError::LowersWithoutReason)),
        (Decision::Allow, vec!["lock.a"], Some(" four "), Err(RuleError::LowersWithoutReason)),
        (Decision::Allow, vec!["lock.a"], Some("fives"), Ok(())),
        (Decision::Ask, vec!["lock.a", "lock.b"], None, Ok(())),
        (Decision::Deny, vec![], None, Ok(())),
    ] {
        let mut rule = rule(|rule| rule.domains.push(Domain::Lock));
        rule.decision = decision;
        rule.entities = entities.iter().map(|id| entity(id)).collect();
        rule.reason = reason.map(str::to_owned);
        assert_eq!(rule.check(), checked, "{decision:?} {entities:?} {reason:?}");
        assert_eq!(
            rule.may_lower(),
            entities.len() == 1 && reason.is_some_and(|reason| reason.trim().len() >= 5),
            "{entities:?} {reason:?}"
        );
    }
}

#[test]
fn a_range_has_both_ends_and_is_not_empty() {
    let range = |min, max| Range { min, max, is: Vec::new() };
    for (min, max, fits) in
        [(Some(1.0), Some(2.0), true), (Some(2.0), Some(2.0), true), (Some(2.1), Some(2.0), false)]
    {
        let rule = rule(|rule| rule.args.extend([(Arg::Position, range(min, max))]));
        assert_eq!(rule.check().is_ok(), fits, "{min:?} {max:?}");
    }
    let words = Range { is: vec!["off".into(), "true".into()], ..Range::default() };
    for (range, value, held) in [
        (&range(Some(1.0), Some(2.0)), ArgValue::Number(1.0), true),
        (&range(Some(1.0), Some(2.0)), ArgValue::Number(2.0), true),
        (&range(Some(1.0), Some(2.0)), ArgValue::Number(0.9), false),
        (&range(Some(1.0), Some(2.0)), ArgValue::Number(2.1), false),
        (&range(None, Some(2.0)), ArgValue::Number(-5.0), true),
        (&words, ArgValue::Number(1.0), false),
        (&words, ArgValue::Text("off".into()), true),
        (&words, ArgValue::Text("on".into()), false),
        (&words, ArgValue::Bool(true), true),
        (&words, ArgValue::Bool(false), false),
        (&words, ArgValue::Rgb([0, 0, 0]), false),
    ] {
        assert_eq!(range.contains(&value), held, "{range:?} {value:?}");
    }
}

fn hours(from: &str, to: &str) -> Hours {
    let time = |text: &str| NaiveTime::parse_from_str(text, "%H:%M").unwrap();
    Hours { from: time(from), to: time(to) }
}

#[test]
fn hours_hold_their_beginning_and_not_their_end() {
    for (from, to, at, held) in [
        ("08:00", "18:00", "08:00", true),
        ("08:00", "18:00", "17:59", true),
        ("08:00", "18:00", "18:00", false),
        ("08:00", "18:00", "07:59", false),
        ("20:30", "06:30", "20:30", true),
        ("20:30", "06:30", "23:59", true),
        ("20:30", "06:30", "00:00", true),
        ("20:30", "06:30", "06:29", true),
        ("20:30", "06:30", "06:30", false),
        ("20:30", "06:30", "20:29", false),
        // The same twice is the whole day.
        ("07:00", "07:00", "07:00", true),
        ("07:00", "07:00", "06:59", true),
    ] {
        let time = NaiveTime::parse_from_str(at, "%H:%M").unwrap();
        assert_eq!(hours(from, to).contains(time), held, "{from} to {to} at {at}");
    }
}

#[test]
fn a_grant_ends_after_it_begins_and_within_thirty_days() {
    let from = DateTime::UNIX_EPOCH;
    let admin = Principal {
        name: "local".into(),
        channel: Channel::Local,
        scopes: vec![crate::policy::Scope::Admin],
    };
    let month = 30 * 86_400;
    for (seconds, checked) in [
        (-1, Err(GrantError::Span)),
        (0, Err(GrantError::Span)),
        (1, Ok(())),
        (month, Ok(())),
        (month + 1, Err(GrantError::Span)),
    ] {
        let grant = Grant {
            id: "g".into(),
            entity: EntityId::parse("lock.a").unwrap(),
            verbs: vec![Verb::Unlock],
            principal: "token:cleaner".into(),
            from,
            until: from + chrono::TimeDelta::seconds(seconds),
            plan_hash: None,
            given_by: "local".into(),
            reason: "the cleaner".into(),
        };
        assert_eq!(grant.check(&admin), checked, "{seconds}");
        let of_any_text = Grant { verbs: vec![Verb::Unlock, Verb::SendCommand], ..grant.clone() };
        assert_eq!(of_any_text.check(&admin), Err(GrantError::AnyText), "{seconds}");
        let of_one_plan = Grant { plan_hash: Some("a".into()), ..of_any_text };
        assert_eq!(of_one_plan.check(&admin), checked, "{seconds}");
        let of_nothing = Grant { verbs: Vec::new(), ..grant };
        assert_eq!(of_nothing.check(&admin), Err(GrantError::NoVerb), "{seconds}");
    }
}

#[test]
fn a_tier_of_the_home_file_is_a_rule_for_that_entity() {
    let id = EntityId::parse("switch.oven").unwrap();
    for (tier, decision) in [
        (Tier::Read, Decision::Allow),
        (Tier::Act, Decision::Allow),
        (Tier::Ask, Decision::Ask),
        (Tier::Never, Decision::Deny),
    ] {
        let rule = Rule::for_entity(id.clone(), tier, "it is a lamp");
        assert_eq!((rule.decision, &rule.entities), (decision, &vec![id.clone()]));
        assert_eq!(rule.name, "home file: switch.oven");
        assert!(rule.may_lower() && rule.check().is_ok());
        let raising = rule.only_raising();
        assert!(!raising.may_lower() && raising.name.contains("it is a lamp"));
    }
}

#[test]
fn the_home_files_tiers_are_part_of_the_version() {
    let plain = Policy::default();
    assert_eq!(plain.clone().of_home("").version, plain.version);
    let changed = plain.clone().of_home("abc");
    assert_eq!(changed.version, format!("{}-abc", plain.version));
}
