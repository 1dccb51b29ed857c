//! Interface of the formats' encoders.

use crate::Op;

/// Properties of a request that a format can represent. The writer rounds or drops other properties and counts the
/// losses.
#[derive(Debug)]
pub struct Supported {
    /// Operations that the format can express.
    pub ops: &'static [Op],
    /// True if the format stores the operation of a request; otherwise all requests are read back as reads.
    pub names_op: bool,
    /// Unit of times in the format, in ns.
    pub unit_ns: u64,
    /// Unit of addresses in the format, in bytes.
    pub sector: u64,
    /// True if sizes, like addresses, are in units of [`Self::sector`]; otherwise sizes are in bytes.
    pub whole_sectors: bool,
    /// True if the format has request flags.
    pub flags: bool,
    /// Tests if the format can store a process name; the result for the empty name, which means none, has no effect.
    pub stream: fn(&str) -> bool,
}

impl Supported {
    /// Properties of a format that holds only reads and writes, with addresses in bytes and times in ns, without flags
    /// or process names.
    pub const TRANSFERS: Self = Self {
        ops: &[Op::Read, Op::Write],
        names_op: true,
        unit_ns: 1,
        sector: 1,
        whole_sectors: false,
        flags: false,
        stream: |_| false,
    };
}

/// A request in the units of the format.
#[derive(Debug)]
pub struct Item<'a> {
    /// Time of the request in units of [`Supported::unit_ns`], rounded down.
    pub time: u64,
    /// Operation of the request.
    pub op: Op,
    /// Offset of the request in bytes, a multiple of [`Supported::sector`].
    pub offset: u64,
    /// Length of the request in bytes, below 2^32; a multiple of [`Supported::sector`] if [`Supported::whole_sectors`].
    pub bytes: u64,
    /// Request flags: bits of [`crate::flag`].
    pub flags: u8,
    /// Name of the process; empty for none.
    pub stream: &'a str,
}

/// Encoder of a trace format.
pub trait Encoder: Send {
    /// Returns the properties of requests that the format can hold.
    fn supported(&self) -> Supported;

    /// Appends the header of the file.
    fn start(&mut self, _out: &mut Vec<u8>) {}

    /// Appends the encoding of one request.
    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>);

    /// Appends the trailer of the file.
    fn end(&mut self, _out: &mut Vec<u8>) {}
}

/// Appends formatted text to the output.
pub(crate) fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    out.write_fmt(text).expect("writing to a Vec cannot fail");
}
