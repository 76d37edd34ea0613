//! Schedules by sentence against the running daemon: what is asked, about what, and what leave is good for.

use crate::common::mosquitto::{Mosquitto, Options};
use crate::process::{Daemon, Lock, private};

const HOME: &str = r#"
[[entity]]
id = "lock.front_door"
name = "Front door"
profile = "plain.lock"
with = { topic = "home/front" }
"#;

/// Whoever says it, a schedule that locks the house at night is not dropped before a person has agreed.
#[tokio::test(flavor = "multi_thread")]
async fn what_locks_the_house_is_cancelled_only_when_a_person_agrees() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let home = private(dir.path().join("home.toml"), HOME);
    let settings = format!(
        "[home]\nfile = {home:?}\n[mqtt]\nbroker = \"external\"\nport = {}\n",
        mosquitto.address.port()
    );
    let daemon = Daemon::start(dir.path(), &settings).await;
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("unlocked").await;
    daemon.has("lock.front_door", "unlocked").await;
    let count = async || daemon.get("/api/schedules").await.as_array().map_or(0, Vec::len);

    daemon.say("lock the front door every day at 22:00").await;
    assert_eq!(count().await, 1, "locking needs nobody");
    for (word, left, says) in [
        ("deny", 1, "I left it as it is: cancelling it was not approved."),
        ("approve", 0, "I cancelled this"),
    ] {
        let task = daemon.give("cancel the front door schedule").await;
        let approval = daemon.approval().await;
        let text = approval["text"].as_str().unwrap();
        assert!(text.contains("CANCEL SCHEDULE: LOCK - Front door"), "{text}");
        assert!(
            text.contains("every day at 22:00") && text.contains("cancel the front door schedule"),
            "{text}"
        );
        assert_eq!(count().await, 1, "nothing is cancelled while it waits");
        daemon.decide(&approval, word).await;
        let result = daemon.result(&task).await;
        assert!(result["reply"].as_str().unwrap().contains(says), "{result}");
        assert_eq!(count().await, left);
    }

    // Leave to keep a schedule opens nothing now.
    let task = daemon.give("unlock the front door every day at 3 am").await;
    let approval = daemon.approval().await;
    assert!(approval["text"].as_str().unwrap().contains("SCHEDULE: UNLOCK - Front door"), "{approval}");
    assert!(approval["warnings"][0].as_str().unwrap().contains("nothing is done now"), "{approval}");
    daemon.decide(&approval, "approve").await;
    daemon.result(&task).await;
    assert_eq!(count().await, 1);
    assert_eq!(lock.commands(), Vec::<String>::new());
    daemon.kill().await;
}
