//! Names that look the same to a person and are not: another script's letters, another case, invisible characters.

use super::risk_words::{TWINS, folded};

/// Whether a person who reads both would take one name for the other.
pub fn looks_alike(one: &str, other: &str) -> bool {
    let shape = skeleton(one);
    // Names of signs alone have no letters to look at.
    if shape.is_empty() { one == other } else { shape == skeleton(other) }
}

/// The letters and digits as they look.
fn skeleton(name: &str) -> String {
    let shape = |c: char| match c {
        'α' => 'a',
        'ο' => 'o',
        'ρ' => 'p',
        'ν' => 'v',
        'ι' => 'l',
        'κ' => 'k',
        'τ' => 't',
        'ε' => 'e',
        'η' => 'n',
        'υ' => 'u',
        'χ' => 'x',
        '0' => 'o',
        '1' => 'l',
        _ => TWINS.iter().find(|(cyrillic, _)| *cyrillic == c).map_or(c, |(_, latin)| *latin),
    };
    // A capital I looks like a small L.
    let stroke = |c: char| if c == 'i' { 'l' } else { c };
    folded(name).chars().filter(|c| c.is_alphanumeric()).map(shape).map(stroke).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b15_twins_in_other_letters_look_alike() {
        for (one, other, alike) in [
            ("Front door", "Front door", true),
            ("Front door", "Front d\u{43e}\u{43e}r", true),
            ("Front door", "FR\u{39f}NT D\u{39f}\u{39f}R", true),
            ("Front door", "front-door\u{200b}", true),
            ("Front door", "Ｆｒｏｎｔ door", true),
            ("Front door", "Front doors", false),
            ("Front door", "Back door", false),
            ("大门", "大門", false),
            ("Door 1", "Door 2", false),
            ("Front door", "Front d00r", true),
            ("Door 1", "Door l", true),
            ("Kitchen Iight", "Kitchen light", true),
            ("\u{1f6aa}", "\u{1f511}", false),
            ("\u{1f6aa}", "\u{1f6aa}", true),
        ] {
            assert_eq!(looks_alike(one, other), alike, "{one} {other}");
        }
    }

    #[test]
    fn b15_greek_letters_look_like_the_latin_ones() {
        for (greek, latin) in "αορνικτεηυχ".chars().zip("aopvlktenux".chars()) {
            assert!(looks_alike(&greek.to_string(), &latin.to_string()), "{greek} {latin}");
        }
        // With the mark it is another letter of Japanese and no accent.
        assert!(!looks_alike("バス", "ハス"));
        assert!(looks_alike("é", "e"));
    }
}
