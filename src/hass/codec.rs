//! From an action to the one `call_service` that performs it.
//!
//! The table of services is closed: what is not in it cannot be called, whatever a plan says. The pseudo topic
//! `hass/<domain>/<service>` and the JSON of the service data are what a plan freezes.

use serde_json::{Map, Value, json};

use crate::devices::{Codec, Decoded, EncodeError, Message, Payload};
use crate::home::{Action, Arg, ArgValue, Domain, State, Verb};

/// First level of the pseudo topics.
const TOPIC: &str = "hass";

/// Speaks for every entity of Home Assistant.
pub struct HassCodec;

impl Codec for HassCodec {
    fn subscriptions(&self) -> Vec<String> {
        // States come over the WebSocket and go to the house directly.
        Vec::new()
    }

    fn decode(&self, _topic: &str, _payload: &Payload<'_>, _now: &State) -> Decoded {
        Decoded::Nothing
    }

    fn encode(&self, action: &Action, _now: &State) -> Result<Vec<Message>, EncodeError> {
        let domain = action.entity.domain();
        let service = service(domain, action.verb).ok_or_else(|| EncodeError::Unsupported(action.kind()))?;
        let mut data = Map::new();
        data.insert("entity_id".to_owned(), json!(action.entity));
        for (arg, value) in &action.args {
            let (name, value) = field(domain, *arg, value);
            data.insert(name.to_owned(), value);
        }
        if domain == Domain::MediaPlayer && matches!(action.verb, Verb::Mute | Verb::Unmute) {
            data.insert("is_volume_muted".to_owned(), json!(action.verb == Verb::Mute));
        }
        Ok(vec![Message::text(format!("{TOPIC}/{domain}/{service}"), Value::Object(data).to_string())])
    }
}

/// The domain and service of a pseudo topic, if the table has them.
pub fn called(topic: &str) -> Option<(Domain, &'static str)> {
    let (domain, service) = topic.strip_prefix(TOPIC)?.strip_prefix('/')?.split_once('/')?;
    let domain = Domain::from_word(domain);
    SERVICES.iter().find(|row| row.0 == domain && row.2 == service).map(|row| (row.0, row.2))
}

