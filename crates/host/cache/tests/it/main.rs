//! Tests of caches through their public interface.

mod admission;
mod curves;
mod pools;
mod properties;
mod reference;
mod twin;
mod twins;
mod write_back;
