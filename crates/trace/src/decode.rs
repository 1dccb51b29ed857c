//! From bytes to requests: the loops over lines and over binary records that every format plugs into.
//!
//! They are generic over the format, so a line costs no dynamic dispatch; the reader calls a decoder
//! once per batch.

use memchr::{memchr, memchr_iter};
use ssdlab_core::units::counted;

use crate::error::shown;
use crate::fault::Fault;
use crate::input::Input;
use crate::intake::{Entry, Intake, Skip, Tables};
use crate::{ReadOptions, Request, TraceError};

/// Requests decoded per call; they stay in cache until they are handed on.
pub(crate) const BATCH: usize = 4096;
/// Longest line accepted, in bytes.
const LINE_MAX: usize = 64 << 10;
/// Lines looked at to recognise a format.
const SNIFF_LINES: usize = 32;

/// Reads one file of one format.
pub(crate) trait Decoder: Send {
    /// Appends requests, with absolute times, to `out` until it holds `most`; `false` at the end of the file. What one
    /// line or record holds is appended whole.
    fn decode(
        &mut self,
        input: &mut Input,
        intake: &mut Intake,
        out: &mut Vec<Request>,
        most: usize,
    ) -> Result<bool, TraceError>;

    /// Where in the file the line or record stands that was decoded last.
    fn place(&self) -> String;
}

/// A text format of one entry a line.
pub(crate) trait LineFormat: Send + 'static {
    /// How the first line of a file begins where that tells the format, whatever follows; empty if it never does.
    const HEADER: &'static [u8] = b"";

    /// True if a line that begins with `#` is a comment.
    const COMMENTS: bool = true;

    /// Returns false if a file that begins like `head` has another format, whatever its lines look like.
    fn may_begin(_head: &[u8]) -> bool {
        true
    }

    /// A parser at the beginning of a file.
    fn new(options: &ReadOptions) -> Self;

    /// Looks at the first line, before it is parsed; returns false if it is a comment, so that the next line is the first.
    ///
    /// # Errors
    /// If the file lacks what was asked for. No line can be left out to mend that.
    fn begin(&mut self, _first: &[u8]) -> Result<bool, String> {
        Ok(true)
    }

    /// What separates the fields of a line, where one that breaks off may hold all that is asked for.
    fn separator(&self) -> Option<u8> {
        None
    }

    /// Counts the fields of a line; 0 without a separator.
    fn fields(&self, line: &[u8]) -> usize {
        self.separator().map_or(0, |separator| 1 + memchr_iter(separator, line).count())
    }

    /// Number of times that the request of the last line is made.
    fn repeats(&self) -> u32 {
        1
    }

    /// Parses a line, which is not blank and holds no line end.
    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>>;
}

/// A binary format of records with a fixed head and perhaps a tail of a length the head tells.
pub(crate) trait RecordFormat: Send + 'static {
    /// Bytes of a record's head.
    const HEAD: usize;

    /// A parser at the beginning of a file.
    fn new(options: &ReadOptions) -> Self;

    /// Looks at the beginning of a file; an error ends the reading, as no record could do.
    fn begin(&self, _head: &[u8]) -> Result<(), String> {
        Ok(())
    }

    /// Parses the record at the beginning of `bytes`, which hold its head at least; also tells the bytes of its tail.
    /// One whose tail does not lie in `bytes` wholly is parsed again once it does.
    fn record<'a>(&mut self, bytes: &'a [u8], tables: &mut Tables) -> Result<(Entry<'a>, usize), Fault<'a>>;

    /// After a bad record: how many of `bytes` to skip before trying again, at least 1.
    fn resync(&self, bytes: &[u8]) -> usize {
        Self::HEAD.min(bytes.len())
    }
}

/// What both loops know about the file they are in.
struct Place {
    /// Id of the file as a device, where the format names none.
    device: Option<u32>,
    /// Lines or records met.
    count: u64,
    skip_bad: bool,
    /// The compressed stream broke off, and that is accepted.
    cut: bool,
}

impl Place {
    fn new(skip_bad: bool) -> Self {
        Self { device: None, count: 0, skip_bad, cut: false }
    }

    /// Brings more into view; `false` at the end, which a broken stream is too where bad data is skipped.
    fn refill(&mut self, input: &mut Input, intake: &mut Intake) -> Result<bool, TraceError> {
        match input.refill() {
            Err(error @ (TraceError::Truncated { .. } | TraceError::Foreign { .. })) => {
                self.cut = matches!(error, TraceError::Truncated { .. });
                self.bad(error, intake)?;
                Ok(false)
            }
            other => other,
        }
    }

    /// Counts bad data, keeping the first message.
    ///
    /// # Errors
    /// The error itself, unless bad data is skipped.
    fn bad(&self, error: TraceError, intake: &mut Intake) -> Result<(), TraceError> {
        if !self.skip_bad {
            return Err(error);
        }
        intake.report.counts.bad_lines += 1;
        intake.report.first_bad.get_or_insert_with(|| error.fault());
        Ok(())
    }

