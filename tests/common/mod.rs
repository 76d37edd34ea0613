//! Helpers of the integration tests.
#![allow(dead_code, reason = "each test binary uses its own part of these helpers")]

pub mod mosquitto;
pub mod proxy;
pub mod recorder;

use std::time::Duration;

/// Longest wait for an event that must come. Generous: a loaded machine is no failure.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for something that must happen, and says what did not.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("in {PATIENCE:?} this did not happen: {what}"),
    }
}
