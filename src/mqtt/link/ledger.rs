//! Who waits for the acknowledgement of which packet.

use std::collections::{HashMap, VecDeque};

use tokio::sync::oneshot;

use super::problem::Problem;
use super::{Qos, SendError};

pub(super) type Answer = oneshot::Sender<Result<(), SendError>>;

/// The publishes of one connection, from the hand-over to the client until the broker's acknowledgement.
///
/// The client takes requests in order and gives out packet ids as it writes, so the oldest waiter is the one that an
/// "is written" is about.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    handed_over: VecDeque<(Qos, Answer)>,
    written: HashMap<u16, Answer>,
}

impl Ledger {
    pub(super) fn add(&mut self, qos: Qos, answer: Answer) {
        self.handed_over.push_back((qos, answer));
    }

    /// The client wrote the oldest publish, as `packet`; QoS 0 needs no more than that.
    pub(super) fn wrote(&mut self, packet: u16) {
        match self.handed_over.pop_front() {
            Some((Qos::AtMostOnce, answer)) => tell(answer, Ok(())),
            Some((Qos::AtLeastOnce | Qos::ExactlyOnce, answer)) => {
                // An id that comes again without an acknowledgement leaves the older publish uncertain.
                if let Some(older) = self.written.insert(packet, answer) {
                    tell(older, Err(SendError::Uncertain));
                }
            }
            None => tracing::warn!(packet, "the client wrote a publish that nobody asked for"),
        }
    }

    pub(super) fn acknowledged(&mut self, packet: u16, refused: Option<String>) {
        if let Some(answer) = self.written.remove(&packet) {
            tell(answer, refused.map_or(Ok(()), |reason| Err(SendError::Refused(reason))));
        }
    }

    /// The connection is over. The last `unsent` publishes were never taken by the client; of all others nobody knows.
    pub(super) fn close(&mut self, unsent: usize, problem: &Problem) {
        let taken = self.handed_over.len().saturating_sub(unsent);
        for (position, (_, answer)) in self.handed_over.drain(..).enumerate() {
            let error =
                if position < taken { SendError::Uncertain } else { SendError::Down(problem.clone()) };
            tell(answer, Err(error));
        }
        for (_, answer) in self.written.drain() {
            tell(answer, Err(SendError::Uncertain));
        }
    }
}

fn tell(answer: Answer, result: Result<(), SendError>) {
    // A caller that no longer waits is no fault.
    let _ = answer.send(result);
}

#[cfg(test)]
mod tests {
    use super::*;

    type Waiting = oneshot::Receiver<Result<(), SendError>>;

    fn add(ledger: &mut Ledger, qos: Qos) -> Waiting {
        let (answer, waiting) = oneshot::channel();
        ledger.add(qos, answer);
        waiting
    }

    #[test]
    fn answers_follow_the_acknowledgements() {
        let mut ledger = Ledger::default();
        let mut first = add(&mut ledger, Qos::AtLeastOnce);
        let mut fleeting = add(&mut ledger, Qos::AtMostOnce);
        let mut second = add(&mut ledger, Qos::ExactlyOnce);
        ledger.wrote(1);
        ledger.wrote(0);
        ledger.wrote(2);
        assert_eq!(fleeting.try_recv(), Ok(Ok(())));
        assert!(first.try_recv().is_err(), "written is not acknowledged");
        ledger.acknowledged(2, None);
        ledger.acknowledged(1, Some("not authorized".into()));
        assert_eq!(second.try_recv(), Ok(Ok(())));
        assert_eq!(first.try_recv(), Ok(Err(SendError::Refused("not authorized".into()))));
    }

    #[test]
    fn a_broken_connection_is_uncertain_unless_nothing_left() {
        let mut ledger = Ledger::default();
        let mut written = add(&mut ledger, Qos::AtLeastOnce);
        let mut taken = add(&mut ledger, Qos::AtLeastOnce);
        let mut queued = add(&mut ledger, Qos::AtLeastOnce);
        ledger.wrote(1);
        ledger.close(1, &Problem::Silent);
        assert_eq!(written.try_recv(), Ok(Err(SendError::Uncertain)));
        assert_eq!(taken.try_recv(), Ok(Err(SendError::Uncertain)));
        assert_eq!(queued.try_recv(), Ok(Err(SendError::Down(Problem::Silent))));
    }
}
