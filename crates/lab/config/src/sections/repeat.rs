//! Options for the number of replays of a trace, used by several sections.

use crate::checker::{Checker, Read};
use crate::kind::Choices;
use crate::table::{OptionSpec, count, option, percent};
use ssdlab_sim::Repeat;

type Reader = fn(&Checker<'_>, &str) -> Read<Repeat>;

pub(super) static REPEATS: Choices<Reader, 2> = Choices::new([
    ("times", "`count` times", |checker, key| Ok(Repeat::Times(checker.count(&format!("{key}.times.count"))?))),
    (
        "until-steady",
        "until write amplification changes by less than `within` between two successive windows, up to `most` replays. \
         A window is the smallest number of replays that together write at least as many pages as the flash has",
        |checker, key| {
            Ok(Repeat::UntilSteady {
                within: checker.share(&format!("{key}.until-steady.within"))?,
                most: checker.count(&format!("{key}.until-steady.most"))?,
            })
        },
    ),
]);

/// Returns the option `choice` with the variants [`REPEATS`], and options for the variants' parameters.
pub(super) fn options(choice: &'static str, default: &'static str, help: &'static str) -> [OptionSpec; 4] {
    let key = |name| -> &'static str { format!("{choice}.{name}").leak() };
    [
        option(choice, REPEATS.kind()).default(default).example("until-steady").help(help),
        count(key("times.count"), 1..=1_000_000).default("1").example("3").help("Number of replays."),
        percent(key("until-steady.within"), 0.01..=50.0)
            .default("1%")
            .example("0.5%")
            .help("Maximum relative difference in write amplification between two successive windows."),
        count(key("until-steady.most"), 1..=1_000_000)
            .default("100")
            .example("20")
            .help("Maximum number of replays, even if write amplification is not steady."),
    ]
}

impl Checker<'_> {
    /// Reads the number of replays from the option `key` and its parameters.
    pub(crate) fn repeat(&self, key: &str) -> Read<Repeat> {
        let read = self.choice(key, &REPEATS)?;
        read(self, key)
    }
}
