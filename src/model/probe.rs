//! One real round trip with a model, a tool call included: what `homeloop models test` prints.
//!
//! It asks for a tool call, answers it with a word, and looks for the word in what the model says then. Nothing of the
//! house is sent.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Delta, Message, Model, ModelError, Situation, ToolCall, ToolChoice, ToolSpec, TurnRequest, Usage,
};

const TOOL: &str = "look_up_word";
const NUMBER: u64 = 7;
const WORD: &str = "marigold";
const SYSTEM: &str =
    "You are being tested. Use the tool when you are asked to, and answer in one short sentence.";
/// Longest part of an answer that is kept, in characters.
const LONGEST_SAID: usize = 200;

/// What works.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Report {
    pub model: String,
    /// The model called the tool that it was asked to call.
    pub calls_tools: bool,
    /// The arguments of the call were what was asked for.
    pub arguments_right: bool,
    /// The second turn was accepted, and the sentence held what the tool had answered.
    pub uses_results: bool,
    /// What it said at the end, cut.
    pub said: String,
    /// From the request to the first sign of an answer, and to the end of it, for each turn.
    pub turns: Vec<TurnTime>,
    pub usage: Usage,
    pub error: Option<String>,
}

/// How long a turn took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TurnTime {
    pub first: u64,
    pub whole: u64,
}

impl Report {
    /// True when the model can serve as a language model of the house.
    pub fn works(&self) -> bool {
        self.error.is_none() && self.calls_tools && self.arguments_right && self.uses_results
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes_no = |works| if works { "yes" } else { "NO" };
        writeln!(f, "{}: {}", self.model, if self.works() { "works" } else { "does NOT work" })?;
        writeln!(f, "  calls tools       {}", yes_no(self.calls_tools))?;
        writeln!(f, "  arguments right   {}", yes_no(self.arguments_right))?;
        writeln!(f, "  uses results      {}", yes_no(self.uses_results))?;
        for (index, turn) in self.turns.iter().enumerate() {
            writeln!(f, "  turn {}            first {} ms, whole {} ms", index + 1, turn.first, turn.whole)?;
        }
        let usage = self.usage;
        writeln!(
            f,
            "  tokens            {} in ({} cached), {} out, {:.6} dollars",
            usage.input_tokens,
            usage.cached_tokens,
            usage.output_tokens,
            usage.micro_dollars as f64 / 1e6
        )?;
        if !self.said.is_empty() {
            writeln!(f, "  said              {}", self.said)?;
        }
        match &self.error {
            Some(error) => writeln!(f, "  error             {error}"),
            None => Ok(()),
        }
    }
}

/// Tests `model` with two turns. `max_tokens` for each.
pub async fn models_test(model: &dyn Model, max_tokens: u32) -> Report {
    let mut report = Report { model: model.name().to_owned(), ..Report::default() };
    if let Err(error) = run(model, max_tokens, &mut report).await {
        report.error = Some(error.to_string());
    }
    report
}

async fn run(model: &dyn Model, max_tokens: u32, report: &mut Report) -> Result<(), ModelError> {
    let ask = format!("Call the tool {TOOL} with number {NUMBER}. Then tell me the word that it answers.");
    let mut messages = vec![Message::User { text: ask }];
    let first = turn(model, &messages, ToolChoice::Auto, max_tokens, report).await?;
    let Some(call) = first.calls.iter().find(|call| call.name == TOOL).cloned() else {
        report.said = cut(&first.text);
        return Ok(());
    };
    report.calls_tools = true;
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    report.arguments_right = arguments.get("number").and_then(Value::as_u64) == Some(NUMBER);
    messages.push(Message::Assistant { text: first.text, calls: vec![call.clone()] });
    let content = json!({ "word": WORD }).to_string();
    messages.push(Message::ToolResult { call_id: call.id, content, is_error: false });
    let second = turn(model, &messages, ToolChoice::None, max_tokens, report).await?;
    report.uses_results = second.text.to_lowercase().contains(WORD);
    report.said = cut(&second.text);
    Ok(())
}

#[derive(Default)]
struct Said {
    text: String,
    calls: Vec<ToolCall>,
}

async fn turn(
    model: &dyn Model,
    messages: &[Message],
    tool_choice: ToolChoice,
    max_tokens: u32,
    report: &mut Report,
) -> Result<Said, ModelError> {
    let tool = ToolSpec {
        name: TOOL.to_owned(),
        description: "Looks up the word that belongs to a number.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "number": { "type": "integer" } },
            "required": ["number"],
            "additionalProperties": false,
        }),
    };
    let request = TurnRequest {
        system: SYSTEM.into(),
        tools: Arc::from([tool]),
        messages: messages.to_vec(),
        tool_choice,
        max_tokens,
        deadline: None,
        stop: Default::default(),
        situation: Arc::new(Situation::default()),
    };
    let started = Instant::now();
    let mut first = None;
    let mut said = Said::default();
    let mut stream = model.turn(Arc::new(request));
    let mut end = Ok(());
    while let Some(item) = stream.next().await {
        match item {
            Ok(Delta::Text(text)) => said.text.push_str(&text),
            Ok(Delta::Call(call)) => said.calls.push(call),
            Ok(Delta::Usage(usage)) => report.usage += usage,
            Ok(Delta::Model(_) | Delta::End(_)) => {}
            Err(error) => end = Err(error),
        }
        first.get_or_insert_with(|| started.elapsed());
    }
    let whole = started.elapsed();
    report.turns.push(TurnTime { first: milliseconds(first.unwrap_or(whole)), whole: milliseconds(whole) });
    end.map(|()| said)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn cut(text: &str) -> String {
    crate::tools::clean(&text.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST_SAID)
}
