//! Alarm control panels. Arming is never assumed: only the panel's own report says armed.

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Command, Fields, Refusal};
use super::lock::is_placeholder;
use crate::devices::codec::{EncodeError, Fault};
use crate::devices::template::Value as Engine;
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Update, Verb};

const STATES: &[&str] = &[
    "disarmed",
    "armed_home",
    "armed_away",
    "armed_night",
    "armed_vacation",
    "armed_custom_bypass",
    "pending",
    "arming",
    "disarming",
    "triggered",
];

/// Verb, feature, key of its payload, default payload.
const VERBS: &[(Verb, &str, &str, &str)] = &[
    (Verb::ArmHome, "arm_home", "payload_arm_home", "ARM_HOME"),
    (Verb::ArmAway, "arm_away", "payload_arm_away", "ARM_AWAY"),
    (Verb::ArmNight, "arm_night", "payload_arm_night", "ARM_NIGHT"),
    (Verb::ArmVacation, "arm_vacation", "payload_arm_vacation", "ARM_VACATION"),
    (Verb::ArmCustomBypass, "arm_custom_bypass", "payload_arm_custom_bypass", "ARM_CUSTOM_BYPASS"),
    (Verb::Trigger, "trigger", "payload_trigger", "TRIGGER"),
    (Verb::Disarm, "", "payload_disarm", "DISARM"),
];

const MAX_CODE: usize = 64;

/// Who checks the code.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Code {
    None,
    /// The panel does: any code is passed on.
    Remote,
    /// The announcement holds it; it is compared here and never published by itself.
    Local(String),
}

struct Alarm {
    command: Command,
    payloads: Vec<(Verb, String, bool)>,
    code: Code,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let read = Read::of(fields, "state_topic", "value_template", (), Undefined::Raw)?
        .ok_or_else(|| Refusal::Missing("state_topic".into()))?;
    let template = fields.template("command_template")?.or(fields.sandbox.compile("{{ action }}").ok());
    let topic = fields.publish("command_topic")?.ok_or_else(|| Refusal::Missing("command_topic".into()))?;
    let code = match fields.text("code")?.as_deref() {
        None | Some("") => Code::None,
        Some("REMOTE_CODE" | "REMOTE_CODE_TEXT") => Code::Remote,
        Some(code) => Code::Local(code.to_owned()),
    };
    let features = fields.list("supported_features")?;
    let offered = |feature: &str| {
        feature.is_empty() || features.as_ref().is_none_or(|list| list.iter().any(|known| known == feature))
    };
    let arm = fields.flag("code_arm_required", true)?;
    let disarm = fields.flag("code_disarm_required", true)?;
    let trigger = fields.flag("code_trigger_required", true)?;
    let mut payloads = Vec::new();
    let mut actions = Vec::new();
    for (verb, feature, key, default) in VERBS.iter().filter(|(_, feature, ..)| offered(feature)) {
        let needed = match verb {
            Verb::Disarm => disarm,
            Verb::Trigger => trigger,
            _ => arm,
        };
        let needed = needed && code != Code::None;
        let text = ArgKind::Text { max_chars: MAX_CODE };
        let spec = ActionSpec::new(*verb);
        // Home Assistant asks for a code also where the announcement names none, and takes any; here such a panel can
        // be used without, and takes what it is given.
        actions.push(match needed {
            true => spec.with(ArgSpec::required(Arg::Code, text)),
            false => spec.with(ArgSpec::optional(Arg::Code, text)),
        });
        let _ = feature;
        payloads.push((*verb, fields.text_or(key, default)?, needed));
    }
    let component = Alarm { command: Command { topic, template }, payloads, code };
    Ok(Built {
        codec: EntityCodec::shared(common, vec![Some(read)], component),
        actions,
        reports_state: true,
        initial: Update::default(),
    })
}

impl Component for Alarm {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if let Some(state) = STATES.iter().find(|state| **state == text) {
            view.set(*state);
        } else if text == "None" {
            view.set_unknown();
        } else if !text.is_empty() {
            return Err(bad("state", text, STATES.join(", ")));
        }
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let Some((_, payload, needed)) = self.payloads.iter().find(|(verb, ..)| *verb == action.verb) else {
            return Err(EncodeError::Unsupported(action.kind()));
        };
        let code = action.args.get(&Arg::Code).and_then(ArgValue::as_text).filter(|code| !code.is_empty());
        match (&self.code, code) {
            (_, None) if *needed => {
                return Err(EncodeError::Argument("this alarm panel needs a code".into()));
            }
            (Code::Local(right), Some(code)) if *needed && !is_placeholder(code) && code != right => {
                return Err(EncodeError::Argument("the code is wrong".into()));
            }
            _ => {}
        }
        let code = code.map_or(Engine::from(()), Engine::from);
        out.send(&self.command, payload.as_str(), &[("action", payload.as_str().into()), ("code", code)])
    }
}
