//! Colours and their conversions, with the constants and roundings that Home Assistant uses.
//!
//! Sources of the formulas: the sRGB transfer function, the wide-gamut D65 matrices that Philips published for Hue,
//! and Tanner Helland's approximation of black-body colours.

use serde_json::{Value, json};

/// Range of white in Home Assistant where a light names none, in kelvin.
pub const MIN_KELVIN: f64 = 2000.0;
pub const MAX_KELVIN: f64 = 6535.0;

/// The warmest and the coldest white of a light, in kelvin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WhiteRange {
    pub min: f64,
    pub max: f64,
}

impl Default for WhiteRange {
    fn default() -> Self {
        Self { min: MIN_KELVIN, max: MAX_KELVIN }
    }
}

impl WhiteRange {
    /// Coldest and warmest white in mireds.
    fn mireds(self) -> (f64, f64) {
        (mired(self.max), mired(self.min))
    }
}

/// How a light is lit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    OnOff,
    Brightness,
    ColorTemp,
    Hs,
    Rgb,
    Rgbw,
    Rgbww,
    White,
    Xy,
}

impl Mode {
    pub const ALL: &[Mode] = &[
        Mode::OnOff,
        Mode::Brightness,
        Mode::ColorTemp,
        Mode::Hs,
        Mode::Rgb,
        Mode::Rgbw,
        Mode::Rgbww,
        Mode::White,
        Mode::Xy,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Mode::OnOff => "onoff",
            Mode::Brightness => "brightness",
            Mode::ColorTemp => "color_temp",
            Mode::Hs => "hs",
            Mode::Rgb => "rgb",
            Mode::Rgbw => "rgbw",
            Mode::Rgbww => "rgbww",
            Mode::White => "white",
            Mode::Xy => "xy",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Mode::ALL.iter().copied().find(|mode| mode.word() == word)
    }

    /// Whether a colour can be chosen in this mode (white is none).
    pub fn is_color(self) -> bool {
        matches!(self, Mode::Hs | Mode::Rgb | Mode::Rgbw | Mode::Rgbww | Mode::Xy)
    }
}

/// A colour as a light or a person gives it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Color {
    /// Kelvin.
    Temp(f64),
    /// Hue 0–360, saturation 0–100.
    Hs(f64, f64),
    Rgb([f64; 3]),
    Rgbw([f64; 4]),
    Rgbww([f64; 5]),
    Xy(f64, f64),
}

impl Color {
    pub fn mode(self) -> Mode {
        match self {
            Color::Temp(_) => Mode::ColorTemp,
            Color::Hs(..) => Mode::Hs,
            Color::Rgb(_) => Mode::Rgb,
            Color::Rgbw(_) => Mode::Rgbw,
            Color::Rgbww(_) => Mode::Rgbww,
            Color::Xy(..) => Mode::Xy,
        }
    }

    /// `whites` are the light's own: they say which white its white channels are.
    pub fn rgb(self, whites: WhiteRange) -> [f64; 3] {
        match self {
            Color::Temp(kelvin) => {
                let (hue, saturation) = rgb_to_hs(kelvin_to_rgb(kelvin));
                hs_to_rgb(hue, saturation)
            }
            Color::Hs(hue, saturation) => hs_to_rgb(hue, saturation),
            Color::Rgb(rgb) => rgb,
            Color::Rgbw(rgbw) => rgbw_to_rgb(rgbw),
            Color::Rgbww(rgbww) => rgbww_to_rgb(rgbww, whites),
            Color::Xy(x, y) => xy_to_rgb(x, y),
        }
    }

    pub fn hs(self, whites: WhiteRange) -> (f64, f64) {
        match self {
            Color::Temp(kelvin) => rgb_to_hs(kelvin_to_rgb(kelvin)),
            Color::Hs(hue, saturation) => (hue, saturation),
            Color::Rgb(_) | Color::Rgbw(_) | Color::Rgbww(_) | Color::Xy(..) => rgb_to_hs(self.rgb(whites)),
        }
    }

    pub fn xy(self, whites: WhiteRange) -> (f64, f64) {
        match self {
            Color::Xy(x, y) => (x, y),
            Color::Temp(_) | Color::Hs(..) | Color::Rgb(_) | Color::Rgbw(_) | Color::Rgbww(_) => {
                rgb_to_xy(self.rgb(whites))
            }
        }
    }

