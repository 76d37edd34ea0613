//! Language models over real HTTP, against a provider made of a script that checks every request it gets.
//! Numbers in names (F8…) are those of the specification's list of faults.

#[path = "model/faults.rs"]
mod faults;
#[path = "model/harness.rs"]
mod harness;
#[path = "model/live.rs"]
mod live;
#[path = "common/model_server.rs"]
mod model_server;
#[path = "model/requests.rs"]
mod requests;
#[path = "model/routing.rs"]
mod routing;
#[path = "model/streams.rs"]
mod streams;
#[path = "model/tls.rs"]
mod tls;
