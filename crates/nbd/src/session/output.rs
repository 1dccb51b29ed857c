//! Replies on their way out.

use crate::buffer::Buffer;
use crate::deferred_reply::DeferredReply;
use crate::export::Leave;

/// So much is read or written before replies are sent: memory stays bounded, and the client goes on with what is done
/// while the server does the rest.
const FULL: usize = 64 << 10;

/// A reply that may not leave yet.
#[derive(Debug)]
pub struct Held {
    /// When it may.
    pub reply: DeferredReply,
    /// The whole reply.
    pub bytes: Vec<u8>,
}

/// What a session has to send.
#[derive(Debug, Default)]
pub struct Output {
    pub(super) bytes: Buffer,
    held: Vec<Held>,
    /// Bytes that were read or written since the last were sent.
    moved: usize,
}

impl Output {
    /// To be sent at once.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// To be sent later.
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// Memory that it takes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.held.iter().map(|held| held.bytes.len()).sum::<usize>()
    }

    /// Takes all that is to be sent later, and forgets what was sent at once.
    pub fn clear(&mut self) -> Vec<Held> {
        self.bytes.clear();
        self.moved = 0;
        std::mem::take(&mut self.held)
    }

    /// Whether to send before the next request.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() + self.moved >= FULL
    }

    /// The reply from `start` is complete: it may leave then. The request carried `payload_bytes`.
    pub(super) fn complete(&mut self, start: usize, leave: Leave, payload_bytes: usize) {
        self.moved += payload_bytes;
        let Leave::When(reply) = leave else { return };
        let bytes = self.bytes.tail(start).to_vec();
        self.bytes.truncate(start);
        self.moved += bytes.len();
        self.held.push(Held { reply, bytes });
    }
}
