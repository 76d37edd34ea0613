//! What a policy file may say, and how its mistakes are told.

use super::*;

#[test]
fn the_example_is_the_default_policy_with_examples() {
    let example = parse("policy.toml", EXAMPLE).unwrap();
    let default = Policy::default();
    assert_eq!(example.limits, default.limits);
    assert_eq!(example.raises, default.raises);
    assert_eq!(example.approvals, default.approvals);
    assert!(example.rules.is_empty(), "its rules are comments");
    // The commented rules are rules once the marks are removed.
    let uncommented: String =
        EXAMPLE.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line)).collect::<Vec<_>>().join("\n");
    assert!(parse("policy.toml", &uncommented).unwrap().rules.len() >= 5);
}

#[test]
fn an_empty_file_is_the_default_policy() {
    let empty = parse("policy.toml", "").unwrap();
    assert_eq!(
        Policy { version: String::new(), ..empty },
        Policy { version: String::new(), ..Policy::default() }
    );
    assert_ne!(parse("p", "").unwrap().version, parse("p", "# other\n").unwrap().version);
}

#[test]
fn rules_are_read() {
    let text = r#"
[[rule]]
name = "shutters at night"
decision = "ask"
domain = ["cover"]
area = ["ground"]
verb = ["open", "set_position"]
args = { position = { min = 20 } }
hours = ["22:00", "06:00"]
days = ["sat", "sun"]
somebody_home = false
alarm = ["armed_away"]
channel = ["voice"]
principal = ["voice:*"]
tainted = false
"#;
    let policy = parse("policy.toml", text).unwrap();
    let rule = &policy.rules[0];
    assert_eq!(rule.verbs, [Verb::Open, Verb::SetPosition]);
    assert_eq!(rule.args[&Arg::Position].min, Some(20.0));
    assert_eq!(rule.days, [Weekday::Sat, Weekday::Sun]);
    assert_eq!(rule.channels, [Channel::Voice]);
}

#[test]
fn a_broken_file_stops_the_start_with_file_and_line() {
    let rule = |rest: &str| format!("\n[[rule]]\nname = \"x\"\n{rest}\n");
    for (text, says) in [
        ("limit = 1".to_owned(), "policy.toml:1: unknown field `limit`"),
        ("[limits]\nclimate_mx = 3".to_owned(), "policy.toml:2: unknown field `climate_mx`"),
        ("[limits]\nclimate_min = \"ten\"".to_owned(), "policy.toml:2: invalid type"),
        ("[limits]\nclimate_max = 60".to_owned(), "climate_max 60 must lie within 5 to 35"),
        ("\n[approvals]\nttl_s = 601".to_owned(), "ttl_s is 601; expected 10 to 600"),
        (rule("decision = \"permit\"\nverb = [\"lock\"]"), "policy.toml:4: unknown variant `permit`"),
        (rule("verb = [\"lock\"]"), "missing field `decision`"),
        (rule("decision = \"ask\""), "without any condition"),
        (rule("decision = \"ask\"\nverb = [\"toggle\"]"), "policy.toml:5: \"toggle\" is no verb"),
        (rule("decision = \"ask\"\ndomain = [\"lamp\"]"), "policy.toml:5: \"lamp\" is no domain"),
        (
            rule("decision = \"ask\"\nentity = [\"Light.X\"]"),
            "policy.toml:5: \"Light.X\" is not an entity id",
        ),
        (
            rule("decision = \"ask\"\nargs = { speed = { max = 1 } }"),
            "policy.toml:5: \"speed\" is no argument",
        ),
        (rule("decision = \"ask\"\nhours = [\"22:00\", \"25:00\"]"), "policy.toml:5: \"25:00\" is no time"),
        (rule("decision = \"ask\"\nhours = [\"22:00\", \"22:00\"]"), "begin when they end"),
        (rule("decision = \"ask\"\ndays = [\"someday\"]"), "\"someday\" is no day"),
        (rule("decision = \"ask\"\nalarm = [\"on\"]"), "\"on\" is no state of an alarm panel"),
        (rule("decision = \"ask\"\nchannel = [\"radio\"]"), "unknown variant `radio`"),
        (
            rule("decision = \"allow\"\ndomain = [\"lock\"]\nreason = \"I want to\""),
            "must name exactly one entity",
        ),
        (rule("decision = \"allow\"\nentity = [\"lock.a\"]"), "needs a reason"),
        (rule("decision = \"allow\"\nentity = [\"lock.a\"]\nreason = \"  x  \""), "needs a reason"),
        (
            rule("decision = \"allow\"\nentity = [\"lock.a\", \"lock.b\"]\nreason = \"because\""),
            "must name exactly one entity; it names 2",
        ),
        (
            rule("decision = \"ask\"\nargs = { position = { min = 5, max = 1 } }"),
            "position: min 5 is above max 1",
        ),
        (
            format!("{0}{0}", rule("decision = \"ask\"\nverb = [\"lock\"]")),
            "policy.toml:7: there are two rules named \"x\"",
        ),
    ] {
        let error = parse("policy.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with("policy.toml:"), "{text}\n{error}");
        assert!(error.contains(says), "{text}\nexpected {says}\ngot {error}");
    }
}
