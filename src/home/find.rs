//! From names to entities: exact, by alias, by the nearest spelling.
//!
//! It does not understand sentences; `nlu` does.
