//! Every kind of thing and every fault of a device through the same codecs, door and sentences as in the daemon: an
//! action, the exact bytes, the report, the outcome, and what people are told in both languages.

#[path = "kinds/actions.rs"]
mod actions;
#[path = "kinds/every_verb.rs"]
mod every_verb;
#[path = "kinds/faults.rs"]
mod faults;
#[path = "kinds/home.rs"]
mod home;
