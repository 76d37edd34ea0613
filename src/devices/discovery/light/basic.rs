//! `schema: basic` (the default): one topic for each property.

use std::sync::{Mutex, PoisonError};

use super::super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, View, bad, number, whole};
use super::super::fields::{Command, Fields, Refusal};
use super::basic_field::{Field, assumed, field, modes, reads};
use super::color::{Color, Mode, round};
use super::memory::{Memory, Reported};
use super::{Abilities, Whites, Wish, brightness_out, effects, scale};
use crate::devices::codec::{EncodeError, Fault};
use crate::devices::template::{Value as Engine, python_float};
use crate::home::{Action, State, Update};

/// When the plain ON is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnCommand {
    First,
    Last,
    /// Never: a brightness takes its place.
    Brightness,
}

struct BasicLight {
    on_command: OnCommand,
    command: Command,
    payload_on: String,
    payload_off: String,
    brightness: Option<Command>,
    color_temp: Option<Command>,
    effect: Option<Command>,
    white: Option<Command>,
    hs: Option<Command>,
    rgb: Option<Command>,
    rgbw: Option<Command>,
    rgbww: Option<Command>,
    xy: Option<Command>,
    modes: Vec<Mode>,
    whites: Whites,
    scale: f64,
    white_scale: f64,
    /// Whether brightness comes on a topic of its own; else it is the brightest part of the colour.
    reports_brightness: bool,
    reports_mode: bool,
    /// What the device does not report, or is said not to.
    assumed: Vec<Field>,
    memory: Mutex<Memory>,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let command = Command {
        topic: fields.publish("command_topic")?.ok_or_else(|| Refusal::Missing("command_topic".into()))?,
        template: None,
    };
    let of =
        |name: &str| fields.command(&format!("{name}_command_topic"), &format!("{name}_command_template"));
    let reads = reads(fields)?;
    let reports = |field| reads.iter().flatten().any(|read| read.field == field);
    let (brightness, color_temp, effect) = (of("brightness")?, of("color_temp")?, of("effect")?);
    let white = fields.publish("white_command_topic")?.map(|topic| Command { topic, template: None });
    let (hs, rgb, rgbw, rgbww, xy) = (of("hs")?, of("rgb")?, of("rgbw")?, of("rgbww")?, of("xy")?);
    let modes = modes(fields);
    let only = match modes.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let effect_list = if effect.is_some() { effects(fields)? } else { Vec::new() };
    let whites = Whites::read(fields)?;
    let actions = Abilities {
        modes: &modes,
        whites,
        effects: &effect_list,
        any_effect: false,
        transition: false,
        flash: false,
        // Without a topic of its own a brightness is carried by a colour of channels only.
        dims: brightness.is_some() || rgb.is_some() || rgbw.is_some() || rgbww.is_some(),
    }
    .actions();
    let reports_state = reports(Field::State);
    let assumed = assumed(fields.flag("optimistic", false)?, brightness.is_some(), reports);
    let component = BasicLight {
        on_command: match fields.choice("on_command_type", &["first", "last", "brightness"], "last")?.as_str()
        {
            "first" => OnCommand::First,
            "brightness" => OnCommand::Brightness,
            _ => OnCommand::Last,
        },
        command,
        payload_on: fields.text_or("payload_on", "ON")?,
        payload_off: fields.text_or("payload_off", "OFF")?,
        scale: scale(fields, "brightness_scale")?,
        white_scale: scale(fields, "white_scale")?,
        reports_brightness: reports(Field::Brightness),
        reports_mode: reports(Field::Mode),
        assumed,
        memory: Mutex::new(Memory { mode: only, whites: whites.range, ..Memory::default() }),
        brightness,
        color_temp,
        effect,
        white,
        hs,
        rgb,
        rgbw,
        rgbww,
        xy,
        modes,
        whites,
    };
    let codec = EntityCodec::shared(common, reads, component);
    Ok(Built { codec, actions, reports_state, initial: Update::default() })
}

/// `n` whole numbers separated by commas.
fn channels<const N: usize>(attribute: &str, text: &str) -> Result<[f64; N], Fault> {
    let list: Result<Vec<f64>, Fault> = text.split(',').map(|part| whole(attribute, part)).collect();
    list?.try_into().map_err(|_| bad(attribute, text, format!("{N} whole numbers separated by commas")))
}

/// `n` numbers separated by commas.
fn parts<const N: usize>(attribute: &str, text: &str) -> Result<[f64; N], Fault> {
    let list: Result<Vec<f64>, Fault> = text.split(',').map(|part| number(attribute, part)).collect();
    list?.try_into().map_err(|_| bad(attribute, text, format!("{N} numbers separated by commas")))
}

