//! `schema: json`: one JSON object for state and command.

use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::super::fields::{Command, Fields, Refusal, number_of};
use super::color::{Color, Mode, round};
use super::memory::{Memory, dims};
use super::{Abilities, Whites, Wish, brightness_in, brightness_out, effects, plain_number, scale};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, State, Update};

struct JsonLight {
    command: Command,
    modes: Vec<Mode>,
    whites: Whites,
    /// Whether brightness is a value of its own; else it is part of the colour.
    brightness: bool,
    scale: f64,
    white_scale: f64,
    effects: bool,
    /// Seconds of a short and a long flash.
    flash: [f64; 2],
    optimistic: bool,
    memory: Mutex<Memory>,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let brightness = fields.flag("brightness", false)?;
    let modes = modes(fields, brightness)?;
    let whites = Whites::read(fields)?;
    let any_effect = fields.flag("effect", false)?;
    let effects = if any_effect { effects(fields)? } else { Vec::new() };
    let command = Command {
        topic: fields.publish("command_topic")?.ok_or_else(|| Refusal::Missing("command_topic".into()))?,
        template: None,
    };
    // The JSON is read as it is; a template is a key of other schemas.
    let read = Read::of(fields, "state_topic", "", (), Undefined::Raw)?;
    let reports = read.is_some();
    let only = match modes.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    // Home Assistant knows the mode of a light that names one, and not that of one with the old `brightness` alone.
    let mode = only.filter(|mode| *mode == Mode::OnOff || fields.has("supported_color_modes"));
    let transition = fields.flag("transition", true)?;
    // Home Assistant takes it for given; here it is offered where the device says that it can.
    let flash = fields.has("flash") && fields.flag("flash", false)?;
    let actions =
        Abilities { modes: &modes, whites, effects: &effects, any_effect, transition, flash, dims: true }
            .actions();
    let component = JsonLight {
        command,
        whites,
        brightness,
        scale: scale(fields, "brightness_scale")?,
        white_scale: scale(fields, "white_scale")?,
        effects: any_effect,
        flash: [fields.number_or("flash_time_short", 2.0)?, fields.number_or("flash_time_long", 10.0)?],
        optimistic: !reports || fields.flag("optimistic", false)?,
        memory: Mutex::new(Memory { mode, whites: whites.range, ..Memory::default() }),
        modes,
    };
    let codec = EntityCodec::shared(common, vec![read], component);
    Ok(Built { codec, actions, reports_state: reports, initial: Update::default() })
}

