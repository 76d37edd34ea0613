//! `schema: template`: the device's own format, written and read by templates.

use std::sync::{Mutex, PoisonError};

use super::super::entity_codec::{
    Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad, whole,
};
use super::super::fields::{Command, Fields, Refusal};
use super::color::{Color, Mode, hsv_to_rgb};
use super::memory::Memory;
use super::{Abilities, Whites, Wish, effects};
use crate::devices::codec::{EncodeError, Fault};
use crate::devices::template::Value as Engine;
use crate::home::{Action, State, Update};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    State,
    Brightness,
    ColorTemp,
    Red,
    Green,
    Blue,
    Effect,
}

struct TemplateLight {
    on: Command,
    off: Command,
    modes: Vec<Mode>,
    whites: Whites,
    /// Whether a template reads the state; else only a payload that is the state itself does.
    reads_state: bool,
    /// Whether brightness is a value of its own; else it is part of the colour.
    brightness: bool,
    effects: Vec<String>,
    optimistic: bool,
    memory: Mutex<(Memory, Parts)>,
}

/// What one message says of a channel of the colour.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Part {
    /// Nothing, or nothing that can be read: the colour stays.
    #[default]
    Unsaid,
    /// `None`: there is no colour.
    Cleared,
    Level(f64),
}

/// The channels of a colour while one message is read.
type Parts = [Part; 3];

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let topic = fields.publish("command_topic")?.ok_or_else(|| Refusal::Missing("command_topic".into()))?;
    let command = |key: &str| -> Result<Command, Refusal> {
        let template = fields.template(key)?.ok_or_else(|| Refusal::Missing(key.into()))?;
        Ok(Command { topic: topic.clone(), template: Some(template) })
    };
    let state_topics = fields.subscribe_all("state_topic")?;
    let read = |key: &str, field| -> Result<Option<Read<Field>>, Refusal> {
        let template = fields.template(key)?;
        Ok(state_topics.clone().filter(|_| template.is_some()).map(|topics| Read {
            topics,
            template,
            field,
            undefined: Undefined::Ignore,
        }))
    };
    let (on, off) = (command("command_on_template")?, command("command_off_template")?);
    let state = Read {
        topics: state_topics.clone().unwrap_or_default(),
        template: fields.template("state_template")?,
        field: Field::State,
        undefined: Undefined::Ignore,
    };
    let reads = vec![
        state_topics.is_some().then_some(state),
        read("brightness_template", Field::Brightness)?,
        read("color_temp_template", Field::ColorTemp)?,
        read("red_template", Field::Red)?,
        read("green_template", Field::Green)?,
        read("blue_template", Field::Blue)?,
        read("effect_template", Field::Effect)?,
    ];
    let has = |key: &str| fields.has(key);
    let mut modes = Vec::new();
    if has("color_temp_template") {
        modes.push(Mode::ColorTemp);
    }
    if has("red_template") && has("green_template") && has("blue_template") {
        modes.push(Mode::Hs);
    }
    if modes.is_empty() {
        modes.push(if has("brightness_template") { Mode::Brightness } else { Mode::OnOff });
    }
    let only = match modes.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let effect_list = effects(fields)?;
    let whites = Whites::read(fields)?;
    let actions = Abilities {
        modes: &modes,
        whites,
        effects: &effect_list,
        any_effect: false,
        transition: true,
        flash: false,
        dims: true,
    }
    .actions();
    let reports = state_topics.is_some() && has("state_template");
    let component = TemplateLight {
        on,
        off,
        whites,
        reads_state: has("state_template"),
        brightness: has("brightness_template"),
        effects: effect_list,
        optimistic: !reports || fields.flag("optimistic", false)?,
        memory: Mutex::new((
            Memory { mode: only, whites: whites.range, ..Memory::default() },
            Parts::default(),
        )),
        modes,
    };
    let codec = EntityCodec::shared(common, reads, component);
    Ok(Built { codec, actions, reports_state: reports, initial: Update::default() })
}

impl TemplateLight {
    fn memory(&self) -> std::sync::MutexGuard<'_, (Memory, Parts)> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Component for TemplateLight {
    type Field = Field;

