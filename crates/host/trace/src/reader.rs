//! Trace reader: opens files and detects their formats; merges, sorts and counts their requests.
//!
//! Requests pass through these stages, all with bounded buffers: files, `Decoder` (parses, selects the device, checks),
//! merging by time, `Reorder`, spreading over the second if times are whole seconds, and conversion to times relative
//! to the first request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::decode::{BATCH, Decoder};
use crate::error::shown;
use crate::files::{are_different, are_parts, device_names, format_of, missing_siblings};
use crate::input::{Input, Origin};
use crate::intake::Intake;
use crate::reorder::InOrder;
use crate::{DeviceChoice, Files, Format, IngestReport, Placed, Progress, ReadOptions, Request, Source, TraceError};

/// One file of a trace, with its decoded requests.
pub(crate) struct Lane {
    pub input: Input,
    decoder: Box<dyn Decoder>,
    pub batch: Vec<Request>,
    next: usize,
    more: bool,
}

impl Lane {
    pub fn new(input: Input, format: Format, options: &ReadOptions) -> Self {
        let decoder = (format.role.decoder)(options);
        Self { input, decoder, batch: Vec::new(), next: 0, more: true }
    }

    /// Decodes the next requests: at least `most`, or all that are left in the file. Returns false if none are left.
    pub fn refill(&mut self, intake: &mut Intake, most: usize) -> Result<bool, TraceError> {
        self.batch.clear();
        self.next = 0;
        while self.more && self.batch.is_empty() {
            self.more = self.decoder.decode(&mut self.input, intake, &mut self.batch, most)?;
        }
        Ok(!self.batch.is_empty())
    }

    /// Returns the request of the batch if it ends beyond `capacity_bytes`. The batch must hold a single request, or
    /// all pieces of a request that was split.
    fn ends_beyond(&self, capacity_bytes: u64) -> Option<Placed> {
        let (first, last) = self.batch.first().zip(self.batch.last())?;
        last.ends_beyond(capacity_bytes).then(|| {
            let place = format!("{}:{}", shown(self.input.path()), self.decoder.place());
            Placed { bytes: last.end() - first.offset, ..Placed::at(place, first) }
        })
    }
}

/// Reader of a trace of one or several files, as a [`Source`].
///
/// Times are relative to the first request and never decrease. Memory is bounded at any trace length: two reorder
/// windows, one byte window per file, tables of at most 65,536 names, and 24 MiB of requests if times are whole
/// seconds.
pub struct TraceReader {
    origins: Vec<Origin>,
    options: ReadOptions,
    format: Format,
    lanes: Vec<Lane>,
    /// Index of the file being read, if the files are read one after another.
    lane: usize,
    intake: Intake,
    /// Files with pending requests, as (time of the next request, index of the file), earliest request first. Unused if
    /// there is only one file, or if the files are read one after another.
    earliest: BinaryHeap<Reverse<(u64, usize)>>,
    merged: Vec<Request>,
    order: InOrder,
    ended: bool,
    /// Error that ended reading; every further call returns it.
    failed: Option<TraceError>,
}

impl TraceReader {
    /// Opens the files of a trace; [`Files`] defines how they are combined.
    pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Self, TraceError> {
        let named: Vec<(PathBuf, PathBuf)> = paths.iter().map(|path| (path.clone(), path.clone())).collect();
        Self::open_as(&named, options)
    }

    /// Opens files, given as pairs: the path to open, and the path to show in messages. The two differ, for example, if
    /// the file is a copy of standard input.
    pub fn open_as(named: &[(PathBuf, PathBuf)], options: &ReadOptions) -> Result<Self, TraceError> {
        Self::over(&Origin::files(named), options)
    }

