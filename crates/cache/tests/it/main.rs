//! Tests of caches through their public interface.

mod curves;
mod properties;
mod reference;
mod stage;
mod twin;
mod twins;
