//! Reads the settings that limit the rate of writes (pacing).

use crate::checker::{Checker, Read, Reader};
use crate::kind::Choices;
use crate::table::{OptionSpec, SECOND, count, nanos, option};
use ssdlab_sim::{Collect, Pace, WriteBuffer};

static PACES: Choices<Reader<Option<Pace>>, 3> = Choices::new([
    ("none", "as soon as the buffer has room", |_| Ok(None)),
    (
        "tokens",
        "each page takes a token from a bucket that gains one token per `interval` and holds at most `burst`",
        |checker| {
            let burst = checker.small("drive.pace.tokens.burst")?;
            Ok(Some(Pace::Tokens { interval: checker.nanos("drive.pace.tokens.interval")?, burst }))
        },
    ),
    (
        "credits",
        "while background garbage collection runs, each page costs one credit; erasing a block earns one credit per \
         invalid page of the block",
        |checker| Ok(Some(Pace::Credits { initial: checker.small("drive.pace.credits.initial")? })),
    ),
]);

pub(super) const OPTIONS: &[OptionSpec] = &[
    option("drive.pace", PACES.kind()).default("none").example("tokens").help(
        "When the write buffer accepts the pages of a write. Drives limit the rate of writes to keep latencies even.",
    ),
    nanos("drive.pace.tokens.interval", 1..=SECOND)
        // This default is our choice: 100,000 pages per second, near the sustained rate of data-centre drives.
        .default("10us")
        .example("13.07us")
        .help("Time between two new tokens: the sustained rate is one page per interval."),
    count("drive.pace.tokens.burst", 1..=1_000_000)
        // This default is our choice: there are no bursts, and accepted pages are at least one interval apart.
        .default("1")
        .example("3")
        .help("Maximum number of pages accepted at once after a pause."),
    count("drive.pace.credits.initial", 0..=1_000_000_000)
        // This default is our choice: a few program units hold this many pages.
        .default("256")
        .example("1024")
        .help("Initial number of credits."),
];

impl Checker<'_> {
    pub(super) fn pace(&mut self, buffer: Option<&WriteBuffer>, collect: &Collect) -> Read<Option<Pace>> {
        let pace = self.variant("drive.pace", &PACES)?;
        if pace.is_some() && buffer.is_none() {
            self.report("drive.pace", "needs a write buffer; set drive.buffer to \"eager\"");
        }
        if matches!(pace, Some(Pace::Credits { .. })) && !matches!(collect, Collect::Background { .. }) {
            let message = "credits need background collection (drive.collect = \"background\")";
            self.report("drive.pace", format!("{message}; set it to \"tokens\""));
        }
        Ok(pace)
    }
}
