//! Eviction policies of the pools: the policies in [`OWN`], each in its own file, and all online policies of simulated
//! caches.
//!
//! To add a policy, write its file with an [`Info`] and an implementation of [`Policy`], and register it here. Policies
//! in [`OWN`] record hits in atomics, so that concurrent hits do not wait for each other. Policies of simulated caches
//! come from the table of `ssdlab-cache` and take a lock per hit.
//!
//! A hit moves a page out of the compressed pool, so policies of that pool see no hits. Therefore FIFO, CLOCK, SIEVE
//! and LRU are equivalent there. Policies with ghosts still recognise returning pages.

mod clock;
mod fifo;
mod links;
mod lru;
mod numbers;
mod s3_fifo;
mod sieve;
mod simulated;
mod used;

use ssdlab_cache::{PolicyInfo, build_policy};
use ssdlab_core::suggest::named;
use ssdlab_core::{Info, Registry};

use crate::{ConfigError, PageId};

/// Eviction order of the pages that one pool holds in one shard. Pages are identified by dense slot numbers.
///
/// [`Policy::hit`] is called concurrently; all other methods have exclusive access.
pub trait Policy: Send + Sync {
    /// Grows the policy so that slots `0..slots` can be used.
    fn grow(&mut self, slots: usize);

    /// Returns the maximum memory in bytes needed to grow by `more` slots. The default suits lists and timestamps,
    /// which need at most 40 bytes per slot.
    fn growth_bytes(&self, more: usize) -> usize {
        more * 40
    }

    /// Inserts page `id`, which occupies `slot`.
    fn insert(&mut self, slot: u32, id: PageId);

    /// Records a use of the page in `slot`. The page may be a victim that is being stored or compressed.
    fn hit(&self, slot: u32);

    /// Removes the page in `slot`, which must not be a victim.
    fn remove(&mut self, slot: u32);

    /// Removes and returns the victim among the pages that are `evictable`. A candidate that is not evictable is
    /// treated as used.
    fn victim(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32>;

    /// Returns the memory of the policy in bytes.
    fn bytes(&self) -> usize;
}

/// Registered policy whose hits take no lock. Its constructor takes the approximate number of pages of the pool.
pub type PoolPolicyInfo = Info<fn(pages: usize) -> Box<dyn Policy>>;

/// Policies whose hits take no lock.
pub static OWN: Registry<fn(usize) -> Box<dyn Policy>> =
    Registry::new("pool policy", &[&clock::INFO, &fifo::INFO, &lru::INFO, &s3_fifo::INFO, &sieve::INFO]);

/// Eviction policy of a pool, with its parameters.
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
    /// Returns the policy as written in configurations, such as `lru-k:k=3`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if each hit must lock the policy.
    pub fn locks(&self) -> bool {
        matches!(self.kind, Kind::Simulated(..))
    }

    /// Builds the policy for a pool of about `pages` pages. The policy has no slots yet.
    pub(crate) fn build(&self, pages: usize) -> Result<Box<dyn Policy>, ConfigError> {
        match &self.kind {
            Kind::Own(info) => Ok((info.role)(pages)),
            Kind::Simulated(info, changes) => simulated::build(info, changes, pages),
        }
    }
}

/// Returns every policy with its defaults. The policies in [`OWN`] come first, then all other policies of simulated
/// caches except offline policies, which need to know future accesses.
pub fn policies() -> impl Iterator<Item = Choice> {
    let own = OWN.iter().map(|info| (info.name, Kind::Own(info)));
    let others = ssdlab_cache::POLICIES
        .iter()
        .filter(|info| !info.role.needs_future && !OWN.iter().any(|own| own.name == info.name));
    own.chain(others.map(|info| (info.name, Kind::Simulated(info, Vec::new()))))
        .map(|(name, kind)| Choice { name: name.to_owned(), kind })
}

/// Parses a policy such as `lru` or, with parameters, `lru-k:k=3`. A policy with parameters always has the
/// implementation for simulated caches, even if [`OWN`] has a policy with the same name. Fails if there is no policy
/// with this name, or a parameter is unknown or invalid.
pub fn policy(text: &str) -> Result<Choice, ConfigError> {
    let invalid = |remedy: String| ConfigError::new("policy", format!("\"{text}\""), remedy);
    let mut parts = text.trim().split(':');
    let name = parts.next().unwrap_or_default();
    let known: Vec<String> = policies().map(|choice| choice.name).collect();
    let full_name = named(name, known.iter().map(String::as_str));
    let Some(choice) = policies().find(|choice| Some(choice.name.as_str()) == full_name) else {
        return Err(invalid(format!("choose one of {}", known.join(", "))));
    };
    let changes = parts
        .map(|part| {
            let (name, value) = part.split_once('=')?;
            Some((name.to_owned(), value.parse().ok()?))
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| invalid(format!("write parameters as {name}:PARAMETER=NUMBER")))?;
    if changes.is_empty() {
        return Ok(choice);
    }
    let info = ssdlab_cache::POLICIES.get(name).map_err(|error| invalid(error.to_string()))?;
    build_policy(info, &changes, 1, 0, true).map_err(|error| invalid(error.to_string()))?;
    Ok(Choice { name: text.trim().to_owned(), kind: Kind::Simulated(info, changes) })
}
