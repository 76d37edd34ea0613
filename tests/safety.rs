//! The door under attack and under faults: approvals, outcomes, invariants, adversarial sequences, a simulated world.
//!
//! Tests are named after the numbers of the safety list (`s1_…`) and after the invariants of the architecture. The
//! attempts on approvals that do not end at the door are tested where they end: S8 to S10 and S12 (retained, queued,
//! switched off, forged) and S14 (the body names a decider) in `mqtt` and `http`, S11 with the settings, S15 (the model
//! calls `approve`) in `tools`, S16 (our own discovery) in `discovery`. S21 needs no test of its own: the door takes
//! [`homeloop::policy::AnswerWord`], and no channel makes one from a sentence.

#[path = "safety/adversary.rs"]
mod adversary;
#[path = "safety/approvals.rs"]
mod approvals;
#[path = "safety/bounds.rs"]
mod bounds;
#[path = "safety/changes.rs"]
mod changes;
#[path = "safety/grants.rs"]
mod grants;
#[path = "safety/interrupted.rs"]
mod interrupted;
#[path = "safety/invariants.rs"]
mod invariants;
#[path = "safety/listeners.rs"]
mod listeners;
#[path = "safety/movers.rs"]
mod movers;
#[path = "safety/occasions.rs"]
mod occasions;
#[path = "safety/outcomes.rs"]
mod outcomes;
#[path = "safety/races.rs"]
mod races;
#[path = "safety/scripted.rs"]
mod scripted;
#[path = "safety/sending.rs"]
mod sending;
#[path = "safety/shown.rs"]
mod shown;
#[path = "safety/simulation.rs"]
mod simulation;
#[path = "safety/store.rs"]
mod store;
#[path = "safety/stored.rs"]
mod stored;
#[path = "safety/waiting.rs"]
mod waiting;
#[path = "safety/whole.rs"]
mod whole;
#[path = "safety/world.rs"]
mod world;
