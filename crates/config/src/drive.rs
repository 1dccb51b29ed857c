//! How time passes, and the drive that works on many requests at once.

use crate::device::DeviceFigures;
use crate::ftl::Plan;
use crate::options::Variant;
use crate::settings::{Checker, Read};
use crate::value::{write_bytes, write_percent};
use ssdlab_core::Nanos;
use ssdlab_nand::backend::parallel::Window;
use ssdlab_nand::backend::parallel::scheduler::{DieSchedulerInfo, die_scheduler};
use ssdlab_nand::{Commands, Geometry, Timing};
use ssdlab_sim::{Arbitration, Clock, Collect, CollectGoal, DriveOptions, FlushPolicy, Front, Protocol, WriteBuffer};

macro_rules! level {
    (C) => {
        "channel"
    };
    (W) => {
        "way"
    };
    (D) => {
        "die"
    };
    (P) => {
        "plane"
    };
}

macro_rules! orders {
    ($($first:tt $second:tt $third:tt $fourth:tt,)*) => {
        &[$(Variant {
            name: concat!(stringify!($first), stringify!($second), stringify!($third), stringify!($fourth)),
            help: concat!(level!($first), ", ", level!($second), ", ", level!($third), ", ", level!($fourth)),
        }),*]
    };
}

/// Every order in which planes can follow each other.
#[rustfmt::skip]
pub(crate) const ORDERS: &[Variant] = orders![
    C W D P, C W P D, C D W P, C D P W, C P W D, C P D W,
    W C D P, W C P D, W D C P, W D P C, W P C D, W P D C,
    D C W P, D C P W, D W C P, D W P C, D P C W, D P W C,
    P C W D, P C D W, P W C D, P W D C, P D C W, P D W C,
];

