//! What a light was last told about: shown while it is on, remembered while it is off.

use serde_json::Value;

use super::super::entity_codec::View;
use super::color::{COLOR_ATTRIBUTES, Color, Mode, WhiteRange};
use crate::home::{State, Update, attr};

/// A light's last reported values. Home Assistant shows them only while the light is on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    /// `None` is unknown.
    pub on: Option<bool>,
    /// 0–255.
    pub brightness: Option<f64>,
    pub mode: Option<Mode>,
    pub color: Option<Color>,
    pub effect: Option<String>,
    /// The light's own whites; not learnt, but announced.
    pub whites: WhiteRange,
    /// What the message that is being read reported.
    pub reported: Reported,
}

/// Parts of a light that a message was about. Only those get its stamp: a remembered brightness is no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    pub on: bool,
    pub brightness: bool,
    pub color: bool,
    pub effect: bool,
}

impl Memory {
    /// Takes over what was known before the announcement changed, but for a mode that the light has no longer.
    pub fn inherit(&mut self, known: Memory, modes: &[Mode]) {
        let mode = known.mode.filter(|mode| modes.contains(mode)).or(self.mode);
        *self = Memory { mode, whites: self.whites, ..known };
    }

    pub fn report_on(&mut self, on: Option<bool>) {
        self.on = on;
        self.reported.on = true;
    }

    pub fn report_brightness(&mut self, brightness: Option<f64>) {
        self.brightness = brightness;
        self.reported.brightness = true;
    }

    pub fn report_mode(&mut self, mode: Mode) {
        self.mode = Some(mode);
        self.reported.color = true;
    }

    pub fn report_color(&mut self, color: Option<Color>) {
        self.color = color;
        self.reported.color = true;
    }

    pub fn report_effect(&mut self, effect: Option<String>) {
        self.effect = effect;
        self.reported.effect = true;
    }

    /// Puts what the message reported into the update, and shows or hides the rest as the light is now.
    pub fn show(&mut self, modes: &[Mode], view: &mut View<'_, '_>) {
        self.tell(modes, view.now, &mut view.update);
    }

    /// The same for a state that is known as `now`.
    pub fn tell(&mut self, modes: &[Mode], now: &State, update: &mut Update) {
        let reported = std::mem::take(&mut self.reported);
        match self.on {
            _ if !reported.on => {}
            Some(true) => update.value = Some(Some("on".into())),
            Some(false) => update.value = Some(Some("off".into())),
            None => update.value = Some(None),
        }
        for (name, value) in self.attributes(modes) {
            let about = match name {
                attr::BRIGHTNESS => reported.brightness,
                attr::EFFECT => reported.effect,
                _ => reported.color,
            };
            let list = if about && value.is_some() {
                &mut update.attributes
            } else if now.attributes.get(name) != value.as_ref() {
                &mut update.recalled
            } else {
                continue;
            };
            list.push((name.into(), value));
        }
    }

    /// Every attribute of a light, `None` where it is not shown now.
    pub fn attributes(&self, modes: &[Mode]) -> Vec<(&'static str, Option<Value>)> {
        let on = self.on == Some(true);
        let color = self.color.filter(|color| on && Some(color.mode()) == self.mode);
        let shown = color.map(|color| color.attributes(self.whites)).unwrap_or_default();
        let whole = |number: f64| Value::from(number as i64);
        let mode = on.then(|| self.shown_mode(modes));
        let mut out = vec![
            (attr::COLOR_MODE, mode.map(Value::from)),
            (attr::BRIGHTNESS, self.brightness.filter(|_| on && dims(modes)).map(whole)),
            (attr::EFFECT, self.effect.clone().filter(|_| on).map(Value::from)),
        ];
        for name in COLOR_ATTRIBUTES {
            let value = shown.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            out.push((*name, value));
        }
        out
    }

    /// The mode as shown: the only one of a light with one, else the reported one.
    fn shown_mode(&self, modes: &[Mode]) -> &'static str {
        match (self.mode, modes) {
            (Some(mode), _) => mode.word(),
            (None, [Mode::OnOff]) => Mode::OnOff.word(),
            (None, modes) if modes.contains(&Mode::Brightness) && self.brightness.is_some() => {
                Mode::Brightness.word()
            }
            (None, _) => "unknown",
        }
    }
}

/// Whether a light of these modes can be dimmed.
pub fn dims(modes: &[Mode]) -> bool {
    modes.iter().any(|mode| *mode != Mode::OnOff)
}
