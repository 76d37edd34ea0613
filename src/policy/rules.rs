//! The rules of the policy file: who, what, where and when, and what then.
//!
//! A rule may raise anything. It may lower one named entity only, and only with a written reason. Reading the file is
//! `settings::policy_file`; the precedence of rules is in `decide`.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, NaiveDateTime, NaiveTime, Utc, Weekday};
use serde::Serialize;

use super::approval::ApprovalSettings;
use super::decide::{Asked, Decision, Facts, Leaf};
use super::limits::Limits;
use super::principal::{Channel, Principal};
use super::tier::Tier;
use crate::home::{Arg, ArgValue, Domain, EntityId, Verb};

/// Everything that decides besides the table: the effective policy of this home.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Policy {
    /// Changes whenever any rule, limit or the table may have changed; part of every plan's hash.
    pub version: String,
    pub limits: Limits,
    pub raises: Raises,
    pub approvals: ApprovalSettings,
    pub rules: Vec<Rule>,
}

impl Policy {
    /// The policy of a home whose home file gives tiers of its own; `version` changes with them.
    pub fn of_home(mut self, version: &str) -> Self {
        if !version.is_empty() {
            self.version = format!("{}-{version}", self.version);
        }
        self
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            version: concat!("default-", env!("CARGO_PKG_VERSION")).to_owned(),
            limits: Limits::default(),
            raises: Raises::default(),
            approvals: ApprovalSettings::default(),
            rules: Vec::new(),
        }
    }
}

/// When an action that needs nobody needs somebody after all. It raises G1 to G2 and never G2 to G3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Raises {
    pub when_away: bool,
    pub when_armed: bool,
    pub when_tainted: bool,
    /// A command with free text from outside in its context that acts on more entities than this is asked about.
    pub tainted_fan_out: usize,
}

impl Default for Raises {
    fn default() -> Self {
        Self { when_away: false, when_armed: false, when_tainted: false, tainted_fan_out: 10 }
    }
}

/// One rule. A condition that is left out holds always.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rule {
    pub name: String,
    pub decision: Decision,
    pub reason: Option<String>,
    pub entities: Vec<EntityId>,
    pub domains: Vec<Domain>,
    /// Ids of areas.
    pub areas: Vec<String>,
    pub verbs: Vec<Verb>,
    pub args: BTreeMap<Arg, Range>,
    /// Names of principals; `*` at the end stands for any rest.
    pub principals: Vec<String>,
    pub channels: Vec<Channel>,
    pub hours: Option<Hours>,
    pub days: Vec<Weekday>,
    /// Whether somebody is home. Holds neither way while nobody can say.
    pub somebody_home: Option<bool>,
    /// States of the alarm panel.
    pub alarm: Vec<String>,
    pub tainted: Option<bool>,
}

/// Values of an argument that a rule speaks of: a number within the ends, or one of the words.
#[derive(Debug, Clone, PartialEq, Default, Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Range {
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub is: Vec<String>,
}

/// From one local time of day to another, the end not included; over midnight where the end is not later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Hours {
    pub from: NaiveTime,
    pub to: NaiveTime,
}

impl Hours {
    pub fn contains(&self, time: NaiveTime) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&time)
        } else {
            time >= self.from || time < self.to
        }
    }
}

impl Range {
    fn contains(&self, value: &ArgValue) -> bool {
        match value {
            ArgValue::Number(number) => {
                self.is.is_empty()
                    && self.min.is_none_or(|min| *number >= min)
                    && self.max.is_none_or(|max| *number <= max)
            }
            ArgValue::Text(text) => self.is.contains(text),
            ArgValue::Bool(flag) => self.is.iter().any(|word| *word == flag.to_string()),
            ArgValue::Rgb(_) | ArgValue::Numbers(_) => false,
        }
    }
}

/// Why a rule is refused at the start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("a rule without any condition would hold for everything; say what it is about")]
    NoCondition,
    #[error("\"allow\" lowers, so it must name exactly one entity; it names {0}")]
    LowersWithoutEntity(usize),
    #[error("\"allow\" lowers, so it needs a reason of at least 5 characters")]
    LowersWithoutReason,
    #[error("{0}: min {1} is above max {2}")]
    EmptyRange(Arg, String, String),
}

impl Rule {
    /// The rule behind a tier that the home file gives an entity, with its reason. G1 lowers from G2, G2 asks, G3
    /// denies.
    pub fn for_entity(entity: EntityId, tier: Tier, reason: &str) -> Self {
        let decision = match tier {
            Tier::Read | Tier::Act => Decision::Allow,
            Tier::Ask => Decision::Ask,
            Tier::Never => Decision::Deny,
        };
        Self {
            name: format!("home file: {entity}"),
            decision,
            reason: Some(reason.to_owned()),
            entities: vec![entity],
            ..Self::empty(Decision::Deny)
        }
    }

    /// The same rule without the right to lower: its reason moves into its name.
    pub fn only_raising(mut self) -> Self {
        if let Some(reason) = self.reason.take() {
            self.name = format!("{} ({reason})", self.name);
        }
        self
    }

    /// A rule without conditions, to be filled in.
    pub fn empty(decision: Decision) -> Self {
        Self {
            name: String::new(),
            decision,
            reason: None,
            entities: Vec::new(),
            domains: Vec::new(),
            areas: Vec::new(),
            verbs: Vec::new(),
            args: BTreeMap::new(),
            principals: Vec::new(),
            channels: Vec::new(),
            hours: None,
            days: Vec::new(),
            somebody_home: None,
            alarm: Vec::new(),
            tainted: None,
        }
    }

