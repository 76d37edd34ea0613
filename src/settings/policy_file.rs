//! `policy.toml`: limits, when to be more careful, approvals, and the rules of this home.
//!
//! Whatever is wrong stops the start, with file and line: a rule that is ignored in silence is worse than none.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use chrono::{NaiveTime, Weekday};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use toml::Spanned;

use crate::devices::{FileError, Source};
use crate::home::{Arg, Domain, EntityId, House, Verb};
use crate::policy::{ApprovalSettings, Channel, Decision, Hours, Limits, Policy, Raises, Range, Rule};

/// `config/policy.example.toml`: every setting with its default and its explanation.
pub const EXAMPLE: &str = include_str!("../../config/policy.example.toml");

/// Reads a policy file from disk.
pub fn load(path: &Path) -> Result<Policy, FileError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| FileError::whole(&file, format!("cannot be read: {error}")))?;
    parse(&file, &text)
}

/// Reads a policy file from text; `file` is the name for errors.
pub fn parse(file: &str, text: &str) -> Result<Policy, FileError> {
    let source = Source { file, text };
    let read: PolicyToml = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
    check_limits(&source, &read.limits)?;
    check_approvals(&source, &read.approvals)?;
    let mut names = HashSet::new();
    let mut rules = Vec::with_capacity(read.rule.len());
    for rule in &read.rule {
        let made = build(&source, rule)?;
        if !names.insert(made.name.clone()) {
            return Err(source.error(rule.span(), format!("there are two rules named {:?}", made.name)));
        }
        rules.push(made);
    }
    Ok(Policy {
        version: version(text),
        limits: read.limits.into_inner(),
        raises: read.raise,
        approvals: read.approvals.into_inner(),
        rules,
    })
}

/// Changes with every byte of the file and with the release, whose table may differ.
fn version(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let short: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{short}-{}", env!("CARGO_PKG_VERSION"))
}

