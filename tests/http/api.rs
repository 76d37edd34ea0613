//! What the routes do when everything is right.

use std::time::Duration;

use homeloop::http::HttpSettings;
use homeloop::http::service::{AnswerWord, LiveEvent, StopTarget, SubmitError};
use homeloop::policy::Channel;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::client::{PATIENCE, raw, read_all, read_until, request};
use crate::fake::{PLAN_HASH, task_event};
use crate::running::{JSON, Running, bearer};

#[tokio::test]
async fn a_command_waits_for_its_result() {
    let server = Running::start().await;
    let body =
        json!({"text": "kitchen light on", "id": "7", "area": "kitchen", "language": "en", "user": "Anna"});
    let response = server.post("/api/commands", &body.to_string()).await;
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.json()["reply"], "reply to kitchen light on");
    assert_eq!(response.json()["state"], "finished");
    assert_eq!(response.header("location"), Some("/api/tasks/task-1"));
    let (command, by) = server.fake.submitted.lock().unwrap()[0].clone();
    assert_eq!((command.id.as_deref(), command.area.as_deref()), (Some("7"), Some("kitchen")));
    assert_eq!(command.user_hint.as_deref(), Some("Anna"));
    assert_eq!((by.name.as_str(), by.channel), ("token:owner", Channel::Http), "the token says who asks");
}

