//! The recorded traffic of whole installations ends in the states that Home Assistant ended in.

use base64::Engine as _;
use serde_json::Value;

use super::data;
use super::expected::difference;
use super::world::World;

/// It would command a bridge or gateway, which no device may be given (SAFETY T3).
const RESERVED: &str = "commands to bridges and gateways are refused";
/// Home Assistant shows the raw payload as a version where the template of the latest version meets nothing.
const RAW: &str = "a whole payload is no version";
/// Home Assistant shows no colour and no brightness until a mode was reported; we take the only mode that fits.
const COLOR: &str = "the mode follows from what was reported";
/// The template reads the present time, which is not that of the recording.
const CLOCK: &str = "it depends on the time of the recording";

/// Entities that end differently: file, id, why. Each was looked at.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "tasmota_native",
        "binary_sensor.door_reed",
        "the input's own report is read; Home Assistant asks for it first",
    ),
    ("device_discovery", "switch.mig_old", "nobody reported it: unknown, where Home Assistant restores off"),
    ("ha_core_tests", "device_tracker.phone", "coordinates are not compared with a zone"),
    ("shelly_gen1", "sensor.shelly_2_5_a1b2c3_last_restart", CLOCK),
    ("shelly_gen1", "sensor.shelly_i3_a1b2c3_last_restart", CLOCK),
    ("shelly_gen1", "update.shelly_2_5_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_3em_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_button1_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_dimmer_2_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_door_window_2_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_duo_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_duo_rgbw_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_flood_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_gas_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_h_t_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_i3_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_motion_2_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_rgbw2_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_smoke_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_uni_a1b2c3_firmware", RAW),
    ("shelly_gen1", "update.shelly_vintage_a1b2c3_firmware", RAW),
    ("shelly_gen2", "sensor.shelly_1_gen4_ddeeff_last_restart", CLOCK),
    ("shelly_gen2", "sensor.shelly_multicolor_bulb_gen3_90706948e250_last_restart", CLOCK),
    ("shelly_gen2", "sensor.shelly_plug_pm_ddeeff_last_restart", CLOCK),
    ("shelly_gen2", "sensor.shelly_plus_1pm_last_restart", CLOCK),
    ("shelly_gen2", "sensor.topac_eve01_11r_aabbccddeeff_last_restart", CLOCK),
    ("shelly_gen2", "update.shelly_duo_bulb_gen3_112233445566_firmware", RAW),
    ("shelly_gen2", "update.shelly_duo_bulb_gen3_112233445566_firmware_beta", RAW),
    ("shelly_gen2", "update.shelly_plus_rgbw_pm_aabbccddeeff_firmware", RAW),
    ("shelly_gen2", "update.shelly_plus_rgbw_pm_aabbccddeeff_firmware_beta", RAW),
    ("zigbee2mqtt", "button.zigbee2mqtt_bridge_restart", RESERVED),
    ("zigbee2mqtt", "light.gl_s_007zs", COLOR),
    ("zigbee2mqtt", "select.zigbee2mqtt_bridge_log_level", RESERVED),
    ("zigbee2mqtt", "switch.zigbee2mqtt_bridge_permit_join", RESERVED),
    ("zigbee2mqtt_definitions", "light.acuity_wf4c_wf6c", COLOR),
    ("zigbee2mqtt_definitions", "light.adeo_ia_cdzotaaa007ma_man", COLOR),
    ("zigbee2mqtt_definitions", "light.adurosmart_ad_rgbwh3001", COLOR),
    ("zigbee2mqtt_definitions", "light.ajax_aj_zigbee_led_strip", COLOR),
    ("zigbee2mqtt_definitions", "light.alchemy_al8tc13w_ap", COLOR),
    ("zigbee2mqtt_definitions", "light.aurora_au_a1gsz9cx", COLOR),
    ("zwave_js_ui", "light.in_wall_study_switch1_in_wall_study_switch", RESERVED),
];

/// The bytes of a recorded message.
pub fn payload(message: &Value) -> Vec<u8> {
    match (message["payload"].as_str(), message["payload_b64"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(text)) => base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
        (None, None) => Vec::new(),
    }
}

/// The unique id of an entity's announcement.
pub fn unique_id(world: &World, id: &str) -> Option<String> {
    world.discovery.announcement(id)?.1.get("unique_id")?.as_str().map(str::to_owned)
}

#[test]
fn recorded_traffic_ends_in_home_assistants_states() {
    let Some(folder) = data::folder() else { return };
    let (mut wrong, mut total, mut excepted) = (Vec::<String>::new(), 0, 0);
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("replay")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let recorded: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let mut world = World::new();
        for message in data::lines(&format!("{name}.jsonl")) {
            let retained = message["retain"].as_bool().unwrap_or(false);
            world.live(message["topic"].as_str().unwrap(), &payload(&message), retained);
        }
        let (mut right, mut all) = (0, 0);
        for last in recorded["final"].as_array().unwrap() {
            let id = last["entity_id"].as_str().unwrap();
            // Without a state it is registered only: Home Assistant refused it.
            if matches!(id.split('.').next(), Some("zone" | "tag")) || last["state"].is_null() {
                continue;
            }
            all += 1;
            let unique = last["unique_id"].as_str();
            let domain = id.split('.').next().unwrap();
            let found = world.entities.values().find(|seen| {
                let own = seen.entity.id.as_str();
                seen.entity.id.domain().word() == domain
                    && match unique {
                        Some(unique) => unique_id(&world, own).as_deref() == Some(unique),
                        None => own == id,
                    }
            });
            let fault = match found {
                None => Some("is missing".to_owned()),
                Some(seen) => {
                    difference(seen, last["state"].as_str().unwrap(), last["attributes"].as_object().unwrap())
                }
            };
            match fault {
                None => right += 1,
                Some(_) if EXCEPTIONS.iter().any(|(file, entity, _)| *file == name && id == *entity) => {
                    excepted += 1
                }
                Some(fault) => {
                    let notes: Vec<_> = world.notes.iter().filter(|_| found.is_none()).collect();
                    wrong.push(format!("{name} {id}: {fault} {notes:?}").chars().take(700).collect());
                }
            }
        }
        println!("{name}: {right} of {all}");
        total += all;
    }
    println!(
        "{} of {total} final states right, {excepted} deliberately different",
        total - wrong.len() - excepted
    );
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
