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