    /// The same colour in a mode that the light has; colour modes before white. `brightness` is for white that becomes
    /// channels.
    pub fn convert(self, modes: &[Mode], whites: WhiteRange, brightness: f64) -> Option<Color> {
        if modes.contains(&self.mode()) {
            return Some(self);
        }
        let order: &[Mode] = match self {
            Color::Temp(_) => &[Mode::Rgbww, Mode::Hs, Mode::Rgb, Mode::Rgbw, Mode::Xy],
            Color::Hs(..) => &[Mode::Rgb, Mode::Rgbw, Mode::Rgbww, Mode::Xy, Mode::ColorTemp],
            Color::Rgb(_) => &[Mode::Rgbw, Mode::Rgbww, Mode::Hs, Mode::Xy, Mode::ColorTemp],
            Color::Xy(..) => &[Mode::Hs, Mode::Rgb, Mode::Rgbw, Mode::Rgbww, Mode::ColorTemp],
            Color::Rgbw(_) | Color::Rgbww(_) => {
                &[Mode::Rgb, Mode::Rgbw, Mode::Rgbww, Mode::Hs, Mode::Xy, Mode::ColorTemp]
            }
        };
        let mode = order.iter().copied().find(|mode| modes.contains(mode))?;
        Some(match mode {
            Mode::Rgb => Color::Rgb(self.rgb(whites)),
            Mode::Rgbw => Color::Rgbw(rgb_to_rgbw(self.rgb(whites))),
            Mode::Rgbww => match self {
                Color::Temp(kelvin) => Color::Rgbww(kelvin_to_rgbww(kelvin, whites, brightness)),
                _ => Color::Rgbww(rgb_to_rgbww(self.rgb(whites), whites)),
            },
            Mode::Hs => {
                let (hue, saturation) = self.hs(whites);
                Color::Hs(hue, saturation)
            }
            Mode::Xy => {
                let (x, y) = self.xy(whites);
                Color::Xy(x, y)
            }
            Mode::ColorTemp => {
                let (x, y) = self.xy(whites);
                Color::Temp(xy_to_kelvin(x, y))
            }
            Mode::OnOff | Mode::Brightness | Mode::White => return None,
        })
    }

    /// The attributes that Home Assistant shows for this colour.
    pub fn attributes(self, whites: WhiteRange) -> Vec<(&'static str, Value)> {
        let whole =
            |list: &[f64]| Value::from(list.iter().map(|part| part.round() as i64).collect::<Vec<_>>());
        let (hue, saturation) = self.hs(whites);
        let (x, y) = self.xy(whites);
        let mut out = vec![
            ("hs_color", json!([round3(hue), round3(saturation)])),
            ("rgb_color", whole(&self.rgb(whites))),
            ("xy_color", xy_shown(self, x, y)),
        ];
        match self {
            Color::Temp(kelvin) => out.push(("color_temp_kelvin", Value::from(kelvin as i64))),
            Color::Rgbw(rgbw) => out.push(("rgbw_color", whole(&rgbw))),
            Color::Rgbww(rgbww) => out.push(("rgbww_color", whole(&rgbww))),
            Color::Hs(..) | Color::Rgb(_) | Color::Xy(..) => {}
        }
        out
    }
}

/// A light's own coordinates keep six digits, computed ones three.
fn xy_shown(color: Color, x: f64, y: f64) -> Value {
    let short = |number: f64| match color {
        Color::Xy(..) => format!("{number:.6}").parse().unwrap_or(number),
        _ => round3(number),
    };
    json!([short(x), short(y)])
}

/// Every attribute that [`Color::attributes`] can give.
pub const COLOR_ATTRIBUTES: &[&str] =
    &["hs_color", "rgb_color", "xy_color", "color_temp_kelvin", "rgbw_color", "rgbww_color"];

/// Rounds half to even, as Python's `round`.
pub fn round(number: f64) -> f64 {
    number.round_ties_even()
}

fn round3(number: f64) -> f64 {
    format!("{number:.3}").parse().unwrap_or(number)
}

/// Mireds of kelvin and the other way round: both are cut, not rounded.
pub fn mired(number: f64) -> f64 {
    if number <= 0.0 { 0.0 } else { (1_000_000.0 / number).floor() }
}

