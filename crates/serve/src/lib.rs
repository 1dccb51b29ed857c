//! A simulated drive that programs use: bytes from `device`, times from `sim`, clients from `nbd`.
//!
//! ```text
//! client -> nbd::Server -> Served -> device::Drive     bytes, durability, flash operations
//!                             |  \-> record            a trace that a run replays
//!                             \----> Clock             the same requests on the drive in time
//! ```
//! Two drives stand behind an export. One holds bytes and does each request at once. The other, if replies are to take
//! the time of the model, is the live drive of `sim`: it takes the same requests in the same order, starts from the
//! state of the FTL of the first, and says when the reply may leave. As the FTL knows no time, both do the same flash
//! operations.

mod clock;
mod open;
mod options;
mod report;
mod served;
mod turns;

pub use clock::{Clock, Pace};
pub use open::{DriveFile, OpenError, Wishes, drive_file, open};
pub use options::{OptionsError, drive_options};
pub use report::{Mount, Report, Times};
pub use served::Served;
