//! Activity of a drive and waiting times of its requests: the figures, and the columns that plots are drawn from.

use serde::Serialize;
use ssdlab_core::{InBucket, LatencyHistogram};
use ssdlab_nand::Geometry;
use ssdlab_nand::backend::parallel::{Bins, Record, Segment};
use ssdlab_trace::{Op, Request};

use crate::drive::buffer::BufferCounters;
use crate::host::block::{BlockStage, BlockSummary};
use crate::observe::breakdown::ResponseSummary;
use crate::observe::intervals::Timeline;
use crate::observe::summary::{LatencyByOp, LatencySummary};

/// Streams whose response times are kept apart; those that come later are reported together.
const MOST_STREAMS: usize = 256;

const NANOS_PER_SECOND: f64 = 1e9;

/// Mean and extremes over several of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count().max(1) as f64;
        Self {
            mean: values.clone().sum::<f64>() / count,
            min: values.clone().fold(f64::INFINITY, f64::min),
            max: values.fold(0.0, f64::max),
        }
    }
}

/// Response times of one stream of the trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamSummary {
    /// Number of the stream; none for all that came after the first 256.
    pub stream: Option<u16>,
    /// Its reads.
    pub read: Option<LatencySummary>,
    /// Its writes.
    pub write: Option<LatencySummary>,
    /// Bytes it read and wrote.
    pub bytes: u64,
    /// From the issue of its first request to the end of its last.
    pub active_ns: u64,
    /// Bytes for each second of that.
    pub bytes_per_s: f64,
}

/// Time in the drive of requests that met some of the other direction there when it took them, and of those that did
/// not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interference {
    /// Reads with no write in the drive.
    pub reads_alone: Option<LatencySummary>,
    /// Reads beside writes.
    pub reads_beside_writes: Option<LatencySummary>,
    /// Writes with no read in the drive.
    pub writes_alone: Option<LatencySummary>,
    /// Writes beside reads.
    pub writes_beside_reads: Option<LatencySummary>,
}

/// Channels, dies, queues and write buffer during the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriveSummary {
    /// Channels.
    pub channels: u32,
    /// Dies of the drive.
    pub dies: u32,
    /// Planes of each die.
    pub planes_per_die: u32,
    /// Share of the time in which the cells of a die worked, over the dies.
    pub die_utilisation: Spread,
    /// Share of the time in which a channel moved data, over the channels.
    pub channel_utilisation: Spread,
    /// Share of the cells' work that was not for the host's data: collection, merges, writing the map.
    pub internal_share: f64,
    /// Requests outstanding, mean over time.
    pub queue_depth_mean: f64,
    /// Most requests outstanding.
    pub queue_depth_max: u32,
    /// Time that requests waited: to be taken by the drive, and then until work on them began or the buffer had room.
    pub waiting: LatencyByOp,
    /// The rest of their response times.
    pub service: LatencyByOp,
    /// Commands that worked on several planes.
    pub multiplane_commands: u64,
    /// Programs and erases interrupted by a read.
    pub suspensions: u64,
    /// What reads and writes do to each other.
    pub interference: Interference,
    /// Response times by stream, for a trace with more than one.
    pub streams: Vec<StreamSummary>,
    /// Jain's index of the throughput of the streams that were active for more than half of the time, while they were:
    /// 1 if it was the same for all, 1/n if one had everything (Jain, Chiu, Hawe 1984); none with fewer than two of
    /// these, or more than 256 streams. The index compares users that share something at one time: of these, any two
    /// did.
    pub fairness: Option<f64>,
    /// Block layer of the host; none without one.
    pub block: Option<BlockSummary>,
    /// Write buffer; none without one.
    pub buffer: Option<BufferCounters>,
    /// Latency breakdown, if attribution was on.
    pub response: Option<ResponseSummary>,
}

