//! Drives that may lose power after any flash operation; the last operation may be half done.

mod flash;
mod request;
mod world;

pub use flash::{Flash, Last};
pub use request::{Request, requests};
pub use world::{Faults, Happened, Look, Mistake, World};
