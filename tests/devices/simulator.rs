//! The simulator: what devices do when asked, with faults and without.

use std::time::Duration;

use homeloop::app::simulation::run;
use homeloop::devices::profile::{Profiles, Said};
use homeloop::devices::simulate::World;
use homeloop::home::{Availability, Verb, attr};
use homeloop::settings::home_file::HomeFile;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;

use crate::loopback::Loopback;

#[test]
fn a_house_starts_with_retained_states_and_everything_online() {
    let home = Loopback::demo();
    for (id, value) in [
        ("light.living_room_ceiling", "on"),
        ("light.bedroom_right", "off"),
        ("cover.living_room_curtain", "open"),
        ("cover.garage_door", "closed"),
        ("climate.air_conditioner", "cool"),
        ("lock.front_door", "locked"),
        ("alarm_control_panel.house", "disarmed"),
        ("binary_sensor.balcony_door", "on"),
        ("sensor.living_room_temperature", "23.4"),
    ] {
        let state = home.state(id);
        assert_eq!((state.text(), state.availability), (Some(value), Availability::Online), "{id}");
        assert!(!state.reported.unwrap().live, "{id}: what was retained is not live");
    }
    assert_eq!(home.state("light.living_room_ceiling").attribute_number(attr::BRIGHTNESS), Some(204.0));
    assert_eq!(home.registry.counts().faults, 0);
    assert_eq!(home.registry.counts().unread, 0);
}

#[test]
fn devices_go_through_the_states_of_their_kind() {
    let steps = [
        ("light.kitchen", Verb::TurnOff, json!({}), &["on", "off"][..]),
        ("light.kitchen", Verb::TurnOn, json!({"brightness_pct": 40}), &["off", "on"]),
        ("light.bedroom_left", Verb::TurnOff, json!({}), &["on", "off"]),
        ("switch.coffee_machine", Verb::TurnOn, json!({}), &["off", "on"]),
        ("cover.living_room_curtain", Verb::Close, json!({}), &["open", "closing", "closed"]),
        ("cover.kitchen_blind", Verb::SetPosition, json!({"position": 30}), &["open", "closing", "open"]),
        ("cover.garage_door", Verb::Open, json!({}), &["closed", "opening", "open"]),
        ("climate.air_conditioner", Verb::SetHvacMode, json!({"hvac_mode": "heat"}), &["cool", "heat"]),
        ("lock.front_door", Verb::Unlock, json!({}), &["locked", "unlocking", "unlocked"]),
        ("lock.back_door", Verb::Unlock, json!({}), &["locked", "unlocked"]),
        ("light.hallway", Verb::TurnOn, json!({}), &["off", "on"]),
        ("switch.desk_outlet", Verb::TurnOff, json!({}), &["on", "off"]),
        ("fan.bedroom", Verb::TurnOn, json!({}), &["off", "on"]),
        ("fan.bedroom", Verb::TurnOff, json!({}), &["on", "off"]),
        ("fan.bedroom", Verb::SetPercentage, json!({"percentage": 100}), &["off", "on"]),
        ("media_player.tv", Verb::Pause, json!({}), &["playing", "paused"]),
        ("media_player.tv", Verb::SetVolume, json!({"volume_pct": 40}), &["paused"]),
        ("media_player.tv", Verb::VolumeDown, json!({}), &["paused"]),
        ("media_player.tv", Verb::Mute, json!({}), &["paused"]),
        ("media_player.tv", Verb::TurnOff, json!({}), &["paused", "off"]),
        ("vacuum.robot", Verb::Start, json!({}), &["docked", "cleaning"]),
        ("vacuum.robot", Verb::ReturnToBase, json!({}), &["cleaning", "returning", "docked"]),
        ("humidifier.kids_room", Verb::SetHumidity, json!({"humidity": 45}), &["on"]),
        ("humidifier.kids_room", Verb::TurnOff, json!({}), &["on", "off"]),
        ("water_heater.boiler", Verb::SetMode, json!({"mode": "performance"}), &["eco", "performance"]),
        ("valve.garden", Verb::Open, json!({}), &["closed", "open"]),
        ("siren.hallway", Verb::TurnOn, json!({"duration": 5}), &["off", "on"]),
        ("camera.entrance", Verb::TurnOff, json!({}), &["on", "off"]),
        ("number.kettle_limit", Verb::SetValue, json!({"value": 80}), &["90", "80"]),
        ("select.washing_machine", Verb::SelectOption, json!({"option": "Wool"}), &["Cotton", "Wool"]),
        ("text.kitchen_display", Verb::SetValue, json!({"value": "12"}), &["Hello", "12"]),
    ];
    let mut home = Loopback::demo();
    for (id, verb, args, values) in steps {
        home.act(id, verb, args);
        assert_eq!(home.pass(60, id), values, "{id} {verb}");
        let reported = home.state(id).reported.unwrap();
        assert!(reported.live, "{id} {verb}");
    }
    assert_eq!(home.state("light.kitchen").attribute_number(attr::BRIGHTNESS), Some(102.0));
    assert_eq!(home.state("cover.kitchen_blind").attribute_number(attr::CURRENT_POSITION), Some(30.0));
    assert_eq!(home.state("climate.air_conditioner").attribute_text(attr::HVAC_ACTION), Some("idle"));
    assert_eq!(home.state("fan.bedroom").attribute_number(attr::PERCENTAGE), Some(100.0));
    let tv = home.state("media_player.tv");
    assert_eq!(tv.attribute_number(attr::VOLUME_LEVEL), Some(0.35));
    assert_eq!(tv.attributes[attr::IS_VOLUME_MUTED], json!(true));
    assert_eq!(home.state("humidifier.kids_room").attribute_number(attr::HUMIDITY), Some(45.0));
    assert_eq!(home.registry.counts().faults, 0);
}

