//! homeloop: a home agent daemon.
pub mod clock;
pub mod home;
