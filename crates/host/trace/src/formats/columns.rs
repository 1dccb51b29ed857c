//! Text files whose columns have a user-defined layout, such as `time=0:us,op=2,offset=3:sectors,size=4`.
//!
//! - **Column, unit, constant**: see [`crate::column_layout`]. Times may also be clock times or dates.
//! - **Object key**: for requests to objects, the offset may be any text.
//! - **`repeat`**: number of times the request is issued.
//!
//! The separator of fields is a comma, semicolon, tab or run of blanks, as found in the first line. Fields may be
//! quoted. The first line may contain headings; lines that begin with `#` are comments. Many spellings of operations
//! are accepted ([`Op::parse`]). The format is defined by ssdlab.
//!
//! `17.5,sda,Write,8,16`

use super::{Device, Entry, Fault, FormatInfo, FormatRules, Io, LineFormat, Skip, Stream, Tables};
use memchr::memchr;
use twox_hash::XxHash3_64;

use crate::calendar::Calendar;
use crate::column_layout::{Columns, DEVICE, MOST, NAMES, OFFSET, OP, REPEAT, SIZE, STREAM, TIME, Value, Values};
use crate::fields::{NOT_WHOLE, integer, whole};
use crate::intake::REQUEST_MAX;
use crate::{Op, ReadOptions, Target};

pub(crate) static INFO: FormatInfo = FormatInfo {
    name: "columns",
    help: "any text with columns; describe the columns with --columns",
    source: "",
    parameters: &[],
    role: FormatRules::lines::<ColumnText>(),
};

/// Maximum number of repetitions of one line's request.
const REPEATS_MAX: u64 = 1 << 20;
const NOT_AN_ADDRESS: &str = "is not a whole number; for text keys, use 'ssdlab cache sim --objects'";

#[derive(Default)]
struct ColumnText {
    columns: Columns,
    target: Target,
    values: Values,
    separator: u8,
    /// Number of fields of the first line.
    width: usize,
    /// True if the next line is the first line and contains headings.
    at_headings: bool,
    calendar: Calendar,
    repeats: u32,
}

impl LineFormat for ColumnText {
    /// Always false: this format is never detected, because only the user can describe the layout.
    fn may_begin(_: &[u8]) -> bool {
        false
    }

    // Lines that begin with `#` are not skipped as comments here, because the first of them may hold the headings.
    const COMMENTS: bool = false;

    fn new(options: &ReadOptions) -> Self {
        let columns = options.columns.clone().unwrap_or_default();
        Self { columns, target: options.target, width: MOST, ..Self::default() }
    }

    fn begin(&mut self, first: &[u8]) -> Result<bool, String> {
        let comment = first.trim_ascii_start().strip_prefix(b"#");
        let line = comment.unwrap_or(first);
        let separator = [b',', b';', b'\t'].into_iter().find(|separator| line.contains(separator));
        self.separator = separator.unwrap_or(b' ');
        let mut fields = [&b""[..]; MOST];
        let (count, _) = split(line, self.separator, &mut fields);
        let located = self.columns.find(&fields[..count]);
        if comment.is_some() && !located.as_ref().is_ok_and(|values| self.columns.by_heading(values)) {
            return Ok(false);
        }
        self.values = located?;
        self.width = count;
        self.at_headings = self.columns.by_heading(&self.values) || self.is_heading(&fields);
        Ok(true)
    }

    fn separator(&self) -> Option<u8> {
        // If blanks separate the fields, the number of blanks does not give the number of fields, because several
        // blanks may separate two fields.
        Some(self.separator).filter(|separator| *separator != b' ')
    }

    fn fields(&self, line: &[u8]) -> usize {
        self.separator().map_or(0, |separator| split(line, separator, &mut [&b""[..]; MOST]).0)
    }

