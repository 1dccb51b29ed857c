//! Options that a client sends while it negotiates, and the replies to them.

use super::value::{MAX_STRING, OPTION_MAGIC, OPTION_REPLY_MAGIC};
use super::{take, take_string};
use crate::buffer::Buffer;

/// The data of an option is not what its number asks for; the text says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// What precedes the data of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionHeader {
    /// Its number.
    pub option: u32,
    /// The length of its data.
    pub bytes: u32,
}

impl OptionHeader {
    /// Its length.
    pub const BYTES: usize = 16;

    /// Reads a header; `None` if it does not begin with the magic number.
    pub fn decode(header: [u8; Self::BYTES]) -> Option<Self> {
        let mut rest = &header[..];
        let magic = u64::from_be_bytes(take(&mut rest)?);
        let option = u32::from_be_bytes(take(&mut rest)?);
        let bytes = u32::from_be_bytes(take(&mut rest)?);
        (magic == OPTION_MAGIC).then_some(Self { option, bytes })
    }
}

/// A name of an export.
fn name(bytes: &[u8]) -> Result<&str, Malformed> {
    if bytes.len() > MAX_STRING {
        return Err(Malformed("the name of the export is longer than 4096 bytes"));
    }
    std::str::from_utf8(bytes).map_err(|_| Malformed("the name of the export is not UTF-8"))
}

/// The data of `INFO` and `GO`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<'a> {
    /// The export.
    pub name: &'a str,
    /// What the client wants to know of it.
    pub requests: Vec<u16>,
}

impl<'a> Choice<'a> {
    /// Reads the data of the option.
    ///
    /// # Errors
    /// If lengths do not add up or the name is none.
    pub fn decode(mut data: &'a [u8]) -> Result<Self, Malformed> {
        const SHORT: Malformed = Malformed("the data of the option ends within a field");
        let name = name(take_string(&mut data).ok_or(SHORT)?)?;
        let count = u16::from_be_bytes(take(&mut data).ok_or(SHORT)?);
        if data.len() != 2 * usize::from(count) {
            return Err(Malformed("the number of information requests does not fit the length of the option"));
        }
        let requests = data.chunks_exact(2).map(|kind| u16::from_be_bytes([kind[0], kind[1]])).collect();
        Ok(Self { name, requests })
    }
}

/// The data of `LIST_META_CONTEXT` and `SET_META_CONTEXT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queries<'a> {
    /// The export.
    pub name: &'a str,
    /// Names of contexts, or beginnings of names.
    pub queries: Vec<&'a [u8]>,
}

impl<'a> Queries<'a> {
    /// Reads the data of the option.
    ///
    /// # Errors
    /// If lengths do not add up or the name is none.
    pub fn decode(mut data: &'a [u8]) -> Result<Self, Malformed> {
        const SHORT: Malformed = Malformed("the data of the option ends within a field");
        let name = name(take_string(&mut data).ok_or(SHORT)?)?;
        let count = u32::from_be_bytes(take(&mut data).ok_or(SHORT)?);
        let mut queries = Vec::new();
        for _ in 0..count {
            queries.push(take_string(&mut data).ok_or(SHORT)?);
        }
        if !data.is_empty() {
            return Err(Malformed("data follows the last query"));
        }
        Ok(Self { name, queries })
    }
}

/// Appends the reply of type `kind` to an option; `data` are the parts of its payload.
pub fn option_reply(out: &mut Buffer, option: u32, kind: u32, data: &[&[u8]]) {
    let bytes: usize = data.iter().map(|part| part.len()).sum();
    out.extend(&OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(&option.to_be_bytes());
    out.extend(&kind.to_be_bytes());
    out.extend(&(bytes as u32).to_be_bytes());
    data.iter().for_each(|part| out.extend(part));
}
