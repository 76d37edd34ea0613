//! The offline understanding over the data sets, as far as they are there (`HOMELOOP_DATA`).

#[path = "nlu/hard.rs"]
mod hard;
#[path = "nlu/hassil.rs"]
mod hassil;
#[path = "nlu/homellm.rs"]
mod homellm;
#[path = "nlu/sets.rs"]
mod sets;
#[path = "nlu/slurp.rs"]
mod slurp;
#[path = "nlu/variations.rs"]
mod variations;
