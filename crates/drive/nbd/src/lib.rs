//! Network Block Device server: programs on Linux can use any [`Export`] as a disk.
//!
//! - `protocol/` encodes and decodes messages and has no state.
//! - [`Session`] is the protocol state of a connection, without its socket. It gets received bytes, calls the export,
//!   and returns bytes to send. Tests and the fuzzer need no socket.
//! - [`Server`] owns the sockets and runs one thread with a session per connection.
//!
//! Supported: fixed newstyle negotiation with all options of the specification, simple and structured replies, the
//! metadata context `base:allocation`, extended headers, and TLS with certificates. Not supported: the extension
//! `RESIZE`, and TLS with pre-shared keys, which rustls does not support.
//!
//! A connection's requests are executed in order, and a batch of replies is sent in one system call. Connections run
//! concurrently. An export that simulates time determines when a reply may be sent ([`ReplyTime`]). Replies are then
//! sent in the order of their times, not in the order of the requests.

mod buffer;
mod deferred_reply;
mod export;
pub mod fuzz;
mod memory;
mod protocol;
mod server;
mod session;

pub use deferred_reply::{Completer, DeferredReply, deferred_reply, latest};
pub use export::{BlockSizes, Errno, Export, ExportResult, Extent, Features, ReplyTime, Zeroing};
pub use memory::Memory;
pub use server::{Address, Ending, Handle, Lag, MemoryUse, Options, Server, ServerError, Sockets, Tls, TlsError};
pub use session::{Entry, Held, Host, Next, Output, Security, Session};
