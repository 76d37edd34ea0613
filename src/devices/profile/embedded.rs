//! The profile files that are part of the binary. A test compares this list with the folder `devices/`.

macro_rules! files {
    ($($path:literal)+) => {
        /// Name and text of each file.
        pub const FILES: &[(&str, &str)] =
            &[$(($path, include_str!(concat!("../../../devices/", $path)))),+];
    };
}

files! {
    "esphome/binary_sensor.toml"
    "esphome/light.toml"
    "esphome/sensor.toml"
    "plain/alarm.toml"
    "plain/binary_sensor.toml"
    "plain/button.toml"
    "plain/camera.toml"
    "plain/climate.toml"
    "plain/cover.toml"
    "plain/device_tracker.toml"
    "plain/fan.toml"
    "plain/humidifier.toml"
    "plain/light.toml"
    "plain/lock.toml"
    "plain/media_player.toml"
    "plain/number.toml"
    "plain/person.toml"
    "plain/scene.toml"
    "plain/select.toml"
    "plain/sensor.toml"
    "plain/siren.toml"
    "plain/switch.toml"
    "plain/text.toml"
    "plain/text_sensor.toml"
    "plain/vacuum.toml"
    "plain/valve.toml"
    "plain/water_heater.toml"
    "tasmota/binary_sensor.toml"
    "tasmota/cover.toml"
    "tasmota/fan.toml"
    "tasmota/light.toml"
    "tasmota/sensor.toml"
    "tasmota/switch.toml"
    "zigbee2mqtt/binary_sensor.toml"
    "zigbee2mqtt/climate.toml"
    "zigbee2mqtt/contact.toml"
    "zigbee2mqtt/cover.toml"
    "zigbee2mqtt/fan.toml"
    "zigbee2mqtt/light.toml"
    "zigbee2mqtt/lock.toml"
    "zigbee2mqtt/number.toml"
    "zigbee2mqtt/scene.toml"
    "zigbee2mqtt/select.toml"
    "zigbee2mqtt/sensor.toml"
    "zigbee2mqtt/siren.toml"
    "zigbee2mqtt/switch.toml"
    "zigbee2mqtt/text_sensor.toml"
    "zigbee2mqtt/valve.toml"
}