impl BasicLight {
    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A colour of channels; without a brightness topic its brightest channel is the brightness.
    fn channels<const N: usize>(&self, memory: &mut Memory, channels: [f64; N]) -> Option<[f64; N]> {
        if self.reports_brightness {
            return Some(channels);
        }
        let brightness = channels.iter().copied().fold(0.0, f64::max);
        if brightness <= 0.0 {
            return None;
        }
        memory.report_brightness(Some(brightness.min(255.0)));
        Some(channels.map(|channel| round(channel / brightness * 255.0).min(255.0)))
    }

    fn take(&self, memory: &mut Memory, color: Color) {
        if !self.reports_mode {
            memory.mode = Some(color.mode());
        }
        memory.report_color(Some(color));
    }

    fn read(&self, field: Field, text: &str, memory: &mut Memory) -> Result<(), Fault> {
        match field {
            Field::State => match text {
                "" => {}
                _ if text == self.payload_on => memory.report_on(Some(true)),
                _ if text == self.payload_off => memory.report_on(Some(false)),
                "None" => memory.report_on(None),
                _ => {
                    return Err(bad(
                        "state",
                        text,
                        format!("{:?} or {:?}", self.payload_on, self.payload_off),
                    ));
                }
            },
            Field::Brightness => {
                let value = number("brightness", text)?;
                if value != 0.0 {
                    memory.report_brightness(Some(round(value / self.scale * 255.0).clamp(0.0, 255.0)));
                }
            }
            Field::Mode => match Mode::from_word(text) {
                Some(mode) => memory.report_mode(mode),
                None => return Err(bad("color_mode", text, "a color mode")),
            },
            Field::ColorTemp => {
                if let Some(kelvin) = self.whites.read_in(whole("color_temp", text)?) {
                    self.take(memory, Color::Temp(kelvin));
                }
            }
            Field::Effect => memory.report_effect(Some(text.to_owned())),
            Field::Hs => {
                let [hue, saturation] = parts("hs_color", text)?;
                self.take(memory, Color::Hs(hue, saturation));
            }
            Field::Xy => {
                let [x, y] = parts("xy_color", text)?;
                self.take(memory, Color::Xy(x, y));
            }
            Field::Rgb => {
                if let Some(rgb) = self.channels(memory, channels("rgb_color", text)?) {
                    self.take(memory, Color::Rgb(rgb));
                }
            }
            Field::Rgbw => {
                if let Some(rgbw) = self.channels(memory, channels("rgbw_color", text)?) {
                    self.take(memory, Color::Rgbw(rgbw));
                }
            }
            Field::Rgbww => {
                if let Some(rgbww) = self.channels(memory, channels("rgbww_color", text)?) {
                    self.take(memory, Color::Rgbww(rgbww));
                }
            }
        }
        Ok(())
    }

    /// Channels as published: with a brightness topic as they are, else dimmed.
    fn dimmed<const N: usize>(&self, channels: [f64; N], brightness: Option<f64>) -> [f64; N] {
        let level = if self.brightness.is_some() { 255.0 } else { brightness.unwrap_or(255.0) };
        channels.map(|channel| (channel * level / 255.0).trunc())
    }

    fn send_color(
        &self,
        color: Color,
        brightness: Option<f64>,
        out: &mut Outbox<'_>,
    ) -> Result<(), EncodeError> {
        let whole = |number: f64| Engine::from(number as i64);
        let text =
            |list: &[f64]| list.iter().map(|part| (*part as i64).to_string()).collect::<Vec<_>>().join(",");
        match color {
            Color::Hs(hue, saturation) => {
                let Some(command) = &self.hs else { return Ok(()) };
                let value = format!("{},{}", python_float(hue), python_float(saturation));
                out.send(command, value, &[("hue", hue.into()), ("sat", saturation.into())])
            }
            Color::Xy(x, y) => {
                let Some(command) = &self.xy else { return Ok(()) };
                let value = format!("{},{}", python_float(x), python_float(y));
                out.send(command, value, &[("x", x.into()), ("y", y.into())])
            }
            Color::Rgb(rgb) => {
                let Some(command) = &self.rgb else { return Ok(()) };
                let rgb = self.dimmed(rgb, brightness);
                let [r, g, b] = rgb.map(whole);
                out.send(command, text(&rgb), &[("red", r), ("green", g), ("blue", b)])
            }
            Color::Rgbw(rgbw) => {
                let Some(command) = &self.rgbw else { return Ok(()) };
                let rgbw = self.dimmed(rgbw, brightness);
                let [r, g, b, w] = rgbw.map(whole);
                out.send(command, text(&rgbw), &[("red", r), ("green", g), ("blue", b), ("white", w)])
            }
            Color::Rgbww(rgbww) => {
                let Some(command) = &self.rgbww else { return Ok(()) };
                let rgbww = self.dimmed(rgbww, brightness);
                let [r, g, b, c, w] = rgbww.map(whole);
                let vars = [("red", r), ("green", g), ("blue", b), ("cold_white", c), ("warm_white", w)];
                out.send(command, text(&rgbww), &vars)
            }
            // White has its place after brightness.
            Color::Temp(_) => Ok(()),
        }
    }

