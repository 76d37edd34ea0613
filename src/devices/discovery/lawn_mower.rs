//! Lawn mowers.

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, State, Update, Verb};

const ACTIVITIES: &[&str] = &["mowing", "docked", "paused", "returning", "error", "idle"];

/// Verb, name of its keys, what Home Assistant sends.
const VERBS: &[(Verb, &str, &str)] = &[
    (Verb::StartMowing, "start_mowing", "start_mowing"),
    (Verb::Pause, "pause", "pause"),
    (Verb::Dock, "dock", "dock"),
    (Verb::Stop, "stop", "stop"),
];

struct LawnMower {
    commands: Vec<(Verb, Command, &'static str)>,
    optimistic: bool,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let read = Read::of(fields, "activity_state_topic", "activity_value_template", (), Undefined::Raw)?;
    let reports = read.is_some();
    let mut commands = Vec::new();
    for (verb, name, payload) in VERBS {
        let command =
            fields.command(&format!("{name}_command_topic"), &format!("{name}_command_template"))?;
        commands.extend(command.map(|command| (*verb, command, *payload)));
    }
    let actions = commands.iter().map(|(verb, ..)| ActionSpec::new(*verb)).collect();
    let component = LawnMower { commands, optimistic: !reports || fields.flag("optimistic", false)? };
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions,
        reports_state: reports,
        initial: Update::default(),
    })
}

impl Component for LawnMower {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if let Some(activity) = ACTIVITIES.iter().find(|activity| **activity == text) {
            view.set(*activity);
        } else if text.eq_ignore_ascii_case("none") {
            view.set_unknown();
        } else if !text.is_empty() {
            return Err(bad("state", text, ACTIVITIES.join(", ")));
        }
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        match self.commands.iter().find(|(verb, ..)| *verb == action.verb) {
            Some((_, command, payload)) => out.send(command, *payload, &[]),
            None => Err(EncodeError::Unsupported(action.kind())),
        }
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        match action.verb {
            Verb::StartMowing if self.optimistic => Update::value("mowing"),
            Verb::Pause if self.optimistic => Update::value("paused"),
            Verb::Dock if self.optimistic => Update::value("docked"),
            _ => Update::default(),
        }
    }
}
