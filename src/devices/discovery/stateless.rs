//! Components without a state of their own: buttons, scenes and notifications, which only take; cameras and images,
//! of which only the availability is read (pictures never reach a prompt).

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, View};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Update, Verb};

/// Longest notification, in characters.
const MAX_MESSAGE: usize = 1000;

struct Stateless {
    command: Option<(Verb, Command, Option<String>)>,
}

pub(super) fn build_button(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let command = fields.need_command("command_topic", "command_template")?;
    let payload = fields.text_or("payload_press", "PRESS")?;
    Ok(built(common, Some((Verb::Press, command, Some(payload)))))
}

pub(super) fn build_scene(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let command = fields.need_command("command_topic", "command_template")?;
    let payload = fields.text("payload_on")?;
    // Without a payload there is nothing to send: the scene is known and cannot be activated.
    Ok(built(common, payload.map(|payload| (Verb::Activate, command, Some(payload)))))
}

pub(super) fn build_notify(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let command = fields.need_command("command_topic", "command_template")?;
    Ok(built(common, Some((Verb::SendMessage, command, None))))
}

pub(super) fn build_camera(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    fields.subscribe("topic")?.ok_or_else(|| Refusal::Missing("topic".into()))?;
    let built = built(common, None);
    Ok(Built { initial: Update::value("idle"), ..built })
}

pub(super) fn build_image(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    match (fields.subscribe("image_topic")?, fields.subscribe("url_topic")?) {
        (None, None) => Err(Refusal::Missing("image_topic or url_topic".into())),
        (Some(_), Some(_)) => Err(Refusal::Conflict("image_topic and url_topic exclude each other".into())),
        (Some(_), None) | (None, Some(_)) => Ok(built(common, None)),
    }
}

fn built(common: Common, command: Option<(Verb, Command, Option<String>)>) -> Built {
    let message = ArgSpec::required(Arg::Message, ArgKind::Text { max_chars: MAX_MESSAGE });
    let actions = command.iter().map(|(verb, ..)| match verb {
        Verb::SendMessage => ActionSpec::new(*verb).with(message.clone()),
        verb => ActionSpec::new(*verb),
    });
    Built {
        actions: actions.collect(),
        codec: EntityCodec::shared(common, Vec::new(), Stateless { command }),
        reports_state: false,
        initial: Update::default(),
    }
}

impl Component for Stateless {
    type Field = ();

    fn apply(&self, (): (), _: &str, _: &mut View<'_, '_>) -> Result<(), Fault> {
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        match &self.command {
            Some((verb, command, payload)) if *verb == action.verb => {
                let message = action.args.get(&Arg::Message).and_then(ArgValue::as_text);
                out.send(command, payload.as_deref().or(message).unwrap_or_default(), &[])
            }
            _ => Err(EncodeError::Unsupported(action.kind())),
        }
    }
}
