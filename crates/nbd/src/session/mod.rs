//! One connection without its socket: negotiation, then transmission.

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

/// What a session asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send the output, then receive more.
    Receive,
    /// Send the output, then call again.
    Continue,
    /// Send the output, wait until the server has room for so many bytes of payload or reply, call [`Session::grant`],
    /// and then again. The room is needed until the reply to the next request is sent.
    Room(usize),
    /// Send the output, then begin TLS and call [`Session::tls_started`].
    StartTls,
    /// Send the output, then close the connection.
    Close,
}

/// What became of one message.
enum Step {
    /// It was answered.
    Done,
    /// So many bytes of it are needed, counted from its start.
    Short(usize),
    /// It moves so many bytes, for which there may be no memory.
    Long(usize),
    StartTls,
    Enter(Transmission),
    Close,
}

enum Phase {
    /// The client's flags are awaited.
    Greeting,
    Options(Negotiation),
    Transmission(Transmission),
    Closed,
}

/// The server's side of one connection.
///
/// Received bytes are put into [`Session::space`] and counted by [`Session::received`]; [`Session::advance`] handles
/// them and says what to do next. Memory is bounded, whatever the client sends: by twice its largest write and read.
/// With [`Session::ask_beyond`] the caller decides when there is memory for a long one.
pub struct Session {
    host: Arc<Host>,
    phase: Phase,
    input: Input,
    output: Output,
    /// Bytes that a request may move before room is asked for, and bytes that were granted to the next request.
    short: usize,
    granted: usize,
}

impl Session {
    /// A connection that was just accepted; the greeting is in its output.
    pub fn new(host: Arc<Host>) -> Self {
        let mut output = Output::default();
        output.bytes.extend(&INIT_MAGIC.to_be_bytes());
        output.bytes.extend(&OPTION_MAGIC.to_be_bytes());
        output.bytes.extend(&(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
        let (short, granted) = (usize::MAX, 0);
        Self { host, phase: Phase::Greeting, input: Input::default(), output, short, granted }
    }

    /// Requests that move more than `short` bytes ask for room first, by [`Next::Room`].
    pub fn ask_beyond(&mut self, short: usize) {
        self.short = short;
    }

    /// There is room for a request that moves so many bytes.
    pub fn grant(&mut self, bytes: usize) {
        self.granted = bytes;
    }

    /// Returns true from [`Session::grant`] until the request is done.
    pub fn needs_room(&self) -> bool {
        self.granted > 0
    }

    /// Memory that messages take.
    pub fn memory(&self) -> usize {
        let scratch = if let Phase::Transmission(transmission) = &self.phase { transmission.memory() } else { 0 };
        self.input.memory() + self.output.memory() + scratch
    }

    /// Where to put received bytes; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        self.input.space()
    }

    /// The first `bytes` bytes of [`Session::space`] were received.
    pub fn received(&mut self, bytes: usize) {
        self.input.received(bytes);
    }

    /// What is to be sent; the caller clears what it has sent.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Whether the client still negotiates.
    pub fn is_negotiating(&self) -> bool {
        matches!(self.phase, Phase::Greeting | Phase::Options(_))
    }

    /// From here on bytes come through TLS. What was negotiated before is forgotten.
    pub fn tls_started(&mut self) {
        if let Phase::Options(negotiation) = &mut self.phase {
            negotiation.secure();
        }
    }

    /// Handles received messages until they or the room for replies end.
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
                // Bytes that came before TLS was agreed on could be anybody's.
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
