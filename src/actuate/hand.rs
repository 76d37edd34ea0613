//! Waiting for the house after something was sent: which report ends the wait, and how.

use std::future::pending;

use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Duration, Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::confirm::{Goal, Seen};
use super::outcome::Outcome;
use super::perform::is_live;
use super::port::Port;
use crate::home::{Action, SharedHouse, State, Watch};

/// How long an opposite report after movement may stand: devices pass through odd values, and some reverse.
const REVERTED: Duration = Duration::from_secs(2);

/// One action whose effect is awaited.
pub(super) struct Hand<'a> {
    pub house: &'a SharedHouse,
    pub action: &'a Action,
    pub goal: &'a Goal,
    pub port: &'a dyn Port,
    /// Cancelled when somebody stops the mover.
    pub interrupt: &'a CancellationToken,
}

/// How the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// No report said anything about it.
    Silence,
    Ended {
        outcome: Outcome,
        cause: Option<&'static str>,
    },
}

/// What the reports said so far.
#[derive(Debug, Default)]
struct Told {
    moved: bool,
    /// The last report said the opposite; it counts at this time at the latest.
    opposite_until: Option<Instant>,
    /// Something was reported that is neither the goal nor its opposite.
    other: bool,
}

impl Hand<'_> {
    /// Waits for a live report with a number above `since` that ends the wait, at most as long as the goal allows.
    pub async fn wait(&self, watch: &mut Watch, since: u64) -> Wait {
        let deadline = Instant::now() + self.goal.within;
        let mut told = Told::default();
        if let Some(end) = self.read(&self.now(), &mut told, since, deadline) {
            return end;
        }
        loop {
            let settled = async {
                match told.opposite_until {
                    Some(at) => sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                change = watch.changes.recv() => match change {
                    Ok(change) if change.entity != self.action.entity => {}
                    Ok(change) => {
                        if let Some(end) = self.read(&change.state, &mut told, since, deadline) {
                            return end;
                        }
                    }
                    Err(RecvError::Lagged(_)) => {
                        if let Some(end) = self.read(&self.now(), &mut told, since, deadline) {
                            return end;
                        }
                    }
                    Err(RecvError::Closed) => return Wait::Silence,
                },
                () = settled => return ended(Outcome::Contradicted, Some("opposite")),
                () = sleep_until(deadline) => return told.at_the_end(),
                () = self.interrupt.cancelled() => return ended(Outcome::Unconfirmed, Some("stopped")),
            }
        }
    }

    fn now(&self) -> State {
        self.house.read().state(self.action.entity.as_str()).cloned().unwrap_or_default()
    }

    fn read(&self, state: &State, told: &mut Told, since: u64, deadline: Instant) -> Option<Wait> {
        match self.seen(state, since) {
            Seen::Satisfied => return Some(ended(Outcome::Confirmed, None)),
            Seen::Failed => return Some(ended(Outcome::Contradicted, Some("jammed"))),
            Seen::Pending => {
                told.moved = true;
                told.opposite_until = None;
            }
            Seen::Opposite => {
                let rest = if told.moved { Some(REVERTED) } else { self.goal.settle };
                let at = rest.map_or(deadline, |rest| (Instant::now() + rest).min(deadline));
                told.opposite_until.get_or_insert(at);
            }
            Seen::Other => {
                told.other |= state.reported.is_some_and(|stamp| stamp.sequence > since && stamp.live)
            }
        }
        None
    }

    fn seen(&self, state: &State, since: u64) -> Seen {
        let connection = self.port.connection();
        self.goal.look(
            state,
            |stamp| is_live(stamp, connection),
            |stamp| is_live(stamp, connection) && stamp.sequence > since,
        )
    }
}

impl Told {
    fn at_the_end(&self) -> Wait {
        if self.opposite_until.is_some() {
            ended(Outcome::Contradicted, Some("opposite"))
        } else if self.moved {
            ended(Outcome::Unconfirmed, Some("still_moving"))
        } else if self.other {
            ended(Outcome::Unconfirmed, Some("other_state"))
        } else {
            Wait::Silence
        }
    }
}

fn ended(outcome: Outcome, cause: Option<&'static str>) -> Wait {
    Wait::Ended { outcome, cause }
}
