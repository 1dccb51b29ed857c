//! A drive that holds bytes and survives a loss of power: any FTL over a [`FlashSink`](ssdlab_nand::FlashSink) that
//! moves pages.
//!
//! ```text
//! bytes -> drive/ -> [buffer.rs] -> FTL -> flash.rs -> backend/   memory | file | fault over either
//!                                              |  log/  checkpoint and journal
//!              \-> protected.rs, if it has power-loss protection
//! mount.rs:  log + spare areas -> table.rs -> Ftl::recover      scan.rs: without a log
//! ```
//! Read [`Drive`] for what it promises, [`Backend`] for what it stands on, `log/mod.rs` for what is written beside the
//! flash and `mount.rs` for what is read again and what is trusted.
//!
//! - **The FTL is the one that is simulated**, unchanged: the same requests give the same flash operations, one for
//!   one.
//! - **Flash is the truth.** The log names the blocks that changed since the last checkpoint, so that a mount reads
//!   few; what the FTL then recovers from is what a scan of the flash would have found.
//! - **Every page and every spare area has a checksum**, seeded with its place; but a page of flash that keeps what it
//!   was given needs none.
//! - **A fault is a loss of power.** What the medium reports that is no failure of the flash switches the drive off; a
//!   mount goes on from what is there.

mod backend;
mod bits;
mod buffer;
mod column;
mod drive;
mod error;
mod flash;
mod life;
mod log;
mod mount;
mod open;
mod processors;
mod protected;
mod safe;
mod scan;
mod spare;
mod table;
mod translation;

pub use backend::{Backend, Fault, FaultBackend, FaultPlan, FileBackend, FileError, MemoryBackend, PowerCut, Slot};
pub use buffer::WriteBuffer;
pub use drive::{Drive, Health, Options, Zeroed};
pub use error::DriveError;
pub use mount::MountReport;
pub use open::{OpenError, open};
pub use spare::{Content, SPARE_BYTES, Spare, SpareBytes};
