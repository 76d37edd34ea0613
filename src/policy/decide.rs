//! One precedence function: from the table, the rules and a plan to allow, ask or deny.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::limits::{counts, refusal};
use super::principal::Principal;
use super::rules::{Grant, LocalTime, Policy, Rule};
use super::tier::{Tier, classify, secures};
use crate::home::{Action, Entity, State, Verb};

/// Policy's answer for a whole plan. A later one in this order beats an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

/// One action on one entity that is no group, and what is known of the entity.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    pub action: &'a Action,
    pub entity: &'a Entity,
    pub state: &'a State,
}

/// Who asks, and in what context.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub principal: &'a Principal,
    pub conversation: Option<&'a str>,
    /// The source of free text from outside that entered the context since the command, if any did.
    pub taint: Option<&'a str>,
    /// Actions that this command has sent already.
    pub sent: &'a [Action],
}

/// What is true of the home now, as far as rules ask for it.
#[derive(Debug, Clone)]
pub struct Facts {
    pub now: DateTime<Utc>,
    /// Local wall time.
    pub local: LocalTime,
    /// `None` while nobody can say.
    pub somebody_home: Option<bool>,
    /// State of the alarm panel, where there is one.
    pub alarm: Option<String>,
    /// Temperature outside in °C.
    pub outside: Option<f64>,
}

/// The decision about one plan. Only [`decide`] makes one, so a permit can rest on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decided {
    plan_hash: String,
    decision: Decision,
    tier: Tier,
    /// Reasons that hold for the plan as a whole: ceilings and fan-out.
    reasons: Vec<String>,
    leaves: Vec<LeafDecision>,
}

/// The decision about one leaf, and everything that led to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeafDecision {
    pub entity: String,
    pub verb: Verb,
    pub decision: Decision,
    pub tier: Tier,
    /// In the order of the precedence; the last is the one that decided.
    pub reasons: Vec<String>,
    /// The rule or grant of the home that decided, where one did.
    pub rule: Option<String>,
    /// Whether a hard limit refused it: its text is for the person who asked.
    pub refusal: Option<String>,
}

impl Decided {
    pub fn plan_hash(&self) -> &str {
        &self.plan_hash
    }

    pub fn decision(&self) -> Decision {
        self.decision
    }

    pub fn tier(&self) -> Tier {
        self.tier
    }

    pub fn leaves(&self) -> &[LeafDecision] {
        &self.leaves
    }

    /// Every reason once: those of the whole, then those of the leaves that decided.
    pub fn reasons(&self) -> Vec<String> {
        let mut all = self.reasons.clone();
        for leaf in self.leaves.iter().filter(|leaf| leaf.decision == self.decision) {
            if let Some(reason) = leaf.reasons.last() {
                let reason = format!("{} {}: {reason}", leaf.verb, leaf.entity);
                if !all.contains(&reason) {
                    all.push(reason);
                }
            }
        }
        all
    }

    /// Whether the whole is asked about only because of its size: no leaf needs a person by itself.
    pub fn asks_by_size_only(&self) -> bool {
        self.decision == Decision::Ask && self.leaves.iter().all(|leaf| leaf.decision == Decision::Allow)
    }

