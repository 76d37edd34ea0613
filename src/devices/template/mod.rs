//! Sandboxed Jinja templates, as device announcements carry them.
//!
//! A template is hostile input: its source is at most 2 KiB, its nesting is checked before it is parsed, it runs with
//! a fixed amount of fuel, it can load nothing and its output is at most 64 KiB. What it may call are Home Assistant's
//! filters, tests and functions that real announcements use, with Python's rules for text, numbers and truth.
//! Templates that only read a field (`{{ value_json.a.b }}`) run no engine at all: see [`path`].
//!
//! Not here: `indent`, includes and imports, and Home Assistant's own states (`states()` gives `unknown`).

mod codes;
mod collections;
mod display;
mod engine;
mod format;
mod guard;
mod methods;
mod moment;
mod numbers;
mod operators;
mod ordering;
mod params;
mod path;
mod patterns;
mod registry;
mod rewrite;
mod slug;
mod strftime;
mod text;
mod time;
mod views;

use std::borrow::Cow;
use std::sync::Arc;

use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};

use self::engine::{Compiled, Engine};
use self::path::Path;
use super::codec::Payload;
use crate::clock::Clock;
use crate::home::State;

pub use minijinja::Value;
pub use path::python_float;

/// Longest accepted source, in bytes.
pub const MAX_SOURCE: usize = 2048;
/// Longest accepted result, in bytes.
pub const MAX_OUTPUT: usize = 64 * 1024;
/// Work that one rendering may do, in minijinja's units (about one per instruction).
const FUEL: u64 = 20_000;
/// Calls within calls: macros and recursive loops.
const RECURSION: usize = 80;

/// Compiles templates. Cheap to clone. A source that is in use is compiled once, whoever carries it.
#[derive(Clone)]
pub struct Sandbox {
    engine: Arc<Engine>,
    names: Arc<registry::Names>,
}

/// A compiled template.
#[derive(Clone)]
pub struct Template {
    source: Arc<str>,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    /// No tag in it: the result is the text itself.
    Static,
    /// `{{ value }}`.
    Value,
    Path(Arc<Path>),
    Jinja(Arc<Compiled>),
}

/// Why a source was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    #[error("the template has {0} bytes; at most {MAX_SOURCE} are accepted")]
    TooLong(usize),
    #[error("the template nests or chains too deeply: {0}")]
    TooDeep(&'static str),
    #[error("there is no {what} {name:?} for templates")]
    Unknown { what: &'static str, name: String },
    #[error("the template cannot be parsed: {0}")]
    Syntax(String),
}

/// Why a rendering gave no result. The two kinds have different consequences for the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Something undefined was used. A value template without a default then stands for the raw payload.
    #[error("{0}")]
    Undefined(String),
    /// Wrong types, wrong values, division by zero, out of fuel: the message is ignored.
    #[error("{0}")]
    Failed(String),
}

/// What a template may know besides its variables.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub entity_id: &'a str,
    pub name: &'a str,
    pub state: &'a State,
}

/// Variables of one rendering, by name.
pub type Vars<'a> = &'a [(&'static str, Value)];

impl Sandbox {
    /// A sandbox that reads the time from `clock` and shows local time in `zone`.
    pub fn new(clock: Clock, zone: chrono_tz::Tz) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Lenient);
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(RECURSION);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_debug(false);
        environment.set_unknown_method_callback(methods::call);
        environment.set_formatter(|out, _, value| {
            if let Some(text) = display::plain(value) {
                return out.write_str(text).map_err(Into::into);
            }
            let mut text = String::new();
            let written = display::write(&mut text, value).and_then(|()| out.write_str(&text));
            written.map_err(Into::into)
        });
        let names = registry::fill(&mut environment, &clock, zone);
        Self { engine: Arc::new(Engine::new(environment)), names: Arc::new(names) }
    }

    /// Compiles `source`, or says why it is not accepted.
    pub fn compile(&self, source: &str) -> Result<Template, CompileError> {
        if source.len() > MAX_SOURCE {
            return Err(CompileError::TooLong(source.len()));
        }
        let kind = if !has_tags(source) {
            Kind::Static
        } else if let Some(path) = Path::parse(source) {
            if path.is_value() { Kind::Value } else { Kind::Path(Arc::new(path)) }
        } else {
            guard::check(source, &self.names)?;
            let compiled = self.engine.compile(source)?;
            return Ok(Template { source: compiled.source().clone(), kind: Kind::Jinja(compiled) });
        };
        Ok(Template { source: source.into(), kind })
    }
}

fn has_tags(source: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|tag| source.contains(tag))
}

/// Whether the engine would run for `source`: it has tags, and is more than a path.
pub fn runs_engine(source: &str) -> bool {
    has_tags(source) && Path::parse(source).is_none()
}

impl Template {
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether no engine runs for this template.
    pub fn is_plain(&self) -> bool {
        matches!(self.kind, Kind::Static | Kind::Value | Kind::Path(_))
    }

