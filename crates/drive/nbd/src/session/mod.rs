//! Protocol state of one connection, without its socket: first the negotiation, then the transmission.

mod host;
mod input;
mod negotiation;
mod output;
mod transmission;

use std::sync::Arc;

pub use host::{Entry, Host, Security};
pub use output::{Held, Output};

use input::Input;
use negotiation::Negotiation;
use transmission::Transmission;

use crate::protocol::{INIT_MAGIC, OPTION_MAGIC, handshake};

/// Action that a session requires from its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The caller must send the session's output, then receive more bytes.
    Receive,
    /// The caller must send the session's output, then call [`Session::advance`] again.
    Continue,
    /// The caller must send the session's output, and wait until the server has memory for this many bytes of payload
    /// or reply. The caller then calls [`Session::grant`] and [`Session::advance`]. The memory is needed until the
    /// reply to the next request is sent.
    Room(usize),
    /// The caller must send the session's output, then start TLS and call [`Session::tls_started`].
    StartTls,
    /// The caller must send the session's output, then close the connection.
    Close,
}

/// Result of handling a message from the client.
enum Step {
    /// The message was handled.
    Done,
    /// The message is incomplete; its total length is this many bytes.
    Short(usize),
    /// The message has a payload or reply of this many bytes. Memory for these bytes must be granted first.
    Long(usize),
    StartTls,
    Enter(Transmission),
    Close,
}

enum Phase {
    /// The session waits for the client's flags.
    Greeting,
    Options(Negotiation),
    Transmission(Transmission),
    Closed,
}

/// The server's side of one connection.
///
/// The caller puts received bytes into [`Session::space`], reports them to [`Session::received`] and calls
/// [`Session::advance`], which handles them and returns the next action. Memory is limited to twice the largest write
/// and read. With [`Session::ask_beyond`] the caller decides when a long request gets memory.
pub struct Session {
    host: Arc<Host>,
    phase: Phase,
    input: Input,
    output: Output,
    /// Number of bytes that a request may read or write without a separate grant of memory.
    short: usize,
    /// Number of bytes of memory granted to the next request.
    granted: usize,
}

impl Session {
    /// Creates a session for an accepted connection; its output contains the greeting.
    pub fn new(host: Arc<Host>) -> Self {
        let mut output = Output::default();
        output.bytes.extend(&INIT_MAGIC.to_be_bytes());
        output.bytes.extend(&OPTION_MAGIC.to_be_bytes());
        output.bytes.extend(&(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
        let (short, granted) = (usize::MAX, 0);
        Self { host, phase: Phase::Greeting, input: Input::default(), output, short, granted }
    }

    /// Sets the limit beyond which requests ask for memory: before a request that moves more than `short` bytes, the
    /// session returns [`Next::Room`].
    pub fn ask_beyond(&mut self, short: usize) {
        self.short = short;
    }

    /// Grants memory for a request that moves `bytes` bytes.
    pub fn grant(&mut self, bytes: usize) {
        self.granted = bytes;
    }

    /// True from [`Session::grant`] until the request is done.
    pub fn needs_room(&self) -> bool {
        self.granted > 0
    }

    /// Returns the number of bytes of memory that the session uses for messages.
    pub fn memory(&self) -> usize {
        let scratch = if let Phase::Transmission(transmission) = &self.phase { transmission.memory() } else { 0 };
        self.input.memory() + self.output.memory() + scratch
    }

    /// Returns space for received bytes; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        self.input.space()
    }

    /// Adds the first `bytes` bytes of [`Session::space`] to the input.
    pub fn received(&mut self, bytes: usize) {
        self.input.received(bytes);
    }

    /// Returns the bytes to send; the caller clears them after sending.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// True while the client negotiates options.
    pub fn is_negotiating(&self) -> bool {
        matches!(self.phase, Phase::Greeting | Phase::Options(_))
    }

    /// Continues over TLS and discards the results of the unencrypted negotiation.
    pub fn tls_started(&mut self) {
        if let Phase::Options(negotiation) = &mut self.phase {
            negotiation.secure();
        }
    }

    /// Handles received messages until more input is needed or the output is full.
    pub fn advance(&mut self) -> Next {
        loop {
            if self.output.is_full() {
                return Next::Continue;
            }
            let step = match &mut self.phase {
                Phase::Greeting => self.greeting(),
                Phase::Options(negotiation) => negotiation.step(&self.host, &mut self.input, &mut self.output.bytes),
                Phase::Transmission(transmission) => {
                    let most = self.short.max(self.granted);
                    transmission.step(self.host.is_stopping(), most, &mut self.input, &mut self.output)
                }
                Phase::Closed => return Next::Close,
            };
            match step {
                Step::Done if self.granted > 0 => {
                    self.granted = 0;
                    return Next::Continue;
                }
                Step::Done => {}
                Step::Long(bytes) => return Next::Room(bytes),
                Step::Short(bytes) => {
                    self.input.want(bytes);
                    return Next::Receive;
                }
                Step::StartTls if self.input.filled().is_empty() => return Next::StartTls,
                // Closes the connection if bytes follow the request for TLS: they are not encrypted, so anyone may have
                // inserted them.
                Step::StartTls | Step::Close => self.phase = Phase::Closed,
                Step::Enter(transmission) => self.phase = Phase::Transmission(transmission),
            }
        }
    }

    fn greeting(&mut self) -> Step {
        let Some(flags) = self.input.filled().first_chunk() else { return Step::Short(4) };
        let flags = u32::from_be_bytes(*flags);
        self.input.consume(4);
        let known = u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        if flags & !known != 0 {
            return Step::Close;
        }
        let has = |flag: u16| flags & u32::from(flag) != 0;
        let negotiation = Negotiation::new(has(handshake::FIXED_NEWSTYLE), has(handshake::NO_ZEROES));
        self.phase = Phase::Options(negotiation);
        Step::Done
    }
}
