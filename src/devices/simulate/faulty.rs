//! What becomes of the behaviour of a device when it has a fault.

use super::behave::{ANSWER, Step, as_it_is, healthy};
use super::fault::SimFault;
use super::world::Device;
use crate::home::{Args, Domain, Verb, attr};

/// The states of `device` after it is asked, faults included. `open_zones` are the names of contacts that keep an
/// alarm panel from arming.
pub(super) fn steps(device: &Device, verb: Verb, args: &Args, open_zones: &[String]) -> Vec<Step> {
    let right = healthy(device, verb, args, open_zones);
    match device.fault {
        None | Some(SimFault::Flapping(_)) => right,
        Some(SimFault::Silent | SimFault::Offline) => Vec::new(),
        Some(SimFault::Slow(by)) => {
            right.into_iter().map(|step| Step { after: step.after + by, ..step }).collect()
        }
        Some(SimFault::Stuck) => vec![as_it_is(device, ANSWER)],
        Some(SimFault::Contradicting) => {
            let after = right.last().map_or(ANSWER, |step| step.after);
            let wish = right.last().and_then(|step| step.value.as_deref());
            let opposite = wish.or(device.value.as_deref()).map(opposite);
            let mut step = as_it_is(device, after);
            step.value = opposite.map(str::to_owned).or(step.value);
            vec![step]
        }
        Some(SimFault::EchoOnly) => right
            .into_iter()
            .last()
            .map(|mut step| {
                step.attributes.retain(|(name, _)| !is_measured(name));
                Step { after: ANSWER, only_said: true, ..step }
            })
            .into_iter()
            .collect(),
        Some(SimFault::Reverting(after)) => {
            let end = right.last().map_or(ANSWER, |step| step.after);
            let mut steps = right;
            steps.push(as_it_is(device, end + after));
            steps
        }
        Some(SimFault::Jammed) => jammed(device, right),
    }
}

/// The way until half of it, then the state of a device that is stuck there.
fn jammed(device: &Device, right: Vec<Step>) -> Vec<Step> {
    let ends = [
        (Domain::Lock, "jammed"),
        (Domain::Vacuum, "error"),
        (Domain::LawnMower, "error"),
        (Domain::Cover, "open"),
        (Domain::Valve, "open"),
    ];
    let Some((_, end)) = ends.iter().find(|(domain, _)| *domain == device.domain) else {
        return vec![as_it_is(device, ANSWER)];
    };
    let half = right.len().div_ceil(2);
    let mut steps: Vec<Step> = right.into_iter().take(half).collect();
    if let Some(last) = steps.last().cloned() {
        steps.push(Step { after: last.after + ANSWER, ..last }.value(*end));
    }
    steps
}

/// The value that means the opposite; itself where there is none.
fn opposite(value: &str) -> &str {
    match value {
        "on" => "off",
        "off" => "on",
        "open" => "closed",
        "closed" => "open",
        "locked" => "unlocked",
        "unlocked" => "locked",
        "disarmed" => "armed_away",
        "armed_home" | "armed_away" | "armed_night" | "armed_vacation" | "armed_custom_bypass" => "disarmed",
        "playing" => "paused",
        "paused" => "playing",
        "cleaning" => "docked",
        "docked" => "cleaning",
        "home" => "not_home",
        "not_home" => "home",
        other => other,
    }
}

/// Whether an attribute is measured and not merely set.
fn is_measured(name: &str) -> bool {
    [
        attr::CURRENT_POSITION,
        attr::CURRENT_TILT_POSITION,
        attr::CURRENT_TEMPERATURE,
        attr::CURRENT_HUMIDITY,
        attr::HVAC_ACTION,
        attr::BATTERY_LEVEL,
    ]
    .contains(&name)
}
