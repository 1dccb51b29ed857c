//! Decoding loops over lines and over binary records, used by every format.
//!
//! Both loops are generic over the format, so there is no dynamic dispatch per line; the reader calls a decoder once
//! per batch.

use memchr::{memchr, memchr_iter};
use ssdlab_core::units::counted;

use crate::error::shown;
use crate::fault::{Fault, NOT_AN_OP};
use crate::fields::{NOT_WHOLE, integer};
use crate::input::Input;
use crate::intake::{Entry, Intake, Skip, Tables};
use crate::{Op, ReadOptions, Request, TraceError};

/// Number of requests decoded per call; few enough to stay in the CPU cache.
pub(crate) const BATCH: usize = 4096;
/// Maximum length of a line in bytes.
const LINE_MAX: usize = 64 << 10;
/// Number of lines examined to recognize a format.
const SNIFF_LINES: usize = 32;

/// Decoder of one file of a trace.
pub trait Decoder: Send {
    /// Appends requests with absolute times until `out` holds `most` requests; returns false at the end of the file.
    /// All requests of a line or record are appended together, so `out` may exceed `most`.
    fn decode(
        &mut self,
        input: &mut Input,
        intake: &mut Intake,
        out: &mut Vec<Request>,
        most: usize,
    ) -> Result<bool, TraceError>;

    /// Returns the position in the file of the last decoded line or record, worded for messages.
    fn place(&self) -> String;
}

/// A text format with one entry per line. If the type implements `Default`, its default value is a parser at the start
/// of a file.
pub trait LineFormat: Send + Sized + 'static {
    /// Text at the start of the first line that identifies the format; empty if the first line does not identify it.
    const HEADER: &'static [u8] = b"";

    /// Text at the start of every header line; empty if [`Self::line`] itself recognizes the headers.
    const HEADER_START: &'static [u8] = Self::HEADER;

    /// Column layout (`--columns`) that reads the same lines and accepts numbers in any notation; empty if no such
    /// layout exists.
    const LAYOUT: &'static str = "";

    /// Name of the field that holds the object's key, in formats of object caches. Text keys can be read with
    /// [`Self::LAYOUT`].
    const KEY: &'static str = "";

    /// Last character of every complete line; [`Self::line`] rejects lines without it. A last line without a line end
    /// is known to be complete if it ends with this character.
    const CLOSING: Option<u8> = None;

    /// True if lines that begin with `#` are comments.
    const COMMENTS: bool = true;

    /// Returns false if a file that begins with these bytes cannot be in this format.
    fn may_begin(_head: &[u8]) -> bool {
        true
    }

    /// Returns how well the first bytes of a file fit the format, in percent.
    fn sniff(head: &[u8]) -> u32
    where
        Self: Default,
    {
        sniff_lines(Self::new(&ReadOptions::default()), head)
    }

    /// Creates a parser for the start of a file.
    fn new(_options: &ReadOptions) -> Self
    where
        Self: Default,
    {
        Self::default()
    }

    /// Examines the first line of a file before parsing. Returns false if the line is a comment, so that the next line
    /// must be examined instead. An error here, such as a missing column, aborts reading even when bad lines are
    /// skipped.
    fn begin(&mut self, _first: &[u8]) -> Result<bool, String> {
        Ok(true)
    }

    /// Returns the field separator if a truncated line may still be valid in this format; otherwise `None`.
    fn separator(&self) -> Option<u8> {
        None
    }

    /// Returns the number of fields of a line; 0 if [`Self::separator`] returns `None`.
    fn fields(&self, line: &[u8]) -> usize {
        self.separator().map_or(0, |separator| 1 + memchr_iter(separator, line).count())
    }

    /// Returns the repeat count of the request on the line parsed last.
    fn repeats(&self) -> u32 {
        1
    }

    /// Returns [`Self::LAYOUT`] if that column layout accepts the text that is faulty in this format.
    fn layout_for(fault: &Fault<'_>) -> Option<&'static str> {
        let text = fault.text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(fault.text);
        let is_valid = match fault.why {
            NOT_WHOLE => fault.field == Self::KEY || integer(text).is_ok(),
            NOT_AN_OP => Op::parse(text).is_some(),
            _ => false,
        };
        (is_valid && !Self::LAYOUT.is_empty()).then_some(Self::LAYOUT)
    }

    /// Parses a line without its line end; the line is not blank, a comment or a header.
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>>;

    /// Parses any nonblank line, including comments and headers.
    #[inline]
    fn entry<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        let is_header = !Self::HEADER_START.is_empty() && line.starts_with(Self::HEADER_START);
        if is_header || Self::COMMENTS && line.starts_with(b"#") {
            return Ok(Entry::Skip(Skip::Header));
        }
        self.line(line, tables)
    }
}

