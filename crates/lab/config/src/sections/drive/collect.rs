//! Reads the settings for collecting garbage in advance, before free pages run out.

use crate::checker::{Checker, Read};
use crate::kind::Choices;
use crate::sections::device::{Device, KnownDevice};
use crate::table::{OptionSpec, SECOND, count, nanos, option};
use ssdlab_ftl::FtlChoice;
use ssdlab_sim::{Collect, CollectGoal};

type ReadCollect = fn(&mut Checker<'_>, &FtlChoice, KnownDevice<'_>) -> Read<Collect>;

static COLLECTIONS: Choices<ReadCollect, 3> = Choices::new([
    ("foreground", "never", |_, _, _| Ok(Collect::Foreground)),
    ("idle", "after the drive has been idle for the time `after`", |checker, ftl, device| {
        Ok(Collect::Idle {
            after: checker.nanos("drive.collect.idle.after")?,
            goal: checker.collect_goal("drive.collect.idle", ftl, device)?,
        })
    }),
    ("background", "also while requests are served", |checker, ftl, device| {
        Ok(Collect::Background { goal: checker.collect_goal("drive.collect.background", ftl, device)? })
    }),
]);

const fn blocks(key: &'static str) -> OptionSpec {
    // This default is our choice: it suffices for a burst of writes that fills a few blocks per plane.
    count(key, 1..=65_536)
        .default("4")
        .example("8")
        .help("Target number of erased blocks per plane, in addition to the FTL's reserve.")
}

const fn step(key: &'static str) -> OptionSpec {
    // This default is our choice: a step is short compared with copying a block, so that an arriving request waits only
    // briefly.
    count(key, 1..=32_767)
        .default("8")
        .example("1")
        .help("Number of pages copied between two checks for waiting requests.")
}

pub(super) const OPTIONS: &[OptionSpec] = &[
    option("drive.collect", COLLECTIONS.kind()).default("foreground").example("background").help(
        "When garbage collection runs before free pages run out. Once free pages run out, requests always wait for \
         collection. Log-block FTLs support only `foreground`.",
    ),
    nanos("drive.collect.idle.after", 0..=1_000 * SECOND)
        // This default is our choice: it is longer than the pauses within a burst of requests.
        .default("10ms")
        .example("1ms")
        .help("Idle time after which collection starts."),
    blocks("drive.collect.idle.blocks"),
    step("drive.collect.idle.step"),
    blocks("drive.collect.background.blocks"),
    step("drive.collect.background.step"),
];

impl Checker<'_> {
    pub(super) fn collect(&mut self, ftl: &FtlChoice, device: KnownDevice<'_>) -> Read<Collect> {
        let read = self.choice("drive.collect", &COLLECTIONS)?;
        let collect = read(self, ftl, device)?;
        if collect != Collect::Foreground && matches!(ftl, FtlChoice::Log(..)) {
            let name = self.name("drive.collect")?;
            self.report("drive.collect", format!("log-block FTLs do not support {name:?}; set it to \"foreground\""));
        }
        Ok(collect)
    }

    /// Reads the number of erased blocks that garbage collection in advance must reach. Unreachable numbers are
    /// rejected, because collection would then copy pages until no invalid page is left.
    fn collect_goal(&mut self, variant: &str, ftl: &FtlChoice, device: KnownDevice<'_>) -> Read<CollectGoal> {
        let key = format!("{variant}.blocks");
        let blocks = self.small(&key)?;
        if let Some(Device { geometry, logical_pages, reserve_blocks, .. }) = device
            && matches!(ftl, FtlChoice::Page(..))
        {
            let planes = geometry.areas();
            let has = geometry.blocks / planes;
            let data = logical_pages.div_ceil(planes).div_ceil(geometry.pages_per_block);
            let kept = reserve_blocks.div_ceil(planes);
            // In addition to data and reserve, each plane needs one block for the invalid pages that collection leaves.
            let most = has.saturating_sub(data + kept + 1);
            if blocks > most {
                let remedy = match most {
                    0 => "set drive.collect to \"foreground\"".into(),
                    most => format!("lower it to {most}"),
                };
                let message = format!(
                    "cannot reach {blocks} erased blocks per plane: of {has} blocks per plane, data needs {data}, the \
                     FTL's reserve {kept} and garbage collection 1; {remedy}"
                );
                self.report(&key, message);
            }
        }
        Ok(CollectGoal { blocks, step: self.small(&format!("{variant}.step"))? })
    }
}
