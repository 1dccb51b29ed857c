//! What-if changes: each makes one resource of the drive or host faster or larger, or removes it.
//!
//! The FTL's reserve (for open blocks, free blocks and the map) depends on the FTL, so a change of the FTL changes the
//! reserve. The over-provisioning without the reserve stays the same, as with `device.reserve = "extra"`.
//! `ssdlab-config` has the settings for each change.

use serde::Serialize;
use ssdlab_core::Nanos;
use ssdlab_ftl::map::ram;
use ssdlab_ftl::page::PageOptions;
use ssdlab_ftl::{FtlChoice, placement};
use ssdlab_nand::{Geometry, PageTimes, SlcTimes, Timing};

use super::drive::{DriveOptions, Front, Protocol, WriteBuffer};
use super::host::{BlockOptions, CacheOptions, Replay};
use super::{Clock, Setup};

macro_rules! what_ifs {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// A change to one resource of the drive or host.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum WhatIf {
            $($(#[$doc])* $variant,)+
        }

        impl WhatIf {
            /// Every what-if change.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name of the what-if change, as it appears in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

what_ifs! {
    /// Flash cells read, program and erase twice as fast.
    Dies = "dies",
    /// The channels move data twice as fast.
    Channels = "channels",
    /// The link moves data twice as fast.
    Link = "link",
    /// The controller works twice as fast.
    Controller = "controller",
    /// The write buffer is twice as large.
    Buffer = "buffer",
    /// The write buffer has power-loss protection.
    Protected = "protected",
    /// The drive and the block layer accept twice as many requests at once.
    Slots = "slots",
    /// The host keeps twice as many requests outstanding.
    Depth = "depth",
    /// The host has no think time between requests.
    NoThink = "no_think",
    /// Requests bypass the block layer.
    NoBlockLayer = "no_block_layer",
    /// The spare flash, beyond capacity and reserve, is twice as large; with a log-block FTL, there are twice as many
    /// log blocks.
    Spare = "spare",
    /// Garbage collection writes to a separate open block.
    Placement = "placement",
    /// The whole map is in RAM.
    Map = "map",
    /// The cache above the drive holds twice as many pages.
    Cache = "cache",
}

impl WhatIf {
    /// Returns the set-up with this what-if change applied; `None` if the change has no effect on the set-up.
    pub fn applied_to(self, setup: &Setup) -> Option<Setup> {
        let changed = match self {
            Self::Dies => timed(setup, |timing, _| {
                let half = |times: PageTimes| {
                    let halves: Vec<Nanos> = times.by_type().iter().map(|time| Nanos(time.0 / 2)).collect();
                    PageTimes::of(&halves).expect("halving the times keeps the number of page types")
                };
                timing.read = half(timing.read);
                timing.program = half(timing.program);
                timing.erase = Nanos(timing.erase.0 / 2);
                timing.slc = timing.slc.map(|SlcTimes { read, program, erase }| SlcTimes {
                    read: Nanos(read.0 / 2),
                    program: Nanos(program.0 / 2),
                    erase: Nanos(erase.0 / 2),
                });
            })?,
            Self::Channels => timed(setup, |timing, _| {
                timing.transfer_per_kib = Nanos(timing.transfer_per_kib.0 / 2);
            })?,
            Self::Link => in_front(setup, |front| {
                front.link_bytes_per_s = front.link_bytes_per_s.map(|rate| rate.saturating_mul(2));
            })?,
            Self::Controller => in_front(setup, |front| {
                front.controller.halve();
                front.dram_bytes_per_s = front.dram_bytes_per_s.map(|rate| rate.saturating_mul(2));
            })?,
            Self::Slots => {
                let drive = in_front(setup, |front| match &mut front.protocol {
                    Protocol::Direct => {}
                    Protocol::SingleQueue { depth } => *depth = depth.saturating_mul(2),
                    Protocol::MultiQueue { depth, slots, .. } => {
                        *depth = depth.saturating_mul(2);
                        *slots = slots.saturating_mul(2);
                    }
                })?;
                let block = setup.block.clone().map(|block| BlockOptions {
                    slots: block.slots.saturating_mul(2),
                    nr_requests: block.nr_requests.saturating_mul(2),
                    ..block
                });
                Setup { block, ..drive }
            }
            Self::Buffer => buffered(setup, |buffer| buffer.pages = buffer.pages.saturating_mul(2))?,
            Self::Protected => buffered(setup, |buffer| buffer.protected = true)?,
            Self::Depth => match setup.replay {
                Replay::Closed { depth, per_stream, think } => Setup {
                    replay: Replay::Closed { depth: depth.checked_mul(2)?, per_stream, think },
                    ..setup.clone()
                },
                Replay::Processes { .. } | Replay::Open { .. } => return None,
            },
            Self::NoThink => {
                let think = Nanos::ZERO;
                let replay = match setup.replay {
                    Replay::Closed { depth, per_stream, .. } => Replay::Closed { depth, per_stream, think },
                    Replay::Processes { .. } => Replay::Processes { think },
                    Replay::Open { .. } => return None,
                };
                Setup { replay, ..setup.clone() }
            }
            Self::NoBlockLayer => Setup { block: None, ..setup.clone() },
            Self::Spare => with_spare(setup)?,
            Self::Placement => match setup.ftl {
                FtlChoice::Page(options, map) => {
                    let options = PageOptions { placement: placement::own::INFO.defaults(), ..options };
                    with_ftl(setup, FtlChoice::Page(options, map))
                }
                FtlChoice::Log(..) => return None,
            },
            Self::Map => match setup.ftl {
                FtlChoice::Page(options, _) => {
                    let in_ram = with_ftl(setup, FtlChoice::Page(options, ram::INFO.defaults()));
                    timed(&in_ram, |_, drive| drive.host_memory = None).unwrap_or(in_ram)
                }
                FtlChoice::Log(..) => return None,
            },
            Self::Cache => {
                let cache = setup.cache.clone()?;
                let capacity_pages = cache.capacity_pages.checked_mul(2)?;
                Setup { cache: Some(CacheOptions { capacity_pages, ..cache }), ..setup.clone() }
            }
        };
        (changed != *setup).then_some(changed)
    }
}

fn timed(setup: &Setup, change: impl Fn(&mut Timing, &mut DriveOptions)) -> Option<Setup> {
    let Clock::Event(mut timing, mut drive) = setup.clock else { return None };
    change(&mut timing, &mut drive);
    Some(Setup { clock: Clock::Event(timing, drive), ..setup.clone() })
}

fn in_front(setup: &Setup, change: impl Fn(&mut Front)) -> Option<Setup> {
    timed(setup, |_, drive| change(&mut drive.front))
}

fn buffered(setup: &Setup, change: impl Fn(&mut WriteBuffer)) -> Option<Setup> {
    timed(setup, |_, drive| {
        if let Some(buffer) = &mut drive.buffer {
            change(buffer);
        }
    })
}

/// Returns the set-up with another FTL, and with the reserve of that FTL.
fn with_ftl(setup: &Setup, ftl: FtlChoice) -> Setup {
    let changed = Setup { ftl, ..setup.clone() };
    let blocks = setup.geometry.blocks + changed.reserve_blocks() - setup.reserve_blocks();
    Setup { geometry: Geometry { blocks, ..setup.geometry }, ..changed }
}

/// Returns the set-up with twice as many spare blocks (beyond capacity and reserve) or, for a log-block FTL, twice as
/// many log blocks. The number of blocks is rounded up to be equal in all planes.
fn with_spare(setup: &Setup) -> Option<Setup> {
    let geometry = &setup.geometry;
    let data_blocks = setup.logical_pages.div_ceil(geometry.pages_per_block);
    let (spare, ftl) = match setup.ftl {
        FtlChoice::Page(..) => (geometry.blocks.checked_sub(data_blocks + setup.reserve_blocks())?, setup.ftl),
        FtlChoice::Log(choice, log_blocks) => (log_blocks, FtlChoice::Log(choice, log_blocks.checked_mul(2)?)),
    };
    let blocks = geometry.blocks.checked_add(spare)?.next_multiple_of(geometry.areas());
    blocks.checked_mul(geometry.pages_per_block)?;
    Some(Setup { geometry: Geometry { blocks, ..*geometry }, ftl, ..setup.clone() })
}
