//! The block layer of the host. Each scheduler declares its tunables in its own file; the options follow from there.

use super::{Derived, Fallback, KIB, Kind, MEBI, OptionSpec, Variant};
use crate::block::key_of;
use crate::parameters::option;
use ssdlab_sched::SCHEDULERS;

/// Every option; called once.
pub(super) fn options() -> Vec<OptionSpec> {
    let direct =
        Variant { name: "direct", help: "no block layer: requests go into the queues of the drive as they are" };
    let schedulers = SCHEDULERS.iter().map(|info| Variant { name: info.name, help: info.help });
    let variants: Vec<Variant> = std::iter::once(direct).chain(schedulers).collect();
    let scheduler = OptionSpec {
        key: "block.scheduler",
        kind: Kind::Choice(variants.leak()),
        fallback: Fallback::Value("direct"),
        help: "The I/O scheduler. Its tunables have the names and defaults of the kernel.",
        example: "mq-deadline",
    };
    let tunables = SCHEDULERS
        .iter()
        .flat_map(|info| info.tunables.iter().map(|one| option(key_of(info.name, one.name), one, one.help)));
    std::iter::once(scheduler).chain(tunables).chain(LAYER.iter().copied()).collect()
}

/// What is not the scheduler's.
const LAYER: &[OptionSpec] = &[
    OptionSpec {
        key: "block.frame",
        kind: Kind::Choice(&[
            Variant {
                name: "legacy",
                help: "the single queue of Linux 2.6.32: the queue is plugged, requests are limited by kind, one is \
                       chosen ahead",
            },
            Variant {
                name: "modern",
                help: "blk-mq of Linux 6 with one hardware queue: processes plug, one pool of requests",
            },
        ]),
        fallback: Fallback::Derived(Derived::Frame),
        help: "Which block layer is around the scheduler; both run any.",
        example: "modern",
    },
    OptionSpec {
        key: "block.slots",
        kind: Kind::Count { min: 1, max: 65_536 },
        fallback: Fallback::Derived(Derived::Slots),
        help: "Requests that the drive is given at a time; from 1 on.",
        example: "8",
    },
    OptionSpec {
        key: "block.nr_requests",
        // As the kernel: fewer than four do not make a queue.
        kind: Kind::Count { min: 4, max: MEBI },
        fallback: Fallback::Derived(Derived::NrRequests),
        help: "Requests there may be, in the legacy frame of each kind (synchronous or not); whoever finds none sleeps.",
        example: "256",
    },
    OptionSpec {
        key: "block.max_request",
        kind: Kind::Bytes { min: 4 * KIB, max: KIB * MEBI },
        fallback: Fallback::Derived(Derived::MaxRequest),
        help: "Largest request that merging makes; larger ones of the trace are cut.",
        example: "128KiB",
    },
    OptionSpec {
        key: "block.merges",
        kind: Kind::Choice(&[
            Variant { name: "all", help: "with any waiting request" },
            Variant { name: "last", help: "only with the request merged last" },
            Variant { name: "none", help: "none" },
        ]),
        fallback: Fallback::Value("all"),
        help: "Which requests are merged with waiting neighbours.",
        example: "none",
    },
    OptionSpec {
        key: "block.plug",
        kind: Kind::Bool,
        fallback: Fallback::Value("true"),
        help: "Whether requests wait a little for neighbours: in the legacy frame until four wait or 3 ms are over, in the \
               modern one until their process sleeps.",
        example: "false",
    },
    OptionSpec {
        key: "block.record",
        kind: Kind::Bool,
        fallback: Fallback::Value("false"),
        help: "Keeps the requests given to the drive in the result: a trace from below the scheduler, in memory.",
        example: "true",
    },
];
