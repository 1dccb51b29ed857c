//! Which block garbage collection takes next: the victim policies with their parameters.

use crate::checker::Reader;
use crate::kind::{Choices, Kind};
use crate::table::{Fallback, OptionSpec, U32};
use ssdlab_ftl::gc;
use ssdlab_ftl::page::VictimChoice;

pub(super) static VICTIMS: Choices<Reader<VictimChoice>, 6> = Choices::new([
    ("greedy", gc::greedy::HELP, |_| Ok(VictimChoice::Greedy)),
    ("fifo", gc::fifo::HELP, |_| Ok(VictimChoice::Fifo)),
    ("random", gc::random::HELP, |_| Ok(VictimChoice::Random)),
    ("d_choices", gc::d_choices::HELP, |checker| {
        Ok(VictimChoice::DChoices { d: checker.small("ftl.page.gc.d_choices.d")? })
    }),
    ("cost_benefit", gc::cost_benefit::HELP, |_| Ok(VictimChoice::CostBenefit)),
    ("windowed_greedy", gc::windowed_greedy::HELP, |checker| {
        Ok(VictimChoice::WindowedGreedy { window: checker.small("ftl.page.gc.windowed_greedy.window")? })
    }),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "ftl.page.gc",
        kind: VICTIMS.kind(),
        fallback: Fallback::Value("greedy"),
        help: "Which block garbage collection takes next.",
        example: "fifo",
    },
    OptionSpec {
        key: "ftl.page.gc.d_choices.d",
        kind: Kind::Count { min: 1, max: 65_536 },
        fallback: Fallback::Value("10"),
        help: "Blocks drawn at random.",
        example: "5",
    },
    OptionSpec {
        key: "ftl.page.gc.windowed_greedy.window",
        kind: Kind::Count { min: 1, max: U32 },
        fallback: Fallback::Value("256"),
        help: "Oldest blocks considered.",
        example: "64",
    },
];
