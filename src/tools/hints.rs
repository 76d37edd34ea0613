//! What a program may be told about a tool before it calls it: the annotations of the Model Context Protocol.
//!
//! Hints for other programs' screens. Whether a call may happen is decided by `policy` alone, call by call.

use super::household_calls::{LIST, SCHEDULE, STOP_ALL, TIMER};
use super::{ASK_USER, FINISH, RUN_SCENE, is_read};

/// The annotations of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits {
    /// Changes nothing in the house.
    pub read_only: bool,
    /// May open, unlock, disarm or sound something, now or later.
    pub destructive: bool,
    /// Calling it twice is like calling it once.
    pub idempotent: bool,
}

/// Whether a tool only steers a conversation with a person; of no use to a program.
pub fn is_talk(tool: &str) -> bool {
    matches!(tool, ASK_USER | FINISH)
}

/// The annotations of `tool`; those of a tool that is not known here claim nothing good.
pub fn traits_of(tool: &str) -> Traits {
    let acts = |destructive, idempotent| Traits { read_only: false, destructive, idempotent };
    match tool {
        read if is_read(read) => Traits { read_only: true, destructive: false, idempotent: true },
        "lock_lock" | "entry_close" | STOP_ALL => acts(false, true),
        // Arming and disarming start delays and sirens again; a position may be an opening one.
        "lock_unlock" | "entry_open" | "alarm_disarm" => acts(true, true),
        // These have steps, toggles and next: twice is not once.
        "light" | "switch" | "cover" | "climate" | "media_player" | TIMER | LIST => acts(false, false),
        "alarm_arm" | "announce" => acts(false, false),
        // A scene and a schedule may hold any of the others, and a button is whatever its device makes of it. A robot takes
        // commands of its own language, and a mower has blades.
        "siren" | "vacuum" | "device_setting" | RUN_SCENE | SCHEDULE => acts(true, false),
        _ => acts(true, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_never_promise_too_much() {
        for (tool, read_only, destructive) in [
            ("get_state", true, false),
            ("find_entities", true, false),
            ("light", false, false),
            ("lock_lock", false, false),
            ("lock_unlock", false, true),
            ("entry_open", false, true),
            ("alarm_disarm", false, true),
            ("siren", false, true),
            ("vacuum", false, true),
            ("run_scene", false, true),
            ("schedule", false, true),
            ("a_tool_of_next_year", false, true),
        ] {
            let traits = traits_of(tool);
            assert_eq!((traits.read_only, traits.destructive), (read_only, destructive), "{tool}");
        }
        assert!(is_talk("finish") && is_talk("ask_user") && !is_talk("light"));
    }
}
