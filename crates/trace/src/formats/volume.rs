//! The requests of one volume of a fleet, as [`crate::Partition`] writes them: little-endian records of 24 bytes.
//!
//! The first record says what the file is: the magic number, and 1 in its 17th byte where times are whole seconds that
//! are to be spread. Each other record holds u64 time in ns in the epoch of the trace, u64 offset, u32 bytes, u8
//! operation, u8 flags, u16 stream. Operations 4 and 5 are pieces of the name of the volume and of the next stream: 20
//! bytes from the first on, of which the flags tell how many count; the stream is 1 where more pieces follow. So a file
//! can be written in pieces, of which each names the streams that are new in it.

use crate::decode::RecordFormat;
use crate::fault::Fault;
use crate::intake::{Device, Entry, Io, Skip, Stream, Tables};
use crate::{Op, ReadOptions, Request, flag};

/// Bytes of a record.
pub(crate) const RECORD: usize = 24;
const MAGIC: &[u8; 16] = b"ssdlab-volume 1\n";
/// Bytes of a name in a piece.
const PIECE: usize = 20;
/// Longest name believed.
const NAME_MAX: usize = 4096;

/// Operations that are none.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Name {
    Volume = 4,
    Stream = 5,
}

/// Parser.
pub(crate) struct Volume {
    begun: bool,
    name: Vec<u8>,
    device: Device,
    /// Ids in [`Tables::streams`] by the numbers of the file.
    streams: Vec<u32>,
}

impl Volume {
    /// How well the beginning of a file fits, in percent.
    pub fn sniff(head: &[u8]) -> u32 {
        if head.starts_with(MAGIC) { 100 } else { 0 }
    }

    fn piece<'a>(&mut self, of: Name, record: &'a [u8; RECORD], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let piece = record.get(..usize::from(record[21]).min(PIECE)).unwrap_or_default();
        self.name.extend_from_slice(piece);
        if self.name.len() > NAME_MAX {
            return Err(Fault::new("name", piece, "ends a name of more than 4 KiB, which nothing has"));
        }
        if record[22] == 0 {
            match of {
                Name::Volume => self.device = Device::Id(tables.devices.id(&self.name)),
                Name::Stream => self.streams.push(tables.streams.id(&self.name)),
            }
            self.name.clear();
        }
        Ok(Entry::Skip(Skip::Header))
    }
}

#[inline(always)]
fn u64_at(record: &[u8; RECORD], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&record[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// All that a request may have.
const FLAGS: u8 = flag::SYNC | flag::META | flag::AHEAD | flag::FUA | flag::PREFLUSH;

impl RecordFormat for Volume {
    const HEAD: usize = RECORD;

    fn new(_: &ReadOptions) -> Self {
        Self { begun: false, name: Vec::new(), device: Device::File, streams: vec![0] }
    }

    #[inline]
    fn record<'a>(&mut self, bytes: &'a [u8], tables: &mut Tables) -> Result<(Entry<'a>, usize), Fault<'a>> {
        let Some(record) = bytes.first_chunk::<RECORD>() else { return Err(Fault::missing("record")) };
        if !self.begun {
            self.begun = true;
            if !record.starts_with(MAGIC) {
                return Err(Fault::new("head", &record[..MAGIC.len()], "is not that of a volume of a fleet"));
            }
            tables.whole_seconds |= record[MAGIC.len()] == 1;
            return Ok((Entry::Skip(Skip::Header), 0));
        }
        if record.starts_with(MAGIC) {
            return Err(Fault::new("", b"", "a second file begins here; separate them"));
        }
        let Some(&op) = Op::ALL.get(usize::from(record[20])) else {
            let entry = match record[20] {
                4 => self.piece(Name::Volume, record, tables)?,
                5 => self.piece(Name::Stream, record, tables)?,
                _ => return Err(Fault::new("operation", &record[20..21], "is none")),
            };
            return Ok((entry, 0));
        };
        let number = u16::from_le_bytes([record[22], record[23]]);
        let Some(&stream) = self.streams.get(usize::from(number)) else {
            return Err(Fault::new("stream", &record[22..24], "has no name before it"));
        };
        if record[21] & !FLAGS != 0 {
            return Err(Fault::new("flags", &record[21..22], "are not all known"));
        }
        let io = Io {
            time_ns: u64_at(record, 0),
            op,
            offset: u64_at(record, 8),
            bytes: u64_at(record, 16) & 0xFFFF_FFFF,
            device: self.device,
            flags: record[21],
            stream: Stream::Id(stream),
        };
        Ok((Entry::Io(io), 0))
    }
}

/// The record that a file begins with.
pub(crate) fn head(whole_seconds: bool) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..MAGIC.len()].copy_from_slice(MAGIC);
    record[MAGIC.len()] = u8::from(whole_seconds);
    record
}

