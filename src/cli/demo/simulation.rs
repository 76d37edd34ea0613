//! The devices of the demo, on an MQTT client of their own.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::app::{App, simulation};
use crate::clock::Clock;
use crate::devices::profile::Said;
use crate::devices::simulate::{self, World};
use crate::home::EntityId;
use crate::mqtt::link::{Arrivals, Link, LinkHandle, LinkSettings, Publish};

/// The devices of the demo, on a client of their own.
pub(super) struct Simulation {
    link: LinkHandle,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
}

impl Simulation {
    pub async fn start(app: &Arc<App>, world: World, clock: &Clock) -> anyhow::Result<Self> {
        let address = app.broker_address().context("the demo needs the embedded broker")?;
        let settings = LinkSettings::new(address.ip().to_string(), address.port(), "homeloop-simulator");
        let (link, arrivals) = Link::start(settings, clock.clone(), world.subscriptions())?;
        if tokio::time::timeout(Duration::from_secs(10), link.up()).await.is_err() {
            bail!("the simulated devices do not reach the broker at {address}");
        }
        let stop = CancellationToken::new();
        let (speaker, token) = (link.clone(), stop.clone());
        let say = move |said: Said| {
            let speaker = speaker.clone();
            async move {
                let mut publish = Publish::new(said.topic, said.payload);
                publish.retain = said.retained;
                if let Err(error) = speaker.publish(publish).await {
                    tracing::debug!(%error, "a simulated device was not heard");
                }
            }
        };
        let running = tokio::spawn(simulation::run(world, messages(arrivals), say, token));
        Ok(Self { link, stop, running })
    }

    pub async fn stop(self) {
        self.stop.cancel();
        // The devices say that they are gone; if that takes too long, the broker ends anyway.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.running).await;
        self.link.stop().await;
    }
}

fn messages(arrivals: Arrivals) -> impl futures_util::Stream<Item = (String, Vec<u8>)> {
    futures_util::stream::unfold(arrivals, |mut arrivals| async {
        let message = arrivals.recv().await?;
        Some(((message.topic, message.payload.to_vec()), arrivals))
    })
}

/// Sets a simulated device, as a person of the house would, and waits until the daemon has heard of it.
pub(super) async fn set(app: &Arc<App>, setting: &str) -> anyhow::Result<()> {
    let Some((entity, value)) = setting.split_once('=') else { bail!("{setting:?} is no ENTITY=VALUE") };
    let mut changes = app.house().changes();
    let topic = format!("{}/{entity}/set", simulate::CONTROL_BASE);
    app.link().publish(Publish::new(topic, value.to_owned())).await?;
    let heard = async {
        loop {
            let known = app.house().read().state(entity).and_then(|state| state.text().map(str::to_owned));
            if known.as_deref() == Some(value) || matches!(changes.recv().await, Err(RecvError::Closed)) {
                return;
            }
        }
    };
    if tokio::time::timeout(Duration::from_secs(5), heard).await.is_err() {
        bail!("{entity} did not become {value}; `homeloop demo` shows the entities and their values");
    }
    Ok(())
}

/// Waits until every simulated device is known and has reported on a topic that was listened to.
pub(super) async fn settled(app: &Arc<App>, devices: &[EntityId]) {
    let mut changes = app.house().changes();
    let all = async {
        loop {
            let silent = {
                let house = app.house().read();
                devices.iter().any(|id| match (house.entity(id.as_str()), house.state(id.as_str())) {
                    (Some(entity), Some(state)) if entity.reports_state => {
                        !state.reported.as_ref().is_some_and(|stamp| stamp.live)
                    }
                    (Some(_), _) => false,
                    (None, _) => true,
                })
            };
            if !silent {
                return;
            }
            // An entity that only became known is no change of a state.
            let heard = tokio::time::timeout(Duration::from_millis(100), changes.recv()).await;
            if let Ok(Err(RecvError::Closed)) = heard {
                return;
            }
        }
    };
    if tokio::time::timeout(Duration::from_secs(30), all).await.is_err() {
        tracing::warn!("some simulated devices have not reported");
    }
}