    pub(crate) fn over(origins: &[Origin], options: &ReadOptions) -> Result<Self, TraceError> {
        let paths: Vec<&Path> = origins.iter().map(Origin::path).collect();
        let open = || -> Result<Vec<Input>, TraceError> {
            let names = device_names(&paths, options.files);
            origins.iter().zip(names).map(|(origin, name)| Input::open(origin, name)).collect()
        };
        let mut inputs = open()?;
        let format = format_of(&paths, inputs.iter_mut().map(Ok), options)?;
        let parts = are_parts(&paths, format);
        if inputs.len() > 1 && options.files == Files::Parts && !parts {
            return Err(TraceError::Invalid(format!(
                "{} files given; pass --concat to replay them one after another, or --merge to replay each file as a \
                 device, merged by time",
                inputs.len()
            )));
        }
        if options.files != Files::Concatenated {
            are_different(origins)?;
        }
        let whole = options.files != Files::Parts && inputs.len() > 1 && options.device == DeviceChoice::First;
        let device = if whole { &DeviceChoice::All } else { &options.device };
        let lanes = |inputs: Vec<Input>| inputs.into_iter().map(|input| Lane::new(input, format, options)).collect();
        let mut intake = Intake::new(format, device, options.target);
        if intake.measuring() {
            let first_pass: Vec<Lane> = lanes(inputs);
            for mut lane in first_pass {
                while lane.refill(&mut intake, BATCH)? {}
            }
            intake.lay_out()?;
            inputs = open()?;
        }
        if parts {
            intake.report.notes.extend(missing_siblings(&paths));
        }
        let lanes = lanes(inputs);
        Ok(Self {
            origins: origins.to_vec(),
            options: options.clone(),
            format,
            lanes,
            lane: 0,
            intake,
            earliest: BinaryHeap::new(),
            merged: Vec::new(),
            order: InOrder::default(),
            ended: false,
            failed: None,
        })
    }

    /// Returns the report on the requests read so far; it is complete once [`Source::fill`] has returned 0.
    pub fn report(&self) -> &IngestReport {
        &self.intake.report
    }

    /// Returns the names of the streams (processes) found so far, indexed by [`Request::stream`]; the first name is
    /// empty and stands for "no stream".
    pub fn streams(&self) -> &[String] {
        self.intake.tables.streams.list()
    }