/// A binary format whose records have a fixed head and may have a tail of variable length. If the type implements
/// `Default`, its default value is a parser at the start of a file.
pub trait RecordFormat: Send + Sized + 'static {
    /// Length of a record's head in bytes.
    const HEAD: usize;

    /// Returns how well the first bytes of a file fit the format, in percent; 0 if the format is never detected.
    fn sniff(_head: &[u8]) -> u32 {
        0
    }

    /// Creates a parser for the start of a file.
    fn new(_options: &ReadOptions) -> Self
    where
        Self: Default,
    {
        Self::default()
    }

    /// Examines the start of the file. An error here aborts reading, because every record would fail.
    fn begin(&self, _head: &[u8]) -> Result<(), String> {
        Ok(())
    }

    /// Parses the record at the start of `bytes`, which contain at least its head; also returns the length of the tail
    /// in bytes. If `bytes` do not contain the whole tail, the caller reads more bytes and parses the record again.
    fn record<'a>(&mut self, bytes: &'a [u8], tables: &mut Tables) -> Result<(Entry<'a>, usize), Fault<'a>>;

    /// Returns the number of bytes to skip after a bad record, at least 1.
    fn resync(&self, bytes: &[u8]) -> usize {
        Self::HEAD.min(bytes.len())
    }
}

/// Returns the bytes of a little-endian field at offset `at` of a record.
#[inline]
fn bytes_at<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&record[at..at + N]);
    bytes
}

/// Returns the little-endian field at offset `at` of a record.
#[inline]
pub(crate) fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes_at(record, at))
}

/// Returns the little-endian field at offset `at` of a record.
#[inline]
pub(crate) fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes_at(record, at))
}

/// Returns the little-endian field at offset `at` of a record.
#[inline]
pub(crate) fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(record, at))
}

/// State of the decoding loops over lines and over binary records, including the position in the file.
#[derive(Default)]
struct DecodeState {
    /// Device id of the whole file, in formats without device names.
    device: Option<u32>,
    /// Number of lines or records read so far.
    count: u64,
    skip_bad: bool,
    /// True if the compressed stream ended early or is damaged.
    truncated: bool,
}

impl DecodeState {
    /// Reads more bytes into the input window. Returns false at the end of the file. When bad data is skipped, a broken
    /// compressed stream also counts as the end of the file.
    fn refill(&mut self, input: &mut Input, intake: &mut Intake) -> Result<bool, TraceError> {
        match input.refill() {
            Err(error @ (TraceError::Truncated { .. } | TraceError::Foreign { .. })) => {
                self.truncated = matches!(error, TraceError::Truncated { .. });
                self.handle_bad(error, intake)?;
                Ok(false)
            }
            other => other,
        }
    }

    /// Counts a bad line or record, and keeps the error message of the first one. Fails with `error` unless bad data is
    /// skipped.
    fn handle_bad(&self, error: TraceError, intake: &mut Intake) -> Result<(), TraceError> {
        if !self.skip_bad {
            return Err(error);
        }
        intake.report.counts.bad_lines += 1;
        intake.report.first_bad.get_or_insert_with(|| error.fault());
        Ok(())
    }

