use super::*;

#[test]
fn every_profile_file_is_embedded_and_every_example_holds() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("devices");
    let mut on_disk = Vec::new();
    for dialect in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if dialect.is_dir() {
            for file in std::fs::read_dir(&dialect).unwrap() {
                on_disk.push(file.unwrap().path().strip_prefix(&folder).unwrap().display().to_string());
            }
        }
    }
    on_disk.sort();
    let embedded: Vec<&str> = EMBEDDED_FILES.iter().map(|(file, _)| *file).collect();
    assert_eq!(on_disk, embedded, "embedded.rs lists the files of devices/ in the order of their names");

    let profiles = Profiles::embedded().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(profiles.iter().count(), EMBEDDED_FILES.len());
    for (file, _) in EMBEDDED_FILES {
        let name = file.trim_end_matches(".toml").replace('/', ".");
        assert!(profiles.get(&name).is_some(), "{file} holds the profile {name}");
    }
}

/// The profile that `devices/README.md` shows, with one change each: what is said and in which line.
#[test]
fn every_fault_of_a_profile_names_its_line() {
    let readme = include_str!("../../../devices/README.md");
    let text = readme.split("```toml\n").nth(2).and_then(|rest| rest.split("```").next()).unwrap();
    let profile = Profile::parse("mine.toml", text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((profile.name(), profile.domain()), ("mine.socket", crate::home::Domain::Switch));

    for (from, to, says) in [
        ("confirm_s = 5", "confirm = 5", "mine.toml:24: unknown field `confirm`"),
        ("confirm_s = 5", "confirm_s = -1.0", "mine.toml:24: -1 is outside 0 to 3600"),
        ("domain = \"switch\"", "domain = \"socket\"", "mine.toml:2: \"socket\" is no domain"),
        ("verb = \"turn_off\"", "verb = \"toggle\"", "mine.toml:22: \"toggle\" is no verb"),
        (
            "{topic}/do\", json = { relay = 0",
            "{topik}/do\", json = { relay = 0",
            "mine.toml:23: {topik} is no parameter",
        ),
        ("action = \"turn_off\"", "action = \"turn_on\"", "mine.toml:22: turn_off has no [[example]]"),
        ("'{\"relay\":0}'", "'{\"relay\":2}'", "mine.toml:31: example: switch.turn_off switch.example sends"),
        ("state = { value = \"on\" }", "state = { value = \"off\" }", "mine.toml:36: example: the state is"),
        ("state = { value = \"on\" }", "nothing = true", "mine.toml:1: no [[example]] shows a report"),
        ("kind = \"topic\"", "kind = \"topics\"", "mine.toml:6: unknown variant `topics`"),
        (
            ", map = {",
            ", convert = \"mired\", map = {",
            "mine.toml:10: give one of map, ranges, scale and convert",
        ),
        (
            "read = [{ to = \"value\"",
            "read = [{ to = \"Value\"",
            "mine.toml:10: \"Value\" is no attribute name",
        ),
        (
            "/status\"\nread",
            "/do\"\nread",
            "mine.toml:26: example: \"desk/do\" is both a command topic and a report",
        ),
        ("profile = \"mine.socket\"\n", "", "mine.toml:1: missing field `profile`"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Profile::parse("mine.toml", &text.replacen(from, to, 1)).err();
        let error = error.unwrap_or_else(|| panic!("{to} was taken")).to_string();
        assert!(error.starts_with(says), "{to}:\n  {error}\n  {says}");
    }
}

#[test]
fn own_profiles_are_read_from_a_folder_and_may_replace_one_of_the_binary() {
    let folder = tempfile::tempdir().unwrap();
    let (_, switch) = EMBEDDED_FILES.iter().find(|(file, _)| *file == "plain/switch.toml").unwrap();
    let own = switch.replace("A plug or relay", "My own plug");
    std::fs::create_dir(folder.path().join("more")).unwrap();
    std::fs::write(folder.path().join("more/switch.toml"), &own).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "not a profile").unwrap();
    let profiles = Profiles::embedded().unwrap().with_folder(folder.path()).unwrap();
    assert!(profiles.get("plain.switch").unwrap().about().starts_with("My own plug"));

    std::fs::write(folder.path().join("again.toml"), &own).unwrap();
    let error = Profiles::embedded().unwrap().with_folder(folder.path()).err().unwrap().to_string();
    assert!(
        error.ends_with("a profile named \"plain.switch\" was read before; give each its own name"),
        "{error}"
    );
    let error = Profiles::default().with_folder(&folder.path().join("none")).err().unwrap().to_string();
    assert!(error.contains("check that the profile folder exists"), "{error}");
}

#[test]
fn text_that_a_person_gives_never_becomes_a_secret() {
    let profiles = Profiles::embedded().unwrap();
    let given = BTreeMap::from([("topic".to_owned(), toml::Value::from("home/display"))]);
    let codec = profiles.get("plain.text").unwrap().bind(&given).unwrap();
    let action = crate::home::Action::new("text.display".parse().unwrap(), crate::home::Verb::SetValue)
        .with(crate::home::Arg::Value, crate::home::ArgValue::Text("${secret:alarm_code}".into()));
    let refused = crate::devices::Codec::encode(&codec, &action, &crate::home::State::default());
    assert_eq!(refused.unwrap_err().to_string(), "value may not hold ${secret:…}");
}
