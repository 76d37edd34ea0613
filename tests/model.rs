//! Language models over real HTTP, against a provider made of a script that checks every request it gets: the models
//! alone, and the loop, the door and a small house on top of them. Numbers in names (F8…) are those of the
//! specification's list of faults.

#[path = "model/adversary.rs"]
mod adversary;
#[path = "model/attempts.rs"]
mod attempts;
#[path = "model/binary.rs"]
mod binary;
#[path = "model/budgets.rs"]
mod budgets;
#[path = "model/chain.rs"]
mod chain;
#[path = "model/faults.rs"]
mod faults;
#[path = "model/harness.rs"]
mod harness;
#[path = "model/live.rs"]
mod live;
#[path = "common/model_server.rs"]
mod model_server;
#[path = "model/prompt.rs"]
mod prompt;
#[path = "model/properties.rs"]
mod properties;
#[path = "model/protections.rs"]
mod protections;
#[path = "model/requests.rs"]
mod requests;
#[path = "model/routing.rs"]
mod routing;
#[path = "model/streaming.rs"]
mod streaming;
#[path = "model/streams.rs"]
mod streams;
#[path = "model/tls.rs"]
mod tls;
#[path = "model/waits.rs"]
mod waits;
#[path = "model/world.rs"]
mod world;