    fn repeats(&self) -> u32 {
        self.repeats
    }

    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        self.repeats = 1;
        if std::mem::take(&mut self.at_headings) || line.trim_ascii_start().starts_with(b"#") {
            return Ok(Entry::Skip(Skip::Header));
        }
        let values = &self.values;
        let mut fields = [&b""[..]; MOST];
        let (count, unclosed) = split(line, self.separator, &mut fields);
        if let Some(field) = unclosed {
            let held = |value: &Option<Value>| matches!(value, Some(Value::Column { number, .. }) if *number == field);
            let name = values.iter().position(held).map_or("", |at| NAMES[at]);
            return Err(Fault::new(name, fields[field], "has an opening quote but no closing quote at its end"));
        }
        // Trailing empty fields are allowed: some programs end lines with a separator.
        if let Some(surplus) = fields[..count].iter().skip(self.width).find(|field| !field.is_empty()) {
            let why = "is beyond the last column of the first line; two lines may have been joined";
            return Err(Fault::new("", surplus, why));
        }
        let text = |number: usize, name| match fields[..count].get(number) {
            Some(field) if !field.is_empty() => Ok(*field),
            _ => Err(Fault::missing(name)),
        };
        let (word, op) = match values[OP] {
            Some(Value::Column { number, .. }) => {
                let word = text(number, NAMES[OP])?;
                (word, Op::with_flags(word))
            }
            Some(Value::Constant(op)) => (&b""[..], Op::ALL.get(op as usize).map(|op| (*op, 0))),
            None => (&b""[..], None),
        };
        let Some((op, flags)) = op else { return Ok(Entry::unknown_op(NAMES[OP], word)) };
        let number = |at: usize| match values[at] {
            Some(Value::Constant(value)) => Ok(value),
            Some(Value::Column { number: column, unit }) => {
                let field = text(column, NAMES[at])?;
                let fault = |why| Fault::new(NAMES[at], field, why);
                let text_key = at == OFFSET && self.target == Target::Drive && unit == 1;
                let hint = |why| if text_key && why == NOT_WHOLE { NOT_AN_ADDRESS } else { why };
                integer(field)
                    .map_err(|why| fault(hint(why)))?
                    .checked_mul(unit)
                    .ok_or(fault("exceeds 64 bits when converted from this unit"))
            }
            None => Err(Fault::missing(NAMES[at])),
        };
        let time_ns = match values[TIME] {
            Some(Value::Column { number, unit }) => {
                let field = text(number, NAMES[TIME])?;
                self.calendar.parse(field, unit).map_err(Fault::of(NAMES[TIME], field))?
            }
            _ => 0,
        };
        let offset = || match values[OFFSET] {
            Some(Value::Column { number, unit: 1 }) if self.target != Target::Drive => {
                Ok(key(text(number, NAMES[OFFSET])?))
            }
            _ => number(OFFSET),
        };
        let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (offset()?, number(SIZE)?) };
        if let Some(Value::Column { number: column, .. }) = values[REPEAT] {
            let repeats = number(REPEAT)?;
            if !(1..=REPEATS_MAX).contains(&repeats) || repeats.saturating_mul(bytes) > REQUEST_MAX {
                let why = "must be 1 to 1,048,576, and the repeated requests at most 256 TiB in total";
                return Err(Fault::new(NAMES[REPEAT], text(column, NAMES[REPEAT])?, why));
            }
            self.repeats = repeats as u32;
        }
        let name = |at: usize| match values[at] {
            Some(Value::Column { number, .. }) => text(number, NAMES[at]).map(Some),
            _ => Ok(None),
        };
        let stream = name(STREAM).ok().flatten().map_or(Stream::None, Stream::Named);
        tables.numbered_trims += u64::from(word == b"2" && self.target != Target::Drive);
        let device = name(DEVICE)?.map_or(Device::File, |name| Device::Id(tables.devices.id(name)));
        Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags, stream }))
    }
}

