//! Client of a session: encodes messages without the crate's encoder, and decodes the replies.

use std::sync::Arc;

use ssdlab_nbd::{Entry, Export, Host, Next, Security, Session};

/// A client without a socket.
pub struct Peer {
    pub session: Session,
    /// Bytes that the server sent and the test has not read yet.
    pub received: Vec<u8>,
    /// Latest action that the session requires.
    pub next: Next,
}

/// A reply to an option.
#[derive(Debug, PartialEq)]
pub struct Rep {
    pub option: u32,
    pub kind: u32,
    pub data: Vec<u8>,
}

/// A chunk of a structured or extended reply.
#[derive(Debug, PartialEq)]
pub struct Chunk {
    pub done: bool,
    pub kind: u16,
    pub cookie: u64,
    pub data: Vec<u8>,
}

pub const ACK: u32 = 1;

/// Returns the type of the error reply with error number `number`.
pub fn error(number: u32) -> u32 {
    (1 << 31) + number
}

pub fn u16_of(bytes: &[u8]) -> u16 {
    u16::from_be_bytes(bytes.try_into().unwrap())
}

pub fn u32_of(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().unwrap())
}

pub fn u64_of(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

/// Encodes an option.
pub fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT", &number.to_be_bytes()[..], &(data.len() as u32).to_be_bytes(), data].concat()
}

/// Encodes the data of `INFO` and `GO`.
pub fn choice(name: &str, requests: &[u16]) -> Vec<u8> {
    let mut data = [&(name.len() as u32).to_be_bytes()[..], name.as_bytes()].concat();
    data.extend((requests.len() as u16).to_be_bytes());
    requests.iter().for_each(|request| data.extend(request.to_be_bytes()));
    data
}

/// Encodes the data of `LIST_META_CONTEXT` and `SET_META_CONTEXT`.
pub fn queries(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = [&(name.len() as u32).to_be_bytes()[..], name.as_bytes()].concat();
    data.extend((queries.len() as u32).to_be_bytes());
    for query in queries {
        data.extend((query.len() as u32).to_be_bytes());
        data.extend(query.as_bytes());
    }
    data
}

