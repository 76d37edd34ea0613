//! The real binary with a simulated home, spoken to over MQTT and HTTP as a person would.

#[path = "daemon/approvers.rs"]
mod approvers;
#[path = "daemon/bad_input.rs"]
mod bad_input;
#[path = "daemon/begin_and_end.rs"]
mod begin_and_end;
#[path = "daemon/chat.rs"]
mod chat;
#[path = "daemon/codes.rs"]
mod codes;
mod common;
#[path = "daemon/evil.rs"]
mod evil;
#[path = "daemon/faults.rs"]
mod faults;
#[path = "daemon/flood.rs"]
mod flood;
#[path = "daemon/grants.rs"]
mod grants;
#[path = "daemon/hermes.rs"]
mod hermes;
#[path = "daemon/history.rs"]
mod history;
#[path = "daemon/house.rs"]
mod house;
#[path = "daemon/interrupted.rs"]
mod interrupted;
#[path = "daemon/killed.rs"]
mod killed;
#[path = "daemon/logs.rs"]
mod logs;
#[path = "daemon/mcp.rs"]
mod mcp;
#[path = "common/model_server.rs"]
mod model_server;
#[path = "daemon/names.rs"]
mod names;
#[path = "daemon/process.rs"]
mod process;
#[path = "daemon/safe_mode.rs"]
mod safe_mode;
#[path = "daemon/scene.rs"]
mod scene;
#[path = "daemon/schedules.rs"]
mod schedules;
#[path = "daemon/speech.rs"]
mod speech;
#[path = "daemon/unlock.rs"]
mod unlock;