/// Returns the number that identifies an object, given its key. A key that is a decimal number without leading zeros
/// identifies itself. Any other key is identified by the upper 63 bits of its XXH3 hash; with 63 bits, adding a size
/// cannot overflow.
fn key(text: &[u8]) -> u64 {
    let canonical = text == b"0" || text.first().is_some_and(|first| (b'1'..=b'9').contains(first));
    whole(text).ok().filter(|_| canonical).unwrap_or_else(|| XxHash3_64::oneshot(text) >> 1)
}

impl ColumnText {
    /// True if the first line contains headings even though the layout uses column numbers: the line has no valid
    /// operation, and none of its number fields begins with a digit.
    fn is_heading(&self, fields: &[&[u8]; MOST]) -> bool {
        let field = |at: usize| match self.values[at] {
            Some(Value::Column { number, .. }) => fields.get(number),
            _ => None,
        };
        let is_number = |field: &&[u8]| field.first().is_some_and(u8::is_ascii_digit);
        // An object key need not begin with a digit.
        let keyed = self.target != Target::Drive;
        let numbers = [TIME, SIZE].into_iter().chain((!keyed).then_some(OFFSET));
        let is_op = field(OP).map(|op| Op::parse(op).is_some());
        let is_data: Vec<bool> = numbers.map(|at| field(at).map(is_number)).chain([is_op]).flatten().collect();
        !is_data.is_empty() && !is_data.contains(&true)
    }
}

