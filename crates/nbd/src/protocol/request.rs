//! Requests of the transmission phase.

use super::take;
use super::value::{EXTENDED_REQUEST_MAGIC, REQUEST_MAGIC};

/// Length of the header of a request.
pub const REQUEST_BYTES: usize = 28;

/// The header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Of [`super::cmd_flag`].
    pub flags: u16,
    /// Of [`super::cmd`].
    pub command: u16,
    /// Chosen by the client, to find the request that a reply belongs to.
    pub cookie: u64,
    /// Where the range begins.
    pub offset: u64,
    /// Its length; or that of the payload, if one follows.
    pub bytes: u64,
}

impl Request {
    /// Length of the header with or without the extension.
    pub fn header_bytes(extended: bool) -> usize {
        if extended { REQUEST_BYTES + 4 } else { REQUEST_BYTES }
    }

    /// Reads a header; `None` if it is short or begins with another magic number.
    #[inline]
    pub fn decode(mut header: &[u8], extended: bool) -> Option<Self> {
        let header = &mut header;
        let magic = u32::from_be_bytes(take(header)?);
        let flags = u16::from_be_bytes(take(header)?);
        let command = u16::from_be_bytes(take(header)?);
        let cookie = u64::from_be_bytes(take(header)?);
        let offset = u64::from_be_bytes(take(header)?);
        let (expected, bytes) = if extended {
            (EXTENDED_REQUEST_MAGIC, u64::from_be_bytes(take(header)?))
        } else {
            (REQUEST_MAGIC, u64::from(u32::from_be_bytes(take(header)?)))
        };
        (magic == expected).then_some(Self { flags, command, cookie, offset, bytes })
    }
}