/// Encodes a compact request without payload.
pub fn request(flags: u16, command: u16, cookie: u64, offset: u64, bytes: u32) -> Vec<u8> {
    let mut out = vec![0x25, 0x60, 0x95, 0x13];
    out.extend(flags.to_be_bytes());
    out.extend(command.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend(offset.to_be_bytes());
    out.extend(bytes.to_be_bytes());
    out
}

/// Encodes a request with extended header, without payload.
pub fn extended(flags: u16, command: u16, cookie: u64, offset: u64, bytes: u64) -> Vec<u8> {
    let mut out = vec![0x21, 0xe4, 0x1c, 0x71];
    out.extend(flags.to_be_bytes());
    out.extend(command.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend(offset.to_be_bytes());
    out.extend(bytes.to_be_bytes());
    out
}

impl Peer {
    pub fn new(host: Arc<Host>) -> Self {
        let mut peer = Self { session: Session::new(host), received: Vec::new(), next: Next::Receive };
        peer.send(&[]);
        peer
    }

    /// Creates a client of one export, named `disk`.
    pub fn of(export: Arc<dyn Export>) -> Self {
        Self::new(Arc::new(Host::new(vec![Entry::new("disk", export)], Security::Plain)))
    }

    /// Creates a client after the greeting, with both flags set.
    pub fn greeted(export: Arc<dyn Export>) -> Self {
        let mut peer = Self::of(export);
        peer.answer_greeting(3);
        peer
    }

    pub fn answer_greeting(&mut self, flags: u32) -> Next {
        assert_eq!(self.take(18).len(), 18);
        self.send(&flags.to_be_bytes())
    }

    /// Creates a client in the transmission phase, with simple replies.
    pub fn simple(export: Arc<dyn Export>) -> Self {
        let mut peer = Self::greeted(export);
        peer.go("disk");
        peer
    }

    /// Creates a client in the transmission phase, with structured replies and `base:allocation`.
    pub fn structured(export: Arc<dyn Export>) -> Self {
        Self::with_option(export, 8)
    }

    /// Creates a client in the transmission phase, with extended headers and `base:allocation`.
    pub fn extended(export: Arc<dyn Export>) -> Self {
        Self::with_option(export, 11)
    }

    fn with_option(export: Arc<dyn Export>, number: u32) -> Self {
        let mut peer = Self::greeted(export);
        assert_eq!(peer.option(number, &[]), [Rep { option: number, kind: ACK, data: vec![] }]);
        assert_eq!(peer.option(10, &queries("disk", &["base:allocation"])).len(), 2);
        peer.go("disk");
        peer
    }

    pub fn go(&mut self, name: &str) {
        let replies = self.option(7, &choice(name, &[]));
        assert_eq!((replies.len(), replies[1].kind), (2, ACK));
        assert!(!self.session.is_negotiating());
    }

    /// Passes bytes to the session and collects its output until it needs more input or another action.
    pub fn send(&mut self, mut bytes: &[u8]) -> Next {
        loop {
            self.next = loop {
                let next = self.session.advance();
                let output = self.session.output();
                self.received.extend_from_slice(output.bytes());
                output.clear().into_iter().for_each(|held| self.received.extend(held.bytes));
                if next != Next::Continue {
                    break next;
                }
            };
            if bytes.is_empty() || self.next != Next::Receive {
                return self.next;
            }
            let space = self.session.space();
            let now = space.len().min(bytes.len());
            space[..now].copy_from_slice(&bytes[..now]);
            self.session.received(now);
            bytes = &bytes[now..];
        }
    }

    /// Reads the next bytes sent by the server.
    pub fn take(&mut self, bytes: usize) -> Vec<u8> {
        assert!(bytes <= self.received.len(), "the server sent only {} bytes instead of {bytes}", self.received.len());
        self.received.drain(..bytes).collect()
    }

    /// Sends an option and reads the replies.
    pub fn option(&mut self, number: u32, data: &[u8]) -> Vec<Rep> {
        self.send(&option(number, data));
        let mut replies = Vec::new();
        while !self.received.is_empty() {
            replies.push(self.rep());
        }
        replies
    }

    /// Sends an option that has one reply and returns its type.
    pub fn option_kind(&mut self, number: u32, data: &[u8]) -> u32 {
        let replies = self.option(number, data);
        assert_eq!(replies.len(), 1, "{replies:?}");
        assert_eq!(replies[0].option, number);
        replies[0].kind
    }

    pub fn rep(&mut self) -> Rep {
        let header = self.take(20);
        assert_eq!(header[..8], [0, 3, 0xe8, 0x89, 4, 0x55, 0x65, 0xa9]);
        let (option, kind) = (u32_of(&header[8..12]), u32_of(&header[12..16]));
        Rep { option, kind, data: self.take(u32_of(&header[16..]) as usize) }
    }

    /// Reads a simple reply without data; returns its error and cookie.
    pub fn simple_reply(&mut self) -> (u32, u64) {
        let header = self.take(16);
        assert_eq!(header[..4], [0x67, 0x44, 0x66, 0x98]);
        (u32_of(&header[4..8]), u64_of(&header[8..]))
    }

    /// Reads a chunk of a structured reply.
    pub fn chunk(&mut self) -> Chunk {
        let header = self.take(20);
        assert_eq!(header[..4], [0x66, 0x8e, 0x33, 0xef]);
        let data = self.take(u32_of(&header[16..]) as usize);
        Chunk { done: flag(&header), kind: u16_of(&header[6..8]), cookie: u64_of(&header[8..16]), data }
    }

    /// Reads a chunk of an extended reply to a request at `offset`.
    pub fn extended_chunk(&mut self, offset: u64) -> Chunk {
        let header = self.take(32);
        assert_eq!(header[..4], [0x6e, 0x8a, 0x27, 0x8c]);
        assert_eq!(u64_of(&header[16..24]), offset);
        let data = self.take(u64_of(&header[24..]) as usize);
        Chunk { done: flag(&header), kind: u16_of(&header[6..8]), cookie: u64_of(&header[8..16]), data }
    }
}

fn flag(header: &[u8]) -> bool {
    let flags = u16_of(&header[4..6]);
    assert!(flags <= 1, "flags {flags}");
    flags == 1
}

impl Chunk {
    /// Returns the error number and the message of an error chunk.
    pub fn error(&self) -> (u32, String) {
        assert_eq!((self.kind, self.done), (0x8001, true));
        let words = String::from_utf8(self.data[6..].to_vec()).unwrap();
        assert_eq!(usize::from(u16_of(&self.data[4..6])), words.len());
        (u32_of(&self.data[..4]), words)
    }
}
