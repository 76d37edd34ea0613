//! Lights in their three schemas. What is common: what can be asked of a light, and how a wish becomes a colour that
//! the light has.

mod basic;
mod basic_field;
mod color;
mod json;
mod memory;
mod template;

use serde_json::Value;

use self::color::{WhiteRange, mired, round};
use self::memory::Memory;
use super::entity_codec::{Built, Common};
use super::fields::{Fields, Refusal};
use crate::devices::codec::EncodeError;
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Verb};

pub use color::{Color, Mode};

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    match fields.choice_of_any_case("schema", &["basic", "default", "json", "template"], "basic")?.as_str() {
        "json" => json::build(fields, common),
        "template" => template::build(fields, common),
        _ => basic::build(fields, common),
    }
}

/// How long a lamp can flash, in Home Assistant's words.
const FLASHES: [&str; 2] = ["short", "long"];

/// Longest name of an effect, where a light lists none.
const MAX_EFFECT: usize = 100;

/// What an action asks of a light.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Wish {
    pub on: bool,
    /// 0–255; never 0 with `on`.
    pub brightness: Option<f64>,
    /// In a mode that the light has.
    pub color: Option<Color>,
    pub effect: Option<String>,
    /// The white light alone, 1–255: it takes the place of brightness and colour.
    pub white: Option<f64>,
    pub transition: Option<f64>,
    /// `short` or `long`.
    pub flash: Option<String>,
}

impl Wish {
    /// Reads an action. Brightness 0 is off.
    pub fn of(action: &Action, modes: &[Mode], memory: &Memory) -> Result<Self, EncodeError> {
        let number = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_number);
        let transition = number(Arg::Transition);
        let mut brightness = number(Arg::BrightnessPct).map(|percent| round(percent * 255.0 / 100.0));
        let on = match action.verb {
            Verb::TurnOn => brightness != Some(0.0),
            Verb::TurnOff => false,
            _ => return Err(EncodeError::Unsupported(action.kind())),
        };
        if !on {
            return Ok(Self { transition, ..Self::default() });
        }
        one_color(action)?;
        let text = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_text).map(str::to_owned);
        let level = brightness.or(memory.brightness).unwrap_or(255.0);
        let mut color = given(action).and_then(|color| color.convert(modes, memory.whites, level));
        let white = number(Arg::White).map(|white| brightness.unwrap_or(white));
        if white.is_some() {
            (brightness, color) = (None, None);
        }
        let (effect, flash) = (text(Arg::Effect), text(Arg::Flash));
        Ok(Self { on, brightness, color, effect, white, transition, flash })
    }
}

/// A lamp shines in one colour: of two wishes one would be dropped without a word.
fn one_color(action: &Action) -> Result<(), EncodeError> {
    const COLORS: [Arg; 7] = [
        Arg::ColorTempKelvin,
        Arg::RgbColor,
        Arg::RgbwColor,
        Arg::RgbwwColor,
        Arg::HsColor,
        Arg::XyColor,
        Arg::White,
    ];
    let named: Vec<&str> =
        COLORS.iter().filter(|arg| action.args.contains_key(arg)).map(|arg| arg.word()).collect();
    match named.as_slice() {
        [] | [_] => Ok(()),
        several => Err(EncodeError::Argument(format!("{} exclude each other", several.join(" and ")))),
    }
}

/// The colour that an action names.
fn given(action: &Action) -> Option<Color> {
    if let Some(ArgValue::Rgb(rgb)) = action.args.get(&Arg::RgbColor) {
        return Some(Color::Rgb(rgb.map(f64::from)));
    }
    let parts = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_numbers);
    let rgbw = || Some(Color::Rgbw(parts(Arg::RgbwColor)?.try_into().ok()?));
    let rgbww = || Some(Color::Rgbww(parts(Arg::RgbwwColor)?.try_into().ok()?));
    let pair = |arg: Arg| match parts(arg)? {
        &[one, two] => Some((one, two)),
        _ => None,
    };
    let hs = || pair(Arg::HsColor).map(|(hue, saturation)| Color::Hs(hue, saturation));
    let xy = || pair(Arg::XyColor).map(|(x, y)| Color::Xy(x, y));
    let kelvin = || action.args.get(&Arg::ColorTempKelvin).and_then(ArgValue::as_number).map(Color::Temp);
    rgbw().or_else(rgbww).or_else(hs).or_else(xy).or_else(kelvin)
}

/// Limits of white light.
#[derive(Debug, Clone, Copy)]
struct Whites {
    /// Whether the device speaks kelvin; else mireds.
    kelvin: bool,
    range: WhiteRange,
}

impl Whites {
    fn read(fields: Fields<'_>) -> Result<Self, Refusal> {
        let kelvin = fields.flag("color_temp_kelvin", false)?;
        let limit = |in_kelvin: &str, in_mireds: &str, default: f64| -> Result<f64, Refusal> {
            match (fields.number(in_kelvin)?, fields.number(in_mireds)?) {
                (_, Some(mireds)) if mireds > 0.0 => Ok(mired(mireds)),
                (Some(kelvin), _) => Ok(kelvin),
                (None, _) => Ok(default),
            }
        };
        let usual = WhiteRange::default();
        let range = WhiteRange {
            min: limit("min_kelvin", "max_mireds", usual.min)?,
            max: limit("max_kelvin", "min_mireds", usual.max)?,
        };
        Ok(Self { kelvin, range })
    }