impl Checker<'_> {
    /// The time model; the device is known unless something is wrong with it.
    pub(crate) fn clock(&mut self, plan: &Plan, device: Option<&(Geometry, DeviceFigures)>) -> Read<Clock> {
        match self.choice("time")? {
            "count" => Ok(Clock::Count),
            "serial" => Ok(Clock::Serial(self.timing()?)),
            "event" => {
                let timing = self.timing()?;
                self.refuse_no_time(&timing);
                let commands = self.commands(&timing)?;
                Ok(Clock::Event(timing, self.drive(commands, plan, device)?))
            }
            other => Err(self.unknown("time", other)),
        }
    }

    /// With one request after the other an operation may take no time; a closed loop of many would never end.
    fn refuse_no_time(&mut self, timing: &Timing) {
        let shortest = |times: &[Nanos]| times.iter().copied().min().unwrap_or_default();
        for (key, time) in [
            ("nand.read", shortest(timing.read.by_type())),
            ("nand.program", shortest(timing.program.by_type())),
            ("nand.erase", timing.erase),
        ] {
            if time == Nanos::ZERO {
                let message = "0ns would let the simulation make infinitely many requests in no time; raise it, or set \
                               time to \"serial\"";
                self.report(key, message.into());
            }
        }
    }

    fn drive(
        &mut self,
        commands: Commands,
        plan: &Plan,
        device: Option<&(Geometry, DeviceFigures)>,
    ) -> Read<DriveOptions> {
        Ok(DriveOptions {
            commands,
            scheduler: self.scheduler()?,
            front: Front {
                protocol: self.protocol()?,
                link_bytes_per_s: self.bandwidth("drive.link")?,
                full_duplex: match self.choice("drive.duplex")? {
                    "full" => true,
                    "half" => false,
                    other => return Err(self.unknown("drive.duplex", other)),
                },
                command: self.nanos("drive.command")?,
            },
            buffer: self.buffer(device)?,
            collect: self.collect(plan, device)?,
            backlog: self.small("drive.backlog")?,
        })
    }

    fn scheduler(&self) -> Read<&'static DieSchedulerInfo> {
        const SCHEDULER: &str = "drive.scheduler";
        let name = self.choice(SCHEDULER)?;
        die_scheduler(name).ok_or_else(|| self.unknown(SCHEDULER, name))
    }

    fn protocol(&self) -> Read<Protocol> {
        const PROTOCOL: &str = "drive.protocol";
        match self.choice(PROTOCOL)? {
            "direct" => Ok(Protocol::Direct),
            "sata" => Ok(Protocol::SingleQueue { depth: self.small("drive.protocol.sata.depth")? }),
            "ufs" => Ok(Protocol::SingleQueue { depth: self.small("drive.protocol.ufs.depth")? }),
            "nvme" => Ok(Protocol::MultiQueue {
                queues: self.small("drive.protocol.nvme.queues")?,
                depth: self.small("drive.protocol.nvme.depth")?,
                slots: self.small("drive.protocol.nvme.slots")?,
                arbitration: self.arbitration()?,
            }),
            other => Err(self.unknown(PROTOCOL, other)),
        }
    }

    fn arbitration(&self) -> Read<Arbitration> {
        const ARBITRATION: &str = "drive.protocol.nvme.arbitration";
        const WEIGHTS: &str = "drive.protocol.nvme.arbitration.weighted.weights";
        match self.choice(ARBITRATION)? {
            "round_robin" => {
                Ok(Arbitration::RoundRobin { burst: self.small("drive.protocol.nvme.arbitration.round_robin.burst")? })
            }
            "weighted" => {
                let given = self.counts(WEIGHTS)?;
                let mut weights = [0; 8];
                for (index, weight) in weights.iter_mut().enumerate() {
                    // The last one given holds for the rest.
                    let given = given.get(index).or(given.last()).copied().unwrap_or_default();
                    *weight = u16::try_from(given).map_err(|_| self.wrong_type(WEIGHTS))?;
                }
                Ok(Arbitration::Weighted { weights })
            }
            other => Err(self.unknown(ARBITRATION, other)),
        }
    }

    fn buffer(&mut self, device: Option<&(Geometry, DeviceFigures)>) -> Read<Option<WriteBuffer>> {
        const BUFFER: &str = "drive.buffer";
        let (variant, flush) = match self.choice(BUFFER)? {
            "none" => return Ok(None),
            "eager" => ("drive.buffer.eager", FlushPolicy::Eager),
            "watermark" => ("drive.buffer.watermark", self.watermark()?),
            other => return Err(self.unknown(BUFFER, other)),
        };
        let key = format!("{variant}.size");
        let bytes = self.bytes(&key)?;
        let page_bytes = self.bytes("nand.page_size")?;
        if bytes < page_bytes {
            let message = format!(
                "{} holds no page of {}; raise it or set drive.buffer to \"none\"",
                write_bytes(bytes),
                write_bytes(page_bytes)
            );
            self.report(&key, message);
        }
        if let Some((_, device)) = device
            && bytes > device.capacity_bytes
        {
            let capacity = write_bytes(device.capacity_bytes);
            self.report(&key, format!("{} is more than the drive of {capacity}; lower it", write_bytes(bytes)));
        }
        // A size in its range fits: the smallest pages are 512 bytes.
        let pages = u32::try_from(bytes / page_bytes).unwrap_or(u32::MAX);
        Ok(Some(WriteBuffer { pages, flush, protected: self.flag(&format!("{variant}.plp"))? }))
    }

    fn watermark(&mut self) -> Read<FlushPolicy> {
        const LOW: &str = "drive.buffer.watermark.low";
        let high = self.share("drive.buffer.watermark.high")?;
        let low = self.share(LOW)?;
        if low >= high {
            let message = format!(
                "{} is no less than high = {}; lower it",
                write_percent(low * 100.0),
                write_percent(high * 100.0)
            );
            self.report(LOW, message);
        }
        Ok(FlushPolicy::Watermark { high, low })
    }

    fn collect(&mut self, plan: &Plan, device: Option<&(Geometry, DeviceFigures)>) -> Read<Collect> {
        const COLLECT: &str = "drive.collect";
        let collect = self.choice(COLLECT)?;
        if collect != "foreground" && !plan.reserves_by_plane() {
            let message = format!(
                "{collect:?} has nothing to do: FTLs with log blocks merge only when they must; set it to \"foreground\" or \
                 ftl to \"page\""
            );
            self.report(COLLECT, message);
        }
        match collect {
            "foreground" => Ok(Collect::Foreground),
            "idle" => Ok(Collect::Idle {
                after: self.nanos("drive.collect.idle.after")?,
                goal: self.collect_goal("drive.collect.idle", plan, device)?,
            }),
            "background" => {
                Ok(Collect::Background { goal: self.collect_goal("drive.collect.background", plan, device)? })
            }
            other => Err(self.unknown(COLLECT, other)),
        }
    }

    /// What is worked towards, which must be within reach: else collection would go on as long as any page is invalid.
    fn collect_goal(
        &mut self,
        variant: &str,
        plan: &Plan,
        device: Option<&(Geometry, DeviceFigures)>,
    ) -> Read<CollectGoal> {
        let key = format!("{variant}.blocks");
        let blocks = self.small(&key)?;
        if let Some((geometry, device)) = device
            && plan.reserves_by_plane()
        {
            let planes = geometry.parallelism.planes();
            let has = device.blocks / planes;
            let data = device.logical_pages.div_ceil(planes).div_ceil(geometry.pages_per_block);
            let kept = device.reserve_blocks.div_ceil(planes);
            // Of what is left, one block holds the invalid pages that are still to be collected.
            let most = has.saturating_sub(data + kept + 1);
            if blocks > most {
                let (share, _) = self.provision()?;
                let message = format!(
                    "{blocks} erased blocks are out of reach: of {has} blocks of a plane, data fills {data}, the FTL \
                     keeps {kept} and one is being collected; {}",
                    match most {
                        0 => format!("raise {share} or set drive.collect to \"foreground\""),
                        _ => format!("lower it to {most} or raise {share}"),
                    }
                );
                self.report(&key, message);
            }
        }
        Ok(CollectGoal { blocks, step: self.small(&format!("{variant}.step"))? })
    }

    /// The window of which operations are recorded.
    pub(crate) fn gantt(&mut self, clock: &Clock) -> Read<Option<Window>> {
        const LENGTH: &str = "gantt.window.length";
        let window = match self.choice("gantt")? {
            "none" => return Ok(None),
            "window" => Window { from: self.nanos("gantt.window.from")?, length: self.nanos(LENGTH)? },
            other => return Err(self.unknown("gantt", other)),
        };
        if !matches!(clock, Clock::Event(..)) {
            let message = "no time of channels and dies is modelled; set time to \"event\" or gantt to \"none\"";
            self.report("gantt", message.into());
        }
        if window.length == Nanos::ZERO {
            self.report(LENGTH, "0ns records nothing; raise it or set gantt to \"none\"".into());
        }
        Ok(Some(window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_nand::StripeOrder;

    #[test]
    fn every_order_is_there_once() {
        let orders: Vec<_> = ORDERS.iter().map(|order| StripeOrder::named(order.name).expect(order.name)).collect();
        assert_eq!(orders.first(), Some(&StripeOrder::CWDP));
        let distinct = orders.iter().enumerate().all(|(index, order)| !orders[..index].contains(order));
        assert!(orders.len() == 24 && distinct);
    }
}