    /// Renders a value template over a payload. `value_json` is defined only where the payload is strict JSON.
    /// The result has no white space at its ends and is not parsed again.
    pub fn value<'p>(
        &'p self,
        payload: &'p Payload<'_>,
        scope: Scope<'_>,
        extra: Vars<'_>,
    ) -> Result<Cow<'p, str>, RenderError> {
        let text = || payload.text().map_err(|fault| RenderError::Failed(fault.to_string()));
        match &self.kind {
            Kind::Static => Ok(Cow::Borrowed(self.source.trim())),
            Kind::Value => Ok(Cow::Borrowed(text()?.trim())),
            Kind::Path(path) => path.render(payload.json()),
            Kind::Jinja(compiled) => over(compiled, text()?.into(), payload, scope, extra).map(Cow::Owned),
        }
    }

    /// Renders a value template over a payload that is no text (`encoding: ""`): `value` is the bytes, and what shows
    /// them shows a bytes literal.
    pub fn value_of_bytes<'p>(
        &'p self,
        payload: &'p Payload<'_>,
        scope: Scope<'_>,
        extra: Vars<'_>,
    ) -> Result<Cow<'p, str>, RenderError> {
        let bytes = || Value::from_bytes(payload.bytes().to_vec());
        match &self.kind {
            Kind::Static => Ok(Cow::Borrowed(self.source.trim())),
            Kind::Value if payload.bytes().len() > MAX_OUTPUT => {
                Err(RenderError::Failed(format!("the payload has {} bytes", payload.bytes().len())))
            }
            Kind::Value => Ok(Cow::Owned(display::text(&bytes()))),
            Kind::Path(path) => path.render(payload.json()),
            Kind::Jinja(compiled) => over(compiled, bytes(), payload, scope, extra).map(Cow::Owned),
        }
    }

    /// Renders a command template with `vars`.
    pub fn command(&self, scope: Scope<'_>, vars: Vars<'_>) -> Result<String, RenderError> {
        match &self.kind {
            Kind::Static => Ok(self.source.trim().to_owned()),
            Kind::Value => Ok(vars
                .iter()
                .find(|(name, _)| *name == "value")
                .map_or_else(String::new, |(_, value)| display::text(value).trim().to_owned())),
            Kind::Path(_) => Err(RenderError::Undefined("value_json is undefined in a command".into())),
            Kind::Jinja(compiled) => jinja(compiled, vars, scope),
        }
    }
}

/// Renders with `value` and, where the payload is strict JSON, `value_json`.
fn over(
    compiled: &Compiled,
    value: Value,
    payload: &Payload<'_>,
    scope: Scope<'_>,
    extra: Vars<'_>,
) -> Result<String, RenderError> {
    let mut vars = Vec::with_capacity(extra.len() + 2);
    vars.push(("value", value));
    if let Some(json) = payload.json() {
        vars.push(("value_json", path::engine_value(json)));
    }
    vars.extend(extra.iter().cloned());
    jinja(compiled, &vars, scope)
}

fn jinja(compiled: &Compiled, vars: Vars<'_>, scope: Scope<'_>) -> Result<String, RenderError> {
    let mut all: Vec<(&str, Value)> = Vec::with_capacity(vars.len() + 3);
    if !scope.entity_id.is_empty() {
        all.push(("entity_id", Value::from(scope.entity_id)));
        all.push(("name", Value::from(scope.name)));
    }
    if compiled.reads_this() {
        all.push(("this", this(scope)));
    }
    all.extend(vars.iter().cloned());
    patterns::refill();
    params::begin();
    let text = compiled.render(Value::from_pairs(all)).map_err(|error| classify(&error))?;
    if text.len() > MAX_OUTPUT {
        return Err(RenderError::Failed(format!("the result has {} bytes", text.len())));
    }
    Ok(match text.trim() {
        trimmed if trimmed.len() == text.len() => text,
        trimmed => trimmed.to_owned(),
    })
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Template({:?})", self.source)
    }
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// Home Assistant's state object, as far as templates read it.
fn this(scope: Scope<'_>) -> Value {
    Value::from_pairs([
        ("entity_id", Value::from(scope.entity_id)),
        ("name", Value::from(scope.name)),
        ("state", Value::from(scope.state.text().unwrap_or("unknown"))),
        (
            "attributes",
            Value::from_pairs(
                scope.state.attributes.iter().map(|(name, value)| (name.as_ref(), path::engine_value(value))),
            ),
        ),
    ])
}

fn describe(error: &minijinja::Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()))
}

/// Jinja raises `UndefinedError` for undefined names, attributes and calls; everything else is a Python error.
fn classify(error: &minijinja::Error) -> RenderError {
    let undefined = matches!(
        error.kind(),
        ErrorKind::UndefinedError | ErrorKind::UnknownFunction | ErrorKind::UnknownMethod
    ) || error
        .detail()
        .is_some_and(|detail| detail.contains("undefined") && !detail.contains(params::INVALID));
    let text = describe(error);
    if undefined { RenderError::Undefined(text) } else { RenderError::Failed(text) }
}

#[cfg(test)]
mod tests;
