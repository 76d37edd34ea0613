//! What must not last by itself once it is switched on: water that irrigates, and heaters.
//!
//! Here is only which action begins such a thing and which one ends it. Who makes the end, and after how long, is the
//! household's and the settings'.

use super::risk_words::Group;
use super::tier::{named, opens};
use crate::home::{Action, Domain, Entity, Verb};

/// A kind of thing that always gets an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lasting {
    /// A valve or switch that waters.
    Irrigation,
    /// A switch whose name says that it heats. A thermostat ends by itself and is none.
    Heater,
}

/// Which kind `entity` is, and the verb that ends it; `None` for what may stay on, and for what cannot be ended.
pub fn lasting(entity: &Entity) -> Option<(Lasting, Verb)> {
    let (kind, end) = match entity.domain() {
        Domain::Valve => {
            let waters =
                entity.device_class.as_deref() == Some("irrigation") || named(entity, Group::Irrigation);
            (waters.then_some(Lasting::Irrigation)?, Verb::Close)
        }
        Domain::Switch if named(entity, Group::Irrigation) => (Lasting::Irrigation, Verb::TurnOff),
        // What something depends on must not go off unasked: an aquarium's heater.
        Domain::Switch if heats(entity) && !named(entity, Group::Critical) => {
            (Lasting::Heater, Verb::TurnOff)
        }
        _ => return None,
    };
    entity.action(end).map(|_| (kind, end))
}

fn heats(entity: &Entity) -> bool {
    named(entity, Group::Heat) || named(entity, Group::Fire)
}

/// Whether `action` begins what [`lasting`] says must end.
pub fn begins(action: &Action) -> bool {
    action.verb == Verb::TurnOn || opens(action)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::{ActionSpec, Category, EntityId};

    fn entity(id: &str, class: &str, name: &str, verbs: &[Verb]) -> Entity {
        Entity {
            id: EntityId::parse(id).unwrap(),
            name: name.into(),
            aliases: Vec::new(),
            area: None,
            device: None,
            device_class: (!class.is_empty()).then(|| class.into()),
            category: Category::Main,
            unit: None,
            actions: verbs.iter().map(|verb| ActionSpec::new(*verb)).collect(),
            members: Vec::new(),
            reports_state: true,
            source: "test".into(),
        }
    }

    #[test]
    fn what_waters_or_heats_must_end_and_nothing_else() {
        use Lasting::{Heater, Irrigation};
        for (id, class, name, verbs, expected) in [
            ("valve.a", "irrigation", "Lawn", vec![Verb::Open, Verb::Close], Some((Irrigation, Verb::Close))),
            ("valve.a", "water", "Irrigation", vec![Verb::Close], Some((Irrigation, Verb::Close))),
            ("valve.a", "water", "Main", vec![Verb::Open, Verb::Close], None),
            ("valve.a", "gas", "Gas", vec![Verb::Close], None),
            ("switch.a", "", "Garden sprinkler", vec![Verb::TurnOff], Some((Irrigation, Verb::TurnOff))),
            ("switch.a", "", "花园浇水", vec![Verb::TurnOff], Some((Irrigation, Verb::TurnOff))),
            ("switch.a", "", "Space heater", vec![Verb::TurnOff], Some((Heater, Verb::TurnOff))),
            ("switch.a", "outlet", "Bathroom heater", vec![Verb::TurnOff], Some((Heater, Verb::TurnOff))),
            ("switch.a", "", "Aquarium heater", vec![Verb::TurnOff], None),
            ("switch.a", "", "Kettle", vec![Verb::TurnOff], Some((Heater, Verb::TurnOff))),
            ("switch.a", "", "Coffee machine", vec![Verb::TurnOff], None),
            ("light.a", "", "Heater light", vec![Verb::TurnOff], None),
            ("switch.a", "", "Space heater", vec![Verb::TurnOn], None),
        ] {
            assert_eq!(lasting(&entity(id, class, name, &verbs)), expected, "{id} {class} {name}");
        }
    }

    #[test]
    fn only_what_switches_on_or_opens_begins() {
        for (id, verb, begun) in [
            ("switch.a", Verb::TurnOn, true),
            ("switch.a", Verb::TurnOff, false),
            ("valve.a", Verb::Open, true),
            ("valve.a", Verb::Close, false),
            ("valve.a", Verb::Stop, false),
        ] {
            assert_eq!(begins(&Action::new(EntityId::parse(id).unwrap(), verb)), begun, "{id} {verb}");
        }
    }
}
