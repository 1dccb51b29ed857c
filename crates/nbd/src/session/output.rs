//! Replies on their way out.

use std::time::Instant;

use crate::buffer::Buffer;
use crate::export::Leave;

/// A session pauses when so many bytes wait, so that they are sent and memory stays bounded.
const FULL: usize = 64 << 10;

/// A reply that may not leave yet.
#[derive(Debug)]
pub struct Held {
    /// When it may.
    pub at: Instant,
    /// The whole reply.
    pub bytes: Vec<u8>,
}

/// What a session has to send.
#[derive(Debug, Default)]
pub struct Output {
    /// To be sent at once.
    pub bytes: Buffer,
    /// To be sent later.
    pub held: Vec<Held>,
    held_bytes: usize,
}

impl Output {
    /// Takes the replies that are to be sent later.
    pub fn take_held(&mut self) -> Vec<Held> {
        self.held_bytes = 0;
        std::mem::take(&mut self.held)
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() + self.held_bytes >= FULL
    }

    /// The reply that begins at `start` may leave then.
    pub(super) fn leave(&mut self, start: usize, when: Leave) {
        if let Leave::At(at) = when {
            let bytes = self.bytes.tail(start).to_vec();
            self.bytes.truncate(start);
            self.held_bytes += bytes.len();
            self.held.push(Held { at, bytes });
        }
    }
}
