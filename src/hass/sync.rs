//! Reading the registries of a standing connection and bringing the house in line with them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::connection::{Choice, Problem, Status};
use super::entities::{add_aliases, drafts};
use super::link::Inner;
use super::port::{Calls, Fault};
use super::registries::{DeviceEntry, Registries, entries, exposed};
use crate::home::EntityId;

/// Time for the first states after they were asked for.
const STATES_WITHIN: Duration = Duration::from_secs(20);

/// What tells that a registry has changed.
const REGISTRY_EVENTS: [&str; 4] =
    ["area_registry_updated", "floor_registry_updated", "device_registry_updated", "entity_registry_updated"];

impl Inner {
    /// Reads everything and follows the states of what is chosen. `first`: on this connection.
    pub(super) async fn synchronise(
        self: Arc<Self>,
        calls: Arc<Calls>,
        version: String,
        first: bool,
    ) -> Result<(), Problem> {
        let mut missing = Vec::new();
        if first {
            // Before anything is read, so that no change falls in between.
            self.follow_registries(&calls, &mut missing).await?;
        }
        let registries = self.registries(&calls, &mut missing).await?;
        let mut drafts = drafts(&registries, &self.settings.choice, &|known| (self.twins)(known));
        let ids: Vec<&EntityId> = drafts.keys().collect();
        let asked = object(json!({"entity_ids": ids}));
        match calls.request("config/entity_registry/get_entries", asked).await {
            Ok(result) => add_aliases(&mut drafts, &result),
            Err(fault) => tolerate("aliases are not known", fault, &mut missing)?,
        }
        self.take_places(&registries);
        let wanted: Vec<EntityId> = drafts.keys().cloned().collect();
        let (gone, before) = {
            let mut ours = self.ours();
            let gone: Vec<EntityId> =
                ours.entities.iter().filter(|id| !drafts.contains_key(*id)).cloned().collect();
            ours.celsius = registries.celsius;
            ours.drafts = drafts;
            (gone, ours.subscription.take())
        };
        self.remove(&gone);
        if !wanted.is_empty() {
            let mut told = self.told.subscribe();
            let before = *told.borrow_and_update();
            let (id, answer) = calls.begin("subscribe_entities", object(json!({"entity_ids": wanted}))).await;
            answer.map_err(|fault| Problem::Protocol(format!("the states are not told: {fault}")))?;
            self.ours().subscription = Some(id);
            // The states themselves follow the answer; without them nothing is up to date.
            if tokio::time::timeout(STATES_WITHIN, told.wait_for(|count| *count > before)).await.is_err() {
                return Err(Problem::Protocol(format!("no states in {} s", STATES_WITHIN.as_secs())));
            }
        }
        if let Some(subscription) = before {
            let ended =
                calls.request("unsubscribe_events", object(json!({"subscription": subscription}))).await;
            if let Err(fault) = ended {
                tracing::debug!(%fault, "an old subscription stays; its states are the same");
            }
        }
        let entities = self.ours().entities.len();
        tracing::info!(version, entities, ?missing, "Home Assistant is used");
        self.status.send_replace(Status::Up { version, entities, missing });
        Ok(())
    }

    async fn follow_registries(&self, calls: &Calls, missing: &mut Vec<String>) -> Result<(), Problem> {
        for event in REGISTRY_EVENTS {
            let answer = calls.request("subscribe_events", object(json!({"event_type": event}))).await;
            if let Err(fault) = answer {
                tolerate(
                    &format!("{event} is not told; such changes are seen after a reconnect"),
                    fault,
                    missing,
                )?;
            }
        }
        Ok(())
    }

