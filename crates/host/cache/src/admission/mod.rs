//! Admission policies. Each policy has its own file, is registered in [`ADMISSIONS`], and can be used in front of any
//! replacement policy.
//!
//! To add an admission policy, write its file with pseudo-code, source and an `INFO`, and register it here. The tests
//! iterate over the table and require a reference implementation in `tests/it/admission.rs`.
//!
//! Parameters of the replacement policy select an admission policy. `admission` is its index in the table;
//! `admission.NAME` sets a parameter of the admission policy. Admission policies therefore work wherever parameters can
//! be set, and cost nothing if unused.

mod bloom;
mod probability;
mod size;
mod tiny_lfu;

use std::fmt::Debug;

use ssdlab_core::parameter::{Owner, Parameter, ParameterError, Settings, Unit};
use ssdlab_core::{Info, Registry};

use crate::access::Access;
use crate::error::CacheError;
use crate::policy::Policy;
use crate::sketch;

/// A registered admission policy.
pub type AdmissionInfo = Info<AdmissionRules>;

/// Properties of an admission policy, and its constructor.
#[derive(Debug)]
pub struct AdmissionRules {
    /// True if the admission policy supports items of different sizes.
    pub sizes: bool,
    /// Puts the admission policy in front of a replacement policy.
    pub guard: fn(&Settings, Box<dyn Policy>) -> Box<dyn Policy>,
}

static NONE: AdmissionInfo = AdmissionInfo {
    name: "none",
    help: "Admits every item.",
    source: "",
    parameters: &[],
    role: AdmissionRules { sizes: true, guard: |_, policy| policy },
};

/// Every admission policy; the first admits every item.
pub static ADMISSIONS: Registry<AdmissionRules> =
    Registry::new("admission", &[&NONE, &probability::INFO, &size::INFO, &bloom::INFO, &tiny_lfu::INFO]);

/// Name of the parameter that selects an admission policy.
const ADMISSION: &str = "admission";

static ADMISSION_PARAMETER: [Parameter; 1] = [Parameter::new(
    ADMISSION,
    Unit::Count("(index of an admission policy)"),
    0,
    [0, u32::MAX as u64],
    "Admission policy.",
)];

/// Admission policy chosen by the user, with its settings. `own` holds the user's changes to parameters of the
/// replacement policy itself.
#[derive(Debug)]
pub(crate) struct AdmissionChoice {
    pub own: Vec<(String, u64)>,
    info: &'static AdmissionInfo,
    settings: Settings,
}

impl AdmissionChoice {
    pub fn new(policy: &'static str, changes: &[(String, u64)]) -> Result<Self, CacheError> {
        let (mut chosen, mut of_admission, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in changes {
            match name.strip_prefix(ADMISSION) {
                Some("") => chosen.push((name, *value)),
                Some(rest) if rest.starts_with('.') => of_admission.push((&rest[1..], *value)),
                _ => own.push((name.clone(), *value)),
            }
        }
        let owner = Owner { kind: "policy", name: policy, parameter: "parameter" };
        let place = Settings::new(owner, &ADMISSION_PARAMETER, &chosen)?.get(ADMISSION);
        let (max, unit) = (ADMISSIONS.len() as u64 - 1, ADMISSION_PARAMETER[0].unit);
        let out_of_range = || ParameterError::OutOfRange { owner, name: ADMISSION, value: place, min: 0, max, unit };
        let info = ADMISSIONS[..].get(place as usize).copied().ok_or_else(out_of_range)?;
        let owner = Owner { kind: "admission", name: info.name, parameter: "parameter" };
        Ok(Self { own, info, settings: Settings::new(owner, info.parameters, &of_admission)? })
    }

    /// Puts the admission policy in front of `policy`.
    pub fn guard(&self, policy: Box<dyn Policy>, one_size: bool) -> Result<Box<dyn Policy>, CacheError> {
        if !one_size && !self.info.role.sizes {
            let others = ADMISSIONS.names_of(|rules| rules.sizes);
            return Err(CacheError::AdmissionOfOneSize { admission: self.info.name, others });
        }
        let largest = sketch::LARGEST;
        if !self.info.role.sizes && policy.capacity() > largest {
            return Err(CacheError::TooLarge { policy: self.info.name, capacity: policy.capacity(), most: largest });
        }
        Ok((self.info.role.guard)(&self.settings, policy))
    }
}

/// An admission policy whose decisions do not depend on the cache content.
pub trait Admission: Send + Debug + 'static {
    /// Returns true to admit an item that is not cached; called once for each access to such an item.
    fn admits(&mut self, access: Access) -> bool;

    /// Returns the memory size of the admission policy in bytes, which does not depend on the trace.
    fn bytes(&self) -> usize;
}

/// A replacement policy that caches only the items that an admission policy admits.
#[derive(Debug)]
struct Guarded<D> {
    admission: D,
    policy: Box<dyn Policy>,
}

/// Combines an admission policy with a replacement policy, to implement [`AdmissionRules::guard`].
pub fn guarded<D: Admission>(admission: D, policy: Box<dyn Policy>) -> Box<dyn Policy> {
    Box::new(Guarded { admission, policy })
}

impl<D: Admission> Policy for Guarded<D> {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        if self.policy.contains(access.item) || self.admission.admits(access) {
            return self.policy.access(access, evicted);
        }
        evicted.push(access.item);
        false
    }

    fn victim(&mut self) -> Option<u32> {
        self.policy.victim()
    }

    fn remove(&mut self, item: u32) {
        self.policy.remove(item);
    }

    fn contains(&self, item: u32) -> bool {
        self.policy.contains(item)
    }

    fn size(&self, item: u32) -> u32 {
        self.policy.size(item)
    }

    fn used(&self) -> u64 {
        self.policy.used()
    }

    fn capacity(&self) -> u64 {
        self.policy.capacity()
    }

    fn grow(&mut self, items: u32) {
        self.policy.grow(items);
    }

    fn bytes(&self) -> usize {
        self.policy.bytes() + self.admission.bytes()
    }

    fn prefetch(&self, item: u32) {
        self.policy.prefetch(item);
    }
}
