//! `homeloop run` as a service: a home file, a real mosquitto, restarts, signals, and the files that install it.

#[path = "service/chat.rs"]
mod chat;
#[path = "service/commands.rs"]
mod commands;
mod common;
#[path = "service/doctor.rs"]
mod doctor;
#[path = "service/ends.rs"]
mod ends;
#[path = "service/keeps.rs"]
mod keeps;
#[path = "service/kills.rs"]
mod kills;
#[path = "service/metrics.rs"]
mod metrics;
#[path = "service/reload.rs"]
mod reload;
#[path = "service/site.rs"]
mod site;
#[path = "service/unit.rs"]
mod unit;