    /// Kelvin of a device's value; zero and less is none.
    fn read_in(self, number: f64) -> Option<f64> {
        (number > 0.0).then(|| if self.kelvin { number.floor() } else { mired(number) })
    }

    /// A device's value for kelvin.
    fn write(self, kelvin: f64) -> f64 {
        if self.kelvin { kelvin.trunc() } else { mired(kelvin) }
    }
}

/// What a light can be asked to do.
struct Abilities<'a> {
    modes: &'a [Mode],
    whites: Whites,
    effects: &'a [String],
    /// Whether it takes effects that it does not list.
    any_effect: bool,
    transition: bool,
    flash: bool,
    /// Whether a brightness reaches it, by itself or in a colour.
    dims: bool,
}

impl Abilities<'_> {
    fn actions(&self) -> Vec<ActionSpec> {
        let transition =
            ArgSpec::optional(Arg::Transition, ArgKind::Number { min: 0.0, max: 6553.0, step: 0.1 });
        let mut on = ActionSpec::new(Verb::TurnOn);
        let mut off = ActionSpec::new(Verb::TurnOff);
        if self.dims && memory::dims(self.modes) {
            on = on.with(ArgSpec::optional(Arg::BrightnessPct, ArgKind::percent()));
        }
        let colors = self.modes.iter().any(|mode| mode.is_color());
        let coordinates = |limits| ArgKind::Numbers { limits, whole: false };
        if self.modes.contains(&Mode::ColorTemp) || colors {
            let WhiteRange { min, max } = self.whites.range;
            let (min, max) = (min.min(max), max.max(min));
            on = on.with(ArgSpec::optional(Arg::ColorTempKelvin, ArgKind::Number { min, max, step: 1.0 }));
        }
        if colors {
            on = on.with(ArgSpec::optional(Arg::RgbColor, ArgKind::Rgb));
            on = on.with(ArgSpec::optional(Arg::HsColor, coordinates(&[360.0, 100.0])));
            on = on.with(ArgSpec::optional(Arg::XyColor, coordinates(&[1.0; 2])));
        }
        // What a lamp can do beyond a colour is offered only where it can.
        let channels = |limits| ArgKind::Numbers { limits, whole: true };
        for (mode, arg, kind) in [
            (Mode::Rgbw, Arg::RgbwColor, channels(&[255.0; 4])),
            (Mode::Rgbww, Arg::RgbwwColor, channels(&[255.0; 5])),
            (Mode::White, Arg::White, ArgKind::Number { min: 1.0, max: 255.0, step: 1.0 }),
        ] {
            if self.modes.contains(&mode) {
                on = on.with(ArgSpec::optional(arg, kind));
            }
        }
        if self.flash {
            let lengths = ArgKind::Choice(FLASHES.map(str::to_owned).to_vec());
            on = on.with(ArgSpec::optional(Arg::Flash, lengths));
        }
        if !self.effects.is_empty() {
            on = on.with(ArgSpec::optional(Arg::Effect, ArgKind::Choice(self.effects.to_vec())));
        }
        if self.effects.is_empty() && self.any_effect {
            on = on.with(ArgSpec::optional(Arg::Effect, ArgKind::Text { max_chars: MAX_EFFECT }));
        }
        if self.transition {
            on = on.with(transition.clone());
            off = off.with(transition);
        }
        vec![on, off]
    }
}

/// 1–255 of a device's brightness, also for less than nothing; `None` for zero, which says nothing.
fn brightness_in(value: f64, scale: f64) -> Option<f64> {
    (value != 0.0 && scale > 0.0).then(|| round(value * 255.0 / scale).clamp(1.0, 255.0))
}

/// A device's brightness for 0–255: at least 1 on any scale.
fn brightness_out(brightness: f64, scale: f64) -> f64 {
    round(brightness * scale / 255.0).clamp(1.0, scale.max(1.0))
}

/// A number in JSON as short as it is: whole numbers without a fraction.
pub(super) fn plain_number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}

/// The device's value for full brightness (`brightness_scale`) or full white (`white_scale`).
fn scale(fields: Fields<'_>, key: &str) -> Result<f64, Refusal> {
    match fields.number_or(key, 255.0)? {
        scale if scale >= 1.0 => Ok(scale),
        scale => {
            Err(Refusal::Wrong { key: key.into(), value: scale.to_string(), expected: "at least 1".into() })
        }
    }
}

/// The list of effects, if the light has any.
fn effects(fields: Fields<'_>) -> Result<Vec<String>, Refusal> {
    Ok(fields.list("effect_list")?.unwrap_or_default())
}

/// What a light that does not report is taken to be after a wish was sent.
fn assumed(wish: &Wish, memory: &mut Memory, modes: &[Mode]) -> crate::home::Update {
    memory.on = Some(wish.on);
    if let Some(brightness) = wish.brightness {
        memory.brightness = Some(brightness);
        if modes == [Mode::Brightness] {
            memory.mode = Some(Mode::Brightness);
        }
    }
    if let Some(color) = wish.color {
        memory.color = Some(color);
        memory.mode = Some(color.mode());
    }
    if let Some(white) = wish.white {
        memory.brightness = Some(white);
        memory.mode = Some(Mode::White);
    }
    if let Some(effect) = &wish.effect {
        memory.effect = Some(effect.clone());
    }
    let mut update = crate::home::Update::value(if wish.on { "on" } else { "off" });
    update.attributes =
        memory.attributes(modes).into_iter().map(|(name, value)| (name.into(), value)).collect();
    update
}
