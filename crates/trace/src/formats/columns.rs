//! Any text in columns. A specification says what they hold: `time=0:us,op=2,offset=3:sectors,size=4`.
//!
//! A column is named by its number, from 0, or by its heading. A unit follows after a colon: `ns` (the default), `us`,
//! `ms`, `s` or a multiple such as `100ns` for times; bytes (the default), `sectors` of 512 bytes, or a size such as
//! `4KiB` for offsets and sizes. Times may also be clock times or dates. `op` and `size` may be constants instead of
//! columns: `op='W'`, `size=4KiB`. Where requests are for objects, the offset may be a key of any text. A request is made
//! `repeat` times.
//!
//! Fields are separated by commas, semicolons, tabs or blanks, whichever the first line has, and may stand in quotes.
//! The first line may hold headings. Lines that begin with `#` are comments. Operations may be spelt in many ways
//! ([`Op::parse`]). The source is our own: there is no such format.
//!
//! `17.5,sda,Write,8,16`

use ssdlab_core::{Bytes, Nanos};
use twox_hash::XxHash3_64;

use crate::calendar::Calendar;
use crate::decode::LineFormat;
use crate::fault::Fault;
use crate::fields::{NOT_WHOLE, fraction, integer, whole};
use crate::intake::{Device, Entry, Io, REQUEST_MAX, Skip, Stream, Tables};
use crate::{Op, ReadOptions, Target, TraceError};

const SECTOR: u64 = 512;
/// Columns that a line may have.
const MOST: usize = 64;
/// Bytes of the headings that a message shows.
const HEADINGS_SHOWN: usize = 400;
/// Most times that one line may repeat its request.
const REPEATS_MAX: u64 = 1 << 20;
const NOT_AN_ADDRESS: &str = "is not a whole number; only objects have keys of text ('ssdlab cache sim --objects')";
/// What columns may hold; the first ones are required.
const NAMES: [&str; 7] = ["op", "offset", "size", "time", "stream", "device", "repeat"];
const REQUIRED: usize = 3;
const OP: usize = 0;
const OFFSET: usize = 1;
const SIZE: usize = 2;
const TIME: usize = 3;
const STREAM: usize = 4;
const DEVICE: usize = 5;
const REPEAT: usize = 6;

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Number(usize),
    /// A heading or, if no column has it, a constant without quotes.
    Heading(String),
    /// The same value in every line, in the unit of the data: the number of an operation, bytes.
    Constant(u64),
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
            let unit = unit.map_or(Some(1), |unit| scale(at, unit));
            let Some(unit) = unit else {
                let units = match at {
                    TIME => "write one of ns, us, ms, s",
                    OFFSET | SIZE => "write bytes, sectors or a size such as 4KiB",
                    _ => "it has none",
                };
                return Err(wrong(format!("{part:?} has no unit of {name}: {units}")));
            };
            let place = match (place.parse(), unquoted(place)) {
                (Ok(number), _) if number >= MOST => {
                    let instead = match at {
                        SIZE => format!("; for a constant write size={number}B"),
                        _ => String::new(),
                    };
                    return Err(wrong(format!("column {number} is beyond {}{instead}", MOST - 1)));
                }
                (Ok(number), _) => Place::Number(number),
                (_, Some(text)) => match constant(at, text, unit) {
                    Some(value) => Place::Constant(value),
                    None => {
                        let constants = match at {
                            OP => "write an operation, such as 'read'",
                            SIZE => "write a size, such as '4KiB'",
                            _ => "only op and size can be constants",
                        };
                        return Err(wrong(format!("{part:?} is not a constant for {name}: {constants}")));
                    }
                },
                _ if place.is_empty() => return Err(wrong(format!("{part:?} names no column"))),
                _ => Place::Heading(place.into()),
            };
            if held[at].replace((place, unit)).is_some() {
                return Err(wrong(format!("{name} is given twice")));
            }
        }
        match held[..REQUIRED].iter().position(Option::is_none) {
            Some(at @ (OP | SIZE)) => {
                let constant = if at == OP { "op='read'" } else { "size=4KiB" };
                Err(wrong(format!("{} is missing (for a constant write {constant})", NAMES[at])))
            }
            Some(at) => Err(wrong(format!("{} is missing", NAMES[at]))),
            None => Ok(Self { held }),
        }
    }
}

