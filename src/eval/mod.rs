//! Measuring how commands are understood: data sets to houses, what actions do to a simulated state, and scores.
//!
//! Pure, but for `trial`, which runs one task through the loop and the door.

pub mod apply;
pub mod color;
pub mod hard;
pub mod home;
pub mod home_llm;
pub mod homes;
pub mod judge;
pub mod task;
pub mod trial;

pub use apply::apply;
pub use home::{HomeFile, house};
pub use homes::Homes;
pub use judge::{Seen, Verdict, judge};
pub use task::{Expectation, Goal, Kind, Task};
