//! Limits of an NBD server.

use std::time::Duration;

use super::tls::Tls;

/// Limits of an NBD server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum number of clients; the actual maximum is lower if `memory` is insufficient. Further connections are
    /// closed on accept.
    pub connections: usize,
    /// Maximum number of connections that have not chosen an export yet. A further connection replaces the oldest of
    /// them.
    pub handshakes: usize,
    /// Memory limit in bytes for requests and replies of all connections. The longest request fits if the limit is at
    /// least 192 MiB (with the default `handshakes`).
    pub memory: usize,
    /// Maximum number of waiting replies per connection; further requests wait in the socket.
    pub in_flight: usize,
    /// Time within which a client must choose an export.
    pub negotiation: Duration,
    /// Time without progress after which a client is disconnected if other clients wait for the memory that it holds.
    pub stall: Duration,
    /// Time that clients have to receive their replies after a graceful stop was requested.
    pub stop: Duration,
    /// Certificates for TLS; `None` turns encryption off.
    pub tls: Option<Tls>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 64,
            handshakes: 64,
            memory: 1 << 30,
            in_flight: 1024,
            negotiation: Duration::from_secs(30),
            stall: Duration::from_secs(1),
            stop: Duration::from_secs(10),
            tls: None,
        }
    }
}
