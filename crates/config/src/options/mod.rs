//! Every option there is, in one table: from it come validation, suggestions, the JSON schema and the reference page.
//!
//! A key is a dotted path. An option of kind [`Kind::Choice`] names a *variant*; options whose key continues with that
//! name (`ftl.page.gc` and `ftl.page.gc.d_choices.d`) are the variant's parameters and exist only while it is chosen.
//! A chosen variant is written as a string, or as a table of its parameters.

mod block;
mod cache;
mod device;
mod drive;
mod ftl;
mod general;
mod host;
mod nand;
mod precondition;
mod workload;

use std::sync::LazyLock;

/// One option: where it is, what it may be, and what it means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OptionSpec {
    /// Dotted path, such as `nand.read`.
    pub key: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// What holds when nobody sets it.
    pub fallback: Fallback,
    /// One sentence for the reader of the reference page.
    pub help: &'static str,
    /// A value as `--set` takes it.
    pub example: &'static str,
}

/// Type and range of an option; both ends of a range are allowed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A size, `"4KiB"`.
    Bytes {
        /// Smallest, in bytes.
        min: u64,
        /// Largest, in bytes.
        max: u64,
    },
    /// A duration, `"25us"`.
    Nanos {
        /// Shortest, in nanoseconds.
        min: u64,
        /// Longest, in nanoseconds.
        max: u64,
    },
    /// A duration for all pages, or one for each page type: `"40us,80us"`.
    Durations {
        /// Longest, in nanoseconds.
        max: u64,
    },
    /// A share, `"7%"`.
    Percent {
        /// Smallest, in percent.
        min: f64,
        /// Largest, in percent.
        max: f64,
    },
    /// A whole number.
    Count {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// Whole numbers, `"4,2,1"`.
    Counts {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// How many at most.
        most: usize,
    },
    /// A number.
    Float {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// `true` or `false`.
    Bool,
    /// Events per second, `"20k/s"`; more than none.
    Rate,
    /// Bytes per second, `"600MB/s"`, or `"none"` for as many as there are.
    Bandwidth,
    /// Request sizes: `"4KiB"`, or a mix with shares, `"4KiB:70%,64KiB:30%"`.
    Sizes,
    /// A part of the device: a size, or `"device"` for all of it.
    Span,
    /// Log blocks: `40`, `"3%"` of the data blocks, or `"all"`.
    LogSpace,
    /// One of several variants.
    Choice(&'static [Variant]),
}

/// One value of a [`Kind::Choice`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// As written.
    pub name: &'static str,
    /// What choosing it means.
    pub help: &'static str,
}

/// What holds when an option is not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// This value, as `--set` takes it.
    Value(&'static str),
    /// The value of the first case that holds, else this one.
    Unless(&'static str, &'static [Case]),
    /// The value in [`crate::DEFAULT_PRESET`], whose file gives its source.
    Preset,
    /// What follows from other options.
    Derived(Derived),
    /// Nothing: whoever chooses the variant must set it.
    Required,
    /// Nothing: it is another way to say this option, and replaces it.
    InsteadOf(&'static str),
}

/// A default that follows from other options; `defaults.rs` says how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Derived {
    /// The kernel that the scheduler comes from.
    Frame,
    /// What the drive's protocol holds.
    Slots,
    /// What that kernel allows for so many slots.
    NrRequests,
    /// The largest request of that kernel.
    MaxRequest,
}

impl Derived {
    /// The rule in words.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Frame => "the kernel that the scheduler comes from",
            Self::Slots => {
                "what `drive.protocol` holds, at most 31 in the legacy frame, 1023 in the modern one; 32 (31) with `direct`"
            }
            Self::NrRequests => {
                "128 in the legacy frame; in the modern one twice the slots, at most 256, and with `none` as many as slots"
            }
            Self::MaxRequest => "512KiB in the legacy frame, 1280KiB in the modern one",
        }
    }
}

