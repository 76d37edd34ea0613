//! Measuring how commands are understood: data sets to houses, what actions do to a simulated state, and scores.
//!
//! Pure. It does not run the daemon: `homeloop eval` does, and uses these pieces.

pub mod apply;
pub mod home;
pub mod task;

pub use apply::apply;
pub use home::{HomeFile, house};
pub use task::{Expectation, Kind, Task, Verdict, judge};