/// Appends the records of a name.
pub(crate) fn name(of: Name, text: &str, out: &mut Vec<u8>) {
    let pieces = text.len().div_ceil(PIECE).max(1);
    for index in 0..pieces {
        let piece = &text.as_bytes()[index * PIECE..text.len().min((index + 1) * PIECE)];
        let mut record = [0; RECORD];
        record[..piece.len()].copy_from_slice(piece);
        record[20..23].copy_from_slice(&[of as u8, piece.len() as u8, u8::from(index + 1 < pieces)]);
        out.extend_from_slice(&record);
    }
}

/// A request as a record.
#[inline]
pub(crate) fn record(request: &Request) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..8].copy_from_slice(&request.time_ns.to_le_bytes());
    record[8..16].copy_from_slice(&request.offset.to_le_bytes());
    record[16..20].copy_from_slice(&request.bytes.to_le_bytes());
    record[20..22].copy_from_slice(&[request.op as u8, request.flags]);
    record[22..].copy_from_slice(&request.stream.to_le_bytes());
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::testing::{detect_bytes, error_bytes, read_bytes};

    fn file(whole_seconds: bool, names: &[(Name, &str)], requests: &[Request]) -> Vec<u8> {
        let mut out = head(whole_seconds).to_vec();
        for (of, text) in names {
            name(*of, text, &mut out);
        }
        out.extend(requests.iter().flat_map(record));
        out
    }

    const LONG: &str = "a volume whose name takes three pieces, as none does";

    #[test]
    fn every_field_and_name_comes_back() {
        let one = Request { time_ns: 5, offset: 4096, bytes: 512, op: Op::Trim, flags: flag::SYNC, stream: 2 };
        let two = Request { time_ns: 9, offset: 0, bytes: 0, op: Op::Flush, flags: flag::FUA, stream: 0 };
        let names = [(Name::Volume, LONG), (Name::Stream, "7"), (Name::Stream, "")];
        let bytes = file(false, &names, &[one, two]);
        assert_eq!(detect_bytes(&bytes).unwrap(), Format::Volume);
        let (requests, report) = read_bytes(Format::Volume, &bytes, &ReadOptions::default()).unwrap();
        // An empty name is that of no stream.
        assert_eq!(requests, [Request { time_ns: 0, stream: 0, ..one }, Request { time_ns: 4, ..two }]);
        assert_eq!(report.device.as_deref(), Some(LONG));
    }

    #[test]
    fn whole_seconds_are_spread_if_the_head_says_so() {
        let at = |offset| Request { time_ns: 0, offset, bytes: 512, op: Op::Read, flags: 0, stream: 0 };
        let times = |whole_seconds| {
            let bytes = file(whole_seconds, &[(Name::Volume, "7")], &[at(0), at(512)]);
            let (requests, _) = read_bytes(Format::Volume, &bytes, &ReadOptions::default()).unwrap();
            requests.iter().map(|request| request.time_ns).collect::<Vec<_>>()
        };
        assert_eq!((times(false), times(true)), (vec![0, 0], vec![0, 500_000_000]));
    }

    #[test]
    fn what_is_none_is_named() {
        let at = |stream| Request { time_ns: 0, offset: 0, bytes: 512, op: Op::Read, flags: 0, stream };
        let message = error_bytes(Format::Volume, &file(false, &[], &[at(1)]));
        assert_eq!(
            message,
            "memory:record 2 at byte 24: field \"stream\": \"\\x01\\x00\" has no name before it; fix it or pass --skip-bad"
        );
        let mut bad = file(false, &[], &[at(0)]);
        bad[RECORD + 20] = 9;
        assert!(error_bytes(Format::Volume, &bad).contains("field \"operation\": \"\\t\" is none"));
        assert!(error_bytes(Format::Volume, &record(&at(0))).contains("is not that of a volume of a fleet"));
        let cut = file(false, &[], &[at(0)]);
        assert!(error_bytes(Format::Volume, &cut[..cut.len() - 1]).contains("the file ends inside record 2"));
    }
}
