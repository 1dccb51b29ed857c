//! Requests of one volume of a fleet, written by [`crate::Partition`]: little-endian records of 24 bytes.
//!
//! - First record: magic number; byte 16 is 1 if times are whole seconds. The reader then spreads the requests of each
//!   second over that second.
//! - Request: u64 time in ns (epoch of the trace), u64 offset, u32 bytes, u8 operation, u8 flags, u16 stream.
//! - Piece of a name: operation 4 for the volume's name, 5 for the next stream's name. The record starts with up to 20
//!   bytes of the name. The flags field contains the number of these bytes. The stream field is 1 if another piece
//!   follows.
//!
//! The name of a stream precedes the first request of the stream, so a file can be written batch by batch.

use super::{Device, Entry, Fault, FormatInfo, FormatRules, Io, RecordFormat, Skip, Stream, Tables};
use crate::decode::{u16_at, u32_at, u64_at};
use crate::{Op, Request, flag};

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "ssdlab-volume",
    help: "binary; one volume of a fleet, written by 'ssdlab fleet'",
    source: "",
    parameters: &[],
    role: FormatRules::records::<Volume>(),
};

/// Size of a record in bytes.
pub(crate) const RECORD: usize = 24;
const MAGIC: &[u8; 16] = b"ssdlab-volume 1\n";
/// Maximum number of name bytes in one record.
const PIECE: usize = 20;
/// Maximum length in bytes of a name.
const NAME_MAX: usize = 4096;

/// Operation code of records that hold pieces of the volume's name.
pub(crate) const VOLUME_NAME: u8 = 4;
/// Operation code of records that hold pieces of the next stream's name.
pub(crate) const STREAM_NAME: u8 = 5;

#[derive(Default)]
struct Volume {
    begun: bool,
    name: Vec<u8>,
    device: Device,
    /// Ids in [`Tables::streams`], indexed by the stream's number in the file; stream 0 means no stream.
    streams: Vec<u32>,
}

impl Volume {
    fn piece<'a>(&mut self, record: &'a [u8; RECORD], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let piece = record.get(..usize::from(record[21]).min(PIECE)).unwrap_or_default();
        self.name.extend_from_slice(piece);
        if self.name.len() > NAME_MAX {
            return Err(Fault::new("name", piece, "makes the name longer than the maximum of 4 KiB"));
        }
        if record[22] == 0 {
            if record[20] == VOLUME_NAME {
                self.device = Device::Id(tables.devices.id(&self.name));
            } else {
                self.streams.push(tables.streams.id(&self.name));
            }
            self.name.clear();
        }
        Ok(Entry::Skip(Skip::Header))
    }
}

/// All valid request flags.
const FLAGS: u8 = flag::SYNC | flag::META | flag::AHEAD | flag::FUA | flag::PREFLUSH;

impl RecordFormat for Volume {
    const HEAD: usize = RECORD;

    fn sniff(head: &[u8]) -> u32 {
        if head.starts_with(MAGIC) { 100 } else { 0 }
    }

    #[inline]
    fn record<'a>(&mut self, bytes: &'a [u8], tables: &mut Tables) -> Result<(Entry<'a>, usize), Fault<'a>> {
        let Some(record) = bytes.first_chunk::<RECORD>() else { return Err(Fault::missing("record")) };
        if !self.begun {
            self.begun = true;
            self.streams.push(0);
            if !record.starts_with(MAGIC) {
                let text = &record[..MAGIC.len()];
                return Err(Fault::new("head", text, "is not the beginning of an ssdlab-volume file"));
            }
            tables.whole_seconds |= record[MAGIC.len()] == 1;
            return Ok((Entry::Skip(Skip::Header), 0));
        }
        if record.starts_with(MAGIC) {
            return Err(Fault::new("", b"", "a second file begins here: split the input into two files"));
        }
        let Some(&op) = Op::ALL.get(usize::from(record[20])) else {
            return match record[20] {
                VOLUME_NAME | STREAM_NAME => Ok((self.piece(record, tables)?, 0)),
                _ => Err(Fault::new("operation", &record[20..21], "is unknown")),
            };
        };
        let number = u16_at(record, 22);
        let Some(&stream) = self.streams.get(usize::from(number)) else {
            return Err(Fault::new("stream", &record[22..24], "refers to a stream without an earlier name record"));
        };
        if record[21] & !FLAGS != 0 {
            return Err(Fault::new("flags", &record[21..22], "has unknown bits"));
        }
        let io = Io {
            time_ns: u64_at(record, 0),
            op,
            offset: u64_at(record, 8),
            bytes: u32_at(record, 16).into(),
            device: self.device,
            flags: record[21],
            stream: Stream::Id(stream),
        };
        Ok((Entry::Io(io), 0))
    }
}

