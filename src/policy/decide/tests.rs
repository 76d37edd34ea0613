//! The precedence, step by step.

mod alarm;
mod reasons;

use std::collections::BTreeMap;

use chrono::{NaiveDate, TimeDelta};

use super::*;
use crate::home::{Arg, ArgValue, Category, Domain, EntityId};
use crate::policy::{Channel, Hours, Raises, Range, Scope};

fn entity(id: &str) -> Entity {
    Entity {
        id: EntityId::parse(id).unwrap(),
        name: "thing".into(),
        aliases: Vec::new(),
        area: Some("hall".into()),
        device: None,
        device_class: None,
        category: Category::Main,
        unit: None,
        actions: Vec::new(),
        members: Vec::new(),
        reports_state: true,
        source: "test".into(),
    }
}

fn action(id: &str, verb: Verb) -> Action {
    Action::new(EntityId::parse(id).unwrap(), verb)
}

fn principal(channel: Channel) -> Principal {
    Principal { name: "token:phone".into(), channel, scopes: vec![Scope::Command] }
}

fn facts() -> Facts {
    let local = NaiveDate::from_ymd_opt(2026, 11, 29).unwrap().and_hms_opt(23, 0, 0).unwrap();
    Facts {
        now: local.and_utc(),
        local,
        somebody_home: Some(true),
        alarm: Some("disarmed".into()),
        outside: None,
    }
}

struct Case {
    policy: Policy,
    facts: Facts,
    grants: Vec<Grant>,
    channel: Channel,
    taint: Option<&'static str>,
    sent: Vec<Action>,
}

impl Case {
    fn new(rules: Vec<Rule>) -> Self {
        Self {
            policy: Policy { rules, ..Policy::default() },
            facts: facts(),
            grants: Vec::new(),
            channel: Channel::Http,
            taint: None,
            sent: Vec::new(),
        }
    }

    fn decide(&self, actions: &[Action]) -> Decided {
        let entities: Vec<Entity> = actions.iter().map(|action| entity(action.entity.as_str())).collect();
        let state = State::default();
        let leaves: Vec<Leaf<'_>> = actions
            .iter()
            .zip(&entities)
            .map(|(action, entity)| Leaf { action, entity, state: &state })
            .collect();
        let principal = principal(self.channel);
        let asked = Asked { principal: &principal, conversation: None, taint: self.taint, sent: &self.sent };
        decide("hash", &leaves, &asked, &self.facts, &self.policy, &self.grants)
    }

    fn decision(&self, id: &str, verb: Verb) -> Decision {
        self.decide(&[action(id, verb)]).decision()
    }
}

fn rule(decision: Decision, change: impl FnOnce(&mut Rule)) -> Rule {
    let mut rule = Rule { name: "r".into(), ..Rule::empty(decision) };
    change(&mut rule);
    rule
}

fn lowers(id: &str) -> Rule {
    rule(Decision::Allow, |rule| {
        rule.entities = vec![EntityId::parse(id).unwrap()];
        rule.reason = Some("it is safe here".into());
    })
}

#[test]
fn deny_beats_ask_beats_allow() {
    let deny = || rule(Decision::Deny, |rule| rule.domains = vec![Domain::Lock]);
    let ask = || rule(Decision::Ask, |rule| rule.verbs = vec![Verb::Unlock]);
    let allow = || lowers("lock.a");
    let cases = [
        (vec![], Decision::Ask),
        (vec![allow()], Decision::Allow),
        (vec![allow(), ask()], Decision::Ask),
        (vec![ask(), allow()], Decision::Ask),
        (vec![allow(), ask(), deny()], Decision::Deny),
        (vec![deny(), ask(), allow()], Decision::Deny),
    ];
    for (rules, decision) in cases {
        assert_eq!(Case::new(rules.clone()).decision("lock.a", Verb::Unlock), decision, "{rules:?}");
    }
    // Over the leaves of a plan as well.
    let case = Case::new(vec![rule(Decision::Deny, |rule| rule.domains = vec![Domain::Fan])]);
    let light = action("light.a", Verb::TurnOn);
    let lock = action("lock.a", Verb::Unlock);
    let fan = action("fan.a", Verb::TurnOn);
    assert_eq!(case.decide(std::slice::from_ref(&light)).decision(), Decision::Allow);
    assert_eq!(case.decide(&[light.clone(), lock.clone()]).decision(), Decision::Ask);
    assert_eq!(case.decide(&[light, lock, fan]).decision(), Decision::Deny);
}