#[test]
fn what_reports_nothing_is_sent_and_says_nothing() {
    let mut home = Loopback::demo();
    home.act("button.doorbell", Verb::Press, json!({}));
    home.pass(60, "button.doorbell");
    assert_eq!(home.said(), []);
    assert!(!home.house.read().entity("button.doorbell").unwrap().reports_state);
}

#[test]
fn a_stop_ends_a_movement_where_it_is() {
    let mut home = Loopback::demo();
    home.act("cover.living_room_curtain", Verb::Close, json!({}));
    home.pass(1, "cover.living_room_curtain");
    home.act("cover.living_room_curtain", Verb::Stop, json!({}));
    home.pass(60, "cover.living_room_curtain");
    let state = home.state("cover.living_room_curtain");
    assert_eq!(state.text(), Some("open"));
    assert_eq!(state.attribute_number(attr::CURRENT_POSITION), Some(75.0));
}

#[test]
fn the_alarm_refuses_while_the_balcony_door_is_open_and_arms_when_it_is_closed() {
    let panel = "alarm_control_panel.house";
    let mut home = Loopback::demo();
    home.act(panel, Verb::ArmNight, json!({}));
    assert_eq!(home.pass(60, panel), ["disarmed"]);
    assert_eq!(
        home.said(),
        [("home/alarm/state".to_owned(), r#"{"state":"disarmed","open_zones":["Balcony door"]}"#.to_owned())]
    );
    assert_eq!(home.state(panel).attributes[attr::OPEN_ZONES], json!(["Balcony door"]));

    home.publish("homeloop-sim/binary_sensor.balcony_door/set", "off");
    assert_eq!(home.said(), [("zigbee2mqtt/balcony door".to_owned(), r#"{"contact":true}"#.to_owned())]);
    home.act(panel, Verb::ArmNight, json!({}));
    assert_eq!(home.pass(60, panel), ["disarmed", "arming", "armed_night"]);
    assert_eq!(home.state(panel).attributes[attr::OPEN_ZONES], json!([]));

    home.publish("homeloop-sim/binary_sensor.balcony_door/set", r#"{"value": "on"}"#);
    assert_eq!(home.pass(60, panel), ["armed_night", "pending", "triggered"]);
    home.act(panel, Verb::Disarm, json!({}));
    assert_eq!(home.pass(60, panel), ["triggered", "disarmed"]);
}

#[test]
fn every_fault_shows_in_what_the_device_says() {
    let curtain = "cover.living_room_curtain";
    let light = "light.kitchen";
    let lock = "lock.front_door";
    for (id, fault, verb, values) in [
        (light, "silent", Verb::TurnOff, &["on"][..]),
        (light, "slow", Verb::TurnOff, &["on", "off"]),
        (light, "stuck", Verb::TurnOff, &["on"]),
        (light, "contradicting", Verb::TurnOff, &["on"]),
        (light, "echo_only", Verb::TurnOff, &["on", "off"]),
        (light, "reverting", Verb::TurnOff, &["on", "off", "on"]),
        (light, "offline", Verb::TurnOff, &["on"]),
        (curtain, "contradicting", Verb::Close, &["open"]),
        (curtain, "jammed", Verb::Close, &["open", "closing", "open"]),
        (lock, "contradicting", Verb::Unlock, &["locked"]),
        (lock, "jammed", Verb::Unlock, &["locked", "unlocking", "jammed"]),
        (lock, "reverting", Verb::Unlock, &["locked", "unlocking", "unlocked", "locked"]),
    ] {
        let mut home = Loopback::demo();
        home.publish(&format!("homeloop-sim/{id}/fault"), fault);
        home.said();
        home.act(id, verb, json!({}));
        assert_eq!(home.pass(60, id), values, "{id} {fault}");
        let silent = home.said().is_empty();
        assert_eq!(silent, matches!(fault, "silent" | "offline"), "{id} {fault}");
        let availability = home.state(id).availability;
        let expected = if fault == "offline" { Availability::Offline } else { Availability::Online };
        assert_eq!(availability, expected, "{id} {fault}");

        home.publish(&format!("homeloop-sim/{id}/fault"), "none");
        home.act(id, verb, json!({}));
        home.pass(60, id);
        let wished = if id == curtain {
            "closed"
        } else if id == lock {
            "unlocked"
        } else {
            "off"
        };
        assert_eq!(home.value(id), wished, "{id} is well again after {fault}");
    }
}

#[test]
fn a_slow_device_answers_after_its_time_and_an_echo_is_no_act() {
    let mut home = Loopback::demo();
    home.publish("homeloop-sim/light.kitchen/fault", r#"{"fault": "slow", "seconds": 30}"#);
    home.act("light.kitchen", Verb::TurnOff, json!({}));
    assert_eq!(home.pass(29, "light.kitchen"), ["on"]);
    assert_eq!(home.pass(2, "light.kitchen"), ["on", "off"]);

    let curtain = "cover.kitchen_blind";
    home.publish(&format!("homeloop-sim/{curtain}/fault"), "echo_only");
    home.act(curtain, Verb::Close, json!({}));
    home.pass(60, curtain);
    let state = home.state(curtain);
    assert_eq!(state.text(), Some("closed"), "it repeats the wish");
    assert_eq!(state.attribute_number(attr::CURRENT_POSITION), Some(70.0), "and does not move");
    assert_eq!(home.world.value(&curtain.parse().unwrap()), Some("open"));
}

#[test]
fn a_flapping_device_goes_and_comes() {
    let mut home = Loopback::demo();
    home.publish("homeloop-sim/light.kitchen/fault", r#"{"fault": "flapping", "seconds": 2}"#);
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(home.state("light.kitchen").availability);
        home.pass(2, "light.kitchen");
    }
    use Availability::{Offline, Online};
    assert_eq!(seen, [Offline, Online, Offline, Online]);
    home.publish("homeloop-sim/light.kitchen/fault", "none");
    home.pass(60, "light.kitchen");
    assert_eq!(home.state("light.kitchen").availability, Online);
}

#[test]
fn control_messages_that_make_no_sense_change_nothing() {
    let mut home = Loopback::demo();
    for (topic, payload) in [
        ("homeloop-sim/light.nowhere/set", "on"),
        ("homeloop-sim/light.kitchen/set", "{broken"),
        ("homeloop-sim/light.kitchen/set", ""),
        ("homeloop-sim/light.kitchen/fault", "tired"),
        ("homeloop-sim/light.kitchen/fault", r#"{"fault": "slow", "seconds": -1}"#),
        ("homeloop-sim/light.kitchen", "on"),
        ("home/kitchen/light/set", "maybe"),
        ("zigbee2mqtt/desk lamp/set", r#"{"state":"TOGGLE"}"#),
    ] {
        home.publish(topic, payload);
        home.pass(60, "light.kitchen");
        assert_eq!(home.said(), [], "{topic} {payload}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_runs_over_any_stream_and_says_goodbye() {
    let home = HomeFile::demo(&Profiles::embedded().unwrap()).unwrap();
    let (to_devices, messages) = mpsc::unbounded_channel();
    let (publish, mut said) = mpsc::unbounded_channel::<Said>();
    let stop = CancellationToken::new();
    let world = World::new(home.players());
    let task = tokio::spawn(run(
        world,
        UnboundedReceiverStream::new(messages),
        move |message| {
            let publish = publish.clone();
            async move { publish.send(message).unwrap() }
        },
        stop.clone(),
    ));
    to_devices.send(("home/front_door/lock/set".to_owned(), b"unlock".to_vec())).unwrap();
    let mut lock = Vec::new();
    while lock.last().map(String::as_str) != Some("unlocked") {
        let next = tokio::time::timeout(Duration::from_secs(60), said.recv()).await.unwrap().unwrap();
        if next.topic == "home/front_door/lock/state" {
            assert!(next.retained);
            lock.push(next.payload);
        }
    }
    assert_eq!(lock, ["locked", "unlocking", "unlocked"]);
    stop.cancel();
    task.await.unwrap();
    let mut last = Vec::new();
    while let Some(message) = said.recv().await {
        last.push((message.topic, message.payload));
    }
    assert!(last.contains(&("zigbee2mqtt/bridge/state".to_owned(), r#"{"state":"offline"}"#.to_owned())));
    assert!(last.contains(&("home/front_door/lock/availability".to_owned(), "offline".to_owned())));
}
