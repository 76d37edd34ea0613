//! The program as a person uses it: a key in the environment and one line of settings, against scripted providers.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::model_server::{Answer, ModelServer};
use crate::world::switch;

const KEY: &str = "canary-key-5150";

/// The presets that are tried, with the variable that holds their key.
const PRESETS: [(&str, &str); 4] = [
    ("openai", "OPENAI_API_KEY"),
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("deepseek", "DEEPSEEK_API_KEY"),
    ("openrouter", "OPENROUTER_API_KEY"),
];

/// Runs the program with the one line of settings, the key, and the provider's address replaced by the script's.
async fn homeloop(folder: &Path, preset: (&str, &str), server: &ModelServer, arguments: &[&str]) -> Output {
    let config = folder.join("homeloop.toml");
    std::fs::write(&config, format!("[models]\nchain = [\"{}\"]\n", preset.0)).expect("written");
    let run = Command::new(env!("CARGO_BIN_EXE_homeloop"))
        .arg("--config")
        .arg(&config)
        .args(arguments)
        .current_dir(folder)
        .env(preset.1, KEY)
        .env(format!("HOMELOOP__MODELS__NAMED__{}__BASE_URL", preset.0.to_uppercase()), server.base_url())
        .env("HOMELOOP__MQTT__EMBEDDED__BIND", "127.0.0.1:0")
        .env("HOMELOOP__HTTP__BIND", "127.0.0.1:0")
        .kill_on_drop(true)
        .output();
    tokio::time::timeout(std::time::Duration::from_secs(120), run).await.expect("it ends").expect("it runs")
}

fn said(output: &Output) -> String {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains(KEY), "the key is printed nowhere: {text}");
    text
}

#[tokio::test]
async fn a_key_in_the_environment_and_one_line_of_settings_work() {
    for preset in PRESETS {
        let on = switch("turn_on", &["light.kitchen"]);
        let script = [Answer::calls(&[("a", "light", &on)]), Answer::text("It is cosy in the kitchen now.")];
        let server = ModelServer::start_with_key(script, Some(KEY)).await;
        let folder = tempfile::tempdir().expect("a folder");
        let output = homeloop(
            folder.path(),
            preset,
            &server,
            &["demo", "--once", "please philosophise about the kitchen"],
        )
        .await;
        let text = said(&output);
        assert!(
            output.status.success() && text.contains("It is cosy in the kitchen now."),
            "{preset:?}: {text}"
        );
        assert!(text.contains("light.kitchen.turn_on"), "it acted: {text}");
        server.assert_clean();
    }
}

#[tokio::test]
async fn models_test_tells_what_works() {
    for preset in PRESETS {
        let works =
            [Answer::calls(&[("a", "look_up_word", "{\"number\":7}")]), Answer::text("It is marigold.")];
        let server = ModelServer::start_with_key(works, Some(KEY)).await;
        let folder = tempfile::tempdir().expect("a folder");
        let output = homeloop(folder.path(), preset, &server, &["models", "test", "--json"]).await;
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(output.status.success(), "{report}");
        assert_eq!(
            (&report["works"], &report["calls_tools"], &report["uses_results"]),
            (&json!(true), &json!(true), &json!(true))
        );
        assert_eq!(
            (&report["usage"]["input_tokens"], report["turns"].as_array().map(Vec::len)),
            (&json!(200), Some(2))
        );
        server.assert_clean();
        server.then([Answer::status(401)]);
        let output = homeloop(folder.path(), preset, &server, &["models", "test"]).await;
        let text = said(&output);
        assert!(!output.status.success() && text.contains("does NOT work") && text.contains("401"), "{text}");
    }
}

#[tokio::test]
async fn eval_tells_tokens_and_money() {
    let home = json!({"id": "h", "areas": [{"id": "kitchen", "name": "Kitchen"}], "entities": [{
        "id": "light.kitchen_light", "name": "Kitchen light", "area": "kitchen", "state": "off",
        "attributes": {"supported_color_modes": ["onoff"]},
    }]});
    let task = json!({"home": "h", "lang": "en", "input": "Turn on the kitchen light", "kind": "act",
        "expect_changes": {"light.kitchen_light": {"state": "on"}}});
    for preset in PRESETS {
        let folder = tempfile::tempdir().expect("a folder");
        for (file, line) in [("homes.jsonl", &home), ("tasks.jsonl", &task)] {
            std::fs::write(folder.path().join(file), format!("{line}\n")).expect("written");
        }
        let on = switch("turn_on", &["light.kitchen_light"]);
        let script = [Answer::calls(&[("a", "light", &on)]), Answer::text("The kitchen light is on.")];
        let server = ModelServer::start_with_key(script, Some(KEY)).await;
        let arguments = ["eval", "--homes", "homes.jsonl", "--tasks", "tasks.jsonl", "--model", preset.0];
        let output = homeloop(folder.path(), preset, &server, &arguments).await;
        let text = said(&output);
        assert!(output.status.success() && text.contains("1 of 1 passed"), "{preset:?}: {text}");
        let line = text.lines().find(|line| line.starts_with(preset.0)).expect("a line about the model");
        assert!(
            line.contains("200 tokens in (120 cached), 20 out") && !line.contains(" 0.000000 dollars;"),
            "{line}"
        );
        server.assert_clean();
    }
}
