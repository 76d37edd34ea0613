//! Lights and fans.

use serde_json::{Value as Json, json};

use super::{Fault, Plan, Planned};
use crate::home::{Arg, Verb, attr};
use crate::nlu::amount::Amount;
use crate::nlu::lexicon::COLORS;
use crate::nlu::number::Value;
use crate::nlu::vocabulary::{Attribute, Mode, Pred};

impl Plan<'_> {
    pub(super) fn light(&self) -> Planned {
        let frame = self.frame;
        if matches!(frame.pred, Pred::Off | Pred::OffOrClose | Pred::Close) {
            // "Half the lights off" says no brightness.
            return if matches!(frame.amount, Some(Amount::To(_) | Amount::Step { .. })) {
                Err(Fault::Unsupported)
            } else {
                self.verb(&[Verb::TurnOff])
            };
        }
        if frame.pred == Pred::Toggle {
            return self.toggled(Verb::TurnOn, Verb::TurnOff);
        }
        if matches!(frame.pred, Pred::Warmer | Pred::Colder) {
            return self.warmth();
        }
        let mut args: Vec<(Arg, Json)> = Vec::new();
        if frame.is_kelvin() {
            args.push((Arg::ColorTempKelvin, json!(self.kelvin()?)));
        }
        let dimmed = match frame.amount {
            Some(Amount::To(Value::Percent(_)) | Amount::Max | Amount::Min) => true,
            Some(Amount::To(_) | Amount::By(_) | Amount::Step { .. } | Amount::Half) => !frame.is_kelvin(),
            None => false,
        };
        if let Some(amount) = frame.amount.filter(|_| dimmed) {
            let now = self.attribute(attr::BRIGHTNESS).map(|raw| (raw / 2.55).round());
            let now = if self.is("off") { Some(0.0) } else { now.or(self.is("on").then_some(100.0)) };
            // The lowest brightness that is still on.
            let range = self.range(Verb::TurnOn, Arg::BrightnessPct)?;
            let least = range.0.max(1.0);
            let mut level = self.target(amount, now, (least, range.1), 20.0)?;
            if matches!(amount, Amount::Step { .. } | Amount::By(_) | Amount::Half) {
                level = level.round();
            }
            if level <= 0.0 {
                return self.verb(&[Verb::TurnOff]);
            }
            args.push((Arg::BrightnessPct, json!(level)));
        }
        if let Some((_, rgb)) = frame.color.and_then(|color| COLORS.get(color)) {
            args.push((Arg::RgbColor, json!(rgb)));
        }
        if args.is_empty() && matches!(frame.pred, Pred::Set) {
            return Err(Fault::Unsupported);
        }
        self.with(Verb::TurnOn, &args)
    }

    /// "Make the lamp warmer": fewer kelvin.
    fn warmth(&self) -> Planned {
        let Some(Amount::Step { up, size }) = self.frame.amount else { return Err(Fault::Unsupported) };
        let range = self.range(Verb::TurnOn, Arg::ColorTempKelvin)?;
        let step = Amount::Step { up: !up, size };
        let kelvin = self.target(step, self.attribute(attr::COLOR_TEMP_KELVIN), range, 500.0)?;
        self.number(Verb::TurnOn, Arg::ColorTempKelvin, kelvin)
    }

    fn kelvin(&self) -> Result<f64, Fault> {
        if let Some(white) = self.frame.white {
            let (min, max) = self.range(Verb::TurnOn, Arg::ColorTempKelvin)?;
            return Ok(f64::from(white).clamp(min, max));
        }
        let amount = self.frame.amount.ok_or(Fault::Unsupported)?;
        let range = self.range(Verb::TurnOn, Arg::ColorTempKelvin)?;
        self.target(amount, self.attribute(attr::COLOR_TEMP_KELVIN), range, 500.0)
    }

    pub(super) fn fan(&self) -> Planned {
        let frame = self.frame;
        // "Speed two" is a step that this fan does not tell, and no share of 100.
        if frame.attribute == Some(Attribute::Speed)
            && matches!(frame.amount, Some(Amount::To(Value::Number(number))) if (1.0..10.0).contains(&number))
        {
            return Err(Fault::Unsupported);
        }
        if matches!(frame.pred, Pred::Off | Pred::OffOrClose | Pred::Stop | Pred::Close) {
            return self.verb(&[Verb::TurnOff]);
        }
        if frame.pred == Pred::Toggle {
            return self.toggled(Verb::TurnOn, Verb::TurnOff);
        }
        if let Some(mode) = frame.mode {
            return self.fan_mode(mode);
        }
        let Some(amount) = frame.amount else { return self.verb(&[Verb::TurnOn]) };
        let now = self.attribute(attr::PERCENTAGE);
        let now = if self.is("off") { Some(0.0) } else { now };
        let range = self.range(Verb::SetPercentage, Arg::Percentage)?;
        let target = self.target(amount, now, range, 20.0)?.round();
        if target <= 0.0 {
            return self.verb(&[Verb::TurnOff]);
        }
        self.number(Verb::SetPercentage, Arg::Percentage, target)
    }

    fn fan_mode(&self, mode: Mode) -> Planned {
        if mode == Mode::Swing {
            return self.with(Verb::Oscillate, &[(Arg::Oscillating, json!(true))]);
        }
        let preset = self.with(Verb::SetPresetMode, &[(Arg::PresetMode, json!(mode.word()))]);
        let percent = match mode {
            Mode::Low | Mode::Quiet => 33.0,
            Mode::Medium => 66.0,
            Mode::High | Mode::Boost => 100.0,
            Mode::Cool
            | Mode::Heat
            | Mode::Auto
            | Mode::Dry
            | Mode::FanOnly
            | Mode::Eco
            | Mode::Sleep
            | Mode::Comfort
            | Mode::Away
            | Mode::Home
            | Mode::Swing => return preset,
        };
        preset.or_else(|_| self.number(Verb::SetPercentage, Arg::Percentage, percent))
    }
}
