//! homeloop: a home agent daemon.
pub mod actuate;
pub mod agent;
pub mod clock;
pub mod devices;
pub mod eval;
pub mod home;
pub mod http;
pub mod journal;
pub mod model;
pub mod mqtt;
pub mod nlu;
pub mod policy;
pub mod schedule;
pub mod settings;
pub mod strict_json;
pub mod tools;
