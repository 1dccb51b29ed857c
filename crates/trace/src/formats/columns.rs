//! Any text in columns, of which the reader is told what they hold: `time=0:us,op=2,offset=3:sectors,size=4`.
//!
//! A column is named by its number, from 0, or by its heading in the first line. After a colon follows its unit: of a
//! time `ns` (the default), `us`, `ms`, `s` or a multiple such as `100ns`; of offset and size bytes (the default),
//! `sectors` of 512 bytes, or a size such as `4KiB`. Fields are separated by commas, semicolons, tabs or blanks,
//! whichever the first line has, and may stand in quotes. Operations may be spelt in many ways ([`Op::parse`]).
//! The source is our own: there is no such format.
//!
//! `17.5,sda,Write,8,16`

use ssdlab_core::{Bytes, Nanos};

use crate::decode::LineFormat;
use crate::fault::Fault;
use crate::fields::{fraction, whole};
use crate::intake::{Device, Entry, Io, Skip, Stream, Tables};
use crate::{Op, ReadOptions, TraceError};

const SECTOR: u64 = 512;
/// Columns that a line may have.
const MOST: usize = 64;
/// Bytes of the headings that a message shows.
const HEADINGS_SHOWN: usize = 400;
/// What columns may hold; those from the first on must be there.
const NAMES: [&str; 6] = ["op", "offset", "size", "time", "stream", "device"];
const REQUIRED: usize = 3;
const OP: usize = 0;
const OFFSET: usize = 1;
const SIZE: usize = 2;
const TIME: usize = 3;
const STREAM: usize = 4;
const DEVICE: usize = 5;

/// Where a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Number(usize),
    Heading(String),
}

/// How columns are written, for messages.
pub(super) const EXAMPLE: &str = "time=0:us,op=2,offset=3:sectors,size=4";

/// What the columns of a text hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Place and unit, in the order of the names.
    held: [Option<(Place, u64)>; NAMES.len()],
}

impl Columns {
    /// Reads `time=0:us,op=2,offset=3:sectors,size=4`.
    ///
    /// # Errors
    ///
    /// Any other text, with how to write it.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let wrong = |why: String| TraceError::Format(format!("columns {text:?}: {why}; write them like {EXAMPLE}"));
        let mut held = [const { None }; NAMES.len()];
        for part in text.split(',').map(str::trim) {
            let pair = part.split_once('=').map(|(name, place)| (name.trim(), place.trim()));
            let Some((name, place)) = pair else { return Err(wrong(format!("{part:?} is not NAME=COLUMN"))) };
            let known = ssdlab_core::suggest::named(name, NAMES);
            let Some(at) = NAMES.iter().position(|name| Some(*name) == known) else {
                return Err(wrong(format!("{name:?} is not one of {}", NAMES.join(", "))));
            };
            let (place, unit) = place.split_once(':').map_or((place, None), |(place, unit)| (place, Some(unit.trim())));
            let place = match place.parse() {
                Ok(number) if number >= MOST => return Err(wrong(format!("column {number} is beyond {}", MOST - 1))),
                Ok(number) => Place::Number(number),
                Err(_) if place.is_empty() => return Err(wrong(format!("{part:?} names no column"))),
                Err(_) => Place::Heading(place.into()),
            };
            let unit = unit.map_or(Some(1), |unit| scale(at, unit));
            let Some(unit) = unit else {
                let units = match at {
                    TIME => "write one of ns, us, ms, s",
                    OFFSET | SIZE => "write bytes, sectors or a size such as 4KiB",
                    _ => "it has none",
                };
                return Err(wrong(format!("{part:?} has no unit of {name}: {units}")));
            };
            if held[at].replace((place, unit)).is_some() {
                return Err(wrong(format!("{name} is given twice")));
            }
        }
        match held[..REQUIRED].iter().position(Option::is_none) {
            Some(at) => Err(wrong(format!("{} is missing", NAMES[at]))),
            None => Ok(Self { held }),
        }
    }
}

/// Nanoseconds or bytes of a unit of a column.
fn scale(at: usize, unit: &str) -> Option<u64> {
    // `us` is one of them, `100ns` a hundred.
    let counted = if unit.starts_with(|c: char| c.is_ascii_digit()) { unit.into() } else { format!("1{unit}") };
    let scale = match at {
        TIME => Nanos::parse(&counted).ok()?.0,
        OFFSET | SIZE if unit == "bytes" => 1,
        OFFSET | SIZE if unit == "sectors" => SECTOR,
        OFFSET | SIZE => Bytes::parse_exact(&counted).ok()?.0,
        _ => return None,
    };
    Some(scale).filter(|scale| *scale > 0)
}

