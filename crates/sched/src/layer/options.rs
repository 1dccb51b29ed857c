//! What a block layer is built from: those of Linux 2.6.32 and of Linux 6, and where a set-up differs from them.

use crate::MS;

/// Which block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The single queue of Linux 2.6.32: the queue is plugged, requests are limited by kind (synchronous or not), one
    /// request is chosen ahead while the device is full, ordering is by barriers.
    Legacy,
    /// blk-mq of Linux 5 and 6: tasks plug, each hardware queue has one pool of requests, flush and FUA without
    /// ordering.
    Modern,
}

/// Which merges are looked for (`nomerges` in sysfs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMerges {
    /// All.
    All,
    /// Only with the request that was merged last.
    LastOnly,
    /// None.
    None,
}

/// What a block layer is built from.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which one.
    pub frame: Frame,
    /// Name of the scheduler.
    pub scheduler: String,
    /// Tunables of the scheduler that differ from their defaults.
    pub tunables: Vec<(String, u64)>,
    /// Sectors of the device.
    pub device_sectors: u64,
    /// Whether the device has moving parts.
    pub rotational: bool,
    /// Hardware queues (modern frame; the legacy one has a single queue).
    pub queues: u16,
    /// Requests the device takes at a time from each of them.
    pub slots: u32,
    /// Requests there may be in each of them; in the legacy frame, of each kind.
    pub nr_requests: u32,
    /// Largest request that merging makes, in sectors.
    pub max_sectors: u32,
    /// Most memory segments of a request that merging makes.
    pub max_segments: u32,
    /// Sectors of a memory segment: 8 if the pages of a bio lie scattered in memory.
    pub segment_sectors: u32,
    /// Which merges are looked for.
    pub no_merges: NoMerges,
    /// Whether an idle queue is plugged (legacy frame). Linux plugs all but SSDs that the block layer itself gives
    /// tags to, which those behind libata are not.
    pub plug: bool,
    /// Waiting requests that unplug the queue (legacy frame).
    pub unplug_threshold: u32,
    /// How long the queue stays plugged, in nanoseconds (legacy frame).
    pub unplug_delay: u64,
    /// Requests of a task's plug (modern frame).
    pub plug_requests: usize,
    /// A plug whose last request has so many sectors takes no further one (modern frame).
    pub plug_sectors: u32,
    /// Whether the device has a cache that loses data with power: otherwise flush and FUA mean nothing.
    pub volatile_cache: bool,
    /// Whether the device knows FUA; otherwise a flush follows (modern frame).
    pub fua: bool,
    /// How long reads may be at the device before write-back is throttled, in nanoseconds; 0 never throttles (modern
    /// frame). Linux has 2 ms for SSDs and 75 ms for disks, and none under bfq.
    pub wbt_lat_ns: u64,
}

impl Options {
    /// Linux 2.6.32 with a SATA drive. 31 slots: libata keeps the last of its 32 tags to itself.
    pub fn legacy(scheduler: &str, device_sectors: u64) -> Self {
        Self {
            frame: Frame::Legacy,
            scheduler: scheduler.to_owned(),
            tunables: Vec::new(),
            device_sectors,
            rotational: false,
            queues: 1,
            slots: 31,
            nr_requests: 128,
            max_sectors: 1024,
            max_segments: 128,
            segment_sectors: 8,
            no_merges: NoMerges::All,
            plug: true,
            unplug_threshold: 4,
            unplug_delay: 3 * MS,
            plug_requests: 32,
            plug_sectors: 256,
            volatile_cache: true,
            fua: false,
            wbt_lat_ns: 0,
        }
    }

    /// Linux 6 with one hardware queue of 32. With a scheduler, twice the slots of the device are requests;
    /// memory comes in segments of up to 64 KiB.
    pub fn modern(scheduler: &str, device_sectors: u64) -> Self {
        let slots = 32;
        Self {
            frame: Frame::Modern,
            slots,
            nr_requests: if scheduler == "none" { slots } else { 2 * slots },
            max_sectors: 2560,
            segment_sectors: 128,
            ..Self::legacy(scheduler, device_sectors)
        }
    }

    /// Memory segments of a request.
    #[inline]
    pub(super) fn segments(&self, sectors: u32) -> u32 {
        // As a rule one, and a division takes its time.
        if sectors <= self.segment_sectors { u32::from(sectors > 0) } else { sectors.div_ceil(self.segment_sectors) }
    }
}
