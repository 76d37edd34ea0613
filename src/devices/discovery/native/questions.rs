//! Whom to ask for their state: devices that keep none retained say it when it changes, or minutes later.

use std::collections::BTreeMap;

use super::MAX_DEVICES;
use crate::devices::codec::Message;

/// Questions by device. Each is asked once on a connection.
#[derive(Default)]
pub(super) struct Questions {
    devices: BTreeMap<String, Asked>,
    /// How many of them were not asked yet.
    open: usize,
}

struct Asked {
    messages: Vec<Message>,
    done: bool,
}

impl Questions {
    /// Notes what a device is to be asked. One that was asked the same already is not asked again.
    pub fn ask(&mut self, device: &str, messages: Vec<Message>) {
        match self.devices.get(device) {
            Some(known) if known.messages == messages => return,
            None if self.devices.len() >= MAX_DEVICES => return,
            Some(_) | None => {}
        }
        self.remove(device);
        self.devices.insert(device.to_owned(), Asked { messages, done: false });
        self.open += 1;
    }

    /// A device that is gone is not asked any more.
    pub fn remove(&mut self, device: &str) {
        if self.devices.remove(device).is_some_and(|asked| !asked.done) {
            self.open -= 1;
        }
    }

    pub fn is_open(&self) -> bool {
        self.open > 0
    }

    /// What is to be asked now: of those that were not asked yet, or `anew` of all.
    pub fn take(&mut self, anew: bool) -> Vec<Message> {
        self.open = 0;
        let due = self.devices.values_mut().filter(|asked| anew || !asked.done);
        due.flat_map(|asked| {
            asked.done = true;
            asked.messages.clone()
        })
        .collect()
    }
}
