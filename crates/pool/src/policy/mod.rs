//! Which page gives way; one file for each policy, registered in [`POLICIES`].
//!
//! To add one: write its file with an [`Info`] and an implementation of [`Policy`], register it here.
//!
//! A page hit in the compressed pool leaves it for the raw one, so a policy of the compressed pool sees no hits. FIFO,
//! CLOCK, SIEVE and LRU are the same there; S3-FIFO still knows pages that come back.

pub mod clock;
pub mod fifo;
mod links;
pub mod lru;
pub mod s3_fifo;
pub mod sieve;
mod used;

use crate::{ConfigError, PageId};

/// Orders the pages of one pool of one shard, which are known by dense slot numbers.
///
/// A hit comes under a shared lock, at the same time as others; all else comes alone.
pub trait Policy: Send + Sync {
    /// Slots `0..slots` may come in from now on.
    fn grow(&mut self, slots: usize);

    /// Page `id` comes in at `slot`.
    fn insert(&mut self, slot: u32, id: PageId);

    /// The page at `slot` is used.
    fn hit(&self, slot: u32);

    /// The page at `slot` leaves other than as a victim.
    fn remove(&mut self, slot: u32);

    /// Takes out the page that gives way, of those that `may`. A page that may not counts as used.
    fn victim(&mut self, may: &mut dyn FnMut(u32) -> bool) -> Option<u32>;

    /// Memory of the policy.
    fn bytes(&self) -> usize;
}

/// A registered policy.
#[derive(Debug)]
pub struct Info {
    /// Name in configurations.
    pub name: &'static str,
    /// One line for people.
    pub help: &'static str,
    /// Builds it for slots `0..slots`.
    pub make: fn(slots: usize) -> Box<dyn Policy>,
}

/// Every policy.
pub static POLICIES: &[&Info] = &[&clock::INFO, &fifo::INFO, &lru::INFO, &s3_fifo::INFO, &sieve::INFO];

/// The policy called `name`.
///
/// # Errors
/// There is none of this name.
pub fn policy(name: &str) -> Result<&'static Info, ConfigError> {
    POLICIES.iter().copied().find(|info| info.name == name).ok_or_else(|| {
        let known: Vec<_> = POLICIES.iter().map(|info| info.name).collect();
        ConfigError::new("policy", format!("\"{name}\""), format!("choose one of {}", known.join(", ")))
    })
}
