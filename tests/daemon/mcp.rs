//! The MCP endpoint of the real daemon: its tools, a call, a read, and what needs a person.

use serde_json::{Value, json};

use crate::house::House;

async fn call(house: &House, method: &str, params: Value) -> Value {
    let request = reqwest::Client::new()
        .post(format!("{}/mcp", house.http))
        .bearer_auth(&house.token)
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", "2025-06-18")
        .json(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let body = answer.text().await.expect("a body");
    let text = body.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&body);
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {body}"))
}

async fn tool(house: &House, name: &str, arguments: Value) -> Value {
    call(house, "tools/call", json!({"name": name, "arguments": arguments})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_acts_through_the_same_door() {
    let house = House::start().await;
    let list = call(&house, "tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in ["light", "lock_unlock", "get_state", "run_scene", "timer", "list"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"finish") && !names.contains(&"ask_user"), "{names:?}");

    let off = tool(&house, "light", json!({"verb": "turn_off", "entities": ["light.kitchen"]})).await;
    assert_eq!(off["result"]["isError"], false, "{off}");
    assert_eq!(off["result"]["structuredContent"]["outcomes"][0]["outcome"], "confirmed", "{off}");
    assert_eq!(house.commands(0).len(), 1);
    let state = tool(&house, "get_state", json!({"entities": ["light.kitchen"]})).await;
    assert!(state["result"]["structuredContent"]["result"].to_string().contains("off"), "{state}");

    let wrong = tool(&house, "light", json!({"verb": "turn_off", "entities": ["light.kitchn"]})).await;
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    let unknown = tool(&house, "update_install", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    assert_eq!(house.commands(0).len(), 1, "neither sends anything");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_person_is_pointed_to_and_not_granted() {
    let house = House::start().await;
    let asked = tool(&house, "lock_unlock", json!({"verb": "unlock", "entities": ["lock.front_door"]})).await;
    let approval = house.approval().await;
    assert_eq!(
        asked["result"]["structuredContent"]["approval"]["approval_id"], approval["approval_id"],
        "{asked}"
    );
    assert!(house.commands(0).is_empty());
    // Calling again grants nothing either.
    tool(&house, "lock_unlock", json!({"verb": "unlock", "entities": ["lock.front_door"], "approved": true}))
        .await;
    assert!(house.commands(0).is_empty());
    assert_eq!(house.decide(&approval, "approve").await.0, 200);
    house.recorder.wait("the unlock is sent", |_| house.commands(0).len() == 1).await;
    house.stop().await;
}
