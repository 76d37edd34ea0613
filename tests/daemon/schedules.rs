//! Schedules by sentence against the running daemon: what is asked, about what, and what leave is good for.

use crate::common::mosquitto::{Mosquitto, Options};
use crate::process::{Daemon, FRONT_DOOR, Lock, on_broker};

/// Whoever says it, a schedule that locks the house at night is not dropped before a person has agreed.
#[tokio::test(flavor = "multi_thread")]
async fn what_locks_the_house_is_cancelled_only_when_a_person_agrees() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let settings = on_broker(dir.path(), FRONT_DOOR, mosquitto.address);
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

/// The hour that has passed is tomorrow's and is said so; an hour that the clocks skip is told; of several schedules
/// "the schedule" is none.
#[tokio::test(flavor = "multi_thread")]
async fn the_day_and_the_hour_that_is_skipped_are_said_and_an_ambiguous_cancel_asks() {
    use chrono::{Datelike, NaiveDate, Timelike, Utc, Weekday};
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    // It is three in the afternoon there, whenever this runs. The sign of these zones is the other way round.
    let ahead = 15 - i64::from(Utc::now().hour());
    let ahead = if ahead > 14 { ahead - 24 } else { ahead };
    let zone = format!("Etc/GMT{:+}", -ahead).replace("+0", "");
    let settings = |zone: &str| {
        on_broker(dir.path(), FRONT_DOOR, mosquitto.address)
            .replace("[mqtt]", &format!("zone = \"{zone}\"\n[mqtt]"))
    };
    let daemon = Daemon::start(dir.path(), &settings(&zone)).await;
    let says = async |sentence: &str, part: &str| {
        let told = daemon.say(sentence).await;
        assert!(told["reply"].as_str().unwrap().contains(part), "{sentence}: {told}");
    };
    says("lock the front door at 14:00", "tomorrow at 14:00").await;
    says("晚上十点锁上前门", "22:00").await;
    says("cancel the schedule", "Which one").await;
    assert_eq!(daemon.get("/api/schedules").await.as_array().map(Vec::len), Some(2));
    daemon.kill().await;

    let year = Utc::now().year();
    let last_sunday = |year| NaiveDate::from_weekday_of_month_opt(year, 3, Weekday::Sun, 5);
    let sunday =
        |year| last_sunday(year).or_else(|| NaiveDate::from_weekday_of_month_opt(year, 3, Weekday::Sun, 4));
    let skipped = [year, year + 1].into_iter().filter_map(sunday).find(|day| *day > Utc::now().date_naive());
    let daemon = Daemon::start(dir.path(), &settings("Europe/Berlin")).await;
    let sentence = format!("lock the front door on {} March at 2:30", skipped.unwrap().day());
    let told = daemon.say(&sentence).await;
    assert!(
        told["reply"].as_str().unwrap().contains("The clocks skip 02:30 that day."),
        "{sentence}: {told}"
    );
    daemon.kill().await;
}