/// Returns the text inside single or double quotes.
fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

/// Number of the operation or bytes of the size that a constant stands for.
fn constant(at: usize, text: &str, unit: u64) -> Option<u64> {
    match at {
        OP => Op::parse(text.as_bytes()).map(|op| op as u64),
        SIZE => match integer(text.as_bytes()) {
            Ok(value) => value.checked_mul(unit),
            Err(_) => Bytes::parse_exact(text).ok().map(|bytes| bytes.0).filter(|_| unit == 1),
        },
        _ => None,
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
        Self { held: [at(1), at(2), at(3), at(0), None, None, None] }
    }
}

/// Where the values of the file at hand are.
#[derive(Clone, Copy)]
enum Found {
    Column { number: usize, unit: u64 },
    Constant(u64),
}

type AllFound = [Option<Found>; NAMES.len()];

/// Parser.
pub(crate) struct Text {
    columns: Columns,
    target: Target,
    found: AllFound,
    separator: u8,
    /// Fields of the first line.
    width: usize,
    /// The next line is the first, and holds headings.
    at_headings: bool,
    calendar: Calendar,
    repeats: u32,
}

impl LineFormat for Text {
    // The first comment may hold the headings.
    const COMMENTS: bool = false;

    fn new(options: &ReadOptions) -> Self {
        Self {
            columns: options.columns.clone().unwrap_or_default(),
            target: options.target,
            found: [None; NAMES.len()],
            separator: b',',
            width: MOST,
            at_headings: false,
            calendar: Calendar::default(),
            repeats: 1,
        }
    }

    fn begin(&mut self, first: &[u8]) -> Result<bool, String> {
        let comment = first.trim_ascii_start().strip_prefix(b"#");
        let line = comment.unwrap_or(first);
        let separator = [b',', b';', b'\t'].into_iter().find(|separator| line.contains(separator));
        self.separator = separator.unwrap_or(b' ');
        let mut fields = [&b""[..]; MOST];
        let count = split(line, self.separator, &mut fields);
        let found = self.columns.find(&fields[..count]);
        if comment.is_some() && !found.as_ref().is_ok_and(|found| self.columns.by_heading(found)) {
            return Ok(false);
        }
        self.found = found?;
        self.width = count;
        self.at_headings = self.columns.by_heading(&self.found) || self.is_heading(&fields);
        Ok(true)
    }

    fn separator(&self) -> Option<u8> {
        // Blanks come in runs.
        Some(self.separator).filter(|separator| *separator != b' ')
    }

    fn fields(&self, line: &[u8]) -> usize {
        self.separator().map_or(0, |separator| split(line, separator, &mut [&b""[..]; MOST]))
    }

