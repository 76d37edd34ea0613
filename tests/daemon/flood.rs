//! The embedded broker under a flood of clients: the daemon keeps within 256 MB and goes on working.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::soon;
use crate::process::{Daemon, FRONT_DOOR, Lock, login, private};

const ACCOUNTS: &str = r#"
[[account]]
name = "front"
password = "front-password"
role = "device"
trees = ["home/front"]
"#;

/// CONNECT of MQTT 3.1.1 with a name and a password.
fn connect(client: &str, password: &str) -> Vec<u8> {
    let mut body = b"\x00\x04MQTT\x04\xC2\x00\x3C".to_vec();
    for text in [client, "front", password] {
        body.extend(u16::try_from(text.len()).expect("short").to_be_bytes());
        body.extend(text.as_bytes());
    }
    let mut packet = vec![0x10, u8::try_from(body.len()).expect("short")];
    packet.extend(body);
    packet
}

/// A socket that has sent `bytes`. The broker may have closed it already, which is as good.
async fn sent(broker: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut socket = soon("it listens", TcpStream::connect(broker)).await.expect("a socket");
    let _ = socket.write_all(bytes).await;
    socket
}

/// Thousands of CONNECTs, right and wrong, halves of them, and claims of 256 MiB before and after the greeting.
#[tokio::test(flavor = "multi_thread")]
async fn s57_a_flood_of_connects_halves_and_huge_claims_stays_within_256_megabytes() {
    let dir = tempfile::tempdir().unwrap();
    let home = private(dir.path().join("home.toml"), FRONT_DOOR);
    let accounts = private(dir.path().join("accounts.toml"), ACCOUNTS);
    let settings = format!(
        "[home]\nfile = {home:?}\n[mqtt.embedded]\nbind = \"127.0.0.1:0\"\naccounts_file = {accounts:?}\n"
    );
    let little = ["sh", "-c", "ulimit -d 262144; exec \"$@\"", "sh"];
    let daemon = Daemon::start_as(dir.path(), &settings, &little).await;
    let broker = daemon.broker.expect("the embedded broker");
    let lock = Lock::start(broker, Some(login("front", "front-password")), "home/front").await;
    lock.turn("locked").await;
    daemon.has("lock.front_door", "locked").await;
    // One after the other, each gone at once: the broker must forget them.
    for number in 0..1000 {
        let good = if number % 2 == 0 { "front-password" } else { "wrong" };
        drop(sent(broker, &connect(&format!("flood-{number}"), good)).await);
    }
    // Held open, more than the broker takes.
    let greeting = connect("half", "front-password");
    let claim: &[u8] = &[0x30, 0xFF, 0xFF, 0xFF, 0x7F, 0, 1, b'a'];
    let mut held = Vec::new();
    for number in 0..1200 {
        let name = format!("held-{number}");
        let bytes = match number % 3 {
            0 => greeting[..7].to_vec(),
            1 => [0x10, 0xFF, 0xFF, 0xFF, 0x7F, 0, 4].to_vec(),
            _ => [&connect(&name, "front-password"), claim].concat(),
        };
        held.push(sent(broker, &bytes).await);
    }
    // The claims end their own connections.
    for socket in held.iter_mut().skip(1).step_by(3).take(20) {
        let mut rest = Vec::new();
        let _ = soon("a claim is refused", socket.read_to_end(&mut rest)).await;
    }
    drop(held);
    lock.turn("unlocked").await;
    daemon.has("lock.front_door", "unlocked").await;
    assert_eq!(daemon.say("lock the front door").await["outcomes"][0]["outcome"], "confirmed");
    assert_eq!(lock.commands(), ["lock"]);
    daemon.kill().await;
}
