//! SIGTERM: the program ends, whoever holds its input open, and sends nothing that waited for a person.

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
