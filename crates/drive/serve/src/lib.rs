//! A drive that other programs access over NBD: the crate `device` stores the bytes, and the crate `sim` determines the
//! times of replies.
//!
//! ```text
//! client -> nbd::Server -> Served -> device::Drive     bytes, durability, flash operations
//!                             |  \-> record            a trace for replay
//!                             \----> Clock             the same requests on the simulated drive
//! ```
//! An export uses up to two drives. The *stored* drive holds the bytes and executes each request immediately. If
//! replies are delayed as on a modelled drive, there is also a *simulated* drive. It gets the same requests in the same
//! order, starting from the FTL state of the stored drive, and determines when replies may be sent. FTL decisions do
//! not depend on time.

mod clock;
mod fair_mutex;
mod open;
mod report;
mod served;

pub use open::{DriveFile, OpenError, ServeOptions, drive_file, drive_options, open};
pub use report::Report;
pub use served::Served;
