//! An announcement that brings the process down twice is not read a third time, and nothing else suffers.

use serde_json::{Map, json};

use super::running::{Site, printed};
use crate::common::soon;

const BOMB: &str = "homeassistant/device/bomb/config";

/// Many templates that each use all the work that they are given: they are being read for a good while.
fn bomb() -> String {
    let template = "{% for i in range(900) %}{% if value == i %}{{ i }}{% endif %}{% endfor %}";
    let component = |number: usize| {
        // Each has a source of its own, or they would be compiled once for all.
        let template = format!("{template}{{# {number} #}}");
        json!({"p": "sensor", "uniq_id": format!("b{number}"), "stat_t": "bomb", "val_tpl": template})
    };
    let components: Map<String, _> =
        (0..400).map(|number| (format!("c{number}"), component(number))).collect();
    json!({"dev": {"ids": "bomb", "name": "Bomb"}, "o": {"name": "test"}, "cmps": components}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_crashed_twice_is_not_read_again() {
    let Some(site) = Site::start().await else { return };
    site.publish(BOMB, bomb()).await;
    site.publish("homeassistant/sensor/good/config", r#"{"name":"Good","stat_t":"good"}"#).await;
    let mark = site.state().join("quarantine.reading");
    let marked = || std::fs::read_to_string(&mark).is_ok_and(|text| text.starts_with(BOMB));
    let counts = site.state().join("quarantine");
    let counted = |crashes: u32| {
        crashes == 0
            || std::fs::read_to_string(&counts).is_ok_and(|text| text.contains(&format!("{crashes} {BOMB}")))
    };
    let mut crashes = 0;
    soon("it was read at two deaths", async {
        while crashes < 2 {
            let mut child = site.spawn();
            // The mark of the death before is counted first; only then the new process can set its own.
            while !counted(crashes) || !marked() {
                tokio::task::yield_now().await;
            }
            child.kill().await.unwrap();
            // Between two templates there is no mark: then this was no crash of the announcement.
            crashes += u32::from(marked());
        }
    })
    .await;
    let daemon = site.daemon().await;
    daemon.entity("sensor.good").await;
    let listed = printed(&site.ask(&daemon, &["discover"]).await);
    assert!(listed.contains(&format!("{BOMB}: it crashed the process twice and is quarantined")), "{listed}");
    assert!(listed.contains("1 entities announced themselves"), "{listed}");
    daemon.stop().await;
}
