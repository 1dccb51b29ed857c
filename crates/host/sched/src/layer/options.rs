//! Options of a block layer, with presets for Linux 2.6.32 and Linux 6.

use crate::MS;

/// Variant of the block layer: Linux 2.6.32 or a current version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockLayerKind {
    /// Single queue of Linux 2.6.32. The queue is plugged. Synchronous and asynchronous requests have separate limits.
    /// One request is chosen in advance while the device is full. Barriers order requests.
    SingleQueue,
    /// blk-mq of Linux 5 and 6. Tasks are plugged. Each hardware queue has one pool of requests. Flush and FUA do not
    /// order requests.
    MultiQueue,
}

/// Kinds of merges that the layer attempts (`nomerges` in sysfs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMerges {
    /// All possible merges are attempted.
    All,
    /// Only merges with the request merged last are attempted.
    LastOnly,
    /// No merges are attempted.
    None,
}

/// Options of a block layer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Variant of the block layer.
    pub kind: BlockLayerKind,
    /// Name of the I/O scheduler.
    pub scheduler: String,
    /// Tunables of the scheduler that differ from their defaults.
    pub tunables: Vec<(String, u64)>,
    /// Capacity of the device in sectors.
    pub device_sectors: u64,
    /// True for a disk with moving parts.
    pub rotational: bool,
    /// Number of hardware queues (multi-queue layer; the single-queue layer has one).
    pub queues: u16,
    /// Number of device slots per hardware queue.
    pub slots: u32,
    /// Number of requests per hardware queue. The single-queue layer has two sets of this size, one for synchronous and
    /// one for asynchronous bios.
    pub nr_requests: u32,
    /// Maximum size of a merged request, in sectors.
    pub max_sectors: u32,
    /// Maximum number of memory segments of a merged request.
    pub max_segments: u32,
    /// Number of sectors per memory segment; 8 if the pages of a bio are scattered in memory.
    pub segment_sectors: u32,
    /// Kinds of merges that the layer attempts.
    pub no_merges: NoMerges,
    /// True to plug an idle queue (single-queue layer). Linux does not plug the queue of an SSD that uses block layer
    /// tagging, but does plug the queue of an SSD behind libata.
    pub plug: bool,
    /// Number of waiting requests at which the queue is unplugged (single-queue layer).
    pub unplug_threshold: u32,
    /// Maximum time that the queue stays plugged, in nanoseconds (single-queue layer).
    pub unplug_delay: u64,
    /// Maximum number of requests in a task's plug (multi-queue layer).
    pub plug_requests: usize,
    /// A plug counts as full if its last request has this many sectors or more (multi-queue layer).
    pub plug_sectors: u32,
    /// True if the device has a volatile write cache; otherwise flush and FUA have no effect.
    pub volatile_cache: bool,
    /// True if the device supports FUA; otherwise a flush follows the data (multi-queue layer).
    pub fua: bool,
    /// Read latency target of writeback throttling in nanoseconds; 0 disables throttling (multi-queue layer). Linux
    /// uses 2 ms for SSDs and 75 ms for disks, and no throttling with bfq.
    pub wbt_lat_ns: u64,
}

impl Options {
    /// Returns the options of Linux 2.6.32 with a SATA drive. The drive has 31 slots, because libata reserves one of 32
    /// tags.
    pub fn legacy(scheduler: &str, device_sectors: u64) -> Self {
        Self {
            kind: BlockLayerKind::SingleQueue,
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

    /// Returns the options of Linux 6 with one hardware queue of 32 slots and memory segments of up to 64 KiB. With a
    /// scheduler, the queue has two requests per slot.
    pub fn modern(scheduler: &str, device_sectors: u64) -> Self {
        let slots = 32;
        Self {
            kind: BlockLayerKind::MultiQueue,
            slots,
            nr_requests: if scheduler == "none" { slots } else { 2 * slots },
            max_sectors: 2560,
            segment_sectors: 128,
            ..Self::legacy(scheduler, device_sectors)
        }
    }

    /// Returns the number of memory segments of a bio.
    #[inline]
    pub(super) fn segments(&self, sectors: u32) -> u32 {
        // Avoids a division in the usual case of one segment.
        if sectors <= self.segment_sectors { u32::from(sectors > 0) } else { sectors.div_ceil(self.segment_sectors) }
    }
}
