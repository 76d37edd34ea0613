//! Colour words of the data sets, by hue. Not the words that commands are understood with: those are `nlu`'s, and what
//! is judged must not be the judge.

/// Hue in degrees of the colours that data sets name (CSS Color Module Level 4, named colours).
const HUES: [(&str, f64); 11] = [
    ("red", 0.0),
    ("orange", 39.0),
    ("yellow", 60.0),
    ("green", 120.0),
    ("turquoise", 174.0),
    ("cyan", 180.0),
    ("blue", 240.0),
    ("violet", 300.0),
    ("purple", 300.0),
    ("magenta", 300.0),
    ("pink", 350.0),
];

/// How far a hue may be from the word's, in degrees: nearer to it than to the next main colour.
const TOLERANCE: f64 = 30.0;

/// Whether `rgb` is the colour that `word` names. No colour fits a word that is not known here.
pub fn is(word: &str, rgb: [u8; 3]) -> bool {
    let [red, green, blue] = rgb.map(f64::from);
    let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
    let spread = most - least;
    // Next to white there is no hue to speak of; pink is a light red.
    let saturation = if most > 0.0 { spread / most } else { 0.0 };
    let word = word.to_lowercase();
    if word == "white" {
        return most > 0.0 && saturation < 0.3;
    }
    let Some((_, wanted)) = HUES.iter().find(|(known, _)| *known == word) else { return false };
    if saturation < 0.2 {
        return false;
    }
    let hue = if (most - red).abs() < f64::EPSILON {
        60.0 * ((green - blue) / spread).rem_euclid(6.0)
    } else if (most - green).abs() < f64::EPSILON {
        60.0 * ((blue - red) / spread + 2.0)
    } else {
        60.0 * ((red - green) / spread + 4.0)
    };
    let apart = (hue - wanted).abs();
    apart.min(360.0 - apart) <= TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::is;

    #[test]
    fn a_colour_is_told_from_its_neighbours() {
        for (word, rgb, fits) in [
            ("red", [255, 0, 0], true),
            ("Red", [220, 20, 60], true),
            ("red", [0, 255, 0], false),
            ("green", [0, 128, 0], true),
            ("green", [0, 0, 255], false),
            ("blue", [0, 0, 255], true),
            ("blue", [255, 255, 255], false),
            ("white", [255, 250, 240], true),
            ("white", [255, 0, 0], false),
            ("pink", [255, 192, 203], true),
            ("mauve-ish", [255, 0, 0], false),
        ] {
            assert_eq!(is(word, rgb), fits, "{word} {rgb:?}");
        }
    }
}
