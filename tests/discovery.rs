//! Discovery over recorded messages of real producers, over a real broker, and through the real binary.

mod common;

mod discovery {
    mod announced_wrong;
    mod as_home_assistant;
    mod bugs;
    mod commands;
    mod corpus;
    mod data;
    mod expected;
    mod fingerprint;
    mod fuzz;
    mod gated;
    mod house;
    mod native;
    mod quarantined;
    mod readings;
    mod replay;
    mod round_trips;
    mod running;
    mod safety;
    mod shelly;
    mod silence;
    mod templates;
    mod world;
}