#[test]
fn nothing_lowers_without_an_entity_and_a_reason() {
    let mut nameless = lowers("lock.a");
    nameless.entities.clear();
    nameless.domains = vec![Domain::Lock];
    let mut groundless = lowers("lock.a");
    groundless.reason = None;
    for rule in [nameless, groundless, lowers("lock.b")] {
        assert_eq!(Case::new(vec![rule]).decision("lock.a", Verb::Unlock), Decision::Ask);
    }
}

#[test]
fn what_is_never_can_only_become_a_question() {
    let ask = |reason: Option<&str>| {
        rule(Decision::Ask, |rule| {
            rule.entities = vec![EntityId::parse("update.a").unwrap()];
            rule.reason = reason.map(str::to_owned);
        })
    };
    for (rules, decision) in [
        (vec![], Decision::Deny),
        (vec![lowers("update.a")], Decision::Deny),
        (vec![ask(None)], Decision::Deny),
        (vec![ask(Some("I update by hand"))], Decision::Ask),
        (vec![ask(Some("I update by hand")), lowers("update.a")], Decision::Ask),
    ] {
        assert_eq!(Case::new(rules.clone()).decision("update.a", Verb::Install), decision, "{rules:?}");
    }
}

#[test]
fn a_hard_limit_is_no_question() {
    let hot = action("climate.a", Verb::SetTemperature).with(Arg::Temperature, ArgValue::Number(60.0));
    let case = Case::new(vec![lowers("climate.a")]);
    let decided = case.decide(std::slice::from_ref(&hot));
    assert_eq!(decided.decision(), Decision::Deny);
    assert_eq!(decided.leaves()[0].refusal.as_deref(), Some("temperature 60 °C is outside 10 to 28 °C"));
}

#[test]
fn every_condition_of_a_rule_counts() {
    let on = || action("light.a", Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(40.0));
    type Change = fn(&mut Rule);
    let holds: [Change; 14] = [
        |rule| rule.entities = vec![EntityId::parse("light.a").unwrap()],
        |rule| rule.domains = vec![Domain::Light],
        |rule| rule.areas = vec!["hall".into()],
        |rule| rule.verbs = vec![Verb::TurnOn],
        |rule| {
            rule.args =
                BTreeMap::from([(Arg::BrightnessPct, Range { min: Some(40.0), max: Some(40.0), is: vec![] })])
        },
        |rule| rule.principals = vec!["token:*".into()],
        |rule| rule.principals = vec!["token:phone".into()],
        |rule| rule.channels = vec![Channel::Http],
        |rule| rule.hours = Some(hours(22, 6)),
        |rule| rule.hours = Some(hours(23, 24)),
        |rule| rule.days = vec![chrono::Weekday::Sun],
        |rule| rule.somebody_home = Some(true),
        |rule| rule.alarm = vec!["disarmed".into()],
        |rule| rule.tainted = Some(false),
    ];
    let fails: [Change; 13] = [
        |rule| rule.entities = vec![EntityId::parse("light.b").unwrap()],
        |rule| rule.domains = vec![Domain::Fan],
        |rule| rule.areas = vec!["kitchen".into()],
        |rule| rule.verbs = vec![Verb::TurnOff],
        |rule| {
            rule.args = BTreeMap::from([(Arg::BrightnessPct, Range { min: Some(41.0), ..Range::default() })])
        },
        |rule| rule.args = BTreeMap::from([(Arg::Effect, Range::default())]),
        |rule| rule.principals = vec!["token".into()],
        |rule| rule.channels = vec![Channel::Voice],
        |rule| rule.hours = Some(hours(6, 22)),
        |rule| rule.days = vec![chrono::Weekday::Mon],
        |rule| rule.somebody_home = Some(false),
        |rule| rule.alarm = vec!["armed_away".into()],
        |rule| rule.tainted = Some(true),
    ];
    for (changes, decision) in [(holds.as_slice(), Decision::Deny), (fails.as_slice(), Decision::Allow)] {
        for (at, change) in changes.iter().enumerate() {
            let case = Case::new(vec![rule(Decision::Deny, change)]);
            assert_eq!(case.decide(&[on()]).decision(), decision, "{decision:?} {at}");
        }
    }
    let mut nobody_knows = Case::new(vec![rule(Decision::Deny, |rule| rule.somebody_home = Some(false))]);
    nobody_knows.facts.somebody_home = None;
    assert_eq!(nobody_knows.decide(&[on()]).decision(), Decision::Allow);
}

