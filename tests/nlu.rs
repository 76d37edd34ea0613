//! The offline understanding over the data sets, as far as they are there (`HOMELOOP_DATA`).

#[path = "nlu/sets.rs"]
mod sets;