    async fn registries(&self, calls: &Calls, missing: &mut Vec<String>) -> Result<Registries, Problem> {
        let ask = |kind: &'static str| calls.request(kind, Map::new());
        let (config, areas, floors, devices, entities, shown) = tokio::join!(
            ask("get_config"),
            ask("config/area_registry/list"),
            ask("config/floor_registry/list"),
            ask("config/device_registry/list"),
            ask("config/entity_registry/list"),
            ask("homeassistant/expose_entity/list"),
        );
        let needed = |what: &str, answer: Result<Value, Fault>| {
            answer.map_err(|fault| Problem::Protocol(format!("{what} cannot be read: {fault}")))
        };
        let mut registries = Registries {
            entities: entries(needed("the entity registry", entities)?),
            ..Registries::default()
        };
        let devices: Vec<DeviceEntry> = entries(needed("the device registry", devices)?);
        registries.devices = devices.into_iter().map(|device| (device.id.clone(), device)).collect();
        match areas {
            Ok(list) => {
                let areas: Vec<super::registries::AreaEntry> = entries(list);
                registries.areas = areas.into_iter().map(|area| (area.area_id.clone(), area)).collect();
            }
            Err(fault) => tolerate("areas are not known", fault, missing)?,
        }
        match floors {
            Ok(list) => {
                let floors: Vec<super::registries::FloorEntry> = entries(list);
                registries.floors = floors.into_iter().map(|floor| (floor.floor_id.clone(), floor)).collect();
            }
            Err(fault) => tolerate("floors are not known", fault, missing)?,
        }
        match (shown, &self.settings.choice) {
            (Ok(list), _) => registries.exposed = exposed(&list),
            (Err(_), Choice::Label(_) | Choice::All) => {}
            // Without the list nothing is exposed, and nothing is used: that must be seen.
            (Err(fault), Choice::Exposed) => tolerate(
                "which entities are exposed is not told (an administrator's token is needed), so none is used",
                fault,
                missing,
            )?,
        }
        match config {
            Ok(config) => {
                let unit = config.get("unit_system").and_then(|units| units.get("temperature"));
                registries.celsius = unit.and_then(Value::as_str).is_none_or(|unit| unit == "°C");
            }
            Err(fault) => tolerate("units are not known; °C is assumed to be wrong", fault, missing)?,
        }
        if !registries.celsius {
            missing.push("temperatures are not in °C here and can only be read".to_owned());
        }
        Ok(registries)
    }

    /// Areas and floors. Those of the home file stay as they are.
    fn take_places(&self, registries: &Registries) {
        let mut ours = self.ours();
        let mut house = self.house.write();
        let gone_areas: Vec<String> =
            ours.areas.iter().filter(|id| !registries.areas.contains_key(*id)).cloned().collect();
        for id in gone_areas {
            ours.areas.remove(&id);
            house.places.areas.remove(&id);
        }
        let gone_floors: Vec<String> =
            ours.floors.iter().filter(|id| !registries.floors.contains_key(*id)).cloned().collect();
        for id in gone_floors {
            ours.floors.remove(&id);
            house.places.floors.remove(&id);
        }
        for (id, area) in &registries.areas {
            if ours.areas.contains(id) || !house.places.areas.contains_key(id) {
                ours.areas.insert(id.clone());
                house.places.areas.insert(id.clone(), area.area());
            }
        }
        for (id, floor) in &registries.floors {
            if ours.floors.contains(id) || !house.places.floors.contains_key(id) {
                ours.floors.insert(id.clone());
                house.places.floors.insert(id.clone(), floor.floor());
            }
        }
        let known: HashSet<&String> = house.places.areas.keys().collect();
        let with_area = |device: &DeviceEntry| {
            let area = device.area_id.clone().filter(|area| known.contains(area))?;
            Some((device.id.clone(), area))
        };
        ours.device_areas = registries.devices.values().filter_map(with_area).collect();
    }
}

/// A request that this version or this token does not allow is told and worked around; a broken connection is not.
fn tolerate(consequence: &str, fault: Fault, missing: &mut Vec<String>) -> Result<(), Problem> {
    match fault {
        Fault::Down | Fault::Silence => Err(Problem::Broken(fault.to_string())),
        Fault::Refused { .. } => {
            tracing::warn!(%fault, consequence, "Home Assistant does not offer everything");
            missing.push(consequence.to_owned());
            Ok(())
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
