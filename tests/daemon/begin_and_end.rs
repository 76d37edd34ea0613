//! How it begins and ends: a busy port is said; SIGTERM ends it, whoever holds its input open, and sends nothing that waits.

use std::process::Stdio;

use tokio::process::Command;

use crate::common::soon;
use crate::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_the_program_and_sends_nothing_that_waits() {
    let mut house = House::start().await;
    house.give("unlock the front door").await;
    house.approval().await;
    let status = house.terminate().await;
    assert!(status.success(), "{status}");
    assert!(house.commands(0).is_empty(), "{:?}", house.commands(0));
}

/// A demo that was killed leaves its state behind; the next one, perhaps with the same process id, has one of its own.
#[tokio::test(flavor = "multi_thread")]
async fn every_demo_has_a_state_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    let states = || std::fs::read_dir(folder.path()).expect("the folder").count();
    for count in 1..=2 {
        let house = House::start_with(&[("TMPDIR", path)]).await;
        let result = house.say("is the kitchen light on?").await;
        assert_ne!(result["repeated"], true, "{result}");
        house.stop().await;
        assert_eq!(states(), count, "each has made a directory, and was killed before it could remove it");
    }
}

/// The next free port is taken, and said.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_port_is_given_up_and_said() {
    let busy = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = busy.local_addr().expect("an address");
    let mut command = Command::new(env!("CARGO_BIN_EXE_homeloop"));
    command
        .args(["demo", "--once", "is the kitchen light on?"])
        .env("HOMELOOP__MQTT__EMBEDDED__BIND", "127.0.0.1:0")
        .env("HOMELOOP__HTTP__BIND", address.to_string())
        .stdin(Stdio::null());
    let output = soon("the demo ends", command.output()).await.expect("it runs");
    let told = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success(), "{told}");
    assert!(told.contains(&format!("port {} is busy: ", address.port())), "{told}");
}
