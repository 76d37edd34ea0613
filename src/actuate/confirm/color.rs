//! Whether a reported colour is the wished one, in whatever terms a lamp reports it.

use serde_json::Value;

use crate::home::attr;

/// Largest distance of two colours in the CIE 1931 chromaticity diagram that still look like the same wish: lamps
/// differ in their gamut, and they report what they can show.
const XY: f64 = 0.06;

/// Whether the value of attribute `name` (`rgb_color`, `hs_color` or `xy_color`) shows `rgb`. Brightness is another
/// attribute and does not count.
pub(super) fn shows(value: Option<&Value>, name: &str, rgb: [u8; 3]) -> bool {
    let [red, green, blue] = rgb.map(|channel| f64::from(channel) / 255.0);
    xy(red, green, blue).is_some_and(|target| is_near(value, name, target))
}

/// Whether the value of attribute `name` shows the colour at these coordinates.
pub(super) fn is_near(value: Option<&Value>, name: &str, (to_x, to_y): (f64, f64)) -> bool {
    let Some(numbers) = value.and_then(numbers) else { return false };
    let reported = match (name, numbers.as_slice()) {
        (attr::RGB_COLOR, &[red, green, blue]) => xy(red / 255.0, green / 255.0, blue / 255.0),
        (attr::HS_COLOR, &[hue, saturation]) => {
            let [red, green, blue] = from_hue(hue, saturation / 100.0);
            xy(red, green, blue)
        }
        (attr::XY_COLOR, &[x, y]) => Some((x, y)),
        _ => None,
    };
    reported.is_some_and(|(x, y)| (x - to_x).hypot(y - to_y) <= XY)
}