/// Entities and areas that rules name and the house does not have. No error: they may still announce themselves.
pub fn unknown_names(policy: &Policy, house: &House) -> Vec<String> {
    let mut unknown = Vec::new();
    for rule in &policy.rules {
        let entities = rule.entities.iter().filter(|id| house.entity(id.as_str()).is_none());
        unknown.extend(entities.map(|id| format!("rule {:?} names {id}, which is not known", rule.name)));
        let areas = rule.areas.iter().filter(|area| !house.places.areas.contains_key(*area));
        unknown.extend(
            areas.map(|area| format!("rule {:?} names area {area:?}, which is not known", rule.name)),
        );
    }
    unknown
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyToml {
    #[serde(default = "no_span")]
    limits: Spanned<Limits>,
    #[serde(default)]
    raise: Raises,
    #[serde(default = "no_span")]
    approvals: Spanned<ApprovalSettings>,
    #[serde(default)]
    rule: Vec<Spanned<RuleToml>>,
}

fn no_span<T: Default>() -> Spanned<T> {
    Spanned::new(0..0, T::default())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleToml {
    name: String,
    decision: Decision,
    reason: Option<String>,
    #[serde(default)]
    entity: Words,
    #[serde(default)]
    domain: Words,
    #[serde(default)]
    area: Words,
    #[serde(default)]
    verb: Words,
    #[serde(default)]
    args: BTreeMap<Spanned<String>, Range>,
    #[serde(default)]
    principal: Words,
    #[serde(default)]
    channel: Vec<Channel>,
    /// `["22:00", "06:00"]`
    hours: Option<Spanned<[String; 2]>>,
    #[serde(default)]
    days: Words,
    somebody_home: Option<bool>,
    #[serde(default)]
    alarm: Words,
    tainted: Option<bool>,
}

/// One word or a list of them.
#[derive(Default)]
struct Words(Vec<Spanned<String>>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Spanned<String>>::deserialize(deserializer).map(Words)
    }
}

impl Words {
    fn plain(&self) -> Vec<String> {
        self.0.iter().map(|word| word.get_ref().clone()).collect()
    }

    fn each<T>(
        &self,
        source: &Source<'_>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, FileError> {
        let one = |word: &Spanned<String>| {
            read(word.get_ref()).map_err(|message| source.error(word.span(), message))
        };
        self.0.iter().map(one).collect()
    }
}

fn build(source: &Source<'_>, spanned: &Spanned<RuleToml>) -> Result<Rule, FileError> {
    let rule = spanned.get_ref();
    let known = |found: Option<Domain>, word: &str| found.ok_or_else(|| format!("{word:?} is no domain"));
    let built = Rule {
        name: rule.name.clone(),
        decision: rule.decision,
        reason: rule.reason.clone(),
        entities: rule.entity.each(source, |id| EntityId::parse(id).map_err(|error| error.to_string()))?,
        domains: rule.domain.each(source, |word| {
            known(Some(Domain::from_word(word)).filter(|domain| *domain != Domain::Other), word)
        })?,
        areas: rule.area.plain(),
        verbs: rule.verb.each(source, |word| {
            Verb::from_word(word)
                .ok_or_else(|| format!("{word:?} is no verb; verbs are {}", all(Verb::ALL, Verb::word)))
        })?,
        args: args(source, &rule.args)?,
        principals: rule.principal.plain(),
        channels: rule.channel.clone(),
        hours: rule.hours.as_ref().map(|hours| read_hours(source, hours)).transpose()?,
        days: rule.days.each(source, |word| {
            word.parse::<Weekday>()
                .map_err(|_| format!("{word:?} is no day; days are mon, tue, wed, thu, fri, sat, sun"))
        })?,
        somebody_home: rule.somebody_home,
        alarm: rule.alarm.each(source, |word| {
            ALARM.contains(&word).then(|| word.to_owned()).ok_or_else(|| {
                format!("{word:?} is no state of an alarm panel; states are {}", ALARM.join(", "))
            })
        })?,
        tainted: rule.tainted,
    };
    if built.name.trim().is_empty() {
        return Err(source.error(spanned.span(), "a rule needs a name, so that it can be told"));
    }
    built.check().map_err(|error| source.error(spanned.span(), format!("rule {:?}: {error}", built.name)))?;
    Ok(built)
}

const ALARM: &[&str] = &[
    "disarmed",
    "armed_home",
    "armed_away",
    "armed_night",
    "armed_vacation",
    "armed_custom_bypass",
    "arming",
    "pending",
    "triggered",
];

fn all<T: Copy>(list: &[T], word: impl Fn(T) -> &'static str) -> String {
    list.iter().map(|item| word(*item)).collect::<Vec<_>>().join(", ")
}

fn args(
    source: &Source<'_>,
    given: &BTreeMap<Spanned<String>, Range>,
) -> Result<BTreeMap<Arg, Range>, FileError> {
    given
        .iter()
        .map(|(name, range)| {
            let arg = Arg::from_word(name.get_ref()).ok_or_else(|| {
                let known = all(Arg::ALL, Arg::word);
                source
                    .error(name.span(), format!("{:?} is no argument; arguments are {known}", name.get_ref()))
            })?;
            Ok((arg, range.clone()))
        })
        .collect()
}

fn read_hours(source: &Source<'_>, hours: &Spanned<[String; 2]>) -> Result<Hours, FileError> {
    let [from, to] = hours.get_ref();
    let time = |text: &str| {
        NaiveTime::parse_from_str(text, "%H:%M").map_err(|_| {
            source.error(hours.span(), format!("{text:?} is no time of day; expected one like \"22:00\""))
        })
    };
    let (from, to) = (time(from)?, time(to)?);
    if from == to {
        return Err(
            source.error(hours.span(), "the hours begin when they end; leave them out for the whole day")
        );
    }
    Ok(Hours { from, to })
}

fn check_limits(source: &Source<'_>, spanned: &Spanned<Limits>) -> Result<(), FileError> {
    let limits = spanned.get_ref();
    let wrong = |message: String| Err(source.error(spanned.span(), message));
    let temperatures = [limits.climate_min, limits.climate_max, limits.frost, limits.water_heater_max];
    if temperatures.iter().any(|celsius| !celsius.is_finite()) {
        return wrong("a limit is no number".to_owned());
    }
    if limits.climate_min < 5.0 || limits.climate_max > 35.0 || limits.climate_min >= limits.climate_max {
        return wrong(format!(
            "climate_min {} and climate_max {} must lie within 5 to 35 °C, the first below the second",
            limits.climate_min, limits.climate_max
        ));
    }
    if limits.water_heater_max > 65.0 {
        return wrong(format!(
            "water_heater_max {} is above 65 °C, which scalds at once",
            limits.water_heater_max
        ));
    }
    if limits.writes_max > 100 || limits.writes_free > limits.writes_max || limits.gated_targets > 10 {
        return wrong(format!(
            "writes_free {} to writes_max {} must not exceed 100, and gated_targets {} not 10: a person must be able to \
             read what is approved",
            limits.writes_free, limits.writes_max, limits.gated_targets
        ));
    }
    if let Some(sensor) = &limits.outdoor_sensor
        && let Err(error) = EntityId::parse(sensor)
    {
        return wrong(format!("outdoor_sensor: {error}"));
    }
    Ok(())
}

fn check_approvals(source: &Source<'_>, spanned: &Spanned<ApprovalSettings>) -> Result<(), FileError> {
    let approvals = spanned.get_ref();
    let in_range = |name: &str, value: u64, min: u64, max: u64| {
        if (min..=max).contains(&value) {
            Ok(())
        } else {
            Err(source.error(spanned.span(), format!("{name} is {value}; expected {min} to {max}")))
        }
    };
    in_range("ttl_s", approvals.ttl_s, 10, 600)?;
    in_range("dispatch_s", approvals.dispatch_s, 1, 30)?;
    in_range("per_requester", approvals.per_requester.into(), 1, 3)?;
    in_range("total", approvals.total.into(), 1, 5)?;
    in_range("wrong_hashes", approvals.wrong_hashes.into(), 1, 5)?;
    in_range("cool_down_s", approvals.cool_down_s, 60, 86_400)
}

#[cfg(test)]
mod tests;
