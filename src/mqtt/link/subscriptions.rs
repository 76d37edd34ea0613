//! Which filters are wanted, and which of them still have to be said to the broker.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::wire::Requests;

/// Filters in one SUBSCRIBE packet.
const BATCH: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Our own tree: what is under it must arrive.
    own: String,
    /// Every wanted filter with the number of those who want it.
    wanted: HashMap<String, usize>,
    to_add: VecDeque<String>,
    to_remove: VecDeque<String>,
    /// The batch that the broker has not acknowledged yet. One at a time: a broker answers in order, and a house with
    /// five thousand topics must not flood it.
    asked: Option<Vec<String>>,
    refused: BTreeMap<String, String>,
}

impl Subscriptions {
    pub(super) fn new(own: String) -> Self {
        Self { own, ..Self::default() }
    }

    pub(super) fn add(&mut self, filters: Vec<String>, connected: bool) {
        for filter in filters {
            *self.wanted.entry(filter.clone()).or_default() += 1;
            if connected {
                self.to_add.push_back(filter);
            }
        }
    }

    pub(super) fn remove<'a>(&mut self, filters: impl IntoIterator<Item = &'a str>, connected: bool) {
        for filter in filters {
            let Some(count) = self.wanted.get_mut(filter) else { continue };
            *count -= 1;
            if *count == 0 {
                self.wanted.remove(filter);
                self.refused.remove(filter);
                if connected {
                    self.to_remove.push_back(filter.to_owned());
                }
            }
        }
    }

    /// A new connection knows nothing: everything is to be said again.
    pub(super) fn begin(&mut self) {
        self.asked = None;
        self.to_remove.clear();
        self.refused.clear();
        self.to_add.clear();
        self.again();
    }

    /// Asks for everything once more, so that the broker sends again what it has retained.
    pub(super) fn again(&mut self) {
        let mut all: Vec<_> = self.wanted.keys().cloned().collect();
        all.sort_unstable();
        self.to_add.extend(all);
    }

    /// Asks for these once more, as far as they are wanted.
    pub(super) fn once_more(&mut self, filters: Vec<String>) {
        self.to_add.extend(filters);
    }

    /// Hands as much to the client as it takes without waiting.
    pub(super) fn pump(&mut self, requests: &Requests) {
        while let Some(filter) = self.to_remove.front() {
            if !self.wanted.contains_key(filter) && !requests.try_unsubscribe(filter) {
                break;
            }
            self.to_remove.pop_front();
        }
        if self.asked.is_some() || self.to_add.is_empty() {
            return;
        }
        let mut batch: Vec<String> = Vec::with_capacity(BATCH.min(self.to_add.len()));
        while batch.len() < BATCH {
            let Some(filter) = self.to_add.pop_front() else { break };
            if self.wanted.contains_key(&filter) && !batch.contains(&filter) {
                batch.push(filter);
            }
        }
        if batch.is_empty() {
            return;
        }
        if requests.try_subscribe(&batch, &self.own) {
            self.asked = Some(batch);
        } else {
            batch.into_iter().rev().for_each(|filter| self.to_add.push_front(filter));
        }
    }

    /// The broker answered the batch, filter by filter: a reason where it refused.
    pub(super) fn acknowledged(&mut self, answers: Vec<Option<String>>) {
        for (filter, answer) in self.asked.take().unwrap_or_default().into_iter().zip(answers) {
            match answer {
                Some(reason) => {
                    tracing::warn!(filter, reason, "the broker refused a subscription");
                    self.refused.insert(filter, reason);
                }
                None => {
                    self.refused.remove(&filter);
                }
            }
        }
    }

    /// Whether the broker has answered everything.
    pub(super) fn settled(&self) -> bool {
        self.asked.is_none() && self.to_add.is_empty()
    }

    pub(super) fn refused(&self) -> BTreeMap<String, String> {
        self.refused.clone()
    }
}
