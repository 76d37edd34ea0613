//! What a model SEES: the tools of a house, and what a call of one means.

mod spec;

pub use spec::{ToolCall, ToolSpec};
