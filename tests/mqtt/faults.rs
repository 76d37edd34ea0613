//! Faults of the network and of the other side.

use std::time::Duration;

use homeloop::clock::Clock;
use homeloop::mqtt::link::{
    Link, LinkHandle, LinkSettings, LinkState, Problem, Publish, QueueLimits, Version,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::broker::connect_packet;
use crate::brokers::{Broker, connect, link_settings, next};
use crate::common::proxy::Proxy;
use crate::common::soon;
use crate::on_each_broker;

on_each_broker!(
    f5_a_half_open_connection_is_noticed_and_replaced,
    a_slow_reader_keeps_the_last_value_of_each_topic,
    what_a_slow_reader_lost_is_fetched_again,
);

async fn f5_a_half_open_connection_is_noticed_and_replaced(broker: Broker) {
    let proxy = Proxy::start(broker.address()).await;
    let settings = |name, version| LinkSettings {
        keep_alive: Duration::from_secs(5),
        ..link_settings(proxy.address, name, version)
    };
    let (new, _arrivals) = connect(settings("agent-5", Version::V5), &["a"]).await;
    let (old, _arrivals) = connect(settings("agent-311", Version::V311), &["a"]).await;
    proxy.freeze();
    // Both at once: what a link tells is soon followed by what became of its next try.
    let silent = async |link: &LinkHandle| {
        let mut state = link.state();
        let told = state
            .wait_for(|state| matches!(state, LinkState::Connecting { problem: Some(Problem::Silent), .. }));
        soon("the silence is noticed", told).await.expect("the link lives");
    };
    tokio::join!(silent(&new), silent(&old));
    proxy.heal();
    for link in [new, old] {
        let connection = soon("the link comes back", link.up()).await.expect("it is not stopped");
        assert!(connection >= 2, "{connection}");
    }
}

async fn a_slow_reader_keeps_the_last_value_of_each_topic(broker: Broker) {
    let settings = LinkSettings {
        queue: QueueLimits { messages: 200, merge_from: 100, ..QueueLimits::default() },
        ..link_settings(broker.address(), "reader", Version::V5)
    };
    let (link, mut arrivals) = connect(settings, &["storm/#", "homeloop/home/command"]).await;
    let (publisher, _unused) = connect(link_settings(broker.address(), "publisher", Version::V5), &[]).await;
    publisher.publish(Publish::new("homeloop/home/command", "lights on")).await.expect("taken");
    for round in 0..150_u64 {
        for topic in 0..50 {
            let receipt = publisher.begin_publish(Publish::new(format!("storm/{topic}"), round.to_string()));
            if topic == 49 {
                receipt.expect("taken").acknowledged().await.expect("acknowledged");
            }
        }
        // Nobody reads the arrivals, and the link takes each round off the socket all the same. A broker may refuse
        // what is sent before its subscriber took the rest, so a round is sent when the last one has arrived.
        soon("the round has arrived", async {
            while link.counters().received < 1 + 50 * (round + 1) {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    assert_eq!(link.counters().dropped, 0);
    assert!(link.counters().merged > 6_500, "{:?}", link.counters());
    let mut last = std::collections::HashMap::new();
    let mut commands = 0;
    while let Some(message) = arrivals.try_recv() {
        commands += usize::from(message.topic == "homeloop/home/command");
        last.insert(message.topic, message.payload);
    }
    assert_eq!(commands, 1);
    for topic in 0..50 {
        assert_eq!(
            last.get(&format!("storm/{topic}")).map(|payload| &payload[..]),
            Some(&b"149"[..]),
            "{topic}"
        );
    }
    assert!(link.is_up() && link.connection() == 1);
}

async fn what_a_slow_reader_lost_is_fetched_again(broker: Broker) {
    let (publisher, _unused) = connect(link_settings(broker.address(), "publisher", Version::V5), &[]).await;
    for number in 0..300 {
        let message = Publish::new(format!("flood/{number}"), "state").retained();
        publisher.publish(message).await.expect("taken");
    }
    let settings = LinkSettings {
        queue: QueueLimits { messages: 100, ..QueueLimits::default() },
        ..link_settings(broker.address(), "reader", Version::V5)
    };
    let (link, mut arrivals) = connect(settings, &["flood/#"]).await;
    soon("more arrives than fits", async {
        while link.counters().dropped < 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    soon("the retained messages come once more", async {
        while link.counters().received <= 300 {
            while arrivals.try_recv().is_some() {}
            // Any sign of life makes the link look whether its reader has caught up.
            link.publish(Publish::new("tick", "")).await.expect("taken");
        }
    })
    .await;
}

/// A broker that claims a packet of 256 MiB: the claim is refused before a byte of it is kept.
#[tokio::test]
async fn s57_a_claim_of_256_mebibytes_is_refused_at_its_header() {
    for (version, welcome) in [(Version::V5, &[0x20, 3, 0, 0, 0][..]), (Version::V311, &[0x20, 2, 0, 0])] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let liar = tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut buffer = [0; 1024];
                let _ = socket.read(&mut buffer).await;
                let _ = socket.write_all(welcome).await;
                let _ = socket.write_all(&[0x30, 0xFF, 0xFF, 0xFF, 0x7F, 0, 1, b'a']).await;
                closed(&mut socket).await;
            }
        });
        let (link, _arrivals) = Link::start(link_settings(address, "agent", version), Clock::system(), [])
            .expect("good settings");
        let mut state = link.state();
        let told = state.wait_for(|state| {
            matches!(state, LinkState::Connecting { problem: Some(Problem::Oversized { size, .. }), .. }
                if *size > 200_000_000)
        });
        soon("the claim is told", told).await.expect("the link lives");
        link.stop().await;
        liar.abort();
    }
}

/// A broker that missed our acknowledgement sends its message again: the reader gets it once.
#[tokio::test]
async fn f6_what_a_broker_delivers_twice_is_taken_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    let publish = |again: bool, number: u8, payload: &[u8]| {
        let topic = b"homeloop/home/command";
        let length = u8::try_from(2 + topic.len() + 2 + payload.len()).expect("short");
        let flags = if again { 0x3A } else { 0x32 };
        let mut packet = vec![flags, length, 0, u8::try_from(topic.len()).expect("short")];
        packet.extend(topic);
        packet.extend([0, number]);
        packet.extend(payload);
        packet
    };
    let said = [
        publish(false, 1, b"brighter"),
        publish(true, 1, b"brighter"),
        publish(true, 1, b"brighter"),
        // The number is free again after our acknowledgement: a person has said it twice.
        publish(false, 1, b"brighter"),
        publish(false, 2, b"end"),
    ]
    .concat();
    let broker = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a client");
        let mut buffer = [0; 1024];
        let _ = socket.read(&mut buffer).await;
        let _ = socket.write_all(&[0x20, 2, 0, 0]).await;
        let _ = socket.read(&mut buffer).await;
        let _ = socket.write_all(&[0x90, 3, buffer[2], buffer[3], 1]).await;
        let _ = socket.write_all(&said).await;
        closed(&mut socket).await;
    });
    let settings = link_settings(address, "agent", Version::V311);
    let (link, mut arrivals) = connect(settings, &["homeloop/home/command"]).await;
    let mut taken = Vec::new();
    while taken.last().is_none_or(|last: &String| last != "end") {
        taken.push(String::from_utf8_lossy(&next(&mut arrivals).await.payload).into_owned());
    }
    assert_eq!(taken, ["brighter", "brighter", "end"]);
    assert_eq!(link.counters().repeated, 2);
    link.stop().await;
    broker.abort();
}

