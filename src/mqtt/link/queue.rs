//! Messages between the socket and their reader: bounded, and never a reason to stop reading the socket.
//!
//! A slow reader must not make the broker drop messages or the keep-alive fail, so the socket is always read. When many
//! messages wait, a newer message takes the place of an older one on the same topic: of a state only the last value
//! counts. Topics of our own tree are never merged. When even that is too much, new messages are dropped and counted.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::Inbound;

/// Bounds of the queue.
#[derive(Debug, Clone)]
pub struct QueueLimits {
    /// Most messages that wait.
    pub messages: usize,
    /// Most bytes of topics and payloads that wait.
    pub bytes: usize,
    /// Number of waiting messages from which on topics are merged.
    pub merge_from: usize,
    /// Topics under this prefix are never merged; our own tree.
    pub keep_under: String,
}

impl Default for QueueLimits {
    /// 65,536 messages, 64 MiB, merged from 4,096 on.
    fn default() -> Self {
        Self { messages: 65_536, bytes: 64 << 20, merge_from: 4_096, keep_under: "homeloop/".to_owned() }
    }
}

/// What became of the messages so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueCounters {
    pub received: u64,
    /// Replaced by a newer message on the same topic before they were read.
    pub merged: u64,
    /// Dropped because the queue was full.
    pub dropped: u64,
    /// Dropped because the topic was not UTF-8 or broke the rules of topics.
    pub bad_topics: u64,
    /// Dropped because the broker delivered them a second time.
    pub repeated: u64,
}

pub(super) struct Queue {
    limits: QueueLimits,
    waiting: Mutex<Waiting>,
    arrived: Notify,
    received: AtomicU64,
    merged: AtomicU64,
    dropped: AtomicU64,
    bad_topics: AtomicU64,
    repeated: AtomicU64,
    /// Whether something was dropped since [`Queue::caught_up`] last said yes.
    lossy: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    messages: VecDeque<Inbound>,
    bytes: usize,
    /// Number of messages that were ever taken out; position in `messages` is number of arrival minus this.
    taken: u64,
    /// Number of arrival of the last message per topic; only while topics are merged.
    last: HashMap<String, u64>,
    closed: bool,
}

/// The reader's end.
pub struct Arrivals {
    queue: Arc<Queue>,
}

impl Arrivals {
    /// The next message, in order of arrival; `None` after the link was stopped and everything was read.
    pub async fn recv(&mut self) -> Option<Inbound> {
        loop {
            if let Some(message) = self.try_recv() {
                return Some(message);
            }
            if self.queue.lock().closed {
                return self.try_recv();
            }
            self.queue.arrived.notified().await;
        }
    }

    /// The next message, if one waits.
    pub fn try_recv(&mut self) -> Option<Inbound> {
        let mut waiting = self.queue.lock();
        let message = waiting.messages.pop_front()?;
        waiting.taken += 1;
        waiting.bytes = waiting.bytes.saturating_sub(weight(&message));
        if waiting.messages.is_empty() {
            waiting.last.clear();
        }
        Some(message)
    }
}

impl Queue {
    pub(super) fn new(limits: QueueLimits) -> (Arc<Self>, Arrivals) {
        let queue = Arc::new(Self {
            limits,
            waiting: Mutex::default(),
            arrived: Notify::new(),
            received: AtomicU64::new(0),
            merged: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            bad_topics: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
            lossy: AtomicBool::new(false),
        });
        (queue.clone(), Arrivals { queue })
    }

