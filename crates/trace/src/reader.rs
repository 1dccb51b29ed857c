//! Reads traces: opens, recognises, merges, reorders and counts.
//!
//! Files -> [`Decoder`] (parse, choose the device, check) -> merge by time -> [`Reorder`] -> spread whole
//! seconds (Tencent) -> times relative to the first request. Everything between is bounded.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use crate::decode::{BATCH, Decoder};
use crate::input::{Input, Origin};
use crate::intake::Intake;
use crate::reorder::{Reorder, WINDOW};
use crate::spread::Spread;
use crate::{Format, IngestReport, Progress, ReadOptions, Request, Source, TraceError};

/// One file and the requests decoded from it.
struct Lane {
    input: Input,
    decoder: Box<dyn Decoder>,
    batch: Vec<Request>,
    next: usize,
    more: bool,
}

impl Lane {
    fn open(origin: &Origin, format: Format, options: &ReadOptions) -> Result<Self, TraceError> {
        let decoder = format.decoder(options.action, options.skip_bad);
        Ok(Self { input: Input::open(origin)?, decoder, batch: Vec::new(), next: 0, more: true })
    }

    /// Decodes the next batch; `false` at the end.
    fn refill(&mut self, intake: &mut Intake) -> Result<bool, TraceError> {
        self.batch.clear();
        self.next = 0;
        while self.more && self.batch.is_empty() {
            self.more = self.decoder.decode(&mut self.input, intake, &mut self.batch)?;
        }
        Ok(!self.batch.is_empty())
    }
}

/// Reads one trace, of one or several files, as a [`Source`].
///
/// Times are relative to the first request and never decrease. Memory is bounded whatever the trace's
/// length: two reorder windows, a window of bytes per file, and tables of at most 65,536 names.
pub struct TraceReader {
    format: Format,
    lanes: Vec<Lane>,
    intake: Intake,
    /// Lanes with requests waiting, by the time of the next; unused with a single lane.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    merging: bool,
    merged: Vec<Request>,
    reorder: Reorder,
    spread: Option<Spread>,
    /// Requests in order, from `next` on still to be handed out.
    ready: Vec<Request>,
    next: usize,
    first_ns: Option<u64>,
    ended: bool,
}

impl TraceReader {
    /// Opens the files of one trace. Several files (per-CPU blktrace, hourly SYSTOR) are merged by time;
    /// in a format that names no device, each file is a device.
    pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Self, TraceError> {
        let origins: Vec<Origin> = paths.iter().map(|path| Origin::File(path.clone())).collect();
        let mut reader = Self::over(&origins, options)?;
        if let [path] = paths
            && reader.format == Format::Blktrace
        {
            reader.intake.report.notes.extend(missing_siblings(path));
        }
        Ok(reader)
    }

    pub(crate) fn over(origins: &[Origin], options: &ReadOptions) -> Result<Self, TraceError> {
        let Some(first) = origins.first() else {
            return Err(TraceError::Format("no trace file is named; name at least one".into()));
        };
        let format = match options.format {
            Some(format) => format,
            None => detect(first)?,
        };
        let open = || origins.iter().map(|origin| Lane::open(origin, format, options)).collect::<Result<Vec<_>, _>>();
        let mut intake = Intake::new(format, &options.device);
        let mut lanes = open()?;
        if intake.measuring() {
            for lane in &mut lanes {
                while lane.refill(&mut intake)? {}
            }
            intake.lay_out()?;
            lanes = open()?;
        }
        Ok(Self {
            format,
            lanes,
            intake,
            order: BinaryHeap::new(),
            merging: false,
            merged: Vec::new(),
            reorder: Reorder::new(WINDOW),
            spread: (format == Format::Tencent).then(Spread::new),
            ready: Vec::new(),
            next: 0,
            first_ns: None,
            ended: false,
        })
    }

    /// What has been met so far; complete once [`Source::fill`] has returned 0.
    pub fn report(&self) -> &IngestReport {
        &self.intake.report
    }

    /// Names of the streams (processes) met so far, by [`Request::stream`]; the first is empty: none.
    pub fn streams(&self) -> &[String] {
        self.intake.tables.streams.list()
    }

