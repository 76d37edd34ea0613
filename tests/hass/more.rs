//! TLS, half messages, codes, devices that are known by their address, and what `doctor` says.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::soon;
use crate::entities::{LAMP, LOCK, Token, furnish, has, shows, start, world};
use crate::house::{House, outcome};
use crate::server::{Server, TOKEN};

/// Settings for `server` behind TLS.
fn secure(server: &Server, token: &Token, authority: &Path) -> String {
    format!(
        "[hass]\nurl = \"https://localhost:{}\"\ntoken_file = {:?}\nca_file = {authority:?}\n",
        server.address.port(),
        token.0.path(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_reached_over_tls_where_its_authority_is_believed() {
    let (server, authority) = Server::start_tls().await;
    furnish(&server);
    let (token, believed, other) =
        (Token::new(TOKEN), tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    std::fs::write(believed.path(), authority).expect("it is written");
    let stranger = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    std::fs::write(other.path(), stranger.cert.pem()).expect("it is written");
    let house = House::with(&secure(&server, &token, other.path())).await;
    let told = shows(&house, "the refusal", |state| state["problem"].is_string()).await;
    assert!(told["problem"].as_str().is_some_and(|why| why.contains("encryption")), "{told}");
    assert_eq!(server.world().tried, 0, "the token is shown to nobody else");
    house.stop().await;
    let house = House::with(&secure(&server, &token, believed.path())).await;
    has(&house, LAMP, &json!("off")).await;
    shows(&house, "it is used", |state| state["up"] == true).await;
    assert_eq!(outcome(&house.say("turn on the porch lamp").await, LAMP), "confirmed");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_message_ends_the_connection_and_nothing_more() {
    let server = world().await;
    let (house, _token) = start(&server).await;
    let before = server.world().tried;
    server.send_half();
    soon("it connects again", async {
        while server.world().tried == before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    soon("it is used again", async {
        while outcome(&house.say("turn on the porch lamp").await, LAMP) == "not_sent" {}
    })
    .await;
    assert_eq!(server.calls(LAMP).len(), 1, "once: {:?}", server.calls(LAMP));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_is_known_by_its_address_is_one() {
    let server = world().await;
    server.world().devices = vec![
        json!({"id": "plug", "identifiers": [["shelly", "x"]], "connections": [["mac", "a8:03:2a:b1:23:45"]]}),
        json!({"id": "strip", "identifiers": [["maker", "y"]], "connections": [["mac", "a8:03:2a:b1:23:46"]]}),
    ];
    let of = |device: &str| json!({"device_id": device});
    server.add("switch.shed_plug", "off", json!({"friendly_name": "Shed plug"}), of("plug"));
    server.add("sensor.shed_power", "7", json!({"friendly_name": "Shed power"}), of("plug"));
    // This one has two here and one announcement: nobody can say which is which.
    server.add("switch.strip_1", "off", json!({"friendly_name": "Strip one"}), of("strip"));
    server.add("switch.strip_2", "off", json!({"friendly_name": "Strip two"}), of("strip"));
    let (house, _token) = start(&server).await;
    has(&house, "switch.shed_plug", &json!("off")).await;
    for (name, mac) in [("shedplug", "A8032AB12345"), ("strip", "A8032AB12346")] {
        let announcement = json!({
            "name": format!("Own {name}"), "unique_id": name, "command_topic": format!("{name}/set"),
            "state_topic": format!("{name}/state"),
            "device": {"identifiers": [name], "connections": [["mac", mac]], "name": name},
        });
        house.publish(&format!("homeassistant/switch/{name}/config"), &announcement.to_string()).await;
    }
    soon("one is left of the plug", async {
        loop {
            let all = house.get("/api/entities").await;
            let names: Vec<&str> =
                all.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
            let there = |name: &str| names.iter().any(|one| one.contains(name));
            if there("Own shedplug") && there("Own strip") && !there("Shed plug") {
                assert!(there("Shed power") && there("Strip one") && there("Strip two"), "{names:?}");
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    house.stop().await;
}

async fn doctor(settings: &str) -> Vec<Value> {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("homeloop.toml");
    std::fs::write(&file, format!("state_dir = {:?}\n{settings}", dir.path())).expect("the settings");
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_homeloop"))
        .args(["doctor", "--json", "--config"])
        .arg(&file)
        .env("HOMELOOP__MQTT__EMBEDDED__BIND", "127.0.0.1:0")
        .stdin(Stdio::null())
        .output();
    let output = soon("the doctor ends", output).await.expect("it runs");
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let all = said["findings"].as_array().expect("findings").clone();
    all.into_iter().filter(|finding| finding["check"] == "hass").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_says_how_it_stands_and_what_mends_it() {
    homeloop::tls_provider();
    let server = world().await;
    let (right, wrong, empty) = (Token::new(TOKEN), Token::new("wrong"), Token::new(""));
    let found = doctor(&right.settings(&server)).await;
    assert_eq!(found[0]["level"], "good", "{found:?}");
    assert!(found[0]["says"].as_str().is_some_and(|says| says.contains("2026.11.0")), "{found:?}");
    server.world().unknown.insert("config/floor_registry/list".into());
    let found = doctor(&right.settings(&server)).await;
    assert!(found[1]["says"].as_str().is_some_and(|says| says.contains("floors are not known")), "{found:?}");
    server.world().exposed.clear();
    let nothing = right.settings(&server);
    let nowhere = nothing.replace(&server.address.port().to_string(), "9");
    for (settings, says, fix) in [
        (wrong.settings(&server), "refused the token", "Long-lived access tokens"),
        (empty.settings(&server), "it is empty", "hass.token_file"),
        (nowhere, "cannot be reached", "hass.url"),
    ] {
        let found = doctor(&settings).await;
        let text = |key: &str| found[0][key].as_str().unwrap_or_default().to_owned();
        assert_eq!(found[0]["level"], "fault", "{found:?}");
        assert!(text("says").contains(says) && text("fix").contains(fix), "{found:?}");
    }
    server.world().version = "2023.12.4".into();
    let found = doctor(&nothing).await;
    assert!(found[0]["says"].as_str().is_some_and(|says| says.contains("2023.12.4 is too old")), "{found:?}");
    assert!(doctor("").await.is_empty(), "where it is not used there is nothing to say");
}

const HOME: &str = r#"
[[override]]
entity = "lock.cellar"
code = "cellar_code"

[[override]]
entity = "scene.party"
tier = "G1"
reason = "it plays music and no more"
"#;

/// The code of a lock reaches its service, and nothing else that anybody sees; what a file knows of a scene counts.
#[tokio::test(flavor = "multi_thread")]
async fn the_home_file_gives_its_entities_codes_and_tiers() {
    let server = world().await;
    let token = Token::new(TOKEN);
    let dir = tempfile::tempdir().expect("a directory");
    let (home, secrets) = (dir.path().join("home.toml"), dir.path().join("secrets"));
    crate::process::private(home.clone(), HOME);
    crate::process::private(secrets.join("cellar_code"), "8264153907");
    let settings = format!(
        "[home]\nfile = {home:?}\n[secrets]\ndir = {secrets:?}\n[mqtt.embedded]\nbind = \"127.0.0.1:0\"\n{}",
        token.settings(&server)
    );
    let daemon = crate::process::Daemon::start(dir.path(), &settings).await;
    daemon.has(LOCK, "locked").await;
    let task = daemon.give("unlock the cellar door").await;
    let approval = daemon.approval().await;
    assert!(!approval.to_string().contains("8264153907"), "{approval}");
    daemon.decide(&approval, "approve").await;
    let result = daemon.result(&task).await;
    assert_eq!(result["outcomes"][0]["outcome"], "confirmed", "{result}");
    assert_eq!(server.called(LOCK).await["service_data"]["code"], "8264153907");
    assert!(!daemon.log().contains("8264153907") && !result.to_string().contains("8264153907"));
    let party = daemon.say("activate the party scene").await;
    assert_eq!(server.calls("scene.party").len(), 1, "nobody is asked: {party}");
    daemon.kill().await;
}
