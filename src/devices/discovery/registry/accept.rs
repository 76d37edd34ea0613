//! A person accepts what a suspended entity has become.

use std::sync::Arc;

use super::super::trust::Pin;
use super::{Discovery, DiscoveryChange, pin_name};
use crate::home::EntityId;

impl Discovery {
    /// A person accepts the present definition of a suspended entity.
    pub fn accept(&mut self, id: &EntityId) -> Vec<DiscoveryChange> {
        let found = self.items.of_entity(id.as_str()).filter(|(_, item)| item.pending.is_some());
        let Some((key, item)) = found.map(|(key, item)| (key.clone(), item)) else { return Vec::new() };
        let (topic, config) = (item.topic.clone(), item.config.read());
        let made = self
            .naming(&key, &config)
            .and_then(|(_, names)| self.make(&topic, &key, &config, id.clone(), &names.shown));
        let made = match made {
            Ok(made) => made,
            Err(why) => return vec![DiscoveryChange::Refused { topic, why }],
        };
        let pin = Pin::of(&made.entity, &made.publishes, (self.gate)(&made.entity));
        let Some(item) = self.items.get_mut(&key) else { return Vec::new() };
        self.pins.0.insert(pin_name(&key, item.unique_id.as_deref()), pin);
        item.pending = None;
        item.entity = made.entity;
        item.codec = made.codec;
        vec![DiscoveryChange::Updated { entity: item.entity.clone(), codec: Arc::clone(&item.codec) }]
    }
}