/// One flash operation in the recorded window, or one transfer for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GanttBar {
    /// Die.
    pub die: u32,
    /// Plane in the die.
    pub plane: u32,
    /// Whether it is the transfer; otherwise the work of the cells.
    pub bus: bool,
    /// Start, in nanoseconds from the start of measuring.
    pub begin_ns: u64,
    /// End.
    pub end_ns: u64,
    /// `read`, `program`, `erase` or `copyback`.
    pub kind: &'static str,
    /// Name of the cause.
    pub cause: &'static str,
    /// Number of the request that it was done for, among those that the drive was given, from 1 and with the warm-up: a
    /// write names what it programs, also later from the write buffer, and what had to be collected or loaded for that.
    /// 0 for collection ahead of need, and for what was emitted before measuring began.
    pub request: u64,
    /// When the drive was given that request, from the start of measuring; 0 if that was before, or there is none.
    pub arrived_ns: u64,
}

impl GanttBar {
    fn of(segment: &Segment) -> Self {
        Self {
            die: segment.die,
            plane: segment.plane,
            bus: segment.bus,
            begin_ns: segment.begin_ns,
            end_ns: segment.end_ns,
            kind: segment.kind.name(),
            cause: segment.cause.name(),
            request: segment.requester.number,
            arrived_ns: segment.requester.arrived_ns,
        }
    }
}

/// Busy times of dies and channels, in bins of equal time from the start of measuring.
#[derive(Clone, Debug)]
pub struct Activity {
    /// Length of a bin of the columns of dies, in nanoseconds; each column has a length of its own, because bins double
    /// as time advances.
    pub die_bin_ns: u64,
    /// Busy time of the cells of each die, by bin.
    pub dies_busy_ns: Vec<Vec<u64>>,
    /// Length of a bin of the columns of channels.
    pub channel_bin_ns: u64,
    /// Busy time of each channel, by bin.
    pub channels_busy_ns: Vec<Vec<u64>>,
    /// Length of a bin of the next column.
    pub internal_bin_ns: u64,
    /// Work of the cells that was not for the host's data, summed over the dies, by bin.
    pub internal_busy_ns: Vec<u64>,
    /// Length of a bin of the next column.
    pub queue_bin_ns: u64,
    /// Requests outstanding, as their number times nanoseconds, by bin.
    pub outstanding_ns: Vec<u64>,
    /// Every operation in the window that was to be recorded.
    pub gantt: Vec<GanttBar>,
    /// Whether there were more than are kept.
    pub gantt_truncated: bool,
    /// Waiting times by [`Op`].
    pub waiting: [LatencyHistogram; 4],
    /// Response and waiting times of reads and writes by intervals of time; none unless response times were taken
    /// apart.
    pub timeline: Option<Timeline>,
    /// The requests that the block layer gave to the drive, if they were to be kept; times from the start of measuring.
    pub dispatched: Option<Vec<Request>>,
}

/// What one stream does.
#[derive(Default)]
struct OfStream {
    /// Response times of reads and writes, but not while there is no other stream: then they are those of all requests.
    times: [LatencyHistogram; 2],
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
}

impl OfStream {
    /// A read or write that took so long is complete.
    #[inline]
    fn request_done(&mut self, request: &Request, now_ns: u64, latency_ns: u64) {
        let issued_ns = now_ns - latency_ns;
        self.first_ns = if self.bytes == 0 { issued_ns } else { self.first_ns.min(issued_ns) };
        self.last_ns = now_ns;
        self.bytes += u64::from(request.bytes);
    }

    fn active_ns(&self) -> u64 {
        self.last_ns - self.first_ns
    }

    fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / (self.active_ns().max(1) as f64 / NANOS_PER_SECOND)
    }
}

/// What is measured on the way of requests through a drive.
pub(crate) struct Meters {
    start_ns: u64,
    waiting: [LatencyHistogram; 4],
    service: [LatencyHistogram; 4],
    /// By operation, and whether one of the other direction was met.
    interference: [[LatencyHistogram; 2]; 2],
    streams: Vec<Option<Box<OfStream>>>,
    known_streams: usize,
    other_streams: OfStream,
    queue: Bins,
    outstanding: u32,
    since_ns: u64,
    most_outstanding: u32,
}

