//! A house of five thousand devices that announces itself in one burst of retained messages: how long the real binary
//! takes until it knows all entities, how much memory that costs, and how long one more announcement takes.
//!
//! Run with `cargo bench --bench flood`. It needs mosquitto. `FLOOD_DEVICES` sets another number of devices.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

/// Entities of one device: a lamp with its power, temperature, link and a contact.
const ENTITIES: usize = 5;

/// Ends with this value, whatever happens.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() {
    let devices = std::env::var("FLOOD_DEVICES").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let broker = free_address();
    let _mosquitto = Process(start_mosquitto(folder.path(), broker));
    let mut publisher = Publisher::connect(broker);
    for number in 0..devices {
        announce(&mut publisher, number);
    }
    publisher.finish();
    println!("{devices} devices, {} entities are retained", devices * ENTITIES);

    let http = free_address();
    let begun = Instant::now();
    let daemon = Process(start_daemon(folder.path(), broker, http));
    let process = daemon.0.id();
    let wanted = devices * ENTITIES;
    let token = wait(|| std::fs::read_to_string(folder.path().join("state/first-token")).ok());
    let known = wait(|| figure(http, &token, "homeloop_entities").filter(|known| *known >= wanted));
    println!("ready: {known} entities after {:.2} s", begun.elapsed().as_secs_f64());
    let messages = wait(|| figure(http, &token, "homeloop_device_messages").filter(|seen| *seen >= devices));
    println!("states: {messages} messages read after {:.2} s", begun.elapsed().as_secs_f64());
    println!("memory: {} at most, {} now", memory(process, "VmHWM"), memory(process, "VmRSS"));

    for round in 0..3 {
        let begun = Instant::now();
        announce(&mut publisher, devices + round);
        publisher.flush();
        let path = format!("/api/entities/light.lamp_{}", devices + round);
        wait(|| get(http, &token, &path).filter(|answer| answer.contains("turn_on")));
        println!("one more device: its light is there after {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let body = json!({"text": format!("turn on lamp {}", devices + round), "wait_s": 20}).to_string();
        let sent = token.clone();
        let asking = std::thread::spawn(move || post(http, &sent, "/api/commands", &body));
        while !asking.is_finished() {
            // The lamp says that it is on, again and again: only what comes after the command confirms it.
            publisher.publish(&format!("zigbee2mqtt/lamp {}", devices + round), br#"{"state":"ON"}"#);
            publisher.flush();
            std::thread::sleep(Duration::from_millis(5));
        }
        let answer = asking.join().expect("an answer");
        let confirmed = answer.contains("confirmed") && !answer.contains("unconfirmed");
        let outcome = if confirmed || answer.contains("already") { "is done" } else { "is not done" };
        println!("a command to it {outcome} after {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    }
    println!("memory: {} at most", memory(process, "VmHWM"));
}

/// Publishes what one device announces and reports, all retained.
fn announce(publisher: &mut Publisher, number: usize) {
    let topic = format!("zigbee2mqtt/lamp {number}");
    let device = json!({
        "identifiers": [format!("zigbee2mqtt_0x{number:016x}")], "manufacturer": "Maker", "model": "Smart lamp",
        "model_id": "SL-1", "name": format!("Lamp {number}"), "sw_version": "1.0.2", "via_device": "zigbee2mqtt_bridge",
    });
    let availability = json!([
        {"topic": "zigbee2mqtt/bridge/state", "value_template": "{{ value_json.state }}"},
        {"topic": format!("{topic}/availability"), "value_template": "{{ value_json.state }}"},
    ]);
    let origin = json!({"name": "Zigbee2MQTT", "sw": "2.12.1", "url": "https://www.zigbee2mqtt.io"});
    let mut publish = |component: &str, object: &str, own: serde_json::Value| {
        let mut config = json!({
            "device": device, "availability": availability, "availability_mode": "all", "origin": origin,
            "state_topic": topic, "unique_id": format!("0x{number:016x}_{object}"),
            "object_id": if object == "light" { format!("lamp_{number}") } else { format!("lamp_{number}_{object}") },
        });
        let map = config.as_object_mut().expect("an object");
        map.extend(own.as_object().expect("an object").clone());
        let to = format!("homeassistant/{component}/0x{number:016x}/{object}/config");
        publisher.publish(&to, config.to_string().as_bytes());
    };
    publish(
        "light",
        "light",
        json!({"name": null, "schema": "json", "command_topic": format!("{topic}/set"), "brightness": true,
            "brightness_scale": 254, "supported_color_modes": ["color_temp"], "min_mireds": 250, "max_mireds": 454,
            "effect": true, "effect_list": ["blink", "breathe", "okay", "channel_change", "finish_effect"]}),
    );
    publish(
        "sensor",
        "power",
        json!({"device_class": "power", "state_class": "measurement", "unit_of_measurement": "W",
            "value_template": "{{ value_json.power }}"}),
    );
    publish(
        "sensor",
        "temperature",
        json!({"device_class": "temperature", "state_class": "measurement", "unit_of_measurement": "°C",
            "value_template": "{{ value_json.temperature | round(1) }}"}),
    );
    publish(
        "sensor",
        "linkquality",
        json!({"name": "Linkquality", "entity_category": "diagnostic", "unit_of_measurement": "lqi",
            "value_template": "{{ value_json.linkquality }}"}),
    );
    publish(
        "binary_sensor",
        "contact",
        json!({"device_class": "door", "payload_on": false, "payload_off": true,
            "value_template": "{{ value_json.contact }}"}),
    );
    publisher.publish(&format!("{topic}/availability"), br#"{"state":"online"}"#);
    publisher.publish("zigbee2mqtt/bridge/state", br#"{"state":"online"}"#);
    let state = json!({"state": "OFF", "brightness": number % 255, "color_mode": "color_temp", "color_temp": 370,
        "power": 0, "temperature": 21.37, "linkquality": 80, "contact": true});
    publisher.publish(&topic, state.to_string().as_bytes());
}

/// A client that only publishes, with QoS 1 and retained, written by hand: it must not be slower than the broker.
struct Publisher {
    stream: std::io::BufWriter<TcpStream>,
    answers: TcpStream,
    open: usize,
}

impl Publisher {
    fn connect(broker: SocketAddr) -> Self {
        let stream = TcpStream::connect(broker).expect("the broker");
        // What is measured must not wait for Nagle's algorithm.
        stream.set_nodelay(true).expect("a socket option");
        let mut answers = stream.try_clone().expect("a second handle");
        let mut writer = std::io::BufWriter::new(stream);
        // CONNECT of MQTT 3.1.1 with a clean session, no keep-alive, client id "flood".
        writer
            .write_all(b"\x10\x11\x00\x04MQTT\x04\x02\x00\x00\x00\x05flood")
            .and_then(|()| writer.flush())
            .expect("CONNECT");
        let mut answer = [0; 4];
        answers.read_exact(&mut answer).expect("CONNACK");
        assert_eq!(answer, [0x20, 2, 0, 0], "the broker accepts us");
        Self { stream: writer, answers, open: 0 }
    }

    fn publish(&mut self, topic: &str, payload: &[u8]) {
        let mut rest = 2 + topic.len() + 2 + payload.len();
        let mut packet = vec![0x33];
        loop {
            let byte = (rest % 128) as u8;
            rest /= 128;
            packet.push(if rest > 0 { byte | 0x80 } else { byte });
            if rest == 0 {
                break;
            }
        }
        packet.extend_from_slice(&(topic.len() as u16).to_be_bytes());
        packet.extend_from_slice(topic.as_bytes());
        packet.extend_from_slice(&1_u16.to_be_bytes());
        packet.extend_from_slice(payload);
        self.stream.write_all(&packet).expect("PUBLISH");
        self.open += 1;
        if self.open >= 100 {
            self.flush();
        }
    }

    /// Waits until the broker has taken everything so far.
    fn flush(&mut self) {
        self.stream.flush().expect("sent");
        let mut answers = vec![0; 4 * self.open];
        self.answers.read_exact(&mut answers).expect("PUBACKs");
        self.open = 0;
    }

    fn finish(&mut self) {
        self.flush();
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}

fn start_mosquitto(folder: &Path, address: SocketAddr) -> Child {
    let file = folder.join("mosquitto.conf");
    // As in deploy/mosquitto.conf: without it the second of two messages waits for the acknowledgement of the first.
    let config = format!(
        "set_tcp_nodelay true\nlistener {} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_dest stderr\nlog_type all\nuser root\n",
        address.port()
    );
    std::fs::write(&file, config).expect("its configuration");
    let mut child = Command::new("mosquitto")
        .arg("-c")
        .arg(file)
        .stderr(Stdio::piped())
        .spawn()
        .expect("mosquitto is installed");
    let mut lines = BufReader::new(child.stderr.take().expect("its messages")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.ends_with("running"))), "mosquitto runs");
    std::thread::spawn(move || lines.for_each(drop));
    child
}

fn start_daemon(folder: &Path, broker: SocketAddr, http: SocketAddr) -> Child {
    Command::new(env!("CARGO_BIN_EXE_homeloop"))
        .arg("run")
        .env("HOMELOOP__STATE_DIR", folder.join("state"))
        .env("HOMELOOP__MQTT__BROKER", "external")
        .env("HOMELOOP__MQTT__HOST", broker.ip().to_string())
        .env("HOMELOOP__MQTT__PORT", broker.port().to_string())
        .env("HOMELOOP__HTTP__BIND", http.to_string())
        .env("RUST_LOG", std::env::var("RUST_LOG").unwrap_or_else(|_| "warn".into()))
        .spawn()
        .expect("the binary starts")
}

/// Asks until there is an answer; gives up after two minutes.
fn wait<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "no answer in two minutes");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn get(http: SocketAddr, token: &str, path: &str) -> Option<String> {
    request(http, &format!("GET {path} HTTP/1.1\r\n{}\r\n", headers(http, token)))
        .filter(|answer| answer.starts_with("HTTP/1.1 200"))
}

fn post(http: SocketAddr, token: &str, path: &str, body: &str) -> String {
    let headers = headers(http, token);
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}"
    );
    request(http, &format!("{head}\r\n\r\n{body}")).expect("an answer")
}

fn headers(http: SocketAddr, token: &str) -> String {
    format!("Host: {http}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n", token.trim())
}

fn request(http: SocketAddr, text: &str) -> Option<String> {
    let mut stream = TcpStream::connect(http).ok()?;
    stream.write_all(text.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// A figure of `/metrics`.
fn figure(http: SocketAddr, token: &str, name: &str) -> Option<usize> {
    let text = get(http, token, "/metrics")?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// A line of the process's status.
fn memory(process: u32, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or("unknown").trim().to_owned()
}