fn rgb_to_hs([red, green, blue]: [f64; 3]) -> (f64, f64) {
    let (red, green, blue) = (red / 255.0, green / 255.0, blue / 255.0);
    let max = red.max(green).max(blue);
    let min = red.min(green).min(blue);
    if max == min {
        return (0.0, 0.0);
    }
    let span = max - min;
    let (r, g, b) = ((max - red) / span, (max - green) / span, (max - blue) / span);
    let hue = if red == max {
        b - g
    } else if green == max {
        2.0 + r - b
    } else {
        4.0 + g - r
    };
    (round3((hue / 6.0).rem_euclid(1.0) * 360.0), round3(span / max * 100.0))
}

fn hs_to_rgb(hue: f64, saturation: f64) -> [f64; 3] {
    hsv_to_rgb(hue, saturation, 1.0)
}

/// `value` is 0–1. It is rounded once, at the end.
pub fn hsv_to_rgb(hue: f64, saturation: f64, value: f64) -> [f64; 3] {
    let (hue, saturation) = (hue / 360.0, saturation / 100.0);
    if saturation == 0.0 {
        return [round(value * 255.0); 3];
    }
    let sector = (hue * 6.0).floor();
    let part = hue * 6.0 - sector;
    let p = value * (1.0 - saturation);
    let q = value * (1.0 - saturation * part);
    let t = value * (1.0 - saturation * (1.0 - part));
    let rgb = match sector.rem_euclid(6.0) as u8 {
        0 => [value, t, p],
        1 => [q, value, p],
        2 => [p, value, t],
        3 => [p, q, value],
        4 => [t, p, value],
        _ => [value, p, q],
    };
    rgb.map(|part| round(part * 255.0))
}

fn rgb_to_xy(rgb: [f64; 3]) -> (f64, f64) {
    if rgb.iter().sum::<f64>() == 0.0 {
        return (0.0, 0.0);
    }
    let [red, green, blue] = rgb.map(|part| {
        let part = part / 255.0;
        if part > 0.04045 { ((part + 0.055) / 1.055).powf(2.4) } else { part / 12.92 }
    });
    let x = red * 0.664_511 + green * 0.154_324 + blue * 0.162_028;
    let y = red * 0.283_881 + green * 0.668_433 + blue * 0.047_685;
    let z = red * 0.000_088 + green * 0.072_310 + blue * 0.986_039;
    (round3(x / (x + y + z)), round3(y / (x + y + z)))
}

fn xy_to_rgb(x: f64, y: f64) -> [f64; 3] {
    let y = if y == 0.0 { 1e-11 } else { y };
    let (wide_x, wide_z) = (x / y, (1.0 - x - y) / y);
    let linear = [
        wide_x * 1.656_492 - 0.354_851 - wide_z * 0.255_038,
        -wide_x * 0.707_196 + 1.655_397 + wide_z * 0.036_152,
        wide_x * 0.051_713 - 0.121_364 + wide_z * 1.011_530,
    ];
    let shaped = linear.map(|part| {
        let part = if part <= 0.003_130_8 { 12.92 * part } else { 1.055 * part.powf(1.0 / 2.4) - 0.055 };
        part.max(0.0)
    });
    let max = shaped.iter().copied().fold(0.0, f64::max);
    let scale = if max > 1.0 { max } else { 1.0 };
    shaped.map(|part| (part / scale * 255.0).trunc())
}

/// McCamy's approximation.
fn xy_to_kelvin(x: f64, y: f64) -> f64 {
    let n = (x - 0.3320) / (0.1858 - y);
    (437.0 * n.powi(3) + 3601.0 * n.powi(2) + 6861.0 * n + 5517.0).trunc()
}

fn kelvin_to_rgb(kelvin: f64) -> [f64; 3] {
    let scaled = kelvin.clamp(1000.0, 40_000.0) / 100.0;
    let red = if scaled <= 66.0 { 255.0 } else { 329.698_727_446 * (scaled - 60.0).powf(-0.133_204_759_2) };
    let green = if scaled <= 66.0 {
        99.470_802_586_1 * scaled.ln() - 161.119_568_166_1
    } else {
        288.122_169_528_3 * (scaled - 60.0).powf(-0.075_514_849_2)
    };
    let blue = if scaled >= 66.0 {
        255.0
    } else if scaled <= 19.0 {
        0.0
    } else {
        138.517_731_223_1 * (scaled - 10.0).ln() - 305.044_792_730_7
    };
    [red, green, blue].map(|part| part.clamp(0.0, 255.0))
}

