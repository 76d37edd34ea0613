//! Numbers that can be set.

use super::entity_codec::{
    Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad, number as finite,
};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::devices::template::{Value as Engine, python_float};
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb};

struct Number {
    command: Command,
    min: f64,
    max: f64,
    reset: String,
    optimistic: bool,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let read = Read::of(fields, "state_topic", "value_template", (), Undefined::Raw)?;
    let reports = read.is_some();
    let (min, max) = (fields.number_or("min", 0.0)?, fields.number_or("max", 100.0)?);
    let step = fields.number_or("step", 1.0)?;
    if min > max || step < 0.001 {
        return Err(Refusal::Wrong {
            key: "min".into(),
            value: format!("{min} to {max} in steps of {step}"),
            expected: "min not above max and steps of at least 0.001".into(),
        });
    }
    let component = Number {
        command: fields.need_command("command_topic", "command_template")?,
        min,
        max,
        reset: fields.text_or("payload_reset", "None")?,
        optimistic: !reports || fields.flag("optimistic", false)?,
    };
    let value = ArgSpec::required(Arg::Value, ArgKind::Number { min, max, step });
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions: vec![ActionSpec::new(Verb::SetValue).with(value)],
        reports_state: reports,
        initial: Update::default(),
    })
}

/// A fraction as Home Assistant shows it: with the fifteen digits that a float surely has.
fn shown(value: f64) -> String {
    python_float(format!("{value:.14e}").parse().unwrap_or(value))
}

/// As Home Assistant writes a number: whole ones without a fraction.
fn written(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 9e15 { (value as i64).to_string() } else { python_float(value) }
}

impl Component for Number {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        if text == self.reset {
            view.set_unknown();
            return Ok(());
        }
        let value = finite("state", text)?;
        if !(self.min..=self.max).contains(&value) {
            return Err(bad("state", text, format!("{} to {}", self.min, self.max)));
        }
        // Text that is a whole number stays one; `60.0` stays a fraction.
        let whole = text.trim().parse::<i64>().is_ok();
        view.set(if whole { (value as i64).to_string() } else { shown(value) });
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let (Verb::SetValue, Some(ArgValue::Number(value))) = (action.verb, action.args.get(&Arg::Value))
        else {
            return Err(EncodeError::Unsupported(action.kind()));
        };
        let engine = if value.fract() == 0.0 && value.abs() < 9e15 {
            Engine::from(*value as i64)
        } else {
            Engine::from(*value)
        };
        out.send(&self.command, engine, &[])
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        match action.args.get(&Arg::Value) {
            Some(ArgValue::Number(value)) if self.optimistic => Update::value(written(*value)),
            _ => Update::default(),
        }
    }
}
