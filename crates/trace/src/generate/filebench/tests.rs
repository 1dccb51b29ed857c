//! Runs as a whole.
