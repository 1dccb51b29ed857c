//! Activity of a drive and waiting times of its requests, as metrics and as columns for plots.

use serde::Serialize;
use ssdlab_core::{InBucket, LatencyHistogram};
use ssdlab_nand::Geometry;
use ssdlab_nand::backend::parallel::{Bins, Record, Segment};
use ssdlab_trace::{Op, Request};

use crate::drive::buffer::BufferCounters;
use crate::host::block::{BlockStage, BlockSummary};
use crate::observe::breakdown::ResponseSummary;
use crate::observe::controller::ControllerCounters;
use crate::observe::intervals::Timeline;
use crate::observe::latency::{LatencyByOp, LatencySummary};

/// Maximum number of streams with separate response times; all further streams are reported together.
const MOST_STREAMS: usize = 256;

const NANOS_PER_SECOND: f64 = 1e9;

/// Mean, minimum and maximum of a metric over several resources.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean of the metric.
    pub mean: f64,
    /// Smallest value of the metric.
    pub min: f64,
    /// Largest value of the metric.
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

/// Response times of one stream (process) of the trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamSummary {
    /// Number of the stream; `None` for the entry that combines all streams after the first 256.
    pub stream: Option<u16>,
    /// Response times of the stream's reads.
    pub read: Option<LatencySummary>,
    /// Response times of the stream's writes.
    pub write: Option<LatencySummary>,
    /// Number of bytes read and written.
    pub bytes: u64,
    /// Time from the issue of the stream's first request to the end of its last request.
    pub active_ns: u64,
    /// Throughput during the stream's active time, in bytes per second.
    pub bytes_per_s: f64,
}

/// Times that requests spend in the drive. Reads that overlap a write in the drive are counted separately, and so are
/// writes that overlap a read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interference {
    /// Times of reads that overlapped no write in the drive.
    pub reads_alone: Option<LatencySummary>,
    /// Times of reads that overlapped a write in the drive.
    pub reads_beside_writes: Option<LatencySummary>,
    /// Times of writes that overlapped no read in the drive.
    pub writes_alone: Option<LatencySummary>,
    /// Times of writes that overlapped a read in the drive.
    pub writes_beside_reads: Option<LatencySummary>,
}

/// Metrics of channels, dies, queues and write buffer in the measured phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriveSummary {
    /// Number of channels.
    pub channels: u32,
    /// Number of dies.
    pub dies: u32,
    /// Number of planes per die.
    pub planes_per_die: u32,
    /// Share of time in which the cells of a die are busy: mean, minimum and maximum over the dies.
    pub die_utilisation: Spread,
    /// Share of time in which a channel moves data: mean, minimum and maximum over the channels.
    pub channel_utilisation: Spread,
    /// Share of the cells' busy time that is spent on collection, merges and the map.
    pub internal_share: f64,
    /// Mean number of outstanding requests over time.
    pub queue_depth_mean: f64,
    /// Maximum number of outstanding requests.
    pub queue_depth_max: u32,
    /// Waiting times of requests: until the drive takes them, then for the flash or for buffer space.
    pub waiting: LatencyByOp,
    /// Service times of requests: response times without waiting.
    pub service: LatencyByOp,
    /// Number of multi-plane commands.
    pub multiplane_commands: u64,
    /// Number of times that a program or erase was suspended for a read.
    pub suspensions: u64,
    /// Metrics of reads and writes that delay each other.
    pub interference: Interference,
    /// Response times by stream, if there are several streams.
    pub streams: Vec<StreamSummary>,
    /// Jain's fairness index of the throughput of streams (Jain, Chiu, Hawe 1984): 1 if all throughputs are equal, 1/n
    /// if one of n streams has all the throughput. Only streams that are active for more than half of the time count,
    /// because any two of them overlap. `None` with fewer than two such streams, or more than 256 streams.
    pub fairness: Option<f64>,
    /// Results of the host's block layer, if any.
    pub block: Option<BlockSummary>,
    /// Counters of the write buffer, if any.
    pub buffer: Option<BufferCounters>,
    /// Counters of the controller, if it has read-ahead, a map cache in host memory, or thermal throttling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerCounters>,
    /// Latency breakdown of requests, if attribution was on.
    pub response: Option<ResponseSummary>,
}