/// Every service that can be called, by domain and verb.
const SERVICES: &[(Domain, Verb, &str)] = &[
    (Domain::Light, Verb::TurnOn, "turn_on"),
    (Domain::Light, Verb::TurnOff, "turn_off"),
    (Domain::Switch, Verb::TurnOn, "turn_on"),
    (Domain::Switch, Verb::TurnOff, "turn_off"),
    (Domain::Siren, Verb::TurnOn, "turn_on"),
    (Domain::Siren, Verb::TurnOff, "turn_off"),
    (Domain::Fan, Verb::TurnOn, "turn_on"),
    (Domain::Fan, Verb::TurnOff, "turn_off"),
    (Domain::Fan, Verb::SetPercentage, "set_percentage"),
    (Domain::Fan, Verb::Oscillate, "oscillate"),
    (Domain::Fan, Verb::SetDirection, "set_direction"),
    (Domain::Fan, Verb::SetPresetMode, "set_preset_mode"),
    (Domain::Cover, Verb::Open, "open_cover"),
    (Domain::Cover, Verb::Close, "close_cover"),
    (Domain::Cover, Verb::Stop, "stop_cover"),
    (Domain::Cover, Verb::SetPosition, "set_cover_position"),
    (Domain::Cover, Verb::OpenTilt, "open_cover_tilt"),
    (Domain::Cover, Verb::CloseTilt, "close_cover_tilt"),
    (Domain::Cover, Verb::StopTilt, "stop_cover_tilt"),
    (Domain::Cover, Verb::SetTiltPosition, "set_cover_tilt_position"),
    (Domain::Valve, Verb::Open, "open_valve"),
    (Domain::Valve, Verb::Close, "close_valve"),
    (Domain::Valve, Verb::Stop, "stop_valve"),
    (Domain::Valve, Verb::SetPosition, "set_valve_position"),
    (Domain::Lock, Verb::Lock, "lock"),
    (Domain::Lock, Verb::Unlock, "unlock"),
    (Domain::Lock, Verb::Open, "open"),
    (Domain::AlarmControlPanel, Verb::Disarm, "alarm_disarm"),
    (Domain::AlarmControlPanel, Verb::ArmHome, "alarm_arm_home"),
    (Domain::AlarmControlPanel, Verb::ArmAway, "alarm_arm_away"),
    (Domain::AlarmControlPanel, Verb::ArmNight, "alarm_arm_night"),
    (Domain::AlarmControlPanel, Verb::ArmVacation, "alarm_arm_vacation"),
    (Domain::AlarmControlPanel, Verb::ArmCustomBypass, "alarm_arm_custom_bypass"),
    (Domain::AlarmControlPanel, Verb::Trigger, "alarm_trigger"),
    (Domain::Climate, Verb::TurnOn, "turn_on"),
    (Domain::Climate, Verb::TurnOff, "turn_off"),
    (Domain::Climate, Verb::SetTemperature, "set_temperature"),
    (Domain::Climate, Verb::SetHvacMode, "set_hvac_mode"),
    (Domain::Climate, Verb::SetFanMode, "set_fan_mode"),
    (Domain::Climate, Verb::SetSwingMode, "set_swing_mode"),
    (Domain::Climate, Verb::SetSwingHorizontalMode, "set_swing_horizontal_mode"),
    (Domain::Climate, Verb::SetPresetMode, "set_preset_mode"),
    (Domain::Climate, Verb::SetHumidity, "set_humidity"),
    (Domain::Humidifier, Verb::TurnOn, "turn_on"),
    (Domain::Humidifier, Verb::TurnOff, "turn_off"),
    (Domain::Humidifier, Verb::SetHumidity, "set_humidity"),
    (Domain::Humidifier, Verb::SetMode, "set_mode"),
    (Domain::WaterHeater, Verb::TurnOn, "turn_on"),
    (Domain::WaterHeater, Verb::TurnOff, "turn_off"),
    (Domain::WaterHeater, Verb::SetTemperature, "set_temperature"),
    (Domain::WaterHeater, Verb::SetMode, "set_operation_mode"),
    (Domain::MediaPlayer, Verb::TurnOn, "turn_on"),
    (Domain::MediaPlayer, Verb::TurnOff, "turn_off"),
    (Domain::MediaPlayer, Verb::Play, "media_play"),
    (Domain::MediaPlayer, Verb::Pause, "media_pause"),
    (Domain::MediaPlayer, Verb::Stop, "media_stop"),
    (Domain::MediaPlayer, Verb::NextTrack, "media_next_track"),
    (Domain::MediaPlayer, Verb::PreviousTrack, "media_previous_track"),
    (Domain::MediaPlayer, Verb::SetVolume, "volume_set"),
    (Domain::MediaPlayer, Verb::VolumeUp, "volume_up"),
    (Domain::MediaPlayer, Verb::VolumeDown, "volume_down"),
    (Domain::MediaPlayer, Verb::Mute, "volume_mute"),
    (Domain::MediaPlayer, Verb::Unmute, "volume_mute"),
    (Domain::MediaPlayer, Verb::SelectSource, "select_source"),
    (Domain::Vacuum, Verb::Start, "start"),
    (Domain::Vacuum, Verb::Pause, "pause"),
    (Domain::Vacuum, Verb::Stop, "stop"),
    (Domain::Vacuum, Verb::ReturnToBase, "return_to_base"),
    (Domain::Vacuum, Verb::Locate, "locate"),
    (Domain::Vacuum, Verb::CleanSpot, "clean_spot"),
    (Domain::Vacuum, Verb::SetFanSpeed, "set_fan_speed"),
    (Domain::LawnMower, Verb::StartMowing, "start_mowing"),
    (Domain::LawnMower, Verb::Pause, "pause"),
    (Domain::LawnMower, Verb::Dock, "dock"),
    (Domain::Number, Verb::SetValue, "set_value"),
    (Domain::Select, Verb::SelectOption, "select_option"),
    (Domain::Button, Verb::Press, "press"),
    (Domain::Scene, Verb::Activate, "turn_on"),
    (Domain::Script, Verb::Run, "turn_on"),
];

