//! One look at Home Assistant as the daemon would use it, for `doctor`.

use std::sync::Arc;
use std::time::Duration;

use super::connection::{HassSettings, Problem, Status};
use super::link::{Hass, Parts};
use crate::clock::Clock;
use crate::devices::registry::Registry;
use crate::home::{House, SharedHouse};

/// Connects, reads registries and states into a house of its own, and says how it stands. Calls no service.
pub async fn probe(settings: HassSettings, within: Duration) -> Status {
    let house = SharedHouse::new(House::default());
    let hass = Hass::new(Parts {
        settings,
        registry: Arc::new(Registry::new(house.clone())),
        house,
        clock: Clock::system(),
        twins: Arc::new(|known| vec![false; known.len()]),
        prepare: Arc::new(|_| true),
        changed: Arc::new(|| {}),
    });
    let mut status = hass.status();
    let settled = status.wait_for(|status| !matches!(status, Status::Down(None)));
    let found = tokio::select! {
        found = tokio::time::timeout(within, settled) => found.ok().and_then(Result::ok).map(|found| found.clone()),
        () = hass.run() => None,
    };
    let late = || Problem::Unreachable(format!("not everything was read in {} s", within.as_secs()));
    found.unwrap_or_else(|| Status::Down(Some(late())))
}