/// Whether reported channels have the proportions of `target`, each within a thirtieth of the brightest: brightness is
/// another attribute, and lamps round.
pub(super) fn same_parts(value: Option<&Value>, target: &[f64]) -> bool {
    let Some(reported) = value.and_then(numbers) else { return false };
    let brightest = |parts: &[f64]| parts.iter().copied().fold(0.0, f64::max);
    let (ours, theirs) = (brightest(target), brightest(&reported));
    if reported.len() != target.len() || ours <= 0.0 || theirs <= 0.0 {
        return reported == target;
    }
    reported
        .iter()
        .zip(target)
        .all(|(theirs_now, wished)| (theirs_now / theirs - wished / ours).abs() <= 1.0 / 30.0)
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::Array(parts) => parts.iter().map(Value::as_f64).collect(),
        Value::Object(parts) => {
            let keys: &[&str] = if parts.contains_key("x") { &["x", "y"] } else { &["r", "g", "b"] };
            keys.iter().map(|key| parts.get(*key)?.as_f64()).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// sRGB (0 to 1) to CIE 1931 chromaticity, D65; black has none. Matrix and transfer function of IEC 61966-2-1.
fn xy(red: f64, green: f64, blue: f64) -> Option<(f64, f64)> {
    let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
    let (red, green, blue) = (linear(red), linear(green), linear(blue));
    let x = 0.4124 * red + 0.3576 * green + 0.1805 * blue;
    let y = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    let z = 0.0193 * red + 0.1192 * green + 0.9505 * blue;
    let sum = x + y + z;
    (sum > 1e-9).then(|| (x / sum, y / sum))
}

/// The full colour of a hue in degrees and a saturation in percent.
pub(super) fn rgb_of_hue(hue: f64, saturation: f64) -> [u8; 3] {
    from_hue(hue, saturation / 100.0).map(|channel| (channel * 255.0).round() as u8)
}

/// Hue in degrees and saturation 0 to 1, at full value, to RGB.
fn from_hue(hue: f64, saturation: f64) -> [f64; 3] {
    let channel = |offset: f64| {
        let k = (offset + hue / 60.0).rem_euclid(6.0);
        1.0 - saturation * k.min(4.0 - k).clamp(0.0, 1.0)
    };
    [channel(5.0), channel(3.0), channel(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn channels_are_compared_by_their_proportions() {
        for (value, target, same) in [
            (json!([255, 128, 64, 32]), vec![255.0, 128.0, 64.0, 32.0], true),
            (json!([64, 128, 191, 255]), vec![10.0, 20.0, 30.0, 40.0], true),
            (json!([255, 128, 64]), vec![255.0, 128.0, 64.0, 32.0], false),
            (json!([255, 0, 64, 32]), vec![255.0, 128.0, 64.0, 32.0], false),
            (json!([0.301, 0.399]), vec![0.3, 0.4], true),
            (json!([0, 0, 0, 0]), vec![255.0, 0.0, 0.0, 0.0], false),
        ] {
            assert_eq!(same_parts(Some(&value), &target), same, "{value} {target:?}");
        }
    }

    #[test]
    fn the_same_colour_is_known_in_every_notation() {
        for (name, value, rgb, same) in [
            (attr::RGB_COLOR, json!([255, 0, 0]), [255, 0, 0], true),
            (attr::RGB_COLOR, json!([128, 0, 0]), [255, 0, 0], true),
            (attr::RGB_COLOR, json!([0, 255, 0]), [255, 0, 0], false),
            (attr::HS_COLOR, json!([0, 100]), [255, 0, 0], true),
            (attr::HS_COLOR, json!([120, 100]), [0, 255, 0], true),
            (attr::HS_COLOR, json!([240, 100]), [0, 255, 0], false),
            (attr::XY_COLOR, json!([0.64, 0.33]), [255, 0, 0], true),
            (attr::XY_COLOR, json!({"x": 0.3127, "y": 0.329}), [255, 255, 255], true),
            (attr::XY_COLOR, json!([0.17, 0.7]), [255, 0, 0], false),
            (attr::RGB_COLOR, json!({"r": 255, "g": 0, "b": 0}), [255, 0, 0], true),
            (attr::RGB_COLOR, json!({"r": 0, "g": 0, "b": 255}), [255, 0, 0], false),
            (attr::RGB_COLOR, json!([0, 0, 0]), [255, 0, 0], false),
            (attr::RGB_COLOR, json!("red"), [255, 0, 0], false),
        ] {
            assert_eq!(shows(Some(&value), name, rgb), same, "{name} {value} {rgb:?}");
        }
    }

    /// Colours that are no corner of the gamut, dark ones too, against their coordinates and not against themselves.
    #[test]
    fn mixed_colours_have_the_coordinates_of_the_standard() {
        let mixed = [
            ([200, 100, 50], (0.5148, 0.3845)),
            ([60, 120, 240], (0.1868, 0.1590)),
            ([10, 5, 2], (0.4236, 0.3948)),
            ([10, 2, 10], (0.3185, 0.2051)),
            ([2, 10, 5], (0.2759, 0.4129)),
            // Partly below the knee of the transfer function, partly above it.
            ([10, 60, 10], (0.3020, 0.5580)),
            ([255, 255, 255], (0.3127, 0.3290)),
        ];
        for (rgb, (x, y)) in mixed {
            let [red, green, blue] = rgb.map(|channel| f64::from(channel) / 255.0);
            let (is_x, is_y) = xy(red, green, blue).unwrap();
            assert!((is_x - x).hypot(is_y - y) < 1e-3, "{rgb:?}: {is_x} {is_y}");
            for (other, _) in mixed {
                let same = rgb == other;
                assert_eq!(shows(Some(&json!([x, y])), attr::XY_COLOR, other), same, "{rgb:?} {other:?}");
                assert_eq!(shows(Some(&json!(rgb)), attr::RGB_COLOR, other), same, "{rgb:?} {other:?}");
            }
        }
        assert_eq!(xy(0.0, 0.0, 0.0), None);
    }

    #[test]
    fn hues_between_the_corners_are_known() {
        for (hue, saturation, wanted) in [
            (30.0, 1.0, [1.0, 0.5, 0.0]),
            (90.0, 1.0, [0.5, 1.0, 0.0]),
            (150.0, 1.0, [0.0, 1.0, 0.5]),
            (210.0, 1.0, [0.0, 0.5, 1.0]),
            (270.0, 1.0, [0.5, 0.0, 1.0]),
            (330.0, 0.5, [1.0, 0.5, 0.75]),
        ] {
            for (is, wanted) in from_hue(hue, saturation).into_iter().zip(wanted) {
                assert!((is - wanted).abs() < 1e-9, "{hue} {saturation}: {is} {wanted}");
            }
        }
    }
}
