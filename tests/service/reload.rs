//! SIGHUP: a good home file is taken, a broken one is told and the old one stays.

use rustix::process::Signal;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::site::{Devices, Site, outcome};

fn light(id: &str, name: &str, area: &str) -> String {
    format!(
        "[[entity]]\nid = \"light.{id}\"\nname = \"{name}\"\narea = \"{area}\"\nprofile = \"plain.light\"\n\
         with = {{ topic = \"reload/{id}\" }}\n"
    )
}

fn area(id: &str, name: &str) -> String {
    format!("[[area]]\nid = \"{id}\"\nname = \"{name}\"\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_file_is_read_again_and_a_broken_one_changes_nothing() {
    let Some(broker) = Mosquitto::start(Options::default()).await else { return };
    let old = area("hall", "Hall") + &light("hall", "Hall light", "hall");
    let new = area("attic", "Attic") + &area("hall", "Hall") + &light("attic", "Attic light", "attic");
    let all = area("attic", "Attic")
        + &area("hall", "Hall")
        + &light("hall", "Hall light", "hall")
        + &light("attic", "Attic light", "attic");
    let _devices = Devices::start(&all, broker.address, None, "reload-devices").await;
    let site = Site::new("reload", &old, broker.address, "");
    let daemon = site.start().await;
    daemon.until("light.hall", "off").await;
    assert_eq!(outcome(&daemon.say("turn on the hall light").await, "light.hall"), "confirmed");

    site.write_home(&old.replace("area = \"hall\"", "area = \"hal\""));
    daemon.signal(Signal::HUP);
    let told = daemon.log.line("the home file is broken; the old one stays in force").await;
    assert!(told.contains("home.toml") && told.contains("did you mean"), "{told}");
    assert!(told.contains("\"ERROR\""), "{told}");
    assert_eq!(outcome(&daemon.say("turn off the hall light").await, "light.hall"), "confirmed");

    site.write_home(&new);
    daemon.signal(Signal::HUP);
    daemon.log.line("the home file was read again").await;
    daemon.until("light.attic", "off").await;
    let attic = daemon.say("turn on the light in the attic").await;
    assert_eq!(outcome(&attic, "light.attic"), "confirmed", "{attic}");
    let gone = daemon.say("turn on the hall light").await;
    assert_eq!(gone["outcomes"], serde_json::json!([]), "the hall light is gone: {gone}");
    let entities = daemon.get("/api/entities").await;
    assert_eq!(entities.as_array().expect("a list").len(), 1, "{entities}");
}
