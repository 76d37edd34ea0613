//! Corrections of entities that announce themselves: their area, names, class, and how careful to be with them.

use sha2::{Digest, Sha256};
use toml::Spanned;

use super::build::{device_class, name, names, no_such};
use super::format::OverrideToml;
use crate::devices::{FileError, Source};
use crate::home::{Entity, Name, Places, Verb};
use crate::policy::{Rule, Tier, is_generic};

/// Overrides in the order of the file; later ones win.
#[derive(Debug, Clone, Default)]
pub struct Overrides(Vec<Override>);

/// What is set on every entity that matches.
#[derive(Debug, Clone)]
pub struct Override {
    /// Pattern over entity ids.
    entity: Option<String>,
    /// Pattern over device ids and names.
    device: Option<String>,
    name: Option<String>,
    aliases: Vec<Name>,
    area: Option<String>,
    device_class: Option<String>,
    hide: bool,
    code: Option<String>,
    tier: Option<TierNote>,
    /// Watts that hang on it.
    power_w: Option<f64>,
}

/// Above so many watts a person is asked before something that could be anything is turned on: it heats.
const MUCH_W: f64 = 2000.0;

/// A tier that the home's owner gives an entity. Lowering one needs a reason, and so does raising.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierNote {
    /// G1, G2 or G3.
    pub tier: Tier,
    pub reason: String,
    /// Whether it names one entity or device by its id, and so may lower. A pattern, or a name that a device gives
    /// itself, can only raise.
    pub may_lower: bool,
    /// Whether turning off is left as it is.
    pub spares_off: bool,
}

impl TierNote {
    /// The note of something that is neither a lamp nor a thermostat and draws so many watts.
    fn of_power(watts: f64) -> Self {
        let reason = format!("{watts} W hang on it, more than {MUCH_W} W");
        Self { tier: Tier::Ask, reason, may_lower: false, spares_off: true }
    }

    /// The rule that it stands for.
    pub fn rule(&self, entity: &Entity) -> Rule {
        let mut rule = Rule::for_entity(entity.id.clone(), self.tier, &self.reason);
        if self.spares_off {
            rule.verbs = Verb::ALL.iter().copied().filter(|verb| *verb != Verb::TurnOff).collect();
        }
        if self.may_lower { rule } else { rule.only_raising() }
    }
}

/// What the overrides say about an entity beside its fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Whether the entity is to be left out.
    pub hide: bool,
    /// The name of the secret that is its code.
    pub code: Option<String>,
    pub tier: Option<TierNote>,
}

impl Overrides {
    /// Corrects a discovered entity.
    pub fn apply(&self, entity: &mut Entity) -> Applied {
        let mut applied = Applied::default();
        let mut watts = None;
        let matching: Vec<&Override> = self.0.iter().filter(|known| known.matches(entity)).collect();
        for known in matching {
            if let Some(name) = &known.name {
                entity.name.clone_from(name);
            }
            for alias in &known.aliases {
                if !entity.aliases.contains(alias) {
                    entity.aliases.push(alias.clone());
                }
            }
            if known.area.is_some() {
                entity.area.clone_from(&known.area);
            }
            if known.device_class.is_some() {
                entity.device_class.clone_from(&known.device_class);
            }
            applied.hide |= known.hide;
            watts = known.power_w.or(watts);
            // Whoever announces itself chooses its own name: what is taken from the owner's hands needs the id.
            let by_id = known.names_exactly(entity);
            if by_id && known.code.is_some() {
                applied.code.clone_from(&known.code);
            }
            if let Some(tier) = &known.tier {
                applied.tier = Some(TierNote { may_lower: tier.may_lower && by_id, ..tier.clone() });
            }
        }
        let much = watts.filter(|watts| *watts > MUCH_W && is_generic(entity.domain()));
        applied.tier = applied.tier.or(much.map(TierNote::of_power));
        applied
    }

