//! A line for each kind and verb: the bytes that leave, the outcome that the device's report gives, and the sentences.

use homeloop::home::Verb::{self, *};
use homeloop::home::{ActionSpec, Entity};
use serde_json::{Value, json};

use crate::home::{Home, action};

/// Entity, verb, arguments, bytes as `topic payload`, outcome (with `asked` where a person is asked), English, Chinese.
type Line = (&'static str, Verb, Value, &'static [&'static str], &'static str, &'static str, &'static str);

#[rustfmt::skip]
fn lines() -> Vec<Line> {
    let none = || json!({});
    vec![
        ("light.kitchen", TurnOn, json!({"brightness_pct":40}), &["home/kitchen/light/set on", "home/kitchen/light/brightness/set 40"], "confirmed", "Set the Kitchen light to 40 %.", "已把厨房灯调到40 %。"),
        ("light.kitchen", TurnOff, none(), &["home/kitchen/light/set off"], "confirmed", "Turned off the Kitchen light.", "已关闭厨房灯。"),
        ("light.living_room_strip", TurnOn, json!({"color_temp_kelvin":2700}), &["zigbee2mqtt/tv strip/set {\"state\":\"ON\",\"color_temp\":370}"], "confirmed", "Set the TV light strip to 2700 K.", "已把灯带调到2700 K。"),
        ("light.bedroom_left", TurnOff, none(), &["zigbee2mqtt/bedside left/set {\"state\":\"OFF\"}"], "confirmed", "Turned off the Left bedside lamp.", "已关闭左床头灯。"),
        ("light.hallway", TurnOn, none(), &["cmnd/hallway/POWER ON"], "confirmed", "Turned on the Hallway light.", "已打开走廊灯。"),
        ("switch.coffee_machine", TurnOn, none(), &["zigbee2mqtt/coffee machine/set {\"state\":\"ON\"}"], "confirmed", "Turned on the Coffee machine.", "已打开咖啡机。"),
        ("switch.desk_outlet", TurnOff, none(), &["cmnd/desk_outlet/POWER OFF"], "confirmed", "Turned off the Desk outlet.", "已关闭书桌插座。"),
        ("cover.living_room_curtain", Close, none(), &["zigbee2mqtt/living room curtain/set {\"state\":\"CLOSE\"}"], "confirmed", "Closed the Living room curtain.", "已关上客厅窗帘。"),
        ("cover.kitchen_blind", SetPosition, json!({"position":30}), &["home/kitchen/blind/position/set 30"], "confirmed", "Moved the Kitchen blind to 30 %.", "已把厨房百叶窗调到30 %。"),
        ("cover.kitchen_blind", SetTiltPosition, json!({"tilt_position":20}), &["home/kitchen/blind/tilt/set 20"], "confirmed", "Tilted the Kitchen blind to 20 %.", "已把厨房百叶窗的角度调到20 %。"),
        ("cover.garage_door", Open, none(), &["home/garage/door/set open"], "asked, confirmed", "Opened the Garage door.", "已打开车库门。"),
        ("climate.air_conditioner", SetTemperature, json!({"temperature":24}), &[], "already", "The Air conditioner was already at 24 °C.", "空调本来就是24 °C。"),
        ("climate.air_conditioner", SetHvacMode, json!({"hvac_mode":"heat"}), &["home/bedroom/ac/mode/set heat"], "confirmed", "Set the Air conditioner to heat.", "已把空调设为heat。"),
        ("climate.bathroom_radiator", SetTemperature, json!({"temperature":19}), &["zigbee2mqtt/bathroom radiator/set {\"occupied_heating_setpoint\":19}"], "confirmed", "Set the Bathroom radiator to 19 °C.", "已把浴室暖气调到19 °C。"),
        ("lock.front_door", Unlock, none(), &["home/front_door/lock/set unlock"], "asked, confirmed", "Unlocked the Front door.", "已打开前门的锁。"),
        ("lock.front_door", Lock, none(), &["home/front_door/lock/set lock"], "confirmed", "Locked the Front door.", "已锁上前门。"),
        ("lock.back_door", Unlock, none(), &["zigbee2mqtt/back door lock/set {\"state\":\"UNLOCK\"}"], "asked, confirmed", "Unlocked the Back door.", "已打开后门的锁。"),
        ("alarm_control_panel.house", ArmHome, none(), &["home/alarm/set {\"action\":\"arm_home\"}"], "contradicted open_zones", "The House alarm did not arm: Balcony door is open.", "警报没有布防：阳台门开着。"),
        ("fan.bedroom", TurnOn, none(), &["cmnd/bedroom_fan/FanSpeed 2"], "confirmed", "Turned on the Bedroom fan.", "已打开卧室风扇。"),
        ("fan.bedroom", SetPercentage, json!({"percentage":50}), &[], "already", "The Bedroom fan was already at 50 %.", "卧室风扇本来就是50 %。"),
        ("media_player.tv", Pause, none(), &["home/living_room/tv/set pause"], "confirmed", "Paused the TV.", "已暂停电视。"),
        ("media_player.tv", SetVolume, json!({"volume_pct":30}), &[], "already", "The TV was already at 30 %.", "电视本来就是音量30 %。"),
        ("media_player.tv", Mute, none(), &["home/living_room/tv/muted/set on"], "confirmed", "Muted the TV.", "已将电视静音。"),
        ("vacuum.robot", Start, none(), &["home/robot/set start"], "confirmed", "Started the Vacuum robot.", "已启动扫地机器人。"),
        ("vacuum.robot", ReturnToBase, none(), &["home/robot/set return_to_base"], "confirmed", "Sent the Vacuum robot to its base.", "已让扫地机器人返回基站。"),
        ("humidifier.kids_room", SetHumidity, json!({"humidity":45}), &["home/kids/humidifier/target/set 45"], "confirmed", "Set the Kids' room humidifier to 45 %.", "已把加湿器设为45 %。"),
        ("water_heater.boiler", SetTemperature, json!({"temperature":52}), &["home/bathroom/boiler/target/set 52"], "confirmed", "Set the Boiler to 52 °C.", "已把热水器调到52 °C。"),
        ("water_heater.boiler", SetTemperature, json!({"temperature":60}), &["home/bathroom/boiler/target/set 60"], "asked, confirmed", "Set the Boiler to 60 °C.", "已把热水器调到60 °C。"),
        ("valve.garden", Open, none(), &["zigbee2mqtt/garden valve/set {\"state\":\"ON\"}"], "asked, confirmed", "Opened the Garden valve.", "已打开花园阀门。"),
        ("valve.garden", Close, none(), &["zigbee2mqtt/garden valve/set {\"state\":\"OFF\"}"], "confirmed", "Closed the Garden valve.", "已关上花园阀门。"),
        ("siren.hallway", TurnOn, json!({"duration":5}), &["home/hallway/siren/set {\"state\":\"on\",\"duration\":5}"], "asked, confirmed", "Turned on the Hallway siren.", "已打开警笛。"),
        ("camera.entrance", TurnOff, none(), &["home/hallway/camera/set off"], "asked, confirmed", "Turned off the Entrance camera.", "已关闭门口摄像头。"),
        ("camera.entrance", TurnOn, none(), &["home/hallway/camera/set on"], "confirmed", "Turned on the Entrance camera.", "已打开门口摄像头。"),
        ("number.kettle_limit", SetValue, json!({"value":80}), &["home/kitchen/kettle_limit/set 80"], "asked, confirmed", "Set the Kettle temperature to 80.", "已把水壶温度设为80。"),
        ("select.washing_machine", SelectOption, json!({"option":"Wool"}), &["home/bathroom/washer/set Wool"], "confirmed", "Set the Washing machine programme to Wool.", "已把洗衣机程序设为Wool。"),
        ("button.doorbell", Press, none(), &["home/hallway/chime/set press"], "asked, unconfirmed cannot_confirm", "I asked the Doorbell chime to act, but it did not confirm: this device cannot confirm.", "已通知门铃执行，但没有得到确认：这个设备无法确认。"),
        ("text.kitchen_display", SetValue, json!({"value":"Dinner at 7"}), &["home/kitchen/display/set Dinner at 7"], "confirmed", "Set the Kitchen display to Dinner at 7.", "已把厨房显示屏设为Dinner at 7。"),
    ]
}

#[tokio::test(start_paused = true)]
async fn every_kind_from_action_to_sentence() {
    let home = Home::start().await;
    let mut wrong = Vec::new();
    for (id, verb, args, bytes, outcome, en, zh) in lines() {
        let done = home.act(&[action(id, verb, &args)]).await;
        let sent: Vec<String> =
            done.sent.iter().map(|(topic, payload)| format!("{topic} {payload}")).collect();
        let asked = if done.asked { "asked, " } else { "" };
        let told = format!("{asked}{}", done.outcome(id));
        let as_said = (told.as_str(), done.en.as_str(), done.zh.as_str()) == (outcome, en, zh);
        if !as_said || sent != bytes {
            wrong.push(format!(
                "({id:?}, {verb:?}, {args}, &{sent:?}, {told:?}, {:?}, {:?})",
                done.en, done.zh
            ));
        }
    }
    assert!(wrong.is_empty(), "these lines are otherwise:\n{}", wrong.join(",\n"));
}

/// The demo's devices announce themselves; what is done, and what people are told of it, is the same. How the bytes
/// look is the producers' choice: Zigbee2MQTT takes `OPEN` for `{"state":"OPEN"}`.
#[tokio::test(start_paused = true)]
async fn what_announces_itself_does_the_same() {
    let home = Home::start_announced().await;
    let mut wrong = Vec::new();
    for (id, verb, args, _, outcome, en, zh) in lines() {
        let done = home.act(&[action(id, verb, &args)]).await;
        let asked = if done.asked { "asked, " } else { "" };
        let told = format!("{asked}{}", done.outcome(id));
        if (told.as_str(), done.en.as_str(), done.zh.as_str()) != (outcome, en, zh) {
            wrong.push(format!("{id} {verb}: {told} {:?} {:?} {:?}", done.en, done.zh, done.sent));
        }
    }
    assert!(wrong.is_empty(), "these are otherwise:\n{}", wrong.join("\n"));
}

/// Names, places and classes, and every verb with its arguments.
#[tokio::test(start_paused = true)]
async fn what_announces_itself_is_the_same() {
    let (by_hand, announced) = (Home::start().await, Home::start_announced().await);
    let mut wrong = Vec::new();
    for entity in by_hand.house.read().entities() {
        let house = announced.house.read();
        let other = house.entity(entity.id.as_str()).unwrap_or_else(|| panic!("{} is missing", entity.id));
        let shown = |entity: &Entity| {
            (entity.name.clone(), entity.aliases.clone(), entity.area.clone(), entity.device_class.clone())
        };
        assert_eq!(shown(other), shown(entity), "{}", entity.id);
        assert_eq!((&other.unit, other.category), (&entity.unit, entity.category), "{}", entity.id);
        for spec in &entity.actions {
            let args = |spec: &ActionSpec| spec.args.iter().map(|arg| arg.name).collect::<Vec<_>>();
            match other.action(spec.verb) {
                None => wrong.push(format!("{} has no {}", entity.id, spec.verb)),
                Some(known) if args(spec).iter().any(|arg| known.arg(*arg).is_none()) => {
                    wrong.push(format!(
                        "{} {} lacks of {:?}: {:?}",
                        entity.id,
                        spec.verb,
                        args(spec),
                        args(known)
                    ));
                }
                Some(_) => {}
            }
        }
        let state = |home: &Home| {
            let house = home.house.read();
            let state = house.state(entity.id.as_str()).cloned().unwrap_or_default();
            (state.value.clone(), state.availability)
        };
        assert_eq!(state(&announced), state(&by_hand), "{}", entity.id);
    }
    assert_eq!(by_hand.house.read().len(), announced.house.read().len());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
