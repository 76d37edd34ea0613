//! When running tasks were accepted, and under which id: for durations in results and figures.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};

/// When a task was accepted, and the id that its sender gave it.
type Start = (DateTime<Utc>, Option<String>);

/// Running tasks with their start. Bounded by the number of tasks that can be open.
#[derive(Default)]
pub struct Started {
    tasks: Mutex<HashMap<String, Start>>,
}

impl Started {
    pub fn note(&self, task: &str, at: DateTime<Utc>, id: Option<String>) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).insert(task.to_owned(), (at, id));
    }

    pub fn get(&self, task: &str) -> Option<Start> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).get(task).cloned()
    }

    /// The tasks that have no result yet, as far as was heard.
    pub fn tasks(&self) -> Vec<String> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    pub fn forget(&self, task: &str) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).remove(task);
    }
}
