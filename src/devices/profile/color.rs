//! Colours between the ways in which devices name them.
//!
//! Brightness is no part of a colour here: lights report it on its own, so every result has its largest channel
//! at 255 where the source is a chromaticity.

/// The chromaticity of white in this conversion.
const WHITE: (f64, f64) = (0.3227, 0.329);

/// CIE 1931 chromaticity (D65, wide gamut) to red, green, blue at full brightness. This is the conversion that
/// Home Assistant and most bridges use for lights.
pub fn from_xy(x: f64, y: f64) -> Option<[u8; 3]> {
    if !(0.0..=1.0).contains(&x) || y <= 0.0 || y > 1.0 {
        return None;
    }
    let (big_x, big_z) = (x / y, (1.0 - x - y) / y);
    let linear = [
        big_x * 1.656_492 - 0.354_851 - big_z * 0.255_038,
        -big_x * 0.707_196 + 1.655_397 + big_z * 0.036_152,
        big_x * 0.051_713 - 0.121_364 + big_z * 1.011_530,
    ];
    let gamma = linear.map(|part| {
        let part = part.max(0.0);
        if part <= 0.003_130_8 { 12.92 * part } else { 1.055 * part.powf(1.0 / 2.4) - 0.055 }
    });
    let largest = gamma.into_iter().fold(0.0, f64::max);
    (largest > 0.0).then(|| gamma.map(|part| channel(part / largest * 255.0)))
}

/// Red, green, blue to CIE 1931 chromaticity, the inverse of [`from_xy`], to four decimals.
pub fn to_xy([red, green, blue]: [u8; 3]) -> (f64, f64) {
    let linear = |channel: u8| {
        let part = f64::from(channel) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    let (red, green, blue) = (linear(red), linear(green), linear(blue));
    let x = red * 0.664_511 + green * 0.154_324 + blue * 0.162_028;
    let y = red * 0.283_881 + green * 0.668_433 + blue * 0.047_685;
    let z = red * 0.000_088 + green * 0.072_310 + blue * 0.986_039;
    let sum = x + y + z;
    // Black has no chromaticity; the white point stands for it.
    if sum <= 0.0 { WHITE } else { (round4(x / sum), round4(y / sum)) }
}

/// Hue in degrees and saturation in percent to red, green, blue at full brightness.
pub fn from_hs(hue: f64, saturation: f64) -> Option<[u8; 3]> {
    if !hue.is_finite() || !(0.0..=100.0).contains(&saturation) {
        return None;
    }
    let hue = hue.rem_euclid(360.0);
    let low = 1.0 - saturation / 100.0;
    let wave = |shift: f64| {
        let place = (shift + hue / 60.0) % 6.0;
        let share = (2.0 - (place - 2.0).abs()).clamp(0.0, 1.0);
        channel((low + (1.0 - low) * share) * 255.0)
    };
    // Each channel is full for 120 degrees around its own hue: red at 0, green at 120, blue at 240.
    Some([wave(2.0), wave(0.0), wave(4.0)])
}

fn channel(value: f64) -> u8 {
    // In range after the clamp; `as` drops nothing but the fraction.
    value.round().clamp(0.0, 255.0) as u8
}

fn round4(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_convert_as_lights_show_them() {
        for (hue, saturation, rgb) in [
            (0.0, 100.0, [255, 0, 0]),
            (120.0, 100.0, [0, 255, 0]),
            (240.0, 100.0, [0, 0, 255]),
            (30.0, 100.0, [255, 128, 0]),
            (300.0, 100.0, [255, 0, 255]),
            (60.0, 50.0, [255, 255, 128]),
            (360.0, 0.0, [255, 255, 255]),
        ] {
            assert_eq!(from_hs(hue, saturation), Some(rgb), "{hue} {saturation}");
        }
        assert_eq!(from_hs(f64::NAN, 100.0), None);
        assert_eq!(from_xy(0.3, 0.0), None);
        assert_eq!(from_xy(WHITE.0, WHITE.1).map(|rgb| rgb.iter().all(|part| *part >= 247)), Some(true));
    }

    #[test]
    fn a_full_colour_survives_the_way_through_xy() {
        for rgb in [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 128, 0], [255, 255, 255], [0, 180, 255]] {
            let (x, y) = to_xy(rgb);
            let back = from_xy(x, y).unwrap();
            for (channel, (was, is)) in rgb.iter().zip(back).enumerate() {
                assert!(was.abs_diff(is) <= 4, "{rgb:?} came back as {back:?}, channel {channel}");
            }
        }
    }
}