/// When an option has another default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// The option that decides. By its default no case holds.
    pub key: &'static str,
    /// What it must be.
    pub is: Is,
    /// The default then, as `--set` takes it.
    pub value: &'static str,
}

/// What decides a [`Case`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Is {
    /// A count of more than one.
    Many,
    /// This variant.
    Variant(&'static str),
}

/// `value` where the array has more than one plane.
const fn many_planes(value: &'static str) -> [Case; 4] {
    [
        Case { key: "nand.channels", is: Is::Many, value },
        Case { key: "nand.ways", is: Is::Many, value },
        Case { key: "nand.dies", is: Is::Many, value },
        Case { key: "nand.planes", is: Is::Many, value },
    ]
}

impl Case {
    /// The condition in words.
    pub fn condition(&self) -> String {
        match self.is {
            Is::Many => format!("{} > 1", self.key),
            Is::Variant(name) => format!("{} = {name:?}", self.key),
        }
    }
}

impl OptionSpec {
    /// The names of its variants; empty unless it is a choice.
    pub fn variants(&self) -> &'static [Variant] {
        match self.kind {
            Kind::Choice(variants) => variants,
            _ => &[],
        }
    }

    /// Whether some variant of this choice has parameters, so that a table may be written.
    pub fn has_parameters(&self) -> bool {
        !self.variants().is_empty() && OPTIONS.iter().any(|option| below(self.key, option.key).is_some())
    }

    /// The choices this option depends on, outermost first, each with the variant it needs.
    pub fn conditions(&self) -> impl Iterator<Item = (&'static OptionSpec, &'static str)> {
        let key = self.key;
        OPTIONS.iter().filter(|option| !option.variants().is_empty()).filter_map(move |choice| {
            let rest = below(choice.key, key)?;
            Some((choice, rest.split('.').next().unwrap_or(rest)))
        })
    }

    /// The option that says the same in another way, if there is one.
    pub fn alternative(&self) -> Option<&'static str> {
        match self.fallback {
            Fallback::InsteadOf(other) => Some(other),
            _ => OPTIONS.iter().find(|other| other.fallback == Fallback::InsteadOf(self.key)).map(|other| other.key),
        }
    }
}

/// The option with this key.
pub fn find(key: &str) -> Option<&'static OptionSpec> {
    OPTIONS.iter().find(|option| option.key == key)
}

/// What follows `prefix` and a dot in `key`.
pub fn below<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    key.strip_prefix(prefix)?.strip_prefix('.')
}

/// The top-level tables, each with a sentence for the reference page.
pub static SECTIONS: &[(&str, &str)] = &[
    ("device", "The drive as the host and its data sheet see it."),
    ("nand", "The flash array: how it is divided, how long its operations take and what its chips can do."),
    ("drive", "Controller and link of a drive that works on many requests at once; used with `time = \"event\"` only."),
    ("cache", "The cache of the host, above its block layer: what it holds never reaches the drive."),
    (
        "block",
        "The block layer of the host, between its processes and the drive, and its I/O scheduler; used with `time = \"event\"` only.",
    ),
    ("ftl", "The flash translation layer, which places pages and collects garbage."),
    ("host", "How requests reach the device."),
    ("precondition", "The state of the device before the first request."),
    ("workload", "The generated workload, for runs without a trace."),
];

/// Every option in the order of the reference page; a choice comes before the parameters of its variants. Schedulers
/// and caches bring tables of their own, so this one is put together when it is first needed.
pub static OPTIONS: LazyLock<Vec<OptionSpec>> = LazyLock::new(|| {
    let before = [general::OPTIONS, device::OPTIONS, nand::OPTIONS, drive::OPTIONS].concat();
    let after = [ftl::OPTIONS, host::OPTIONS, precondition::OPTIONS, workload::OPTIONS].concat();
    [before, cache::options(), block::options(), after].concat()
});

const SECOND: u64 = 1_000_000_000;
const KIB: u64 = 1 << 10;
const MEBI: u64 = 1 << 20;
const TIB: u64 = 1 << 40;
const U32: u64 = u32::MAX as u64;
