//! The limits of one task, each a setting with a sane default (invariant `limits_checked_before`).

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What one command may use up. Waiting for a person and for a device's confirmation is not counted as work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Turns asked of a model. On the last one the model may call no tool and must report.
    pub turns: u32,
    /// Tool calls in all turns together.
    pub calls: u32,
    /// Seconds of work.
    pub work_seconds: u64,
    /// Input and output tokens together.
    pub tokens: u64,
    /// Millionths of a US dollar for one task.
    pub micro_dollars: u64,
    /// Malformed calls in a row that end the task.
    pub malformed_in_a_row: u32,
    /// The same failing call this often ends the task.
    pub failures_alike: u32,
    /// Calls that run at the same time.
    pub parallel_calls: usize,
    /// Bytes of one tool result that a model gets.
    pub result_bytes: usize,
    /// Bytes of all tool results of a turn together.
    pub turn_result_bytes: usize,
    /// Failures in a row that pause an entity or a tool for the rest of the task.
    pub failures_to_pause: u32,
    /// Tokens of one answer.
    pub answer_tokens: u32,
    /// Tokens of an answer that is asked for again because its limit cut it.
    pub larger_answer_tokens: u32,
    /// Times that a truncated or paused answer is continued.
    pub continuations: u32,
    /// Times that a conversation too long for the model is shortened and asked again.
    pub shortenings: u32,
    /// Earlier commands of the same conversation that a model is shown.
    pub history: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: 8,
            calls: 16,
            work_seconds: 60,
            tokens: 60_000,
            micro_dollars: 200_000,
            malformed_in_a_row: 3,
            failures_alike: 3,
            parallel_calls: 8,
            result_bytes: 4 * 1024,
            turn_result_bytes: 16 * 1024,
            failures_to_pause: 3,
            answer_tokens: 1024,
            larger_answer_tokens: 4096,
            continuations: 3,
            shortenings: 1,
            history: 6,
        }
    }
}

impl Limits {
    /// The first limit with which no task could work: its name, its value, and what is expected.
    pub fn fault(&self) -> Option<(&'static str, u64, String)> {
        let small = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
        let least_one = [
            ("turns", self.turns.into()),
            ("calls", self.calls.into()),
            ("work_seconds", self.work_seconds),
            ("tokens", self.tokens),
            ("malformed_in_a_row", self.malformed_in_a_row.into()),
            ("failures_alike", self.failures_alike.into()),
            ("parallel_calls", small(self.parallel_calls)),
            ("result_bytes", small(self.result_bytes)),
            ("turn_result_bytes", small(self.turn_result_bytes)),
            ("failures_to_pause", self.failures_to_pause.into()),
            ("answer_tokens", self.answer_tokens.into()),
        ];
        let too_small = least_one.into_iter().find(|(_, value)| *value == 0);
        let larger = ("larger_answer_tokens", self.larger_answer_tokens.into());
        too_small.map(|(name, value)| (name, value, "at least 1".to_owned())).or_else(|| {
            (self.larger_answer_tokens < self.answer_tokens)
                .then(|| (larger.0, larger.1, format!("at least answer_tokens, {}", self.answer_tokens)))
        })
    }

    pub fn work(&self) -> Duration {
        Duration::from_secs(self.work_seconds)
    }
}
