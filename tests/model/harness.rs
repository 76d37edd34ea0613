//! What every test here needs: settings for a scripted server, a request, and a turn read to its end.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::StreamExt;
use homeloop::clock::Clock;
use homeloop::model::redact::{RedactSettings, Redactor};
use homeloop::model::router::language_model;
use homeloop::model::settings::{Mode, ModelSettings, ModelsSettings};
use homeloop::model::{
    Delta, Message, Model, ModelError, Router, Situation, Stop, ToolCall, ToolChoice, ToolSpec, TurnRequest,
    Usage,
};
use serde_json::json;

use crate::model_server::{Api, ModelServer};

pub const BOTH: [Api; 2] = [Api::OpenAi, Api::Anthropic];

/// Settings of one model. Its limits are far beyond what a test needs, unless the test sets them.
pub fn model_settings(api: Api, base_url: &str) -> ModelSettings {
    let api = match api {
        Api::OpenAi => "openai",
        Api::Anthropic => "anthropic",
    };
    let text = format!(
        "api = {api:?}\nbase_url = {base_url:?}\nmodel = 'scripted'\n[prices]\ninput = 1\noutput = 10\n"
    );
    toml::from_str(&text).expect("valid settings")
}

/// Settings of a chain. Retries wait for milliseconds only.
pub fn chain(models: Vec<(&str, ModelSettings)>) -> ModelsSettings {
    let text = "mode = 'model'\n[retry]\nfirst_ms = 1\nlongest_ms = 4\nreserve_ms = 0\n";
    let mut settings: ModelsSettings = toml::from_str(text).expect("valid settings");
    settings.mode = Mode::Model;
    for (name, model) in models {
        settings.chain.push(name.to_owned());
        settings.named.insert(name.to_owned(), model);
    }
    settings
}

pub fn router(models: Vec<(&str, ModelSettings)>) -> Router {
    chain_router(Mode::Model, None, models)
}

/// A router with an offline model beside the chain.
pub fn chain_router(
    mode: Mode,
    offline: Option<Arc<dyn Model>>,
    models: Vec<(&str, ModelSettings)>,
) -> Router {
    let settings = chain(models);
    let clock = Clock::system();
    let named = |name: &String| language_model(&settings, name, redactor(), &clock).expect("it is there");
    let chain = settings.chain.iter().map(named).collect();
    Router::new(mode, offline, chain, settings.breaker, clock.clone())
}

/// One model with its retries, without a chain around it.
pub fn model(settings: ModelSettings) -> Arc<dyn Model> {
    language_model(&chain(vec![("m", settings)]), "m", redactor(), &Clock::system()).expect("it is there")
}

/// Costly to build without optimisation, and the same for all.
fn redactor() -> &'static Arc<Redactor> {
    static REDACTOR: LazyLock<Arc<Redactor>> =
        LazyLock::new(|| Arc::new(Redactor::new(&RedactSettings::default(), &[]).expect("valid settings")));
    &REDACTOR
}

/// The model that a scripted server serves.
pub fn served(api: Api, server: &ModelServer) -> Arc<dyn Model> {
    model(model_settings(api, &server.base_url()))
}

pub fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

pub fn assistant(text: &str, calls: &[(&str, &str, &str)]) -> Message {
    let calls = calls.iter().map(|(id, name, arguments)| tool_call(id, name, arguments)).collect();
    Message::Assistant { text: text.to_owned(), calls }
}

pub fn result(call_id: &str, content: &str) -> Message {
    Message::ToolResult { call_id: call_id.to_owned(), content: content.to_owned(), is_error: false }
}

pub fn tool_call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("The tool {name}."),
        parameters: json!({"type": "object", "properties": {"x": {"type": "integer"}}}),
    }
}

pub fn request(messages: Vec<Message>) -> TurnRequest {
    TurnRequest {
        system: "You run a house.".into(),
        tools: Arc::from([tool("fan"), tool("light")]),
        messages,
        tool_choice: ToolChoice::Auto,
        max_tokens: 500,
        deadline: None,
        stop: Default::default(),
        situation: Arc::new(Situation { task: "t1".to_owned(), ..Situation::default() }),
    }
}

pub fn ask() -> TurnRequest {
    request(vec![user("kitchen light on")])
}

pub fn with_deadline(mut request: TurnRequest, left: Duration) -> TurnRequest {
    request.deadline = Some(tokio::time::Instant::now() + left);
    request
}

/// A turn, read to its end.
#[derive(Debug, Default, PartialEq)]
pub struct Turn {
    pub models: Vec<String>,
    pub text: String,
    pub calls: Vec<ToolCall>,
    pub usage: Usage,
    pub stop: Option<Stop>,
    pub error: Option<ModelError>,
}

pub async fn turn(model: &dyn Model, request: TurnRequest) -> Turn {
    let read = async {
        let mut turn = Turn::default();
        let mut stream = model.turn(Arc::new(request));
        while let Some(item) = stream.next().await {
            assert!(turn.stop.is_none() && turn.error.is_none(), "nothing follows the end");
            match item {
                Ok(Delta::Model(name)) => turn.models.push(name.to_string()),
                Ok(Delta::Text(text)) => turn.text.push_str(&text),
                Ok(Delta::Call(call)) => turn.calls.push(call),
                Ok(Delta::Usage(usage)) => turn.usage += usage,
                Ok(Delta::End(stop)) => turn.stop = Some(stop),
                Err(error) => turn.error = Some(error),
            }
        }
        turn
    };
    let turn = tokio::time::timeout(Duration::from_secs(30), read).await.expect("the turn ends by itself");
    assert!(turn.stop.is_some() != turn.error.is_some(), "one end: {turn:?}");
    turn
}

/// Runs one ignored test of this binary alone, with these variables in its environment.
pub fn in_a_process_of_its_own(test: &str, environment: &[(&str, &str)]) {
    let run = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--ignored"])
        .envs(environment.iter().copied())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}