    fn repeats(&self) -> u32 {
        self.repeats
    }

    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        self.repeats = 1;
        if std::mem::take(&mut self.at_headings) || line.trim_ascii_start().starts_with(b"#") {
            return Ok(Entry::Skip(Skip::Header));
        }
        let found = &self.found;
        let mut fields = [&b""[..]; MOST];
        let count = split(line, self.separator, &mut fields);
        // Some programs end each line with a separator.
        if let Some(surplus) = fields[..count].iter().skip(self.width).find(|field| !field.is_empty()) {
            let why = "follows the last column of the first line; two lines may have been joined";
            return Err(Fault::new("", surplus, why));
        }
        let text = |number: usize, name| match fields[..count].get(number) {
            Some(field) if !field.is_empty() => Ok(*field),
            _ => Err(Fault::missing(name)),
        };
        let op = match found[OP] {
            Some(Found::Constant(op)) => Op::ALL.get(op as usize).map(|op| (*op, 0)),
            Some(Found::Column { number, .. }) => Op::with_flags(text(number, NAMES[OP])?),
            None => None,
        };
        let Some((op, flags)) = op else { return Ok(Entry::Skip(Skip::UnknownOp)) };
        let number = |at: usize| match found[at] {
            Some(Found::Constant(value)) => Ok(value),
            Some(Found::Column { number: column, unit }) => {
                let field = text(column, NAMES[at])?;
                let fault = |why| Fault::new(NAMES[at], field, why);
                let text_key = at == OFFSET && self.target == Target::Drive && unit == 1;
                let hint = |why| if text_key && why == NOT_WHOLE { NOT_AN_ADDRESS } else { why };
                integer(field)
                    .map_err(|why| fault(hint(why)))?
                    .checked_mul(unit)
                    .ok_or(fault("is too large in this unit"))
            }
            None => Err(Fault::missing(NAMES[at])),
        };
        let time_ns = match found[TIME] {
            Some(Found::Column { number, unit }) => {
                let field = text(number, NAMES[TIME])?;
                let calendar = &mut self.calendar;
                let time = fraction(field, unit)
                    .or_else(|why| if field.contains(&b':') { calendar.parse(field) } else { Err(why) });
                time.map_err(|why| Fault::new(NAMES[TIME], field, why))?
            }
            _ => 0,
        };
        let offset = || match found[OFFSET] {
            Some(Found::Column { number, unit: 1 }) if self.target != Target::Drive => {
                Ok(key(text(number, NAMES[OFFSET])?))
            }
            _ => number(OFFSET),
        };
        let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (offset()?, number(SIZE)?) };
        if let Some(Found::Column { number: column, .. }) = found[REPEAT] {
            let repeats = number(REPEAT)?;
            if !(1..=REPEATS_MAX).contains(&repeats) || repeats.saturating_mul(bytes) > REQUEST_MAX {
                let why = "is not 1 to 1,048,576, or comes to more than 256 TiB";
                return Err(Fault::new(NAMES[REPEAT], text(column, NAMES[REPEAT])?, why));
            }
            self.repeats = repeats as u32;
        }
        let name = |at: usize| match found[at] {
            Some(Found::Column { number, .. }) => text(number, NAMES[at]).map(Some),
            _ => Ok(None),
        };
        let stream = name(STREAM).ok().flatten().map_or(Stream::None, Stream::Named);
        let device = name(DEVICE)?.map_or(Device::File, |name| Device::Id(tables.devices.id(name)));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags, stream }))
    }
}

/// Identity of an object. A number in decimal digits is itself; any other text becomes the upper 63 bits of its XXH3
/// hash, so that no size takes it beyond 64 bits.
fn key(text: &[u8]) -> u64 {
    let canonical = text == b"0" || text.first().is_some_and(|first| (b'1'..=b'9').contains(first));
    whole(text).ok().filter(|_| canonical).unwrap_or_else(|| XxHash3_64::oneshot(text) >> 1)
}

impl Columns {
    /// Finds the values, given the fields of the first line, which may be headings.
    fn find(&self, first: &[&[u8]]) -> Result<AllFound, String> {
        let mut all_found = [None; NAMES.len()];
        for (at, (held, found)) in self.held.iter().zip(&mut all_found).enumerate() {
            let Some((place, unit)) = held else { continue };
            *found = Some(match place {
                Place::Number(number) => Found::Column { number: *number, unit: *unit },
                Place::Constant(value) => Found::Constant(*value),
                Place::Heading(heading) => {
                    let number = first.iter().position(|field| field.eq_ignore_ascii_case(heading.as_bytes()));
                    let column = number.map(|number| Found::Column { number, unit: *unit });
                    let found = column.or_else(|| constant(at, heading, *unit).map(Found::Constant));
                    found.ok_or_else(|| {
                        let there = first.join(&b", "[..]);
                        let shown = String::from_utf8_lossy(&there[..there.len().min(HEADINGS_SHOWN)]);
                        format!(
                            "columns {}={heading}: no heading is {heading:?}; the first line has {shown:?}: name one of \
                             these, or a column by its number from 0",
                            NAMES[at]
                        )
                    })?
                }
            });
        }
        Ok(all_found)
    }

    /// Returns true if a column was found by its heading.
    fn by_heading(&self, found: &AllFound) -> bool {
        let mut both = self.held.iter().flatten().zip(found.iter().flatten());
        both.any(|((place, _), found)| matches!((place, found), (Place::Heading(_), Found::Column { .. })))
    }
}

