//! The Wyoming server that Home Assistant talks to.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::App;
use super::build::{BuildError, bind, failed};
use crate::http::service::Service;
use crate::policy::Scope;
use crate::settings::MqttScope;
use crate::voice::wyoming::{self, WyomingSettings};
use crate::voice::zeroconf::Announcement;
use crate::voice::{Sentence, Surroundings};

impl App {
    /// Where the Wyoming server listens, if there is one.
    pub fn wyoming_address(&self) -> Option<SocketAddr> {
        *self.wyoming_address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn serve_wyoming(self: &Arc<Self>, any_port: bool) -> Result<(), BuildError> {
        let settings = &self.settings.voice.wyoming;
        if !settings.enabled {
            return Ok(());
        }
        let listener = bind(settings.bind, any_port).await.map_err(failed("voice.wyoming.bind"))?;
        let address = listener.local_addr().map_err(failed("voice.wyoming.bind"))?;
        *self.wyoming_address.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
        let mut scopes = vec![Scope::Read];
        match settings.scope {
            MqttScope::Read => {}
            MqttScope::Command => scopes.push(Scope::Command),
        }
        let how = WyomingSettings {
            answer_within: Duration::from_secs(settings.answer_within_seconds),
            languages: settings.languages.clone(),
            principal: format!("voice:{}", settings.principal),
            scopes,
        };
        let (service, surroundings): (Arc<dyn Service>, Arc<dyn Surroundings>) = (self.clone(), self.clone());
        let stopping = self.stopping.clone();
        let announcement = self.announce_wyoming(address);
        self.tasks.spawn(async move {
            let _announcement = announcement;
            wyoming::serve(listener, how, service, surroundings, stopping).await;
        });
        tracing::info!(%address, "Wyoming is served");
        Ok(())
    }

    /// Tells the local network, where that is wanted and of use. A network without multicast stops nothing.
    fn announce_wyoming(&self, address: SocketAddr) -> Option<Announcement> {
        if !self.settings.voice.wyoming.zeroconf || address.ip().is_loopback() {
            return None;
        }
        match Announcement::start(address, &self.settings.home.id) {
            Ok(announcement) => Some(announcement),
            Err(error) => {
                tracing::warn!(%error, "the Wyoming server is not announced; add it by host and port");
                None
            }
        }
    }
}

impl Surroundings for App {
    fn area_of(&self, device: &str) -> Option<String> {
        let named = self.settings.voice.wyoming.areas.get(device).cloned();
        let area = named.or_else(|| self.hass.get()?.area_of(device))?;
        self.house.read().places.areas.contains_key(&area).then_some(area)
    }

    fn say(&self, sentence: Sentence, language: Option<&str>, text: &str) -> String {
        let key = match sentence {
            Sentence::StillWorking => "still_working",
            Sentence::Busy => "busy",
            Sentence::Unavailable => "not_available",
            Sentence::TooLong => "too_long",
            Sentence::Nothing => "heard_nothing",
        };
        let report = &self.household.report;
        report.lexicon(report.language(language, text)).say(key, &[])
    }

    fn announce(&self, reply: &str, area: Option<&str>) {
        App::announce(self, reply, area);
    }
}
