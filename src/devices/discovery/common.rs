//! What the codecs of all discovered entities share: identity, availability, quality of service, what silence means.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::attributes::Attributes;
use super::availability::AvailabilityReader;
use super::fields::{Fields, Refusal};
use crate::devices::codec::Expiry;
use crate::devices::template::Scope;
use crate::home::{Availability, State};

/// What all components share.
pub(super) struct Common {
    pub entity_id: String,
    pub name: String,
    pub qos: u8,
    pub availability: Option<AvailabilityReader>,
    pub attributes: Option<Attributes>,
    /// Payloads are bytes, not text (`encoding: ""`).
    pub raw: bool,
    pub expiry: Expiry,
    /// With `expire_after`: whether anything arrived that is not too old.
    fresh: AtomicBool,
}

impl Common {
    pub fn read(fields: Fields<'_>, component: &str, entity_id: &str, name: &str) -> Result<Self, Refusal> {
        // Python counts true as one.
        let flag = fields.map.get("qos").and_then(serde_json::Value::as_bool).map(i64::from);
        let qos = match flag.map_or_else(|| fields.int_or("qos", 0), Ok)? {
            qos @ 0..=2 => qos as u8,
            other => {
                return Err(Refusal::Wrong {
                    key: "qos".into(),
                    value: other.to_string(),
                    expected: "0, 1 or 2".into(),
                });
            }
        };
        Ok(Self {
            entity_id: entity_id.into(),
            name: name.into(),
            qos,
            availability: AvailabilityReader::read(fields)?,
            attributes: Attributes::of(fields, component)?,
            raw: fields.text("encoding")?.is_some_and(|encoding| encoding.is_empty()),
            expiry: Expiry::default(),
            fresh: AtomicBool::new(false),
        })
    }

    /// Silence that means something, for the components that have it.
    pub fn set_expiry(&mut self, component: &str, fields: Fields<'_>) -> Result<(), Refusal> {
        if !matches!(component, "sensor" | "binary_sensor") {
            return Ok(());
        }
        let time = |key: &str| -> Result<Option<Duration>, Refusal> {
            Ok(fields.not_negative(key)?.filter(|number| *number > 0.0).map(seconds))
        };
        self.expiry.unavailable_after = time("expire_after")?;
        self.expiry.off_after = time("off_delay")?.filter(|_| component == "binary_sensor");
        Ok(())
    }

    /// With `expire_after`: whether anything arrived that is not too old.
    pub fn is_fresh(&self) -> bool {
        self.fresh.load(Ordering::Relaxed)
    }

    pub fn set_fresh(&self, fresh: bool) {
        self.fresh.store(fresh, Ordering::Relaxed);
    }

    /// Takes over what was heard before the announcement changed.
    pub fn inherit(&self, before: &Self) {
        self.set_fresh(before.is_fresh());
        if let (Some(reader), Some(before)) = (&self.availability, &before.availability) {
            reader.inherit(before);
        }
    }

    pub fn scope<'a>(&'a self, state: &'a State) -> Scope<'a> {
        Scope { entity_id: &self.entity_id, name: &self.name, state }
    }

    /// Availability before the first message: without topics the connection itself stands for the device.
    pub fn initial_availability(&self) -> Option<Availability> {
        let silent = self.availability.is_none() && self.expiry.unavailable_after.is_none();
        silent.then_some(Availability::Online)
    }
}

/// Seconds of an announcement as a duration.
fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number.clamp(0.0, 1e9)).unwrap_or_default()
}
