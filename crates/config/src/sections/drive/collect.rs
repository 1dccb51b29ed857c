//! Collection ahead of need.

use crate::checker::{Checker, Read};
use crate::figures::KnownDevice;
use crate::kind::{Choices, Kind};
use crate::sections::ftl::plan::Plan;
use crate::table::{Fallback, OptionSpec, SECOND};
use ssdlab_sim::{Collect, CollectGoal};

type ReadCollect = fn(&mut Checker<'_>, &Plan, KnownDevice<'_>) -> Read<Collect>;

static COLLECTIONS: Choices<ReadCollect, 3> = Choices::new([
    ("foreground", "not before", |_, _, _| Ok(Collect::Foreground)),
    ("idle", "when no request has been in the drive for `after`", |checker, plan, device| {
        Ok(Collect::Idle {
            after: checker.nanos("drive.collect.idle.after")?,
            goal: checker.collect_goal("drive.collect.idle", plan, device)?,
        })
    }),
    ("background", "also while requests are served", |checker, plan, device| {
        Ok(Collect::Background { goal: checker.collect_goal("drive.collect.background", plan, device)? })
    }),
]);

/// `blocks` of every collection ahead of need; the key is a stand-in.
const COLLECT_BLOCKS: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 1, max: 65_536 },
    // Our choice: a burst of a few blocks for each plane.
    fallback: Fallback::Value("4"),
    help: "Erased blocks to reach in each plane, beyond those that the FTL always keeps.",
    example: "8",
};

/// `step` of every collection ahead of need; the key is a stand-in.
const COLLECT_STEP: OptionSpec = OptionSpec {
    key: "",
    kind: Kind::Count { min: 1, max: 32_767 },
    // Our choice: short against a block, so that a request that arrives waits for little.
    fallback: Fallback::Value("8"),
    help: "Pages copied before it is seen again whether requests wait.",
    example: "1",
};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "drive.collect",
        kind: COLLECTIONS.kind(),
        fallback: Fallback::Value("foreground"),
        help: "Whether garbage is collected before free pages run out; when they do, requests wait for it, always. FTLs \
               with log blocks know the first only.",
        example: "background",
    },
    OptionSpec {
        key: "drive.collect.idle.after",
        kind: Kind::Nanos { min: 0, max: 1_000 * SECOND },
        // Our choice: longer than the pauses within a burst of requests.
        fallback: Fallback::Value("10ms"),
        help: "How long the drive must have been without requests.",
        example: "1ms",
    },
    OptionSpec { key: "drive.collect.idle.blocks", ..COLLECT_BLOCKS },
    OptionSpec { key: "drive.collect.idle.step", ..COLLECT_STEP },
    OptionSpec { key: "drive.collect.background.blocks", ..COLLECT_BLOCKS },
    OptionSpec { key: "drive.collect.background.step", ..COLLECT_STEP },
];

impl Checker<'_> {
    pub(super) fn collect(&mut self, plan: &Plan, device: KnownDevice<'_>) -> Read<Collect> {
        let read = self.choice("drive.collect", &COLLECTIONS)?;
        let collect = read(self, plan, device)?;
        if collect != Collect::Foreground && !plan.reserves_by_plane() {
            let name = self.name("drive.collect")?;
            let message = format!(
                "{name:?} has nothing to do: FTLs with log blocks merge only when they must; set it to \"foreground\""
            );
            self.report("drive.collect", message);
        }
        Ok(collect)
    }

    /// What is worked towards, which must be within reach: else collection would go on as long as any page is invalid.
    fn collect_goal(&mut self, variant: &str, plan: &Plan, device: KnownDevice<'_>) -> Read<CollectGoal> {
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
                let remedy = match most {
                    0 => "set drive.collect to \"foreground\"".into(),
                    most => format!("lower it to {most}"),
                };
                let message = format!(
                    "{blocks} erased blocks are out of reach: of {has} blocks of a plane, data fills {data}, the FTL \
                     keeps {kept} and one is being collected; {remedy}"
                );
                self.report(&key, message);
            }
        }
        Ok(CollectGoal { blocks, step: self.small(&format!("{variant}.step"))? })
    }
}