/// The supported modes; impossible combinations refuse the message.
fn modes(fields: Fields<'_>, brightness: bool) -> Result<Vec<Mode>, Refusal> {
    let Some(words) = fields.list("supported_color_modes")? else {
        return Ok(vec![if brightness { Mode::Brightness } else { Mode::OnOff }]);
    };
    let mut modes = Vec::new();
    for word in &words {
        let wrong = || Refusal::Wrong {
            key: "supported_color_modes".into(),
            value: word.clone(),
            expected: "Home Assistant's color modes".into(),
        };
        let mode = Mode::from_word(word).ok_or_else(wrong)?;
        if !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    let alone = |mode: Mode| modes.contains(&mode) && modes.len() > 1;
    if modes.is_empty() || alone(Mode::OnOff) || alone(Mode::Brightness) || modes.as_slice() == [Mode::White]
    {
        return Err(Refusal::Wrong {
            key: "supported_color_modes".into(),
            value: words.join(", "),
            expected: "onoff or brightness alone, or colour modes".into(),
        });
    }
    Ok(modes)
}

/// A brightness of a message. Python counts true as one.
fn level(value: &Value) -> Option<f64> {
    value.as_bool().map(f64::from).or_else(|| value.as_f64())
}

impl JsonLight {
    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_color(&self, object: &Map<String, Value>, memory: &mut Memory) {
        let number = |value: Option<&Value>| value.and_then(number_of);
        let color = object.get("color").and_then(Value::as_object);
        let part = |name: &str| number(color.and_then(|color| color.get(name)));
        let all =
            |names: &[&str]| names.iter().map(|name| part(name).map(f64::trunc)).collect::<Option<Vec<_>>>();
        let mode = match object.get("color_mode").and_then(Value::as_str) {
            Some(word) => match Mode::from_word(word).filter(|mode| self.modes.contains(mode)) {
                Some(mode) => mode,
                // A mode that the light has not: its colour says nothing.
                None => return,
            },
            // No mode: the one that the keys fit.
            None => match self.inferred(color, object) {
                Some(mode) => mode,
                None => return,
            },
        };
        let found = match mode {
            Mode::ColorTemp => {
                number(object.get("color_temp")).and_then(|value| self.whites.read_in(value)).map(Color::Temp)
            }
            Mode::Hs => part("h").zip(part("s")).map(|(hue, saturation)| Color::Hs(hue, saturation)),
            Mode::Xy => part("x").zip(part("y")).map(|(x, y)| Color::Xy(x, y)),
            Mode::Rgb => all(&["r", "g", "b"]).and_then(|rgb| rgb.try_into().ok()).map(Color::Rgb),
            Mode::Rgbw => all(&["r", "g", "b", "w"]).and_then(|rgbw| rgbw.try_into().ok()).map(Color::Rgbw),
            Mode::Rgbww => {
                all(&["r", "g", "b", "c", "w"]).and_then(|rgbww| rgbww.try_into().ok()).map(Color::Rgbww)
            }
            Mode::OnOff | Mode::Brightness | Mode::White => {
                memory.report_mode(mode);
                return;
            }
        };
        if let Some(color) = found {
            memory.report_mode(mode);
            memory.report_color(Some(color));
        }
    }

    fn inferred(&self, color: Option<&Map<String, Value>>, object: &Map<String, Value>) -> Option<Mode> {
        let is_number = |value: &Value| number_of(value).is_some();
        let has = |name: &str| color.is_some_and(|color| color.get(name).is_some_and(is_number));
        let fits = |mode: &&Mode| match mode {
            Mode::ColorTemp => color.is_none() && object.get("color_temp").is_some_and(is_number),
            Mode::Hs => has("h") && has("s"),
            Mode::Xy => has("x") && has("y"),
            Mode::Rgb => has("r") && has("g") && has("b"),
            Mode::Rgbw => has("r") && has("g") && has("b") && has("w") && !has("c"),
            Mode::Rgbww => has("r") && has("g") && has("b") && has("c") && has("w"),
            Mode::OnOff | Mode::Brightness | Mode::White => false,
        };
        let mut candidates = self.modes.iter().filter(fits);
        match (candidates.next(), candidates.next()) {
            (Some(mode), None) => Some(*mode),
            _ => None,
        }
    }

    /// The colour as the device's JSON has it, and whether brightness is already in it.
    fn color_object(&self, color: Color, brightness: Option<f64>) -> (Value, bool) {
        let scaled = !self.brightness && brightness.is_some();
        let scale = |part: f64| {
            let level = if self.brightness { 255.0 } else { brightness.unwrap_or(255.0) };
            round(part / 255.0 * level) as i64
        };
        match color {
            Color::Hs(hue, saturation) => (json!({"h": hue, "s": saturation}), false),
            Color::Xy(x, y) => (json!({"x": x, "y": y}), false),
            Color::Rgb([r, g, b]) => (json!({"r": scale(r), "g": scale(g), "b": scale(b)}), scaled),
            Color::Rgbw([r, g, b, w]) => {
                (json!({"r": scale(r), "g": scale(g), "b": scale(b), "w": scale(w)}), scaled)
            }
            Color::Rgbww([r, g, b, c, w]) => {
                (json!({"r": scale(r), "g": scale(g), "b": scale(b), "c": scale(c), "w": scale(w)}), scaled)
            }
            Color::Temp(_) => (Value::Null, false),
        }
    }
}

impl Component for JsonLight {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        let mut memory = {
            let json = view.json(text).ok_or_else(|| bad("state", text, "a JSON object"))?;
            let object = json.as_object().ok_or_else(|| bad("state", text, "a JSON object"))?;
            let mut memory = self.memory();
            match object.get("state") {
                Some(Value::String(word)) if word == "ON" => memory.report_on(Some(true)),
                Some(Value::String(word)) if word == "OFF" => memory.report_on(Some(false)),
                Some(Value::Null) => memory.report_on(None),
                // Another message on the topic, or a word of its own: keep what is known.
                Some(_) | None => {}
            }
            self.read_color(object, &mut memory);
            if let Some(value) = object.get("brightness").and_then(level)
                && dims(&self.modes)
                && let Some(brightness) = brightness_in(value, self.scale)
            {
                memory.report_brightness(Some(brightness));
                if self.modes == [Mode::Brightness] {
                    memory.mode = Some(Mode::Brightness);
                }
            }
            match object.get("effect") {
                Some(Value::String(effect)) if self.effects => memory.report_effect(Some(effect.clone())),
                Some(Value::Null) if self.effects => memory.report_effect(None),
                Some(_) | None => {}
            }
            let shown = memory.clone();
            memory.reported = Default::default();
            shown
        };
        memory.show(&self.modes, view);
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let wish = Wish::of(action, &self.modes, &self.memory())?;
        let mut message = Map::new();
        message.insert("state".into(), Value::from(if wish.on { "ON" } else { "OFF" }));
        let mut dimmed = false;
        if let Some(color) = wish.color
            && color.mode().is_color()
        {
            let (value, scaled) = self.color_object(color, wish.brightness);
            message.insert("color".into(), value);
            dimmed = scaled;
        }
        if let Some(transition) = wish.transition {
            message.insert("transition".into(), Value::from(transition));
        }
        if let Some(flash) = wish.flash {
            let [short, long] = self.flash;
            message.insert("flash".into(), plain_number(if flash == "long" { long } else { short }));
        }
        if let Some(brightness) = wish.brightness
            && !dimmed
        {
            message.insert("brightness".into(), Value::from(brightness_out(brightness, self.scale) as i64));
        }
        if let Some(Color::Temp(kelvin)) = wish.color {
            message.insert("color_temp".into(), plain_number(self.whites.write(kelvin)));
        }
        if let Some(effect) = wish.effect {
            message.insert("effect".into(), Value::from(effect));
        }
        if let Some(white) = wish.white {
            message.insert("white".into(), Value::from(brightness_out(white, self.white_scale) as i64));
        }
        let text = Value::Object(message).to_string();
        out.raw(&self.command.topic, text);
        Ok(())
    }

    fn inherit(&self, before: &Self) {
        let known = before.memory().clone();
        self.memory().inherit(known, &self.modes);
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        let wish = Wish::of(action, &self.modes, &self.memory());
        match wish {
            Ok(wish) if self.optimistic => super::assumed(&wish, &mut self.memory(), &self.modes),
            _ => Update::default(),
        }
    }
}
