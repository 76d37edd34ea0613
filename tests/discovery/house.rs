//! The daemon in this process on a real broker, with whatever announces itself there.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use homeloop::actuate::{NotRecorded, OutcomeEntry, Record};
use homeloop::app::{App, Setup};
use homeloop::clock::Clock;
use homeloop::devices::profile::Profiles;
use homeloop::home::{Action, EntityId, State};
use homeloop::mqtt::link::{Inbound, Publish};
use homeloop::policy::{Asked, Channel, Permit, Policy, Principal, Rule, Scope, Tier};
use homeloop::settings::Settings;
use homeloop::settings::home_file::HomeFile;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::common::soon;

pub struct House {
    pub app: Arc<App>,
    pub recorder: Recorder,
    _broker: Mosquitto,
    _state: TempDir,
}

/// Intentions go nowhere: this is about devices.
struct NoRecord;

impl Record for NoRecord {
    fn sending<'a>(&'a self, _: &'a Action, _: &'a str, _: bool) -> BoxFuture<'a, Result<(), NotRecorded>> {
        Box::pin(async { Ok(()) })
    }
}

impl House {
    /// `None` where mosquitto is not installed. `allowed` are entities whose actions need nobody here.
    pub async fn start(home: &str, allowed: &[&str]) -> Option<Self> {
        Self::start_with(home, allowed, &[]).await
    }

    /// The same with secrets: name and value.
    pub async fn start_with(home: &str, allowed: &[&str], secrets: &[(&str, &str)]) -> Option<Self> {
        homeloop::tls_provider();
        let broker = Mosquitto::start(Options::default()).await?;
        let state = tempfile::tempdir().unwrap();
        for (name, value) in secrets {
            let file = state.path().join("secrets").join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, value).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let overrides = [
            ("state_dir", state.path().display().to_string()),
            ("mqtt.broker", "external".to_owned()),
            ("mqtt.host", broker.address.ip().to_string()),
            ("mqtt.port", broker.address.port().to_string()),
            ("http.enabled", "false".to_owned()),
        ];
        let settings = Settings::with_overrides(&[], &overrides).unwrap();
        let home = HomeFile::parse("home.toml", home, &Profiles::embedded().unwrap()).unwrap();
        let rule = |id: &&str| Rule::for_entity(EntityId::parse(id).unwrap(), Tier::Act, "it is a test");
        let policy = Policy { rules: allowed.iter().map(rule).collect(), ..Policy::default() };
        let clock = Clock::system();
        let setup = Setup { settings, home, policy, clock, open_broker: false, any_port: false };
        let app = App::start(setup).await.unwrap();
        soon("the daemon connects", app.link().up()).await.unwrap();
        let recorder = Recorder::start(broker.address, None).await;
        Some(Self { app, recorder, _broker: broker, _state: state })
    }

    pub async fn publish(&self, topic: &str, payload: &str, retain: bool) {
        let mut publish = Publish::new(topic.to_owned(), payload.to_owned());
        publish.retain = retain;
        self.recorder.link.publish(publish).await.unwrap();
    }

    /// Publishes an announcement and waits until the entity is there, and its topics are subscribed to.
    pub async fn announce(&self, topic: &str, config: &Value, id: &str) {
        self.publish(topic, &config.to_string(), true).await;
        self.until(id, "is announced", |_| true).await;
        soon("its topics are subscribed to", self.app.link().subscribed()).await;
    }

    /// Waits until the entity is there and its state is as wished; gives the state.
    pub async fn until(&self, id: &str, what: &str, wished: impl Fn(&State) -> bool) -> State {
        let mut changes = self.app.house().changes();
        soon(&format!("{id} {what}"), async {
            loop {
                if let Some(state) = self.state(id).filter(&wished) {
                    return state;
                }
                // Entities come without a change of state: then the next look comes soon.
                let _ = tokio::time::timeout(std::time::Duration::from_millis(20), changes.recv()).await;
            }
        })
        .await
    }

    pub fn state(&self, id: &str) -> Option<State> {
        self.app.house().read().state(id).cloned()
    }

    /// Performs one action through the door; `Err` where policy does not allow it or it cannot be planned.
    pub async fn perform(&self, action: Action) -> Result<OutcomeEntry, String> {
        let door = self.app.door();
        let plan = door.plan(&[action]).map_err(|error| error.to_string())?;
        let principal = Principal {
            name: "test".into(),
            channel: Channel::Local,
            scopes: vec![Scope::Read, Scope::Command],
        };
        let asked = Asked { principal: &principal, conversation: None, taint: None, sent: &[] };
        let decided = door.decide(&plan, &asked);
        let permit = Permit::free(&decided).ok_or_else(|| decided.explain())?;
        let outcomes = door.perform(&plan, permit, &NoRecord, &CancellationToken::new()).await;
        Ok(outcomes.into_iter().next().unwrap())
    }

    /// The messages on these topics since `from`, in their order.
    pub fn sent(&self, topics: &[&str], from: usize) -> Vec<(String, String)> {
        let own = |message: &Inbound| topics.contains(&message.topic.as_str());
        let all = self.recorder.all();
        let since = all.iter().skip(from).filter(|message| own(message));
        since
            .map(|message| (message.topic.clone(), String::from_utf8_lossy(&message.payload).into_owned()))
            .collect()
    }

    pub async fn stop(self) {
        self.app.stop().await;
    }
}
