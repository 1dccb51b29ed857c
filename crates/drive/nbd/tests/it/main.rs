//! Tests of the server. Messages are encoded by hand or by the module `peer`, never by the crate's encoder.

mod bounds;
mod delay;
mod extended;
mod flush;
mod greeting;
mod info;
mod meta;
mod model;
mod options;
mod peer;
mod probe;
mod requests;
mod security;
mod server;
mod shutdown;
mod smoke;
mod sockets;
mod structured;
mod tls;