    /// Counts a line or record, whether or not it is malformed. `place` formats its position for a message.
    /// `layout_for` returns a column layout (`--columns`) that can read the malformed line, if any.
    #[inline]
    fn count_entry(
        &mut self,
        result: Result<(), Fault<'_>>,
        input: &Input,
        intake: &mut Intake,
        place: impl FnOnce(u64) -> String,
        layout_for: impl FnOnce(&Fault<'_>) -> Option<&'static str>,
    ) -> Result<(), TraceError> {
        if let Err(fault) = result {
            let (path, place) = (shown(input.path()), place(self.count + 1));
            let remedy = match layout_for(&fault) {
                Some(layout) => format!("read it with --columns {layout}"),
                None => "fix it".into(),
            };
            self.handle_bad(TraceError::Malformed { path, place, why: fault.to_string(), remedy }, intake)?;
        }
        self.count += 1;
        intake.report.counts.records += 1;
        Ok(())
    }

    #[inline]
    fn take<'a>(
        &mut self,
        entry: Result<Entry<'a>, Fault<'a>>,
        input: &Input,
        intake: &mut Intake,
        out: &mut Vec<Request>,
    ) -> Result<(), Fault<'a>> {
        let file = |names: &mut crate::names::Names| *self.device.get_or_insert_with(|| names.id(&input.device));
        intake.take(entry?, file, out)
    }
}

pub(crate) struct Lines<F> {
    format: F,
    state: DecodeState,
    /// True once the format has examined its first line.
    begun: bool,
    /// Number of fields of the last complete line.
    fields: usize,
    /// True while an overlong line is being skipped.
    discarding: bool,
}

/// Returns a decoder of a file in the given text format, at the file's start.
pub fn decode_lines<F: LineFormat>(format: F, options: &ReadOptions) -> Box<dyn Decoder> {
    let state = DecodeState { skip_bad: options.skip_bad, ..DecodeState::default() };
    Box::new(Lines { format, state, begun: false, fields: 0, discarding: false })
}

impl<F: LineFormat> Lines<F> {
    #[inline]
    fn line(
        &mut self,
        mut line: &[u8],
        input: &Input,
        intake: &mut Intake,
        out: &mut Vec<Request>,
    ) -> Result<(), TraceError> {
        if self.discarding {
            self.discarding = false;
            return Ok(());
        }
        if let [rest @ .., b'\r'] = line {
            line = rest;
        }
        if self.state.count == 0 {
            line = without_mark(line);
        }
        if line.first().is_none_or(u8::is_ascii_whitespace) && line.trim_ascii().is_empty() {
            self.state.count += 1;
            return Ok(());
        }
        let result = if line.len() > LINE_MAX {
            Err(Fault::new("", &line[..LINE_MAX], "starts a line that is longer than the maximum of 64 KiB"))
        } else {
            if !self.begun {
                let place =
                    |why| TraceError::Invalid(format!("{}:{}: {why}", shown(input.path()), self.state.count + 1));
                self.begun = self.format.begin(line).map_err(place)?;
            }
            let entry = self.format.entry(line, &mut intake.tables);
            let repeats = if entry.is_ok() { self.format.repeats() } else { 1 };
            (0..repeats).try_for_each(|_| self.state.take(entry, input, intake, out))
        };
        self.state.count_entry(result, input, intake, |number| number.to_string(), F::layout_for)
    }

    /// Records the number of fields of the last complete line that is neither blank nor a comment.
    fn note_fields(&mut self, lines: &[u8]) {
        let mut lines = lines.rsplit(|&byte| byte == b'\n');
        if let Some(last) = lines.find(|line| !is_no_entry(line)) {
            self.fields = self.format.fields(last);
        }
    }

    /// Handles a last line without a line end. The line counts unless it has fewer fields than the line before. A note
    /// reports the line, because its last field may have been cut short.
    fn last(&mut self, input: &Input, intake: &mut Intake, out: &mut Vec<Request>) -> Result<(), TraceError> {
        let (line, path, number) = (input.bytes(), shown(input.path()), self.state.count + 1);
        if self.discarding || is_no_entry(line) {
            return self.line(line, input, intake, out);
        }
        let (fields, before) = (self.format.fields(line), self.fields);
        if fields < before {
            let why = format!(
                "the last line (line {number}) is truncated: it has no newline, and {} instead of {before}",
                counted(fields as u64, "field")
            );
            return self.state.handle_bad(TraceError::Truncated { path, why }, intake);
        }
        let headers_and_faults = |intake: &Intake| intake.report.counts.headers + intake.report.counts.bad_lines;
        let so_far = headers_and_faults(intake);
        self.line(line, input, intake, out)?;
        let is_closed = F::CLOSING.is_some_and(|end| line.trim_ascii_end().ends_with(&[end]));
        if !is_closed && headers_and_faults(intake) == so_far {
            let note = format!("{path}:{number}: the last line has no newline and may be truncated");
            intake.report.notes.push(note);
        }
        Ok(())
    }
}

