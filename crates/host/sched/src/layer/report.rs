//! Results of the block layer: outcome of a submission, operations for the device, counters, and pending work.

use std::fmt;

use ssdlab_core::counters;

use crate::request::RequestId;

/// Outcome of submitting a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The bio was accepted; the submitting process continues.
    Accepted,
    /// The bio waits: no request is available, or writeback throttling holds it back. Its position among the waiting
    /// bios is kept. The submitting process sleeps until [`BlockLayer::woken`](super::BlockLayer::woken) returns the
    /// bio.
    MustWait,
    /// The bio is already complete: it is a flush, and the device has no volatile cache.
    Ended,
}

/// Operation that the device executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The device reads sectors.
    Read,
    /// The device writes sectors, possibly to a volatile cache.
    Write,
    /// The device writes sectors through to stable media.
    WriteThrough,
    /// The device discards sectors.
    Discard,
    /// The device flushes its volatile cache to stable media.
    Flush,
}

/// A request for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatched {
    /// Number of the request, to pass to [`BlockLayer::completed`](super::BlockLayer::completed).
    pub id: RequestId,
    /// Operation that the device executes.
    pub operation: Operation,
    /// First sector of the request, in units of 512 bytes.
    pub start: u64,
    /// Number of sectors of the request; zero for a flush.
    pub sectors: u32,
    /// Submission time of the earliest bio, or issue time of a flush, in nanoseconds.
    pub arrived: u64,
    /// Process of the first bio; for a flush, a process that uses the hardware queue.
    pub pid: u32,
}

counters! {
    /// Counters of the block layer.
    pub struct BlockCounters {
        bios: "bios", "Bios submitted; trace requests larger than `block.max_request` are split.";
        bios_waited: "bios", "Bios that had to wait for a free request.";
        requests: "requests", "Requests allocated for bios.";
        back_merges: "bios", "Bios merged at the back of a waiting request.";
        front_merges: "bios", "Bios merged at the front of a waiting request.";
        request_merges: "requests", "Requests merged into a neighbour.";
        dispatched_reads: "requests", "Reads dispatched to the device.";
        dispatched_writes: "requests", "Writes and discards dispatched to the device.";
        dispatched_flushes: "requests", "Flushes dispatched to the device.";
        dispatched_read_sectors: "sectors", "512-byte sectors in dispatched reads.";
        dispatched_write_sectors: "sectors", "512-byte sectors in dispatched writes and discards.";
        direction_changes: "events", "Times a read was dispatched after a write, or a write after a read.";
        plugs: "events", "Times the queue or a task was plugged.";
        unplugs_timer: "events", "Unplugs because the unplug delay expired.";
        unplugs_threshold: "events", "Unplugs because enough requests waited or a task's plug was full.";
        unplugs_bio: "events", "Unplugs requested by a bio.";
        unplugs_task: "events", "Unplugs because a task finished its plug or went to sleep.";
        unplugs_completion: "events", "Unplugs because a request completed.";
        unplugs_scheduler: "events", "Times the scheduler asked to unplug the device.";
    }
}

/// Work still pending; reported when a run stops early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Number of bios that wait for a request or are throttled.
    pub waiting_bios: usize,
    /// Number of requests in the plugs of tasks.
    pub plugged: usize,
    /// Number of requests in the scheduler.
    pub queued: usize,
    /// Number of requests that have left or bypassed the scheduler but have not been sent to the device.
    pub ahead: usize,
    /// Number of requests at the device.
    pub in_flight: usize,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiting_bios, plugged, queued, ahead, in_flight } = self;
        write!(
            f,
            "{waiting_bios} bios waiting for a request; requests: {plugged} plugged, {queued} in the scheduler, "
        )?;
        write!(f, "{ahead} in dispatch lists, {in_flight} at the device")
    }
}
