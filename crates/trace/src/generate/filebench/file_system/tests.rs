//! Files by hand.
