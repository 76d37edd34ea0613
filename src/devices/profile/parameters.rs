//! Parameters of a profile: what it declares, what the home file gives, and texts with `{name}` in them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::format::{Bound, Options, ParameterFile, ParameterKind};

/// A declared parameter. Without a default it must be given, unless it is optional.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub kind: ParameterKind,
    pub default: Option<Given>,
    pub optional: bool,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given {
    Text(String),
    Number(f64),
    Flag(bool),
    Words(Vec<String>),
    Secret(String),
}

/// Why an entity cannot have a profile as its home file asks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BindError {
    /// The parameter at fault, if it is one that was given.
    pub parameter: Option<String>,
    pub message: String,
}

impl BindError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { parameter: None, message: message.into() }
    }
}

impl Parameter {
    /// Checks a declaration.
    pub fn declare(file: &ParameterFile) -> Result<Self, String> {
        let default = match &file.default {
            Some(value) => Some(Given::read(file.kind, value)?),
            None => None,
        };
        if file.optional && default.is_some() {
            return Err("a parameter with a default is not optional; remove one of the two".into());
        }
        if file.about.trim().is_empty() {
            return Err("about is empty; say what the parameter is".into());
        }
        Ok(Self { kind: file.kind, default, optional: file.optional })
    }
}

impl Given {
    fn read(kind: ParameterKind, value: &toml::Value) -> Result<Self, String> {
        let wrong = |expected: &str| format!("got {value}; expected {expected}");
        match kind {
            ParameterKind::Text | ParameterKind::Topic => {
                let text = value.as_str().ok_or_else(|| wrong("text"))?;
                if kind == ParameterKind::Topic && (text.is_empty() || text.contains(['+', '#', '\0'])) {
                    return Err(wrong("a part of a topic, without + and #"));
                }
                Ok(Given::Text(text.to_owned()))
            }
            ParameterKind::Secret => {
                let name = value.as_str().ok_or_else(|| wrong("the name of a secret"))?;
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
                if name.is_empty() || !name.bytes().all(plain) {
                    return Err(wrong(
                        "the name of a secret (letters, digits, _ and -), not the secret itself",
                    ));
                }
                Ok(Given::Secret(name.to_owned()))
            }
            ParameterKind::Number => {
                let integer = value.as_integer().map(|number| number as f64);
                let number = value.as_float().or(integer).filter(|number| number.is_finite());
                number.map(Given::Number).ok_or_else(|| wrong("a number"))
            }
            ParameterKind::Flag => value.as_bool().map(Given::Flag).ok_or_else(|| wrong("true or false")),
            ParameterKind::Words => {
                let words = value.as_array().and_then(|words| {
                    words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
                });
                words
                    .filter(|words| !words.is_empty())
                    .map(Given::Words)
                    .ok_or_else(|| wrong("a list of words"))
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Given::Text(text) => text.clone(),
            Given::Number(number) => number.to_string(),
            Given::Flag(flag) => flag.to_string(),
            Given::Words(words) => words.join(","),
            Given::Secret(name) => format!("${{secret:{name}}}"),
        }
    }
}

/// The parameters of one entity, complete and checked.
#[derive(Debug, Default)]
pub(super) struct Values(BTreeMap<String, Given>);

impl Values {
    pub fn bind(
        declared: &BTreeMap<String, Parameter>,
        given: &BTreeMap<String, toml::Value>,
    ) -> Result<Self, BindError> {
        let mut values = BTreeMap::new();
        for (name, value) in given {
            let error = |message: String| BindError { parameter: Some(name.clone()), message };
            let Some(parameter) = declared.get(name) else {
                let known = declared.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                return Err(error(format!("the profile has no parameter {name:?}; it has {known}")));
            };
            let value = Given::read(parameter.kind, value).map_err(|why| error(format!("{name}: {why}")))?;
            values.insert(name.clone(), value);
        }
        for (name, parameter) in declared {
            if values.contains_key(name) {
                continue;
            }
            match &parameter.default {
                Some(default) => values.insert(name.clone(), default.clone()),
                None if parameter.optional => continue,
                None => return Err(BindError::new(format!("the profile needs the parameter {name:?}"))),
            };
        }
        let mut values = Self(values);
        values.fill_defaults(declared, given)?;
        Ok(values)
    }

    /// A default may name other parameters: `cmnd/{topic}`. They are filled once, so none of them may do the same.
    fn fill_defaults(
        &mut self,
        declared: &BTreeMap<String, Parameter>,
        given: &BTreeMap<String, toml::Value>,
    ) -> Result<(), BindError> {
        let mut filled = Vec::new();
        for (name, parameter) in declared {
            if let Some(Given::Text(default)) = &parameter.default
                && default.contains('{')
                && !given.contains_key(name)
            {
                let template = Template::parse(default, declared).map_err(BindError::new)?;
                let text = self.fill(&template).ok_or_else(|| {
                    BindError::new(format!("the default of {name} needs a parameter that is not given"))
                })?;
                filled.push((name.clone(), Given::Text(text)));
            }
        }
        self.0.extend(filled);
        Ok(())
    }

