//! What a block layer tells its caller: what became of a bio, what the device is to do, what it did and what is left.

use std::fmt;

use ssdlab_core::counters;

use crate::request::RequestId;

/// What became of a submitted bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It has been taken; its submitter continues.
    Accepted,
    /// There is no request for it, or writeback throttling holds it back. The bio keeps its place in the queue; its
    /// submitter sleeps until [`BlockLayer::woken`](super::BlockLayer::woken) hands it out.
    MustWait,
    /// There was nothing to do: a flush of a device without volatile cache.
    Ended,
}

/// What the device is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read sectors.
    Read,
    /// Write sectors.
    Write,
    /// Write sectors through to stable media.
    WriteThrough,
    /// Forget sectors.
    Discard,
    /// Write the volatile cache to stable media.
    Flush,
}

/// A request that goes to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatched {
    /// Number to call [`BlockLayer::completed`](super::BlockLayer::completed) with.
    pub id: RequestId,
    /// What is to be done.
    pub operation: Operation,
    /// First sector, of 512 bytes.
    pub start: u64,
    /// Sectors; zero for a flush.
    pub sectors: u32,
    /// When its earliest bio was submitted, in nanoseconds; for a flush, when it was issued.
    pub arrived: u64,
    /// Process of its first bio; of a flush, one whose hardware queue it takes.
    pub pid: u32,
}

counters! {
    /// What the block layer has done.
    pub struct BlockCounters {
        bios: "bios", "Bios submitted: requests of the trace, cut where they are longer than `block.max_request`.";
        bios_waited: "bios", "Bios that found no request and waited for one.";
        requests: "requests", "Requests made for bios.";
        back_merges: "bios", "Bios put behind a waiting request.";
        front_merges: "bios", "Bios put in front of a waiting request.";
        request_merges: "requests", "Requests that became part of a neighbour.";
        dispatched_reads: "requests", "Reads given to the device.";
        dispatched_writes: "requests", "Writes and discards given to the device.";
        dispatched_flushes: "requests", "Flushes given to the device.";
        dispatched_read_sectors: "sectors", "Sectors, of 512 bytes, of the reads given to the device.";
        dispatched_write_sectors: "sectors", "Sectors, of 512 bytes, of the writes and discards given to the device.";
        direction_changes: "events", "Reads given to the device after writes, and the other way round.";
        plugs: "events", "Times the queue, or a task, was plugged.";
        unplugs_timer: "events", "Unplugged because the delay was over.";
        unplugs_threshold: "events", "Unplugged because enough requests waited, or the plug of a task was full.";
        unplugs_bio: "events", "Unplugged by a bio that said so.";
        unplugs_task: "events", "Unplugged because a task finished its plug or went to sleep.";
        unplugs_completion: "events", "Unplugged by the completion of a request.";
        unplugs_scheduler: "events", "Unplugged because the scheduler wanted to go on at once.";
    }
}

/// What has not ended, for messages about a run that stopped short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Bios that wait for a request, or are throttled.
    pub waiting_bios: usize,
    /// Requests in plugs of tasks.
    pub plugged: usize,
    /// Requests in the scheduler.
    pub queued: usize,
    /// Requests past the scheduler, or around it, that are not at the device.
    pub ahead: usize,
    /// Requests at the device.
    pub in_flight: usize,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiting_bios, plugged, queued, ahead, in_flight } = self;
        write!(f, "{waiting_bios} bios wait for a request; requests: {plugged} plugged, {queued} in the scheduler, ")?;
        write!(f, "{ahead} ahead of the device, {in_flight} at it")
    }
}