fn hours(from: u32, to: u32) -> Hours {
    let time = |hour: u32| chrono::NaiveTime::from_hms_opt(hour % 24, 0, 0).unwrap();
    Hours { from: time(from), to: time(to) }
}

#[test]
fn raises_make_a_question_and_never_a_ban() {
    let raises = Raises { when_away: true, when_armed: true, when_tainted: true, ..Raises::default() };
    let with = |change: fn(&mut Case)| {
        let mut case = Case::new(vec![lowers("lock.lowered")]);
        case.policy.raises = raises.clone();
        change(&mut case);
        ["light.a", "lock.a", "lock.lowered"].map(|id| {
            let verb = if id == "light.a" { Verb::TurnOn } else { Verb::Unlock };
            case.decision(id, verb)
        })
    };
    use Decision::{Allow, Ask};
    assert_eq!(with(|_| {}), [Allow, Ask, Allow]);
    assert_eq!(with(|case| case.facts.somebody_home = Some(false)), [Ask, Ask, Ask]);
    assert_eq!(with(|case| case.facts.somebody_home = None), [Allow, Ask, Allow]);
    assert_eq!(with(|case| case.facts.alarm = Some("armed_away".into())), [Ask, Ask, Ask]);
    assert_eq!(with(|case| case.facts.alarm = Some("triggered".into())), [Ask, Ask, Ask]);
    assert_eq!(with(|case| case.taint = Some("Doorbell")), [Ask, Ask, Ask]);
    let mut default = Case::new(Vec::new());
    default.facts.somebody_home = Some(false);
    default.taint = Some("Doorbell");
    assert_eq!(default.decision("light.a", Verb::TurnOn), Allow, "only if so configured");
}

fn lights(count: usize, verb: Verb) -> Vec<Action> {
    (0..count).map(|at| action(&format!("light.l{at}"), verb)).collect()
}

