//! The profile files that are part of the binary. A test compares this list with the folder `devices/`.

macro_rules! files {
    ($($path:literal)+) => {
        /// Name and text of each file.
        pub const FILES: &[(&str, &str)] =
            &[$(($path, include_str!(concat!("../../../devices/", $path)))),+];
    };
}

files! {
    "plain/alarm.toml"
    "plain/binary_sensor.toml"
    "plain/climate.toml"
    "plain/cover.toml"
    "plain/light.toml"
    "plain/lock.toml"
    "plain/sensor.toml"
    "plain/switch.toml"
    "plain/text_sensor.toml"
    "zigbee2mqtt/binary_sensor.toml"
    "zigbee2mqtt/climate.toml"
    "zigbee2mqtt/contact.toml"
    "zigbee2mqtt/cover.toml"
    "zigbee2mqtt/light.toml"
    "zigbee2mqtt/lock.toml"
    "zigbee2mqtt/sensor.toml"
    "zigbee2mqtt/switch.toml"
    "zigbee2mqtt/text_sensor.toml"
}
