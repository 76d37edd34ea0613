//! The description of the API is true: it names every route, and its examples run.

use std::collections::BTreeSet;

use homeloop::http::routes::{Access, table};
use homeloop::http::tokens::TokenKind;
use homeloop::policy::Scope;
use serde_json::{Map, Value};

use crate::client::{raw, request};
use crate::running::{JSON, Running, bearer};

/// Files for a browser and the description itself are no API.
const NOT_DESCRIBED: &[&str] = &["/", "/page.js", "/page.css", "/openapi.json"];

async fn description(server: &Running) -> Value {
    let answer = raw(server.address, request("GET", "/openapi.json", &[], "")).await;
    assert_eq!(answer.status, 200);
    answer.json()
}

fn operations(description: &Value) -> impl Iterator<Item = (&String, &String, &Map<String, Value>)> {
    let paths = description["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        let item = item.as_object().unwrap();
        item.iter().map(move |(method, operation)| (path, method, operation.as_object().unwrap()))
    })
}

#[tokio::test]
async fn it_names_every_route_and_whether_a_token_is_needed() {
    let server = Running::start().await;
    let description = description(&server).await;
    assert!(description["openapi"].as_str().unwrap().starts_with("3.1"));
    let described: BTreeSet<_> = operations(&description)
        .map(|(path, method, operation)| {
            let public =
                operation.get("security").is_some_and(|security| *security == serde_json::json!([{}]));
            (method.to_uppercase(), path.clone(), public)
        })
        .collect();
    let routed = table().into_iter().filter(|route| !NOT_DESCRIBED.contains(&route.path));
    let routed: BTreeSet<_> = routed
        .map(|route| (route.method.to_string(), route.path.to_owned(), route.access == Access::Public))
        .collect();
    assert_eq!(described, routed);
}

#[tokio::test]
async fn every_example_in_it_runs() {
    let server = Running::start().await;
    let description = description(&server).await;
    let scopes = [Scope::Read, Scope::Command, Scope::Approve, Scope::Admin];
    let token = server.token("all", TokenKind::Person, &scopes);
    let mut run = 0;
    for (path, method, operation) in operations(&description) {
        if path == "/api/events" {
            continue; // It never ends; its own test reads it.
        }
        let target = with_examples(path, operation);
        let examples =
            operation.get("requestBody").map(|body| &body["content"]["application/json"]["examples"]);
        let bodies: Vec<String> = match examples {
            Some(examples) => {
                let examples = examples.as_object().unwrap_or_else(|| panic!("{path} has no example"));
                examples.values().map(|example| example["value"].to_string()).collect()
            }
            None => vec![String::new()],
        };
        for body in bodies {
            let headers = [&*bearer(&token), JSON, "Accept: application/json"];
            let headers = if path == "/mcp" {
                [headers[0], JSON, "Accept: application/json, text/event-stream"]
            } else {
                headers
            };
            let answer = raw(server.address, request(&method.to_uppercase(), &target, &headers, &body)).await;
            assert!((200..300).contains(&answer.status), "{method} {target} {body}: {answer:?}");
            let documented = operation["responses"].as_object().unwrap();
            assert!(
                documented.contains_key(&answer.status.to_string()),
                "{method} {target}: {}",
                answer.status
            );
            run += 1;
        }
    }
    assert!(run >= 25, "{run}");
}

/// The path with the examples of its parameters.
fn with_examples(path: &str, operation: &Map<String, Value>) -> String {
    let mut target = path.to_owned();
    let mut query = Vec::new();
    for parameter in operation.get("parameters").and_then(Value::as_array).into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap();
        let example = parameter.get("example").unwrap_or_else(|| panic!("{path}: {name} has no example"));
        let text = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
        match parameter["in"].as_str() {
            Some("path") => target = target.replace(&format!("{{{name}}}"), &text),
            _ => query.push(format!("{name}={text}")),
        }
    }
    if query.is_empty() { target } else { format!("{target}?{}", query.join("&")) }
}