    fn apply(&self, field: Field, text: &str, _: &mut View<'_, '_>) -> Result<(), Fault> {
        let mut guard = self.memory();
        let (memory, parts) = &mut *guard;
        if text.is_empty() {
            return Ok(());
        }
        match field {
            Field::State => match text {
                "on" => memory.report_on(Some(true)),
                "off" => memory.report_on(Some(false)),
                "None" => memory.report_on(None),
                _ if !self.reads_state => {}
                _ => return Err(bad("state", text, "on, off or None")),
            },
            Field::Brightness => {
                let value = whole("brightness", text)?;
                if value > 0.0 {
                    memory.report_brightness(Some(value.min(255.0)));
                }
            }
            Field::ColorTemp if text == "None" && !self.whites.kelvin => {
                memory.color = memory.color.filter(|color| color.mode() != Mode::ColorTemp);
            }
            Field::ColorTemp => {
                if let Some(kelvin) = self.whites.read_in(whole("color_temp", text)?) {
                    memory.report_color(Some(Color::Temp(kelvin)));
                    memory.report_mode(Mode::ColorTemp);
                }
            }
            Field::Red | Field::Green | Field::Blue => {
                let at = match field {
                    Field::Green => 1,
                    Field::Blue => 2,
                    _ => 0,
                };
                if let Some(part) = parts.get_mut(at) {
                    *part = match text {
                        "None" => Part::Cleared,
                        _ => Part::Level(whole("rgb_color", text)?),
                    };
                }
            }
            Field::Effect if self.effects.iter().any(|effect| effect == text) => {
                memory.report_effect(Some(text.to_owned()));
            }
            Field::Effect => return Err(bad("effect", text, self.effects.join(", "))),
        }
        Ok(())
    }

    fn settle(&self, view: &mut View<'_, '_>) {
        let mut guard = self.memory();
        let (memory, parts) = &mut *guard;
        match std::mem::take(parts) {
            _ if !self.modes.contains(&Mode::Hs) => {}
            [Part::Level(red), Part::Level(green), Part::Level(blue)] => {
                let (hue, saturation) = Color::Rgb([red, green, blue]).hs(memory.whites);
                memory.report_color(Some(Color::Hs(hue, saturation)));
                memory.report_mode(Mode::Hs);
            }
            [Part::Cleared, Part::Cleared, Part::Cleared] => {
                let white = memory.color.filter(|color| color.mode() == Mode::ColorTemp);
                memory.report_color(white);
                if self.modes.contains(&Mode::ColorTemp) {
                    memory.report_mode(Mode::ColorTemp);
                }
            }
            _ => {}
        }
        memory.show(&self.modes, view);
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let wish = Wish::of(action, &self.modes, &self.memory().0)?;
        let mut vars: Vec<(&'static str, Engine)> = vec![("state", wish.on.into())];
        if let Some(brightness) = wish.brightness {
            vars.push(("brightness", (brightness as i64).into()));
        }
        match wish.color {
            Some(Color::Temp(kelvin)) => vars.push(("color_temp", (self.whites.write(kelvin) as i64).into())),
            Some(color) => {
                let (known, range) = (self.memory().0.brightness, self.whites.range);
                let level = if self.brightness { 255.0 } else { wish.brightness.or(known).unwrap_or(255.0) };
                let (hue, saturation) = color.hs(range);
                let rgb = hsv_to_rgb(hue, saturation, level / 255.0).map(|part| Engine::from(part as i64));
                vars.extend(["red", "green", "blue"].into_iter().zip(rgb));
                vars.push(("hue", hue.into()));
                vars.push(("sat", saturation.into()));
            }
            None => {}
        }
        if let Some(effect) = &wish.effect {
            vars.push(("effect", effect.as_str().into()));
        }
        if let Some(transition) = wish.transition {
            vars.push(("transition", transition.into()));
        }
        out.send(if wish.on { &self.on } else { &self.off }, (), &vars)
    }

    fn inherit(&self, before: &Self) {
        let known = before.memory().0.clone();
        self.memory().0.inherit(known, &self.modes);
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        let wish = Wish::of(action, &self.modes, &self.memory().0);
        match wish {
            Ok(wish) if self.optimistic => super::assumed(&wish, &mut self.memory().0, &self.modes),
            _ => Update::default(),
        }
    }
}
