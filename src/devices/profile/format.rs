//! The profile file as it is written, before any check beyond its shape. `devices/README.md` explains every field.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileFile {
    pub profile: Spanned<String>,
    pub domain: Spanned<String>,
    pub about: Spanned<String>,
    #[serde(default)]
    pub parameters: BTreeMap<String, Spanned<ParameterFile>>,
    #[serde(default)]
    pub report: Vec<ReportFile>,
    #[serde(default)]
    pub availability: Vec<AvailabilityFile>,
    #[serde(default)]
    pub action: Vec<ActionFile>,
    #[serde(default)]
    pub example: Vec<Spanned<ExampleFile>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParameterFile {
    pub kind: ParameterKind,
    pub about: String,
    pub default: Option<toml::Value>,
    #[serde(default)]
    pub optional: bool,
}

/// The type of a parameter of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ParameterKind {
    /// A part of a topic: no wildcards.
    Topic,
    Text,
    Number,
    Flag,
    Words,
    /// The name of a secret; it stands in messages as `${secret:name}`.
    Secret,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportFile {
    pub topic: Spanned<String>,
    pub when: Option<Spanned<String>>,
    #[serde(default = "yes")]
    pub retained: bool,
    #[serde(default)]
    pub said: Saying,
    pub read: Vec<Spanned<FieldFile>>,
}

/// When a device publishes a report; only the simulator asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Saying {
    #[default]
    Always,
    /// At its start and now and then, not when something changes.
    AtStart,
    /// Only when something changes.
    OnChange,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AvailabilityFile {
    pub topic: Spanned<String>,
    pub when: Option<Spanned<String>>,
    pub path: Option<Spanned<String>>,
    #[serde(default = "online")]
    pub online: String,
    #[serde(default = "offline")]
    pub offline: String,
    #[serde(default)]
    pub shared: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActionFile {
    pub verb: Spanned<String>,
    pub when: Option<Spanned<String>>,
    #[serde(default)]
    pub args: Vec<Spanned<ArgFile>>,
    pub send: Vec<Spanned<SendFile>>,
    pub confirm_s: Option<Spanned<f64>>,
    pub tolerance: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArgFile {
    pub name: Spanned<String>,
    pub kind: ArgKindFile,
    #[serde(default)]
    pub optional: bool,
    pub when: Option<Spanned<String>>,
    pub min: Option<Bound>,
    pub max: Option<Bound>,
    pub step: Option<Bound>,
    pub options: Option<Options>,
    pub max_chars: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ArgKindFile {
    Percent,
    Number,
    Choice,
    Text,
    Bool,
    Rgb,
}

/// A number, or the name of a number parameter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Bound {
    Number(f64),
    Parameter(String),
}

/// Words, or the name of a words parameter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Options {
    Words(Vec<String>),
    Parameter(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendFile {
    pub topic: Spanned<String>,
    pub only_with: Option<Spanned<String>>,
    pub unless_with: Option<Spanned<String>>,
    pub text: Option<Spanned<String>>,
    pub json: Option<Spanned<Map<String, Value>>>,
    #[serde(default)]
    pub fields: Vec<Spanned<FieldFile>>,
    #[serde(default = "one")]
    pub qos: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FieldFile {
    pub to: Option<Spanned<String>>,
    pub arg: Option<Spanned<String>>,
    pub when: Option<Spanned<String>>,
    pub path: Option<Spanned<String>>,
    pub map: Option<toml::Table>,
    pub ranges: Option<Vec<RangeFile>>,
    pub scale: Option<ScaleFile>,
    pub convert: Option<Convert>,
    #[serde(default)]
    pub ignore: Vec<String>,
    pub decimals: Option<u8>,
    #[serde(rename = "as", default)]
    pub shape: Shape,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeFile {
    pub up_to: f64,
    pub is: String,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScaleFile {
    pub from: [Bound; 2],
    pub to: [Bound; 2],
}

/// Conversions that are neither a table nor linear. Each is its own inverse by the type of what it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Convert {
    /// Mired to kelvin and back.
    Mired,
    /// `{"x","y"}`, `{"r","g","b"}`, `{"hue","saturation"}` or `{"h","s"}` to `[r, g, b]`; back as `{"x","y"}`.
    ColorObject,
    /// `"255,128,0"` or `"FF8000"`, further channels ignored, to `[r, g, b]`; back as `"255,128,0"`.
    ColorText,
}

/// The type in which a value is handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shape {
    /// As it came.
    #[default]
    Any,
    Number,
    Text,
    Bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExampleFile {
    #[serde(default)]
    pub with: toml::Table,
    // An action and what it sends.
    pub action: Option<String>,
    #[serde(default)]
    pub args: Map<String, Value>,
    #[serde(default)]
    pub sends: Vec<[String; 2]>,
    // A message and the state that follows.
    pub topic: Option<String>,
    pub payload: Option<String>,
    pub before: Option<StateFile>,
    pub state: Option<StateFile>,
    #[serde(default)]
    pub nothing: bool,
    #[serde(default)]
    pub fault: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct StateFile {
    pub value: Option<String>,
    #[serde(default)]
    pub attributes: Map<String, Value>,
    pub availability: Option<AvailabilityWord>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AvailabilityWord {
    Online,
    Offline,
}

fn yes() -> bool {
    true
}

fn one() -> u8 {
    1
}

fn online() -> String {
    "online".into()
}

fn offline() -> String {
    "offline".into()
}
