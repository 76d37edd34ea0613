//! Timers and lists through every channel: MQTT, HTTP and the command line; and what a crash leaves of them.

use serde_json::{Value, json};

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::site::{Daemon, Site, client};

/// The ways in which a person reaches the same daemon.
struct Person<'a> {
    site: &'a Site,
    daemon: &'a Daemon,
    recorder: &'a Recorder,
}

impl Person<'_> {
    async fn over_http(&self, text: &str) -> String {
        reply(&self.daemon.say(text).await)
    }

    async fn over_mqtt(&self, text: &str) -> String {
        let id = format!("mqtt-{}", self.recorder.all().len());
        let topic = format!("{}/command", self.site.base);
        let body = json!({"text": text, "id": id}).to_string();
        let publish = homeloop::mqtt::link::Publish::new(topic, body);
        self.recorder.link.publish(publish).await.expect("published");
        let result = format!("{}/result", self.site.base);
        let of_id = |message: &homeloop::mqtt::link::Inbound| {
            message.topic == result
                && serde_json::from_slice::<Value>(&message.payload).is_ok_and(|result| result["id"] == *id)
        };
        let message = self.recorder.wait(&format!("the result of {text}"), of_id).await;
        reply(&serde_json::from_slice(&message.payload).expect("JSON"))
    }

    async fn by_command_line(&self, text: &str) -> String {
        let output = self.site.cli(&["--url", &self.daemon.http, "--json", "ask", text]).await;
        let said = String::from_utf8(output.stdout).expect("text");
        let last = said.lines().last().unwrap_or_else(|| panic!("{text}: nothing was said"));
        reply(&serde_json::from_str(last).expect("JSON"))
    }
}

fn reply(result: &Value) -> String {
    result["reply"].as_str().unwrap_or_else(|| panic!("no reply in {result}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn timers_and_lists_are_one_house_through_every_channel() {
    let Some(broker) = Mosquitto::start(Options::default()).await else { return };
    let recorder = Recorder::start(broker.address, None).await;
    let site = Site::new("keeps", "", broker.address, "");
    let daemon = site.start().await;
    let person = Person { site: &site, daemon: &daemon, recorder: &recorder };

    // Several timers at once.
    assert!(person.over_mqtt("set a pasta timer for 20 minutes").await.contains("pasta"));
    assert!(person.over_http("set a timer for 1 hour named laundry").await.contains("laundry"));
    let left = person.by_command_line("how much time is left on the pasta timer").await;
    assert!(left.contains("19 minutes") || left.contains("20 minutes"), "{left}");
    let longer = person.over_mqtt("add 15 minutes to the pasta timer").await;
    assert!(longer.contains("34 minutes") || longer.contains("35 minutes"), "{longer}");

    let paused = person.by_command_line("pause the pasta timer").await;
    assert!(paused.contains("paused") && paused.contains("minutes"), "{paused}");
    let runs = person.over_http("resume the laundry timer").await;
    assert!(runs.contains("left") && !runs.contains("paused"), "it is not paused: {runs}");

    // Lists: added, completed, removed, read.
    person.over_mqtt("add milk to the shopping list").await;
    person.over_http("add bread to the shopping list").await;
    person.by_command_line("add apples to the shopping list").await;
    person.over_mqtt("check off milk on the shopping list").await;
    person.over_http("remove bread from the shopping list").await;
    let read = person.by_command_line("what is on the shopping list").await;
    assert!(read.contains("apples") && !read.contains("milk") && !read.contains("bread"), "{read}");

    daemon.kill().await;
    let daemon = site.start().await;
    let person = Person { site: &site, daemon: &daemon, recorder: &recorder };
    let read = person.over_mqtt("what is on the shopping list").await;
    assert!(read.contains("apples") && !read.contains("milk") && !read.contains("bread"), "{read}");
    let left = person.over_http("how much time is left on the laundry timer").await;
    assert!(left.contains("59 minutes") || left.contains("1 hour"), "{left}");
    let left = person.over_mqtt("how much time is left on the pasta timer").await;
    assert!(left.contains("paused"), "a crash does not wake it: {left}");
    let on = person.over_http("resume the pasta timer").await;
    assert!(on.contains("go on"), "{on}");
    let cancelled = person.by_command_line("cancel the pasta timer").await;
    assert!(cancelled.contains("cancelled"), "{cancelled}");
    let gone = person.over_mqtt("how much time is left on the pasta timer").await;
    assert!(gone.contains("no such timer"), "{gone}");
}

/// A timer rings on the announcement topic of its home, once, also when the daemon was killed while it ran.
#[tokio::test(flavor = "multi_thread")]
async fn a_timer_rings_once_also_after_a_crash() {
    let Some(broker) = Mosquitto::start(Options::default()).await else { return };
    let recorder = Recorder::start(broker.address, None).await;
    let site = Site::new("rings", "", broker.address, "");
    let daemon = site.start().await;
    let person = Person { site: &site, daemon: &daemon, recorder: &recorder };
    person.over_mqtt("set an egg timer for 2 seconds").await;
    daemon.kill().await;
    let daemon = site.start().await;
    let rung = |message: &homeloop::mqtt::link::Inbound| {
        message.topic == "homeloop/rings/announcement"
            && String::from_utf8_lossy(&message.payload).contains("timer is done")
    };
    recorder.wait("the ring", rung).await;
    daemon.signal(rustix::process::Signal::TERM);
    assert_eq!(daemon.ended().await, Some(0));
    let marker = client(broker.address, None, "marker").await;
    let seen = recorder.until_marked(&marker, "the end").await;
    assert_eq!(seen.iter().filter(|message| rung(message)).count(), 1);
}
