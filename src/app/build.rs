//! From settings to a running daemon, one step after the other.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use futures_util::FutureExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::approvers::Approvers;
use super::broker::{accounts, embedded, link_settings, own_account};
use super::discovered::{Discovered, Target};
use super::discovery::{QUARANTINE, quarantine, stored_pins};
use super::household::Keeper;
use super::mind::{self, Ground};
use super::own_device::OwnDevice;
use super::secrets::SecretStore;
use super::{App, safe_mode, schedules};
use crate::actuate::{Containment, Door, DoorParts, Port};
use crate::clock::Clock;
use crate::devices::registry::Registry;
use crate::devices::template::Sandbox;
use crate::home::SharedHouse;
use crate::http::tokens::TokenStore;
use crate::http::{HttpSettings, Shared, check_bind};
use crate::journal::Journal;
use crate::model::Report;
use crate::mqtt::broker::EmbeddedBroker;
use crate::mqtt::inbox::Inbox;
use crate::mqtt::link::{Arrivals, Link, LinkHandle};
use crate::mqtt::outbox::Outbox;
use crate::mqtt::topics::Topics;
use crate::nlu::Nlu;
use crate::policy::Policy;
use crate::schedule::Scheduler;
use crate::settings::home_file::HomeFile;
use crate::settings::{Broker, Settings, given};

/// What a daemon is built from. Everything in it was checked.
pub struct Setup {
    pub settings: Settings,
    pub home: HomeFile,
    pub policy: Policy,
    pub clock: Clock,
    /// Whether clients without a name may use the embedded broker: in the demo alone.
    pub open_broker: bool,
    /// Whether a busy port is given up for the next free one: in the demo alone.
    pub any_port: bool,
}

/// How many times 50 ms the first firing waits for the start to be done.
const STARTING: u32 = 600;

/// Stack of the decoding thread, in bytes.
const DECODING_STACK: usize = 32 * 1024 * 1024;

/// Why the daemon did not start.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct BuildError {
    what: &'static str,
    why: String,
}

pub(super) fn failed<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> BuildError {
    move |error| BuildError { what, why: error.to_string() }
}

