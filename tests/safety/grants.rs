//! Leave in advance: for one door, one person and a time, and each by its id.

use std::time::Duration;

use chrono::TimeDelta;
use homeloop::actuate::Outcome;
use homeloop::home::{EntityId, Verb};
use homeloop::policy::{Channel, Decision, Grant, Principal, Scope};

use crate::world::{World, action, person, requester};

#[tokio::test(start_paused = true)]
async fn a_grant_is_replaced_and_taken_back_by_its_id() {
    let world = World::new(1);
    let now = world.clock.now();
    let grant = |id: &str, lock: &str| Grant {
        id: id.into(),
        entity: EntityId::parse(lock).unwrap(),
        verbs: vec![Verb::Unlock],
        principal: requester().name,
        from: now,
        until: now + TimeDelta::hours(1),
        plan_hash: None,
        given_by: "local".into(),
        reason: "the cleaner".into(),
    };
    let local = Principal { name: "local".into(), channel: Channel::Local, scopes: vec![Scope::Admin] };
    let give = async |grant| world.door.grant(grant, &local).await.unwrap();
    let decision = |lock| world.decide(&world.plan(&[action(lock, Verb::Unlock)])).decision();
    give(grant("a", "lock.front")).await;
    give(grant("b", "lock.back")).await;
    assert_eq!((decision("lock.front"), decision("lock.back")), (Decision::Allow, Decision::Allow));
    // Given again for another lock it holds for that one alone.
    give(grant("a", "lock.back")).await;
    assert_eq!((decision("lock.front"), decision("lock.back")), (Decision::Ask, Decision::Allow));
    let ids = || world.door.grants().iter().map(|grant| grant.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(), ["b", "a"]);
    assert_eq!(world.door.revoke("none").await, Ok(false));
    assert_eq!(ids(), ["b", "a"]);
    assert_eq!(world.door.revoke("a").await, Ok(true));
    assert_eq!(ids(), ["b"]);
    assert_eq!(world.door.revoke("b").await, Ok(true));
    assert_eq!(decision("lock.back"), Decision::Ask);
}

#[tokio::test(start_paused = true)]
async fn a_grant_opens_one_door_for_one_person_until_its_end() {
    let world = World::new(1);
    let now = world.clock.now();
    let grant = Grant {
        id: "g".into(),
        entity: EntityId::parse("lock.back").unwrap(),
        verbs: vec![Verb::Unlock],
        principal: requester().name,
        from: now,
        until: now + TimeDelta::hours(1),
        plan_hash: None,
        given_by: "local".into(),
        reason: "the cleaner".into(),
    };
    let local = Principal { name: "local".into(), channel: Channel::Local, scopes: vec![Scope::Admin] };
    assert!(world.door.grant(grant.clone(), &person()).await.is_err());
    world.door.grant(grant, &local).await.unwrap();
    assert_eq!(world.act(&[action("lock.back", Verb::Unlock)]).await[0].outcome, Outcome::Confirmed);
    let front = world.plan(&[action("lock.front", Verb::Unlock)]);
    assert_eq!(world.decide(&front).decision(), Decision::Ask);
    tokio::time::advance(Duration::from_secs(3600)).await;
    let back = world.plan(&[action("lock.back", Verb::Unlock)]);
    assert_eq!(world.decide(&back).decision(), Decision::Ask);
    assert!(world.door.revoke("g").await.unwrap());
}
