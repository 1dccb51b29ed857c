//! Replies of a session that wait to be sent.

use crate::buffer::Buffer;
use crate::deferred_reply::DeferredReply;
use crate::export::ReplyTime;

/// Number of bytes at which the output is sent. Counts both bytes waiting to be sent and payload bytes that requests
/// have read or written. The limit bounds the memory use, and lets the client process the first replies while the
/// server handles further requests.
const FULL: usize = 64 << 10;

/// A reply that must be sent later.
pub struct Held {
    /// Provides the time at which the reply may be sent, once it is known.
    pub reply: DeferredReply,
    /// The whole reply, ready to be sent.
    pub bytes: Vec<u8>,
}

/// Output of a session: bytes to send immediately, and replies to send later.
#[derive(Default)]
pub struct Output {
    pub(super) bytes: Buffer,
    held: Vec<Held>,
    /// Number of payload bytes that requests have read or written since the output was last sent.
    moved: usize,
}

impl Output {
    /// Returns the bytes that may be sent immediately.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// Returns the replies that must be sent later.
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// Returns the memory that the output holds, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.held.iter().map(|held| held.bytes.len()).sum::<usize>()
    }

    /// Discards all output and returns the delayed replies.
    pub fn clear(&mut self) -> Vec<Held> {
        self.bytes.clear();
        self.moved = 0;
        std::mem::take(&mut self.held)
    }

    /// True if the output should be sent before the next request.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() + self.moved >= FULL
    }

    /// Completes the reply that begins at `start`; the request read or wrote `payload_bytes` bytes.
    pub(super) fn complete(&mut self, start: usize, leave: ReplyTime, payload_bytes: usize) {
        self.moved += payload_bytes;
        let ReplyTime::Deferred(reply) = leave else { return };
        let bytes = self.bytes.as_slice()[start..].to_vec();
        self.bytes.truncate(start);
        self.moved += bytes.len();
        self.held.push(Held { reply, bytes });
    }
}