/// S57 and S58: what is no MQTT, is cut short, lies about its length or comes in masses ends its own connection only.
#[tokio::test]
async fn s58_malformed_packets_close_their_connection_and_harm_nobody() {
    let Some(broker) = Broker::embedded().await else { return };
    let (link, mut arrivals) =
        connect(link_settings(broker.address(), "agent", Version::V5), &["alive"]).await;
    let hello = connect_packet("mallory", None, None);
    let after_hello: [&[u8]; 11] = [
        &[0x10, 0],                            // a second CONNECT, empty
        &[0x30, 0xFF, 0xFF, 0xFF, 0x7F],       // PUBLISH of 256 MiB
        &[0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], // a length of five bytes
        &[0x36, 5, 0, 1, b'a', 0, 1],          // QoS 3
        &[0x30, 5, 0, 200, b'a', b'b', b'c'],  // topic longer than the packet
        &[0x30, 3, 0, 1, b'#'],                // publish to a wildcard
        &[0x30, 4, 0, 2, 0xC3, 0x28],          // topic that is not UTF-8
        &[0x30, 3, 0, 1, 0],                   // topic U+0000
        &[0x80, 6, 0, 1, 0, 1, b'a', 0],       // SUBSCRIBE with wrong flags
        &[0x82, 2, 0, 1],                      // SUBSCRIBE without filters
        &[0xF0, 0, 0xF0, 0],                   // AUTH in 3.1.1
    ];
    for (number, bytes) in after_hello.into_iter().enumerate() {
        let mut socket = TcpStream::connect(broker.address()).await.expect("it listens");
        socket.write_all(&hello).await.expect("written");
        let mut answer = [0; 4];
        soon("CONNACK", socket.read_exact(&mut answer)).await.expect("an answer");
        socket.write_all(bytes).await.expect("written");
        soon(&format!("packet {number} ends its connection"), closed(&mut socket)).await;
    }
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0x10, 0xFF, 0xFF, 0xFF, 0x7F], &[0; 64], &[0xFF; 64]] {
        let mut socket = TcpStream::connect(broker.address()).await.expect("it listens");
        socket.write_all(bytes).await.expect("written");
        soon("it is closed before CONNECT", closed(&mut socket)).await;
    }
    // Half a CONNECT, many times: held, bounded, and nobody else waits for them.
    let mut halves = Vec::new();
    for _ in 0..300 {
        let mut socket = TcpStream::connect(broker.address()).await.expect("it listens");
        socket.write_all(hello.get(..5).expect("long enough")).await.expect("written");
        halves.push(socket);
    }
    let (publisher, _unused) = connect(link_settings(broker.address(), "publisher", Version::V5), &[]).await;
    publisher.publish(Publish::new("alive", "yes")).await.expect("the broker lives");
    assert_eq!(next(&mut arrivals).await.payload, "yes");
    assert_eq!(link.connection(), 1);
}

/// Reads until the other side closes.
async fn closed(socket: &mut TcpStream) {
    let mut buffer = [0; 256];
    while matches!(socket.read(&mut buffer).await, Ok(1..)) {}
}
