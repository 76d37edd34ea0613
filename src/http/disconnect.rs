//! What becomes of a task whose client goes away before the result.

use std::sync::Arc;

use super::Shared;
use super::service::{Service, StopTarget, TaskHandle};
use crate::policy::Principal;

/// Stops a task when it is dropped before the task has finished, if that is wished.
pub(super) struct Disconnect {
    service: Arc<dyn Service>,
    task_id: String,
    by: Principal,
    cancel: bool,
}

impl Disconnect {
    pub(super) fn new(shared: &Shared, task: &TaskHandle, by: Principal, cancel: bool) -> Self {
        Self { service: Arc::clone(&shared.service), task_id: task.task_id.clone(), by, cancel }
    }

    /// Nothing is left to stop, or the client has had its answer.
    pub(super) fn finished(mut self) {
        self.cancel = false;
    }
}

impl Drop for Disconnect {
    fn drop(&mut self) {
        if !self.cancel {
            return;
        }
        let (service, by) = (Arc::clone(&self.service), self.by.clone());
        let task_id = std::mem::take(&mut self.task_id);
        tokio::spawn(async move {
            tracing::info!(task_id, "the client went away; its task is stopped as it wished");
            if let Err(error) = service.stop(StopTarget::Task(task_id), by).await {
                tracing::debug!(%error, "nothing was left to stop");
            }
        });
    }
}