#[test]
fn limits_checked_before() {
    let case = Case::new(Vec::new());
    for (count, verb, decision) in [
        (25, Verb::TurnOn, Decision::Allow),
        (26, Verb::TurnOn, Decision::Ask),
        (100, Verb::TurnOn, Decision::Ask),
        (101, Verb::TurnOn, Decision::Deny),
        (200, Verb::TurnOff, Decision::Allow),
    ] {
        let decided = case.decide(&lights(count, verb));
        assert_eq!(decided.decision(), decision, "{count} {verb}");
        assert_eq!(decided.asks_by_size_only(), decision == Decision::Ask);
    }
    let mut later = Case::new(Vec::new());
    later.sent = lights(20, Verb::TurnOn);
    let more: Vec<Action> = (0..6).map(|at| action(&format!("light.m{at}"), Verb::TurnOn)).collect();
    assert_eq!(later.decide(&more).decision(), Decision::Ask, "what the command has sent already counts");
    let mut same = Case::new(Vec::new());
    same.sent = vec![action("switch.a", Verb::TurnOn); 3];
    assert_eq!(same.decision("switch.a", Verb::TurnOff), Decision::Allow);
    same.sent.push(action("switch.a", Verb::TurnOn));
    assert_eq!(same.decision("switch.a", Verb::TurnOff), Decision::Deny, "five writes to one entity");
    let locks = |count: usize| -> Vec<Action> {
        (0..count).map(|at| action(&format!("lock.l{at}"), Verb::Unlock)).collect()
    };
    assert_eq!(case.decide(&locks(10)).decision(), Decision::Ask);
    assert_eq!(case.decide(&locks(11)).decision(), Decision::Deny, "cannot be shown");
    assert_eq!(case.decide(&[]).decision(), Decision::Deny, "nothing is not allowed either");
}

#[test]
fn tainted_fan_out_is_asked_about() {
    let mut case = Case::new(Vec::new());
    case.taint = Some("Radio");
    assert_eq!(case.decide(&lights(10, Verb::TurnOff)).decision(), Decision::Allow);
    let decided = case.decide(&lights(11, Verb::TurnOff));
    assert_eq!(decided.decision(), Decision::Ask);
    assert_eq!(decided.tier(), Tier::Ask);
    assert_eq!(decided.reasons(), ["11 targets, and text from Radio was read before"]);
    // What the command has sent already counts, each entity once.
    case.sent = lights(10, Verb::TurnOn);
    assert_eq!(case.decide(&lights(10, Verb::TurnOff)).decision(), Decision::Allow);
    assert_eq!(case.decide(&lights(11, Verb::TurnOff)).decision(), Decision::Ask);
}

#[test]
fn a_grant_is_narrow_and_ends() {
    let now = facts().now;
    let grant = Grant {
        id: "1".into(),
        entity: EntityId::parse("lock.side").unwrap(),
        verbs: vec![Verb::Unlock],
        principal: "token:phone".into(),
        from: now,
        until: now + TimeDelta::hours(1),
        plan_hash: None,
        given_by: "local".into(),
        reason: "the cleaner".into(),
    };
    let with = |change: &dyn Fn(&mut Grant, &mut Case)| {
        let mut case = Case::new(Vec::new());
        let mut grant = grant.clone();
        change(&mut grant, &mut case);
        case.grants = vec![grant];
        case.decision("lock.side", Verb::Unlock)
    };
    assert_eq!(with(&|_, _| {}), Decision::Allow);
    assert_eq!(with(&|grant, _| grant.plan_hash = Some("hash".into())), Decision::Allow);
    assert_eq!(with(&|grant, _| grant.plan_hash = Some("other".into())), Decision::Ask);
    assert_eq!(with(&|grant, _| grant.entity = EntityId::parse("lock.front").unwrap()), Decision::Ask);
    assert_eq!(with(&|grant, _| grant.verbs = vec![Verb::Open]), Decision::Ask);
    assert_eq!(with(&|grant, _| grant.principal = "token:*".into()), Decision::Ask, "a name, no pattern");
    assert_eq!(with(&|_, case| case.facts.now = now + TimeDelta::hours(1)), Decision::Ask);
    assert_eq!(with(&|_, case| case.facts.now = now - TimeDelta::seconds(1)), Decision::Ask);
    let deny = rule(Decision::Deny, |rule| rule.domains = vec![Domain::Lock]);
    assert_eq!(with(&|_, case| case.policy.rules = vec![deny.clone()]), Decision::Deny);

    let local =
        |channel, scopes: &[Scope]| Principal { name: "local".into(), channel, scopes: scopes.to_vec() };
    assert!(grant.check(&local(Channel::Local, &[Scope::Admin])).is_ok());
    assert!(grant.check(&local(Channel::Local, &[Scope::Command])).is_err());
    assert!(grant.check(&local(Channel::Http, &[Scope::Admin])).is_err());
    let forever = Grant { until: now + TimeDelta::days(31), ..grant.clone() };
    assert!(forever.check(&local(Channel::Local, &[Scope::Admin])).is_err());
}

