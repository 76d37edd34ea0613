//! What every provider has in common: the request as it may leave the house, and the way of its answer.
//!
//! A wire format ([`Wire`]) only writes the body and reads events. Redaction and pairing happen here, once for all of
//! them: a format never sees text that must not leave.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream};
use serde_json::Value;

use super::http::{Endpoint, KeyHeader, Reader, Until};
use super::pairing::{self, Entry};
use super::prices::Prices;
use super::redact::Redactor;
use super::settings::ModelSettings;
use super::{Delta, Model, ModelError, ToolChoice, TurnRequest};
use crate::clock::Clock;

/// One wire format. Public in name only: nothing outside of `model` can reach it.
pub trait Wire: Send + Sync + 'static {
    /// Appended to the base URL.
    const PATH: &'static str;
    const KEY: KeyHeader;
    /// Sent with every request.
    const HEADERS: &'static [(&'static str, &'static str)];
    type Reader: Reader;

    /// The body of a request.
    fn body(settings: &ModelSettings, request: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error>;

    fn reader(prices: Prices) -> Self::Reader;
}

/// A turn in the form in which it may leave: redacted, each call with its result, ids and arguments in a form that
/// every provider takes.
pub struct Outgoing<'a> {
    pub system: Cow<'a, str>,
    pub tools: Vec<OutgoingTool<'a>>,
    pub conversation: Vec<Entry>,
    /// The last turn: the model must report. Without tools there is nothing to forbid, and some servers refuse it.
    pub forbids_calls: bool,
    pub max_tokens: u32,
}

pub struct OutgoingTool<'a> {
    pub name: &'a str,
    pub description: Cow<'a, str>,
    pub parameters: Cow<'a, Value>,
}

impl<'a> Outgoing<'a> {
    fn new(request: &'a TurnRequest, redactor: &Redactor) -> Self {
        let tools: Vec<OutgoingTool<'a>> = request
            .tools
            .iter()
            .map(|tool| OutgoingTool {
                name: &tool.name,
                description: redactor.redact(&tool.description),
                // Names and options of devices stand in them.
                parameters: parameters(&tool.parameters, redactor),
            })
            .collect();
        Self {
            system: redactor.redact(&request.system),
            conversation: pairing::conversation(&request.messages, redactor),
            forbids_calls: request.tool_choice == ToolChoice::None && !tools.is_empty(),
            tools,
            max_tokens: request.max_tokens,
        }
    }
}

/// A schema as it may leave. An option that looks private cannot be told, and so cannot be chosen.
fn parameters<'a>(schema: &'a Value, redactor: &Redactor) -> Cow<'a, Value> {
    let is_private = |text: &str| *redactor.redact(text) != *text;
    let mut cleared = redactor.redact_json(schema);
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (name, property) in properties {
        if let Some(description) = property["description"].as_str().filter(|text| is_private(text)) {
            cleared.to_mut()["properties"][name.as_str()]["description"] =
                redactor.redact(description).into();
        }
        let options = property["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
        let told: Vec<&Value> =
            options.iter().filter(|option| !option.as_str().is_some_and(is_private)).collect();
        let Some(property) = cleared.get("properties").filter(|_| told.len() < options.len()) else {
            continue;
        };
        let mut property = property[name.as_str()].clone();
        match (told.is_empty(), property.as_object_mut()) {
            (true, Some(fields)) => drop(fields.shift_remove("enum")),
            (false, _) => property["enum"] = told.into_iter().cloned().collect(),
            (true, None) => {}
        }
        cleared.to_mut()["properties"][name.as_str()] = property;
    }
    cleared
}

/// A model behind a server that speaks `W`.
pub struct Provider<W> {
    endpoint: Arc<Endpoint>,
    redactor: Arc<Redactor>,
    wire: std::marker::PhantomData<W>,
}

impl<W: Wire> Provider<W> {
    /// `name` is the model's name in settings.
    pub fn new(name: &str, settings: ModelSettings, redactor: Arc<Redactor>, clock: Clock) -> Self {
        let endpoint = Endpoint::new(name, settings, W::PATH, W::KEY, W::HEADERS, clock);
        Self { endpoint: Arc::new(endpoint), redactor, wire: std::marker::PhantomData }
    }
}

impl<W: Wire> Model for Provider<W> {
    fn name(&self) -> &str {
        self.endpoint.name()
    }

    fn turn(&self, request: Arc<TurnRequest>) -> BoxStream<'static, Result<Delta, ModelError>> {
        let settings = self.endpoint.settings();
        match W::body(settings, &Outgoing::new(&request, &self.redactor)) {
            Ok(body) => {
                let until = Until {
                    begun: tokio::time::Instant::now(),
                    deadline: request.deadline,
                    stop: request.stop.clone(),
                };
                Arc::clone(&self.endpoint).stream(body, until, W::reader(settings.prices))
            }
            Err(error) => {
                let error = ModelError::Misconfigured(format!("the request cannot be written: {error}"));
                Box::pin(stream::iter([Err(error)]))
            }
        }
    }
}