    /// Counts a line or record that has been taken or is malformed; `place` names it in a message by its number.
    #[inline]
    fn met(
        &mut self,
        result: Result<(), Fault<'_>>,
        input: &Input,
        intake: &mut Intake,
        place: impl FnOnce(u64) -> String,
    ) -> Result<(), TraceError> {
        if let Err(fault) = result {
            let (path, place) = (shown(input.path()), place(self.count + 1));
            self.bad(TraceError::Malformed { path, place, why: fault.to_string() }, intake)?;
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
        let file = |names: &mut crate::names::Names| *self.device.get_or_insert_with(|| names.id(input.device()));
        intake.take(entry?, file, out)
    }
}

/// Runs a [`LineFormat`].
pub(crate) struct Lines<F> {
    format: F,
    place: Place,
    /// The format has seen its first line.
    begun: bool,
    /// Fields of the last line that has its line end.
    fields: usize,
    /// In the middle of an overlong line that is being skipped.
    discarding: bool,
}

impl<F: LineFormat> Lines<F> {
    /// A decoder at the beginning of a file.
    pub fn boxed(options: &ReadOptions) -> Box<dyn Decoder> {
        let (format, place) = (F::new(options), Place::new(options.skip_bad));
        Box::new(Self { format, place, begun: false, fields: 0, discarding: false })
    }

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
        if self.place.count == 0 {
            line = without_mark(line);
        }
        if line.first().is_none_or(u8::is_ascii_whitespace) && line.trim_ascii().is_empty() {
            self.place.count += 1;
            return Ok(());
        }
        let result = if line.len() > LINE_MAX {
            Err(Fault::new("", &line[..LINE_MAX], "... is a line of more than 64 KiB, which no trace format has"))
        } else if F::COMMENTS && line.starts_with(b"#") {
            self.place.take(Ok(Entry::Skip(Skip::Header)), input, intake, out)
        } else {
            if !self.begun {
                let place =
                    |why| TraceError::Format(format!("{}:{}: {why}", shown(input.path()), self.place.count + 1));
                self.begun = self.format.begin(line).map_err(place)?;
            }
            let entry = self.format.line(line, &mut intake.tables);
            let repeats = if entry.is_ok() { self.format.repeats() } else { 1 };
            (0..repeats).try_for_each(|_| self.place.take(entry, input, intake, out))
        };
        self.place.met(result, input, intake, |number| number.to_string())
    }

    /// Notes the fields of the last of whole lines that is neither blank nor a comment.
    fn note(&mut self, lines: &[u8]) {
        let mut lines = lines.rsplit(|&byte| byte == b'\n');
        if let Some(last) = lines.find(|line| !line.starts_with(b"#") && !line.trim_ascii().is_empty()) {
            self.fields = self.format.fields(last);
        }
    }

    /// Takes a last line without its line end: it counts, unless it breaks off.
    fn last(&mut self, input: &Input, intake: &mut Intake, out: &mut Vec<Request>) -> Result<(), TraceError> {
        let (line, before) = (input.bytes(), self.fields);
        let fields = self.format.fields(line);
        if self.discarding || fields >= before || line.starts_with(b"#") || line.trim_ascii().is_empty() {
            return self.line(line, input, intake, out);
        }
        let number = self.place.count + 1;
        let have = counted(fields as u64, "field");
        let why = format!("line {number}, the last, breaks off: no line end, and {have} where {before} came before");
        self.place.bad(TraceError::Truncated { path: shown(input.path()), why }, intake)
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
                // A line that ends the reading stays in view: asking again meets it again.
                done += if result.is_ok() { length + 1 } else { 0 };
            }
            let left = bytes.len() - done;
            self.note(&bytes[..done]);
            input.advance(done);
            result?;
            if out.len() >= most || (intake.measuring() && done > 0) {
                return Ok(true);
            }
            if left > LINE_MAX {
                // Report it by its beginning, then skip to its end.
                self.line(input.bytes(), input, intake, out)?;
                self.discarding = true;
                input.advance(left);
            }
            if !self.place.refill(input, intake)? {
                // What is left where the stream broke off is no line.
                if !self.place.cut && !input.bytes().is_empty() {
                    self.last(input, intake, out)?;
                }
                input.advance(input.bytes().len());
                return Ok(false);
            }
        }
    }

    fn place(&self) -> String {
        self.place.count.to_string()
    }
}

/// `text` without a UTF-8 byte order mark.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)
}

