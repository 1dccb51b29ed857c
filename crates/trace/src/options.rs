//! How a trace is to be read.

use ssdlab_core::suggest::named;

use crate::{Columns, Format, Op, TraceError};

/// What to take from a trace, and how strictly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; `None` recognises it by the first bytes.
    pub format: Option<Format>,
    /// What the columns of a file of [`Format::Columns`] hold.
    pub columns: Option<Columns>,
    /// What several files are to each other.
    pub files: Files,
    /// Which device's requests to replay.
    pub device: DeviceChoice,
    /// Which event of a request's life to take from traces of events; `None` for the usual one of the format:
    /// [`Action::Queue`] of blkparse and blktrace, [`Action::Issue`] of ftrace and ETW.
    pub action: Option<Action>,
    /// Count malformed lines and records instead of stopping at the first.
    pub skip_bad: bool,
    /// What requests address.
    pub target: Target,
}

/// What requests address. Objects have a key, which may be text, instead of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Bytes of a drive.
    #[default]
    Drive,
    /// Objects of a cache that is measured in bytes. A trim needs no size.
    SizedObjects,
    /// Objects of a cache that counts them. No request needs a size.
    CountedObjects,
}

impl Target {
    /// Returns true if requests of no bytes are kept.
    pub(crate) fn keeps_empty(self, op: Op) -> bool {
        match self {
            Self::Drive => false,
            Self::SizedObjects => op == Op::Trim,
            Self::CountedObjects => true,
        }
    }
}

/// What the files of a trace are to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// Parts of one recording by nature, merged by time: those that blktrace writes for each CPU. Other files are
    /// refused, lest one be taken and others be left out.
    #[default]
    Parts,
    /// One after the other, each begins when the one before it ends. Files that name no device are of the same one.
    Concatenated,
    /// Merged by their times. Files that name no device are of different ones, which lie side by side.
    Merged,
}

/// Which device of a trace to replay: addresses of different devices must never be pooled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The device of the first request; the others are counted and reported by name. All of several files that are
    /// concatenated or merged, so that no file is left out.
    #[default]
    First,
    /// Every device, laid side by side in disjoint ranges; reads the files twice (so not pipes),
    /// first for the extents.
    All,
    /// Every device at its own addresses, over the others: as if all requests were for one drive.
    Overlay,
    /// The device of this name, as [`crate::IngestReport`] prints it.
    Named(String),
}

/// One event in the life of a block request. A trace must be replayed from one of them only, or every
/// request would count several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Q: handed to the block layer; what a scheduler sees.
    #[default]
    Queue,
    /// D: sent to the driver, after merging; what a device sees.
    Issue,
    /// C: completed.
    Complete,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 3] = [Self::Queue, Self::Issue, Self::Complete];

    /// Name on the command line: `queue`, `issue`, `complete`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Issue => "issue",
            Self::Complete => "complete",
        }
    }

    /// The letter blkparse prints.
    pub const fn letter(self) -> u8 {
        match self {
            Self::Queue => b'Q',
            Self::Issue => b'D',
            Self::Complete => b'C',
        }
    }

    /// Reads a name or letter.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let fits = |one: &Self| named(text, [one.name(), &char::from(one.letter()).to_string()]).is_some();
        Self::ALL.into_iter().find(fits).ok_or_else(|| {
            TraceError::Format(format!("{text:?} is not an action; use queue (Q), issue (D) or complete (C)"))
        })
    }
}
