//! What the topics of a basic light are about, and which of it is assumed.

use super::color::Color;

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
