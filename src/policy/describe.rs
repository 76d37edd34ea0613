//! The effective policy as text: what `homeloop check` prints.

use std::fmt;

use super::decide::Decision;
use super::rules::Policy;
use super::tier::TABLE;

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "policy {}", self.version)?;
        writeln!(f, "\ntable (the highest tier that matches; what none matches is G2)")?;
        for row in TABLE {
            writeln!(f, "  {}  {:<24} {}", row.tier.word(), row.name, row.why)?;
        }
        let limits = &self.limits;
        writeln!(f, "\nlimits (refused beyond them)")?;
        writeln!(
            f,
            "  climate {} to {} °C, off only above {} °C outside",
            limits.climate_min, limits.climate_max, limits.frost
        )?;
        writeln!(f, "  water heater at most {} °C", limits.water_heater_max)?;
        writeln!(
            f,
            "  writes of one command: {} free, {} with approval, {} to one entity",
            limits.writes_free, limits.writes_max, limits.writes_per_entity
        )?;
        writeln!(
            f,
            "\napprovals: {} s to decide, {} waiting at most",
            self.approvals.ttl_s, self.approvals.total
        )?;
        if self.rules.is_empty() {
            return writeln!(f, "\nno rules of this home");
        }
        writeln!(f, "\nrules of this home (deny beats ask beats allow)")?;
        for rule in &self.rules {
            let decision = match rule.decision {
                Decision::Allow => "allow",
                Decision::Ask => "ask",
                Decision::Deny => "deny",
            };
            let reason = rule.reason.as_deref().unwrap_or("no reason given");
            writeln!(f, "  {decision:<5}  {}: {reason}", rule.name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Rule;

    #[test]
    fn all_of_the_policy_is_shown() {
        let mut policy = Policy { version: "v".into(), ..Policy::default() };
        let plain = policy.to_string();
        let lines: Vec<&str> = plain.lines().collect();
        for line in [
            "policy v",
            "table (the highest tier that matches; what none matches is G2)",
            "  G2  lock.unlock              it lets people in",
            "limits (refused beyond them)",
            "  climate 10 to 28 °C, off only above 3 °C outside",
            "  water heater at most 65 °C",
            "  writes of one command: 25 free, 100 with approval, 4 to one entity",
            "approvals: 120 s to decide, 5 waiting at most",
            "no rules of this home",
        ] {
            assert!(lines.contains(&line), "{line}");
        }
        assert!(TABLE.iter().all(|row| plain.contains(row.name) && plain.contains(row.why)));
        policy.rules = [Decision::Allow, Decision::Ask, Decision::Deny].map(Rule::empty).to_vec();
        policy.rules[2].name = "no".into();
        policy.rules[2].reason = Some("never here".into());
        let ruled = policy.to_string();
        assert!(!ruled.contains("no rules of this home"));
        let (_, rules) = ruled.split_once("\nrules of this home (deny beats ask beats allow)\n").unwrap();
        assert_eq!(
            rules,
            "  allow  : no reason given\n  ask    : no reason given\n  deny   no: never here\n"
        );
    }
}
