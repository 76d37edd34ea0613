//! Corrections of entities that announce themselves: their area, names, class, and how careful to be with them.

use toml::Spanned;

use super::build::{device_class, name, names, no_such};
use super::format::OverrideToml;
use crate::devices::{FileError, Source};
use crate::home::{Entity, Name, Places};

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
    tier: Option<TierNote>,
}

/// A tier that the home's owner gives an entity. Lowering one needs a reason, and so does raising.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierNote {
    /// `G1`, `G2` or `G3`.
    pub tier: String,
    pub reason: String,
}

/// What the overrides say about an entity beside its fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Whether the entity is to be left out.
    pub hide: bool,
    pub tier: Option<TierNote>,
}

impl Overrides {
    /// Corrects a discovered entity.
    pub fn apply(&self, entity: &mut Entity) -> Applied {
        let mut applied = Applied::default();
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
            if known.tier.is_some() {
                applied.tier.clone_from(&known.tier);
            }
        }
        applied
    }
}

impl Override {
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
        let tier = match (&file.tier, &file.reason) {
            (Some(tier), Some(reason)) if ["G1", "G2", "G3"].contains(&tier.get_ref().as_str()) => {
                Some(TierNote { tier: tier.get_ref().clone(), reason: name(source, reason)? })
            }
            (Some(tier), Some(_)) => {
                let message = format!("{:?} is no tier; expected G1, G2 or G3", tier.get_ref());
                return Err(source.error(tier.span(), message));
            }
            (Some(tier), None) => return Err(source.error(tier.span(), "a tier needs a reason = …")),
            (None, Some(reason)) => return Err(source.error(reason.span(), "a reason belongs to a tier")),
            (None, None) => None,
        };
        let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.get_ref().clone());
        overrides.push(Override {
            entity: text(&file.entity),
            device: text(&file.device),
            name: file.name.as_ref().map(|given| name(source, given)).transpose()?,
            aliases: names(source, &file.aliases)?,
            area: text(&file.area),
            device_class: device_class(source, file.device_class.as_ref())?,
            hide: file.hide,
            tier,
        });
    }
    Ok(Overrides(overrides))
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
