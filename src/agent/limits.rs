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
    /// The name of the first limit that is zero, with which no task could work.
    pub fn fault(&self) -> Option<&'static str> {
        [
            ("turns", self.turns == 0),
            ("calls", self.calls == 0),
            ("work_seconds", self.work_seconds == 0),
            ("tokens", self.tokens == 0),
            ("malformed_in_a_row", self.malformed_in_a_row == 0),
            ("failures_alike", self.failures_alike == 0),
            ("parallel_calls", self.parallel_calls == 0),
            ("result_bytes", self.result_bytes == 0),
            ("turn_result_bytes", self.turn_result_bytes == 0),
            ("failures_to_pause", self.failures_to_pause == 0),
            ("answer_tokens", self.answer_tokens == 0),
        ]
        .into_iter()
        .find_map(|(name, is_zero)| is_zero.then_some(name))
    }

    pub fn work(&self) -> Duration {
        Duration::from_secs(self.work_seconds)
    }
}
