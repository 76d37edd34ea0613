//! Home Assistant's entities in the house, beside those that speak MQTT.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::App;
use crate::hass::{Choice, Hass, HassSettings, Known, Parts, Status};
use crate::settings::hass::Entities;

impl App {
    /// Connects to Home Assistant, where settings name one.
    pub(super) fn use_hass(self: &Arc<Self>) {
        let settings = &self.settings.hass;
        let Some(url) = settings.websocket() else { return };
        let choice = match settings.entities {
            Entities::Exposed => Choice::Exposed,
            Entities::Label => Choice::Label(settings.label.clone()),
            Entities::All => Choice::All,
        };
        let (twin, prepare, changed) = (Arc::downgrade(self), Arc::downgrade(self), Arc::downgrade(self));
        let hass = Hass::new(Parts {
            settings: HassSettings { url, token_file: settings.token_file.clone(), choice },
            house: self.house.clone(),
            registry: self.registry.clone(),
            clock: self.clock.clone(),
            twins: Arc::new(move |known| twin.upgrade().is_some_and(|app| app.speaks_already(known))),
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

    /// Whether an entity of Home Assistant is one that we speak to by MQTT.
    fn speaks_already(&self, known: &Known<'_>) -> bool {
        let announced =
            known.mqtt_unique_id.is_some_and(|unique_id| self.discovery.holds(unique_id, known.id.domain()));
        announced
            || self
                .house
                .read()
                .entity(known.id.as_str())
                .is_some_and(|entity| entity.source != crate::hass::SOURCE)
    }

    /// How it stands with Home Assistant; `None` where it is not used.
    pub fn hass_status(&self) -> Option<Status> {
        self.hass.get().map(|hass| hass.status().borrow().clone())
    }
}
