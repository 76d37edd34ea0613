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
