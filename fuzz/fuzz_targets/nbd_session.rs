//! Fuzzes an NBD session with the bytes that a client sends. The first byte selects the phase of the negotiation, the
//! export and the sizes of the pieces in which the bytes arrive.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| ssdlab_nbd::fuzz::body(data));
