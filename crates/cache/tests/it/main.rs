//! Tests of caches through their public interface.

mod reference;
mod twin;
mod twins;
