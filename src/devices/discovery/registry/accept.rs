//! A person accepts what a suspended entity has become.

use std::sync::Arc;

use super::super::fields::text_of;
use super::{Discovery, DiscoveryChange};
use crate::home::EntityId;

impl Discovery {
    /// A person accepts the present definition of a suspended entity.
    pub fn accept(&mut self, id: &EntityId) -> Vec<DiscoveryChange> {
        let found = self.items.of_entity(id.as_str()).filter(|(_, item)| item.pending.is_some());
        let Some((key, item)) = found.map(|(key, item)| (key.clone(), item)) else { return Vec::new() };
        let (topic, config) = (item.topic.clone(), item.config.read());
        let unique_id = config.get("unique_id").and_then(text_of);
        let made = self
            .free_unique_id(&key, unique_id.as_deref(), &topic)
            .and_then(|()| self.naming(&key, &config))
            .and_then(|(_, names)| self.make(&topic, &key, &config, id.clone(), &names.shown));
        let made = match made {
            Ok(made) => made,
            Err(why) => return vec![DiscoveryChange::Refused { topic, why }],
        };
        let pin = self.pin_of(&made);
        self.rename_unique_id(&key, unique_id.clone());
        self.pin(&key, unique_id.as_deref(), pin);
        let Some(item) = self.items.get_mut(&key) else { return Vec::new() };
        item.pending = None;
        item.entity = made.entity;
        made.codec.inherit(item.codec.as_ref());
        item.codec = made.codec;
        vec![DiscoveryChange::Updated { entity: item.entity.clone(), codec: Arc::clone(&item.codec) }]
    }
}
