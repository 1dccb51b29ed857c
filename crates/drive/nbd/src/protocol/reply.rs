//! Replies of the transmission phase, in the three layouts that can be negotiated.

use super::request::Request;
use super::value::{EXTENDED_REPLY_MAGIC, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk, cmd, state};
use crate::buffer::Buffer;
use crate::export::{Errno, Extent};

/// Layout of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplyKind {
    /// Simple reply: a header, followed by the data of a read.
    #[default]
    Simple,
    /// Structured reply: chunks with type and length; a header alone means success without data.
    Structured,
    /// Extended reply: chunks with 64-bit lengths; requests have 64-bit lengths too.
    Extended,
}

pub struct Writer<'a> {
    pub out: &'a mut Buffer,
    pub kind: ReplyKind,
    pub request: Request,
}

impl Writer<'_> {
    /// Appends a reply that reports success without data.
    #[inline]
    pub fn success(&mut self) {
        match self.kind {
            ReplyKind::Simple => self.simple(0),
            // Only replies to reads need chunks. All other requests get simple replies, because a chunk has a longer
            // header, for which the client would need a second system call.
            ReplyKind::Structured if self.request.command != cmd::READ => self.simple(0),
            _ => self.chunk(chunk::NONE, true, 0),
        }
    }

    /// Appends an error reply. Simple replies omit `message`, because they have no room for it.
    pub fn error(&mut self, errno: Errno, message: &str) {
        if self.kind == ReplyKind::Simple {
            return self.simple(errno as u32);
        }
        self.chunk(chunk::ERROR, true, 6 + message.len() as u64);
        self.out.extend(&(errno as u32).to_be_bytes());
        self.out.extend(&(message.len() as u16).to_be_bytes());
        self.out.extend(message.as_bytes());
    }

    /// Appends the header of a reply that contains all data of a read. The caller then appends the `bytes` bytes of
    /// data.
    #[inline]
    pub fn data(&mut self, bytes: u64) {
        match self.kind {
            ReplyKind::Simple => self.simple(0),
            _ => self.data_chunk(self.request.offset, bytes, true),
        }
    }

    /// Appends the header of a data chunk. The caller then appends the data: `bytes` bytes that start at `offset` in
    /// the export.
    #[inline]
    pub fn data_chunk(&mut self, offset: u64, bytes: u64, done: bool) {
        self.chunk(chunk::OFFSET_DATA, done, 8 + bytes);
        self.out.extend(&offset.to_be_bytes());
    }

    /// Appends a chunk that represents `bytes` zero bytes, which start at `offset` in the export.
    pub fn hole_chunk(&mut self, offset: u64, bytes: u32, done: bool) {
        self.chunk(chunk::OFFSET_HOLE, done, 12);
        self.out.extend(&offset.to_be_bytes());
        self.out.extend(&bytes.to_be_bytes());
    }

    /// Appends the extents of metadata context `id` as one chunk.
    pub fn block_status(&mut self, id: u32, extents: &[Extent]) {
        let extended = self.kind == ReplyKind::Extended;
        let (kind, bytes) = if extended {
            (chunk::BLOCK_STATUS_EXT, 8 + 16 * extents.len())
        } else {
            (chunk::BLOCK_STATUS, 4 + 8 * extents.len())
        };
        self.chunk(kind, true, bytes as u64);
        self.out.extend(&id.to_be_bytes());
        if extended {
            self.out.extend(&(extents.len() as u32).to_be_bytes());
        }
        for extent in extents {
            let status = if extent.hole { state::HOLE } else { 0 } | if extent.zero { state::ZERO } else { 0 };
            if extended {
                self.out.extend(&extent.bytes.to_be_bytes());
                self.out.extend(&u64::from(status).to_be_bytes());
            } else {
                // The cast is safe: compact requests are shorter than 4 GiB, and no extent exceeds its request.
                self.out.extend(&(extent.bytes as u32).to_be_bytes());
                self.out.extend(&status.to_be_bytes());
            }
        }
    }

    #[inline]
    fn simple(&mut self, error: u32) {
        let mut header = [0; 16];
        header[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
        header[4..8].copy_from_slice(&error.to_be_bytes());
        header[8..].copy_from_slice(&self.request.cookie.to_be_bytes());
        self.out.extend(&header);
    }

    #[inline]
    fn chunk(&mut self, kind: u16, done: bool, bytes: u64) {
        let extended = self.kind == ReplyKind::Extended;
        let magic = if extended { EXTENDED_REPLY_MAGIC } else { STRUCTURED_REPLY_MAGIC };
        let flags = if done { chunk::FLAG_DONE } else { 0 };
        let mut header = [0; 16];
        header[..4].copy_from_slice(&magic.to_be_bytes());
        header[4..6].copy_from_slice(&flags.to_be_bytes());
        header[6..8].copy_from_slice(&kind.to_be_bytes());
        header[8..].copy_from_slice(&self.request.cookie.to_be_bytes());
        self.out.extend(&header);
        if extended {
            self.out.extend(&self.request.offset.to_be_bytes());
            self.out.extend(&bytes.to_be_bytes());
        } else {
            self.out.extend(&(bytes as u32).to_be_bytes());
        }
    }
}