impl Text {
    /// Returns true if the first line holds headings although no column is named by one: it has no operation, and none of
    /// its numbers begins with a digit.
    fn is_heading(&self, fields: &[&[u8]; MOST]) -> bool {
        let field = |at: usize| match self.found[at] {
            Some(Found::Column { number, .. }) => fields.get(number),
            _ => None,
        };
        let is_number = |field: &&[u8]| field.first().is_some_and(u8::is_ascii_digit);
        // A key need not begin with a digit.
        let keyed = self.target != Target::Drive;
        let numbers = [TIME, SIZE].into_iter().chain((!keyed).then_some(OFFSET));
        let mut told = numbers.map(|at| field(at).map(is_number)).chain([field(OP).map(|op| Op::parse(op).is_some())]);
        let told: Vec<bool> = told.by_ref().flatten().collect();
        !told.is_empty() && !told.contains(&true)
    }
}

/// Splits a line into fields without blanks and quotes around them; returns how many there are. A separator in quotes
/// does not separate.
fn split<'a>(line: &'a [u8], separator: u8, fields: &mut [&'a [u8]; MOST]) -> usize {
    let ends = |byte: &u8| *byte == separator || (separator == b' ' && *byte == b'\t');
    let mut count = 0;
    let mut rest = Some(line);
    while let Some(line) = rest {
        let Some(slot) = fields.get_mut(count) else { break };
        let start = if separator == b' ' { line.trim_ascii_start() } else { line };
        let quoted = start.trim_ascii_start().strip_prefix(b"\"");
        // A quote that is never closed, or goes on after its end, is a character like others.
        let closed = quoted.and_then(|quoted| {
            let close = quoted.iter().position(|&byte| byte == b'"')?;
            let after = &quoted[close + 1..];
            let end = after.iter().position(ends).unwrap_or(after.len());
            after[..end].trim_ascii().is_empty().then(|| (&quoted[..close], after.get(end + 1..)))
        });
        let (field, left) = closed.unwrap_or_else(|| {
            let end = start.iter().position(ends).unwrap_or(start.len());
            (start[..end].trim_ascii(), start.get(end + 1..))
        });
        rest = left;
        if separator == b' ' && closed.is_none() && field.is_empty() {
            continue;
        }
        *slot = field;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::Columns;
    use crate::testing::{read_with, request};
    use crate::{Format, Op, ReadOptions, Target};

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
            ("op=0,offset=1", "size is missing (for a constant write size=4KiB)"),
            ("offset=1,size=2", "op is missing (for a constant write op='read')"),
            ("op=0,size=2", "offset is missing; write"),
            ("op='X',offset=1,size=2", "\"op='X'\" is not a constant for op: write an operation, such as 'read'"),
            ("op=0,offset=1,size='4.5'", "\"size='4.5'\" is not a constant for size: write a size, such as '4KiB'"),
            (
                "op=0,offset='7',size=2",
                "\"offset='7'\" is not a constant for offset: only op and size can be constants",
            ),
            ("op=0,offset=1,size=4096", "column 4096 is beyond 63; for a constant write size=4096B"),
            ("op=0,offset=1,size=2,size=3", "size is given twice"),
            ("op=0,offset=1,length=2", "\"length\" is not one of op, offset, size, time, stream, device, repeat"),
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

    fn requests(columns: &str, text: &str) -> Vec<crate::Request> {
        read_with(text.as_bytes(), &options(columns)).unwrap().0
    }

    fn objects(columns: &str, target: Target, text: &str) -> (Vec<crate::Request>, crate::IngestReport) {
        read_with(text.as_bytes(), &ReadOptions { target, ..options(columns) }).unwrap()
    }

    fn fails(columns: &str, text: &str) -> String {
        read_with(text.as_bytes(), &options(columns)).unwrap_err().to_string()
    }

    /// 12 sectors are 6,144 bytes.
    #[test]
    fn operation_and_size_may_be_constants() {
        let expected = [request(0, Op::Read, 71, 5000), request(1_000_000_000, Op::Read, 72, 20)];
        for columns in
            ["time=0:s,offset=1,size=2,op=R", "time=0:s,offset=1,size=2,op='read'", "time=0:s,offset=1,size=2,op=\"0\""]
        {
            assert_eq!(requests(columns, "1 71 5000\n2 72 20\n"), expected, "{columns}");
        }
        for size in ["4KiB", "'4KiB'", "'4096'", "4096B", "'8':sectors"] {
            let found = requests(&format!("op=W,offset=0:4KiB,size={size}"), "3\n5\n");
            assert_eq!(found, [request(0, Op::Write, 12288, 4096), request(0, Op::Write, 20480, 4096)], "{size}");
        }
        // A heading of this name comes first.
        assert_eq!(requests("op=w,offset=lba,size=4KiB", "lba,w\n4096,R\n"), [request(0, Op::Read, 4096, 4096)]);
        assert_eq!(requests("op='w',offset=lba,size=4KiB", "lba,w\n4096,R\n"), [request(0, Op::Write, 4096, 4096)]);
        assert!(fails("op=X,offset=0,size=4KiB", "3\n").contains("no heading is \"X\""));
    }

    #[test]
    fn whole_numbers_may_be_floats_or_hexadecimal() {
        let text = "time,op,offset,size\n0.0,R,0.0,4096.0\n1000.5,W,0x2000,1e3\n";
        let found = requests("time=time:us,op=op,offset=offset,size=size", text);
        assert_eq!(found, [request(0, Op::Read, 0, 4096), request(1_000_500, Op::Write, 8192, 1000)]);
        let message = fails("op=0,offset=1,size=2", "R,0,4096\nR,0,4096.5\n");
        assert!(message.contains("memory:2: field \"size\": \"4096.5\" is not a whole number"), "{message}");
    }

    #[test]
    fn a_line_with_more_fields_than_the_first_is_an_error() {
        let columns = "time=t,op=op,offset=o,size=s";
        let text = "t,op,o,s\n0,W,0,4096\n1,R,0,4096\n2,R,0,40963,R,0,4096\n";
        let why = "memory:4: \"R\" follows the last column of the first line; two lines may have been joined";
        assert!(fails(columns, text).starts_with(why));
        assert!(fails("time=0,op=1,offset=2,size=3", &text[9..]).starts_with(&why.replace('4', "3")));
        assert!(
            fails("time=0,op=1,offset=2,size=3", &text[9..].replace(',', "  ")).starts_with(&why.replace('4', "3"))
        );
        let options = ReadOptions { skip_bad: true, ..options(columns) };
        let (found, report) = read_with(text.as_bytes(), &options).unwrap();
        assert_eq!((found.len(), report.counts.bad_lines), (2, 1));
        // Separators at the end of each line are no fields.
        assert_eq!(requests(columns, "t,op,o,s\n0,W,0,4096,\n").len(), 1);
    }

    #[test]
    fn comments_do_not_tell_separator_or_headings() {
        let expected = [request(0, Op::Write, 7, 8371), request(103_000_000, Op::Write, 8, 31)];
        for comment in
            ["# written by my tool 1.2\n", "#\n# a;b\n\n", "  # timestamp (ms), op, id, size\n", "\u{feff}# x\ty\n"]
        {
            let text = format!("{comment}0,1,7,8371\n# more\n103,1,8,31\n");
            assert_eq!(requests("time=0:ms,op=1,offset=2,size=3", &text), expected, "{comment:?}");
            let text = text.replace("0,1,7", "t,op,id,size\n0,1,7");
            assert_eq!(requests("time=t:ms,op=op,offset=id,size=size", &text), expected, "{comment:?}");
        }
        let text = "# my tool\n#t op id size\n0 1 7 8371\n103 1 8 31\n";
        assert_eq!(requests("time=t:ms,op=op,offset=id,size=size", text), expected);
    }

    /// The second line's quote is never closed, so that the line has a field too many.
    #[test]
    fn separators_in_quotes_do_not_separate() {
        let text = "\"Name, Path\",op,\"offset\",size\n\"a, b\",R,\"4096\" ,512\n\"c,d,R,8192,512\n";
        let options = ReadOptions { skip_bad: true, ..options("stream=0,op=op,offset=offset,size=size") };
        let (found, report) = read_with(text.as_bytes(), &options).unwrap();
        assert_eq!((found.len(), found[0].offset, report.counts.bad_lines), (1, 4096, 1));
        assert_eq!(requests("op=0,offset=2,size=3", "R \"a b\" \"8192\" 512\n")[0].offset, 8192);
    }

    /// 17:58:58.014 is 200 ms after 17:58:57.814; 00:00:01 is 2 s after 23:59:59.
    #[test]
    fn times_may_be_clock_times_or_dates() {
        let columns = "time=0,op=1,offset=2,size=3";
        for (first, second, apart_ns) in [
            ("17:58:57.814", "17:58:58.014", 200_000_000),
            ("23:59:59", "00:00:01", 2_000_000_000),
            ("2026-01-02T03:04:05.678", "2026-01-02T03:04:06.678", 1_000_000_000),
            ("2026-01-02 03:04:05+01:00", "2026-01-02 03:04:05Z", 3_600_000_000_000),
        ] {
            let found = requests(columns, &format!("{first},W,0,4096\n{second},R,0,4096\n"));
            assert_eq!(found.iter().map(|one| one.time_ns).collect::<Vec<_>>(), [0, apart_ns], "{first}");
        }
        let message = fails(columns, "17:58:57,W,0,4096\n17:58:99,W,0,4096\n");
        assert!(
            message.contains("memory:2: field \"time\": \"17:58:99\" is neither a number, a clock time"),
            "{message}"
        );
    }

    /// `xxhash.xxh3_64_intdigest(b"A") >> 1` of the Python package xxhash.
    #[test]
    fn keys_of_objects_may_be_text() {
        let text = "0,R,A,10\n1,R,7,10\n2,R,A,10\n3,R,007,10\n4,R,18446744073709551616,10\n";
        let (found, _) = objects("time=0,op=1,offset=2,size=3", Target::CountedObjects, text);
        let keys: Vec<u64> = found.iter().map(|one| one.offset).collect();
        assert_eq!((keys[0], keys[1], keys[2]), (7_523_909_072_658_799_170, 7, 7_523_909_072_658_799_170));
        assert!(keys[3] != 7 && keys.iter().all(|key| key >> 63 == 0), "{keys:?}");
        // A file of keys alone has no headings.
        let (found, _) = objects("op=R,offset=0,size=1B", Target::SizedObjects, "B\nA\n");
        assert_eq!((found.len(), found[1].offset), (2, 7_523_909_072_658_799_170));
        let message = fails("time=0,op=1,offset=2,size=3", text);
        assert!(message.contains("\"A\" is not a whole number; only objects have keys of text"), "{message}");
    }

    #[test]
    fn objects_need_no_size_where_sizes_do_not_matter() {
        let text = "R,7,0\nW,8,0\nD,7,0\nR,8,10\n";
        for (target, kept, dropped) in
            [(Target::Drive, 1, 3), (Target::SizedObjects, 2, 2), (Target::CountedObjects, 4, 0)]
        {
            let (found, report) = objects("op=0,offset=1,size=2", target, text);
            assert_eq!((found.len(), report.counts.zero_length), (kept, dropped), "{target:?}");
        }
    }

    /// 3 + 1 gets, and a line of CacheLib that its own reader refuses.
    #[test]
    fn a_line_may_repeat_its_request() {
        let text = "key,op,size,op_count\n5,GET,0,3\n6,SET,82,1\n";
        let columns = "op=op,offset=key,size=size,repeat=op_count";
        let (found, report) = objects(columns, Target::CountedObjects, text);
        assert_eq!(found.iter().map(|one| one.offset).collect::<Vec<_>>(), [5, 5, 5, 6]);
        assert_eq!((report.counts.records, report.counts.requests), (3, 4));
        for count in ["0", "1048577"] {
            assert!(fails(columns, &format!("{text}7,GET,1,{count}\n")).contains("\"repeat\": \""), "{count}");
        }
    }

    /// 64 TiB are 32,768 pieces of 2 GiB.
    #[test]
    fn a_trim_may_be_as_long_as_the_largest_drive() {
        assert_eq!(requests("op=0,offset=1,size=2", "D,0,70368744177664\n").len(), 32_768);
        assert!(fails("op=0,offset=1,size=2", "D,0,281474976710657\n").contains("256 TiB a request"));
    }
}