    /// The format, given or recognised.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Brings the next requests into `self.ready`, which is empty.
    fn advance(&mut self) -> Result<(), TraceError> {
        self.ready.clear();
        self.next = 0;
        let mut ordered = Vec::new();
        while self.ready.is_empty() && !self.ended {
            let batch = if self.lanes.len() == 1 {
                let lane = &mut self.lanes[0];
                lane.refill(&mut self.intake)?;
                &mut lane.batch
            } else {
                self.merge()?;
                &mut self.merged
            };
            self.ended = batch.is_empty();
            let counts = &mut self.intake.report.counts;
            counts.requests += batch.len() as u64;
            let target = if self.spread.is_some() { &mut ordered } else { &mut self.ready };
            if self.ended {
                self.reorder.finish(target);
            } else {
                self.reorder.push(batch, target, counts);
            }
            if let Some(spread) = &mut self.spread {
                spread.push(&ordered, &mut self.ready);
                ordered.clear();
                if self.ended {
                    spread.finish(&mut self.ready);
                }
            }
        }
        self.intake.report.counts.bytes_in = self.progress().done;
        if self.ended {
            self.intake.conclude()?;
        }
        Ok(())
    }

    /// Merges the lanes' next requests by time (of equal times, earlier files first) into `self.merged`.
    fn merge(&mut self) -> Result<(), TraceError> {
        self.merged.clear();
        if !self.merging {
            for (index, lane) in self.lanes.iter_mut().enumerate() {
                if lane.refill(&mut self.intake)? {
                    self.order.push(Reverse((lane.batch[0].time_ns, index)));
                }
            }
            self.merging = true;
        }
        while self.merged.len() < BATCH {
            let Some(mut earliest) = self.order.peek_mut() else { break };
            let index = earliest.0.1;
            let lane = &mut self.lanes[index];
            self.merged.push(lane.batch[lane.next]);
            lane.next += 1;
            if lane.next < lane.batch.len() || lane.refill(&mut self.intake)? {
                *earliest = Reverse((lane.batch[lane.next].time_ns, index));
            } else {
                std::collections::binary_heap::PeekMut::pop(earliest);
            }
        }
        Ok(())
    }
}

impl Source for TraceReader {
    fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let mut given = 0;
        while given < max {
            if self.next == self.ready.len() {
                if self.ended {
                    break;
                }
                self.advance()?;
                continue;
            }
            let end = self.ready.len().min(self.next + (max - given));
            let part = &self.ready[self.next..end];
            let first_ns = *self.first_ns.get_or_insert(part[0].time_ns);
            out.extend(part.iter().map(|request| Request { time_ns: request.time_ns - first_ns, ..*request }));
            given += end - self.next;
            self.next = end;
        }
        Ok(given)
    }

    fn progress(&self) -> Progress {
        let parts = self.lanes.iter().map(|lane| lane.input.progress());
        let (done, total) = parts.fold((0, 0), |(done, total), (read, size)| (done + read, total + size));
        Progress { done, total: Some(total) }
    }
}

fn detect(origin: &Origin) -> Result<Format, TraceError> {
    let mut input = Input::open(origin)?;
    input.refill()?;
    if input.bytes().is_empty() {
        return Err(TraceError::io(origin.path(), "is empty after decompression; there is nothing to replay"));
    }
    Format::detect(input.bytes(), origin.path())
}

/// A note where `sda.blktrace.0` was given but not the files of the other CPUs beside it.
fn missing_siblings(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (stem, cpu) = name.rsplit_once('.')?;
    cpu.parse::<u32>().ok()?;
    let mut others = 0;
    for entry in path.parent()?.read_dir().ok()?.flatten() {
        let other = entry.file_name();
        let other = other.to_str().and_then(|other| other.strip_prefix(stem)?.strip_prefix('.'));
        others += u32::from(other.is_some_and(|number| number != cpu && number.parse::<u32>().is_ok()));
    }
    (others > 0)
        .then(|| format!("{name} holds one CPU's events; {others} more files {stem}.* lie beside it: give all of them"))
}
