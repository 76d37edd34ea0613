//! One of several options.

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb};

struct Select {
    command: Command,
    options: Vec<String>,
    optimistic: bool,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let read = Read::of(fields, "state_topic", "value_template", (), Undefined::Raw)?;
    let reports = read.is_some();
    let options = fields.list("options")?.ok_or_else(|| Refusal::Missing("options".into()))?;
    let option = ArgSpec::required(Arg::Option, ArgKind::Choice(options.clone()));
    let component = Select {
        command: fields.need_command("command_topic", "command_template")?,
        options,
        optimistic: !reports || fields.flag("optimistic", false)?,
    };
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions: vec![ActionSpec::new(Verb::SelectOption).with(option)],
        reports_state: reports,
        initial: Update::default(),
    })
}

impl Component for Select {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        // The word for nothing comes first, also where an option is called so.
        if text.eq_ignore_ascii_case("none") {
            view.set_unknown();
        } else if self.options.iter().any(|option| option == text) {
            view.set(text.to_owned());
        } else {
            return Err(bad("state", text, self.options.join(", ")));
        }
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        match (action.verb, action.args.get(&Arg::Option)) {
            (Verb::SelectOption, Some(ArgValue::Text(option))) => {
                out.send(&self.command, option.as_str(), &[])
            }
            _ => Err(EncodeError::Unsupported(action.kind())),
        }
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        match action.args.get(&Arg::Option) {
            Some(ArgValue::Text(option)) if self.optimistic => Update::value(option.clone()),
            _ => Update::default(),
        }
    }
}
