//! A server of the Network Block Device protocol: any program on Linux can use what implements [`Export`] as a disk.
//!
//! Three parts. [`protocol`] encodes and decodes messages and keeps no state. [`Session`] is one connection without its
//! socket: received bytes go in, bytes to send come out, calls of the export happen between; so tests and the fuzzer
//! need no socket. [`Server`] has the sockets: a thread for each connection feeds a session.
//!
//! What is spoken: fixed newstyle negotiation with every option of the specification, simple and structured replies,
//! the metadata context `base:allocation`, the extension of extended headers, TLS by certificates. The extension
//! `RESIZE` and TLS by pre-shared keys (which rustls lacks) are not.
//!
//! Requests of a connection are done in order as they are decoded, a batch of replies leaves in one system call, and
//! connections run side by side. An export that simulates time says when a reply may leave ([`Leave`]); then replies
//! leave in order of time, whatever the order of their requests.

mod buffer;
mod deferred_reply;
mod export;
pub mod fuzz;
mod memory;
pub mod protocol;
mod server;
mod session;

pub use buffer::Buffer;
pub use deferred_reply::{Completer, DeferredReply, deferred_reply, latest};
pub use export::{BlockSizes, Done, Errno, Export, Extent, Features, Leave, Zeroing};
pub use memory::Memory;
pub use server::{Address, Ending, Handle, Lag, MemoryUse, Options, Server, ServerError, Sockets, Tls, TlsError};
pub use session::{Entry, Held, Host, Next, Output, Security, Session};