impl<F: LineFormat> Decoder for Lines<F> {
    fn decode(
        &mut self,
        input: &mut Input,
        intake: &mut Intake,
        out: &mut Vec<Request>,
        most: usize,
    ) -> Result<bool, TraceError> {
        loop {
            let bytes = input.bytes();
            let mut done = 0;
            let mut result = Ok(());
            while out.len() < most && result.is_ok() {
                let Some(length) = memchr(b'\n', &bytes[done..]) else { break };
                result = self.line(&bytes[done..done + length], input, intake, out);
                // A line whose error aborts reading stays in the input window, so that the next call reports the same
                // error.
                done += if result.is_ok() { length + 1 } else { 0 };
            }
            let left = bytes.len() - done;
            self.note_fields(&bytes[..done]);
            input.advance(done);
            result?;
            if out.len() >= most || (intake.measuring() && done > 0) {
                return Ok(true);
            }
            if left > LINE_MAX {
                // Reports the overlong line, quoting its beginning, then skips the rest of the line.
                self.line(input.bytes(), input, intake, out)?;
                self.discarding = true;
                input.advance(left);
            }
            if !self.state.refill(input, intake)? {
                // If the compressed stream is broken, the incomplete line at its end is dropped.
                if !self.state.truncated && !input.bytes().is_empty() {
                    self.last(input, intake, out)?;
                }
                input.advance(input.bytes().len());
                return Ok(false);
            }
        }
    }

    fn place(&self) -> String {
        self.state.count.to_string()
    }
}

/// True if a line is blank or a comment.
fn is_no_entry(line: &[u8]) -> bool {
    line.starts_with(b"#") || line.trim_ascii().is_empty()
}

/// Removes a UTF-8 byte order mark from the start of a text.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)
}

/// Returns the first lines of a file that are neither blank nor overlong, each with its line number from 1.
fn first_lines(head: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = without_mark(head).split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty() && line.len() <= LINE_MAX).take(SNIFF_LINES)
}

/// Returns how well the first lines of a file fit a format, in percent; 0 unless most of the lines fit or the header
/// matches.
pub fn sniff_lines<F: LineFormat>(mut format: F, head: &[u8]) -> u32 {
    if !F::may_begin(head) {
        return 0;
    }
    let mut tables = Tables::new();
    let (mut good, mut tried, mut headers) = (0, 0, 0);
    let mut lines = first_lines(head).peekable();
    if !F::HEADER.is_empty() && lines.peek().is_some_and(|(_, line)| line.starts_with(F::HEADER)) {
        return 100;
    }
    for (_, line) in lines {
        match format.entry(line, &mut tables) {
            Ok(Entry::Skip(Skip::Header)) => headers += 1,
            Ok(Entry::Io(_) | Entry::Skip(Skip::OtherAction | Skip::NonIo | Skip::ShortWait)) => {
                (good, tried) = (good + 1, tried + 1)
            }
            Ok(Entry::UnknownOp(_)) | Err(_) => tried += 1,
        }
    }
    match tried {
        0 => u32::from(headers > 0),
        _ if good * 2 > tried => 100 * good / tried,
        _ => 0,
    }
}

/// A format that most lines of a file fit if one faulty field per line is ignored.
#[derive(Debug)]
pub struct NearMiss {
    /// Percentage of lines that fit the format, either as they are or with one field replaced.
    pub share: u32,
    /// Line number of the first faulty line, from 1.
    pub line: usize,
    /// Description of the fault.
    pub why: String,
    /// Column layout (`--columns`) with which the faulty line can be read.
    pub layout: Option<&'static str>,
}