impl Default for Columns {
    /// Time, operation, offset and size, in this order.
    fn default() -> Self {
        let at = |number| Some((Place::Number(number), 1));
        Self { held: [at(1), at(2), at(3), at(0), None, None] }
    }
}

/// Parser.
pub(crate) struct Text {
    columns: Columns,
    /// Number of the column and unit of what is held.
    found: [Option<(usize, u64)>; NAMES.len()],
    separator: u8,
    /// The next line is the first, and holds headings.
    at_headings: bool,
}

impl LineFormat for Text {
    fn new(options: &ReadOptions) -> Self {
        let columns = options.columns.clone().unwrap_or_default();
        Self { columns, found: [None; NAMES.len()], separator: b',', at_headings: false }
    }

    fn begin(&mut self, first: &[u8]) -> Result<(), String> {
        let separator = [b',', b';', b'\t'].into_iter().find(|separator| first.contains(separator));
        self.separator = separator.unwrap_or(b' ');
        let mut fields = [&b""[..]; MOST];
        let count = split(first, self.separator, &mut fields);
        self.found = self.find(&fields[..count])?;
        self.at_headings = self.is_heading(&fields);
        Ok(())
    }

    fn separator(&self) -> Option<u8> {
        // Blanks come in runs.
        Some(self.separator).filter(|separator| *separator != b' ')
    }

    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        if std::mem::take(&mut self.at_headings) {
            return Ok(Entry::Skip(Skip::Header));
        }
        let found = &self.found;
        let mut fields = [&b""[..]; MOST];
        let count = split(line, self.separator, &mut fields);
        let text = |at: usize| match found[at] {
            Some((column, _)) if column < count && !fields[column].is_empty() => Ok(fields[column]),
            _ => Err(Fault::missing(NAMES[at])),
        };
        let Some(op) = Op::parse(text(OP)?) else { return Ok(Entry::Skip(Skip::UnknownOp)) };
        let number = |at: usize| {
            let field = text(at)?;
            let value = whole(field).map_err(|why| Fault::new(NAMES[at], field, why))?;
            let unit = found[at].map_or(1, |(_, unit)| unit);
            value.checked_mul(unit).ok_or(Fault::new(NAMES[at], field, "is too large in this unit"))
        };
        let time_ns = match found[TIME] {
            Some((_, unit)) => {
                let field = text(TIME)?;
                fraction(field, unit).map_err(|why| Fault::new("time", field, why))?
            }
            None => 0,
        };
        let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (number(OFFSET)?, number(SIZE)?) };
        let stream = found[STREAM].and_then(|_| text(STREAM).ok()).map_or(Stream::None, Stream::Named);
        let device = match found[DEVICE] {
            Some(_) => Device::Id(tables.devices.id(text(DEVICE)?)),
            None => Device::File,
        };
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream }))
    }
}

impl Text {
    /// The numbers of the columns, of which the first line may hold the headings.
    fn find(&self, first: &[&[u8]]) -> Result<[Option<(usize, u64)>; NAMES.len()], String> {
        let mut found = [None; NAMES.len()];
        for ((held, found), name) in self.columns.held.iter().zip(&mut found).zip(NAMES) {
            let Some((place, unit)) = held else { continue };
            let column = match place {
                Place::Number(column) => *column,
                Place::Heading(heading) => {
                    let column = first.iter().position(|field| field.eq_ignore_ascii_case(heading.as_bytes()));
                    column.ok_or_else(|| {
                        let there = first.join(&b", "[..]);
                        let shown = String::from_utf8_lossy(&there[..there.len().min(HEADINGS_SHOWN)]);
                        format!(
                            "columns {name}={heading}: no heading is {heading:?}; the first line has {shown:?}: name one \
                             of these, or a column by its number from 0"
                        )
                    })?
                }
            };
            *found = Some((column, *unit));
        }
        Ok(found)
    }

    /// Whether the first line holds headings: it must where columns are named by them, and does where none of its
    /// numbers begins with a digit.
    fn is_heading(&self, fields: &[&[u8]; MOST]) -> bool {
        let by_heading = self.columns.held.iter().flatten().any(|(place, _)| matches!(place, Place::Heading(_)));
        let numbers = [TIME, OFFSET, SIZE].into_iter().filter_map(|at| self.found[at]);
        by_heading
            || numbers.map(|(column, _)| fields[column]).all(|field| !field.first().is_some_and(u8::is_ascii_digit))
    }
}

