//! Messages of the protocol: constants, decoding of client messages, encoding of server messages.
//!
//! Source: `doc/proto.md` of NetworkBlockDevice/nbd, with its branch `extension-ext-header`. Fields are big-endian.

mod options;
mod reply;
mod request;
mod value;

pub use options::{Malformed, OPTION_BYTES, decode_choice, decode_option, decode_queries, option_reply};
pub use reply::{ReplyKind, Writer};
pub use request::Request;
pub use value::*;

/// Takes a field of fixed size from the start of `bytes`, and advances `bytes` past it.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (field, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*field)
}

/// Takes a string with a 32-bit length prefix from the start of `bytes`, and advances `bytes` past it.
fn take_string<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_be_bytes(take(bytes)?) as usize;
    let (string, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(string)
}