#[tokio::test]
async fn a_command_that_takes_longer_is_accepted_and_told_so_far() {
    let server = Running::start().await;
    server.fake.release.send_replace(false);
    let response = server.post("/api/commands", r#"{"text": "unlock the front door", "wait_s": 0}"#).await;
    assert_eq!(response.status, 202, "{response:?}");
    assert_eq!(response.json()["state"], "waiting");
    assert_eq!(response.json()["interim"], "waiting for approval");
}

#[tokio::test]
async fn a_command_streams_its_events_and_then_its_result() {
    let server = Running::start().await;
    let headers = [&*bearer(&server.owner), JSON, "Accept: text/event-stream"];
    let response = raw(server.address, request("POST", "/api/commands", &headers, r#"{"text": "hi"}"#)).await;
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let names: Vec<&str> = response.body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(names, ["task", "event", "event", "result"], "{}", response.body);
    assert!(response.body.contains(r#""event":"interim","text":"one moment""#), "{}", response.body);
}

/// F43: the client goes away in the middle.
#[tokio::test]
async fn f43_a_client_that_leaves_cancels_only_where_it_wished_so() {
    let wished = |wish: &str| format!(r#"{{"text": "hi", "on_disconnect": "{wish}"}}"#);
    let silent = || r#"{"text": "hi"}"#.to_owned();
    for (accept, body, setting, cancelled) in [
        ("text/event-stream", wished("cancel"), false, true),
        ("application/json", wished("cancel"), false, true),
        ("text/event-stream", wished("continue"), true, false),
        ("text/event-stream", silent(), true, true),
        ("text/event-stream", silent(), false, false),
    ] {
        let settings = HttpSettings { cancel_on_disconnect: setting, ..HttpSettings::default() };
        let server = Running::with(settings).await;
        server.fake.release.send_replace(false);
        let mut stopped = server.fake.stopped.subscribe();
        let headers = [&*bearer(&server.owner), JSON, &format!("Accept: {accept}")];
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request("POST", "/api/commands", &headers, &body).as_bytes()).await.unwrap();
        if accept == "text/event-stream" {
            read_until(&mut stream, "one moment").await;
        } else {
            while server.fake.submitted.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        }
        drop(stream);
        if cancelled {
            let told = stopped.wait_for(|stopped| !stopped.is_empty());
            let told = tokio::time::timeout(PATIENCE, told).await.unwrap().unwrap();
            assert_eq!(*told, [StopTarget::Task("task-1".into())]);
        } else {
            server.post("/api/stop", "{}").await;
            assert_eq!(*stopped.borrow_and_update(), [StopTarget::All], "nothing but our own stop came");
        }
    }
}

#[tokio::test]
async fn lists_and_single_things_are_read() {
    let server = Running::start().await;
    assert_eq!(server.get("/api/tasks?limit=2").await.json().as_array().unwrap().len(), 2);
    assert_eq!(server.get("/api/tasks/task-9").await.json()["events"][0]["event"], "interim");
    assert_eq!(server.get("/api/tasks/unknown").await.status, 404);
    assert_eq!(server.get("/api/entities?area=kitchen").await.json()[0]["entity"], "light.kitchen_ceiling");
    assert_eq!(server.get("/api/entities?area=attic").await.json(), json!([]));
    assert_eq!(server.get("/api/entities/light.kitchen_ceiling").await.json()["value"], "on");
    assert_eq!(server.get("/api/entities/light.none").await.status, 404);
    assert_eq!(server.get("/api/approvals").await.json()[0]["match_code"], "47");
    assert_eq!(server.get("/api/schedules").await.json(), json!([]));
    assert_eq!(server.get("/metrics").await.body, "# EOF\n");
    for bad in ["/api/tasks?limit=0", "/api/tasks?limit=101", "/api/tasks?limti=3", "/api/entities?aera=x"] {
        assert_eq!(server.get(bad).await.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn health_says_when_commands_cannot_be_served() {
    let server = Running::start().await;
    let get = |path| raw(server.address, request("GET", path, &[], ""));
    assert_eq!((get("/healthz").await.status, get("/readyz").await.status), (200, 200));
    *server.fake.ready.lock().unwrap() = false;
    let response = get("/readyz").await;
    assert_eq!((response.status, &response.json()["reasons"]), (503, &json!(["broker_down"])));
    assert_eq!(get("/healthz").await.status, 200);
}

#[tokio::test]
async fn an_answer_reaches_the_service_with_the_session_as_decider() {
    let server = Running::start().await;
    let body =
        json!({"v": 1, "plan_hash": PLAN_HASH, "decision": "deny", "issued_at": "2026-11-29T18:00:00Z"});
    let response = server.post("/api/approvals/01A", &body.to_string()).await;
    assert_eq!(
        response.json(),
        json!({"approval_id": "01A", "verdict": "denied", "decided_by": "token:owner"})
    );
    let (answer, by) = server.fake.answered.lock().unwrap()[0].clone();
    assert_eq!((answer.approval_id.as_str(), answer.decision), ("01A", AnswerWord::Deny));
    assert_eq!((by.name.as_str(), answer.issued_at.is_some()), ("token:owner", true));
}

#[tokio::test]
async fn stop_takes_one_task_or_all() {
    let server = Running::start().await;
    assert_eq!(
        server.post("/api/stop", r#"{"task_id": "task-4"}"#).await.json(),
        json!({"stopped": ["task-4"]})
    );
    assert_eq!(server.post("/api/stop", "{}").await.status, 200);
    let expected = [StopTarget::Task("task-4".into()), StopTarget::All];
    assert_eq!(*server.fake.stopped.borrow(), expected);
}

#[tokio::test]
async fn removing_a_schedule_is_refused_where_the_house_refuses_it() {
    let server = Running::start().await;
    for (id, status) in [("lights", 204), ("lock", 403), ("none", 404)] {
        let path = format!("/api/schedules/{id}");
        let sent = request("DELETE", &path, &[&bearer(&server.owner)], "");
        assert_eq!(raw(server.address, sent).await.status, status, "{id}");
    }
}

#[tokio::test]
async fn a_full_queue_answers_busy() {
    let server = Running::start().await;
    *server.fake.submit_error.lock().unwrap() = Some(SubmitError::Busy);
    let response = server.post("/api/commands", r#"{"text": "hi"}"#).await;
    assert_eq!((response.status, response.code().as_str()), (429, "busy"));
    assert!(response.header("retry-after").is_some());
}

#[tokio::test]
async fn all_events_are_streamed_with_a_sign_of_life_until_the_server_stops() {
    let mut server = Running::limited(|limits| limits.heartbeat = Duration::from_millis(50)).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let ask = request("GET", "/api/events", &[&bearer(&server.owner)], "");
    stream.write_all(ask.as_bytes()).await.unwrap();
    read_until(&mut stream, "event: state").await;
    read_until(&mut stream, ": heartbeat").await;
    server.fake.live.send(LiveEvent::Task(task_event("task-5", 3))).unwrap();
    assert!(read_until(&mut stream, "event: task").await.contains("task-5"));
    server.fake.live.send(LiveEvent::Lost(12)).unwrap();
    read_until(&mut stream, r#"{"count":12}"#).await;
    server.stop.take().unwrap().send(()).unwrap();
    read_all(&mut stream).await;
    tokio::time::timeout(PATIENCE, &mut server.server).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_stops_lets_a_command_end() {
    let mut server = Running::start().await;
    server.fake.release.send_replace(false);
    let headers = [&*bearer(&server.owner), JSON, "Accept: text/event-stream"];
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let ask = request("POST", "/api/commands", &headers, r#"{"text": "hi"}"#);
    stream.write_all(ask.as_bytes()).await.unwrap();
    read_until(&mut stream, "one moment").await;
    server.stop.take().unwrap().send(()).unwrap();
    server.fake.release.send_replace(true);
    read_until(&mut stream, "event: result").await;
    tokio::time::timeout(PATIENCE, &mut server.server).await.unwrap().unwrap();
}
