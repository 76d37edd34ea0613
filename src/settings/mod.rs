//! Settings: what a person wrote for this home, checked at start so that nothing broken runs.

pub mod home_file;
pub mod policy_file;