/// How well the first lines of a file fit a format, in percent; 0 unless most do, or the header says so.
pub(crate) fn sniff_lines<F: LineFormat>(head: &[u8]) -> u32 {
    if !F::may_begin(head) {
        return 0;
    }
    let mut format = F::new(&ReadOptions::default());
    let mut tables = Tables::new();
    let (mut good, mut tried, mut headers) = (0, 0, 0);
    let lines = without_mark(head).split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let mut lines = lines.filter(|line| !line.is_empty() && line.len() <= LINE_MAX).take(SNIFF_LINES).peekable();
    if !F::HEADER.is_empty() && lines.peek().is_some_and(|line| line.starts_with(F::HEADER)) {
        return 100;
    }
    for line in lines {
        if F::COMMENTS && line.starts_with(b"#") {
            headers += 1;
            continue;
        }
        match format.line(line, &mut tables) {
            Ok(Entry::Skip(Skip::Header)) => headers += 1,
            Ok(Entry::Io(_) | Entry::Skip(Skip::OtherAction | Skip::NonIo | Skip::ShortWait)) => {
                (good, tried) = (good + 1, tried + 1)
            }
            Ok(Entry::Skip(Skip::UnknownOp)) | Err(_) => tried += 1,
        }
    }
    match tried {
        0 => u32::from(headers > 0),
        _ if good * 2 > tried => 100 * good / tried,
        _ => 0,
    }
}

/// A format that a file would have but for single fields.
pub(crate) struct NearMiss {
    /// Share of lines that follow the format, or would with one field mended, in percent.
    pub share: u32,
    /// Line of the first fault, from 1, and the fault.
    pub line: usize,
    pub why: String,
}

impl<F: LineFormat> Lines<F> {
    /// Finds the first fault of a file that would have the format but for one field of a line; `None` unless most lines
    /// would.
    pub fn near(head: &[u8]) -> Option<NearMiss> {
        if !F::may_begin(head) {
            return None;
        }
        let mut format = F::new(&ReadOptions::default());
        let mut tables = Tables::new();
        let (mut fit, mut tried, mut first) = (0, 0, None);
        let lines = without_mark(head).split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).enumerate();
        let is_row =
            |line: &[u8]| !line.is_empty() && line.len() <= LINE_MAX && !(F::COMMENTS && line.starts_with(b"#"));
        for (index, line) in lines.filter(|(_, line)| is_row(line)).take(SNIFF_LINES) {
            let fault = match format.line(line, &mut tables) {
                Ok(Entry::Skip(Skip::Header)) => continue,
                Ok(Entry::Io(_)) => None,
                Ok(Entry::Skip(_)) => {
                    tried += 1;
                    continue;
                }
                Err(fault) => Some((fault.to_string(), fault.mended(line), fault.is_surplus())),
            };
            tried += 1;
            let Some((why, mended, surplus)) = fault else {
                fit += 1;
                continue;
            };
            // Where two records are joined, their last and first field are one, and others follow.
            let fits = match format.line(&mended, &mut tables) {
                Ok(entry) => surplus || matches!(entry, Entry::Io(_)),
                Err(second) => {
                    let mended = second.mended(&mended);
                    second.is_surplus() && matches!(format.line(&mended, &mut tables), Ok(Entry::Io(_)))
                }
            };
            if fits {
                fit += 1;
                first.get_or_insert((index + 1, why));
            }
        }
        let (line, why) = first?;
        (fit * 2 > tried).then(|| NearMiss { share: 100 * fit / tried, line, why })
    }
}

/// Runs a [`RecordFormat`].
pub(crate) struct Records<F> {
    format: F,
    place: Place,
    /// Where in the file the last record begins.
    at: u64,
}

/// Where a record stands.
fn record_place(number: u64, offset: u64) -> String {
    format!("record {number} at byte {offset}")
}

impl<F: RecordFormat> Records<F> {
    /// Finds nothing: binary records have no lines that could be mended.
    pub fn near(_: &[u8]) -> Option<NearMiss> {
        None
    }

    /// A decoder at the beginning of a file.
    pub fn boxed(options: &ReadOptions) -> Box<dyn Decoder> {
        Box::new(Self { format: F::new(options), place: Place::new(options.skip_bad), at: 0 })
    }

    /// Handles the record at the beginning of `bytes`, whose first byte is at `offset` of the file, and
    /// returns its length; `None` if it does not lie in `bytes` wholly.
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
                self.place.take(Ok(entry), input, intake, out)
            }
            Err(fault) => {
                length = self.format.resync(bytes);
                Err(fault)
            }
        };
        self.place.met(result, input, intake, |number| record_place(number, offset))?;
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
                let format = |why| TraceError::Format(format!("{}: {why}", shown(input.path())));
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
            if !self.place.refill(input, intake)? {
                let left = input.bytes().len();
                if left > 0 && !self.place.cut {
                    let path = shown(input.path());
                    let why = format!(
                        "the file ends inside record {} ({left} bytes of it at byte {})",
                        self.place.count + 1,
                        input.position(),
                    );
                    self.place.bad(TraceError::Truncated { path, why }, intake)?;
                }
                input.advance(left);
                return Ok(false);
            }
        }
    }

    fn place(&self) -> String {
        record_place(self.place.count, self.at)
    }
}
