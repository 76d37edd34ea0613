//! How Chinese names sound, for what a recogniser writes with other characters: 可听 for 客厅.

use pinyin::ToPinyin;

/// Toneless pinyin; `None` unless every character has one.
pub fn sound(text: &str) -> Option<String> {
    let mut sound = String::new();
    for character in text.chars() {
        sound.push_str(fold_sound(character.to_pinyin()?.plain()).as_str());
        sound.push(' ');
    }
    Some(sound)
}

/// Sounds that recognisers and speakers of the south do not tell apart.
fn fold_sound(syllable: &str) -> String {
    let syllable = syllable.replacen("zh", "z", 1).replacen("sh", "s", 1).replacen("ch", "c", 1);
    match syllable.strip_suffix("ng") {
        Some(stem) => format!("{stem}n"),
        None => syllable,
    }
}
