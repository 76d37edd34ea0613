//! A small Home Assistant: the part of its WebSocket API that homeloop uses, with a house that a test can break.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::{SinkExt, StreamExt};
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Notify, broadcast};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::Message;

use crate::common::soon;

pub const TOKEN: &str = "a-long-lived-token";

/// How services are answered.
#[derive(Clone, PartialEq)]
pub enum Answer {
    /// Done, and the new state is told.
    Do,
    /// Done as far as anybody hears, and nothing happens.
    Nothing,
    Error(&'static str, &'static str),
    /// The connection breaks before any answer; the thing is done all the same.
    Break,
}

pub struct World {
    pub version: String,
    pub token: String,
    pub areas: Vec<Value>,
    pub devices: Vec<Value>,
    pub entities: BTreeMap<String, Value>,
    pub states: BTreeMap<String, (String, Map<String, Value>)>,
    pub exposed: BTreeSet<String>,
    pub answer: Answer,
    /// Requests that this version does not know.
    pub unknown: BTreeSet<String>,
    /// Sent in place of the first answer.
    pub garbage: Option<String>,
    /// Every service that was called.
    pub calls: Vec<Value>,
    /// Tokens that were tried.
    pub tried: usize,
}

pub struct Server {
    pub address: SocketAddr,
    world: Arc<Mutex<World>>,
    news: broadcast::Sender<Value>,
    called: Arc<Notify>,
    cut: broadcast::Sender<()>,
}

impl Server {
    pub async fn start() -> Self {
        Self::start_as(None).await
    }

    /// The same behind TLS, with a certificate for `localhost`; returns its authority as PEM too.
    pub async fn start_tls() -> (Self, String) {
        homeloop::tls_provider();
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der()).expect("a key");
        let config = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![issued.cert.der().clone()], key)
            .expect("they fit");
        (Self::start_as(Some(TlsAcceptor::from(Arc::new(config)))).await, issued.cert.pem())
    }

    async fn start_as(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let world = World {
            version: "2026.11.0".into(),
            token: TOKEN.into(),
            areas: Vec::new(),
            devices: Vec::new(),
            entities: BTreeMap::new(),
            states: BTreeMap::new(),
            exposed: BTreeSet::new(),
            answer: Answer::Do,
            unknown: BTreeSet::new(),
            garbage: None,
            calls: Vec::new(),
            tried: 0,
        };
        let server = Self {
            address,
            world: Arc::new(Mutex::new(world)),
            news: broadcast::Sender::new(4096),
            called: Arc::default(),
            cut: broadcast::Sender::new(4),
        };
        let (world, news, called, cut) =
            (server.world.clone(), server.news.clone(), server.called.clone(), server.cut.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let peer = Peer { world: world.clone(), news: news.clone(), called: called.clone() };
                let (mut cut, tls) = (cut.subscribe(), tls.clone());
                tokio::spawn(async move {
                    let served = async {
                        match tls {
                            Some(tls) => peer.serve(tls.accept(stream).await.ok()?).await,
                            None => peer.serve(stream).await,
                        }
                    };
                    tokio::select! {
                        _ = cut.recv() => {}
                        _ = served => {}
                    }
                });
            }
        });
        server
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no panic in between")
    }

    /// Adds an exposed entity with a state.
    pub fn add(&self, id: &str, state: &str, attributes: Value, more: Value) {
        let mut entry =
            json!({"entity_id": id, "unique_id": format!("u-{id}"), "platform": "demo", "area_id": null});
        for (key, value) in more.as_object().expect("an object") {
            entry[key] = value.clone();
        }
        let mut world = self.world();
        world.entities.insert(id.to_owned(), entry);
        let attributes = attributes.as_object().expect("an object").clone();
        world.states.insert(id.to_owned(), (state.to_owned(), attributes));
        world.exposed.insert(id.to_owned());
    }

    pub fn area(&self, id: &str, name: &str) {
        let mut world = self.world();
        world.areas.retain(|area| area["area_id"] != id);
        world.areas.push(json!({"area_id": id, "name": name, "aliases": [], "floor_id": null}));
    }

    /// Changes a state and tells it.
    pub fn set(&self, id: &str, state: &str) {
        self.world().states.get_mut(id).expect("a known entity").0 = state.to_owned();
        let _ = self.news.send(json!({"c": {id: {"+": {"s": state}}}}));
    }

    /// Tells that a registry has changed.
    pub fn registry_changed(&self, kind: &str) {
        let _ = self.news.send(json!({"event_type": kind, "data": {}}));
    }

    /// Sends half a message on every connection.
    pub fn send_half(&self) {
        let _ = self.news.send(Value::Null);
    }

    /// Breaks every connection.
    pub fn cut(&self) {
        let _ = self.cut.send(());
    }

    /// The services that were called for an entity.
    pub fn calls(&self, id: &str) -> Vec<Value> {
        self.world().calls.iter().filter(|call| call["service_data"]["entity_id"] == id).cloned().collect()
    }

    pub async fn called(&self, id: &str) -> Value {
        soon(&format!("a service for {id}"), async {
            loop {
                let called = self.called.notified();
                if let Some(call) = self.calls(id).into_iter().next() {
                    return call;
                }
                called.await;
            }
        })
        .await
    }
}

struct Peer {
    world: Arc<Mutex<World>>,
    news: broadcast::Sender<Value>,
    called: Arc<Notify>,
}

