//! Home Assistant's entities in the house, beside those that speak MQTT.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::App;
use crate::hass::{Choice, Hass, HassSettings, Known, Parts, Status};
use crate::settings;
use crate::settings::hass::Entities;

impl App {
    /// Connects to Home Assistant, where settings name one.
    pub(super) fn use_hass(self: &Arc<Self>) {
        let Some(settings) = connection(&self.settings.hass) else { return };
        let (twin, prepare, changed) = (Arc::downgrade(self), Arc::downgrade(self), Arc::downgrade(self));
        let hass = Hass::new(Parts {
            settings,
            house: self.house.clone(),
            registry: self.registry.clone(),
            clock: self.clock.clone(),
            twins: Arc::new(move |known| match twin.upgrade() {
                Some(app) => app.speak_already(known),
                None => vec![false; known.len()],
            }),
            prepare: Arc::new(move |entity| {
                prepare.upgrade().is_some_and(|app| !app.discovery.amend(entity))
            }),
            changed: Arc::new(move || {
                if let Some(app) = changed.upgrade() {
                    app.announcements.notify_one();
                }
            }),
        });
        if self.hass.set(hass.clone()).is_ok() {
            self.until_stopped(self.clone().watch_hass(hass.status()));
            self.until_stopped(hass.run());
        }
    }

    /// Shows how it stands, and looks again when what is known by MQTT has changed.
    async fn watch_hass(self: Arc<Self>, mut status: watch::Receiver<Status>) {
        while status.changed().await.is_ok() {
            self.own_device.tell_changed();
        }
    }

    /// What was announced by MQTT may have become the twin of an entity of Home Assistant, or ceased to be one.
    pub(super) fn announcements_changed(&self) {
        if let Some(hass) = self.hass.get() {
            hass.look_again();
        }
    }

    /// How it stands with Home Assistant, for people.
    pub(super) fn hass_facts(&self) -> Value {
        match self.hass_status() {
            None => Value::Null,
            Some(Status::Down(problem)) => {
                json!({"up": false, "problem": problem.map(|problem| problem.to_string())})
            }
            Some(Status::Up { version, entities, missing }) => {
                json!({"up": true, "version": version, "entities": entities, "missing": missing})
            }
        }
    }

    /// Which entities of Home Assistant are ones that we speak to by MQTT: by their announcement, by the id, or because
    /// their device is known under one of its names and has as many of their kind there.
    fn speak_already(&self, known: &[Known<'_>]) -> Vec<bool> {
        let devices = self.discovery.registry().by_device();
        let house = self.house.read();
        let is_twin = |one: &Known<'_>| {
            let domain = one.id.domain();
            let announced =
                one.mqtt_unique_id.is_some_and(|unique_id| self.discovery.holds(unique_id, domain));
            let same_id =
                house.entity(one.id.as_str()).is_some_and(|entity| entity.source != crate::hass::SOURCE);
            let of_device = one.alike.is_some()
                && one
                    .device_names
                    .iter()
                    .any(|name| devices.get(&(name.clone(), domain)).copied() == one.alike);
            announced || same_id || of_device
        };
        known.iter().map(is_twin).collect()
    }

    /// How it stands with Home Assistant; `None` where it is not used.
    pub fn hass_status(&self) -> Option<Status> {
        self.hass.get().map(|hass| hass.status().borrow().clone())
    }
}

/// How Home Assistant is connected to; `None` where it is not used.
pub fn connection(settings: &settings::hass::Hass) -> Option<HassSettings> {
    Some(HassSettings {
        url: settings.websocket()?,
        ca_file: settings::given(&settings.ca_file).map(Path::to_owned),
        token_file: settings.token_file.clone(),
        choice: match settings.entities {
            Entities::Exposed => Choice::Exposed,
            Entities::Label => Choice::Label(settings.label.clone()),
            Entities::All => Choice::All,
        },
    })
}
