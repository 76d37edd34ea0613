//! Entities of Home Assistant in the house of the real binary, and what goes wrong with them.

use homeloop::mqtt::link::Inbound;
use serde_json::{Value, json};

use crate::common::soon;
use crate::house::{House, outcome};
use crate::server::{Answer, Server, TOKEN};

pub const LAMP: &str = "light.porch_lamp";
pub const LOCK: &str = "lock.cellar";

/// A house with a lamp and a lock in Home Assistant, beside the demo's own.
pub async fn world() -> Server {
    let server = Server::start().await;
    furnish(&server);
    server
}

pub fn furnish(server: &Server) {
    server.area("porch", "Porch");
    server.add(
        LAMP,
        "off",
        json!({"friendly_name": "Porch lamp", "supported_color_modes": ["brightness"]}),
        json!({"area_id": "porch"}),
    );
    server.add(LOCK, "locked", json!({"friendly_name": "Cellar door"}), json!({}));
    server.add("scene.party", "unknown", json!({"friendly_name": "Party"}), json!({}));
    server.add("script.leave", "off", json!({"friendly_name": "Leave"}), json!({}));
    server.add("update.core", "on", json!({"friendly_name": "Core", "supported_features": 1}), json!({}));
    server.add("person.anna", "home", json!({"friendly_name": "Anna"}), json!({}));
}

pub struct Token(pub tempfile::NamedTempFile);

impl Token {
    pub fn new(token: &str) -> Self {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), format!("{token}\n")).expect("it is written");
        Self(file)
    }

    pub fn settings(&self, server: &Server) -> String {
        format!(
            "[hass]\nurl = \"http://{}\"\ntoken_file = \"{}\"\nentities = \"exposed\"\n",
            server.address,
            self.0.path().display()
        )
    }
}

/// Waits until our device shows this about Home Assistant.
pub async fn shows(house: &House, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let is = |message: &Inbound| {
        message.topic == "homeloop/home/device/state"
            && serde_json::from_slice::<Value>(&message.payload)
                .is_ok_and(|state| wanted(&state["home_assistant"]))
    };
    let message = house.recorder.wait(what, is).await;
    serde_json::from_slice::<Value>(&message.payload).expect("JSON")["home_assistant"].clone()
}

