//! Every recorded template gives what Home Assistant gives.

use homeloop::clock::Clock;
use homeloop::devices::Payload;
use homeloop::devices::template::{RenderError, Sandbox, Scope, Value as Engine};
use homeloop::home::State;
use serde_json::Value;

use super::data;

/// Lines that differ, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("{{ value_json.keys }}", "a key of the payload wins over Python's method of that name, deliberately"),
    ("{{ value_json.items }}", "a key of the payload wins over Python's method of that name, deliberately"),
];

/// The time of the tests.
const NOW: i64 = 1_770_000_000;

/// The result where it is that of another moment in the recording: computed from our own.
fn at_another_time(line: &Value) -> Option<String> {
    let now = chrono::DateTime::from_timestamp(NOW, 0).unwrap();
    match line["template"].as_str()? {
        "{{ now().strftime('%Y-%m-%d %H:%M:%S') }}" => Some(now.format("%Y-%m-%d %H:%M:%S").to_string()),
        "{{(as_timestamp(now())-value_json.uptime)|timestamp_local}}" => {
            let payload: Value = serde_json::from_str(line["payload"].as_str()?).ok()?;
            let up = chrono::TimeDelta::seconds(payload["uptime"].as_i64()?);
            Some((now - up).format("%Y-%m-%dT%H:%M:%S%:z").to_string())
        }
        _ => None,
    }
}

fn engine(value: &Value) -> Engine {
    match value {
        Value::Null => Engine::from(()),
        Value::Bool(flag) => Engine::from(*flag),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| number.as_f64().unwrap().into(), Engine::from)
        }
        Value::String(text) => Engine::from(text.as_str()),
        other => panic!("no variable of this type is recorded: {other}"),
    }
}

/// The two outcomes of a value template: without and with a default.
fn value(sandbox: &Sandbox, line: &Value) -> (String, String) {
    let source = line["template"].as_str().unwrap();
    let text = line["payload"].as_str().unwrap();
    let payload = Payload::new(text.as_bytes(), false);
    let state = State::default();
    let scope = Scope { entity_id: "", name: "", state: &state };
    let rendered =
        sandbox.compile(source).map(|template| template.value(&payload, scope, &[]).map(|r| r.into_owned()));
    match rendered {
        Ok(Ok(result)) => (result.clone(), result),
        Ok(Err(RenderError::Undefined(_))) => (text.to_owned(), "<DEFAULT>".to_owned()),
        Ok(Err(RenderError::Failed(_))) => ("<ERROR>".to_owned(), "<ERROR>".to_owned()),
        Err(error) => (format!("<INVALID> {error}"), String::new()),
    }
}

fn command(sandbox: &Sandbox, line: &Value) -> String {
    let source = line["template"].as_str().unwrap();
    let state = State::default();
    let scope = Scope { entity_id: "", name: "", state: &state };
    let mut vars: Vec<(&'static str, Engine)> = vec![("value", engine(&line["value"]))];
    for (name, value) in line["variables"].as_object().unwrap() {
        vars.push((String::leak(name.clone()), engine(value)));
    }
    match sandbox.compile(source) {
        Ok(template) => template.command(scope, &vars).unwrap_or_else(|_| "<ERROR>".into()),
        Err(_) => "<ERROR>".into(),
    }
}

#[tokio::test(start_paused = true)]
async fn recorded_templates_give_what_home_assistant_gives() {
    let start = chrono::DateTime::from_timestamp(NOW, 0).unwrap();
    let sandbox = Sandbox::new(Clock::simulated(start, 1), chrono_tz::UTC);
    let lines = data::lines("templates.jsonl");
    let (mut wrong, mut excepted) = (Vec::new(), 0);
    for line in &lines {
        let text = |key: &str| line[key].as_str().map(str::to_owned);
        let (got, expected) = match line["kind"].as_str() {
            Some("command") => (command(&sandbox, line), text("result").unwrap_or_else(|| "<ERROR>".into())),
            _ => {
                let (plain, with_default) = value(&sandbox, line);
                let error = line.get("result_error").map(|_| "<ERROR>".to_owned());
                let now = error.or_else(|| at_another_time(line));
                let result = now.clone().or_else(|| text("result")).unwrap();
                let other = now.or_else(|| text("result_with_default")).unwrap_or_else(|| result.clone());
                (format!("{plain} / {with_default}"), format!("{result} / {other}"))
            }
        };
        let known = EXCEPTIONS.iter().any(|(template, _)| *template == line["template"]);
        match (got == expected, known) {
            (true, false) => {}
            (false, true) => excepted += 1,
            (true, true) => wrong.push(format!("is right now, but is an exception: {}", line["template"])),
            (false, false) => {
                wrong.push(format!(
                    "{} over {}: {got:?}, not {expected:?}",
                    line["template"], line["payload"]
                ));
            }
        }
    }
    println!(
        "{} of {} templates right, {excepted} exceptions",
        lines.len() - wrong.len() - excepted,
        lines.len()
    );
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
