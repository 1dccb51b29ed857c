//! Which page gives way; one file for each policy, registered in [`OWN`], and all of simulated caches.
//!
//! To add one: write its file with an [`Info`] and an implementation of [`Policy`], register it here. Those registered
//! here learn of hits through atomics, so that hits of several threads do not wait for each other. Those of simulated
//! caches come from the table of `ssdlab-cache`, and take a lock for each hit of a shard.
//!
//! A page hit in the compressed pool leaves it for the raw one, so a policy of the compressed pool sees no hits. FIFO,
//! CLOCK, SIEVE and LRU are the same there; those with ghosts still know pages that come back.

pub mod clock;
pub mod fifo;
mod links;
pub mod lru;
mod numbers;
pub mod s3_fifo;
pub mod sieve;
mod simulated;
mod used;

use ssdlab_cache::{PolicyInfo, build_policy};
use ssdlab_core::suggest::named;
use ssdlab_core::{Info, Registry};

use crate::{ConfigError, PageId};

/// Orders the pages of one pool of one shard, which are known by dense slot numbers.
///
/// A hit comes under a shared lock, at the same time as others; all else comes alone.
pub trait Policy: Send + Sync {
    /// Slots `0..slots` may come in from now on.
    fn grow(&mut self, slots: usize);

    /// Memory that growing by `more` slots takes at most; 40 bytes for each are enough for lists and times.
    fn growth_bytes(&self, more: usize) -> usize {
        more * 40
    }

    /// Page `id` comes in at `slot`.
    fn insert(&mut self, slot: u32, id: PageId);

    /// The page at `slot` is used. It may have been taken out as a victim that is still being stored or compressed.
    fn hit(&self, slot: u32);

    /// The page at `slot` leaves other than as a victim.
    fn remove(&mut self, slot: u32);

    /// Takes out the page that gives way, of those that `may`. A page that may not counts as used.
    fn victim(&mut self, may: &mut dyn FnMut(u32) -> bool) -> Option<u32>;

    /// Memory of the policy.
    fn bytes(&self) -> usize;
}

/// A registered policy whose hits take no lock; built without slots for a pool of about so many pages.
pub type PoolPolicyInfo = Info<fn(pages: usize) -> Box<dyn Policy>>;

/// The policies whose hits take no lock.
pub static OWN: Registry<fn(usize) -> Box<dyn Policy>> =
    Registry::new("pool policy", &[&clock::INFO, &fifo::INFO, &lru::INFO, &s3_fifo::INFO, &sieve::INFO]);

/// A policy with its parameters.
#[derive(Clone, Debug)]
pub struct Choice {
    name: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Own(&'static PoolPolicyInfo),
    Simulated(&'static PolicyInfo, Vec<(String, u64)>),
}

impl Choice {
    /// As it is written in configurations, such as `lru-k:k=3`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether each hit takes a lock.
    pub fn locks(&self) -> bool {
        matches!(self.kind, Kind::Simulated(..))
    }

    /// Builds it without slots for a pool of about so many pages.
    pub(crate) fn build(&self, pages: usize) -> Result<Box<dyn Policy>, ConfigError> {
        match &self.kind {
            Kind::Own(info) => Ok((info.role)(pages)),
            Kind::Simulated(info, changes) => simulated::build(info, changes, pages),
        }
    }
}

/// Every policy with its defaults: those of [`OWN`], then those of simulated caches that have other names and need not
/// know the future.
pub fn policies() -> impl Iterator<Item = Choice> {
    let own = OWN.iter().map(|info| (info.name, Kind::Own(info)));
    let others = ssdlab_cache::POLICIES
        .iter()
        .filter(|info| !info.role.needs_future && !OWN.iter().any(|own| own.name == info.name));
    own.chain(others.map(|info| (info.name, Kind::Simulated(info, Vec::new()))))
        .map(|(name, kind)| Choice { name: name.to_owned(), kind })
}

/// The policy written as `lru` or, with parameters, as `lru-k:k=3`. With parameters it is that of simulated caches.
///
/// # Errors
/// There is none of this name, or it has no such parameters.
pub fn policy(written: &str) -> Result<Choice, ConfigError> {
    let wrong = |remedy: String| ConfigError::new("policy", format!("\"{written}\""), remedy);
    let mut parts = written.trim().split(':');
    let name = parts.next().unwrap_or_default();
    let known: Vec<String> = policies().map(|choice| choice.name).collect();
    let meant = named(name, known.iter().map(String::as_str));
    let Some(choice) = policies().find(|choice| Some(choice.name.as_str()) == meant) else {
        return Err(wrong(format!("choose one of {}", known.join(", "))));
    };
    let changes = parts
        .map(|part| {
            let (name, value) = part.split_once('=')?;
            Some((name.to_owned(), value.parse().ok()?))
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| wrong(format!("write parameters as {name}:PARAMETER=NUMBER")))?;
    if changes.is_empty() {
        return Ok(choice);
    }
    let info = ssdlab_cache::POLICIES.get(name).map_err(|error| wrong(error.to_string()))?;
    build_policy(info, &changes, 1, 0, true).map_err(|error| wrong(error.to_string()))?;
    Ok(Choice { name: written.trim().to_owned(), kind: Kind::Simulated(info, changes) })
}
