//! Water heaters: a mode, a target and a current temperature, perhaps a power switch.

use super::climate::{Field, read};
use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, View, bad};
use super::fields::{Command, Fields, Refusal};
use super::thermometer::{Thermometer, degrees};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb, attr};

const MODES: &[&str] = &["eco", "electric", "gas", "heat_pump", "high_demand", "performance", "off"];

/// How many degrees Celsius a water heater that does not report its target starts at.
const COLDEST: f64 = 43.3;

struct WaterHeater {
    thermometer: Thermometer,
    mode: Option<Command>,
    modes: Vec<String>,
    temperature: Option<Command>,
    power: Option<Command>,
    payload_on: String,
    payload_off: String,
    /// Whether the mode and the temperature are taken to be as they were asked for.
    assumes_mode: bool,
    assumes_temperature: bool,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let reads = vec![
        read(fields, "mode_state_topic", "mode_state_template", Field::Mode)?,
        read(fields, "temperature_state_topic", "temperature_state_template", Field::Temperature)?,
        read(fields, "current_temperature_topic", "current_temperature_template", Field::CurrentTemperature)?,
    ];
    let reads_field = |field| reads.iter().flatten().any(|read| read.field == field);
    let (reports, reports_temperature) = (reads_field(Field::Mode), reads_field(Field::Temperature));
    let optimistic = fields.flag("optimistic", false)?;
    let thermometer = Thermometer::read(fields)?;
    let (min, max, step) = thermometer.range(fields, 43.3, 60.0)?;
    let modes =
        fields.list("modes")?.unwrap_or_else(|| MODES.iter().map(|mode| (*mode).to_owned()).collect());
    let component = WaterHeater {
        thermometer,
        mode: fields.command("mode_command_topic", "mode_command_template")?,
        modes,
        temperature: fields.command("temperature_command_topic", "temperature_command_template")?,
        power: fields.command("power_command_topic", "power_command_template")?,
        payload_on: fields.text_or("payload_on", "ON")?,
        payload_off: fields.text_or("payload_off", "OFF")?,
        assumes_mode: optimistic || !reports,
        assumes_temperature: optimistic || !reports_temperature,
    };
    let modes = || ArgKind::Choice(component.modes.clone());
    let mut actions = Vec::new();
    if component.power.is_some() {
        actions.push(ActionSpec::new(Verb::TurnOn));
        actions.push(ActionSpec::new(Verb::TurnOff));
    }
    if component.temperature.is_some() {
        let kind = ArgKind::Number { min, max, step };
        let mut set = ActionSpec::new(Verb::SetTemperature).with(ArgSpec::required(Arg::Temperature, kind));
        if component.mode.is_some() {
            set = set.with(ArgSpec::optional(Arg::Mode, modes()));
        }
        actions.push(set);
    }
    if component.mode.is_some() {
        actions.push(ActionSpec::new(Verb::SetMode).with(ArgSpec::required(Arg::Mode, modes())));
    }
    let mut initial = Update::default();
    if component.assumes_mode {
        initial = mode_update("off");
    }
    if component.assumes_temperature && component.temperature.is_some() {
        let start = fields.number("initial")?.map_or(COLDEST, |value| thermometer.celsius(value));
        initial.attributes.push((attr::TEMPERATURE.into(), Some(thermometer.shown(start).into())));
    }
    let codec = EntityCodec::shared(common, reads, component);
    Ok(Built { codec, actions, reports_state: reports, initial })
}

impl Component for WaterHeater {
    type Field = Field;

    fn apply(&self, field: Field, text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        match field {
            Field::Temperature => degrees(attr::TEMPERATURE, text, self.thermometer, view),
            Field::CurrentTemperature => degrees(attr::CURRENT_TEMPERATURE, text, self.thermometer, view),
            _ if text.is_empty() => Ok(()),
            _ if text == "None" => {
                view.set_unknown();
                view.clear("operation_mode");
                Ok(())
            }
            _ if self.modes.iter().any(|mode| mode == text) => {
                view.set(text.to_owned());
                view.put("operation_mode", text);
                Ok(())
            }
            _ => Err(bad("operation_mode", text, self.modes.join(", "))),
        }
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        match (action.verb, &self.power) {
            (Verb::TurnOn, Some(power)) => return out.send(power, self.payload_on.as_str(), &[]),
            (Verb::TurnOff, Some(power)) => return out.send(power, self.payload_off.as_str(), &[]),
            _ => {}
        }
        // The mode goes first: in another mode the heater may have another target.
        if let (Some(mode), Some(command)) = (asked_mode(action), &self.mode) {
            out.send(command, mode, &[])?;
        }
        if let (Some(celsius), Some(command)) = (asked_celsius(action), &self.temperature) {
            out.send(command, self.thermometer.device(celsius), &[])?;
        }
        Ok(())
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        let mode = asked_mode(action).filter(|_| self.assumes_mode);
        let mut update = mode.map_or_else(Update::default, mode_update);
        if let Some(celsius) = asked_celsius(action).filter(|_| self.assumes_temperature) {
            let shown = self.thermometer.shown(celsius);
            update.attributes.push((attr::TEMPERATURE.into(), Some(shown.into())));
        }
        update
    }
}

fn asked_mode(action: &Action) -> Option<&str> {
    action.args.get(&Arg::Mode).and_then(ArgValue::as_text)
}

fn asked_celsius(action: &Action) -> Option<f64> {
    action.args.get(&Arg::Temperature).and_then(ArgValue::as_number)
}

/// The mode is the state, and an attribute.
fn mode_update(mode: &str) -> Update {
    let mut update = Update::value(mode.to_owned());
    update.attributes.push(("operation_mode".into(), Some(mode.into())));
    update
}
