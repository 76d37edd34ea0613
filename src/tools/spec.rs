//! Tools and calls as the OpenAI and Anthropic APIs describe them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool that is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON schema of the arguments (an object schema).
    pub parameters: Value,
}

/// A complete tool call as the model wrote it. The arguments are raw text: they may be no JSON at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}