/// Scales `output` so that its brightest part is as bright as the brightest of `input`.
fn match_max<const N: usize>(input: &[f64], output: [f64; N]) -> [f64; N] {
    let max_in = input.iter().copied().fold(0.0, f64::max);
    let max_out = output.iter().copied().fold(0.0, f64::max);
    let factor = if max_out == 0.0 { 0.0 } else { max_in / max_out };
    output.map(|part| round(part * factor))
}

fn rgb_to_rgbw(rgb: [f64; 3]) -> [f64; 4] {
    let [red, green, blue] = rgb;
    let white = red.min(green).min(blue);
    match_max(&rgb, [red - white, green - white, blue - white, white])
}

fn rgbw_to_rgb(rgbw: [f64; 4]) -> [f64; 3] {
    let [red, green, blue, white] = rgbw;
    match_max(&rgbw, [red + white, green + white, blue + white])
}

fn rgb_to_rgbww(rgb: [f64; 3], whites: WhiteRange) -> [f64; 5] {
    let (min, max) = whites.mireds();
    let white = kelvin_to_rgb(mired(min + (max - min) / 2.0));
    let level = rgb
        .iter()
        .zip(white)
        .map(|(part, white)| if white == 0.0 { 0.0 } else { part / white })
        .fold(f64::INFINITY, f64::min);
    let [red, green, blue] = rgb;
    let [white_red, white_green, white_blue] = white;
    let whites = round(level * 255.0);
    match_max(
        &rgb,
        [red - white_red * level, green - white_green * level, blue - white_blue * level, whites, whites],
    )
}

fn rgbww_to_rgb(rgbww: [f64; 5], whites: WhiteRange) -> [f64; 3] {
    let [red, green, blue, cold, warm] = rgbww;
    let (min, max) = whites.mireds();
    let ratio = if cold + warm == 0.0 { 0.5 } else { warm / (cold + warm) };
    let [white_red, white_green, white_blue] = kelvin_to_rgb(mired(min + ratio * (max - min)));
    let level = cold.max(warm) / 255.0;
    match_max(&rgbww, [red + white_red * level, green + white_green * level, blue + white_blue * level])
}

fn kelvin_to_rgbww(kelvin: f64, whites: WhiteRange, brightness: f64) -> [f64; 5] {
    let (min, max) = whites.mireds();
    let cold = ((max - mired(kelvin)) / (max - min)).clamp(0.0, 1.0) * brightness;
    [0.0, 0.0, 0.0, round(cold), round(brightness - cold)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_round_as_home_assistant_does() {
        let shown = |color: Color| {
            let whites = WhiteRange::default();
            let (hue, saturation) = color.hs(whites);
            let (x, y) = color.xy(whites);
            ([round3(hue), round3(saturation)], color.rgb(whites), [round3(x), round3(y)])
        };
        assert_eq!(shown(Color::Temp(2702.0)), ([28.391, 65.659], [255.0, 167.0, 88.0], [0.524, 0.388]));
        assert_eq!(shown(Color::Xy(0.5, 0.3)), ([352.683, 48.235], [255.0, 132.0, 147.0], [0.5, 0.3]));
        assert_eq!(
            shown(Color::Rgbw([255.0, 120.0, 0.0, 10.0])),
            ([28.163, 96.078], [255.0, 125.0, 10.0], [0.613, 0.371])
        );
        assert_eq!(
            shown(Color::Rgbww([255.0, 10.0, 0.0, 0.0, 40.0])),
            ([5.929, 99.216], [255.0, 27.0, 2.0], [0.695, 0.304])
        );
        let red = Color::Rgb([255.0, 0.0, 0.0]).convert(&[Mode::Xy], WhiteRange::default(), 255.0);
        assert_eq!(red, Some(Color::Xy(0.701, 0.299)));
        assert_eq!(mired(2700.0), 370.0);
    }

    #[test]
    fn white_channels_are_the_whites_of_the_light() {
        let whites = WhiteRange { min: 2700.0, max: 5000.0 };
        let warm = |kelvin, brightness| Color::Temp(kelvin).convert(&[Mode::Rgbww], whites, brightness);
        assert_eq!(warm(2702.0, 255.0), Some(Color::Rgbww([0.0, 0.0, 0.0, 0.0, 255.0])));
        assert_eq!(warm(5000.0, 100.0), Some(Color::Rgbww([0.0, 0.0, 0.0, 100.0, 0.0])));
        assert_eq!(hsv_to_rgb(28.0, 66.0, 100.0 / 255.0), [100.0, 65.0, 34.0]);
    }
}
