//! Locks, alarm panels and sirens, with and without codes.

use homeloop::home::{Arg, Verb};
use serde_json::json;

use super::{Case, number, step, text};

/// The names of the secrets, as a home file gives them.
pub const CODES: &str = r#"
[[override]]
entity = "lock.safe"
code = "safe_code"
[[override]]
entity = "alarm_control_panel.vault"
code = "vault_code"
[[override]]
entity = "alarm_control_panel.cellar"
code = "cellar_code"
"#;

/// Their values.
pub const SECRETS: &[(&str, &str)] =
    &[("safe_code", "4711"), ("vault_code", "9876"), ("cellar_code", "1234")];

pub fn guards() -> Vec<Case> {
    vec![
        Case {
            component: "lock",
            name: "door",
            config: json!({"cmd_t": "door/set", "stat_t": "door", "pl_open": "OPEN",
                "cmd_tpl": "{\"do\": \"{{ value }}\"}"}),
            before: vec![("door", "UNLOCKED")],
            steps: vec![
                step(
                    Verb::Lock,
                    &[],
                    &[("door/set", r#"{"do": "LOCK"}"#)],
                    &[("door", "LOCKING"), ("door", "LOCKED")],
                    json!({"state": "locked"}),
                ),
                step(
                    Verb::Open,
                    &[],
                    &[("door/set", r#"{"do": "OPEN"}"#)],
                    &[("door", "OPENING"), ("door", "OPEN")],
                    json!({"state": "open"}),
                ),
            ],
        },
        Case {
            component: "alarm_control_panel",
            name: "panel",
            config: json!({"cmd_t": "panel/set", "stat_t": "panel", "sup_feat": ["arm_home", "arm_away"],
                "cod_arm_req": false, "cmd_tpl": "{\"action\": \"{{ action }}\"}"}),
            before: vec![("panel", "disarmed")],
            steps: vec![step(
                Verb::ArmHome,
                &[],
                &[("panel/set", r#"{"action": "ARM_HOME"}"#)],
                &[("panel", "arming"), ("panel", "armed_home")],
                json!({"state": "armed_home"}),
            )],
        },
        Case {
            component: "siren",
            name: "siren",
            config: json!({"cmd_t": "siren/set", "stat_t": "siren", "av_tones": ["bell"]}),
            before: vec![("siren", "OFF")],
            steps: vec![step(
                Verb::TurnOn,
                &[(Arg::Tone, text("bell")), (Arg::Duration, number(5.0)), (Arg::VolumePct, number(50.0))],
                &[("siren/set", r#"{"state":"ON","tone":"bell","duration":5,"volume_level":0.5}"#)],
                &[("siren", r#"{"state":"ON","tone":"bell","duration":5,"volume_level":0.5}"#)],
                json!({"state": "on", "tone": "bell"}),
            )],
        },
    ]
}

/// What wants a code gets it, where its template says.
pub fn coded() -> Vec<Case> {
    vec![
        Case {
            component: "lock",
            name: "safe",
            config: json!({"cmd_t": "safe/set", "stat_t": "safe", "cod_form": "^\\d{4}$", "cmd_tpl": "{{ value }} {{ code }}"}),
            before: vec![("safe", "UNLOCKED")],
            steps: vec![
                step(
                    Verb::Lock,
                    &[],
                    &[("safe/set", "LOCK 4711")],
                    &[("safe", "LOCKING"), ("safe", "LOCKED")],
                    json!({"state": "locked"}),
                ),
                step(
                    Verb::Unlock,
                    &[],
                    &[("safe/set", "UNLOCK 4711")],
                    &[("safe", "UNLOCKED")],
                    json!({"state": "unlocked"}),
                ),
            ],
        },
        // The panel checks the code itself.
        Case {
            component: "alarm_control_panel",
            name: "vault",
            config: json!({"cmd_t": "vault/set", "stat_t": "vault", "code": "REMOTE_CODE",
                "cmd_tpl": "{\"action\": \"{{ action }}\", \"code\": \"{{ code }}\"}"}),
            before: vec![("vault", "disarmed")],
            steps: vec![
                step(
                    Verb::ArmAway,
                    &[],
                    &[("vault/set", r#"{"action": "ARM_AWAY", "code": "9876"}"#)],
                    &[("vault", "arming"), ("vault", "armed_away")],
                    json!({"state": "armed_away"}),
                ),
                step(
                    Verb::Disarm,
                    &[],
                    &[("vault/set", r#"{"action": "DISARM", "code": "9876"}"#)],
                    &[("vault", "disarming"), ("vault", "disarmed")],
                    json!({"state": "disarmed"}),
                ),
            ],
        },
        // The announcement holds the code: it is never published.
        Case {
            component: "alarm_control_panel",
            name: "cellar",
            config: json!({"cmd_t": "cellar/set", "stat_t": "cellar", "code": "1234", "pl_arm_nite": "night"}),
            before: vec![("cellar", "disarmed")],
            steps: vec![step(
                Verb::ArmNight,
                &[],
                &[("cellar/set", "night")],
                &[("cellar", "armed_night")],
                json!({"state": "armed_night"}),
            )],
        },
    ]
}