impl App {
    /// Builds and starts the daemon. It returns when commands are taken, whether the broker is there already or not.
    pub async fn start(setup: Setup) -> Result<Arc<App>, BuildError> {
        let Setup { settings, home, policy, clock, open_broker, any_port } = setup;
        let policy = policy.of_home(&home.overrides.version());
        let zone = settings.zone().map_err(failed("the time zone"))?;
        let state_dir = settings.state_dir();
        let topics = Topics::new(&settings.base_topic()).map_err(failed("the base topic"))?;
        let journal = safe_mode::open(&state_dir, &clock).map_err(failed("the journal"))?;
        let (tokens, first) = TokenStore::open(&state_dir, clock.clone()).map_err(failed("the tokens"))?;
        if let Some(path) = first {
            tracing::info!(file = %path.display(), "a token for the owner was made");
        }
        let own = own_account(&clock);
        let accounts = accounts(&settings)?;
        let anonymous = match settings.mqtt.broker {
            Broker::Embedded => open_broker,
            Broker::External => settings.mqtt.username.is_empty(),
        };
        let approvers = Approvers::new(&settings.mqtt, &accounts, anonymous)
            .map_err(failed("mqtt.commands.approvals"))?;
        let broker = match settings.mqtt.broker {
            Broker::Embedded => {
                let all = std::iter::once(own.clone()).chain(accounts).collect();
                Some(embedded(&settings, &topics, all, &journal, &clock, open_broker, any_port).await?)
            }
            Broker::External => None,
        };
        let broker_address = broker.as_ref().map(EmbeddedBroker::address);
        let house = SharedHouse::new(home.house());
        let registry = Arc::new(Registry::<dyn Port>::new(house.clone()));
        let taken = home.entities.iter().map(|known| known.entity.id.clone()).collect();
        let discovery = Arc::new(Discovered::new(
            &settings,
            Target { house: house.clone(), codecs: registry.clone(), overrides: home.overrides.clone() },
            taken,
            stored_pins(&journal).await,
            quarantine(&state_dir.join(QUARANTINE)),
            Sandbox::new(clock.clone(), zone),
        ));
        let own_device = OwnDevice::recall(&journal).await;
        let link_settings = link_settings(&settings, &topics, broker_address, own)?;
        let (link, arrivals) =
            Link::start(link_settings, clock.clone(), listened_to(&settings, &topics, &discovery))
                .map_err(failed("the MQTT link"))?;
        register(&home, &registry, &link)?;
        let containment = Containment {
            own_base: topics.base().to_owned(),
            discovery_prefix: settings.discovery.prefix.clone(),
        };
        let secrets = Arc::new(SecretStore::open(settings.secrets_dir(), &state_dir, &clock));
        let door = Arc::new(Door::new(DoorParts {
            house: house.clone(),
            codecs: registry.clone(),
            secrets: secrets.clone(),
            store: Arc::new(journal.clone()),
            policy,
            containment,
            clock: clock.clone(),
            zone,
        }));
        discovery.set_keepers(door.clone(), secrets.clone());
        let waiting = door.recover().await.map_err(failed("the approvals"))?;

        // What the scheduler hands over comes back to the app, which does not exist yet.
        let late: Arc<OnceLock<Weak<App>>> = Arc::default();
        let report = Report::new(Arc::new(Nlu::new().map_err(failed("the lexicons"))?));
        let scheduler = scheduler(&journal, &clock, zone, late.clone()).await?;
        let household = Arc::new(Keeper {
            house: house.clone(),
            door: door.clone(),
            journal: journal.clone(),
            scheduler: scheduler.clone(),
            report: report.clone(),
            clock: clock.clone(),
            zone,
            ends: settings.ends,
            announce: announcer(late.clone()),
            stop_all: stopper(late.clone()),
        });
        let ground = Ground {
            house: house.clone(),
            door: door.clone(),
            journal: journal.clone(),
            household: household.clone(),
            report,
            clock: clock.clone(),
            zone,
        };
        let (models, queue) = mind::build(&settings, ground)?;
        let app = Arc::new(App {
            inbox: Inbox::new(topics.clone(), settings.discovery.prefix.clone()),
            outbox: Outbox::start(link.clone(), topics.clone(), Vec::new()),
            settings,
            clock,
            house,
            registry,
            discovery,
            home_ids: Mutex::new(home.entities.iter().map(|known| known.entity.id.clone()).collect()),
            own_device,
            hass: OnceLock::new(),
            announcements: Default::default(),
            link,
            topics,
            replies: Default::default(),
            started: Default::default(),
            queue,
            models,
            door,
            journal,
            scheduler,
            household,
            metrics: Default::default(),
            listening: super::voice::places(),
            tokens: Arc::new(tokens),
            approvers,
            secrets,
            broker: Mutex::new(broker),
            broker_address,
            http_address: Mutex::new(None),
            wyoming_address: Mutex::new(None),
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        // Nobody else sets it.
        let _ = late.set(Arc::downgrade(&app));
        for approval in &waiting {
            app.outbox.show_approval(app.waiting(approval));
        }
        app.begin(arrivals, any_port).await?;
        Ok(app)
    }

    /// Starts the channels, then goes on with what the last run left open.
    async fn begin(self: &Arc<Self>, arrivals: Arrivals, any_port: bool) -> Result<(), BuildError> {
        // Subscribed before anything can happen: nothing is missed.
        let (events, approvals) = (self.queue.agent().events(), self.door.approval_changes());
        self.until_stopped(self.clone().publish_events(events));
        self.until_stopped(self.clone().publish_approvals(approvals));
        let (events, approvals) = (self.queue.agent().events(), self.door.approval_changes());
        self.queue.pause(self.own_device.paused());
        self.until_stopped(self.clone().keep_own_device(events, approvals));
        self.until_stopped(self.clone().keep_the_journal_short());
        self.until_stopped(self.clone().note_foreign_changes(self.house.changes()));
        self.until_stopped(self.clone().end_grants());
        self.until_stopped(self.clone().after_announcements());
        self.until_stopped(self.clone().say_birth());
        self.until_stopped(self.clone().expire_states());
        self.decode(arrivals)?;
        self.use_hass();
        if self.settings.http.enabled {
            self.serve_http(any_port).await?;
        }
        self.serve_wyoming(any_port).await?;
        let resumed = self.queue.resume().await.map_err(failed("the open tasks"))?;
        if resumed > 0 {
            tracing::info!(tasks = resumed, "tasks of the last run are brought to an end");
        }
        Ok(())
    }

    /// Reads what arrives on one thread of its own with a big stack: templates of devices run there, and nowhere else.
    fn decode(self: &Arc<Self>, arrivals: Arrivals) -> Result<(), BuildError> {
        let (app, runtime) = (self.clone(), tokio::runtime::Handle::current());
        let (stopping, done) = (self.stopping.clone(), self.tasks.token());
        let reading = async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = app.receive(arrivals) => {}
            }
        };
        let thread = std::thread::Builder::new().name("decode".into()).stack_size(DECODING_STACK);
        let spawned = thread.spawn(move || {
            let _done = done;
            runtime.block_on(reading);
        });
        spawned.map(drop).map_err(failed("the decoding thread"))
    }

