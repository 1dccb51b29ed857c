//! The flash array: what it is made of, how long it takes and what it can do.

use crate::settings::{Checker, Read};
use crate::value::write_nanos;
use ssdlab_core::Nanos;
use ssdlab_nand::{Commands, Interruption, PageTimes, Parallelism, ProgramOrder, StripeOrder, Suspend, Timing};

impl Checker<'_> {
    pub(crate) fn program_order(&self) -> Read<ProgramOrder> {
        match self.choice("nand.order")? {
            "ascending" => Ok(ProgramOrder::Ascending),
            "any" => Ok(ProgramOrder::Any),
            other => Err(self.unknown("nand.order", other)),
        }
    }

    pub(crate) fn parallelism(&self) -> Read<Parallelism> {
        const ORDER: &str = "drive.order";
        let order = self.choice(ORDER)?;
        Ok(Parallelism {
            channels: self.small("nand.channels")?,
            ways: self.small("nand.ways")?,
            dies: self.small("nand.dies")?,
            planes: self.small("nand.planes")?,
            order: StripeOrder::named(order).ok_or_else(|| self.unknown(ORDER, order))?,
        })
    }

    /// Reports that there are too many planes, at the level there is most of.
    pub(crate) fn report_planes(&mut self, parallelism: &Parallelism, why: &str) {
        let levels = [
            ("nand.channels", parallelism.channels),
            ("nand.ways", parallelism.ways),
            ("nand.dies", parallelism.dies),
            ("nand.planes", parallelism.planes),
        ];
        let product = levels.map(|(_, count)| count.to_string()).join(" x ");
        let (widest, _) = levels.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default();
        let planes = parallelism.planes();
        self.report(widest, format!("{product} = {planes} planes {why}; lower it or raise device.capacity"));
    }

    pub(crate) fn timing(&self) -> Read<Timing> {
        Ok(Timing {
            read: self.page_times("nand.read")?,
            program: self.page_times("nand.program")?,
            erase: self.nanos("nand.erase")?,
            transfer_per_kib: self.nanos("nand.transfer_per_kib")?,
            copyback: self.flag("nand.copyback")?,
            partial_read: self.flag("nand.partial_read")?,
        })
    }

    fn page_times(&self, key: &str) -> Read<PageTimes> {
        let times: Vec<Nanos> = self.durations(key)?.into_iter().map(Nanos).collect();
        PageTimes::of(&times).ok_or_else(|| self.wrong_type(key))
    }

    /// What the chips can do; `timing` tells what is worth suspending.
    pub(crate) fn commands(&mut self, timing: &Timing) -> Read<Commands> {
        const SUSPEND: &str = "nand.suspend";
        let suspend = match self.choice(SUSPEND)? {
            "never" => Suspend::Never,
            "erase" => Suspend::Erase(self.interruption("nand.suspend.erase", "nand.erase", timing.erase)?),
            "erase_and_program" => {
                let shortest = timing.program.by_type().iter().copied().min().unwrap_or_default();
                Suspend::EraseAndProgram(self.interruption(
                    "nand.suspend.erase_and_program",
                    "nand.program",
                    shortest,
                )?)
            }
            other => return Err(self.unknown(SUSPEND, other)),
        };
        Ok(Commands {
            multiplane: self.flag("nand.multiplane")?,
            cache_read: self.flag("nand.cache_read")?,
            cache_program: self.flag("nand.cache_program")?,
            suspend,
        })
    }

    /// The parameters of a way to suspend operations; the shortest of them, `operation`, is over after `end`.
    fn interruption(&mut self, variant: &str, operation: &str, end: Nanos) -> Read<Interruption> {
        let key = format!("{variant}.time");
        let time = self.nanos(&key)?;
        if time >= end && end > Nanos::ZERO {
            let message = format!(
                "{} is no less than {operation}, {}: a read would not wait longer for its end; lower it or set \
                 nand.suspend to \"never\"",
                write_nanos(time.0),
                write_nanos(end.0)
            );
            self.report(&key, message);
        }
        Ok(Interruption { time, limit: self.small(&format!("{variant}.limit"))? })
    }
}
