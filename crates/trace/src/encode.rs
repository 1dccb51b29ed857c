//! How a format writes a request.

use crate::Op;

/// What of a request a format can hold; the writer rounds and counts the rest.
pub(crate) struct Keeps {
    /// Operations it has.
    pub ops: &'static [Op],
    /// Whether it tells them apart; otherwise all read back as reads.
    pub names_op: bool,
    /// Its unit of time, in ns.
    pub unit_ns: u64,
    /// Its unit of addresses, in bytes.
    pub sector: u64,
    /// Whether sizes count sectors too; otherwise they are bytes.
    pub whole_sectors: bool,
    /// Whether it has flags.
    pub flags: bool,
    /// Whether it can hold the (not empty) name of a process.
    pub stream: fn(&str) -> bool,
}

/// A request in the format's own units.
pub(crate) struct Item<'a> {
    /// In units of [`Keeps::unit_ns`], rounded down.
    pub time: u64,
    pub op: Op,
    /// In bytes, a multiple of [`Keeps::sector`].
    pub offset: u64,
    /// In bytes, below 2^32; a multiple of [`Keeps::sector`] where [`Keeps::whole_sectors`].
    pub bytes: u64,
    /// Bits of [`crate::flag`].
    pub flags: u8,
    /// Empty for none.
    pub stream: &'a str,
}

/// Turns requests into the bytes of a format.
pub(crate) trait Encoder: Send {
    /// What it can hold.
    fn keeps(&self) -> Keeps;

    /// Appends what comes before the first request.
    fn start(&mut self, _out: &mut Vec<u8>) {}

    /// Appends one request.
    fn encode(&mut self, item: &Item<'_>, out: &mut Vec<u8>);

    /// Appends what comes after the last request.
    fn end(&mut self, _out: &mut Vec<u8>) {}
}

/// Appends formatted text.
pub(crate) fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    out.write_fmt(text).expect("a Vec takes every byte");
}
