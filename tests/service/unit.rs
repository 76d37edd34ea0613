//! The files that install the service: the unit, as systemd itself reads it.

use std::process::Command;

use crate::site::project;

/// What systemd-analyze says of the unit with the program that was just built; `None`, and a line that says so, where
/// it is not installed.
fn analyze(arguments: &[&str]) -> Option<(bool, String)> {
    let unit = std::fs::read_to_string(project("deploy/homeloop.service")).expect("the unit");
    // The program is not installed where tests run.
    let unit = unit.replace("/usr/bin/homeloop", env!("CARGO_BIN_EXE_homeloop"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("homeloop.service");
    std::fs::write(&file, unit).expect("the unit");
    match Command::new("systemd-analyze").args(arguments).arg(file).output() {
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            Some((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
        }
        Err(error) => {
            eprintln!("skipped: systemd-analyze does not run: {error}");
            None
        }
    }
}

#[test]
fn systemd_has_nothing_to_say_about_the_unit() {
    // The manual page is there once the package is installed. What systemd does not know it only prints.
    let Some(verified) = analyze(&["verify", "--man=no"]) else { return };
    assert_eq!(verified, (true, String::new()));
}

#[test]
fn the_unit_is_hardened() {
    let Some((within, said)) = analyze(&["security", "--offline=true", "--threshold=15", "--no-pager"])
    else {
        return;
    };
    assert!(within, "an exposure of more than 1.5:\n{said}");
}
