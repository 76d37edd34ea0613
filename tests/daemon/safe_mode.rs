//! A journal that cannot be used: the daemon starts, reads, says so, moves nothing, and recovers.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::mosquitto::{Mosquitto, Options};
use crate::process::{Daemon, FRONT_DOOR, Lock, free_port, private};

fn settings(dir: &Path, mosquitto: &Mosquitto) -> String {
    let home = private(dir.join("home.toml"), FRONT_DOOR);
    format!(
        "[home]\nfile = {home:?}\n[mqtt]\nbroker = \"external\"\nport = {}\n[http]\nbind = \"127.0.0.1:{}\"\n",
        mosquitto.address.port(),
        free_port(),
    )
}

async fn reasons(daemon: &Daemon) -> Value {
    daemon.get("/readyz").await["reasons"].clone()
}

/// In safe mode reading works, and nothing is moved: neither what needs nobody nor what needs a person.
async fn only_reads(daemon: &Daemon, lock: &Lock) {
    daemon.has("lock.front_door", "unlocked").await;
    let read = daemon.say("is the front door locked?").await;
    assert!(read["reply"].as_str().unwrap().contains("unlocked"), "{read}");
    let wish = daemon.say("lock the front door").await;
    assert_eq!(wish["outcomes"][0]["outcome"], "not_sent", "{wish}");
    assert!(wish["reply"].as_str().unwrap().contains("journal"), "the reply says why: {wish}");
    lock.turn("locked").await;
    daemon.has("lock.front_door", "locked").await;
    let gated = daemon.say("unlock the front door").await;
    assert_eq!(gated["outcomes"][0]["outcome"], "not_sent", "{gated}");
    assert!(daemon.get("/api/approvals").await.as_array().unwrap().is_empty());
    let timer = daemon.say("set a timer for 5 minutes").await;
    assert!(timer["reply"].as_str().unwrap().contains("journal"), "{timer}");
    assert!(lock.commands().is_empty(), "{:?}", lock.commands());
}

async fn works_again(daemon: &Daemon, lock: &Lock) {
    daemon.until("ready again", "/readyz", |ready| (ready["ready"] == json!(true)).then_some(())).await;
    lock.turn("unlocked").await;
    daemon.has("lock.front_door", "unlocked").await;
    let wish = daemon.say("lock the front door").await;
    assert_eq!(wish["outcomes"][0]["outcome"], "confirmed", "{wish}");
    assert_eq!(lock.commands(), ["lock"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn f33_with_a_damaged_journal_it_only_reads_and_recovers_when_the_file_is_set_aside() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("unlocked").await;
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path(), &mosquitto);
    Daemon::start(dir.path(), &settings).await.kill().await;
    let state = dir.path().join("state");
    for file in ["journal.db-wal", "journal.db-shm"] {
        let _ = std::fs::remove_file(state.join(file));
    }
    std::fs::write(state.join("journal.db"), b"this is no database at all".repeat(400)).unwrap();
    let daemon = Daemon::start(dir.path(), &settings).await;
    assert_eq!(reasons(&daemon).await, json!(["safe_mode"]));
    only_reads(&daemon, &lock).await;
    let copies = std::fs::read_dir(&state).unwrap().filter_map(Result::ok);
    let copies = copies.filter(|entry| entry.file_name().to_string_lossy().starts_with("journal.corrupt-"));
    assert_eq!(copies.count(), 1, "a copy is kept");
    crate::process::homeloop(dir.path(), &["journal", "set-aside"]).await;
    works_again(&daemon, &lock).await;
    daemon.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f34_with_a_journal_of_a_newer_version_it_only_reads() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("unlocked").await;
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path(), &mosquitto);
    Daemon::start(dir.path(), &settings).await.kill().await;
    let file = dir.path().join("state/journal.db");
    let version = |version: i64| {
        let conn = rusqlite::Connection::open(&file).unwrap();
        let before: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
        before
    };
    let before = version(999);
    let daemon = Daemon::start(dir.path(), &settings).await;
    assert_eq!(reasons(&daemon).await, json!(["safe_mode"]));
    only_reads(&daemon, &lock).await;
    assert_eq!(version(before), 999, "the file was left alone");
    works_again(&daemon, &lock).await;
    daemon.kill().await;
}

