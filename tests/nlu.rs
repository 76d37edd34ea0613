//! The offline understanding over the data sets, as far as they are there (`HOMELOOP_DATA`).

#[path = "nlu/bounded.rs"]
mod bounded;
#[path = "nlu/hassil.rs"]
mod hassil;
#[path = "nlu/said.rs"]
mod said;
#[path = "nlu/sets.rs"]
mod sets;
#[path = "nlu/slurp.rs"]
mod slurp;
#[path = "nlu/variations.rs"]
mod variations;
