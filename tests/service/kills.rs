//! kill -9 of the real daemon between "due" and "done", fifty times: a gated step never runs twice.
//!
//! Each run schedules an unlock, approves it twice (when it is made and when it is due), and kills the daemon at one
//! of five moments on the way. The lock and the broker live on, and count.

use homeloop::mqtt::link::Inbound;
use serde_json::{Value, json};

use crate::common::mosquitto::{Mosquitto, Options};
use crate::common::recorder::Recorder;
use crate::common::soon;
use crate::site::{Daemon, Devices, Site};

/// Houses side by side, and kills of each: a run waits most of its time.
const HOUSES: usize = 10;
const KILLS: usize = 5;

/// When the daemon is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The task of the firing is in the journal.
    Accepted,
    /// The question to a person is out.
    Asked,
    /// The person has just approved.
    Approved,
    /// The bytes reached the broker.
    Sent,
    /// The result is out.
    Done,
}

const MOMENTS: [Moment; 5] = [Moment::Accepted, Moment::Asked, Moment::Approved, Moment::Sent, Moment::Done];

fn home(number: usize) -> String {
    format!(
        "[[entity]]\nid = \"lock.door_{number}\"\nname = \"Front door\"\nprofile = \"plain.lock\"\n\
         with = {{ topic = \"kill{number}/door\" }}\nsimulate = {{ value = \"locked\", seconds = 0.05 }}\n"
    )
}

/// One house with its lock, and what its broker has seen of it.
struct House<'r> {
    site: Site,
    devices: Devices,
    recorder: &'r Recorder,
    number: usize,
    approved: usize,
}

impl House<'_> {
    fn lock(&self) -> String {
        format!("lock.door_{}", self.number)
    }

    /// Unlocks that reached the broker so far.
    fn sent(&self) -> usize {
        let topic = format!("kill{}/door/set", self.number);
        self.recorder.on(&topic).len()
    }

    /// The events of tasks that a schedule started, as the broker saw them.
    fn is_of_firing(&self, message: &Inbound, event: &str) -> bool {
        message.topic.starts_with(&format!("{}/task/", self.site.base))
            && serde_json::from_slice::<Value>(&message.payload).is_ok_and(|body| {
                body["event"] == event
                    && (event != "accepted" || body["command"]["origin"]["channel"] == "schedule")
            })
    }

    /// Waits for a message that came after the first `from`.
    async fn seen(&self, what: &str, from: usize, wanted: impl Fn(&Inbound) -> bool) {
        let new = |message: &Inbound| {
            wanted(message) && self.recorder.all().iter().skip(from).any(|other| other == message)
        };
        self.recorder.wait(what, new).await;
    }

    /// Makes the schedule, which a person approves.
    async fn schedule(&mut self, daemon: &Daemon) {
        let made = daemon.say_approved("unlock the front door in 1 second").await;
        assert_eq!(made["exit"], "done", "{made}");
        assert_eq!(made["outcomes"], json!([]), "nothing is sent when it is made: {made}");
    }

    /// Goes with the firing up to `moment`. Messages from `from` on are of this run.
    async fn until(&mut self, daemon: &Daemon, moment: Moment, from: usize) {
        self.seen("the firing", from, |message| self.is_of_firing(message, "accepted")).await;
        if moment == Moment::Accepted {
            return;
        }
        self.seen("the question", from, |message| self.is_of_firing(message, "approval_asked")).await;
        if moment == Moment::Asked {
            return;
        }
        daemon.approve_next().await;
        self.approved += 1;
        let set = format!("kill{}/door/set", self.number);
        match moment {
            Moment::Accepted | Moment::Asked | Moment::Approved => {}
            Moment::Sent => self.seen("the bytes", from, |message| message.topic == set).await,
            Moment::Done => {
                self.seen("the outcome", from, |message| self.is_of_firing(message, "outcome")).await
            }
        }
    }

    /// Brings everything that is open to its end, whatever the crash left behind.
    async fn settle(&mut self, daemon: &Daemon) {
        soon("every task ends", async {
            loop {
                for approval in daemon.get("/api/approvals").await.as_array().expect("a list") {
                    if daemon.approve(approval).await.0 == 200 {
                        self.approved += 1;
                    }
                }
                let tasks = daemon.get("/api/tasks").await;
                if tasks.as_array().expect("a list").iter().all(|task| task["state"] == "finished") {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    async fn run(mut self) -> usize {
        let mut daemon = self.site.start().await;
        for kill in 0..KILLS {
            let moment = MOMENTS[(kill + self.number) % MOMENTS.len()];
            daemon.until(&self.lock(), "locked").await;
            let (from, before) = (self.recorder.all().len(), self.sent());
            self.schedule(&daemon).await;
            self.until(&daemon, moment, from).await;
            daemon.kill().await;
            daemon = self.site.start().await;
            self.settle(&daemon).await;
            let sent = self.sent() - before;
            assert!(sent <= 1, "killed when {moment:?}: unlocked {sent} times");
            assert!(self.sent() <= self.approved, "more unlocks than approvals");
            if matches!(moment, Moment::Sent | Moment::Done | Moment::Asked) {
                assert_eq!(sent, 1, "killed when {moment:?}: an approved unlock is carried out");
            }
            self.devices.set(&self.lock(), "locked").await;
        }
        daemon.kill().await;
        let verified = self.site.cli(&["--json", "journal", "verify"]).await;
        let verified: Value = serde_json::from_slice(&verified.stdout).expect("JSON");
        assert_eq!(verified["intact"], true, "{verified}");
        self.sent()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_kills_between_due_and_done_never_run_a_gated_step_twice() {
    let Some(broker) = Mosquitto::start(Options::default()).await else { return };
    let recorder = Recorder::start(broker.address, None).await;
    let mut houses = Vec::new();
    for number in 0..HOUSES {
        let home = home(number);
        let devices = Devices::start(&home, broker.address, None, &format!("kill{number}-door")).await;
        let id = format!("kill{number}");
        let site = Site::new(&id, &home, broker.address, &format!("client_id = \"{id}\""));
        houses.push(House { site, devices, recorder: &recorder, number, approved: 0 });
    }
    let sent = futures_util::future::join_all(houses.into_iter().map(House::run)).await;
    // Three of five moments leave an unlock that must have been carried out.
    assert!(sent.iter().sum::<usize>() >= HOUSES * KILLS * 3 / 5, "{sent:?}");
}
