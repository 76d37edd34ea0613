//! The home file as it is written. `config/home.example.toml` explains every field.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HomeToml {
    #[serde(default)]
    pub floor: Vec<FloorToml>,
    #[serde(default)]
    pub area: Vec<AreaToml>,
    #[serde(default)]
    pub person: Vec<PersonToml>,
    #[serde(default)]
    pub entity: Vec<EntityToml>,
    #[serde(default)]
    pub scene: Vec<SceneToml>,
    #[serde(default, rename = "override")]
    pub overrides: Vec<Spanned<OverrideToml>>,
}

/// Further names by language; `any` for every language.
pub(super) type Aliases = BTreeMap<String, Spanned<OneOrMany>>;

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FloorToml {
    pub id: Spanned<String>,
    pub name: Spanned<String>,
    #[serde(default)]
    pub aliases: Aliases,
    pub level: Option<i8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AreaToml {
    pub id: Spanned<String>,
    pub name: Spanned<String>,
    #[serde(default)]
    pub aliases: Aliases,
    pub floor: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PersonToml {
    pub id: Spanned<String>,
    pub name: Spanned<String>,
    #[serde(default)]
    pub aliases: Aliases,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntityToml {
    pub id: Spanned<String>,
    pub name: Spanned<String>,
    #[serde(default)]
    pub aliases: Aliases,
    pub area: Option<Spanned<String>>,
    pub profile: Option<Spanned<String>>,
    #[serde(default)]
    pub with: BTreeMap<String, Spanned<toml::Value>>,
    #[serde(default)]
    pub members: Vec<Spanned<String>>,
    pub device_class: Option<Spanned<String>>,
    pub unit: Option<String>,
    pub device: Option<DeviceToml>,
    #[serde(default)]
    pub category: crate::home::Category,
    pub simulate: Option<SimulateToml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceToml {
    pub id: String,
    pub name: Option<String>,
    pub manufacturer: Option<String>,
    pub model: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SimulateToml {
    pub value: Option<String>,
    #[serde(default)]
    pub attributes: BTreeMap<String, Value>,
    pub seconds: Option<Spanned<f64>>,
    pub entry_seconds: Option<Spanned<f64>>,
    #[serde(default)]
    pub zones: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SceneToml {
    pub id: Spanned<String>,
    pub name: Spanned<String>,
    #[serde(default)]
    pub aliases: Aliases,
    #[serde(default)]
    pub waits_for_approval: bool,
    pub steps: Vec<Spanned<StepToml>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepToml {
    pub entity: Option<Spanned<String>>,
    #[serde(default)]
    pub entities: Vec<Spanned<String>>,
    pub verb: Spanned<String>,
    #[serde(default)]
    pub args: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OverrideToml {
    pub entity: Option<Spanned<String>>,
    pub device: Option<Spanned<String>>,
    pub name: Option<Spanned<String>>,
    #[serde(default)]
    pub aliases: Aliases,
    pub area: Option<Spanned<String>>,
    pub device_class: Option<Spanned<String>>,
    #[serde(default)]
    pub hide: bool,
    /// The name of the secret that is its code.
    pub code: Option<Spanned<String>>,
    pub tier: Option<Spanned<String>>,
    pub reason: Option<Spanned<String>>,
    /// Watts that hang on it.
    pub power_w: Option<Spanned<f64>>,
}
