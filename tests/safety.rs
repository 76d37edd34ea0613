//! The door under attack and under faults: approvals, outcomes, invariants, adversarial sequences, a simulated world.
//!
//! Tests are named after the numbers of the safety list (`s1_…`) and after the invariants of the architecture.

#[path = "safety/adversary.rs"]
mod adversary;
#[path = "safety/approvals.rs"]
mod approvals;
#[path = "safety/invariants.rs"]
mod invariants;
#[path = "safety/outcomes.rs"]
mod outcomes;
#[path = "safety/simulation.rs"]
mod simulation;
#[path = "safety/store.rs"]
mod store;
#[path = "safety/stored.rs"]
mod stored;
#[path = "safety/world.rs"]
mod world;
