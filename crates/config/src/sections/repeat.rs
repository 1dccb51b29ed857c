//! How often a trace is replayed, wherever that is asked.

use crate::checker::{Checker, Read};
use crate::kind::Choices;
use ssdlab_sim::Repeat;

type Reader = fn(&Checker<'_>, &str) -> Read<Repeat>;

pub(super) static REPEATS: Choices<Reader, 2> = Choices::new([
    ("times", "`count` times", |checker, key| Ok(Repeat::Times(checker.count(&format!("{key}.times.count"))?))),
    (
        "until-steady",
        "until write amplification is steady: it differs by less than `within` between two successive windows, each the \
         fewest replays that write as many pages as the flash has; at most `most` times",
        |checker, key| {
            Ok(Repeat::UntilSteady {
                within: checker.share(&format!("{key}.until-steady.within"))?,
                most: checker.count(&format!("{key}.until-steady.most"))?,
            })
        },
    ),
]);

/// The options of a choice of [`REPEATS`]: key, default and help.
macro_rules! repeat_options {
    ($key:literal, $default:literal, $help:literal) => {
        [
            OptionSpec {
                key: $key,
                kind: REPEATS.kind(),
                fallback: Fallback::Value($default),
                help: $help,
                example: "until-steady",
            },
            OptionSpec {
                key: concat!($key, ".times.count"),
                kind: Kind::Count { min: 1, max: 1_000_000 },
                fallback: Fallback::Value("1"),
                help: "Replays.",
                example: "3",
            },
            OptionSpec {
                key: concat!($key, ".until-steady.within"),
                kind: Kind::Percent { min: 0.01, max: 50.0 },
                fallback: Fallback::Value("1%"),
                help: "Share by which write amplification may differ between one window and the next.",
                example: "0.5%",
            },
            OptionSpec {
                key: concat!($key, ".until-steady.most"),
                kind: Kind::Count { min: 1, max: 1_000_000 },
                fallback: Fallback::Value("100"),
                help: "Replays at most, steady or not.",
                example: "20",
            },
        ]
    };
}
pub(super) use repeat_options;

impl Checker<'_> {
    /// What the choice `key` comes to.
    pub(crate) fn repeat(&self, key: &str) -> Read<Repeat> {
        let read = self.choice(key, &REPEATS)?;
        read(self, key)
    }
}