/// Creates the first record of a volume file.
pub(crate) fn head(whole_seconds: bool) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..MAGIC.len()].copy_from_slice(MAGIC);
    record[MAGIC.len()] = u8::from(whole_seconds);
    record
}

/// Appends the records that hold the name of a volume or stream; `op` is [`VOLUME_NAME`] or [`STREAM_NAME`].
pub(crate) fn name(op: u8, text: &str, out: &mut Vec<u8>) {
    let pieces = text.len().div_ceil(PIECE).max(1);
    for index in 0..pieces {
        let piece = &text.as_bytes()[index * PIECE..text.len().min((index + 1) * PIECE)];
        let mut record = [0; RECORD];
        record[..piece.len()].copy_from_slice(piece);
        record[20..23].copy_from_slice(&[op, piece.len() as u8, u8::from(index + 1 < pieces)]);
        out.extend_from_slice(&record);
    }
}

/// Encodes a request as a record.
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
    use crate::ReadOptions;
    use crate::testing::{detect_bytes, error_bytes, read_bytes};

    fn file(whole_seconds: bool, names: &[(u8, &str)], requests: &[Request]) -> Vec<u8> {
        let mut out = head(whole_seconds).to_vec();
        for (of, text) in names {
            name(*of, text, &mut out);
        }
        out.extend(requests.iter().flat_map(record));
        out
    }

    const LONG: &str = "a volume name that is long enough for three pieces";

    #[test]
    fn every_field_and_name_is_preserved() {
        let first = Request { time_ns: 5, offset: 4096, bytes: 512, op: Op::Trim, flags: flag::SYNC, stream: 2 };
        let two = Request { time_ns: 9, offset: 0, bytes: 0, op: Op::Flush, flags: flag::FUA, stream: 0 };
        let names = [(VOLUME_NAME, LONG), (STREAM_NAME, "7"), (STREAM_NAME, "")];
        let bytes = file(false, &names, &[first, two]);
        assert_eq!(detect_bytes(&bytes).unwrap(), "ssdlab-volume");
        let (requests, report) = read_bytes("ssdlab-volume", &bytes, &ReadOptions::default()).unwrap();
        // An empty stream name means no stream.
        assert_eq!(requests, [Request { time_ns: 0, stream: 0, ..first }, Request { time_ns: 4, ..two }]);
        assert_eq!(report.device.as_deref(), Some(LONG));
    }

    #[test]
    fn whole_seconds_are_spread_if_the_first_record_says_so() {
        let at = |offset| Request { time_ns: 0, offset, bytes: 512, op: Op::Read, flags: 0, stream: 0 };
        let times = |whole_seconds| {
            let bytes = file(whole_seconds, &[(VOLUME_NAME, "7")], &[at(0), at(512)]);
            let (requests, _) = read_bytes("ssdlab-volume", &bytes, &ReadOptions::default()).unwrap();
            requests.iter().map(|request| request.time_ns).collect::<Vec<_>>()
        };
        assert_eq!((times(false), times(true)), (vec![0, 0], vec![0, 500_000_000]));
    }

    #[test]
    fn invalid_fields_are_named() {
        let at = |stream| Request { time_ns: 0, offset: 0, bytes: 512, op: Op::Read, flags: 0, stream };
        let message = error_bytes("ssdlab-volume", &file(false, &[], &[at(1)]));
        assert_eq!(
            message,
            "memory:record 2 at byte 24: field \"stream\": \"\\x01\\x00\" refers to a stream without an earlier name \
             record; fix it or pass --skip-bad"
        );
        let mut bad = file(false, &[], &[at(0)]);
        bad[RECORD + 20] = 9;
        assert!(error_bytes("ssdlab-volume", &bad).contains("field \"operation\": \"\\t\" is unknown"));
        assert!(
            error_bytes("ssdlab-volume", &record(&at(0))).contains("is not the beginning of an ssdlab-volume file")
        );
        let cut = file(false, &[], &[at(0)]);
        assert!(error_bytes("ssdlab-volume", &cut[..cut.len() - 1]).contains("the file ends inside record 2"));
    }
}
