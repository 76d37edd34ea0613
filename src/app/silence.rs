//! What the silence of devices means: sensors that are no longer available, motion that is over.

use std::sync::Arc;
use std::time::Duration;

use super::App;

/// Pause between two looks. What silence means comes at most so much late.
const LOOK: Duration = Duration::from_millis(250);

impl App {
    /// Looks now and then for entities that were silent for too long.
    pub(super) async fn expire_states(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.registry.expire(self.now());
        }
    }
}
