//! The simulated home and the registry over a real mosquitto, played by hand with mosquitto_pub.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream;
use homeloop::actuate::{Port, SendError};
use homeloop::app::simulation::run;
use homeloop::clock::Clock;
use homeloop::devices::Message;
use homeloop::devices::profile::{Profiles, Said};
use homeloop::devices::registry::{Arrival, Registry};
use homeloop::devices::simulate::World;
use homeloop::home::{Availability, House, SharedHouse};
use homeloop::mqtt::link::{Link, LinkHandle, LinkSettings, Publish};
use homeloop::settings::home_file::HomeFile;
use tokio_util::sync::CancellationToken;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::soon;

/// This test sends nothing through the registry: a person plays the house.
struct Unused;

impl Port for Unused {
    fn send<'a>(&'a self, _message: &'a Message) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Err(SendError::Down("not used".into())) })
    }

    fn is_up(&self) -> bool {
        false
    }

    fn connection(&self) -> u64 {
        1
    }
}

fn settings(broker: &Mosquitto, name: &str) -> LinkSettings {
    LinkSettings::new(broker.address.ip().to_string(), broker.address.port(), name)
}

/// Starts the simulated devices; they stop with the token.
async fn play(broker: &Mosquitto, home: &HomeFile, stop: CancellationToken) -> LinkHandle {
    let world = World::new(home.players());
    let (link, arrivals) =
        Link::start(settings(broker, "simulator"), Clock::system(), world.subscriptions()).unwrap();
    soon("the simulator connects", link.up()).await.unwrap();
    let messages = stream::unfold(arrivals, async |mut arrivals| {
        let message = arrivals.recv().await?;
        Some(((message.topic, message.payload.to_vec()), arrivals))
    });
    let publisher = link.clone();
    tokio::spawn(run(
        world,
        messages,
        move |said: Said| {
            let link = publisher.clone();
            async move {
                let publish = Publish::new(said.topic, said.payload);
                link.publish(if said.retained { publish.retained() } else { publish }).await.unwrap();
            }
        },
        stop,
    ));
    link
}

/// Listens as the daemon does.
async fn listen(broker: &Mosquitto, home: &HomeFile) -> SharedHouse {
    let house = SharedHouse::new(home.house());
    let registry = Registry::<dyn Port>::new(house.clone());
    for (entity, codec, _) in home.players() {
        registry.insert(entity.id, codec, Arc::new(Unused));
    }
    let (link, mut arrivals) =
        Link::start(settings(broker, "listener"), Clock::system(), registry.subscriptions()).unwrap();
    soon("the listener connects", link.up()).await.unwrap();
    tokio::spawn(async move {
        let _link = link;
        while let Some(message) = arrivals.recv().await {
            let arrival = Arrival {
                at: message.arrival.at,
                since_boot: message.arrival.since_boot,
                retained: message.retain,
                connection: message.arrival.connection,
            };
            registry.on_message(&message.topic, &message.payload, arrival);
        }
    });
    house
}

/// Waits until the house is as wanted.
async fn becomes(house: &SharedHouse, what: &str, wanted: impl Fn(&House) -> bool) {
    let mut changes = house.changes();
    soon(what, async {
        while !wanted(&house.read()) {
            let _ = changes.recv().await;
        }
    })
    .await;
}

async fn by_hand(broker: &Mosquitto, topic: &str, payload: &str) {
    let port = broker.address.port().to_string();
    let status = tokio::process::Command::new("mosquitto_pub")
        .args(["-h", "127.0.0.1", "-p", &port, "-q", "1", "-t", topic, "-m", payload])
        .status();
    assert!(soon("mosquitto_pub ends", status).await.unwrap().success());
}

fn value(house: &House, id: &str) -> Option<String> {
    house.state(id)?.text().map(str::to_owned)
}

#[tokio::test]
async fn a_person_plays_the_simulated_home_over_a_real_broker() {
    let Some(broker) = Mosquitto::start(Options::default()).await else { return };
    let home = HomeFile::demo(&Profiles::embedded().unwrap()).unwrap();
    let stop = CancellationToken::new();
    let _devices = play(&broker, &home, stop.clone()).await;
    // The listener comes later, as after a restart of the daemon: it lives on what is retained.
    let house = listen(&broker, &home).await;
    becomes(&house, "every device that reports is known", |house| {
        house.entities().filter(|entity| entity.reports_state).all(|entity| {
            house
                .state(entity.id.as_str())
                .is_some_and(|state| state.value.is_some() && state.availability == Availability::Online)
        })
    })
    .await;

    by_hand(&broker, "homeloop-sim/binary_sensor.balcony_door/set", "off").await;
    becomes(&house, "the balcony door is closed", |house| {
        value(house, "binary_sensor.balcony_door").as_deref() == Some("off")
    })
    .await;

    by_hand(&broker, "home/front_door/lock/set", "unlock").await;
    becomes(&house, "the front door is unlocked", |house| {
        value(house, "lock.front_door").as_deref() == Some("unlocked")
    })
    .await;
    let reported = house.read().state("lock.front_door").unwrap().reported.unwrap();
    assert!(reported.live, "a report that follows an act is live");

    by_hand(&broker, "cmnd/hallway/POWER", "ON").await;
    becomes(&house, "the hallway light is on", |house| {
        value(house, "light.hallway").as_deref() == Some("on")
    })
    .await;

    by_hand(&broker, "homeloop-sim/light.kitchen/fault", "offline").await;
    becomes(&house, "the kitchen light is away", |house| {
        house.state("light.kitchen").is_some_and(|state| state.availability == Availability::Offline)
    })
    .await;

    stop.cancel();
    becomes(&house, "everything has said goodbye", |house| {
        ["light.study", "lock.front_door", "switch.desk_outlet"]
            .iter()
            .all(|id| house.state(id).is_some_and(|state| state.availability == Availability::Offline))
    })
    .await;
}
