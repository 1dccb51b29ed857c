//! The drive that works on many requests at once: controller, link and order of the array.

mod buffer;
mod collect;
mod protocol;
pub(super) mod stripe;

use super::ftl::plan::Plan;
use crate::checker::{Checker, Read};
use crate::figures::KnownDevice;
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, OptionSpec, SECOND, Section, Use};
use ssdlab_nand::Commands;
use ssdlab_nand::backend::parallel::scheduler::DIE_SCHEDULERS;
use ssdlab_sim::{DriveOptions, Front};
use stripe::STRIPE_ORDERS;

pub(crate) const SECTION: Section = Section {
    name: "drive",
    help: "Controller and link of a drive that works on many requests at once.",
    used: &[Use::With("time", "event")],
    options,
};

/// Whether the link is full duplex.
static DUPLEX: Choices<bool, 2> =
    Choices::new([("full", "data goes both ways at once", true), ("half", "one way at a time", false)]);

fn options() -> Vec<OptionSpec> {
    let array = [
        OptionSpec {
            key: "drive.order",
            kind: STRIPE_ORDERS.kind(),
            fallback: Fallback::Value("CWDP"),
            help: "In which order successive pages are spread over channels (C), ways (W), dies (D) and planes (P): the \
                   level that changes with every page first.",
            example: "PDWC",
        },
        OptionSpec {
            key: "drive.scheduler",
            kind: Kind::of_names(DIE_SCHEDULERS.iter().map(|info| (info.name, info.help))),
            fallback: Fallback::Value("out_of_order"),
            help: "Which of the operations that wait for a die goes next.",
            example: "read_first",
        },
    ];
    [&array, OPTIONS, protocol::OPTIONS, buffer::OPTIONS, collect::OPTIONS].concat()
}

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "drive.backlog",
        kind: Kind::Count { min: 1, max: 65_536 },
        fallback: Fallback::Value("64"),
        help: "Flash operations under way for each die, on average, above which no further request is taken, or, where there \
               is a buffer, no further page of it is programmed.",
        example: "16",
    },
    OptionSpec {
        key: "drive.command",
        kind: Kind::Nanos { min: 0, max: SECOND },
        fallback: Fallback::Value("0ns"),
        help: "Work of the controller on each request, one after the other, before its first flash operation.",
        example: "2us",
    },
    OptionSpec {
        key: "drive.link",
        kind: Kind::Bandwidth,
        fallback: Fallback::Value("none"),
        help: "Bandwidth of the link to the host; `none` takes no time.",
        example: "600MB/s",
    },
    OptionSpec {
        key: "drive.duplex",
        kind: DUPLEX.kind(),
        fallback: Fallback::Value("full"),
        help: "Ways of the link.",
        example: "half",
    },
];

impl Checker<'_> {
    pub(crate) fn drive(&mut self, commands: Commands, plan: &Plan, device: KnownDevice<'_>) -> Read<DriveOptions> {
        Ok(DriveOptions {
            commands,
            scheduler: self.named("drive.scheduler", |name| DIE_SCHEDULERS.find(name))?,
            front: Front {
                protocol: self.protocol()?,
                link_bytes_per_s: self.bandwidth("drive.link")?,
                full_duplex: self.choice("drive.duplex", &DUPLEX)?,
                command: self.nanos("drive.command")?,
            },
            buffer: self.buffer(device)?,
            collect: self.collect(plan, device)?,
            backlog: self.small("drive.backlog")?,
        })
    }
}