/// Home Assistant's service for a verb of a domain.
fn service(domain: Domain, verb: Verb) -> Option<&'static str> {
    SERVICES.iter().find(|row| (row.0, row.1) == (domain, verb)).map(|row| row.2)
}

/// Home Assistant's field for an argument, in its unit.
fn field(domain: Domain, arg: Arg, value: &ArgValue) -> (&'static str, Value) {
    let number = value.as_number();
    match (domain, arg) {
        (Domain::MediaPlayer, Arg::VolumePct) => ("volume_level", json!(number.unwrap_or(0.0) / 100.0)),
        (Domain::WaterHeater, Arg::Mode) => ("operation_mode", json!(value)),
        // Home Assistant refuses a fraction here, also one that is zero.
        (
            _,
            Arg::BrightnessPct
            | Arg::ColorTempKelvin
            | Arg::Position
            | Arg::TiltPosition
            | Arg::Percentage
            | Arg::Humidity,
        ) => (arg.word(), json!(number.unwrap_or(0.0).round() as i64)),
        (_, arg) => (arg.word(), json!(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::EntityId;

    #[test]
    fn actions_become_services_with_their_fields() {
        let action = |entity: &str, verb| Action::new(EntityId::parse(entity).unwrap(), verb);
        let number = ArgValue::Number;
        for (action, topic, payload) in [
            (
                action("light.a", Verb::TurnOn).with(Arg::BrightnessPct, number(40.0)),
                "hass/light/turn_on",
                r#"{"entity_id":"light.a","brightness_pct":40}"#,
            ),
            (action("lock.a", Verb::Unlock), "hass/lock/unlock", r#"{"entity_id":"lock.a"}"#),
            (
                action("media_player.a", Verb::SetVolume).with(Arg::VolumePct, number(25.0)),
                "hass/media_player/volume_set",
                r#"{"entity_id":"media_player.a","volume_level":0.25}"#,
            ),
            (
                action("media_player.a", Verb::Unmute),
                "hass/media_player/volume_mute",
                r#"{"entity_id":"media_player.a","is_volume_muted":false}"#,
            ),
            (
                action("climate.a", Verb::SetTemperature).with(Arg::Temperature, number(21.5)),
                "hass/climate/set_temperature",
                r#"{"entity_id":"climate.a","temperature":21.5}"#,
            ),
            (action("script.a", Verb::Run), "hass/script/turn_on", r#"{"entity_id":"script.a"}"#),
        ] {
            let messages = HassCodec.encode(&action, &State::default()).unwrap();
            assert_eq!(messages, [Message::text(topic, payload)]);
            assert!(called(topic).is_some(), "{topic}");
        }
    }

    #[test]
    fn what_administers_does_not_exist() {
        for topic in [
            "hass/update/install",
            "hass/homeassistant/restart",
            "hass/hassio/host_reboot",
            "hass/backup/create",
            "hass/shell_command/x",
            "hass/other/turn_on",
            "hass/script/reload",
            "hass/lock/turn_on",
            "hass/light",
            "homeassistant/light/turn_on",
        ] {
            assert_eq!(called(topic), None, "{topic}");
        }
        let install = Action::new(EntityId::parse("update.a").unwrap(), Verb::Install);
        assert!(HassCodec.encode(&install, &State::default()).is_err());
    }
}
