//! Builds caches from a registered policy, its parameters and an admission policy, and feeds traces to them.

use ssdlab_core::parameter::{Owner, Settings};

use crate::access_trace::AccessTrace;
use crate::admission::AdmissionChoice;
use crate::counts::Counts;
use crate::error::CacheError;
use crate::expiry::Expiry;
use crate::policy::{POLICIES, Policy, PolicyInfo};

/// Builds an empty cache of `capacity` units for items `0..items`; more items may be added later. With `one_size`,
/// every item takes one unit. `changes` override default parameters, and may select an admission policy
/// ([`ADMISSIONS`](crate::ADMISSIONS)). Fails if the policy has no such parameter, or does not support this capacity or
/// items of different sizes.
pub fn build_policy(
    info: &PolicyInfo,
    changes: &[(String, u64)],
    capacity: u64,
    items: u32,
    one_size: bool,
) -> Result<Box<dyn Policy>, CacheError> {
    let owner = Owner { kind: "policy", name: info.name, parameter: "parameter" };
    let admission = AdmissionChoice::new(info.name, changes)?;
    let settings = Settings::new(owner, info.parameters, &admission.own)?;
    if capacity == 0 {
        return Err(CacheError::NoCapacity);
    }
    if !one_size && !info.role.sizes {
        return Err(CacheError::OneSizeOnly { policy: info.name, others: POLICIES.names_of(|rules| rules.sizes) });
    }
    if capacity > info.role.largest {
        return Err(CacheError::TooLarge { policy: info.name, capacity, most: info.role.largest });
    }
    // Item numbers have 32 bits, so a cache of one-unit items cannot hold more items than this.
    let capacity = if one_size { capacity.min(u64::from(u32::MAX)) } else { capacity };
    admission.guard((info.role.build)(&settings, capacity, items), one_size)
}

impl AccessTrace {
    /// Builds an empty cache of `capacity` units for this trace. Fails if the policy rejects the parameters, or needs
    /// the next uses of items and this trace lacks them.
    pub fn policy(
        &self,
        info: &PolicyInfo,
        changes: &[(String, u64)],
        capacity: u64,
    ) -> Result<Box<dyn Policy>, CacheError> {
        self.check_future(info.name, info.role.needs_future)?;
        build_policy(info, changes, capacity, self.items(), self.one_size())
    }

    /// Simulates a cache of `capacity` units; `changes` override defaults of the policy's parameters.
    pub fn simulate(&self, info: &PolicyInfo, changes: &[(String, u64)], capacity: u64) -> Result<Counts, CacheError> {
        let mut policy = self.policy(info, changes, capacity)?;
        Ok(self.replay(&mut *policy, self.accesses().len().max(1), || true))
    }

    /// Feeds the accesses to a policy in batches of `batch_len`, until `goes_on` returns false.
    pub fn replay(&self, policy: &mut dyn Policy, batch_len: usize, mut goes_on: impl FnMut() -> bool) -> Counts {
        let mut counts = Counts::default();
        let mut expiry = (!self.lives.is_empty()).then(|| (Expiry::new(self.items()), self.lives.chunks(batch_len)));
        for accesses in self.accesses().chunks(batch_len) {
            if !goes_on() {
                break;
            }
            match &mut expiry {
                Some((expiry, lives)) => {
                    expiry.simulate(policy, accesses, lives.next().unwrap_or_default(), &mut counts);
                }
                None => policy.simulate(accesses, &mut counts),
            }
        }
        counts
    }
}
