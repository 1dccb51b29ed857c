//! Steps of an FTL: its flash operations and decisions.

use serde::Serialize;
use ssdlab_nand::{Cause, FlashOp, Note, RetireReason, Role, SpareArea, VictimReason};

use crate::Op;

/// Flash operation or decision of the FTL.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
// See the flash operations and [`Note`] for the meaning of the fields.
#[allow(missing_docs)]
pub enum Step {
    /// A host request begins.
    Request { op: Op, page: u32, count: u32 },
    /// Read of a page that was never written or has been trimmed.
    Blank { lpn: u32 },
    /// A flash page is read.
    Read { ppn: u32, cause: &'static str },
    /// A host page or map page is programmed; it becomes the newest copy.
    Program { ppn: u32, lpn: u32, role: &'static str, cause: &'static str },
    /// A page is copied; `newest` is false if a newer copy of the page exists.
    Copy { from: u32, to: u32, lpn: u32, role: &'static str, cause: &'static str, newest: bool },
    /// A block is erased.
    Erase { block: u32, cause: &'static str },
    /// Logical pages are trimmed.
    Trim { lpn: u32, count: u32 },
    /// A host page was written to a sequential log block; see [`Note::Captured`].
    Captured { lpn: u32 },
    /// A logical block was merged; see [`Note::Merged`].
    Merged { lbn: u32, kind: &'static str, copies: u32, erases: u32, data: Option<u32> },
    /// Log space was reclaimed so that a host page could be written; see [`Note::Reclaimed`].
    Reclaimed { associated: u32, copies: u32, erases: u32 },
    /// A map entry was looked up; see [`Note::LookedUp`].
    LookedUp { lpn: u32, hit: bool, changes: bool },
    /// A block was chosen for collection; see [`Note::Victim`].
    Victim { block: u32, valid: u32, reason: &'static str },
    /// An erased block was opened for writing; see [`Note::Opened`].
    Opened { block: u32, role: &'static str, frontier: u8 },
    /// A block failed and is no longer used; see [`Note::Bad`].
    Bad { block: u32 },
    /// A log block left the log; see [`Note::Retired`].
    Retired { block: u32, written: u32, reason: &'static str },
    /// A log block got a second chance in place; see [`Note::Rotated`].
    Rotated { block: u32 },
    /// A logical block was merged to make space in the isolation area; see [`Note::Drained`].
    Drained { lpn: u32 },
}

/// Returns the name that recorded steps use for a page role.
pub(crate) const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Data => "data",
        Role::Log => "log",
        Role::SequentialLog => "sequential",
        Role::Isolation => "isolation",
        Role::Map => "map",
        Role::Padding => "padding",
        Role::Slc => "slc",
    }
}

const fn victim_name(reason: VictimReason) -> &'static str {
    match reason {
        VictimReason::Policy => "policy",
        VictimReason::Yield => "yield",
        VictimReason::MapFull => "map_full",
        VictimReason::Failed => "failed",
        VictimReason::Fold => "fold",
    }
}

const fn retire_name(reason: RetireReason) -> &'static str {
    match reason {
        RetireReason::Full => "full",
        RetireReason::Completed => "completed",
        RetireReason::Evicted => "evicted",
        RetireReason::Oldest => "oldest",
        RetireReason::Broken => "broken",
        RetireReason::Restarted => "restarted",
        RetireReason::Merged => "merged",
        RetireReason::Drained => "drained",
    }
}

impl Step {
    /// Returns the recorded step for a flash operation; `None` if the operation only affects timing. `newest` returns
    /// true if the copied page is the newest copy of its logical page.
    pub(crate) fn of(operation: FlashOp, newest: impl FnOnce(u32, SpareArea) -> bool) -> Option<Self> {
        let name = |cause: Cause| cause.name();
        Some(match operation {
            FlashOp::Read(ppn, cause) | FlashOp::ReadPart(ppn, _, cause) => {
                Self::Read { ppn: ppn.0, cause: name(cause) }
            }
            FlashOp::Program(ppn, oob, _, cause) => {
                Self::Program { ppn: ppn.0, lpn: oob.lpn.0, role: role_name(oob.role), cause: name(cause) }
            }
            FlashOp::Copy(from, to, oob, cause) => Self::Copy {
                from: from.0,
                to: to.0,
                lpn: oob.lpn.0,
                role: role_name(oob.role),
                cause: name(cause),
                newest: newest(from.0, oob),
            },
            FlashOp::Erase(block, cause) => Self::Erase { block: block.0, cause: name(cause) },
            FlashOp::Trimmed(lpn, count, _) => Self::Trim { lpn: lpn.0, count },
            FlashOp::Barrier => return None,
            FlashOp::Note(note) => Self::of_note(note),
        })
    }

    fn of_note(note: Note) -> Self {
        match note {
            Note::Captured(lpn) => Self::Captured { lpn: lpn.0 },
            Note::Merged { lbn, kind, cost, data } => Self::Merged {
                lbn,
                kind: kind.name(),
                copies: cost.copies,
                erases: cost.erases,
                data: data.map(|block| block.0),
            },
            Note::Reclaimed { associated, cost } => {
                Self::Reclaimed { associated, copies: cost.copies, erases: cost.erases }
            }
            Note::LookedUp { lpn, hit, changes, .. } => Self::LookedUp { lpn: lpn.0, hit, changes },
            Note::Victim { block, valid, choice } => {
                Self::Victim { block: block.0, valid, reason: victim_name(choice) }
            }
            Note::Opened { block, role, number } => {
                Self::Opened { block: block.0, role: role_name(role), frontier: number }
            }
            Note::Bad(block) => Self::Bad { block: block.0 },
            Note::Retired { block, written, reason } => {
                Self::Retired { block: block.0, written, reason: retire_name(reason) }
            }
            Note::Rotated(block) => Self::Rotated { block: block.0 },
            Note::Drained(lpn) => Self::Drained { lpn: lpn.0 },
        }
    }
}
