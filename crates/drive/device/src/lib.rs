//! A drive that stores bytes and survives power losses. It consists of any FTL and a
//! [`FlashSink`](ssdlab_nand::FlashSink) that moves the bytes of pages.
//!
//! ```text
//! bytes -> drive/ -> [buffer.rs] -> FTL -> flash.rs -> [gathered.rs] -> backend/   memory | file | fault over either
//!                                              |  log/  checkpoint and journal
//!              \-> protected.rs, if it has power-loss protection
//! mount.rs:  log + spare areas -> table.rs -> Ftl::recover      scan.rs: without a log
//! ```
//! [`Drive`] describes the promises of a drive, [`Backend`] its requirements, `log/mod.rs` the data next to the flash,
//! and `mount.rs` the data that a mount reads and trusts.
//!
//! - **The FTL is the simulated FTL**, unchanged: equal requests cause equal flash operations.
//! - **Flash is authoritative.** The log lists the blocks changed since the last checkpoint, so that a mount reads only
//!   a few blocks. The FTL recovers from the same data that a scan of the flash would find.
//! - **Every page and every spare area has a checksum**, seeded with the address of the page. Pages on flash that keeps
//!   pages unchanged need no checksum.
//! - **A fault acts as a power loss.** A fault of the medium that is not a flash failure switches the drive off. The
//!   next mount continues with the remaining data.

mod backend;
mod bits;
mod buffer;
mod column;
mod drive;
mod error;
mod flash;
mod gathered;
mod life;
mod log;
mod mount;
mod open;
mod processors;
mod protected;
mod report;
mod safe;
mod scan;
mod spare;
mod table;

pub use backend::{Backend, Fault, FaultBackend, FaultPlan, FileBackend, FileError, MemoryBackend, PowerCut, Slot};
pub use buffer::WriteBuffer;
pub use drive::{Drive, Health, Options, Zeroed};
pub use error::DriveError;
pub use open::{OpenError, open};
pub use report::MountReport;
pub use spare::{Content, SPARE_BYTES, Spare, SpareBytes};
