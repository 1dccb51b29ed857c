//! Options that clients send while negotiating, and the server's replies to them.

use super::value::{MAX_STRING, OPTION_MAGIC, OPTION_REPLY_MAGIC};
use super::{take, take_string};
use crate::buffer::Buffer;

/// Error: malformed option data, with the reason.
pub struct Malformed(pub &'static str);

/// Length of an option's header in bytes.
pub const OPTION_BYTES: usize = 16;

/// Decodes the header of an option: the type of option, and the length of its data. `None` if the magic number is
/// wrong.
pub fn decode_option(header: [u8; OPTION_BYTES]) -> Option<(u32, u32)> {
    let mut rest = &header[..];
    let magic = u64::from_be_bytes(take(&mut rest)?);
    let option = u32::from_be_bytes(take(&mut rest)?);
    let bytes = u32::from_be_bytes(take(&mut rest)?);
    (magic == OPTION_MAGIC).then_some((option, bytes))
}

/// Takes an export name from the start of `data`, and advances `data` past it.
fn take_name<'a>(data: &mut &'a [u8]) -> Result<&'a str, Malformed> {
    let bytes = take_string(data).ok_or(SHORT)?;
    if bytes.len() > MAX_STRING {
        return Err(Malformed("the name of the export is longer than 4096 bytes"));
    }
    std::str::from_utf8(bytes).map_err(|_| Malformed("the name of the export is not UTF-8"))
}

const SHORT: Malformed = Malformed("the option data is truncated");

/// Decodes the data of `INFO` or `GO`: the name of an export, and the numbers of the requested information items. Fails
/// if the lengths in the data are inconsistent, or the name is invalid.
pub fn decode_choice(mut data: &[u8]) -> Result<(&str, Vec<u16>), Malformed> {
    let name = take_name(&mut data)?;
    let count = u16::from_be_bytes(take(&mut data).ok_or(SHORT)?);
    if data.len() != 2 * usize::from(count) {
        return Err(Malformed("the option's length does not match its number of information requests"));
    }
    let requests = data.chunks_exact(2).map(|kind| u16::from_be_bytes([kind[0], kind[1]])).collect();
    Ok((name, requests))
}

/// Decodes the data of `LIST_META_CONTEXT` or `SET_META_CONTEXT`: the name of an export, and names of metadata contexts
/// or prefixes of names. Fails if the lengths in the data are inconsistent, or the name is invalid.
pub fn decode_queries(mut data: &[u8]) -> Result<(&str, Vec<&[u8]>), Malformed> {
    let name = take_name(&mut data)?;
    let count = u32::from_be_bytes(take(&mut data).ok_or(SHORT)?);
    let mut queries = Vec::new();
    for _ in 0..count {
        queries.push(take_string(&mut data).ok_or(SHORT)?);
    }
    if data.is_empty() { Ok((name, queries)) } else { Err(Malformed("extra data follows the last query")) }
}

/// Appends a reply of type `kind` to an option; the payload of the reply is the concatenation of `data`.
pub fn option_reply(out: &mut Buffer, option: u32, kind: u32, data: &[&[u8]]) {
    let bytes: usize = data.iter().map(|part| part.len()).sum();
    out.extend(&OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(&option.to_be_bytes());
    out.extend(&kind.to_be_bytes());
    out.extend(&(bytes as u32).to_be_bytes());
    data.iter().for_each(|part| out.extend(part));
}
