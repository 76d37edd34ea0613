//! The state of an entity while one message is read.

use std::borrow::Cow;

use serde_json::Value;

use crate::devices::codec::Payload;
use crate::home::{Attr, State, Update};

/// The state as one message changes it.
pub(super) struct View<'a, 'p> {
    pub now: &'a State,
    pub payload: &'a Payload<'p>,
    /// Whether the text is the payload itself, so that its JSON is parsed already.
    pub untouched: bool,
    pub update: Update,
}

impl View<'_, '_> {
    pub fn value(&self) -> Option<&str> {
        match &self.update.value {
            Some(value) => value.as_deref(),
            None => self.now.text(),
        }
    }

    pub fn attribute(&self, name: &str) -> Option<&Value> {
        match self.update.attributes.iter().rev().find(|(known, _)| known == name) {
            Some((_, value)) => value.as_ref(),
            None => self.now.attributes.get(name),
        }
    }

    /// Names of the attributes that are known now.
    pub fn names(&self) -> impl Iterator<Item = &Attr> {
        self.now.attributes.keys()
    }

    pub fn set(&mut self, value: impl Into<Cow<'static, str>>) {
        self.update.value = Some(Some(value.into()));
    }

    pub fn set_unknown(&mut self) {
        self.update.value = Some(None);
    }

    pub fn put(&mut self, name: impl Into<Attr>, value: impl Into<Value>) {
        // JSON's null is no value.
        self.update
            .attributes
            .push((name.into(), Some(value.into()).filter(|value: &Value| !value.is_null())));
    }

    pub fn clear(&mut self, name: impl Into<Attr>) {
        self.update.attributes.push((name.into(), None));
    }

    /// `text` as JSON; the payload's own parse is used where the text is the payload.
    pub fn json(&self, text: &str) -> Option<Cow<'_, Value>> {
        if self.untouched {
            return self.payload.json().map(Cow::Borrowed);
        }
        serde_json::from_str(text).ok().map(Cow::Owned)
    }
}