impl Meters {
    pub fn new(start_ns: u64) -> Self {
        Self {
            start_ns,
            waiting: Default::default(),
            service: Default::default(),
            interference: Default::default(),
            streams: Vec::new(),
            known_streams: 0,
            other_streams: Default::default(),
            queue: Bins::new(1, start_ns),
            outstanding: 0,
            since_ns: start_ns,
            most_outstanding: 0,
        }
    }

    /// The number of outstanding requests changes.
    #[inline]
    pub fn outstanding(&mut self, now_ns: u64, outstanding: u32) {
        self.queue.add(0, self.since_ns, now_ns, u64::from(self.outstanding));
        self.since_ns = now_ns;
        self.outstanding = outstanding;
        self.most_outstanding = self.most_outstanding.max(outstanding);
    }

    /// A request is complete; `so_far` are the response times of those before.
    #[inline(always)]
    pub fn request_done(
        &mut self,
        request: &Request,
        now_ns: u64,
        latency_ns: u64,
        waited: InBucket,
        so_far: &[LatencyHistogram; Op::ALL.len()],
    ) {
        self.waiting[request.op as usize].add(waited);
        self.service[request.op as usize].record(latency_ns - waited.ns);
        if matches!(request.op, Op::Read | Op::Write) {
            let stream = usize::from(request.stream);
            if !matches!(self.streams.get(stream), Some(Some(_))) {
                self.meet(stream, so_far);
            }
            let is_alone = self.known_streams == 1;
            let of_stream = self.streams[stream].as_deref_mut().unwrap_or(&mut self.other_streams);
            of_stream.request_done(request, now_ns, latency_ns);
            if !is_alone {
                of_stream.times[request.op as usize].record(latency_ns);
            }
        }
    }

    /// A read or write has left the drive after `inside_ns`.
    #[inline]
    pub fn left_drive(&mut self, op: Op, met_other: bool, inside_ns: u64) {
        if matches!(op, Op::Read | Op::Write) {
            self.interference[op as usize][usize::from(met_other)].record(inside_ns);
        }
    }

    /// A stream that is not known, or one of too many.
    #[cold]
    fn meet(&mut self, stream: usize, so_far: &[LatencyHistogram; Op::ALL.len()]) {
        if self.streams.len() <= stream {
            self.streams.resize_with(stream + 1, || None);
        }
        if self.known_streams == MOST_STREAMS {
            return;
        }
        if self.known_streams == 1 {
            for first in self.streams.iter_mut().flatten() {
                first.times = [Op::Read, Op::Write].map(|op| so_far[op as usize].clone());
            }
        }
        self.known_streams += 1;
        self.streams[stream] = Some(Box::default());
    }

    /// The figures, and the columns, with the results of latency attribution.
    pub fn finish(
        mut self,
        geometry: &Geometry,
        record: &Record,
        buffer: Option<BufferCounters>,
        block: Option<BlockStage>,
        attribution: Option<(Timeline, ResponseSummary)>,
        now_ns: u64,
    ) -> (DriveSummary, Activity) {
        let (block, dispatched) = block.map(BlockStage::finish).unzip();
        let (timeline, response) = attribution.unzip();
        self.outstanding(now_ns, 0);
        let elapsed_ns = (now_ns - self.start_ns).max(1) as f64;
        let utilisations = |bins: &Bins| {
            let shares: Vec<f64> =
                (0..bins.rows()).map(|row| bins.row(row).iter().sum::<u64>() as f64 / elapsed_ns).collect();
            Spread::of(shares.into_iter())
        };
        // A million requests outstanding for hours are more nanoseconds than 64 bits count.
        let total =
            |bins: &Bins| -> u128 { (0..bins.rows()).flat_map(|row| bins.row(row)).map(|&sum| u128::from(sum)).sum() };
        let cells_ns = total(&record.cells);
        let parallelism = geometry.parallelism;
        let summary = DriveSummary {
            channels: parallelism.channels,
            dies: parallelism.dies(),
            planes_per_die: parallelism.planes,
            die_utilisation: utilisations(&record.cells),
            channel_utilisation: utilisations(&record.buses),
            internal_share: if cells_ns > 0 { total(&record.internal) as f64 / cells_ns as f64 } else { 0.0 },
            queue_depth_mean: total(&self.queue) as f64 / elapsed_ns,
            queue_depth_max: self.most_outstanding,
            waiting: LatencyByOp::of(&self.waiting),
            service: LatencyByOp::of(&self.service),
            multiplane_commands: record.multiplane_commands,
            suspensions: record.suspensions,
            interference: self.interference(),
            streams: self.by_stream(),
            fairness: self.fairness(elapsed_ns),
            block,
            buffer,
            response,
        };
        let rows = |bins: &Bins| (0..bins.rows()).map(|row| bins.row(row).to_vec()).collect();
        let activity = Activity {
            die_bin_ns: record.cells.bin_ns(),
            dies_busy_ns: rows(&record.cells),
            channel_bin_ns: record.buses.bin_ns(),
            channels_busy_ns: rows(&record.buses),
            internal_bin_ns: record.internal.bin_ns(),
            internal_busy_ns: record.internal.row(0).to_vec(),
            queue_bin_ns: self.queue.bin_ns(),
            outstanding_ns: self.queue.row(0).to_vec(),
            gantt: record.segments.iter().map(GanttBar::of).collect(),
            gantt_truncated: record.truncated,
            waiting: self.waiting,
            timeline,
            dispatched: dispatched.flatten(),
        };
        (summary, activity)
    }

