//! Home Assistant: whether its WebSocket API takes us, and what it offers.

use std::time::Duration;

use super::Finding;
use crate::app;
use crate::hass::{Choice, Problem, Status, probe};
use crate::settings::Settings;

/// Time for a big house.
const WITHIN: Duration = Duration::from_secs(20);
const CHECK: &str = "hass";

pub async fn examine(settings: &Settings, findings: &mut Vec<Finding>) {
    let Some(connection) = app::hass_connection(&settings.hass) else { return };
    let (url, choice) = (settings.hass.url.clone(), connection.choice.clone());
    match probe(connection, WITHIN).await {
        Status::Up { version, entities, missing } => {
            let says = format!("Home Assistant {version} at {url} gives {entities} entities");
            findings.push(match (entities, choice) {
                (0, Choice::Exposed) => Finding::fault(
                    CHECK,
                    says,
                    "expose entities there: Settings > Voice assistants > Expose; or set hass.entities",
                ),
                (0, Choice::Label(_)) => Finding::fault(
                    CHECK,
                    says,
                    "give entities, devices or areas there the label of hass.label",
                ),
                (0, Choice::All) => Finding::note(CHECK, says),
                (_, Choice::Exposed | Choice::Label(_) | Choice::All) => Finding::good(CHECK, says),
            });
            findings.extend(missing.into_iter().map(|what| Finding::note(CHECK, what)));
        }
        Status::Down(problem) => {
            let problem = problem.unwrap_or(Problem::Broken("there was no answer".into()));
            findings.push(Finding::fault(CHECK, problem.to_string(), mend(&problem)));
        }
    }
}

fn mend(problem: &Problem) -> &'static str {
    match problem {
        Problem::Unreachable(_) => "start Home Assistant, or correct hass.url",
        Problem::Tls(_) => "correct hass.url, or set hass.ca_file to the authority of its certificate",
        Problem::TokenFile(_) => "put a long-lived token alone into hass.token_file, readable by homeloop",
        Problem::TokenRefused => {
            "make a token as an administrator (Profile > Security > Long-lived access tokens) and put it into \
             hass.token_file"
        }
        Problem::TooOld(_) => "update Home Assistant",
        Problem::Protocol(_) => "correct hass.url: something else than Home Assistant may answer there",
        Problem::Broken(_) => "look at the log of Home Assistant, and try again",
    }
}
