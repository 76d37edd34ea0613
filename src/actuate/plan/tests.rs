//! What becomes a plan, and what does not.