/// Splits a line into fields, without surrounding blanks and quotes. Returns the number of fields, and the number of
/// the first field whose opening quote is not closed. Separators inside quotes do not split fields; two quotes inside a
/// quoted field stand for one quote.
fn split<'a>(line: &'a [u8], separator: u8, fields: &mut [&'a [u8]; MOST]) -> (usize, Option<usize>) {
    let ends = |byte: &u8| *byte == separator || (separator == b' ' && *byte == b'\t');
    let mut count = 0;
    let mut unclosed = None;
    let mut rest = Some(line);
    while let Some(line) = rest {
        let Some(slot) = fields.get_mut(count) else { break };
        let start = if separator == b' ' { line.trim_ascii_start() } else { line };
        let quoted = start.trim_ascii_start().strip_prefix(b"\"");
        let closed = quoted.and_then(|quoted| {
            let close = closing(quoted)?;
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
        if quoted.is_some() && closed.is_none() {
            unclosed = unclosed.or(Some(count));
        }
        *slot = field;
        count += 1;
    }
    (count, unclosed)
}

/// Returns the position of the quote that closes a quoted field.
fn closing(quoted: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr(b'"', &quoted[at..])?;
        if quoted.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{read_with, request};
    use crate::{Columns, Op, ReadOptions, Target};

    fn options(columns: &str) -> ReadOptions {
        let columns = Some(Columns::parse(columns).unwrap());
        ReadOptions { columns, ..ReadOptions::default() }
    }

    #[test]
    fn columns_are_located_by_number_or_heading_with_any_unit_and_separator() {
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

    /// A missing heading remains an error even if bad lines are skipped.
    #[test]
    fn a_missing_heading_is_reported_with_the_existing_ones() {
        for skip_bad in [false, true] {
            let options = ReadOptions { skip_bad, ..options("op=o,offset=p,size=s") };
            let error = read_with(b"\n\"o\", p ,bytes\nR,0,1\n", &options).unwrap_err();
            assert_eq!(
                error.to_string(),
                "memory:2: columns size=s: no heading \"s\"; the headings are \"o, p, bytes\": use one of them, or \
                 a column number from 0"
            );
        }
    }

    #[test]
    fn errors_name_column_and_line() {
        let fails = |columns, text: &str| read_with(text.as_bytes(), &options(columns)).unwrap_err().to_string();
        let plain = "time=0,op=1,offset=2,size=3";
        assert!(fails(plain, "0,R,1,512\n1,R,x,512\n").contains("memory:2: field \"offset\": \"x\" is not a whole"));
        assert!(fails(plain, "0,R,1,512\n1,R\n").contains("memory:2: field \"offset\" is missing"));
        assert!(fails(plain, "0.1,R,x,512\n1,R,1,512\n").contains("memory:1: field \"offset\": \"x\" is not a whole"));
        for (columns, why) in [
            ("", "\"\" is not NAME=COLUMN"),
            ("op=0,offset=1", "size is missing; for a constant, use size=4KiB"),
            ("offset=1,size=2", "op is missing; for a constant, use op='read'"),
            ("op=0,size=2", "offset is missing; example"),
            ("op='X',offset=1,size=2", "\"op='X'\" is not a valid constant for op: use an operation such as 'read'"),
            ("op=0,offset=1,size='4.5'", "\"size='4.5'\" is not a valid constant for size: use a size such as '4KiB'"),
            (
                "op=0,offset='7',size=2",
                "\"offset='7'\" is not a valid constant for offset: only op and size can be constants",
            ),
            ("op=0,offset=1,size=4096", "column 4096 exceeds the maximum of 63; for a constant, use size=4096B"),
            ("op=0,offset=1,size=2,size=3", "size occurs twice"),
            ("op=0,offset=1,length=2", "\"length\" is not one of op, offset, size, time, stream, device, repeat"),
            (
                "op=0,offset=1:us,size=2",
                "\"offset=1:us\" has an invalid unit for offset: use bytes, sectors or a size such as 4KiB; example",
            ),
            (
                "time=0:h,op=1,offset=2,size=3",
                "\"time=0:h\" has an invalid unit for time: use ns, us, ms or s; example",
            ),
            ("op=0:s,offset=1,size=2", "\"op=0:s\" has an invalid unit for op: omit the unit; example"),
            ("op=0,offset=1:1.3KiB,size=2", "\"offset=1:1.3KiB\" has an invalid unit for offset"),
            ("op=0,offset=99,size=2", "column 99 exceeds the maximum of 63"),
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

    /// 12 sectors = 6,144 bytes.
    #[test]
    fn operation_and_size_may_be_constants() {
        let expected = [request(0, Op::Read, 71, 5000), request(1_000_000_000, Op::Read, 72, 20)];
        for columns in
            ["time=0:s,offset=1,size=2,op=R", "time=0:s,offset=1,size=2,op='read'", "time=0:s,offset=1,size=2,op=\"0\""]
        {
            assert_eq!(requests(columns, "1 71 5000\n2 72 20\n"), expected, "{columns}");
        }
        for size in ["4KiB", "'4KiB'", "'4096'", "4096B", "'8':sectors"] {
            let actual = requests(&format!("op=W,offset=0:4KiB,size={size}"), "3\n5\n");
            assert_eq!(actual, [request(0, Op::Write, 12288, 4096), request(0, Op::Write, 20480, 4096)], "{size}");
        }
        // If an unquoted value in the layout is both a heading and a valid constant, it means the heading.
        assert_eq!(requests("op=w,offset=lba,size=4KiB", "lba,w\n4096,R\n"), [request(0, Op::Read, 4096, 4096)]);
        assert_eq!(requests("op='w',offset=lba,size=4KiB", "lba,w\n4096,R\n"), [request(0, Op::Write, 4096, 4096)]);
        assert!(fails("op=X,offset=0,size=4KiB", "3\n").contains("no heading \"X\""));
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats_or_in_hexadecimal() {
        let text = "time,op,offset,size\n0.0,R,0.0,4096.0\n1000.5,W,0x2000,1e3\n";
        let actual = requests("time=time:us,op=op,offset=offset,size=size", text);
        assert_eq!(actual, [request(0, Op::Read, 0, 4096), request(1_000_500, Op::Write, 8192, 1000)]);
        let message = fails("op=0,offset=1,size=2", "R,0,4096\nR,0,4096.5\n");
        assert!(message.contains("memory:2: field \"size\": \"4096.5\" is not a whole number"), "{message}");
    }

    #[test]
    fn a_line_with_more_fields_than_the_first_is_an_error() {
        let columns = "time=t,op=op,offset=o,size=s";
        let text = "t,op,o,s\n0,W,0,4096\n1,R,0,4096\n2,R,0,40963,R,0,4096\n";
        let why = "memory:4: \"R\" is beyond the last column of the first line; two lines may have been joined";
        assert!(fails(columns, text).starts_with(why));
        assert!(fails("time=0,op=1,offset=2,size=3", &text[9..]).starts_with(&why.replace('4', "3")));
        assert!(
            fails("time=0,op=1,offset=2,size=3", &text[9..].replace(',', "  ")).starts_with(&why.replace('4', "3"))
        );
        let options = ReadOptions { skip_bad: true, ..options(columns) };
        let (kept, report) = read_with(text.as_bytes(), &options).unwrap();
        assert_eq!((kept.len(), report.counts.bad_lines), (2, 1));
        // A separator at the end of a line adds no field.
        assert_eq!(requests(columns, "t,op,o,s\n0,W,0,4096,\n").len(), 1);
    }

    #[test]
    fn comments_do_not_define_separator_or_headings() {
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

    /// In the second line, the quote that is not closed makes the line one field too long.
    #[test]
    fn separators_in_quotes_do_not_split() {
        let text = "\"Name, Path\",op,\"offset\",size\n\"a, b\",R,\"4096\" ,512\n\"c,d,R,8192,512\n";
        let options = ReadOptions { skip_bad: true, ..options("stream=0,op=op,offset=offset,size=size") };
        let (quoted, report) = read_with(text.as_bytes(), &options).unwrap();
        assert_eq!((quoted.len(), quoted[0].offset, report.counts.bad_lines), (1, 4096, 1));
        assert_eq!(requests("op=0,offset=2,size=3", "R \"a b\" \"8192\" 512\n")[0].offset, 8192);
        let text = "\"a \"\"b, c\"\"\",R,4096,512\n\"\"\"d\"\"\",R,4096,512\n\"\",R,4096,512\n";
        assert_eq!(requests("stream=0,op=1,offset=2,size=3", text).len(), 3);
    }

    #[test]
    fn an_unclosed_quote_is_an_error() {
        let columns = "time=0,op=1,offset=2,size=3";
        for (line, field) in [
            ("1,\"R,0,4096", "field \"op\": \"\\\"R\""),
            ("1,\"R\"x,0,4096", "field \"op\": \"\\\"R\\\"x\""),
            ("1,R,0,4096,\"c", "\"\\\"c\""),
        ] {
            let message = fails(columns, &format!("0,R,0,4096,a\n{line}\n"));
            let expected = format!("memory:2: {field} has an opening quote but no closing quote at its end; fix it");
            assert!(message.starts_with(&expected), "{message}");
        }
    }

    /// Six requests for the objects A, B, A, D, D and B. The fourth is a trim, written as operation 2.
    #[test]
    fn trims_of_objects_by_number_are_noted() {
        let text = "0,1,A,8\n1,1,B,8\n2,1,A,8\n3,2,D,8\n4,1,D,8\n5,0,B,8\n";
        let columns = "time=0,op=1,offset=2,size=3";
        for (columns, target, text, noted) in [
            (columns, Target::CountedObjects, text.to_string(), true),
            (columns, Target::SizedObjects, text.to_string(), true),
            (columns, Target::CountedObjects, text.replace(",2,D", ",delete,D"), false),
            ("time=0,op='R',offset=2,size=3", Target::CountedObjects, text.to_string(), false),
            (columns, Target::Drive, text.replace(['A', 'B', 'D'], "7"), false),
        ] {
            let (requests, report) = objects(columns, target, &text);
            let note = "operation code 2 was read as a trim (1 request); if it has another meaning, use op='R' in \
                        --columns";
            assert_eq!((requests.len(), report.notes), (6, if noted { vec![note.into()] } else { vec![] }), "{text}");
        }
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
            ("2026-01-02", "2026-01-03T00:00:01", 86_401_000_000_000),
        ] {
            let actual = requests(columns, &format!("{first},W,0,4096\n{second},R,0,4096\n"));
            assert_eq!(actual.iter().map(|request| request.time_ns).collect::<Vec<_>>(), [0, apart_ns], "{first}");
        }
        for (first, second, kind) in [
            ("17:58:57", "2026-01-02T17:58:58", "clock time"),
            ("2026-01-02T17:58:58", "17:58:59", "date"),
            ("1000", "17:58:59", "number"),
            ("2026-01-02", "5", "date"),
        ] {
            let message = fails(columns, &format!("{first},W,0,4096\n{second},W,0,4096\n"));
            let expected =
                format!("memory:2: field \"time\": \"{second}\" is not a {kind}, but the earlier times are; fix it");
            assert!(message.starts_with(&expected), "{message}");
        }
        let message = fails(columns, "17:58:57,W,0,4096\n17:58:99,W,0,4096\n");
        assert!(message.contains("memory:2: field \"time\": \"17:58:99\" is not a number, a clock time"), "{message}");
    }

    /// Expected key: `xxhash.xxh3_64_intdigest(b"A") >> 1` of the Python package xxhash.
    #[test]
    fn object_keys_may_be_text() {
        let text = "0,R,A,10\n1,R,7,10\n2,R,A,10\n3,R,007,10\n4,R,18446744073709551616,10\n";
        let (requests, _) = objects("time=0,op=1,offset=2,size=3", Target::CountedObjects, text);
        let keys: Vec<u64> = requests.iter().map(|request| request.offset).collect();
        assert_eq!((keys[0], keys[1], keys[2]), (7_523_909_072_658_799_170, 7, 7_523_909_072_658_799_170));
        assert!(keys[3] != 7 && keys.iter().all(|key| key >> 63 == 0), "{keys:?}");
        // If a file contains only keys, its first line is read as a request, not as headings.
        let (requests, _) = objects("op=R,offset=0,size=1B", Target::SizedObjects, "B\nA\n");
        assert_eq!((requests.len(), requests[1].offset), (2, 7_523_909_072_658_799_170));
        let message = fails("time=0,op=1,offset=2,size=3", text);
        assert!(message.contains("\"A\" is not a whole number; for text keys"), "{message}");
    }

    #[test]
    fn objects_need_no_size_where_sizes_do_not_matter() {
        let text = "R,7,0\nW,8,0\nD,7,0\nR,8,10\n";
        for (target, kept, dropped) in
            [(Target::Drive, 1, 3), (Target::SizedObjects, 2, 2), (Target::CountedObjects, 4, 0)]
        {
            let (requests, report) = objects("op=0,offset=1,size=2", target, text);
            assert_eq!((requests.len(), report.counts.zero_length), (kept, dropped), "{target:?}");
        }
    }

    /// The first line stands for three requests, because its `repeat` is 3, and the second line for one. Zero and too
    /// large values of `repeat` are errors.
    #[test]
    fn a_line_may_repeat_its_request() {
        let text = "key,op,size,op_count\n5,GET,0,3\n6,SET,82,1\n";
        let columns = "op=op,offset=key,size=size,repeat=op_count";
        let (requests, report) = objects(columns, Target::CountedObjects, text);
        assert_eq!(requests.iter().map(|request| request.offset).collect::<Vec<_>>(), [5, 5, 5, 6]);
        assert_eq!((report.counts.records, report.counts.requests), (3, 4));
        for count in ["0", "1048577"] {
            assert!(fails(columns, &format!("{text}7,GET,1,{count}\n")).contains("\"repeat\": \""), "{count}");
        }
    }

    /// 64 TiB = 32,768 pieces of 2 GiB.
    #[test]
    fn a_trim_may_be_as_long_as_the_largest_drive() {
        assert_eq!(requests("op=0,offset=1,size=2", "D,0,70368744177664\n").len(), 32_768);
        assert!(
            fails("op=0,offset=1,size=2", "D,0,281474976710657\n")
                .contains("field \"size\" exceeds the maximum request size of 256 TiB")
        );
    }
}
