//! Requests of the transmission phase.

use super::take;
use super::value::{EXTENDED_REQUEST_MAGIC, REQUEST_MAGIC};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Flags of the request, see [`super::cmd_flag`].
    pub flags: u16,
    /// Type of the request, see [`super::cmd`].
    pub command: u16,
    /// Identifier that the client chose for the request; the reply repeats it.
    pub cookie: u64,
    pub offset: u64,
    /// Length of the range in bytes, or of the payload if a payload follows.
    pub bytes: u64,
}

impl Request {
    pub fn header_bytes(extended: bool) -> usize {
        if extended { 32 } else { 28 }
    }

    /// Decodes the header of a request; `None` if the header is short or has the wrong magic number.
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