/// Waits until an entity has a value.
pub async fn has(house: &House, entity: &str, value: &Value) {
    soon(&format!("{entity} is {value}"), async {
        while house.get(&format!("/api/entities/{entity}")).await["value"] != *value {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

pub async fn start(server: &Server) -> (House, Token) {
    let token = Token::new(TOKEN);
    let house = House::with(&token.settings(server)).await;
    has(&house, LAMP, &json!("off")).await;
    shows(&house, "it is used", |state| state["up"] == true).await;
    (house, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn its_entities_are_used_and_confirmed_by_its_states() {
    let server = world().await;
    let (house, _token) = start(&server).await;
    let result = house.say("turn on the porch lamp").await;
    assert_eq!(outcome(&result, LAMP), "confirmed", "{result}");
    let call = server.called(LAMP).await;
    assert_eq!((&call["domain"], &call["service"]), (&json!("light"), &json!("turn_on")));
    let again = house.say("turn on the porch lamp").await;
    assert_eq!(outcome(&again, LAMP), "already", "a state of this connection: {again}");
    assert_eq!(server.calls(LAMP).len(), 1);
    let lamp = house.get(&format!("/api/entities/{LAMP}")).await;
    assert_eq!(lamp["area_name"], "Porch");
    assert_eq!(house.get("/api/entities/update.core").await["actions"], json!([]), "updates are only read");
    assert_eq!(house.get("/api/entities/person.anna").await["value"], "home", "policy knows who is home");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_locks_scenes_and_scripts_wait_for_a_person() {
    let server = world().await;
    let (house, _token) = start(&server).await;
    let id = house.give("unlock the cellar door").await;
    let approval = house.approval().await;
    assert_eq!(approval["targets"][0]["entity"], LOCK);
    assert!(server.calls(LOCK).is_empty(), "nothing is sent before a person decides");
    house.decide(&approval, "approve").await;
    let result = house.result_of(&id).await;
    assert_eq!(outcome(&result, LOCK), "confirmed", "{result}");
    assert_eq!(server.calls(LOCK).len(), 1);
    for words in ["activate the party scene", "run the leave script"] {
        let id = house.give(words).await;
        let approval = house.approval().await;
        house.decide(&approval, "deny").await;
        house.result_of(&id).await;
    }
    assert!(server.calls("scene.party").is_empty() && server.calls("script.leave").is_empty());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entity_seen_through_both_paths_is_one() {
    let server = world().await;
    server.add(
        "light.shed",
        "off",
        json!({"friendly_name": "Shed light", "supported_color_modes": ["onoff"]}),
        json!({"platform": "mqtt", "unique_id": "shed-1"}),
    );
    let (house, _token) = start(&server).await;
    has(&house, "light.shed", &json!("off")).await;
    let announcement = json!({
        "name": "Shed lamp", "unique_id": "shed-1", "command_topic": "shed/set", "state_topic": "shed/state",
    });
    house.publish("homeassistant/light/shed/config", &announcement.to_string()).await;
    soon("one is left", async {
        loop {
            let all = house.get("/api/entities?domain=light").await;
            let names: Vec<&str> =
                all.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
            if names.contains(&"Shed lamp") && !names.contains(&"Shed light") {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_and_silence_of_services_are_never_claimed_as_done() {
    let server = world().await;
    let (house, _token) = start(&server).await;
    server.world().answer = Answer::Error("service_validation_error", "the lamp is on strike");
    let result = house.say("turn on the porch lamp").await;
    assert_eq!(outcome(&result, LAMP), "not_sent", "{result}");
    server.world().answer = Answer::Error("home_assistant_error", "no radio");
    let result = house.say("turn on the porch lamp").await;
    assert_eq!(outcome(&result, LAMP), "unconfirmed", "{result}");
    server.world().answer = Answer::Nothing;
    let result = house.say("turn on the porch lamp").await;
    assert_eq!(outcome(&result, LAMP), "unconfirmed", "{result}");
    server.set(LAMP, "unavailable");
    soon("it is offline", async {
        while house.get(&format!("/api/entities/{LAMP}")).await["availability"] != "offline" {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let before = server.calls(LAMP).len();
    let result = house.say("turn on the porch lamp").await;
    assert_eq!(outcome(&result, LAMP), "not_sent", "{result}");
    assert_eq!(server.calls(LAMP).len(), before, "nothing is sent to what is not there");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_in_the_middle_loses_nothing_and_does_nothing_twice() {
    let server = world().await;
    let (house, _token) = start(&server).await;
    let id = house.give("unlock the cellar door").await;
    let approval = house.approval().await;
    // It is carried out, and the connection breaks before it can be said.
    server.world().answer = Answer::Break;
    house.decide(&approval, "approve").await;
    let result = house.result_of(&id).await;
    assert!(matches!(outcome(&result, LOCK), "confirmed" | "unconfirmed"), "{result}");
    assert_eq!(server.calls(LOCK).len(), 1, "a gated action is sent once: {:?}", server.calls(LOCK));
    has(&house, LOCK, &json!("unlocked")).await;
    // While it is away nothing is queued.
    server.world().token = "another".into();
    server.cut();
    shows(&house, "the token is refused", |state| {
        state["problem"].as_str().is_some_and(|why| why.contains("token"))
    })
    .await;
    let result = house.say("turn on the porch lamp").await;
    assert_eq!(outcome(&result, LAMP), "not_sent", "{result}");
    let reply = result["reply"].as_str().expect("a reply");
    assert!(reply.contains("Home Assistant is not connected"), "it speaks of what is down: {reply}");
    let result = house.say("turn on the porch lamp and the kitchen light").await;
    assert_eq!(outcome(&result, "light.kitchen"), "already", "the broker is there: {result}");
    assert!(server.calls(LAMP).is_empty());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_token_is_not_tried_again_until_the_file_changes() {
    let server = world().await;
    let token = Token::new("wrong");
    let house = House::with(&token.settings(&server)).await;
    let told = shows(&house, "the refusal", |state| state["problem"].is_string()).await;
    assert!(told["problem"].as_str().is_some_and(|why| why.contains("refused the token")), "{told}");
    std::fs::write(token.0.path(), TOKEN).expect("it is written");
    has(&house, LAMP, &json!("off")).await;
    assert_eq!(server.world().tried, 2, "once with each token");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_versions_missing_features_and_garbage_are_told_clearly() {
    let server = world().await;
    server.world().version = "2023.12.4".into();
    let token = Token::new(TOKEN);
    let house = House::with(&token.settings(&server)).await;
    let told = shows(&house, "too old", |state| state["problem"].is_string()).await;
    assert!(told["problem"].as_str().is_some_and(|why| why.contains("2023.12.4 is too old")), "{told}");
    {
        let mut world = server.world();
        world.version = "2026.11.0".into();
        world.garbage = Some("{\"type\":\"auth_ok\"".into());
        world.unknown.insert("config/floor_registry/list".into());
        world.unknown.insert("config/entity_registry/get_entries".into());
    }
    let told = shows(&house, "it is used", |state| state["up"] == true).await;
    assert!(told["missing"].to_string().contains("floors are not known"), "{told}");
    assert_eq!(outcome(&house.say("turn on the porch lamp").await, LAMP), "confirmed");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn renamed_and_removed_entities_and_areas_follow() {
    let server = world().await;
    let (house, _token) = start(&server).await;
    let state = server.world().states[LAMP].clone();
    {
        let mut world = server.world();
        world.entities.remove(LAMP);
        world.states.remove(LAMP);
        world.exposed.remove(LAMP);
    }
    server.area("porch", "Veranda");
    server.add("light.veranda", &state.0, Value::Object(state.1), json!({"area_id": "porch"}));
    server.registry_changed("entity_registry_updated");
    has(&house, "light.veranda", &json!("off")).await;
    soon("the old name is gone", async {
        while house.get(&format!("/api/entities/{LAMP}")).await["entity"] == LAMP {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(house.get("/api/entities/light.veranda").await["area_name"], "Veranda");
    // The area goes; what was in it stays.
    server.world().areas.clear();
    server.world().entities.get_mut("light.veranda").expect("it is there")["area_id"] = Value::Null;
    server.registry_changed("area_registry_updated");
    soon("the area is gone", async {
        while !house.get("/api/entities/light.veranda").await["area_name"].is_null() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    house.stop().await;
}

/// Not a check but a figure: how long 200 areas and 2,000 entities take, and what they weigh.
#[tokio::test(flavor = "multi_thread")]
async fn a_big_house_is_ready() {
    let server = world().await;
    for area in 0..200 {
        server.area(&format!("area_{area}"), &format!("Area {area}"));
    }
    for number in 0..2000 {
        let (domain, state) = if number % 2 == 0 { ("light", "off") } else { ("sensor", "21.5") };
        let attributes = json!({
            "friendly_name": format!("Thing {number}"), "supported_color_modes": ["color_temp", "hs"],
            "supported_features": 44, "min_color_temp_kelvin": 2000, "max_color_temp_kelvin": 6500,
        });
        let area = json!({"area_id": format!("area_{}", number % 200)});
        server.add(&format!("{domain}.thing_{number}"), state, attributes, area);
    }
    let token = Token::new(TOKEN);
    let empty = House::start().await;
    let without = empty.memory_kb();
    empty.stop().await;
    let begun = std::time::Instant::now();
    let house = House::with(&token.settings(&server)).await;
    shows(&house, "it is used", |state| state["up"] == true).await;
    has(&house, "light.thing_1998", &json!("off")).await;
    println!(
        "2,000 entities in 200 areas: {:.2} s from exec, {} kB more than without",
        begun.elapsed().as_secs_f64(),
        house.memory_kb().saturating_sub(without)
    );
    let result = house.say("turn on thing 1998").await;
    assert_eq!(outcome(&result, "light.thing_1998"), "confirmed", "{result}");
    house.stop().await;
}
