//! Announcements of devices: what `devices::discovery` makes of them becomes entities of the house.

use crate::mqtt::link::Inbound;

use super::App;

/// Announced devices.
#[derive(Default)]
pub struct Discovered {}

impl App {
    /// Takes an announcement; `false` where the message is none.
    pub(super) async fn announced(&self, message: &Inbound) -> bool {
        let _ = (message, &self.discovery);
        false
    }
}
