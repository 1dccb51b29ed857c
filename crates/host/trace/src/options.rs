//! Options for reading a trace.

use ssdlab_core::suggest::named;

use crate::{Columns, Format, Op, TraceError};

/// Options for reading a trace: format, selection of requests, and strictness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Format of the trace; `None` detects it from the first bytes.
    pub format: Option<Format>,
    /// Layout of the columns of a file in the format `columns`.
    pub columns: Option<Columns>,
    /// Rule for combining the files into one trace.
    pub files: Files,
    /// Device of the trace to replay.
    pub device: DeviceChoice,
    /// Event that represents the request in traces with several events per request. `None` selects the format's
    /// default: [`Action::Queue`] for blkparse and blktrace, [`Action::Issue`] for ftrace and ETW.
    pub action: Option<Action>,
    /// If true, malformed lines and records are skipped and counted. Otherwise, reading stops at the first of them.
    pub skip_bad: bool,
    /// Address space of the requests: bytes of a drive, or objects of a cache.
    pub target: Target,
}

/// Address space of the requests. Objects have a key, which may be text, instead of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Requests address the bytes of a drive.
    #[default]
    Drive,
    /// Requests address objects of a cache whose capacity is in bytes. A trim needs no size.
    SizedObjects,
    /// Requests address objects of a cache whose capacity is a number of objects. Request sizes are optional.
    CountedObjects,
}

impl Target {
    /// True if a request of 0 bytes with the given operation is replayed instead of dropped.
    pub(crate) fn keeps_empty(self, op: Op) -> bool {
        match self {
            Self::Drive => false,
            Self::SizedObjects => op == Op::Trim,
            Self::CountedObjects => true,
        }
    }
}

/// Rule for combining several files into one trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// The files are parts of one recording, such as the per-CPU files of blktrace, and are merged by time. Several
    /// files of other kinds are rejected: the user must choose how to combine them.
    #[default]
    Parts,
    /// The files follow one another; each starts when the previous file ends. Files without device names share one
    /// device.
    Concatenated,
    /// The files are merged by time. Files without device names are different devices, laid side by side.
    Merged,
}

/// Device of a trace to replay. Addresses of different devices must never be mixed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// Replays the device of the first request; requests of other devices are counted and reported by name. If several
    /// files are concatenated or merged, all devices are replayed, so that no file is left out.
    #[default]
    First,
    /// Replays all devices, in consecutive disjoint address ranges. The files are read twice, so they cannot be pipes;
    /// the first pass determines the ranges.
    All,
    /// Replays all devices at their own addresses, as if they were one drive. Addresses of different devices may
    /// overlap.
    Overlay,
    /// Replays the device that has this name in [`crate::IngestReport`].
    Named(String),
}

/// Event in the life of a block request. A replay uses only one type of event; otherwise each request would be counted
/// several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Q: the request entered the block layer. This is the event that an I/O scheduler sees.
    #[default]
    Queue,
    /// D: the request was issued to the driver, after merging. This is the event that a device sees.
    Issue,
    /// C: the request was completed.
    Complete,
}

impl Action {
    /// All actions, in the order in which they occur for a request.
    pub const ALL: [Self; 3] = [Self::Queue, Self::Issue, Self::Complete];

    /// Returns the action's name on the command line: `queue`, `issue`, `complete`.
    pub const fn name(self) -> &'static str {
        ["queue", "issue", "complete"][self as usize]
    }

    /// Returns the letter that blkparse prints for the action.
    pub const fn letter(self) -> u8 {
        b"QDC"[self as usize]
    }

    /// Parses the name or letter of an action.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let fits = |action: &Self| named(text, [action.name(), &char::from(action.letter()).to_string()]).is_some();
        Self::ALL.into_iter().find(fits).ok_or_else(|| {
            TraceError::Invalid(format!("{text:?} is not an action; use queue (Q), issue (D) or complete (C)"))
        })
    }
}