    /// Whether a part of the profile that depends on `when` is there: a flag that is on, or anything else given.
    pub fn has(&self, when: Option<&str>) -> bool {
        match when {
            None => true,
            Some(name) => self.0.get(name).is_some_and(|given| *given != Given::Flag(false)),
        }
    }

    pub fn number(&self, bound: &Bound) -> Result<f64, BindError> {
        match bound {
            Bound::Number(number) => Ok(*number),
            Bound::Parameter(name) => match self.0.get(name) {
                Some(Given::Number(number)) => Ok(*number),
                Some(Given::Text(_) | Given::Flag(_) | Given::Words(_) | Given::Secret(_)) | None => {
                    Err(BindError::new(format!("the profile needs the number {name:?}")))
                }
            },
        }
    }

    pub fn words(&self, options: &Options) -> Result<Vec<String>, BindError> {
        match options {
            Options::Words(words) => Ok(words.clone()),
            Options::Parameter(name) => match self.0.get(name) {
                Some(Given::Words(words)) => Ok(words.clone()),
                Some(Given::Text(_) | Given::Flag(_) | Given::Number(_) | Given::Secret(_)) | None => {
                    Err(BindError::new(format!("the profile needs the words {name:?}")))
                }
            },
        }
    }

    /// The text with its parameters; `None` where one of them is optional and not given.
    pub fn fill(&self, template: &Template) -> Option<String> {
        let mut text = String::new();
        for part in &template.0 {
            match part {
                Part::Text(fixed) => text.push_str(fixed),
                Part::Parameter(name) => text.push_str(&self.0.get(name)?.text()),
            }
        }
        Some(text)
    }
}

/// Text with `{parameter}` in it.
#[derive(Debug, Clone)]
pub(super) struct Template(Vec<Part>);

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Parameter(String),
}

impl Template {
    /// Reads `text`; every `{name}` must be declared. Braces that hold no name are text, so that JSON can be written.
    pub fn parse(text: &str, declared: &BTreeMap<String, Parameter>) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        let mut fixed = String::new();
        while let Some((before, after)) = rest.split_once('{') {
            fixed.push_str(before);
            let is_name = |name: &str| {
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            };
            match after.split_once('}').filter(|(name, _)| is_name(name)) {
                Some((name, after)) if declared.contains_key(name) => {
                    parts.push(Part::Text(std::mem::take(&mut fixed)));
                    parts.push(Part::Parameter(name.to_owned()));
                    rest = after;
                }
                Some((name, _)) => {
                    let known = declared.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                    return Err(format!("{{{name}}} is no parameter of this profile; it has {known}"));
                }
                None => {
                    fixed.push('{');
                    rest = after;
                }
            }
        }
        fixed.push_str(rest);
        parts.push(Part::Text(fixed));
        Ok(Self(parts))
    }
}

/// Fixed JSON with parameters in its texts.
#[derive(Debug, Clone)]
pub(super) enum JsonTemplate {
    Fixed(Value),
    Text(Template),
    Object(Vec<(String, JsonTemplate)>),
    Array(Vec<JsonTemplate>),
}

impl JsonTemplate {
    pub fn parse(value: &Value, declared: &BTreeMap<String, Parameter>) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => JsonTemplate::Text(Template::parse(text, declared)?),
            Value::Object(members) => JsonTemplate::Object(
                members
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), Self::parse(value, declared)?)))
                    .collect::<Result<_, String>>()?,
            ),
            Value::Array(items) => JsonTemplate::Array(
                items.iter().map(|item| Self::parse(item, declared)).collect::<Result<_, String>>()?,
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => JsonTemplate::Fixed(value.clone()),
        })
    }

    /// The JSON with its parameters; a member whose parameter is not given is left out.
    pub fn fill(&self, values: &Values) -> Option<Value> {
        match self {
            JsonTemplate::Fixed(value) => Some(value.clone()),
            JsonTemplate::Text(template) => values.fill(template).map(Value::String),
            JsonTemplate::Object(members) => Some(Value::Object(
                members
                    .iter()
                    .filter_map(|(name, member)| Some((name.clone(), member.fill(values)?)))
                    .collect(),
            )),
            JsonTemplate::Array(items) => {
                Some(Value::Array(items.iter().filter_map(|item| item.fill(values)).collect()))
            }
        }
    }
}
