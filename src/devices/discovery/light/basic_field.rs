//! What the topics of a basic light are about, and which of it is assumed.

use super::super::entity_codec::{Read, Undefined};
use super::super::fields::{Fields, Refusal};
use super::color::{Color, Mode};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    State,
    Brightness,
    Mode,
    ColorTemp,
    Effect,
    Hs,
    Rgb,
    Rgbw,
    Rgbww,
    Xy,
}

/// What is taken to be as it was asked for, because no topic tells it.
pub(super) fn assumed(optimistic: bool, dims: bool, reports: impl Fn(Field) -> bool) -> Vec<Field> {
    let all = [
        Field::State,
        Field::Brightness,
        Field::Mode,
        Field::ColorTemp,
        Field::Effect,
        Field::Hs,
        Field::Rgb,
        Field::Rgbw,
        Field::Rgbww,
        Field::Xy,
    ];
    let silent = |field: &Field| match field {
        // A light that dims by its colour reports the brightness with it.
        Field::Brightness if !dims => !reports(Field::Rgb),
        field => !reports(*field),
    };
    all.into_iter().filter(|field| optimistic || silent(field)).collect()
}

/// The topic that reports a colour of this kind.
pub(super) fn field(color: Color) -> Field {
    match color {
        Color::Temp(_) => Field::ColorTemp,
        Color::Hs(..) => Field::Hs,
        Color::Rgb(_) => Field::Rgb,
        Color::Rgbw(_) => Field::Rgbw,
        Color::Rgbww(_) => Field::Rgbww,
        Color::Xy(..) => Field::Xy,
    }
}

/// What the announcement reads, of what can be set.
pub(super) fn reads(fields: Fields<'_>) -> Result<Vec<Option<Read<Field>>>, Refusal> {
    let read = |name: &str, field| {
        Read::of(
            fields,
            &format!("{name}_state_topic"),
            &format!("{name}_value_template"),
            field,
            Undefined::Ignore,
        )
    };
    let mut reads = vec![
        Read::of(fields, "state_topic", "state_value_template", Field::State, Undefined::Raw)?,
        read("brightness", Field::Brightness)?,
        read("color_mode", Field::Mode)?,
        read("color_temp", Field::ColorTemp)?,
        read("effect", Field::Effect)?,
        read("hs", Field::Hs)?,
        read("rgb", Field::Rgb)?,
        read("rgbw", Field::Rgbw)?,
        read("rgbww", Field::Rgbww)?,
        read("xy", Field::Xy)?,
    ];
    // What cannot be set is not shown either.
    if !fields.has("effect_command_topic") {
        reads.retain(|read| read.as_ref().is_none_or(|read| read.field != Field::Effect));
    }
    Ok(reads)
}

/// The modes of a light follow from what can be sent to it.
pub(super) fn modes(fields: Fields<'_>) -> Vec<Mode> {
    let named = [
        ("color_temp", Mode::ColorTemp),
        ("hs", Mode::Hs),
        ("rgb", Mode::Rgb),
        ("rgbw", Mode::Rgbw),
        ("rgbww", Mode::Rgbww),
        ("white", Mode::White),
        ("xy", Mode::Xy),
    ];
    let has = |name: &str| fields.has(&format!("{name}_command_topic"));
    let modes: Vec<Mode> = named.into_iter().filter(|(name, _)| has(name)).map(|(_, mode)| mode).collect();
    match modes.is_empty() {
        false => modes,
        true => vec![if has("brightness") { Mode::Brightness } else { Mode::OnOff }],
    }
}
