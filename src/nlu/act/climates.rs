//! Heating, cooling, water heaters and humidifiers.

use serde_json::json;

use super::{Fault, Plan, Planned};
use crate::home::{Arg, ArgKind, Domain, Verb, attr};
use crate::nlu::amount::Amount;
use crate::nlu::number::Value;
use crate::nlu::vocabulary::{Attribute, Mode, Pred};

impl Plan<'_> {
    pub(super) fn climate(&self) -> Planned {
        let frame = self.frame;
        if matches!(frame.pred, Pred::Off | Pred::OffOrClose | Pred::Stop | Pred::Close) {
            return self
                .verb(&[Verb::TurnOff])
                .or_else(|_| self.with(Verb::SetHvacMode, &[(Arg::HvacMode, json!("off"))]));
        }
        if frame.pred == Pred::Toggle {
            return self.toggled(Verb::TurnOn, Verb::TurnOff);
        }
        if let Some(amount) = frame.amount {
            if self.entity.domain() == Domain::Humidifier || frame.attribute == Some(Attribute::Humidity) {
                let range = self.range(Verb::SetHumidity, Arg::Humidity)?;
                let target = self.target(amount, self.attribute(attr::HUMIDITY), range, 5.0)?;
                return self.number(Verb::SetHumidity, Arg::Humidity, target);
            }
            // "Cool the bedroom to 20": what it does, and how far.
            let mut actions = match frame.mode {
                Some(mode) if !self.is(mode.word()) => self.climate_mode(mode)?,
                Some(_) | None => Vec::new(),
            };
            actions.extend(self.temperature(amount)?);
            return Ok(actions);
        }
        if let Some(mode) = frame.mode {
            return self.climate_mode(mode);
        }
        self.verb(&[Verb::TurnOn]).or_else(|fault| {
            // Without a verb for it, on is the mode that it has.
            let spec = self.spec(Verb::SetHvacMode)?;
            match spec.arg(Arg::HvacMode).map(|spec| &spec.kind) {
                Some(ArgKind::Choice(options)) => options
                    .iter()
                    .find(|option| matches!(option.as_str(), "auto" | "heat_cool"))
                    .or_else(|| options.iter().find(|option| option.as_str() != "off"))
                    .map_or(Err(fault), |mode| self.with(Verb::SetHvacMode, &[(Arg::HvacMode, json!(mode))])),
                Some(
                    ArgKind::Number { .. }
                    | ArgKind::Text { .. }
                    | ArgKind::Bool
                    | ArgKind::Rgb
                    | ArgKind::Numbers { .. },
                )
                | None => Err(fault),
            }
        })
    }

    fn temperature(&self, amount: Amount) -> Planned {
        let range = self.range(Verb::SetTemperature, Arg::Temperature)?;
        if let Amount::To(Value::Percent(_)) = amount {
            return Err(Fault::Unsupported);
        }
        let now = self.attribute(attr::TEMPERATURE);
        let mut target = self.target(amount, now, range, 1.0)?;
        if let Amount::To(Value::Fahrenheit(value)) = amount {
            target = ((value - 32.0) / 1.8 * 10.0).round() / 10.0;
        }
        if let Amount::Step { up, .. } = amount {
            // Half a degree is nothing that a person feels; steps are whole.
            target = now.map_or(target, |now| (now + if up { 1.0 } else { -1.0 }).clamp(range.0, range.1));
        }
        self.number(Verb::SetTemperature, Arg::Temperature, target)
    }

    fn climate_mode(&self, mode: Mode) -> Planned {
        let word = json!(mode.word());
        let named = match self.frame.attribute {
            Some(Attribute::FanMode | Attribute::Speed) => Some((Verb::SetFanMode, Arg::FanMode)),
            Some(Attribute::Swing) => Some((Verb::SetSwingMode, Arg::SwingMode)),
            Some(Attribute::Preset) => Some((Verb::SetPresetMode, Arg::PresetMode)),
            Some(_) | None => None,
        };
        if let Some((verb, arg)) = named {
            return self.with(verb, &[(arg, word)]);
        }
        let hvac = self.with(Verb::SetHvacMode, &[(Arg::HvacMode, word.clone())]);
        if hvac.is_ok() {
            return hvac;
        }
        [
            (Verb::SetPresetMode, Arg::PresetMode),
            (Verb::SetFanMode, Arg::FanMode),
            (Verb::SetSwingMode, Arg::SwingMode),
            (Verb::SetMode, Arg::Mode),
        ]
        .into_iter()
        .find_map(|(verb, arg)| self.with(verb, &[(arg, word.clone())]).ok())
        .map_or(hvac, Ok)
    }
}