/// Splits a line into fields without blanks and quotes around them; returns how many there are.
fn split<'a>(line: &'a [u8], separator: u8, fields: &mut [&'a [u8]; MOST]) -> usize {
    let mut count = 0;
    for field in line.split(|&byte| byte == separator || (separator == b' ' && byte == b'\t')) {
        let field = field.trim_ascii();
        if separator == b' ' && field.is_empty() {
            continue;
        }
        let Some(slot) = fields.get_mut(count) else { break };
        *slot = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field);
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::Columns;
    use crate::testing::{read_with, request};
    use crate::{Format, Op, ReadOptions};

    fn options(columns: &str) -> ReadOptions {
        let columns = Some(Columns::parse(columns).unwrap());
        ReadOptions { format: Some(Format::Columns), columns, ..ReadOptions::default() }
    }

    #[test]
    fn columns_are_found_by_number_and_by_heading_in_any_unit_and_separator() {
        let expected =
            [request(0, Op::Write, 4096, 8192), request(1500, Op::Read, 8192, 512), request(2000, Op::Trim, 0, 512)];
        for (columns, text) in [
            ("time=0:us,op=2,offset=3:sectors,size=4:sectors", "17.5,a,Write,8,16\n19,b,r,16,1\n19.5,a,DISCARD,0,1\n"),
            ("size=4:sectors,offset=3:sectors,time=0:us,op=2", "17.5;a;W;8;16\n19;b;0;16;1\n19.5;a;trim;0;1\n"),
            (
                "time=T:us,op=Kind,offset=lba:sectors,size=n",
                "T\tkind\tLBA\tn\n17.5\t1\t8\t8192\n19\tR\t16\t512\n19.5\tD\t0\t512\n",
            ),
            ("time=0:us,op=1,offset=2,size=3", "\"17.5\" \"2a\"  4096 8192\n19 28 8192 512\n19.5 42 0 512\n"),
        ] {
            let (requests, _) = read_with(text.as_bytes(), &options(columns)).unwrap();
            assert_eq!(requests, expected, "{columns}");
        }
    }

    #[test]
    fn headings_are_counted_and_streams_and_devices_named() {
        let text = "when,what,where,size,who,disk\n0,R,0,512,postgres,sda\n5,W,512,512,,sda\n9,R,0,512,vim,sdb\n";
        let columns = "time=0,op=1,offset=2,size=3,stream=4,device=5";
        let (requests, report) = read_with(text.as_bytes(), &options(columns)).unwrap();
        assert_eq!(requests.iter().map(|r| r.stream).collect::<Vec<_>>(), [1, 0]);
        assert_eq!((report.counts.headers, report.device.as_deref()), (1, Some("sda")));
        assert_eq!(report.other_devices, [("sdb".into(), 1)]);
    }

    /// No line can be left out to mend it.
    #[test]
    fn a_heading_that_is_not_there_is_named_with_those_that_are() {
        for skip_bad in [false, true] {
            let options = ReadOptions { skip_bad, ..options("op=o,offset=p,size=s") };
            let error = read_with(b"\n\"o\", p ,bytes\nR,0,1\n", &options).unwrap_err();
            assert_eq!(
                error.to_string(),
                "memory:2: columns size=s: no heading is \"s\"; the first line has \"o, p, bytes\": name one of these, or \
                 a column by its number from 0"
            );
        }
    }

    #[test]
    fn what_is_wrong_names_column_and_line() {
        let fails = |columns, text: &str| read_with(text.as_bytes(), &options(columns)).unwrap_err().to_string();
        let plain = "time=0,op=1,offset=2,size=3";
        assert!(fails(plain, "0,R,1,512\n1,R,x,512\n").contains("memory:2: field \"offset\": \"x\" is not a whole"));
        assert!(fails(plain, "0,R,1,512\n1,R\n").contains("memory:2: field \"offset\" is missing"));
        assert!(fails(plain, "0.1,R,x,512\n1,R,1,512\n").contains("memory:1: field \"offset\": \"x\" is not a whole"));
        for (columns, why) in [
            ("", "\"\" is not NAME=COLUMN"),
            ("op=0,offset=1", "size is missing"),
            ("op=0,offset=1,size=2,size=3", "size is given twice"),
            ("op=0,offset=1,length=2", "\"length\" is not one of op, offset, size, time, stream, device"),
            (
                "op=0,offset=1:us,size=2",
                "\"offset=1:us\" has no unit of offset: write bytes, sectors or a size such as 4KiB; write",
            ),
            ("time=0:h,op=1,offset=2,size=3", "\"time=0:h\" has no unit of time: write one of ns, us, ms, s; write"),
            ("op=0:s,offset=1,size=2", "\"op=0:s\" has no unit of op: it has none; write"),
            ("op=0,offset=1:1.3KiB,size=2", "\"offset=1:1.3KiB\" has no unit of offset"),
            ("op=0,offset=99,size=2", "column 99 is beyond 63"),
        ] {
            let message = Columns::parse(columns).unwrap_err().to_string();
            assert!(message.contains(why) && message.ends_with("offset=3:sectors,size=4"), "{message}");
        }
    }
}
