//! Drives that may lose power after any flash operation; the last operation may be half done.

mod failing;
mod flash;
mod request;
mod world;

pub use failing::Faults;
pub use flash::{Flash, Last};
pub use request::{Request, requests};
pub use world::{Happened, Look, Mistake, World};