    /// What decided and why, a line for each step, for `policy explain`.
    pub fn explain(&self) -> String {
        let mut text = format!("{} ({})\n", word(self.decision), self.tier.word());
        for reason in &self.reasons {
            text.push_str(&format!("  the whole: {reason}\n"));
        }
        for leaf in &self.leaves {
            text.push_str(&format!(
                "  {} {}: {} ({})\n",
                leaf.verb,
                leaf.entity,
                word(leaf.decision),
                leaf.tier.word()
            ));
            for reason in &leaf.reasons {
                text.push_str(&format!("    {reason}\n"));
            }
        }
        text
    }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

/// Decides about a plan. For each leaf, in this order:
///
/// 1. A hard limit refuses: deny, whatever else holds.
/// 2. The table gives the tier; what it does not know is G2.
/// 3. A rule that denies: deny.
/// 4. A rule for this very entity with a written reason lowers: `allow` from G2 to G1, `ask` from G3 to G2. A grant
///    lowers from G2 to G1.
/// 5. Whatever raises: a rule that asks; nobody home, an armed alarm or taint where the policy says so. From G1 to
///    G2, never to G3.
/// 6. G3 is denied, G2 asks, G1 is allowed.
///
/// Then for the whole:
///
/// 7. More writes in this command than can be approved, too many to one entity, or more gated targets than can be
///    shown: deny.
/// 8. More writes than are free, or a tainted command that fans out: ask.
/// 9. Deny beats ask beats allow, over the leaves and the whole; the tier is the highest.
pub fn decide(
    plan_hash: &str,
    leaves: &[Leaf<'_>],
    asked: &Asked<'_>,
    facts: &Facts,
    policy: &Policy,
    grants: &[Grant],
) -> Decided {
    let decided: Vec<LeafDecision> = leaves
        .iter()
        .map(|leaf| {
            let grant = grants.iter().find(|grant| grant.covers(leaf, asked, plan_hash, facts.now));
            decide_leaf(leaf, asked, facts, policy, grant)
        })
        .collect();
    let (whole, reasons) = decide_whole(leaves, &decided, asked, policy);
    let decision = decided.iter().map(|leaf| leaf.decision).chain([whole]).max().unwrap_or(Decision::Deny);
    let tier = decided.iter().map(|leaf| leaf.tier).max().unwrap_or(Tier::Never);
    let tier = if whole == Decision::Ask { tier.max(Tier::Ask) } else { tier };
    Decided { plan_hash: plan_hash.to_owned(), decision, tier, reasons, leaves: decided }
}

/// Decides about dropping what would have been done later: what locks, arms or closes needs a person, whatever rules
/// say about doing it; the rest does not.
pub fn decide_dropping(plan_hash: &str, leaves: &[Leaf<'_>]) -> Decided {
    let decided: Vec<LeafDecision> = leaves
        .iter()
        .map(|leaf| {
            let (decision, tier, reason) = if secures(leaf.action) {
                (Decision::Ask, Tier::Ask, "G2: the house would be less safe without it")
            } else {
                (Decision::Allow, Tier::Act, "G1: it can be scheduled again")
            };
            LeafDecision {
                entity: leaf.action.entity.to_string(),
                verb: leaf.action.verb,
                decision,
                tier,
                reasons: vec![reason.to_owned()],
                rule: None,
                refusal: None,
            }
        })
        .collect();
    let decision = decided.iter().map(|leaf| leaf.decision).max().unwrap_or(Decision::Ask);
    let tier = decided.iter().map(|leaf| leaf.tier).max().unwrap_or(Tier::Ask);
    Decided { plan_hash: plan_hash.to_owned(), decision, tier, reasons: Vec::new(), leaves: decided }
}

/// Steps 1 to 6.
fn decide_leaf(
    leaf: &Leaf<'_>,
    asked: &Asked<'_>,
    facts: &Facts,
    policy: &Policy,
    grant: Option<&Grant>,
) -> LeafDecision {
    let mut result = LeafDecision {
        entity: leaf.action.entity.to_string(),
        verb: leaf.action.verb,
        decision: Decision::Deny,
        tier: Tier::Never,
        reasons: Vec::new(),
        rule: None,
        refusal: None,
    };
    if let Some(refusal) = refusal(leaf.action, leaf.entity.domain(), &policy.limits, facts.outside) {
        result.reasons.push(refusal.clone());
        result.refusal = Some(refusal);
        return result;
    }
    let by_table = classify(leaf.action, leaf.entity, leaf.state);
    let mut tier = by_table.tier;
    match by_table.rows.first() {
        Some(row) => {
            result.reasons.push(format!("{} by the table, \"{}\": {}", tier.word(), row.name, row.why))
        }
        None => result.reasons.push(format!("{} by the table: it is unknown", tier.word())),
    }
    let matching = |wanted: Decision| {
        policy.rules.iter().filter(move |rule| rule.decision == wanted && rule.matches(leaf, asked, facts))
    };
    if let Some(rule) = matching(Decision::Deny).next() {
        result.tier = tier;
        note(&mut result, rule, "denied");
        return result;
    }
    if tier == Tier::Never
        && let Some(rule) = matching(Decision::Ask).find(|rule| rule.may_lower())
    {
        tier = Tier::Ask;
        note(&mut result, rule, "lowered to G2");
    }
    if tier == Tier::Ask {
        if let Some(rule) = matching(Decision::Allow).find(|rule| rule.may_lower()) {
            tier = lower(&mut result, rule, by_table.tier);
        } else if let Some(grant) = grant {
            tier = Tier::Act;
            result.rule = Some(format!("grant {}", grant.id));
            result
                .reasons
                .push(format!("lowered to G1 by grant {} of {}: {}", grant.id, grant.given_by, grant.reason));
        }
    }
    if tier == Tier::Act {
        if let Some(rule) = matching(Decision::Ask).next() {
            tier = Tier::Ask;
            note(&mut result, rule, "raised to G2");
        } else if let Some(why) = raised(asked, facts, policy) {
            tier = Tier::Ask;
            result.reasons.push(format!("raised to G2: {why}"));
        }
    }
    result.tier = tier;
    result.decision = match tier {
        Tier::Read | Tier::Act => Decision::Allow,
        Tier::Ask => Decision::Ask,
        Tier::Never => Decision::Deny,
    };
    result
}

/// An `allow` rule lowers from G2; from G3 it cannot, even after an `ask` rule lowered that to G2.
fn lower(result: &mut LeafDecision, rule: &Rule, by_table: Tier) -> Tier {
    if by_table == Tier::Never {
        return Tier::Ask;
    }
    note(result, rule, "lowered to G1");
    Tier::Act
}

fn note(result: &mut LeafDecision, rule: &Rule, what: &str) {
    let why = rule.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    result.reasons.push(format!("{what} by rule \"{}\"{why}", rule.name));
    result.rule = Some(rule.name.clone());
}

/// How near an alarm panel in this state is to calling people out; 0 where it guards nothing.
pub fn guard(alarm: &str) -> u8 {
    match alarm {
        "triggered" => 3,
        "pending" => 2,
        "arming" => 1,
        armed if armed.starts_with("armed") => 1,
        _ => 0,
    }
}

/// Step 5 without the rules.
fn raised(asked: &Asked<'_>, facts: &Facts, policy: &Policy) -> Option<String> {
    if policy.raises.when_away && facts.somebody_home == Some(false) {
        return Some("nobody is home".to_owned());
    }
    if policy.raises.when_armed && facts.alarm.as_deref().is_some_and(|alarm| guard(alarm) > 0) {
        return Some("the alarm is armed".to_owned());
    }
    match asked.taint {
        Some(source) if policy.raises.when_tainted => Some(format!("text from {source} was read before")),
        Some(_) | None => None,
    }
}

/// Steps 7 and 8: the decision about the plan as a whole, with its reasons.
fn decide_whole(
    leaves: &[Leaf<'_>],
    decided: &[LeafDecision],
    asked: &Asked<'_>,
    policy: &Policy,
) -> (Decision, Vec<String>) {
    let limits = &policy.limits;
    let actions = || asked.sent.iter().chain(leaves.iter().map(|leaf| leaf.action));
    let writes = actions().filter(|action| counts(action)).count();
    let gated = decided.iter().filter(|leaf| leaf.decision == Decision::Ask).count();
    let busiest = leaves.iter().find_map(|leaf| {
        let same = actions().filter(|action| action.entity == leaf.action.entity).count();
        (same > limits.writes_per_entity).then_some((&leaf.action.entity, same))
    });
    let mut reasons = Vec::new();
    if leaves.is_empty() {
        reasons.push("there is nothing to do".to_owned());
    }
    if writes > limits.writes_max {
        reasons.push(format!("{writes} writes in one command; at most {} are possible", limits.writes_max));
    }
    if let Some((entity, same)) = busiest {
        reasons
            .push(format!("{same} writes to {entity} in one command; at most {}", limits.writes_per_entity));
    }
    if gated > limits.gated_targets {
        reasons.push(format!(
            "{gated} targets need approval, more than {} cannot be shown at once",
            limits.gated_targets
        ));
    }
    if !reasons.is_empty() {
        return (Decision::Deny, reasons);
    }
    if writes > limits.writes_free {
        reasons.push(format!("{writes} writes in one command; {} need no approval", limits.writes_free));
    }
    if let Some(source) = asked.taint {
        let targets: BTreeSet<_> = actions().map(|action| &action.entity).collect();
        if targets.len() > policy.raises.tainted_fan_out {
            reasons.push(format!("{} targets, and text from {source} was read before", targets.len()));
        }
    }
    (if reasons.is_empty() { Decision::Allow } else { Decision::Ask }, reasons)
}

#[cfg(test)]
mod tests;
