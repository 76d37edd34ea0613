//! Which units belong to a sensor's device class, from Home Assistant's documentation of sensors.

/// Units of a device class; `None` where any unit goes.
pub(super) fn units(class: &str) -> Option<&'static [&'static str]> {
    Some(match class {
        "temperature" | "temperature_delta" => &["°C", "°F", "K"],
        "humidity" | "battery" | "moisture" | "power_factor" => match class {
            "power_factor" => &["%", ""],
            _ => &["%"],
        },
        "voltage" => &["µV", "μV", "mV", "V", "kV", "MV"],
        "current" => &["A", "mA"],
        "power" => &["mW", "W", "kW", "MW", "GW", "TW", "BTU/h"],
        "apparent_power" => &["mVA", "VA", "kVA"],
        "reactive_power" => &["mvar", "var", "kvar"],
        "energy" => {
            &["J", "kJ", "MJ", "GJ", "mWh", "Wh", "kWh", "MWh", "GWh", "TWh", "cal", "kcal", "Mcal", "Gcal"]
        }
        "energy_storage" => {
            &["J", "kJ", "MJ", "GJ", "mWh", "Wh", "kWh", "MWh", "GWh", "TWh", "cal", "kcal", "Mcal", "Gcal"]
        }
        "frequency" => &["Hz", "kHz", "MHz", "GHz"],
        "illuminance" => &["lx"],
        "signal_strength" => &["dB", "dBm"],
        "carbon_dioxide" => &["ppm"],
        "carbon_monoxide" => &["ppb", "ppm", "mg/m³", "µg/m³", "μg/m³"],
        "pressure" | "atmospheric_pressure" => {
            &["mPa", "Pa", "hPa", "kPa", "bar", "cbar", "mbar", "mmHg", "inHg", "psi", "inH₂O"]
        }
        "distance" => &["km", "m", "cm", "mm", "mi", "nmi", "yd", "in", "ft"],
        "speed" => {
            &["ft/s", "in/d", "in/h", "in/s", "km/h", "kn", "m/s", "m/min", "mph", "mm/d", "mm/s", "Beaufort"]
        }
        "wind_speed" => &["ft/s", "km/h", "kn", "m/s", "mph", "Beaufort", "in/s", "m/min", "mm/s"],
        "wind_direction" => &["°"],
        "precipitation" => &["cm", "in", "mm"],
        "precipitation_intensity" => &["in/d", "in/h", "mm/d", "mm/h"],
        "irradiance" => &["BTU/(h⋅ft²)", "W/m²"],
        "duration" => &["d", "h", "min", "s", "ms", "µs", "μs"],
        "pm1" | "pm10" | "pm25" | "pm4" => &["µg/m³", "μg/m³"],
        "weight" => &["kg", "g", "mg", "µg", "μg", "oz", "lb", "st"],
        "conductivity" => &["S/cm", "mS/cm", "µS/cm", "μS/cm"],
        "blood_glucose_concentration" => &["mg/dL", "mmol/L"],
        _ => return None,
    })
}
