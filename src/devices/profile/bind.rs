//! From a profile and the parameters of one entity to its codec.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU8;
use std::time::Duration;

use serde_json::{Map, Value};

use super::Profile;
use super::codec::{AvailabilityTopic, Body, BoundAction, ProfileCodec, Read, Report, Send, Target};
use super::field::{Field, Path, Transform};
use super::format::{ActionFile, ArgFile, ArgKindFile, FieldFile, ReportFile, SendFile};
use super::parameters::{BindError, JsonTemplate, Parameter, Template, Values};
use crate::devices::ConfirmHint;
use crate::devices::filters::is_topic;
use crate::devices::words;
use crate::home::{ActionSpec, Arg, ArgKind, ArgSpec, Verb};

struct Binder<'a> {
    declared: &'a BTreeMap<String, Parameter>,
    values: Values,
}

pub(super) fn bind(
    profile: &Profile,
    given: &BTreeMap<String, toml::Value>,
) -> Result<ProfileCodec, BindError> {
    let binder = Binder { declared: &profile.parameters, values: Values::bind(&profile.parameters, given)? };
    let file = &profile.file;
    let mut codec = ProfileCodec { reports: Vec::new(), availability: Vec::new(), actions: Vec::new() };
    for report in &file.report {
        if binder.has(&report.when) {
            codec.reports.push(binder.report(report)?);
        }
    }
    for availability in &file.availability {
        if binder.has(&availability.when) {
            codec.availability.push(AvailabilityTopic {
                topic: binder.topic(availability.topic.get_ref())?,
                path: binder.path(availability.path.as_ref().map(|path| path.get_ref().as_str()))?,
                online: availability.online.clone(),
                offline: availability.offline.clone(),
                shared: availability.shared,
                last: AtomicU8::new(AvailabilityTopic::UNKNOWN),
            });
        }
    }
    for action in &file.action {
        if binder.has(&action.when) {
            codec.actions.push(binder.action(action)?);
        }
    }
    // A device that reports on the topic of its commands would confirm our own words.
    for topic in codec.command_topics() {
        if codec.reports.iter().any(|report| report.topic == topic) {
            return Err(BindError::new(format!("{topic:?} is both a command topic and a report topic")));
        }
    }
    Ok(codec)
}

