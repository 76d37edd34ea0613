//! The task of the link: connect, serve, and begin anew.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::again::Deliveries;
use super::problem::Problem;
use super::shared::Shared;
use super::wire::{self, Message, Poller, Signal};
use super::{Arrival, Inbound};
use crate::mqtt::topics::check_topic;

/// First pause after a connection failed. It doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Longest pause while the broker is merely away: it must be found again within seconds.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// Longest pause where a person must change something first.
const LONGEST_PAUSE_REFUSED: Duration = Duration::from_secs(30);
/// A connection that lasted this long was a good one: the next pause is the first again.
const GOOD_AFTER: Duration = Duration::from_secs(30);
/// Time within which the broker must acknowledge all subscriptions after the connect.
const SUBSCRIBE_WITHIN: Duration = Duration::from_secs(30);
/// Shortest time between two fetches of what was lost to a slow reader.
const FETCH_EVERY: Duration = Duration::from_secs(60);

/// Runs until the link is stopped.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut failures = 0;
    while !shared.stopping() {
        let begun = Instant::now();
        let problem = connect_and_serve(&shared).await;
        if shared.stopping() {
            break;
        }
        failures = if begun.elapsed() >= GOOD_AFTER { 1 } else { failures + 1 };
        if failures == 1 {
            tracing::warn!(broker = %shared.settings.host, %problem, "no connection to the broker");
        } else {
            tracing::debug!(broker = %shared.settings.host, %problem, failures, "still no connection to the broker");
        }
        let pause = pause(failures, problem.needs_a_person(), shared.clock.random());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shared.stop.notified() => {}
        }
    }
}

/// One connection, from the socket to its end. A fresh client: it knows nothing of the one before.
async fn connect_and_serve(shared: &Shared) -> Problem {
    let (requests, mut poller) = match wire::open(&shared.settings) {
        Ok(client) => client,
        Err(problem) => {
            shared.say_down(&problem);
            return problem;
        }
    };
    let connected = tokio::select! {
        first = poller.poll() => first,
        () = shared.stop.notified() => return Problem::Stopped,
    };
    let problem = match connected {
        Ok(Signal::Connected { max_outgoing }) => {
            let connection = shared.connected(requests, max_outgoing);
            serve(shared, &mut poller, connection).await
        }
        Ok(other) => Problem::Other(format!("the client began with {other:?}")),
        Err(problem) => problem,
    };
    shared.disconnected(&mut poller, &problem);
    problem
}

/// Reads the wire until it breaks. The watchdog is our own: a client that hangs is dropped whatever it waits for.
async fn serve(shared: &Shared, poller: &mut Poller, connection: u64) -> Problem {
    let patience = poller.keep_alive().mul_f32(1.5);
    let subscribe_until = Instant::now() + SUBSCRIBE_WITHIN;
    let mut heard = Instant::now();
    let mut fetch_from = Instant::now();
    let mut deliveries = Deliveries::default();
    let mut up = shared.pump();
    if up {
        shared.announce_up(connection);
    }
    loop {
        let silent_at = heard + patience;
        let deadline = if up { silent_at } else { silent_at.min(subscribe_until) };
        let signal = match timeout_at(deadline, poller.poll()).await {
            Ok(Ok(signal)) => signal,
            Ok(Err(problem)) => return problem,
            Err(_) if !up && Instant::now() >= subscribe_until => return Problem::NotSubscribed,
            Err(_) => return Problem::Silent,
        };
        let mut settled = false;
        match signal {
            Signal::Message(message) if deliveries.is_again(&message) => shared.queue.count_repeated(),
            Signal::Message(message) => take_in(shared, message, connection),
            Signal::BadTopic => shared.queue.count_bad_topic(),
            Signal::Wrote(packet) => {
                shared.wrote(packet);
                continue;
            }
            Signal::Said => {
                shared.pump();
                continue;
            }
            Signal::Acknowledged { packet, refused } => shared.acknowledged(packet, refused),
            Signal::Subscribed(answers) => settled = shared.filters_acknowledged(answers),
            Signal::Disconnected => return Problem::Stopped,
            Signal::Connected { .. } | Signal::Heard => settled = shared.pump(),
        }
        heard = Instant::now();
        if settled && !up {
            up = true;
            shared.announce_up(connection);
        }
        if up && heard >= fetch_from && shared.queue.caught_up() {
            fetch_from = heard + FETCH_EVERY;
            shared.fetch_again();
        }
    }
}

fn take_in(shared: &Shared, message: Message, connection: u64) {
    // A broker may let `$` topics through; what breaks our rules cannot be a device's.
    if !message.topic.starts_with('$') && check_topic(&message.topic).is_err() {
        shared.queue.count_bad_topic();
        return;
    }
    let arrival = Arrival { at: shared.clock.now(), since_boot: shared.clock.since_boot(), connection };
    shared.queue.push(Inbound {
        topic: message.topic,
        payload: message.payload,
        retain: message.retain,
        response_topic: message.response_topic,
        correlation: message.correlation,
        sender: message.sender.filter(|_| shared.settings.embedded),
        arrival,
    });
}

/// Doubles with each failure up to a limit; between half and all of that, so that many clients do not come at once.
fn pause(failures: u32, needs_a_person: bool, random: u64) -> Duration {
    let longest = if needs_a_person { LONGEST_PAUSE_REFUSED } else { LONGEST_PAUSE };
    let doubled =
        FIRST_PAUSE.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    let whole = doubled.min(longest);
    let part = (random % 1000) as f64 / 1000.0;
    whole.mul_f64(0.5 + part / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_limit_with_jitter() {
        for (failures, refused, low, high) in [
            (1, false, 125, 250),
            (2, false, 250, 500),
            (4, false, 1000, 2000),
            (5, false, 1500, 3000),
            (200, false, 1500, 3000),
            (5, true, 2000, 4000),
            (40, true, 15_000, 30_000),
        ] {
            assert_eq!(pause(failures, refused, 0), Duration::from_millis(low), "{failures}");
            assert!(pause(failures, refused, 999) <= Duration::from_millis(high), "{failures}");
            assert!(pause(failures, refused, 999) > Duration::from_millis(high * 9 / 10), "{failures}");
        }
    }
}
