//! Cutting a tool result to size: it stays JSON, and it says how much is missing.

use serde_json::{Value, json};

/// Texts are cut down to this many characters before whole items are left out.
const SHORT: usize = 120;

/// `content` in at most about `limit` bytes. Items at the end of the longest list are left out first, then long texts
/// are cut; in both places a count says what is missing. What is no JSON is cut as text.
pub fn fit(content: &str, limit: usize) -> String {
    if content.len() <= limit {
        return content.to_owned();
    }
    let Ok(mut value) = serde_json::from_str::<Value>(content) else { return cut_text(content, limit) };
    shorten_texts(&mut value);
    let whole = value.to_string();
    if whole.len() <= limit {
        return whole;
    }
    let place = Place::of_longest_list(&value);
    match place.list(&mut value).map(std::mem::take) {
        Some(items) => cut_list(&value, &place, &items, limit),
        None => left_out(content.len()),
    }
}

/// As many items from the beginning as fit, found by halving.
fn cut_list(rest: &Value, place: &Place, items: &[Value], limit: usize) -> String {
    let with = |keep: usize| {
        let mut cut = rest.clone();
        if let Some(list) = place.list(&mut cut) {
            list.extend(items.iter().take(keep).cloned());
            let note = format!("{} of {} left out; ask for fewer", items.len() - keep, items.len());
            list.push(json!({ "cut": note }));
        }
        cut.to_string()
    };
    let (mut fits, mut too_many) = (0, items.len());
    while fits + 1 < too_many {
        let middle = fits.midpoint(too_many);
        if with(middle).len() <= limit { fits = middle } else { too_many = middle }
    }
    let cut = with(fits);
    if cut.len() <= limit { cut } else { left_out(cut.len()) }
}

fn left_out(bytes: usize) -> String {
    json!({ "cut": format!("{bytes} bytes left out; ask for less") }).to_string()
}

/// Where the longest list stands.
enum Place {
    Whole,
    Field(String),
}

impl Place {
    fn of_longest_list(value: &Value) -> Self {
        let length = |value: &Value| value.as_array().map_or(0, Vec::len);
        match value.as_object().and_then(|fields| fields.iter().max_by_key(|(_, value)| length(value))) {
            Some((key, _)) => Self::Field(key.clone()),
            None => Self::Whole,
        }
    }

    fn list<'v>(&self, value: &'v mut Value) -> Option<&'v mut Vec<Value>> {
        match self {
            Self::Whole => value.as_array_mut(),
            Self::Field(key) => value.get_mut(key)?.as_array_mut(),
        }
    }
}

fn shorten_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            let length = text.chars().count();
            if length > SHORT {
                let kept: String = text.chars().take(SHORT).collect();
                *text = format!("{kept}… [{} characters left out]", length - SHORT);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_texts),
        Value::Object(fields) => fields.values_mut().for_each(shorten_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn cut_text(content: &str, limit: usize) -> String {
    let end = (0..=limit).rev().find(|end| content.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… [{} bytes left out]", content.get(..end).unwrap_or_default(), content.len() - end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_lose_their_end_and_say_how_much() {
        let rows: Vec<Value> =
            (0..100).map(|n| json!({"id": format!("light.lamp_{n}"), "state": "on"})).collect();
        for content in [json!(rows), json!({"found": 100, "entities": rows})] {
            let cut = fit(&content.to_string(), 1_000);
            assert!(cut.len() <= 1_000);
            let read: Value = serde_json::from_str(&cut).expect("still JSON");
            let list = read.get("entities").unwrap_or(&read).as_array().expect("a list");
            let note = list.last().and_then(|last| last["cut"].as_str()).expect("a note");
            assert_eq!(note, format!("{} of 100 left out; ask for fewer", 100 - (list.len() - 1)));
            assert!(list.len() > 15, "as many as fit: {}", list.len());
        }
    }

    #[test]
    fn texts_are_shortened_before_anything_is_left_out() {
        let content = json!({"said": "x".repeat(5_000), "list": [1, 2, 3]}).to_string();
        let cut: Value = serde_json::from_str(&fit(&content, 400)).expect("still JSON");
        assert_eq!(cut["list"], json!([1, 2, 3]));
        assert!(cut["said"].as_str().expect("a text").ends_with("[4880 characters left out]"));
    }

    #[test]
    fn what_cannot_be_cut_well_says_so() {
        let wide: serde_json::Map<String, Value> = (0..200).map(|n| (format!("key_{n}"), json!(n))).collect();
        let cut = fit(&Value::Object(wide).to_string(), 100);
        assert!(serde_json::from_str::<Value>(&cut).expect("JSON")["cut"].as_str().is_some());
        assert_eq!(fit("灯灯灯", 4), "灯… [6 bytes left out]");
    }

    proptest! {
        #[test]
        fn a_result_fits_and_stays_json(sizes in prop::collection::vec(0_usize..400, 0..60), limit in 60_usize..4096) {
            let content = json!({"rows": sizes.iter().map(|size| "字".repeat(*size)).collect::<Vec<_>>()}).to_string();
            let cut = fit(&content, limit);
            prop_assert!(cut.len() <= limit, "{} > {limit}", cut.len());
            prop_assert!(serde_json::from_str::<Value>(&cut).is_ok());
        }
    }
}
