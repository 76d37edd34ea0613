//! What a Tasmota device only reports: its measurements, taken from the sample that it announces, and its own state.

use serde_json::{Value, json};

use super::super::{announced, keys};
use super::Config;
use crate::devices::discovery::message::Announced;

/// Last word of a sensor's path, class, unit.
const CLASSES: &[(&str, &str, &str)] = &[
    ("Humidity", "humidity", "%"),
    ("Power", "power", "W"),
    ("ApparentPower", "apparent_power", "VA"),
    ("ReactivePower", "reactive_power", "var"),
    ("Factor", "power_factor", ""),
    ("Voltage", "voltage", "V"),
    ("Current", "current", "A"),
    ("Total", "energy", "kWh"),
    ("Today", "energy", "kWh"),
    ("Yesterday", "energy", "kWh"),
    ("Frequency", "frequency", "Hz"),
    ("Pressure", "pressure", "hPa"),
    ("SeaPressure", "pressure", "hPa"),
    ("Illuminance", "illuminance", "lx"),
    ("CarbonDioxide", "carbon_dioxide", "ppm"),
    ("eCO2", "carbon_dioxide", "ppm"),
    ("PM2.5", "pm25", "µg/m³"),
    ("PM10", "pm10", "µg/m³"),
    ("PM1", "pm1", "µg/m³"),
];

/// Object id, name, topic below the device, path of the value. All are diagnostic.
const STATUS: &[(&str, &str, &str, &str)] = &[
    ("status_sensor_status_version", "Firmware Version", "INFO1", "value_json.Info1.Version"),
    ("status_sensor_status_mqtt_count", "MQTT Connect Count", "STATE", "value_json.MqttCount"),
    ("status_sensor_status_restart_reason", "Restart Reason", "INFO3", "value_json.Info3.RestartReason"),
    ("status_sensor_status_rssi", "RSSI", "STATE", "value_json.Wifi.RSSI"),
    ("status_sensor_status_signal", "Signal", "STATE", "value_json.Wifi.Signal"),
    ("status_sensor_status_ssid", "SSID", "STATE", "value_json.Wifi.SSId"),
    ("status_sensor_status_link_count", "WiFi Connect Count", "STATE", "value_json.Wifi.LinkCount"),
];

impl Config {
    pub(super) fn status(&self) -> Vec<Announced> {
        let make = |id: &str, name: &str, topic: String, template: String| {
            let mut config = self.shared(Some(name));
            config.extend(keys(json!({
                "state_topic": topic,
                "value_template": template,
                "entity_category": "diagnostic",
            })));
            match id {
                "status_sensor_status_signal" => {
                    config.extend(keys(
                        json!({"device_class": "signal_strength", "unit_of_measurement": "dBm"}),
                    ));
                }
                "status_sensor_last_restart_time" => {
                    config.extend(keys(json!({"device_class": "timestamp"})));
                }
                _ => {}
            }
            announced("sensor", &format!("{}_status_sensor_{id}", self.mac), config)
        };
        let mut items: Vec<Announced> = STATUS
            .iter()
            .map(|(id, name, topic, path)| {
                make(id, name, format!("{}{topic}", self.tele), format!("{{{{ {path} | is_defined }}}}"))
            })
            .collect();
        items.push(make(
            "status_sensor_status_ip",
            "IP",
            self.discovery.clone(),
            "{{ value_json.ip }}".into(),
        ));
        items.push(make(
            "status_sensor_last_restart_time",
            "Last Restart Time",
            format!("{}STATUS1", self.stat),
            "{{ value_json.StatusPRM.StartupUTC }}+00:00".into(),
        ));
        items
    }

    /// Every value of a sample, but the time and what other components read.
    pub(super) fn sensors(&self, sample: &Value) -> Vec<Announced> {
        let unit = sample.get("TempUnit").and_then(Value::as_str).unwrap_or("C");
        let mut items = Vec::new();
        if let Some(sample) = sample.as_object() {
            for (key, value) in sample.iter().filter(|(key, _)| {
                !matches!(key.as_str(), "Time" | "TempUnit" | "PressureUnit" | "SpeedUnit")
                    && !key.starts_with("Switch")
                    && !key.starts_with("Shutter")
            }) {
                self.sensor(std::slice::from_ref(key), value, unit, &mut items);
            }
        }
        items
    }

    fn sensor(&self, path: &[String], value: &Value, unit: &str, items: &mut Vec<Announced>) {
        let below = |key: String| {
            let mut path = path.to_vec();
            path.push(key);
            path
        };
        match value {
            Value::Object(map) if path.len() < 4 => {
                for (key, value) in map {
                    self.sensor(&below(key.clone()), value, unit, items);
                }
            }
            Value::Array(list) if path.len() < 4 => {
                for (at, value) in list.iter().enumerate() {
                    self.sensor(&below(at.to_string()), value, unit, items);
                }
            }
            _ => items.push(self.sensor_leaf(path, unit)),
        }
    }

    fn sensor_leaf(&self, path: &[String], unit: &str) -> Announced {
        let mut config = self.shared(Some(&path.join(" ")));
        let steps: String = path
            .iter()
            .map(|step| match step.parse::<usize>() {
                Ok(index) => format!("[{index}]"),
                Err(_) => format!("['{}']", step.replace('\'', "")),
            })
            .collect();
        config.insert("state_topic".into(), self.states(&["SENSOR"]));
        config.insert("value_template".into(), format!("{{{{ value_json{steps} }}}}").into());
        let word = path.iter().rev().find(|step| step.parse::<usize>().is_err()).map_or("", String::as_str);
        if matches!(word, "Temperature" | "DewPoint") {
            let unit = if unit == "F" { "°F" } else { "°C" };
            config.extend(keys(json!({"device_class": "temperature", "unit_of_measurement": unit})));
        } else if let Some((_, class, unit)) = CLASSES.iter().find(|(known, ..)| *known == word) {
            config.insert("device_class".into(), (*class).into());
            if !unit.is_empty() {
                config.insert("unit_of_measurement".into(), (*unit).into());
            }
        }
        announced("sensor", &format!("{}_sensor_sensor_{}", self.mac, path.join("_")), config)
    }
}
