//! Every number of the specification's lists has a test that carries it in its name, or a reason in one file.
//!
//! A name may carry several: `s1_and_s2_…`, `b1_to_b9_…`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The lists, by their letter, and how long they are: security attempts, bad inputs, faults.
const LISTS: [(char, u32); 3] = [('s', 66), ('b', 50), ('f', 45)];

/// Numbers without a test, with the reason.
const EXCEPTIONS: &str = include_str!("exceptions.toml");

type Number = (char, u32);

fn number(word: &str) -> Option<Number> {
    let letter = word.chars().next()?;
    let (_, length) = LISTS.iter().find(|(known, _)| *known == letter)?;
    let digits = word.get(1..)?;
    let count: u32 = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    (1..=*length).contains(&count).then_some((letter, count))
}

/// The numbers that the name of a test carries, ranges included.
fn carried(name: &str) -> Vec<Number> {
    let words: Vec<&str> = name.split('_').collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(first) = number(word) else { continue };
        found.push(first);
        let end = words.get(at + 1).filter(|next| **next == "to").and_then(|_| number(words.get(at + 2)?));
        if let Some((letter, last)) = end.filter(|(letter, _)| *letter == first.0) {
            found.extend((first.1..=last).map(|count| (letter, count)));
        }
    }
    found
}

/// The names of all functions behind a test attribute below `dir`.
fn tests(dir: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests(&path, names);
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        // Tests that are made for each broker by a macro.
        for block in text.split("on_each_broker!(\n").skip(1) {
            let block = block.split(");").next().unwrap_or_default();
            names.extend(block.split(',').map(|name| name.trim().to_owned()));
        }
        let mut after_attribute = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with("#[test") || line.starts_with("#[tokio::test") {
                after_attribute = true;
            } else if after_attribute && let Some((_, rest)) = line.split_once("fn ") {
                names.push(rest.split('(').next().unwrap_or_default().to_owned());
                after_attribute = false;
            }
        }
    }
}

#[test]
fn every_number_has_a_test_or_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = Vec::new();
    tests(&root.join("src"), &mut names);
    tests(&root.join("tests"), &mut names);
    let tested: BTreeSet<Number> = names.iter().flat_map(|name| carried(name)).collect();
    let exceptions: BTreeMap<String, String> = toml::from_str(EXCEPTIONS).expect("the exceptions are TOML");
    let mut wrong = Vec::new();
    for (name, reason) in &exceptions {
        match number(&name.to_lowercase()) {
            None => wrong.push(format!("{name} is no number of the lists")),
            Some(number) if tested.contains(&number) => {
                wrong.push(format!("{name} has a test now; take it out of the exceptions"))
            }
            Some(_) if reason.trim().len() < 20 => wrong.push(format!("{name} needs a reason")),
            Some(_) => {}
        }
    }
    for (letter, length) in LISTS {
        for count in 1..=length {
            let name = format!("{}{count}", letter.to_uppercase());
            if !tested.contains(&(letter, count)) && !exceptions.contains_key(&name) {
                wrong.push(format!("{name} has neither a test nor a reason"));
            }
        }
    }
    println!(
        "{} of {} numbers have a test",
        tested.len(),
        LISTS.iter().map(|(_, length)| length).sum::<u32>()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_carry_numbers_and_ranges() {
    assert_eq!(carried("s1_and_s3_x"), [('s', 1), ('s', 3)]);
    assert!(carried("b1_to_b9_x").contains(&('b', 5)));
    assert!(carried("a_s67_f46_b0_boss").is_empty());
}
