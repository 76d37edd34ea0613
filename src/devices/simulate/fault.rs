//! What can be wrong with a simulated device.

use std::time::Duration;

use serde::Deserialize;

/// A fault of one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SimFault {
    /// Does nothing and says nothing.
    Silent,
    /// Does everything, this much later.
    Slow(Duration),
    /// Does nothing and reports the state that it has.
    Stuck,
    /// Ends in the opposite of what was asked, and reports it.
    Contradicting,
    /// Repeats the wish as its state and does nothing: measured attributes stay.
    EchoOnly,
    /// Does it, reports it, and is back as before after this long.
    Reverting(Duration),
    /// Is not reachable and says so by its availability.
    Offline,
    /// Goes away and comes back, each time after this long.
    Flapping(Duration),
    /// Begins and gets stuck on the way: a lock jams, a cover stops half-way.
    Jammed,
}

/// A text that names no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no fault: expected silent, slow, stuck, contradicting, echo_only, reverting, offline, flapping, \
     jammed or none, or {{\"fault\": …, \"seconds\": …}}"
)]
pub struct BadFault(pub String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultJson {
    fault: String,
    seconds: Option<f64>,
}

impl SimFault {
    /// Reads the name of a fault, or JSON with a time. `none` and nothing are no fault.
    pub fn parse(text: &str) -> Result<Option<Self>, BadFault> {
        let bad = || BadFault(text.chars().take(80).collect());
        let text = text.trim();
        let json = if text.starts_with('{') {
            serde_json::from_str(text).map_err(|_| bad())?
        } else {
            FaultJson { fault: text.to_owned(), seconds: None }
        };
        let after = |usual: f64| {
            let seconds = json.seconds.unwrap_or(usual);
            (0.0..=3600.0).contains(&seconds).then(|| Duration::from_secs_f64(seconds)).ok_or_else(bad)
        };
        Ok(Some(match json.fault.as_str() {
            "" | "none" => return Ok(None),
            "silent" => SimFault::Silent,
            "slow" => SimFault::Slow(after(20.0)?),
            "stuck" => SimFault::Stuck,
            "contradicting" => SimFault::Contradicting,
            "echo_only" => SimFault::EchoOnly,
            "reverting" => SimFault::Reverting(after(2.0)?),
            "offline" => SimFault::Offline,
            "flapping" => SimFault::Flapping(after(2.0)?),
            "jammed" => SimFault::Jammed,
            _ => return Err(bad()),
        }))
    }
}