impl Binder<'_> {
    fn has(&self, when: &Option<toml::Spanned<String>>) -> bool {
        self.values.has(when.as_ref().map(|name| name.get_ref().as_str()))
    }

    fn fill(&self, text: &str) -> Result<String, BindError> {
        let template = Template::parse(text, self.declared).map_err(BindError::new)?;
        self.values
            .fill(&template)
            .ok_or_else(|| BindError::new(format!("{text:?} needs a parameter that is not given")))
    }

    fn topic(&self, text: &str) -> Result<String, BindError> {
        let topic = self.fill(text)?;
        if is_topic(&topic) {
            Ok(topic)
        } else {
            Err(BindError::new(format!("{topic:?} is no MQTT topic: expected no +, no # and some text")))
        }
    }

    fn path(&self, text: Option<&str>) -> Result<Option<Path>, BindError> {
        let Some(text) = text else { return Ok(None) };
        let path = self.fill(text)?;
        match Path::parse(&path) {
            Some(path) => Ok(Some(path)),
            None => Err(BindError::new(format!("{path:?} is no path; expected names with dots between"))),
        }
    }

    fn report(&self, report: &ReportFile) -> Result<Report, BindError> {
        let mut reads = Vec::new();
        for read in &report.read {
            let file = read.get_ref();
            if !self.has(&file.when) {
                continue;
            }
            let target = match file.to.as_ref().map(|to| to.get_ref().as_str()) {
                Some("value") | None => Target::Value,
                Some(attribute) => Target::Attribute(words::word(attribute)),
            };
            reads.push(Read { target, field: self.field(file)? });
        }
        Ok(Report {
            topic: self.topic(report.topic.get_ref())?,
            retained: report.retained,
            said: report.said,
            json: reads.iter().any(|read| read.field.path.is_some()),
            reads,
        })
    }

    fn field(&self, file: &FieldFile) -> Result<Field, BindError> {
        let transform = if let Some(map) = &file.map {
            let pair =
                |(from, to): (&String, &toml::Value)| Some((from.as_str().into(), words::word(to.as_str()?)));
            Transform::Map(map.iter().filter_map(pair).collect::<Vec<(Box<str>, Cow<'static, str>)>>())
        } else if let Some(ranges) = &file.ranges {
            Transform::Ranges(ranges.iter().map(|range| (range.up_to, words::word(&range.is))).collect())
        } else if let Some(scale) = &file.scale {
            let [from_low, from_high] = &scale.from;
            let [to_low, to_high] = &scale.to;
            let from = (self.values.number(from_low)?, self.values.number(from_high)?);
            let to = (self.values.number(to_low)?, self.values.number(to_high)?);
            if from.0 == from.1 || to.0 == to.1 {
                return Err(BindError::new("a scale from a number to itself has no length"));
            }
            Transform::Scale { from, to }
        } else if let Some(convert) = file.convert {
            Transform::Convert(convert)
        } else {
            Transform::Keep
        };
        Ok(Field {
            path: self.path(file.path.as_ref().map(|path| path.get_ref().as_str()))?,
            transform,
            ignore: file.ignore.iter().map(|word| word.as_str().into()).collect(),
            decimals: file.decimals,
            shape: file.shape,
        })
    }

    fn action(&self, action: &ActionFile) -> Result<BoundAction, BindError> {
        let unknown = |word: &str| BindError::new(format!("{word:?} is no verb or argument"));
        let verb = action.verb.get_ref();
        let mut spec = ActionSpec::new(Verb::from_word(verb).ok_or_else(|| unknown(verb))?);
        for arg in &action.args {
            let arg = arg.get_ref();
            if !self.has(&arg.when) {
                continue;
            }
            let name = arg.name.get_ref();
            let name = Arg::from_word(name).ok_or_else(|| unknown(name))?;
            spec.args.push(ArgSpec { name, required: !arg.optional, kind: self.arg_kind(arg)? });
        }
        let mut sends = Vec::new();
        for send in &action.send {
            let send = send.get_ref();
            let arg = |name: &Option<toml::Spanned<String>>| match name {
                Some(name) => Arg::from_word(name.get_ref()).map(Some).ok_or_else(|| unknown(name.get_ref())),
                None => Ok(None),
            };
            let (only_with, unless_with) = (arg(&send.only_with)?, arg(&send.unless_with)?);
            // The argument that it needs may be one that this entity does not offer.
            if only_with.is_none_or(|arg| spec.arg(arg).is_some()) {
                sends.push(Send {
                    topic: self.topic(send.topic.get_ref())?,
                    only_with,
                    unless_with,
                    body: self.body(send, &spec)?,
                    qos: send.qos,
                });
            }
        }
        let hint = ConfirmHint {
            within: action.confirm_s.as_ref().map(|seconds| Duration::from_secs_f64(*seconds.get_ref())),
            tolerance: action.tolerance.as_ref().map(|tolerance| *tolerance.get_ref()),
        };
        Ok(BoundAction { spec, hint, sends })
    }

    fn arg_kind(&self, arg: &ArgFile) -> Result<ArgKind, BindError> {
        let needs = |what: &str| BindError::new(format!("the argument {} needs {what}", arg.name.get_ref()));
        Ok(match arg.kind {
            ArgKindFile::Percent => {
                let min = arg.min.as_ref().map_or(Ok(0.0), |bound| self.values.number(bound))?;
                ArgKind::Number { min, max: 100.0, step: 1.0 }
            }
            ArgKindFile::Number => {
                let min = self.values.number(arg.min.as_ref().ok_or_else(|| needs("min"))?)?;
                let max = self.values.number(arg.max.as_ref().ok_or_else(|| needs("max"))?)?;
                let step = arg.step.as_ref().map_or(Ok(1.0), |bound| self.values.number(bound))?;
                if min > max || step <= 0.0 {
                    let message =
                        format!("{}: the range {min} to {max} by {step} is empty", arg.name.get_ref());
                    return Err(BindError::new(message));
                }
                ArgKind::Number { min, max, step }
            }
            ArgKindFile::Choice => {
                ArgKind::Choice(self.values.words(arg.options.as_ref().ok_or_else(|| needs("options"))?)?)
            }
            ArgKindFile::Text => ArgKind::Text { max_chars: arg.max_chars.unwrap_or(255) },
            ArgKindFile::Bool => ArgKind::Bool,
            ArgKindFile::Rgb => ArgKind::Rgb,
        })
    }

    fn body(&self, send: &SendFile, spec: &ActionSpec) -> Result<Body, BindError> {
        if let Some(text) = &send.text {
            return Ok(Body::Text(self.fill(text.get_ref())?));
        }
        let mut fields = Vec::new();
        for field in &send.fields {
            let field = field.get_ref();
            let name = field.arg.as_ref().map_or("", |arg| arg.get_ref().as_str());
            let arg = Arg::from_word(name).filter(|arg| spec.arg(*arg).is_some());
            if let Some(arg) = arg
                && self.has(&field.when)
            {
                fields.push((arg, self.field(field)?));
            }
        }
        let fixed = match &send.json {
            Some(json) => {
                let template = JsonTemplate::parse(&Value::Object(json.get_ref().clone()), self.declared)
                    .map_err(BindError::new)?;
                template.fill(&self.values).unwrap_or(Value::Object(Map::new()))
            }
            None => Value::Object(Map::new()),
        };
        match fields.pop_if(|(_, field)| send.json.is_none() && field.path.is_none()) {
            Some((arg, field)) => Ok(Body::Arg(arg, field)),
            None => Ok(Body::Json { fixed, fields }),
        }
    }
}