impl<F: LineFormat + Default> Lines<F> {
    /// Finds the first fault of a file. Returns `None` unless most lines fit the format, either as they are or with one
    /// field replaced.
    pub fn near(head: &[u8]) -> Option<NearMiss> {
        if !F::may_begin(head) {
            return None;
        }
        let (mut format, mut tables) = (F::new(&ReadOptions::default()), Tables::new());
        let (mut fit, mut tried, mut first) = (0, 0, None);
        let is_request = |result: &Result<Entry<'_>, Fault<'_>>| matches!(result, Ok(Entry::Io(_)));
        for (number, line) in first_lines(head) {
            let result = format.entry(line, &mut tables);
            if matches!(result, Ok(Entry::Skip(Skip::Header))) {
                continue;
            }
            tried += 1;
            let (Err(fault) | Ok(Entry::UnknownOp(fault))) = result else {
                fit += u32::from(is_request(&result));
                continue;
            };
            let mended = fault.mended(line);
            // If two records are joined in one line, the last field of the first record and the first field of the
            // second run together, and surplus fields follow.
            let fits = match format.entry(&mended, &mut tables) {
                Err(second) => second.is_surplus() && is_request(&format.entry(&second.mended(&mended), &mut tables)),
                retried => result.is_ok() || fault.is_surplus() || is_request(&retried),
            };
            if fits {
                fit += 1;
                first.get_or_insert((number, fault));
            }
        }
        let (line, fault) = first?;
        let (why, layout) = (fault.to_string(), F::layout_for(&fault));
        (fit * 2 > tried).then(|| NearMiss { share: 100 * fit / tried, line, why, layout })
    }
}

pub(crate) struct Records<F> {
    format: F,
    state: DecodeState,
    /// File offset of the last record.
    at: u64,
}

fn record_place(number: u64, offset: u64) -> String {
    format!("record {number} at byte {offset}")
}

/// Returns a decoder of a file in the given binary format, at the file's start.
pub fn decode_records<F: RecordFormat>(format: F, options: &ReadOptions) -> Box<dyn Decoder> {
    let state = DecodeState { skip_bad: options.skip_bad, ..DecodeState::default() };
    Box::new(Records { format, state, at: 0 })
}

impl<F: RecordFormat> Records<F> {
    /// Decodes the record at the start of `bytes`, at `offset` in the file, and returns its length; `None` if `bytes`
    /// do not hold all of it.
    #[inline]
    fn record(
        &mut self,
        bytes: &[u8],
        offset: u64,
        input: &Input,
        intake: &mut Intake,
        out: &mut Vec<Request>,
    ) -> Result<Option<usize>, TraceError> {
        if bytes.len() < F::HEAD {
            return Ok(None);
        }
        let mut length = F::HEAD;
        let result = match self.format.record(bytes, &mut intake.tables) {
            Ok((entry, tail)) => {
                length += tail;
                if length > bytes.len() {
                    return Ok(None);
                }
                self.state.take(Ok(entry), input, intake, out)
            }
            Err(fault) => {
                length = self.format.resync(bytes);
                Err(fault)
            }
        };
        self.state.count_entry(result, input, intake, |number| record_place(number, offset), |_| None)?;
        self.at = offset;
        Ok(Some(length))
    }
}

impl<F: RecordFormat> Decoder for Records<F> {
    fn decode(
        &mut self,
        input: &mut Input,
        intake: &mut Intake,
        out: &mut Vec<Request>,
        most: usize,
    ) -> Result<bool, TraceError> {
        loop {
            let bytes = input.bytes();
            let position = input.position();
            if position == 0 {
                let format = |why| TraceError::Invalid(format!("{}: {why}", shown(input.path())));
                self.format.begin(bytes).map_err(format)?;
            }
            let mut done = 0;
            let mut result = Ok(Some(0));
            while out.len() < most {
                result = self.record(&bytes[done..], position + done as u64, input, intake, out);
                let Ok(Some(length)) = result else { break };
                done += length;
            }
            input.advance(done);
            result?;
            if out.len() >= most || (intake.measuring() && done > 0) {
                return Ok(true);
            }
            if !self.state.refill(input, intake)? {
                let left = input.bytes().len();
                if left > 0 && !self.state.truncated {
                    let path = shown(input.path());
                    let why = format!(
                        "the file ends inside record {} ({left} bytes left at byte {})",
                        self.state.count + 1,
                        input.position(),
                    );
                    self.state.handle_bad(TraceError::Truncated { path, why }, intake)?;
                }
                input.advance(left);
                return Ok(false);
            }
        }
    }

    fn place(&self) -> String {
        record_place(self.state.count, self.at)
    }
}