    /// Returns the format of the trace, given or detected.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Finds the first request, in file order, that ends beyond `capacity_bytes`. The reader must not have returned
    /// requests before.
    ///
    /// Examines up to `most` requests per call. The caller repeats the call while it returns `Continue`. A second pass
    /// is needed because requests do not store their line number.
    pub fn find_beyond(&mut self, capacity_bytes: u64, most: usize) -> Result<ControlFlow<Option<Placed>>, TraceError> {
        for _ in 0..most {
            let Some(lane) = self.lanes.get_mut(self.lane) else {
                self.ended = true;
                return Ok(ControlFlow::Break(None));
            };
            if !lane.refill(&mut self.intake, 1)? {
                self.lane += 1;
            } else if let Some(request) = lane.ends_beyond(capacity_bytes) {
                return Ok(ControlFlow::Break(Some(request)));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads and sorts requests until at least one sorted request is available or the trace has ended.
    fn advance(&mut self) -> Result<(), TraceError> {
        let one_by_one = self.lanes.len() == 1 || self.options.files == Files::Concatenated;
        while self.order.is_empty() && !self.ended {
            let batch = if one_by_one {
                let lane = &mut self.lanes[self.lane];
                lane.refill(&mut self.intake, BATCH)?;
                &mut lane.batch
            } else {
                self.merge()?;
                &mut self.merged
            };
            if self.intake.tables.whole_seconds {
                self.order.spread_seconds();
            }
            self.intake.report.counts.requests += batch.len() as u64;
            if batch.is_empty() {
                self.order.turn();
                self.ended = !one_by_one || self.lane + 1 == self.lanes.len();
                self.lane += usize::from(!self.ended);
            } else {
                self.order.push(batch);
            }
        }
        let bytes_in = self.progress().done;
        let counts = &mut self.intake.report.counts;
        (counts.out_of_order, counts.late) = self.order.counts();
        counts.bytes_in = bytes_in;
        if self.ended {
            self.intake.conclude()?;
            let counts = &self.intake.report.counts;
            if counts.records == counts.headers && counts.bad_lines == 0 {
                let path = shown(self.origins[0].path());
                let why = "contains no requests; use a trace with reads or writes";
                return Err(TraceError::Invalid(format!("{path}: {why}")));
            }
        }
        Ok(())
    }

    /// Merges the next requests of all files by time into `self.merged`. Of simultaneous requests, the request of the
    /// earlier file comes first.
    fn merge(&mut self) -> Result<(), TraceError> {
        self.merged.clear();
        // At the start of the trace; at its end, no file has further requests.
        if self.earliest.is_empty() {
            for (index, lane) in self.lanes.iter_mut().enumerate() {
                if lane.refill(&mut self.intake, BATCH)? {
                    self.earliest.push(Reverse((lane.batch[0].time_ns, index)));
                }
            }
        }
        while self.merged.len() < BATCH {
            let Some(mut earliest) = self.earliest.peek_mut() else { break };
            let index = earliest.0.1;
            let lane = &mut self.lanes[index];
            self.merged.push(lane.batch[lane.next]);
            lane.next += 1;
            if lane.next < lane.batch.len() || lane.refill(&mut self.intake, BATCH)? {
                *earliest = Reverse((lane.batch[lane.next].time_ns, index));
            } else {
                std::collections::binary_heap::PeekMut::pop(earliest);
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let report = self.report();
        f.debug_struct("TraceReader").field("format", &self.format).field("report", report).finish_non_exhaustive()
    }
}

impl Source for TraceReader {
    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let before = out.len();
        while out.len() - before < max {
            if self.order.is_empty() {
                if let Some(error) = &self.failed {
                    return Err(error.clone());
                }
                if self.ended {
                    break;
                }
                self.failed = self.advance().err();
            }
            out.extend_from_slice(self.order.take(max - (out.len() - before)));
        }
        Ok(out.len() - before)
    }

    fn progress(&self) -> Progress {
        let parts = self.lanes.iter().map(|lane| lane.input.progress());
        let (done, total) = parts.fold((0, 0), |(done, total), (read, size)| (done + read, total + size));
        Progress { done, total: Some(total) }
    }

    /// Reopens the files, continues with the first request, and resets the report.
    fn rewind(&mut self) -> Result<(), TraceError> {
        *self = Self::over(&self.origins, &self.options)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{error, options, read, read_all, read_device, read_with, request};
    use crate::{Columns, DeviceChoice, Op, flag};

    const GOOD: &str = "0,R,0,512,0x1,7\n10,W,8,4096,0x2,7\n";

    fn csv(skip_bad: bool) -> ReadOptions {
        ReadOptions { skip_bad, ..options("ssdlab-csv") }
    }

    #[test]
    fn line_ends_byte_order_marks_and_blank_lines_do_not_matter() {
        let (plain, _) = read("ssdlab-csv", GOOD);
        for text in [
            GOOD.replace('\n', "\r\n"),
            format!("\u{feff}{GOOD}"),
            format!("\u{feff}time_ns,op,sector,bytes,flags,pid\r\n{GOOD}"),
            GOOD.replace('\n', "\n\n \t\n"),
            GOOD.trim_end().to_string(),
        ] {
            assert_eq!(read("ssdlab-csv", &text).0, plain, "{text:?}");
        }
    }

    #[test]
    fn malformed_lines_stop_with_their_number_or_are_counted() {
        let text = "0,R,0,512\n\nrubbish\n20,R,x,512\n30,R,8,512\n";
        let message = error("ssdlab-csv", text);
        assert_eq!(
            message,
            "memory:3: field \"time_ns\": \"rubbish\" is not a whole number; fix it or pass --skip-bad"
        );
        let (requests, report) = read_with(text.as_bytes(), &csv(true)).unwrap();
        assert_eq!((requests.len(), report.counts.bad_lines, report.counts.records), (2, 2, 4));
        assert_eq!(report.first_bad.as_deref(), message.strip_suffix("; fix it or pass --skip-bad"));
    }

    /// Goal: a last line that was cut short is not read as a request, even if it parses. Method: cuts a file after each
    /// byte of its last line, up to the start of the last field, and expects an error.
    #[test]
    fn a_last_line_cut_short_is_an_error() {
        for (format, before, last) in [
            ("ssdlab-csv", "0,R,0,512,0x1,7\n", "10,W,8,4096,0x2,7"),
            ("ssdlab-csv", "time_ns,op,sector,bytes,flags,pid\n", "10,W,8,4096,,"),
            ("ssdlab-csv", "0,R,0,512\n# a, comment, of, five, fields\n\n", "10,W,8,4096"),
            ("msr", "128166372003061629,hm,0,Read,0,512,26\n", "128166372003061700,hm,0,Write,7014912,4096,2"),
            ("columns", "0\tR\t0\t512\tx\n", "10\tW\t8\t4096\t"),
        ] {
            let read = |skip_bad, text: &str| {
                let columns = (format == "columns").then(Columns::default);
                read_with(text.as_bytes(), &ReadOptions { skip_bad, columns, ..options(format) })
            };
            let whole = last.rfind([',', '\t']).unwrap() + 1;
            // A file with only a header is an error.
            let first = read(false, before).map_or_else(|_| Vec::new(), |(requests, _)| requests);
            for end in 1..whole {
                let cut = format!("{before}{}", &last[..end]);
                let message = read(false, &cut).unwrap_err().to_string();
                let place = format!(
                    "memory: the last line (line {}) is truncated: it has no newline, and ",
                    cut.lines().count()
                );
                let remedy = "; fetch the file again, or pass --skip-bad to read the part before the damage";
                assert!(message.starts_with(&place) && message.ends_with(remedy), "{message}");
                let (requests, report) = read(true, &cut).unwrap();
                assert_eq!((requests, report.counts.bad_lines), (first.clone(), 1));
            }
            for text in [format!("{before}{last}"), format!("{before}{last}\n")] {
                assert_eq!(read(false, &text).unwrap().0.len(), first.len() + 1, "{text:?}");
            }
        }
        // A complete line of the format need not have the fields flags and pid.
        assert_eq!(read("ssdlab-csv", &format!("{GOOD}20,R,0,512\n")).0.len(), 3);
        assert_eq!(read("ssdlab-csv", "0,R,0,512\n10,W,8,512,0x1,7").0.len(), 2);
    }

    /// Searches one request per call, and returns place, offset and length of the first request that ends beyond the
    /// capacity.
    fn beyond(bytes: &[u8], options: &ReadOptions, capacity_bytes: u64) -> Option<(String, u64, u64)> {
        let mut reader = TraceReader::over(&[Origin::Memory(bytes.into())], options).unwrap();
        loop {
            if let ControlFlow::Break(request) = reader.find_beyond(capacity_bytes, 1).unwrap() {
                return request.map(|request| (request.place, request.offset, request.bytes));
            }
        }
    }

    /// Goal: the search for a request beyond the capacity returns the line of this request, regardless of other lines
    /// in the file. Method: searches a text that contains every type of line that is not a request. For each request,
    /// the capacity is set one byte below its end.
    #[test]
    fn a_request_beyond_the_drive_is_found_with_its_line() {
        let text = format!(
            "\u{feff}time_ns,op,sector,bytes,flags,pid\r\n# a comment\n\n0,R,1,512\n5,R,9,0\n10,X,99,512\nrubbish\n{}\n\
             30,W,2,512\n \t\n20,R,3,512\n{}40,F,0,0\n50,D,9000,{}\n60,R,90000000,512",
            "9".repeat(200_000),
            "20,R,2,512\n".repeat(10_000),
            5_u64 << 30,
        );
        let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
        for (line, sector, bytes) in
            [(4, 1, 512), (9, 2, 512), (11, 3, 512), (10_013, 9000, 5 << 30), (10_014, 90_000_000, 512)]
        {
            let expected = Some((format!("memory:{line}"), sector * 512, bytes));
            for bytes_of_it in [text.as_bytes(), &packed] {
                assert_eq!(beyond(bytes_of_it, &csv(true), sector * 512 + bytes - 1), expected);
            }
        }
        assert_eq!(beyond(text.as_bytes(), &csv(true), 90_000_001 * 512), None);
    }

    #[test]
    fn a_request_beyond_the_drive_is_of_a_selected_device() {
        let text = b"3,W,9000,512,1\n4,W,0,512,2\n3,W,8000,512,3\n4,W,1000,512,4\n";
        let of = |device, capacity_bytes| {
            let options = ReadOptions { device, ..options("alibaba") };
            beyond(text, &options, capacity_bytes)
        };
        assert_eq!(of(DeviceChoice::Named("4".into()), 1000), Some(("memory:4".into(), 1000, 512)));
        assert_eq!(of(DeviceChoice::First, 9511), Some(("memory:1".into(), 9000, 512)));
        assert_eq!(of(DeviceChoice::First, 9512), None);
        // Side by side, the second device starts at 1 MiB.
        assert_eq!(of(DeviceChoice::All, 1 << 20), Some(("memory:2".into(), 1 << 20, 512)));
    }

    #[test]
    fn an_endless_line_is_rejected_in_bounded_memory() {
        let endless = format!("0,R,0,512\n{}\n10,R,0,512\n", "9".repeat(1_000_000));
        let message = error("ssdlab-csv", &endless);
        assert!(
            message.starts_with("memory:2: ") && message.contains("longer than the maximum of 64 KiB"),
            "{message}"
        );
        let (requests, report) = read_with(endless.as_bytes(), &csv(true)).unwrap();
        assert_eq!((requests.len(), report.counts.bad_lines), (2, 1));
        let at_the_end = "0,R,0,512\n".to_string() + &"9".repeat(500_000);
        assert_eq!(read_with(at_the_end.as_bytes(), &csv(true)).unwrap().0.len(), 1);
    }

    #[test]
    fn reading_on_after_an_error_gives_the_same_error() {
        let origin = Origin::Memory(b"0,R,0,512\nrubbish\n".as_slice().into());
        for origins in [vec![origin.clone()], vec![origin.clone(), origin]] {
            let device = DeviceChoice::Named("memory".into());
            let options = ReadOptions { device, files: Files::Merged, ..csv(false) };
            let mut reader = TraceReader::over(&origins, &options).unwrap();
            let mut out = Vec::new();
            let [first, second] = [(); 2].map(|()| reader.fill(&mut out, 10).unwrap_err().to_string());
            assert_eq!(first, second);
        }
    }

    #[test]
    fn a_truncated_stream_is_an_error_or_gives_its_complete_lines() {
        let text = GOOD.repeat(5000);
        let whole = zstd::encode_all(text.as_bytes(), 3).unwrap();
        let cut = &whole[..whole.len() - 3];
        let message = read_with(cut, &csv(false)).unwrap_err().to_string();
        assert!(message.contains("the zstd stream ends early") && message.contains("or pass --skip-bad"), "{message}");
        let (requests, report) = read_with(cut, &csv(true)).unwrap();
        assert_eq!(report.counts.bad_lines, 1);
        assert!(requests.iter().all(|r| r.bytes == 512 || r.bytes == 4096), "a partial line was accepted");
    }

    #[test]
    fn readers_and_writers_are_send() {
        fn sendable<T: Send + ?Sized>() {}
        sendable::<TraceReader>();
        sendable::<dyn crate::TraceWriter>();
    }

    #[test]
    fn nothing_to_read_is_a_clear_error() {
        let open = |paths: &[PathBuf]| TraceReader::open(paths, &ReadOptions::default()).err().unwrap().to_string();
        assert_eq!(open(&[]), "no trace file given; pass at least one file");
        assert!(open(&["no/such.csv".into()]).contains("check the path"));
        assert!(open(&["src".into()]).contains("is a directory"));
        let empty = read_with(&zstd::encode_all(&b""[..], 1).unwrap(), &ReadOptions::default()).unwrap_err();
        assert!(empty.to_string().contains("empty after decompression"));
        assert!(error("ssdlab-csv", "").contains("is empty"));
    }

    #[test]
    fn zero_lengths_are_counted_and_not_replayed() {
        let (requests, report) = read("ssdlab-csv", "0,R,0,0\n1,W,8,0\n2,D,8,0\n3,F,0,0\n4,R,0,512\n");
        assert_eq!(requests.iter().map(|r| r.op).collect::<Vec<_>>(), [Op::Flush, Op::Read]);
        assert_eq!((report.counts.zero_length, report.counts.requests), (3, 2));
    }

    #[test]
    fn overlong_requests_are_split_and_counted() {
        let (requests, report) = read("ssdlab-csv", "0,D,0,5000000000,0x8\n");
        let piece = |offset: u64, bytes| Request { flags: flag::SYNC, ..request(0, Op::Trim, offset, bytes) };
        assert_eq!(requests, [piece(0, 1 << 31), piece(1 << 31, 1 << 31), piece(1 << 32, 705_032_704)]);
        assert_eq!((report.counts.split_overlong, report.counts.requests), (1, 3));
    }

    #[test]
    fn addresses_beyond_64_bits_are_errors() {
        for line in ["0,R,36028797018963967,4096", "0,R,36028797018963968,512", "0,R,0,281474976710657"] {
            let message = error("ssdlab-csv", line);
            assert!(message.starts_with("memory:1: "), "{message}");
        }
    }

    #[test]
    fn times_are_ordered_and_relative_to_the_earliest() {
        let (requests, report) = read("ssdlab-csv", "1000,R,0,512\n900,R,8,512\n1100,R,16,512\n1050,R,24,512\n");
        assert_eq!(
            requests.iter().map(|r| (r.time_ns, r.offset / 4096)).collect::<Vec<_>>(),
            [(0, 1), (100, 0), (150, 3), (200, 2)]
        );
        assert_eq!((report.counts.out_of_order, report.counts.late), (2, 0));
    }

    #[test]
    fn a_request_beyond_the_window_is_late_but_kept() {
        let mut text: String = (0..200_000).map(|n| format!("{},R,0,512\n", 1000 + n)).collect();
        text.push_str("1001,W,8,512\n");
        let (requests, report) = read("ssdlab-csv", &text);
        assert_eq!((report.counts.out_of_order, report.counts.late), (1, 1));
        assert_eq!(requests[200_000], request(199_999, Op::Write, 4096, 512));
    }

    #[test]
    fn devices_side_by_side_do_not_overlap() {
        let text = "5,a,0,Read,0,3145728,0\n6,b,0,Write,0,4096,0\n7,a,1,Read,8192,512,0\n8,b,0,Read,4096,512,0\n";
        let (requests, report) = read_all("msr", text);
        assert_eq!(
            requests.iter().map(|r| r.offset).collect::<Vec<_>>(),
            [0, 3 << 20, (4 << 20) + 8192, (3 << 20) + 4096]
        );
        assert_eq!((report.counts.requests, report.counts.records, report.counts.other_device), (4, 4, 0));
    }

    /// Goal: overlaid devices keep their addresses. Method: reads requests of two MQSim devices at the same sector; the
    /// expected offset is 512 times the sector.
    #[test]
    fn overlaid_devices_keep_their_addresses() {
        let text = "1000 4 8 8 1\n1500 3 8 8 0\n2000 4 16 8 0\n";
        let options = ReadOptions { device: DeviceChoice::Overlay, ..options("mqsim") };
        let (requests, report) = read_with(text.as_bytes(), &options).unwrap();
        let expected = [
            request(0, Op::Read, 4096, 4096),
            request(500, Op::Write, 4096, 4096),
            request(1000, Op::Write, 8192, 4096),
        ];
        assert_eq!(requests, expected);
        assert_eq!((report.device, report.other_devices.len(), report.notes.len()), (None, 0, 0));
    }

    #[test]
    fn processes_beyond_the_table_share_its_last_entry_and_are_counted() {
        let text: String = (1..=65_540).map(|pid| format!("{pid},R,0,512,0x1,{pid}\n")).collect();
        let (requests, report) = read("ssdlab-csv", &text);
        assert_eq!(requests.last().map(|r| r.stream), Some(u16::MAX));
        // 65,535 streams have their own entry; five more share the last entry.
        assert_eq!(report.counts.streams_folded, 5);
    }

    #[test]
    fn processes_of_other_devices_take_no_table_entries() {
        let line = |device, pid| format!("8,{device} 0 1 0.0 {pid} Q R 8 + 8 [dd]\n");
        let text: String = (1..=65_540).map(|pid| line(0, pid)).chain([line(16, 70_000), line(16, 8)]).collect();
        let (requests, report) = read_device("blkparse", &text, "8,16").unwrap();
        assert_eq!(requests.iter().map(|request| request.stream).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((report.counts.streams_folded, report.counts.other_device), (0, 65_540));
    }

    #[test]
    fn an_action_that_never_occurs_is_noted() {
        let text = "8,0 0 1 0.0 9 D R 8 + 8 [dd]\n";
        let (requests, report) = read("blkparse", text);
        assert!(requests.is_empty());
        assert!(report.notes[0].contains("no event has the chosen action"), "{:?}", report.notes);
        // The fio log's file operations, such as add and open, count as other actions but cause no note.
        let (requests, report) = read("fio2", "fio version 2 iolog\n/a add\n/a open\n/a close\n");
        assert!(requests.is_empty() && report.notes.is_empty() && report.counts.other_actions == 3);
    }
}
