//! What components of a Shelly measure.
//!
//! Source: the component pages of Shelly's API documentation (Switch, PM1, EM, EM1, EMData, EM1Data, Temperature,
//! Humidity, Illuminance, DevicePower). Power factors, frequencies and the neutral line are not read.

use serde_json::{Value, json};

use super::super::{announced, keys};
use super::{read, shared};
use crate::devices::discovery::message::Announced;

/// One measured value.
pub(super) struct Measured {
    /// Where it stands in the component's state.
    pub path: &'static str,
    label: &'static str,
    class: &'static str,
    unit: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Now,
    /// A meter that only grows, until it is set back.
    Total,
    /// About the device itself.
    Diagnostic,
}

const fn value(
    path: &'static str,
    label: &'static str,
    class: &'static str,
    unit: &'static str,
    kind: Kind,
) -> Measured {
    Measured { path, label, class, unit, kind }
}

impl Measured {
    pub const ALL: &[Measured] = &[
        value("apower", "power", "power", "W", Kind::Now),
        value("act_power", "power", "power", "W", Kind::Now),
        value("total_act_power", "total power", "power", "W", Kind::Now),
        value("a_act_power", "phase A power", "power", "W", Kind::Now),
        value("b_act_power", "phase B power", "power", "W", Kind::Now),
        value("c_act_power", "phase C power", "power", "W", Kind::Now),
        value("voltage", "voltage", "voltage", "V", Kind::Now),
        value("a_voltage", "phase A voltage", "voltage", "V", Kind::Now),
        value("b_voltage", "phase B voltage", "voltage", "V", Kind::Now),
        value("c_voltage", "phase C voltage", "voltage", "V", Kind::Now),
        value("current", "current", "current", "A", Kind::Now),
        value("total_current", "total current", "current", "A", Kind::Now),
        value("a_current", "phase A current", "current", "A", Kind::Now),
        value("b_current", "phase B current", "current", "A", Kind::Now),
        value("c_current", "phase C current", "current", "A", Kind::Now),
        value("aenergy.total", "energy", "energy", "Wh", Kind::Total),
        value("ret_aenergy.total", "returned energy", "energy", "Wh", Kind::Total),
        value("total_act", "energy", "energy", "Wh", Kind::Total),
        value("total_act_ret", "returned energy", "energy", "Wh", Kind::Total),
        value("total_act_energy", "energy", "energy", "Wh", Kind::Total),
        value("total_act_ret_energy", "returned energy", "energy", "Wh", Kind::Total),
        value("tC", "temperature", "temperature", "°C", Kind::Now),
        value("rh", "humidity", "humidity", "%", Kind::Now),
        value("lux", "illuminance", "illuminance", "lx", Kind::Now),
        value("temperature.tC", "device temperature", "temperature", "°C", Kind::Diagnostic),
        value("battery.percent", "battery", "battery", "%", Kind::Diagnostic),
    ];

    /// Whether a component's state has this value.
    pub fn stands_in(&self, status: &Value) -> bool {
        self.path.split('.').try_fold(status, |value, part| value.get(part)).is_some_and(Value::is_number)
    }

    /// The sensor of the value at `path` of component `name`.
    pub fn announced(id: &str, name: &str, path: &str) -> Option<Announced> {
        let Measured { label, class, unit, kind, .. } = Self::ALL.iter().find(|known| known.path == path)?;
        let mut config = shared(id, name, &format!("{} {label}", name.replace(':', " ")));
        config.extend(keys(json!({
            "value_template": read(name, path, &format!("{{{{ c.{path} }}}}")),
            "device_class": class,
            "unit_of_measurement": unit,
            "state_class": if *kind == Kind::Total { "total_increasing" } else { "measurement" },
        })));
        if *kind == Kind::Diagnostic {
            config.insert("entity_category".into(), "diagnostic".into());
        }
        let unique = format!("{id}-{}-{}", name.replace(':', "-"), path.replace('.', "-"));
        Some(announced("sensor", &unique, config))
    }
}