    fn turn_on(&self, wish: &Wish, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let memory = self.memory().clone();
        let mut brightness = wish.brightness;
        match self.on_command {
            OnCommand::First => out.raw(&self.command.topic, self.payload_on.clone()),
            OnCommand::Brightness if brightness.is_none() && wish.white.is_none() => {
                brightness = Some(memory.brightness.unwrap_or(255.0));
            }
            OnCommand::Brightness | OnCommand::Last => {}
        }
        let level = brightness.or(memory.brightness);
        if let Some(color) = wish.color {
            self.send_color(color, level, out)?;
        }
        match (brightness, &self.brightness) {
            (Some(brightness), Some(command)) => {
                out.send(command, brightness_out(brightness, self.scale) as i64, &[])?;
            }
            // Dimming by the colour: the last one, or white light of all channels.
            (Some(_), None) if !wish.color.is_some_and(|color| color.mode().is_color()) => {
                let color = match (memory.color, self.rgb.is_some(), self.rgbw.is_some()) {
                    (Some(color @ Color::Rgb(_)), true, _) | (Some(color @ Color::Rgbw(_)), _, true) => color,
                    (Some(color @ Color::Rgbww(_)), ..) => color,
                    (_, true, _) => Color::Rgb([255.0; 3]),
                    (_, false, true) => Color::Rgbw([255.0; 4]),
                    (_, false, false) => Color::Rgbww([255.0; 5]),
                };
                self.send_color(color, brightness, out)?;
            }
            _ => {}
        }
        if let (Some(Color::Temp(kelvin)), Some(command)) = (wish.color, &self.color_temp) {
            out.send(command, self.whites.write(kelvin) as i64, &[])?;
        }
        if let (Some(effect), Some(command)) = (&wish.effect, &self.effect) {
            out.send(command, effect.as_str(), &[])?;
        }
        if let (Some(white), Some(command)) = (wish.white, &self.white) {
            out.send(command, round(white * self.white_scale / 255.0) as i64, &[])?;
        }
        if self.on_command == OnCommand::Last {
            out.raw(&self.command.topic, self.payload_on.clone());
        }
        Ok(())
    }
}

impl Component for BasicLight {
    type Field = Field;

    fn apply(&self, field: Field, text: &str, _: &mut View<'_, '_>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        self.read(field, text, &mut self.memory())
    }

    fn settle(&self, view: &mut View<'_, '_>) {
        self.memory().show(&self.modes, view);
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let wish = Wish::of(action, &self.modes, &self.memory())?;
        if wish.on {
            return self.turn_on(&wish, out);
        }
        out.raw(&self.command.topic, self.payload_off.clone());
        Ok(())
    }

    fn inherit(&self, before: &Self) {
        let known = before.memory().clone();
        self.memory().inherit(known, &self.modes);
    }

    fn assume(&self, action: &Action, now: &State) -> Update {
        let mut memory = self.memory();
        let Ok(wish) = Wish::of(action, &self.modes, &memory) else { return Update::default() };
        let assumes = |field| self.assumed.contains(&field);
        let mut brightness = wish.brightness;
        if wish.on && wish.white.is_none() && self.on_command == OnCommand::Brightness {
            brightness = brightness.or(memory.brightness).or(Some(255.0));
        }
        if assumes(Field::State) {
            memory.report_on(Some(wish.on));
        }
        if let Some(brightness) = brightness.or(wish.white).filter(|_| assumes(Field::Brightness)) {
            memory.report_brightness(Some(brightness));
            if wish.white.is_some() && assumes(Field::Mode) {
                memory.report_mode(Mode::White);
            }
        }
        if let Some(color) = wish.color.filter(|color| assumes(field(*color))) {
            memory.report_color(Some(color));
            if assumes(Field::Mode) {
                memory.report_mode(color.mode());
            }
        }
        if let Some(effect) = wish.effect.filter(|_| assumes(Field::Effect)) {
            memory.report_effect(Some(effect));
        }
        let mut update = Update::default();
        if memory.reported != Reported::default() {
            memory.tell(&self.modes, now, &mut update);
        }
        update
    }
}