/// Busy times of dies and channels over time, in bins of equal length from the start of measuring.
#[derive(Clone, Debug)]
pub struct Activity {
    /// Bin length of the die columns, in nanoseconds. Bin lengths double as time advances, so other columns may have
    /// different bin lengths.
    pub die_bin_ns: u64,
    /// Busy time of the cells of each die, by bin.
    pub dies_busy_ns: Vec<Vec<u64>>,
    /// Bin length of `channels_busy_ns`, in nanoseconds.
    pub channel_bin_ns: u64,
    /// Busy time of each channel, by bin.
    pub channels_busy_ns: Vec<Vec<u64>>,
    /// Bin length of `internal_busy_ns`, in nanoseconds.
    pub internal_bin_ns: u64,
    /// Time that the cells spent on collection, merges and the map, summed over the dies, by bin.
    pub internal_busy_ns: Vec<u64>,
    /// Bin length of `outstanding_ns`, in nanoseconds.
    pub queue_bin_ns: u64,
    /// For each bin, the number of outstanding requests integrated over time in nanoseconds.
    pub outstanding_ns: Vec<u64>,
    /// Flash operations in the recorded window. Each transfer and each cell operation is a separate segment.
    ///
    /// Requests are numbered from 1 in the order in which the drive received them, including the warm-up. A program is
    /// attributed to the write that requested it, even if the write buffer issues the program later. Collection and map
    /// loads are attributed to the write that needs them.
    pub gantt: Vec<Segment>,
    /// True if the recorded time window contains more operations than can be recorded.
    pub gantt_truncated: bool,
    /// Waiting times of requests, by operation ([`Op`]).
    pub waiting: [LatencyHistogram; 4],
    /// Response and waiting times of requests, by time interval; `None` without latency attribution.
    pub timeline: Option<Timeline>,
    /// Requests that the block layer dispatched, if recorded; their times are relative to the start of measuring.
    pub dispatched: Option<Vec<Request>>,
}

/// Measurements of one stream of the trace.
#[derive(Default)]
struct StreamMeter {
    /// Response times of reads and writes. With a single stream they are not kept, because they equal the response
    /// times of all requests.
    times: [LatencyHistogram; 2],
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
}

impl StreamMeter {
    /// Counts a completed read or write.
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

/// Measurements of requests as they pass through a drive.
pub(crate) struct Meters {
    start_ns: u64,
    waiting: [LatencyHistogram; 4],
    service: [LatencyHistogram; 4],
    /// Times that reads and writes spent in the drive. Reads that overlapped a write in the drive are counted
    /// separately, and so are writes that overlapped a read.
    interference: [[LatencyHistogram; 2]; 2],
    streams: Vec<Option<Box<StreamMeter>>>,
    known_streams: usize,
    other_streams: StreamMeter,
    /// Number of requests in the drive, by operation.
    inside: [u32; Op::ALL.len()],
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
            inside: [0; Op::ALL.len()],
            queue: Bins::new(1, start_ns),
            outstanding: 0,
            since_ns: start_ns,
            most_outstanding: 0,
        }
    }

    /// Records that the number of outstanding requests changed at `now_ns`.
    #[inline]
    pub fn outstanding(&mut self, now_ns: u64, outstanding: u32) {
        self.queue.add(0, self.since_ns, now_ns, u64::from(self.outstanding));
        self.since_ns = now_ns;
        self.outstanding = outstanding;
        self.most_outstanding = self.most_outstanding.max(outstanding);
    }

    /// Counts a completed request; `so_far` holds the response times of earlier requests.
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
                self.add_stream(stream, so_far);
            }
            let is_alone = self.known_streams == 1;
            let of_stream = self.streams[stream].as_deref_mut().unwrap_or(&mut self.other_streams);
            of_stream.request_done(request, now_ns, latency_ns);
            if !is_alone {
                of_stream.times[request.op as usize].record(latency_ns);
            }
        }
    }

    /// Counts a request that the drive takes. Returns true if a request of the other direction (read or write) is in
    /// the drive.
    #[inline]
    pub fn entered_drive(&mut self, op: Op) -> bool {
        self.inside[op as usize] += 1;
        match op {
            Op::Read => self.inside[Op::Write as usize] > 0,
            Op::Write => self.inside[Op::Read as usize] > 0,
            Op::Trim | Op::Flush => false,
        }
    }

    /// Counts a request that leaves the drive after spending `inside_ns` in it.
    #[inline]
    pub fn left_drive(&mut self, op: Op, met_other: bool, inside_ns: u64) {
        self.inside[op as usize] -= 1;
        if matches!(op, Op::Read | Op::Write) {
            self.interference[op as usize][usize::from(met_other)].record(inside_ns);
        }
    }

    /// Adds a stream, unless the maximum number is reached.
    #[cold]
    fn add_stream(&mut self, stream: usize, so_far: &[LatencyHistogram; Op::ALL.len()]) {
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

    /// Returns the metrics and the columns for plots, including the results of latency attribution.
    pub fn finish(
        mut self,
        geometry: &Geometry,
        record: &Record,
        (buffer, controller): (Option<BufferCounters>, Option<ControllerCounters>),
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
        // With a million outstanding requests, the sum over nanoseconds would exceed 64 bits within hours.
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
            controller,
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
            gantt: record.segments.clone(),
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

    /// Returns the metrics of each stream, if there are several streams.
    fn by_stream(&self) -> Vec<StreamSummary> {
        if self.known_streams < 2 {
            return Vec::new();
        }
        let summary = |stream, of: &StreamMeter| StreamSummary {
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

    /// The second stream starts late, so the test also covers intervals in which it has no requests.
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