#[test]
fn every_channel_same_door() {
    for channel in [
        Channel::Local,
        Channel::Http,
        Channel::Mqtt,
        Channel::Voice,
        Channel::Chat,
        Channel::Mcp,
        Channel::HomeAssistant,
        Channel::Schedule,
        Channel::Evaluation,
    ] {
        let case = Case { channel, ..Case::new(Vec::new()) };
        assert_eq!(case.decision("lock.a", Verb::Unlock), Decision::Ask, "{channel:?}");
        assert_eq!(case.decision("light.a", Verb::TurnOn), Decision::Allow, "{channel:?}");
        assert_eq!(case.decision("update.a", Verb::Install), Decision::Deny, "{channel:?}");
    }
}

#[test]
fn a_free_permit_is_for_the_allowed_plan_alone() {
    use crate::policy::Permit;
    let case = Case::new(Vec::new());
    let lamp = case.decide(&[action("light.a", Verb::TurnOn)]);
    let permit = Permit::free(&lamp).unwrap();
    assert_eq!(permit.approval(), None);
    assert_eq!(lamp.plan_hash(), "hash", "the plan that it was asked about");
    assert!(permit.covers("hash") && !permit.covers("another"));
    assert!(Permit::free(&case.decide(&[action("lock.a", Verb::Unlock)])).is_none());
    // The same reason for two targets is told for each, and once.
    let both = case.decide(&[action("lock.a", Verb::Unlock), action("lock.a", Verb::Unlock)]);
    assert_eq!(both.reasons().len(), 1, "{:?}", both.reasons());
}

#[test]
fn explain_says_which_rule_decided() {
    let case = Case::new(vec![lowers("lock.a")]);
    let text = case.decide(&[action("lock.a", Verb::Unlock)]).explain();
    assert_eq!(
        text,
        "allow (G1)\n  unlock lock.a: allow (G1)\n    G2 by the table, \"lock.unlock\": it lets people in\n    lowered to \
         G1 by rule \"r\": it is safe here\n"
    );
    assert!(case.policy.to_string().contains("allow  r: it is safe here"));
}

#[test]
fn dropping_what_secures_the_house_is_asked_about() {
    for (id, verb, args, decision) in [
        ("lock.a", Verb::Lock, None, Decision::Ask),
        ("lock.a", Verb::Unlock, None, Decision::Allow),
        ("alarm_control_panel.a", Verb::ArmNight, None, Decision::Ask),
        ("alarm_control_panel.a", Verb::ArmCustomBypass, None, Decision::Ask),
        ("alarm_control_panel.a", Verb::Disarm, None, Decision::Allow),
        ("cover.a", Verb::Close, None, Decision::Ask),
        ("cover.a", Verb::SetPosition, Some(0.0), Decision::Ask),
        ("cover.a", Verb::SetPosition, Some(40.0), Decision::Allow),
        ("cover.a", Verb::Open, None, Decision::Allow),
        ("valve.a", Verb::Close, None, Decision::Ask),
        ("light.a", Verb::TurnOff, None, Decision::Allow),
    ] {
        let (entity, mut action) = (entity(id), action(id, verb));
        action.args.extend(args.map(|position| (Arg::Position, ArgValue::Number(position))));
        let state = State::default();
        let leaf = Leaf { action: &action, entity: &entity, state: &state };
        assert_eq!(decide_dropping("hash", &[leaf]).decision(), decision, "{action}");
    }
    assert_eq!(decide_dropping("hash", &[]).decision(), Decision::Ask, "what is gone is not harmless");
}