/// Runs the daemon with a small disk of its own for its state; `None`, and a line that says so, where that is not possible.
async fn on_small_disk(dir: &Path, settings: &str, prepare: &str) -> Option<Daemon> {
    let state = dir.join("state");
    std::fs::create_dir_all(&state).unwrap();
    let script = format!("mount -t tmpfs -o size=1m none {state:?} && {{ {prepare} }} && exec \"$@\"");
    let probe = tokio::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", &script, "sh", "true"])
        .current_dir(&state)
        .status()
        .await;
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no disk can be mounted here");
        return None;
    }
    Some(Daemon::start_as(dir, settings, &["unshare", "--mount", "sh", "-c", &script, "sh"]).await)
}

/// The state directory as the daemon sees it.
fn inside(daemon: &Daemon, dir: &Path) -> std::path::PathBuf {
    let state = dir.join("state");
    Path::new("/proc").join(daemon.pid().to_string()).join("root").join(state.strip_prefix("/").unwrap())
}

/// The state directory, and a folder with the tokens that a run has left there.
async fn tokens_of_an_earlier_run(dir: &Path, settings: &str) -> (std::path::PathBuf, std::path::PathBuf) {
    Daemon::start(dir, settings).await.kill().await;
    let (state, kept) = (dir.join("state"), dir.join("kept"));
    std::fs::create_dir(&kept).unwrap();
    for file in ["tokens.json", "first-token"] {
        std::fs::copy(state.join(file), kept.join(file)).unwrap();
    }
    (state, kept)
}

/// The token stands on the disk of the daemon.
fn with_token(mut daemon: Daemon, dir: &Path) -> Daemon {
    let token = std::fs::read_to_string(inside(&daemon, dir).join("first-token")).expect("the token");
    daemon.token = token.trim().to_owned();
    daemon
}

#[tokio::test(flavor = "multi_thread")]
async fn f30_with_a_full_disk_at_the_start_it_only_reads_and_recovers_when_there_is_room() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("unlocked").await;
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path(), &mosquitto);
    // The tokens of an earlier run are there, and no room for a journal.
    let (state, kept) = tokens_of_an_earlier_run(dir.path(), &settings).await;
    let fill = format!(
        "cp -p {kept:?}/* {state:?}/; dd if=/dev/zero of={state:?}/filler bs=1k 2>/dev/null || true;"
    );
    let Some(daemon) = on_small_disk(dir.path(), &settings, &fill).await else { return };
    let daemon = with_token(daemon, dir.path());
    assert_eq!(reasons(&daemon).await, json!(["safe_mode"]), "{}", daemon.log());
    only_reads(&daemon, &lock).await;
    std::fs::remove_file(inside(&daemon, dir.path()).join("filler")).unwrap();
    works_again(&daemon, &lock).await;
    daemon.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f31_on_a_read_only_file_system_it_only_reads() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let lock = Lock::start(mosquitto.address, None, "home/front").await;
    lock.turn("unlocked").await;
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path(), &mosquitto);
    let (state, kept) = tokens_of_an_earlier_run(dir.path(), &settings).await;
    let freeze = format!("cp -p {kept:?}/* {state:?}/; mount -o remount,ro {state:?};");
    let Some(daemon) = on_small_disk(dir.path(), &settings, &freeze).await else { return };
    let daemon = with_token(daemon, dir.path());
    assert_eq!(reasons(&daemon).await, json!(["safe_mode"]), "{}", daemon.log());
    only_reads(&daemon, &lock).await;
    daemon.kill().await;
}
