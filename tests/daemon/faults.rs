//! Devices that fail: the outcome and the sentence say what the house said, and no more.

use crate::house::{House, outcome};

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_light_is_unconfirmed_and_the_reply_says_so() {
    let house = House::start().await;
    house.set("light.study", "off").await;
    house.fault("light.study", "silent").await;
    let result = house.say("turn on the study lamp").await;
    assert_eq!(outcome(&result, "light.study"), "unconfirmed", "{result}");
    let reply = result["reply"].as_str().expect("a reply");
    assert!(reply.contains("did not confirm"), "{reply}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chinese_reply_names_the_light_that_did_not_answer() {
    let house = House::start().await;
    for light in ["light.bedroom_left", "light.bedroom_right"] {
        house.set(light, "off").await;
    }
    house.fault("light.bedroom_right", "silent").await;
    let result = house.say("打开卧室的灯").await;
    assert_eq!(outcome(&result, "light.bedroom_left"), "confirmed", "{result}");
    assert_eq!(outcome(&result, "light.bedroom_right"), "unconfirmed", "{result}");
    let reply = result["reply"].as_str().expect("a reply");
    assert!(reply.contains("没有得到确认"), "{reply}");
    house.stop().await;
}
