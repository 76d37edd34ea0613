//! Waking up at a time: tokio-cron-scheduler for the machine's clock, tokio's own sleep for a simulated one.
//!
//! The scheduler crate is asked for one-shots alone. Its repeated jobs stop after one delay that is longer than their
//! interval, and its zones are offsets fixed when a job is made; times are computed in [`super::when`] instead.
//! It cannot run under a simulated clock, because it reads the machine's.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_cron_scheduler::job::JobId;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

use crate::clock::Clock;

/// The scheduler crate cuts times to whole seconds, which would wake up to a second early.
const CUT_OFF: Duration = Duration::from_millis(999);

/// One alarm: set again, it forgets what it was set to.
pub(super) struct Alarm {
    rung: Arc<Notify>,
    source: Source,
}

enum Source {
    Cron { scheduler: JobScheduler, job: Option<JobId> },
    Sleep { sleeping: Option<JoinHandle<()>> },
}

impl Alarm {
    pub(super) async fn new(clock: &Clock) -> Result<Self, JobSchedulerError> {
        let source = if clock.is_simulated() {
            Source::Sleep { sleeping: None }
        } else {
            let scheduler = JobScheduler::new().await?;
            scheduler.start().await?;
            Source::Cron { scheduler, job: None }
        };
        Ok(Self { rung: Arc::default(), source })
    }

    /// Returns when the alarm has rung since the last call.
    pub(super) async fn rung(&self) {
        self.rung.notified().await;
    }

    /// Sets the alarm to ring after `wait`, or to be silent.
    pub(super) async fn set(&mut self, wait: Option<Duration>) -> Result<(), JobSchedulerError> {
        let rung = Arc::clone(&self.rung);
        match &mut self.source {
            Source::Cron { scheduler, job } => {
                if let Some(job) = job.take() {
                    // One that has run is gone already.
                    let _ = scheduler.remove(&job).await;
                }
                if let Some(wait) = wait {
                    let one_shot = Job::new_one_shot_async(wait + CUT_OFF, move |_, _| {
                        let rung = Arc::clone(&rung);
                        Box::pin(async move { rung.notify_one() })
                    })?;
                    *job = Some(scheduler.add(one_shot).await?);
                }
            }
            Source::Sleep { sleeping } => {
                if let Some(task) = sleeping.take() {
                    task.abort();
                }
                *sleeping = wait.map(|wait| {
                    tokio::spawn(async move {
                        tokio::time::sleep(wait).await;
                        rung.notify_one();
                    })
                });
            }
        }
        Ok(())
    }

    /// Ends what the alarm runs in the background.
    pub(super) async fn stop(&mut self) {
        match &mut self.source {
            Source::Cron { scheduler, .. } => {
                if let Err(error) = scheduler.shutdown().await {
                    tracing::warn!(%error, "the scheduler did not shut down");
                }
            }
            Source::Sleep { sleeping } => {
                if let Some(task) = sleeping.take() {
                    task.abort();
                }
            }
        }
    }
}
