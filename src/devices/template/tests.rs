use super::*;

fn sandbox() -> Sandbox {
    Sandbox::new(Clock::system(), chrono_tz::UTC)
}

fn value(source: &str, payload: &str) -> Result<String, RenderError> {
    let template = sandbox().compile(source).unwrap();
    let payload = Payload::new(payload.as_bytes(), false);
    let state = State::default();
    let scope = Scope { entity_id: "", name: "", state: &state };
    template.value(&payload, scope, &[]).map(Cow::into_owned)
}

#[test]
fn fields_are_read_without_the_engine_and_written_as_python_does() {
    for (source, payload, result) in [
        ("{{ value_json.a.b }}", r#"{"a":{"b":true}}"#, "True"),
        ("{{value_json['a']['b'][0]}}", r#"{"a":{"b":[1e22]}}"#, "1e+22"),
        ("{{ value_json[-1] }}", "[1, 2.0]", "2.0"),
        ("{{ value_json.a }}", r#"{"a":[1,"b",null]}"#, "[1, 'b', None]"),
        ("{{ value_json.missing }}", "{}", ""),
        ("{{ value_json.keys }}", r#"{"keys":7}"#, "7"),
        ("{{ value }}", " x ", "x"),
        ("static", "x", "static"),
    ] {
        assert!(sandbox().compile(source).unwrap().is_plain(), "{source}");
        assert_eq!(value(source, payload).unwrap(), result, "{source}");
    }
    assert!(matches!(value("{{ value_json.a.b }}", "{}"), Err(RenderError::Undefined(_))));
    assert!(matches!(value("{{ value_json.a }}", "NaN"), Err(RenderError::Undefined(_))));
}

#[test]
fn floats_are_written_as_python_writes_them() {
    for (number, text) in [
        (1e3, "1000.0"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e-7, "1e-07"),
        (1.5e-5, "1.5e-05"),
        (1e16, "1e+16"),
        (123_456_789_012_345.6, "123456789012345.6"),
        (-0.0, "-0.0"),
        (f64::NAN, "nan"),
    ] {
        assert_eq!(python_float(number), text);
    }
}

#[test]
fn b31_to_b34_and_b36_what_is_too_long_too_deep_or_unknown_does_not_compile() {
    let compile = |source: &str| sandbox().compile(source).map(|_| ());
    assert_eq!(compile(&"x".repeat(2049)), Err(CompileError::TooLong(2049)));
    for deep in [
        format!("{{{{ {}1{} }}}}", "(".repeat(900), ")".repeat(900)),
        format!("{{{{ {}1 }}}}", "-".repeat(1000)),
        format!("{{{{ 1{} }}}}", "+1".repeat(900)),
        format!("{{{{ value{} }}}}", ".a".repeat(900)),
        format!("{{{{ value{} }}}}", "|abs".repeat(400)),
        format!("{{{{ {}1 }}}}", "not ".repeat(450)),
        "{% if 1 %}".repeat(150),
    ] {
        assert!(matches!(compile(&deep), Err(CompileError::TooDeep(_))), "{deep}");
    }
    for unknown in
        ["{{ value | indent }}", "{{ value is quick }}", "{% include 'x' %}", "{{ value | indent(1e9) }}"]
    {
        assert!(matches!(compile(unknown), Err(CompileError::Unknown { .. })), "{unknown}");
    }
    for broken in ["{{ value", "{% if %}", "{{ %}", "{{% x %}", "{# x"] {
        assert!(matches!(compile(broken), Err(CompileError::Syntax(_))), "{broken}");
    }
}

#[test]
fn b35_and_b37_bombs_run_out_of_fuel_and_the_stack_stays_small() {
    let bombs = [
        "{{ 'x' * 99999999 }}",
        "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='x') %}{% for a in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
        "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "{{ range(99999999) | list }}",
    ];
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || {
            for bomb in bombs {
                assert!(matches!(value(bomb, "x"), Err(RenderError::Failed(_))), "{bomb}");
            }
            let chained = format!("{{{{ 1{} }}}}", "+1".repeat(250));
            assert_eq!(value(&chained, "x").unwrap(), "251");
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn the_state_is_seen_as_this() {
    let template = sandbox().compile("{{ this.state }} {{ this.attributes.x }} {{ entity_id }}").unwrap();
    let mut state = State { value: Some("on".into()), ..State::default() };
    state.attributes.insert("x".into(), 3.into());
    let scope = Scope { entity_id: "light.a", name: "A", state: &state };
    assert_eq!(template.command(scope, &[]).unwrap(), "on 3 light.a");
}

#[test]
fn text_is_formatted_as_python_formats_it() {
    for (source, result) in [
        ("{{ '%05.1f|%-4s|%4s|%+d' % (3.14159, 'a', 'b', 7) }}", "003.1|a   |   b|+7"),
        ("{{ '%d%%' % value|int }} '100' % x", "42% '100' % x"),
        ("{{ '{:>5}{:<3}{:^5}|{:08.3f}|{:+}'.format('a', 'b', 'c', 3.14159, 5) }}", "ab    c  |0003.142|+5"),
        ("{{ '{1} {0} {x}'.format(1, 2, x=3) }}", "2 1 3"),
        ("{{ '%s' % value ~ '!' }}", "42!"),
        ("{{ '{{}}'.format() }}", "{}"),
    ] {
        assert_eq!(value(source, "42").unwrap(), result, "{source}");
    }
}

#[test]
fn many_blocks_one_after_another_are_not_deep() {
    let source = "{% if value %}a{% else %}b{% endif %}".repeat(50);
    assert_eq!(value(&source, "x").unwrap(), "a".repeat(50));
}

#[test]
fn s66_nothing_leads_out_of_the_sandbox() {
    for walk in [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ value.__init__.__globals__ }}",
        "{{ self._TemplateReference__context }}",
        "{{ cycler.__init__ }}",
        "{{ config }}",
        "{{ env }}",
        "{{ environ['HOME'] }}",
        "{{ lipsum() }}",
        "{{ get_flashed_messages() }}",
        "{{ range.__call__ }}",
        "{{ value | attr('__class__') }}",
        "{{ value | tojson(indent=10000000000) }}",
        "{{ 'x' | indent(10000000000) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% from 'os' import system %}",
        "{% extends 'base' %}",
        "{{ states('lock.front_door') }}",
    ] {
        let Ok(template) = sandbox().compile(walk) else { continue };
        let (payload, state) = (Payload::new(b"x", false), State::default());
        let scope = Scope { entity_id: "", name: "", state: &state };
        let result = template.value(&payload, scope, &[]).map(Cow::into_owned);
        // `states` is there and knows nothing: no template reads another device.
        let harmless = ["", "None", "unknown"];
        assert!(result.as_deref().map_or(true, |text| harmless.contains(&text)), "{walk}: {result:?}");
    }
}

#[test]
fn a_source_is_compiled_once_and_forgotten_with_its_last_user() {
    let sandbox = sandbox();
    let first = sandbox.compile("{{ value | upper }}").unwrap();
    let second = sandbox.compile("{{ value | upper }}").unwrap();
    let other = sandbox.compile("{{ value | lower }}").unwrap();
    assert_eq!(sandbox.engine.held(), 2);
    drop(first);
    assert_eq!(sandbox.engine.held(), 2, "somebody still uses it");
    drop(second);
    drop(other);
    assert_eq!(sandbox.engine.held(), 0);
    assert!(sandbox.compile("{{ value | nothing }}").is_err());
    assert!(sandbox.compile("{{ value +++ }}").is_err());
    assert_eq!(sandbox.engine.held(), 0, "what does not compile leaves nothing behind");
}

/// What Home Assistant 2026.2.3 answers over the payload `{"p":1}`: its text, `<RAW>` (something undefined was used, so
/// the payload stands), `<ERROR>` or `<INVALID>`.
#[test]
fn what_is_written_is_what_home_assistant_writes() {
    let mut wrong = Vec::new();
    for line in include_str!("answers.jsonl").lines() {
        let (source, expected): (String, String) = serde_json::from_str(line).unwrap();
        let got = match sandbox().compile(&source) {
            Err(_) => "<INVALID>".to_owned(),
            Ok(_) => match value(&source, r#"{"p":1}"#) {
                Ok(text) => text,
                Err(RenderError::Undefined(_)) => "<RAW>".to_owned(),
                Err(RenderError::Failed(_)) => "<ERROR>".to_owned(),
            },
        };
        if got != expected {
            wrong.push(format!("{source}: {got:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_payload_reads_every_digit_of_a_float() {
    for number in ["59.730000000000004", "183.60000610351562", "1.4586953078643485", "0.30000000000000004"] {
        let payload = format!(r#"{{"a":{number},"l":[{number}]}}"#);
        assert_eq!(value("{{ value_json.a }}", &payload).unwrap(), number);
        assert_eq!(value("{{ value_json.a | float }}", &payload).unwrap(), number);
        assert_eq!(value("{{ value_json.l }}", &payload).unwrap(), format!("[{number}]"));
    }
}

#[test]
fn bytes_are_shown_as_a_literal_and_read_as_bytes() {
    let state = State::default();
    let scope = Scope { entity_id: "", name: "", state: &state };
    let payload = Payload::new(b"\x01\xff'", false);
    for (source, expected) in [
        ("{{ value }}", r#"b"\x01\xff'""#),
        ("{{ value | length }}", "3"),
        ("{{ value[1] }}", "255"),
        ("{{ unpack(value, '>H') }}", "511"),
        ("{{ value.hex() }}", "01ff27"),
        ("{{ value | base64_encode }}", "Af8n"),
        ("{{ value_json is defined }}", "False"),
        ("{{ value | md5 | length }}", "32"),
    ] {
        let template = sandbox().compile(source).unwrap();
        let got = template.value_of_bytes(&payload, scope, &[]);
        assert_eq!(got.as_deref(), Ok(expected), "{source}");
    }
    let command = sandbox().compile("{{ pack(value, '>h') }}").unwrap();
    assert_eq!(command.command(scope, &[("value", Value::from(-2))]).unwrap(), r"b'\xff\xfe'");
}

#[test]
fn chance_follows_the_clock() {
    let draw = |seed| {
        let clock = Clock::simulated(chrono::DateTime::UNIX_EPOCH, seed);
        let template =
            Sandbox::new(clock, chrono_tz::UTC).compile("{{ range(99)|random }}{{ [1,2,3,4]|shuffle }}");
        let (payload, state) = (Payload::new(b"x", false), State::default());
        let scope = Scope { entity_id: "", name: "", state: &state };
        template.unwrap().value(&payload, scope, &[]).map(Cow::into_owned).unwrap()
    };
    assert_eq!(draw(1), draw(1));
    assert!((2..9).any(|seed| draw(seed) != draw(1)));
}

#[test]
fn a_day_by_the_clock_on_the_wall_is_not_always_24_hours() {
    let berlin = Sandbox::new(Clock::system(), chrono_tz::Europe::Berlin);
    let source = "{% set a = as_local(as_datetime('2026-03-28T12:00:00Z')) %}{% set b = a + timedelta(days=1) %}\
                  {{ b }} {{ b.strftime('%Z %z') }} {{ b - a }} {{ as_timestamp(b) - as_timestamp(a) }} {{ a < b }}";
    let (payload, state) = (Payload::new(b"x", false), State::default());
    let scope = Scope { entity_id: "", name: "", state: &state };
    let template = berlin.compile(source).unwrap();
    let got = template.value(&payload, scope, &[]);
    assert_eq!(
        got.as_deref(),
        Ok("2026-03-29 13:00:00+02:00 CEST +0200 1 day, 0:00:00 82800.0 True"),
        "Python keeps the hour"
    );
}

#[test]
fn new_functions_keep_the_limits() {
    let patterns = "{% for i in range(600) %}{{ 'a'|regex_replace('a' ~ i, 'b') }}{% endfor %}";
    let backtracking = "{{ ('a' * 60)|regex_search('(?=(a+)+b)c|(a|aa)+\\\\1$') }}";
    for source in [
        patterns,
        backtracking,
        "{{ 'ab'|wordwrap(1, true, 'x' * 60000) }}",
        "{{ range(9000)|join('x' * 2000) }}",
        "{{ '%999999999d' % 1 }}{{ '{:999999999}'.format(1) }}{{ pack(1, '999999999s') }}{{ 'a'.expandtabs(99999999) }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(900) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(900) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x < ns.x }}",
        "{% set ns = namespace(x={}) %}{% for i in range(900) %}{% set ns.x = {'a': ns.x} %}{% endfor %}\
         {{ ns.x|combine(ns.x, recursive=true)|length }}",
        "{{ now() + timedelta(days=9999999999) }}{{ as_datetime(1e300) }}{{ timedelta(days=1e300) }}",
        "{{ (now() - timedelta(days=999999)).isoformat() }}",
        "{{ [1, 'a', none, 2.5, [1], {}]|sort }}",
        "{{ ['nan'|float, 1, 'nan'|float, 3, 2, 'nan'|float, 9, 8]|sort|length }}",
        "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    ] {
        let result = value(source, "x");
        if let Ok(text) = &result {
            assert!(text.len() <= MAX_OUTPUT, "{source}");
        }
    }
    assert!(
        matches!(value(patterns, "x"), Err(RenderError::Failed(_))),
        "patterns have a budget of their own"
    );
    let nested = format!("{{{{ {}1 < 2{} }}}}", "(1 * ".repeat(20), " < 3)".repeat(20));
    assert!(value(&nested, "x").is_ok_and(|text| !text.is_empty()), "{:?}", value(&nested, "x"));
}

#[test]
fn comparisons_within_comparisons_do_not_grow() {
    for (open, close) in [('(', ')'), ('[', ']')] {
        let nested = |levels: usize| {
            let (open, close) = (format!("{open}1<").repeat(levels), format!("<1{close}").repeat(levels));
            format!("{{{{{open}1{close}}}}}")
        };
        let length = |source: &str| rewrite::operators(source).unwrap().len();
        let (few, many) = (length(&nested(12)), length(&nested(24)));
        assert!(many < 2 * few, "twice the levels are at most twice the text: {few}, {many}");
        assert!(sandbox().compile(&nested(24)).is_ok());
        assert!(runs_engine(&nested(24)));
    }
    for (source, expected) in [
        ("{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 3 < 2 < 'a' }} {{ 1 < 2 == 2 >= 1 }}", "True False False True"),
        ("{{ 1 < 2 != 2 }} {{ (1 < 2) < 3 }} {{ 0 <= value|int <= 100 and 'y' }}", "False True y"),
    ] {
        assert_eq!(value(source, "42").as_deref(), Ok(expected), "{source}");
    }
    assert!(matches!(value("{{ 1 < 2 < 'a' }}", "42"), Err(RenderError::Failed(_))));
    // What grows most is many short tags; no source gets past the limit.
    let grown = "{{a~b~c~d~e~f~g}}".repeat(120);
    assert!(matches!(sandbox().compile(&grown), Err(CompileError::TooDeep("operators"))));
}

#[test]
fn only_a_path_and_plain_text_run_no_engine() {
    for (source, runs) in [
        ("{{ value_json.a['b'][0] }}", false),
        ("{{ value }}", false),
        ("text", false),
        ("{{ value[0] }}", true),
        ("{{ [1<1] }}", true),
        ("{{ value_json.a == 1 }}", true),
        ("{# x #}", true),
    ] {
        assert_eq!(runs_engine(source), runs, "{source}");
        let plain = sandbox().compile(source).unwrap().is_plain();
        assert_eq!(plain, !runs, "{source}");
    }
}

#[test]
fn what_calls_do_is_limited_where_the_fuel_does_not_see_it() {
    let list = format!("{:?}", (0..40_000).collect::<Vec<u32>>());
    for source in [
        "{{ value_json|set|length }}",
        "{{ value_json|statistical_mode }}",
        "{{ value_json|intersect(value_json)|length }}",
        "{{ value_json|symmetric_difference([1])|length }}",
        "{% for i in range(2000) %}{% set x = value_json|list %}{% endfor %}",
    ] {
        assert!(matches!(value(source, &list), Err(RenderError::Failed(_))), "{source}");
    }
    let text = "a".repeat(200_000);
    for source in [
        "{{ value.replace('a', value) }}",
        "{{ value.replace('', value) }}",
        "{{ value.join(value) }}",
        "{{ value|wordwrap(1) }}",
        "{{ value|wordwrap(100, wrapstring=value) }}",
        "{{ (value|replace('a', '\t')).expandtabs(1000) }}",
        "{{ value|regex_findall('a|a.*b') }}",
    ] {
        assert!(matches!(value(source, &text), Err(RenderError::Failed(_))), "{source}");
    }
    for (source, expected) in [
        ("{{ value.strip(value)|length }} {{ 'x'.ljust(900, value)|length }}", "0 900"),
        ("{{ value.replace('a', 'bc', 2)[:5] }} {{ value[:60000]|wordwrap(59999)|length }}", "bcbca 60001"),
        ("{{ 'abcdefgh ij\n\nk lm no'|wordwrap(4)|replace('\n', '/') }}", "abcd/efgh/ij//k lm/no"),
        ("{{ [3, 1, 3, 2]|set }} {{ ['b', 'a', 'a']|statistical_mode }}", "{3, 1, 2} a"),
        ("{{ [1, 2, 3]|difference([2]) }} {{ [1]|union([2, 1]) }}", "[1, 3] [1, 2]"),
        ("{{ ['a', 'b']|enumerate(9223372036854775807)|map('last')|join }}", "ab"),
        ("{{ 7|round(-9223372036854775807 - 1) }}", "0.0"),
    ] {
        assert_eq!(value(source, &text).as_deref(), Ok(expected), "{source}");
    }
}
