//! homeloop: a home agent. This page is its architecture.
//!
//! homeloop listens to the devices of a house over MQTT, turns what each device can do into tools, and runs an agent
//! loop for every command that a person says or types. It acts only through one guarded door, waits for the house
//! itself to confirm, and reports what really happened.
//!
//! # Five promises
//!
//! 1. **A reply never claims more than the house confirmed.** Outcomes come from device reports, not from a model.
//! 2. **One door.** Whatever decides, an action reaches a device only through [`actuate`].
//! 3. **Security actions wait for a person**, on a channel the model cannot write to, bound to the exact bytes that
//!    will be sent, once, and across restarts.
//! 4. **It works with nothing but a broker.** No cloud, no key: [`nlu`] understands the common commands.
//! 5. **One binary**, one state directory, no database server.
//!
//! # Words
//!
//! *Entity*: one controllable or readable thing. *State*: its last report. *Action*: an explicit verb with typed
//! arguments on one entity. *Codec*: how one entity speaks. *Command*: what a person said. *Task*: one command from
//! arrival to its single result. *Turn*: one request to a model and the calls that it returned. *Plan*: calls resolved
//! to frozen actions and bytes, with a hash. *Decision*: allow, ask, deny. *Approval*: one durable question to a person
//! about one plan. *Permit*: the proof that a decision allowed a plan. *Outcome*: what the house says.
//!
//! # Map
//!
//! | module | what it is | what it never does |
//! | --- | --- | --- |
//! | [`home`] | what the house IS: entities, states, actions, places | I/O, async |
//! | [`devices`] | how devices SPEAK: profiles, discovery, templates, the simulator | send, decide, wait |
//! | [`policy`] | what MAY happen: tiers, rules, one precedence, approvals, permits | I/O, trust device text |
//! | [`actuate`] | THE DOOR: plan, send with a permit, confirm | decide |
//! | [`nlu`] | understanding commands without a model | I/O, act |
//! | [`tools`] | what a model SEES: catalog, requests, reads | act |
//! | [`model`] | who DECIDES: offline, OpenAI-compatible, Anthropic, retry, router | act, remember |
//! | [`agent`] | THE LOOP: events, fold, next, driver, reply | hand bytes to a device |
//! | [`journal`] | the append-only record in SQLite, one writer | know what an event means |
//! | [`voice`] | Wyoming for Home Assistant, Hermes, recorded speech | approve |
//! | [`hass`] | Home Assistant's WebSocket API: its entities as ours, its services as a port | decide, queue |
//! | [`schedule`] | cron, timers: when something is due | decide whether it may happen |
//! | [`mqtt`] | the link, the embedded broker, our topics | queue while the link is down |
//! | [`http`] | REST and SSE, the page, compatible endpoints, MCP | approve by itself |
//! | [`settings`] | settings, home file and policy file, every check at start | open a socket |
//! | [`app`] | composition root: build, start, supervise, drain | hold rules of its own |
//! | [`cli`] | one file per group of subcommands | hold rules of its own |
//! | [`trust`] | whose certificates are believed | connect |
//! | [`clock`] | the only reader of time and randomness | wait |
//!
//! # Arrows
//!
//! ```text
//! main -> cli -> app -> { mqtt, http, voice, hass, schedule } -> agent -> model -> tools -> actuate -> { policy, devices, journal } -> home
//!                                                              model, tools -> nlu -> home
//! ```
//!
//! `tests/architecture.rs` reads the imports and fails when an arrow turns. Timers, lists and schedules are reached
//! from tools through the trait [`tools::Household`]; MQTT and Home Assistant implement [`actuate::Port`]; nothing
//! else reaches back.
//!
//! # The heart
//!
//! ```text
//! state = fold(journal events of the task)
//! loop {
//!     match next(&state, &limits) {         // pure
//!         CallModel     => stream the model, append what it said
//!         RunCalls      => through the door, append every outcome
//!         AwaitApproval => wait for the person or the expiry, append the answer
//!         Finish        => build the reply from the ledger of outcomes, append, stop
//!     }
//! }
//! ```
//!
//! Live run, resume after a crash, replay and tests are the same three pieces: [`agent::TaskState::fold`],
//! [`agent::next`] and the driver.

pub mod actuate;
pub mod agent;
pub mod app;
pub mod cli;
pub mod clock;
pub mod devices;
pub mod eval;
pub mod hass;
pub mod home;
pub mod http;
pub mod journal;
pub mod model;
pub mod mqtt;
pub mod nlu;
pub mod policy;
pub mod quarantine;
pub mod schedule;
pub mod secret_file;
pub mod settings;
pub mod strict_json;
pub mod tools;
pub mod trust;
pub mod voice;

/// Chooses the cryptography of TLS for the whole process: ring. Calling it again changes nothing.
pub fn tls_provider() {
    // An error means that it was chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