    /// Takes a message in, at the place of an older one or at the end, or drops it.
    pub(super) fn push(&self, message: Inbound) {
        self.received.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.lock();
        let weight = weight(&message);
        let merging = waiting.messages.len() >= self.limits.merge_from;
        if merging && !message.topic.starts_with(&self.limits.keep_under) {
            if waiting.last.is_empty() {
                waiting.index();
            }
            if waiting.replace(&message, weight, self.limits.bytes) {
                self.merged.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
        if waiting.messages.len() >= self.limits.messages || waiting.bytes + weight > self.limits.bytes {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            self.lossy.store(true, Ordering::Release);
            return;
        }
        if !waiting.last.is_empty() {
            let number = waiting.next_number();
            waiting.last.insert(message.topic.clone(), number);
        }
        waiting.bytes += weight;
        waiting.messages.push_back(message);
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Whether messages were dropped and the reader has room again: then what is retained is worth asking for once
    /// more. Says yes once for each time of loss.
    pub(super) fn caught_up(&self) -> bool {
        self.lossy.load(Ordering::Acquire)
            && self.lock().messages.len() <= self.limits.messages / 4
            && self.lossy.swap(false, Ordering::AcqRel)
    }

    pub(super) fn count_bad_topic(&self) {
        self.bad_topics.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_repeated(&self) {
        self.repeated.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    pub(super) fn counters(&self) -> QueueCounters {
        QueueCounters {
            received: self.received.load(Ordering::Relaxed),
            merged: self.merged.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            bad_topics: self.bad_topics.load(Ordering::Relaxed),
            repeated: self.repeated.load(Ordering::Relaxed),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn next_number(&self) -> u64 {
        self.taken + self.messages.len() as u64
    }

    fn index(&mut self) {
        let taken = self.taken;
        self.last =
            (taken..).zip(&self.messages).map(|(number, message)| (message.topic.clone(), number)).collect();
    }

    /// Puts `message` in the place of the waiting one on its topic, if there is one and both are of a kind:
    /// a live message must not hide behind the mark of a retained one, nor the other way round.
    fn replace(&mut self, message: &Inbound, weight_new: usize, most_bytes: usize) -> bool {
        let Some(number) = self.last.get(&message.topic) else { return false };
        let Some(position) =
            number.checked_sub(self.taken).and_then(|position| usize::try_from(position).ok())
        else {
            return false;
        };
        let Some(old) = self.messages.get_mut(position) else { return false };
        let bytes = self.bytes.saturating_sub(weight(old)) + weight_new;
        if old.retain != message.retain || old.topic != message.topic || bytes > most_bytes {
            return false;
        }
        self.bytes = bytes;
        old.clone_from(message);
        true
    }
}

fn weight(message: &Inbound) -> usize {
    message.topic.len() + message.payload.len() + size_of::<Inbound>()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::DateTime;

    use super::super::Arrival;
    use super::*;

    fn message(topic: &str, payload: &str) -> Inbound {
        Inbound {
            topic: topic.into(),
            payload: payload.to_owned().into(),
            retain: false,
            response_topic: None,
            correlation: None,
            sender: None,
            arrival: Arrival { at: DateTime::UNIX_EPOCH, since_boot: Duration::ZERO, connection: 1 },
        }
    }

    fn limits(messages: usize, merge_from: usize) -> QueueLimits {
        QueueLimits { messages, bytes: 1 << 20, merge_from, keep_under: "homeloop/".into() }
    }

    fn drain(arrivals: &mut Arrivals) -> Vec<(String, String)> {
        std::iter::from_fn(|| arrivals.try_recv())
            .map(|message| (message.topic, String::from_utf8_lossy(&message.payload).into_owned()))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(topic, payload)| ((*topic).to_owned(), (*payload).to_owned())).collect()
    }

    #[test]
    fn order_is_kept_and_nothing_merged_while_few_wait() {
        let (queue, mut arrivals) = Queue::new(limits(10, 5));
        for payload in ["1", "2", "3"] {
            queue.push(message("a", payload));
        }
        assert_eq!(drain(&mut arrivals), pairs(&[("a", "1"), ("a", "2"), ("a", "3")]));
        assert_eq!(queue.counters(), QueueCounters { received: 3, ..QueueCounters::default() });
    }

    #[test]
    fn the_last_value_of_a_topic_survives_a_storm() {
        let (queue, mut arrivals) = Queue::new(limits(10, 2));
        queue.push(message("a", "0"));
        queue.push(message("b", "0"));
        assert_eq!(arrivals.try_recv().map(|message| message.topic).as_deref(), Some("a"));
        for round in 0..1000 {
            queue.push(message("a", &round.to_string()));
            queue.push(message("b", &round.to_string()));
            queue.push(message("c", &round.to_string()));
        }
        let all = drain(&mut arrivals);
        for topic in ["a", "b", "c"] {
            let last = all.iter().rfind(|(name, _)| name == topic).map(|(_, payload)| payload.as_str());
            assert_eq!(last, Some("999"), "{topic}");
        }
        assert!(all.len() <= 6, "{}", all.len());
        assert_eq!(queue.counters().dropped, 0);
    }

    #[test]
    fn commands_are_never_merged_and_a_full_queue_keeps_the_old() {
        let (queue, mut arrivals) = Queue::new(limits(4, 1));
        for payload in ["1", "2", "3", "4", "5"] {
            queue.push(message("homeloop/home/command", payload));
        }
        queue.push(message("new/topic", "x"));
        assert!(!queue.caught_up(), "still full");
        assert_eq!(drain(&mut arrivals).len(), 4);
        assert!(queue.caught_up());
        assert!(!queue.caught_up(), "asked for once");
        assert_eq!(queue.counters().dropped, 2);
        queue.push(message("a", "again"));
        assert_eq!(drain(&mut arrivals), pairs(&[("a", "again")]));
    }

    #[test]
    fn a_retained_message_does_not_replace_a_live_one() {
        let (queue, mut arrivals) = Queue::new(limits(10, 1));
        queue.push(message("a", "live"));
        queue.push(Inbound { retain: true, ..message("a", "old") });
        assert_eq!(drain(&mut arrivals), pairs(&[("a", "live"), ("a", "old")]));
    }

    /// A million topics: what came first is kept, all else is dropped and counted, and the reader gets new ones again.
    #[test]
    fn s56_of_a_million_topics_the_first_are_kept_and_the_rest_is_counted() {
        const TOPICS: u64 = 1_000_000;
        let (queue, mut arrivals) = Queue::new(QueueLimits::default());
        for number in 0..TOPICS {
            queue.push(message(&format!("t/{number}"), "x"));
        }
        let most = QueueLimits::default().messages as u64;
        let expected = QueueCounters { received: TOPICS, dropped: TOPICS - most, ..QueueCounters::default() };
        assert_eq!(queue.counters(), expected);
        for number in 0..most {
            let kept = arrivals.try_recv().map(|message| message.topic);
            assert_eq!(kept, Some(format!("t/{number}")));
        }
        assert!(arrivals.try_recv().is_none());
        queue.push(message("t/later", "x"));
        assert_eq!(drain(&mut arrivals), pairs(&[("t/later", "x")]));
        assert!(queue.lock().last.is_empty(), "and no topic is remembered");
    }

    #[test]
    fn s56_bytes_are_bounded() {
        let (queue, mut arrivals) = Queue::new(QueueLimits { bytes: 2000, ..limits(1000, 500) });
        for number in 0..100 {
            queue.push(message(&format!("t/{number}"), &"x".repeat(500)));
        }
        let kept = drain(&mut arrivals).len();
        assert!((1..=3).contains(&kept), "{kept}");
        assert_eq!(queue.counters().dropped, 100 - kept as u64);
    }
}
