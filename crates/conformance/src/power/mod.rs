//! Drives whose power fails after any flash operation, which may then be half done.

mod failing;
mod flash;
mod request;
mod world;

pub use failing::Faults;
pub use flash::{Flash, Last};
pub use request::{Request, requests};
pub use world::{Happened, Look, Mistake, World};
