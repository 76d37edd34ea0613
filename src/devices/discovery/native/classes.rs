//! Device classes that zigbee2mqtt's list does not carry, by the name of the property.

/// Device classes of the common numeric properties.
pub(super) fn class(property: &str) -> Option<&'static str> {
    Some(match property {
        "temperature" | "device_temperature" | "local_temperature" => "temperature",
        "humidity" => "humidity",
        "battery" => "battery",
        "pressure" => "atmospheric_pressure",
        "power" => "power",
        "energy" => "energy",
        "voltage" => "voltage",
        "current" => "current",
        "co2" => "carbon_dioxide",
        "pm25" => "pm25",
        _ => return None,
    })
}

pub(super) fn binary_class(property: &str) -> Option<&'static str> {
    Some(match property {
        "contact" => "door",
        "occupancy" | "presence" => "occupancy",
        "water_leak" => "moisture",
        "smoke" => "smoke",
        "gas" => "gas",
        "carbon_monoxide" => "carbon_monoxide",
        "tamper" => "tamper",
        "vibration" => "vibration",
        "battery_low" => "battery",
        _ => return None,
    })
}