    pub(super) fn until_stopped(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = work => {}
            }
        });
    }

    async fn serve_http(self: &Arc<Self>, any_port: bool) -> Result<(), BuildError> {
        let http = &self.settings.http;
        let tls = match (given(&http.tls_cert), given(&http.tls_key)) {
            (Some(cert), Some(key)) => {
                Some(crate::http::tls::acceptor(cert, key).map_err(failed("http.tls_cert"))?)
            }
            (_, _) => None,
        };
        check_bind(http.bind, tls.is_some(), http.insecure_lan).map_err(failed("http.bind"))?;
        let listener = bind(http.bind, any_port).await.map_err(failed("http.bind"))?;
        let address = listener.local_addr().map_err(failed("http.bind"))?;
        *self.http_address.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
        let settings = HttpSettings {
            allowed_hosts: http.allowed_hosts.clone(),
            allowed_origins: http.allowed_origins.clone(),
            public_url: Some(http.public_url.clone()).filter(|url| !url.is_empty()),
            trusted_proxies: http.trusted_proxies.clone(),
            cancel_on_disconnect: http.on_disconnect == crate::settings::OnDisconnect::Cancel,
            ..HttpSettings::default()
        };
        let service: Arc<dyn crate::http::service::Service> = self.clone();
        let shared = Arc::new(Shared::new(
            settings,
            service,
            self.tokens.clone(),
            Some(self.tools()),
            self.clock.clone(),
        ));
        let stopping = self.stopping.clone();
        self.tasks.spawn(async move {
            crate::http::serve(listener, tls, async move { stopping.cancelled().await }, shared).await;
        });
        tracing::info!(%address, "HTTP is served");
        Ok(())
    }
}

/// Listens on `address`, or on one of the next ports where that is busy and another will do.
pub(super) async fn bind(address: SocketAddr, any_port: bool) -> std::io::Result<TcpListener> {
    let mut at = address;
    loop {
        match TcpListener::bind(at).await {
            Err(error)
                if any_port
                    && error.kind() == std::io::ErrorKind::AddrInUse
                    && at.port() < address.port() + 20 =>
            {
                at.set_port(at.port() + 1);
            }
            result => return result,
        }
    }
}

/// Everything that is subscribed to from the start: our own topics, announcements, voice, Home Assistant's birth.
fn listened_to(settings: &Settings, topics: &Topics, discovery: &Discovered) -> Vec<String> {
    let mut filters = topics.subscriptions();
    filters.push(topics.every_approval());
    filters.extend(discovery.subscriptions());
    filters.extend(settings.voice.hermes.role.filter().map(str::to_owned));
    if settings.discovery.announce {
        filters.push(format!("{}/status", settings.discovery.prefix));
    }
    filters
}

/// Gives every entity of the home file its codec, and subscribes to what they listen to.
fn register(home: &HomeFile, registry: &Registry<dyn Port>, link: &LinkHandle) -> Result<(), BuildError> {
    let port = Arc::new(link.clone());
    for known in &home.entities {
        if let Some(codec) = &known.codec {
            let filters = registry.insert(known.entity.id.clone(), codec.clone(), port.clone());
            link.subscribe(filters).map_err(failed("the topics of the home file"))?;
        }
    }
    Ok(())
}

async fn scheduler(
    journal: &Journal,
    clock: &Clock,
    zone: chrono_tz::Tz,
    late: Arc<OnceLock<Weak<App>>>,
) -> Result<Arc<Scheduler>, BuildError> {
    let fire = Arc::new(move |event| {
        let late = late.clone();
        async move {
            // What is due at the start waits until there is somebody to do it.
            for _ in 0..STARTING {
                if late.get().is_some() {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            schedules::fire(late.get().cloned().unwrap_or_default(), event).await;
        }
        .boxed()
    });
    let scheduler = Scheduler::start(journal.clone(), clock.clone(), zone, fire).await;
    Ok(Arc::new(scheduler.map_err(failed("the schedules"))?))
}

type Announce = Arc<dyn Fn(String, Option<String>) -> bool + Send + Sync>;
type StopAll = Arc<dyn Fn(String) -> futures_util::future::BoxFuture<'static, usize> + Send + Sync>;

/// Publishes announcements on `<base>/announcement`.
fn announcer(late: Arc<OnceLock<Weak<App>>>) -> Announce {
    Arc::new(move |text, area| {
        late.get().and_then(Weak::upgrade).is_some_and(|app| app.announce(&text, area.as_deref()))
    })
}

/// Stops all tasks but the one that says so, and all movers.
fn stopper(late: Arc<OnceLock<Weak<App>>>) -> StopAll {
    Arc::new(move |but| {
        let app = late.get().and_then(Weak::upgrade);
        async move {
            match app {
                Some(app) => app.stop_others(&but).await.len(),
                None => 0,
            }
        }
        .boxed()
    })
}
