//! `policy`: what the rules of this home say about a sentence, without a daemon and without doing anything.

use std::process::ExitCode;

use anyhow::{Context, bail};

use super::Common;
use super::run::load;
use crate::clock::Clock;
use crate::devices::profile::Profiles;
use crate::home::{Action, Entity, House, State};
use crate::nlu::{Dialogue, Intent, Nlu, Request, Understanding};
use crate::policy::{Asked, Channel, Decided, Facts, Leaf, Policy, Principal, Scope, decide};
use crate::settings::given;
use crate::settings::home_file::HomeFile;

#[derive(Debug, clap::Args)]
pub struct PolicyCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Tell which rule decides about a sentence, and why. The states of the house are not known here: rules about them
    /// do not hold.
    Explain(Explain),
    /// Print the effective policy: the table, the limits and the rules of this home.
    Show,
}

#[derive(Debug, clap::Args)]
struct Explain {
    /// The sentence, as a person would say it.
    text: String,
    /// The channel that it comes through: local, http, mqtt, voice, chat, mcp, home_assistant or schedule.
    #[arg(long = "as", value_name = "CHANNEL", default_value = "local", value_parser = channel)]
    channel: Channel,
    /// The principal's name; without it that of the channel.
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// As if text from outside (a media title, a calendar) had been read before.
    #[arg(long)]
    tainted: bool,
}

fn channel(word: &str) -> Result<Channel, String> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).map_err(|error| error.to_string())
}

impl PolicyCommand {
    pub fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let settings = common.settings()?;
        let (home, policy) = load(&settings)?;
        let explain = match self.what {
            What::Show => {
                if common.json {
                    println!("{}", serde_json::to_string_pretty(&policy)?);
                } else {
                    print!("{policy}");
                }
                return Ok(ExitCode::SUCCESS);
            }
            What::Explain(explain) => explain,
        };
        let home = if given(&settings.home.file).is_some() {
            home
        } else {
            eprintln!("no home file is set; this is about the home of the demo");
            HomeFile::demo(&Profiles::embedded()?)?
        };
        let zone = settings.zone()?;
        let decided = explain.decide(&home.house(), &policy, zone)?;
        if common.json {
            println!("{}", serde_json::to_string_pretty(&decided)?);
        } else {
            print!("{}", decided.explain());
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Explain {
    fn decide(&self, house: &House, policy: &Policy, zone: chrono_tz::Tz) -> anyhow::Result<Decided> {
        let now = Clock::system().now();
        let local = now.with_timezone(&zone);
        let request = Request { text: &self.text, language: None, area: None, device: None, now: local };
        let nlu = Nlu::new().context("the words of the offline understanding")?;
        let intents = match nlu.understand(&request, house, &Dialogue::default()) {
            Understanding::Act(intents) => intents,
            Understanding::Answer { text, .. } => bail!("this only reads, and is always allowed: {text}"),
            Understanding::Ask { question, .. } => bail!("this is not clear yet: {question}"),
            Understanding::Refuse { reply, .. }
            | Understanding::Nothing { reply }
            | Understanding::NotUnderstood { reply, .. } => bail!("this does nothing: {reply}"),
        };
        let actions = leaves(&intents, house);
        let known: Vec<(&Action, &Entity)> = actions
            .iter()
            .filter_map(|action| Some((action, house.entity(action.entity.as_str())?.as_ref())))
            .collect();
        let state = State::default();
        let leaves: Vec<Leaf<'_>> =
            known.iter().map(|(action, entity)| Leaf { action, entity, state: &state }).collect();
        if leaves.is_empty() {
            bail!("this moves no device");
        }
        let word = serde_json::to_value(self.channel)?.as_str().unwrap_or_default().to_owned();
        let principal = Principal {
            name: self.principal.clone().unwrap_or(word),
            channel: self.channel,
            scopes: vec![Scope::Command],
        };
        let taint = self.tainted.then_some("somewhere outside");
        let asked = Asked { principal: &principal, conversation: None, taint, sent: &[] };
        let facts =
            Facts { now, local: local.naive_local(), somebody_home: None, alarm: None, outside: None };
        Ok(decide("", &leaves, &asked, &facts, policy, &[]))
    }
}

/// Every action on an entity that is no group, in the order of the sentence.
fn leaves(intents: &[Intent], house: &House) -> Vec<Action> {
    let mut actions: Vec<Action> = Vec::new();
    for intent in intents {
        match intent {
            Intent::Actions(given) => actions.extend(given.iter().cloned()),
            Intent::Scene(id) => {
                let steps = house.scenes.get(id).map(|scene| scene.steps.as_slice()).unwrap_or_default();
                actions.extend(steps.iter().map(|step| step.0.clone()));
            }
            Intent::Schedule { intents, .. } => actions.extend(leaves(intents, house)),
            Intent::ScheduleQuery
            | Intent::ScheduleCancel { .. }
            | Intent::Timer(_)
            | Intent::List(_)
            | Intent::Broadcast { .. }
            | Intent::History(_)
            | Intent::StopAll => {}
        }
    }
    let expand = |action: Action| {
        let one = move |leaf| Action { entity: leaf, verb: action.verb, args: action.args.clone() };
        house.leaves(&action.entity).into_iter().map(one).collect::<Vec<_>>()
    };
    actions.into_iter().flat_map(expand).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Decision;

    fn explained(text: &str, channel: Channel) -> anyhow::Result<Decided> {
        let house = HomeFile::demo(&Profiles::embedded().unwrap()).unwrap().house();
        let explain = Explain { text: text.into(), channel, principal: None, tainted: false };
        explain.decide(&house, &Policy::default(), chrono_tz::UTC)
    }

    #[test]
    fn a_sentence_is_explained_through_every_channel() {
        for channel in [Channel::Local, Channel::Voice, Channel::Mcp] {
            let decided = explained("unlock the front door", channel).unwrap();
            assert_eq!(decided.decision(), Decision::Ask);
            assert!(decided.explain().contains("G2 by the table, \"lock.unlock\": it lets people in"));
        }
        assert_eq!(explained("lock the front door", Channel::Voice).unwrap().decision(), Decision::Allow);
    }

    #[test]
    fn what_moves_nothing_is_said() {
        assert!(explained("is the front door locked?", Channel::Local).is_err());
        assert!(explained("frobnicate the gizmo", Channel::Local).is_err());
    }
}