    fn interference(&self) -> Interference {
        let [[reads_alone, reads_beside_writes], [writes_alone, writes_beside_reads]] =
            self.interference.each_ref().map(|met| met.each_ref().map(LatencySummary::of));
        Interference { reads_alone, reads_beside_writes, writes_alone, writes_beside_reads }
    }

    /// Nothing if there is only one.
    fn by_stream(&self) -> Vec<StreamSummary> {
        if self.known_streams < 2 {
            return Vec::new();
        }
        let summary = |stream, of: &OfStream| StreamSummary {
            stream,
            read: LatencySummary::of(&of.times[0]),
            write: LatencySummary::of(&of.times[1]),
            bytes: of.bytes,
            active_ns: of.active_ns(),
            bytes_per_s: of.bytes_per_s(),
        };
        let known = self.streams.iter().enumerate();
        let mut streams: Vec<StreamSummary> =
            known.filter_map(|(number, of)| of.as_ref().map(|of| summary(Some(number as u16), of))).collect();
        if self.has_other_streams() {
            streams.push(summary(None, &self.other_streams));
        }
        streams
    }

    fn has_other_streams(&self) -> bool {
        self.other_streams.times.iter().any(|times| times.count() > 0)
    }

    fn fairness(&self, elapsed_ns: f64) -> Option<f64> {
        let shared = self.streams.iter().flatten().filter(|of| of.active_ns() as f64 > elapsed_ns / 2.0);
        let shares: Vec<f64> = shared.map(|of| of.bytes_per_s()).collect();
        if shares.len() < 2 || self.has_other_streams() {
            return None;
        }
        let sum: f64 = shares.iter().sum();
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use ssdlab_core::Rng;

    /// Also those from before there was another stream.
    #[test]
    fn each_stream_has_its_response_times() {
        let mut rng = Rng::named(1, "streams");
        let mut meters = Meters::new(0);
        let (mut so_far, mut expected): ([LatencyHistogram; 4], [[LatencyHistogram; 2]; 3]) = Default::default();
        for number in 1..=3_000 {
            let stream = 2 - rng.below(1 + number / 1_000) as u16;
            let (op, latency_ns) = (Op::ALL[rng.below(4) as usize], 1 + rng.below(1_000));
            let request = Request { time_ns: 0, offset: 0, bytes: 512, op, flags: 0, stream };
            meters.request_done(&request, 1_000 * number, latency_ns, InBucket::of(0), &so_far);
            so_far[op as usize].record(latency_ns);
            if let Some(expected) = expected[usize::from(stream)].get_mut(op as usize) {
                expected.record(latency_ns);
            }
        }
        let found = meters.by_stream();
        assert_eq!(found.len(), 3);
        for (found, [read, write]) in found.iter().zip(&expected) {
            assert_eq!((&found.read, &found.write), (&LatencySummary::of(read), &LatencySummary::of(write)));
        }
    }
}
