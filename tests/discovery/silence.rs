//! What silence means: `expire_after`, `off_delay`, over a real broker; and overrides of the home file.

use homeloop::home::{Action, Availability, EntityId, Verb};
use serde_json::json;

use super::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_sensor_is_unavailable_and_motion_ends() {
    let Some(house) = House::start("", &[]).await else { return };
    let sensor =
        json!({"name": "meter", "stat_t": "meter", "exp_aft": 1, "unit_of_meas": "W", "avty_t": "meter/lwt"});
    house.announce("homeassistant/sensor/meter/config", &sensor, "sensor.meter").await;
    house.publish("meter/lwt", "online", true).await;
    house.publish("meter", "7", true).await;
    house.until("sensor.meter", "is online", |state| state.availability == Availability::Online).await;
    let silent = house
        .until("sensor.meter", "falls silent", |state| state.availability == Availability::Offline)
        .await;
    assert_eq!(silent.text(), Some("7"), "the last value is known, and old");
    // Its last will says that it is there; without a reading that is not enough.
    house.publish("meter/lwt", "online", false).await;
    house.publish("meter", "8", false).await;
    let again = house.until("sensor.meter", "is read again", |state| state.text() == Some("8")).await;
    assert_eq!(again.availability, Availability::Online);

    let motion = json!({"name": "hall", "stat_t": "hall", "off_dly": 1, "dev_cla": "motion"});
    house.announce("homeassistant/binary_sensor/hall/config", &motion, "binary_sensor.hall").await;
    house.publish("hall", "OFF", true).await;
    house.until("binary_sensor.hall", "is heard", |state| state.text() == Some("off")).await;
    house.publish("hall", "ON", false).await;
    let on = house.until("binary_sensor.hall", "moves", |state| state.text() == Some("on")).await;
    assert!(on.value_stamp.unwrap().live);
    let off = house.until("binary_sensor.hall", "is quiet", |state| state.text() == Some("off")).await;
    assert!(!off.value_stamp.unwrap().live, "nobody reported it");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_home_file_corrects_what_is_announced() {
    let home = r#"
[[area]]
id = "cellar"
name = "Cellar"

[[override]]
entity = "switch.pump_*"
area = "cellar"
name = "Sump pump"

[[override]]
device = "fridge-*"
tier = "G2"
reason = "food would spoil"
"#;
    let Some(house) = House::start(home, &[]).await else { return };
    let pump = json!({"name": "pump one", "cmd_t": "pump/set"});
    house.announce("homeassistant/switch/pump/config", &pump, "switch.pump_one").await;
    let plug = json!({"name": "socket", "cmd_t": "socket/set", "dev": {"ids": "fridge-1", "name": "Box"}});
    house.announce("homeassistant/switch/socket/config", &plug, "switch.box_socket").await;
    {
        let known = house.app.house().read();
        let pump = known.entity("switch.pump_one").unwrap();
        assert_eq!((pump.name.as_str(), pump.area.as_deref()), ("Sump pump", Some("cellar")));
    }
    let action = Action::new(EntityId::parse("switch.box_socket").unwrap(), Verb::TurnOff);
    let refused = house.perform(action).await;
    assert!(refused.as_ref().is_err_and(|why| why.contains("food would spoil")), "{refused:?}");
    house.stop().await;
}