    /// Checks what the types cannot say.
    pub fn check(&self) -> Result<(), RuleError> {
        let conditions = !self.entities.is_empty()
            || !self.domains.is_empty()
            || !self.areas.is_empty()
            || !self.verbs.is_empty()
            || !self.args.is_empty()
            || !self.principals.is_empty()
            || !self.channels.is_empty()
            || self.hours.is_some()
            || !self.days.is_empty()
            || self.somebody_home.is_some()
            || !self.alarm.is_empty()
            || self.tainted.is_some();
        if !conditions {
            return Err(RuleError::NoCondition);
        }
        if self.decision == Decision::Allow && self.entities.len() != 1 {
            return Err(RuleError::LowersWithoutEntity(self.entities.len()));
        }
        if self.decision == Decision::Allow && !self.has_reason() {
            return Err(RuleError::LowersWithoutReason);
        }
        for (arg, range) in &self.args {
            if let (Some(min), Some(max)) = (range.min, range.max)
                && min > max
            {
                return Err(RuleError::EmptyRange(*arg, min.to_string(), max.to_string()));
            }
        }
        Ok(())
    }

    /// Whether the rule speaks of one entity alone and says why: only then may it lower.
    pub(super) fn may_lower(&self) -> bool {
        self.entities.len() == 1 && self.has_reason()
    }

    fn has_reason(&self) -> bool {
        self.reason.as_deref().is_some_and(|reason| reason.trim().chars().count() >= 5)
    }

    /// Whether every condition holds for this leaf, now.
    pub(super) fn matches(&self, leaf: &Leaf<'_>, asked: &Asked<'_>, facts: &Facts) -> bool {
        let area = leaf.entity.area.as_deref();
        among(&self.entities, &leaf.action.entity)
            && among(&self.domains, &leaf.entity.domain())
            && (self.areas.is_empty() || area.is_some_and(|area| self.areas.iter().any(|id| id == area)))
            && among(&self.verbs, &leaf.action.verb)
            && among(&self.channels, &asked.principal.channel)
            && (self.principals.is_empty()
                || self.principals.iter().any(|name| is_named(asked.principal, name)))
            && self
                .args
                .iter()
                .all(|(arg, range)| leaf.action.args.get(arg).is_some_and(|value| range.contains(value)))
            && self.hours.is_none_or(|hours| hours.contains(facts.local.time()))
            && among(&self.days, &facts.local.weekday())
            && self.somebody_home.is_none_or(|wanted| facts.somebody_home == Some(wanted))
            && (self.alarm.is_empty() || facts.alarm.as_ref().is_some_and(|alarm| self.alarm.contains(alarm)))
            && self.tainted.is_none_or(|wanted| asked.taint.is_some() == wanted)
    }
}

fn among<T: PartialEq>(list: &[T], item: &T) -> bool {
    list.is_empty() || list.contains(item)
}

/// Whether the principal's name is `pattern`, or begins with it where the pattern ends in `*`.
fn is_named(principal: &Principal, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => principal.name.starts_with(start),
        None => principal.name == pattern,
    }
}

/// Leave given in advance: until its end, one principal may do one thing to one entity without being asked.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct Grant {
    pub id: String,
    pub entity: EntityId,
    pub verbs: Vec<Verb>,
    /// The principal's exact name.
    pub principal: String,
    pub from: DateTime<Utc>,
    pub until: DateTime<Utc>,
    /// Where given, only this very plan.
    pub plan_hash: Option<String>,
    /// The local principal that gave it, and why.
    pub given_by: String,
    pub reason: String,
}

/// Why a grant was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    #[error("a grant can only be given by the local command line with scope admin")]
    NotLocal,
    #[error("a grant names at least one verb")]
    NoVerb,
    #[error("a grant must end after it begins and within 30 days")]
    Span,
    #[error("send_command takes any text: leave for it is given for one plan, when it is asked for")]
    AnyText,
}

impl Grant {
    /// Checks a grant that `giver` wants to give.
    pub fn check(&self, giver: &Principal) -> Result<(), GrantError> {
        if giver.channel != Channel::Local || !giver.has(super::Scope::Admin) {
            return Err(GrantError::NotLocal);
        }
        if self.verbs.is_empty() {
            return Err(GrantError::NoVerb);
        }
        if self.verbs.contains(&Verb::SendCommand) && self.plan_hash.is_none() {
            return Err(GrantError::AnyText);
        }
        let span = self.until - self.from;
        if span <= chrono::TimeDelta::zero() || span > chrono::TimeDelta::days(30) {
            return Err(GrantError::Span);
        }
        Ok(())
    }

    pub(super) fn covers(
        &self,
        leaf: &Leaf<'_>,
        asked: &Asked<'_>,
        plan_hash: &str,
        now: DateTime<Utc>,
    ) -> bool {
        self.entity == leaf.action.entity
            && self.verbs.contains(&leaf.action.verb)
            && self.principal == asked.principal.name
            && (self.from..self.until).contains(&now)
            && self.plan_hash.as_deref().is_none_or(|hash| hash == plan_hash)
    }
}

/// The local time of day that [`Hours`] and days are compared with.
pub type LocalTime = NaiveDateTime;

#[cfg(test)]
mod tests;
