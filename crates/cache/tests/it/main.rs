//! Tests of caches through their public interface.

mod reference;
