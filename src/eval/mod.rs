//! Measuring how commands are understood: data sets to houses, what actions do to a simulated state, and scores.
//!
//! Pure, but for `trial`, which runs one task through the loop and the door.

pub mod apply;
pub mod home;
pub mod task;
pub mod trial;

pub use apply::apply;
pub use home::{HomeFile, house};
pub use task::{Expectation, Kind, Task, Verdict, judge};