impl Peer {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no panic in between")
    }

    /// `None` when the connection ends.
    async fn serve<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> Option<()> {
        let mut socket = tokio_tungstenite::accept_async(stream).await.ok()?;
        let version = self.world().version.clone();
        let hello = json!({"type": "auth_required", "ha_version": version});
        socket.send(Message::text(hello.to_string())).await.ok()?;
        let auth: Value = serde_json::from_str(socket.next().await?.ok()?.to_text().ok()?).ok()?;
        let right = {
            let mut world = self.world();
            world.tried += 1;
            auth["access_token"] == world.token.as_str()
        };
        if !right {
            let no = json!({"type": "auth_invalid", "message": "Invalid access token or password"});
            socket.send(Message::text(no.to_string())).await.ok()?;
            return None;
        }
        let garbage = self.world().garbage.take();
        if let Some(garbage) = garbage {
            socket.send(Message::text(garbage)).await.ok()?;
            return None;
        }
        let mut news = self.news.subscribe();
        socket
            .send(Message::text(json!({"type": "auth_ok", "ha_version": version}).to_string()))
            .await
            .ok()?;
        let (mut states, mut registries) = (None::<u64>, BTreeMap::<String, u64>::new());
        let mut followed: BTreeSet<String> = BTreeSet::new();
        loop {
            tokio::select! {
                frame = socket.next() => {
                    let Message::Text(text) = frame?.ok()? else { continue };
                    let request: Value = serde_json::from_str(&text).expect("homeloop sends JSON");
                    let id = request["id"].as_u64().expect("an id");
                    match request["type"].as_str().expect("a type") {
                        "subscribe_entities" => {
                            states = Some(id);
                            let wanted = request["entity_ids"].as_array().expect("ids");
                            followed = wanted.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect();
                        }
                        "subscribe_events" => {
                            registries.insert(request["event_type"].as_str().expect("a type").to_owned(), id);
                        }
                        _ => {}
                    }
                    for answer in self.answer(id, &request, &followed)? {
                        socket.send(Message::text(answer.to_string())).await.ok()?;
                    }
                }
                event = news.recv() => {
                    let event = event.ok()?;
                    if event.is_null() {
                        socket.send(Message::text("{\"id\": 3, \"type\": \"event\", \"event\": {\"c\"")).await.ok()?;
                        continue;
                    }
                    let id = match event["event_type"].as_str() {
                        Some(kind) => registries.get(kind).copied(),
                        None => states,
                    };
                    if let Some(id) = id {
                        let message = json!({"id": id, "type": "event", "event": event});
                        socket.send(Message::text(message.to_string())).await.ok()?;
                    }
                }
            }
        }
    }

    /// The messages that answer a request; `None` breaks the connection.
    fn answer(&self, id: u64, request: &Value, followed: &BTreeSet<String>) -> Option<Vec<Value>> {
        let world = self.world();
        let kind = request["type"].as_str().expect("a type");
        let ok = |result: Value| vec![json!({"id": id, "type": "result", "success": true, "result": result})];
        let failed = |code: &str, message: &str| {
            vec![json!({"id": id, "type": "result", "success": false,
                        "error": {"code": code, "message": message}})]
        };
        if world.unknown.contains(kind) {
            return Some(failed("unknown_command", "Unknown command."));
        }
        Some(match kind {
            "ping" => vec![json!({"id": id, "type": "pong"})],
            "get_config" => ok(json!({"unit_system": {"temperature": "°C"}})),
            "config/area_registry/list" => ok(json!(world.areas)),
            "config/device_registry/list" => ok(json!(world.devices)),
            "config/floor_registry/list" => ok(json!([])),
            "config/entity_registry/list" => ok(world.entities.values().cloned().collect()),
            "config/entity_registry/get_entries" => ok(json!({})),
            "homeassistant/expose_entity/list" => {
                let shown = world.exposed.iter().map(|id| (id.clone(), json!({"conversation": true})));
                ok(json!({"exposed_entities": shown.collect::<Map<_, _>>()}))
            }
            "subscribe_entities" => {
                let known = world.states.iter().filter(|(id, _)| followed.contains(*id));
                let all: Map<_, _> =
                    known.map(|(id, (state, a))| (id.clone(), json!({"s": state, "a": a}))).collect();
                let mut answers = ok(Value::Null);
                answers.push(json!({"id": id, "type": "event", "event": {"a": all}}));
                answers
            }
            "subscribe_events" | "unsubscribe_events" => ok(Value::Null),
            "call_service" => {
                drop(world);
                return self.call(id, request);
            }
            other => panic!("homeloop asks for what it should not need: {other}"),
        })
    }

    fn call(&self, id: u64, request: &Value) -> Option<Vec<Value>> {
        let mut world = self.world();
        world.calls.push(request.clone());
        self.called.notify_waiters();
        let entity = request["service_data"]["entity_id"].as_str().expect("an entity").to_owned();
        let state = match request["service"].as_str().expect("a service") {
            "turn_on" => "on",
            "turn_off" => "off",
            "lock" => "locked",
            "unlock" => "unlocked",
            other => panic!("this house has no {other}"),
        };
        let success = json!({"id": id, "type": "result", "success": true, "result": {"context": {}}});
        match world.answer {
            Answer::Error(code, message) => {
                return Some(vec![json!({"id": id, "type": "result", "success": false,
                                        "error": {"code": code, "message": message}})]);
            }
            Answer::Nothing => return Some(vec![success]),
            Answer::Do | Answer::Break => {}
        }
        if let Some(known) = world.states.get_mut(&entity) {
            known.0 = state.to_owned();
        }
        if world.answer == Answer::Break {
            world.answer = Answer::Do;
            return None;
        }
        let _ = self.news.send(json!({"c": {entity: {"+": {"s": state}}}}));
        Some(vec![success])
    }
}