    /// The same overrides after one for each of `entities`, which gives what the home file says of it.
    pub(super) fn after<'e>(self, entities: impl Iterator<Item = &'e Entity>) -> Self {
        Self(entities.map(Override::giving).chain(self.0).collect())
    }

    /// Whether an override names this entity by its id.
    pub(super) fn name(&self, id: &str) -> bool {
        self.0.iter().any(|known| known.entity.as_deref() == Some(id))
    }

    /// Changes whenever a tier of the home file does; empty where it gives none. Part of the policy's version.
    pub fn version(&self) -> String {
        let mut hash = Sha256::new();
        let careful = |known: &&Override| known.tier.is_some() || known.power_w.is_some();
        for known in self.0.iter().filter(careful) {
            hash.update(format!("{:?}\n", (&known.entity, &known.device, &known.tier, known.power_w)));
        }
        if !self.0.iter().any(|known| careful(&known)) {
            return String::new();
        }
        hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Override {
    /// What the home file says of an entity, for an entity of this id that announces itself.
    fn giving(entity: &Entity) -> Self {
        Self {
            entity: Some(entity.id.to_string()),
            device: None,
            name: Some(entity.name.clone()),
            aliases: entity.aliases.clone(),
            area: entity.area.clone(),
            device_class: entity.device_class.clone(),
            hide: false,
            code: None,
            tier: None,
            power_w: None,
        }
    }

    /// Whether it names this entity, or its device, by the id.
    fn names_exactly(&self, entity: &Entity) -> bool {
        let device = entity.device.as_ref().map(|device| device.id.as_str());
        self.entity.as_deref() == Some(entity.id.as_str())
            || (device.is_some() && self.device.as_deref() == device)
    }

    fn matches(&self, entity: &Entity) -> bool {
        let id = self.entity.as_ref().is_none_or(|pattern| fits(pattern, entity.id.as_str()));
        let device = self.device.as_ref().is_none_or(|pattern| {
            entity.device.as_ref().is_some_and(|device| {
                fits(pattern, &device.id) || device.name.as_ref().is_some_and(|name| fits(pattern, name))
            })
        });
        id && device
    }
}

pub(super) fn overrides(
    source: Source<'_>,
    files: &[Spanned<OverrideToml>],
    places: &Places,
) -> Result<Overrides, FileError> {
    let mut overrides = Vec::new();
    for file in files {
        let (span, file) = (file.span(), file.get_ref());
        if file.entity.is_none() && file.device.is_none() {
            return Err(
                source.error(span, "an override needs entity = … or device = …; * stands for any text")
            );
        }
        if let Some(area) = &file.area
            && !places.areas.contains_key(area.get_ref())
        {
            let message = no_such("area", area.get_ref(), places.areas.keys().map(String::as_str));
            return Err(source.error(area.span(), message));
        }
        let exact = is_exact(file);
        let tier = tier(source, file, exact)?;
        if let Some(code) = file.code.as_ref().filter(|_| !exact) {
            let message = "a code belongs to one entity or device: name it by its id, without *";
            return Err(source.error(code.span(), message));
        }
        let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.get_ref().clone());
        overrides.push(Override {
            entity: text(&file.entity),
            device: text(&file.device),
            name: file.name.as_ref().map(|given| name(source, given)).transpose()?,
            aliases: names(source, &file.aliases)?,
            area: text(&file.area),
            device_class: device_class(source, file.device_class.as_ref())?,
            hide: file.hide,
            code: text(&file.code),
            tier,
            power_w: power(source, file)?,
        });
    }
    Ok(Overrides(overrides))
}

/// Whether the override speaks of one entity or one device.
fn is_exact(file: &OverrideToml) -> bool {
    let exact = |pattern: &Option<Spanned<String>>| {
        pattern.as_ref().is_some_and(|pattern| !pattern.get_ref().contains('*'))
    };
    exact(&file.entity) || exact(&file.device)
}

fn tier(source: Source<'_>, file: &OverrideToml, exact: bool) -> Result<Option<TierNote>, FileError> {
    let (tier, reason) = match (&file.tier, &file.reason) {
        (Some(tier), Some(reason)) => (tier, reason),
        (Some(tier), None) => return Err(source.error(tier.span(), "a tier needs a reason = …")),
        (None, Some(reason)) => return Err(source.error(reason.span(), "a reason belongs to a tier")),
        (None, None) => return Ok(None),
    };
    let word = tier.get_ref().as_str();
    let Some(found) = [Tier::Act, Tier::Ask, Tier::Never].into_iter().find(|tier| tier.word() == word) else {
        return Err(source.error(tier.span(), format!("{word:?} is no tier; expected G1, G2 or G3")));
    };
    if found == Tier::Act && !exact {
        let message = "G1 lowers: name one entity or device by its id, without *";
        return Err(source.error(tier.span(), message));
    }
    let note = TierNote { tier: found, reason: name(source, reason)?, may_lower: exact, spares_off: false };
    if found == Tier::Act && note.reason.trim().chars().count() < 5 {
        return Err(source.error(reason.span(), "G1 lowers, so it needs a reason of at least 5 characters"));
    }
    Ok(Some(note))
}

/// Watts between none and what a house has.
fn power(source: Source<'_>, file: &OverrideToml) -> Result<Option<f64>, FileError> {
    match &file.power_w {
        Some(watts) if !(1.0..=100_000.0).contains(watts.get_ref()) => {
            let message = format!("power_w is {}; expected watts from 1 to 100000", watts.get_ref());
            Err(source.error(watts.span(), message))
        }
        watts => Ok(watts.as_ref().map(|watts| *watts.get_ref())),
    }
}

/// Whether `text` fits `pattern`, in which `*` stands for any text. Quadratic at worst, whatever the pattern.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        match text.split_once(part) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text, expected) in [
            ("light.*", "light.kitchen", true),
            ("light.*", "switch.light.x", false),
            ("*_door", "lock.front_door", true),
            ("*_door", "lock.front_door_2", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("*", "", true),
            ("a*a", "a", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
