//! Tests of caches through their public interface.

mod curves;
mod pools;
mod properties;
mod reference;
mod stage;
mod twin;
mod twins;
