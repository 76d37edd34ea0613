//! Lists, memory, budget, first results and retained messages.

use chrono::NaiveDate;
use homeloop::clock::Clock;
use homeloop::journal::memory::{Claim, Spent};
use homeloop::journal::{Durability, Journal, RetainedRow};

use super::{dir, event, open};

#[tokio::test]
async fn lists_keep_their_items_in_order() {
    let dir = dir();
    let journal = open(&dir);
    let milk = journal.add_list_item("todo.shopping", " milk ", "ann").await.unwrap();
    let bread = journal.add_list_item("todo.shopping", "面包", "bob").await.unwrap();
    journal.add_list_item("todo.house", "fix the door", "ann").await.unwrap();
    assert!(journal.add_list_item("todo.shopping", "  ", "ann").await.is_err());
    assert!(journal.add_list_item("todo.shopping", &"x".repeat(257), "ann").await.is_err());
    assert!(journal.set_list_item_done(&milk.id, true).await.unwrap());
    assert!(!journal.set_list_item_done(&milk.id, true).await.unwrap(), "it was done already");
    drop(journal);

    let journal = open(&dir);
    let texts = async |with_done| -> Vec<String> {
        let items = journal.list_items("todo.shopping", with_done).await.unwrap();
        items.into_iter().map(|item| item.text).collect()
    };
    assert_eq!(texts(false).await, ["面包"]);
    assert_eq!(texts(true).await, ["milk", "面包"]);
    assert!(journal.set_list_item_done(&milk.id, false).await.unwrap());
    assert_eq!(texts(false).await, ["milk", "面包"]);
    assert!(journal.remove_list_item(&bread.id).await.unwrap());
    assert!(!journal.remove_list_item(&bread.id).await.unwrap());
    assert_eq!(texts(true).await, ["milk"]);
}

#[tokio::test]
async fn memory_is_by_scope_and_key_and_says_who() {
    let journal = Journal::in_memory(Clock::system()).unwrap();
    journal.remember("ann", "tea", "green", "ann").await.unwrap();
    journal.remember("ann", "tea", "black", "ann").await.unwrap();
    journal.remember("bob", "tea", "none", "bob").await.unwrap();
    let tea = journal.memory("ann", "tea").await.unwrap().unwrap();
    assert_eq!((tea.value.as_str(), tea.by.as_str()), ("black", "ann"));
    assert_eq!(journal.memories("ann").await.unwrap(), [tea]);
    assert!(journal.forget("ann", "tea").await.unwrap());
    assert!(!journal.forget("ann", "tea").await.unwrap());
    assert_eq!(journal.memory("ann", "tea").await.unwrap(), None);
}

#[tokio::test]
async fn money_adds_up_by_day_and_month() {
    let journal = Journal::in_memory(Clock::system()).unwrap();
    let day = |month, day| NaiveDate::from_ymd_opt(2026, month, day).unwrap();
    let spent = |micro_dollars, tokens| Spent { micro_dollars, tokens };
    journal.spend(day(10, 31), spent(1, 10)).await.unwrap();
    journal.spend(day(11, 1), spent(2, 20)).await.unwrap();
    let both = journal.spend(day(11, 2), spent(4, 40)).await.unwrap();
    assert_eq!((both.day, both.month), (spent(4, 40), spent(6, 60)));
    assert_eq!(journal.spent(day(10, 31)).await.unwrap().month, spent(1, 10));
    assert_eq!(journal.spent(day(12, 1)).await.unwrap().day, Spent::default());
}

#[tokio::test]
async fn a_repeated_command_gets_the_first_result_also_after_a_restart() {
    let dir = dir();
    let journal = open(&dir);
    assert_eq!(journal.claim_command("id 1", "t1").await.unwrap(), Claim::New);
    let running = Claim::Seen { task: "t1".into(), result: None };
    assert_eq!(journal.claim_command("id 1", "t2").await.unwrap(), running);
    journal.store_first_result("t1", "{\"reply\":1}").await.unwrap();
    journal.store_first_result("t1", "{\"reply\":2}").await.unwrap();
    drop(journal);
    let first = Claim::Seen { task: "t1".into(), result: Some("{\"reply\":1}".into()) };
    assert_eq!(open(&dir).claim_command("id 1", "t3").await.unwrap(), first);
}

#[tokio::test]
async fn command_ids_are_bounded() {
    let journal = Journal::in_memory(Clock::system()).unwrap();
    for number in 0..10_050 {
        assert_eq!(journal.claim_command(&format!("id {number}"), "t").await.unwrap(), Claim::New);
    }
    assert_eq!(journal.claim_command("id 0", "t").await.unwrap(), Claim::New, "the oldest were dropped");
    let kept = Claim::Seen { task: "t".into(), result: None };
    assert_eq!(journal.claim_command("id 10049", "t").await.unwrap(), kept);
}

#[tokio::test]
async fn retained_messages_survive_and_the_last_value_wins() {
    let dir = dir();
    let journal = open(&dir);
    for round in 0..100_u8 {
        journal.keep_retained("a/state", &[round], 1);
    }
    journal.keep_retained("b/state", b"gone", 0);
    journal.remove_retained("b/state");
    journal.keep_retained("c/state", &[0, 255], 2);
    // Any later write comes after them.
    journal.append(event("t", 1), Durability::Normal).await.unwrap();
    drop(journal);
    let row = |topic: &str, payload: &[u8], qos| RetainedRow {
        topic: topic.into(),
        payload: payload.to_vec(),
        qos,
    };
    let expected = [row("a/state", &[99], 1), row("c/state", &[0, 255], 2)];
    assert_eq!(open(&dir).retained().await.unwrap(), expected);
}
