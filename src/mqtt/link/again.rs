//! Messages that a broker delivers again because it missed our acknowledgement: they are taken once.
//!
//! A link begins each connection without a session, so what it did not acknowledge before is never sent again. Within a
//! connection MQTT 3.1.1 lets a broker repeat a message; without this a command would run twice.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::wire::Message;

/// Deliveries that are remembered: more than a broker has on their way to us at a time.
const REMEMBERED: usize = 256;

/// The last deliveries of one connection.
#[derive(Default)]
pub(super) struct Deliveries {
    last: VecDeque<(u16, u64)>,
}

impl Deliveries {
    /// Whether this very message was delivered before: the broker says so, and it is the same under the same number.
    pub(super) fn is_again(&mut self, message: &Message) -> bool {
        if message.packet == 0 {
            return false;
        }
        let mut content = DefaultHasher::new();
        (&message.topic, &message.payload[..]).hash(&mut content);
        let delivery = (message.packet, content.finish());
        if message.again && self.last.contains(&delivery) {
            return true;
        }
        if self.last.len() >= REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back(delivery);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(packet: u16, again: bool, payload: &str) -> Message {
        Message {
            topic: "homeloop/home/command".into(),
            payload: payload.to_owned().into(),
            retain: false,
            packet,
            again,
            response_topic: None,
            correlation: None,
            sender: None,
        }
    }

    #[test]
    fn f6_a_message_that_is_delivered_again_is_taken_once() {
        let mut deliveries = Deliveries::default();
        for (packet, again, payload, repeated) in [
            (1, false, "brighter", false),
            (1, true, "brighter", true),
            (1, true, "brighter", true),
            // Said twice by a person, another message under that number, or without a number: all of them count.
            (1, false, "brighter", false),
            (2, true, "brighter", false),
            (1, true, "darker", false),
            (0, true, "brighter", false),
            (0, true, "brighter", false),
        ] {
            let found = deliveries.is_again(&message(packet, again, payload));
            assert_eq!(found, repeated, "{packet} {again} {payload}");
        }
        for packet in 3..=600 {
            assert!(!deliveries.is_again(&message(packet, false, "x")));
        }
        assert_eq!(deliveries.last.len(), REMEMBERED, "bounded");
        assert!(
            deliveries.is_again(&message(600, true, "x")) && !deliveries.is_again(&message(3, true, "x"))
        );
    }
}
