//! Who lets newcomers in, in front of any policy: one file each, registered in [`ADMISSIONS`].
//!
//! To add one: write its file with pseudo-code, source and an `INFO`, and register it here. The tests take it from the
//! table, and ask for it to be told again in `tests/it/admission.rs`.
//!
//! An admission is asked for as a change of any policy's parameters: `admission` is its place in the table, and
//! `admission.NAME` changes one of its own parameters. So it goes wherever parameters go, and a policy without one is
//! built as if there were none.

mod bloom;
mod probability;
mod size;
mod tiny_lfu;

use std::fmt::Debug;

use ssdlab_core::parameter::{Owner, Parameter, ParameterError, Settings, Unit};
use ssdlab_core::{Info, Registry};

use crate::{Access, CacheError, Policy};

/// A registered admission.
pub type AdmissionInfo = Info<AdmissionRules>;

/// Properties of an admission, and its constructor.
#[derive(Debug)]
pub struct AdmissionRules {
    /// True if items may differ in size.
    pub sizes: bool,
    /// Puts the admission in front of a policy.
    guard: fn(&Settings, Box<dyn Policy>) -> Box<dyn Policy>,
}

static NONE: AdmissionInfo = AdmissionInfo {
    name: "none",
    help: "Lets every item in.",
    source: "",
    parameters: &[],
    role: AdmissionRules { sizes: true, guard: |_, policy| policy },
};

/// Every admission; the first lets everything in.
pub static ADMISSIONS: Registry<AdmissionRules> =
    Registry::new("admission", &[&NONE, &probability::INFO, &size::INFO, &bloom::INFO, &tiny_lfu::INFO]);

/// The change of parameters that asks for an admission.
const ASKED: &str = "admission";

static ASKED_PARAMETER: [Parameter; 1] = [Parameter {
    name: ASKED,
    unit: Unit::Count("(place in the table of admissions)"),
    default: 0,
    min: 0,
    max: u32::MAX as u64,
    example: None,
    help: "Who lets newcomers in.",
}];

/// Which admission `changes` ask for, with its settings, and the changes that are the policy's own.
#[derive(Debug)]
pub(crate) struct Asked {
    pub own: Vec<(String, u64)>,
    info: &'static AdmissionInfo,
    settings: Settings,
}

impl Asked {
    pub fn new(policy: &'static str, changes: &[(String, u64)]) -> Result<Self, CacheError> {
        let (mut chosen, mut of_admission, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in changes {
            match name.strip_prefix(ASKED) {
                Some("") => chosen.push((name, *value)),
                Some(rest) if rest.starts_with('.') => of_admission.push((&rest[1..], *value)),
                _ => own.push((name.clone(), *value)),
            }
        }
        let owner = Owner { kind: "policy", name: policy, parameter: "parameter" };
        let place = Settings::new(owner, &ASKED_PARAMETER, &chosen)?.get(ASKED);
        let max = ADMISSIONS.len() as u64 - 1;
        let out_of_range = || ParameterError::OutOfRange {
            owner,
            name: ASKED,
            value: place,
            min: 0,
            max,
            unit: ASKED_PARAMETER[0].unit,
        };
        let info = ADMISSIONS.iter().nth(place as usize).copied().ok_or_else(out_of_range)?;
        let owner = Owner { kind: "admission", name: info.name, parameter: "parameter" };
        Ok(Self { own, info, settings: Settings::new(owner, info.parameters, &of_admission)? })
    }

    /// The policy behind the admission.
    pub fn guard(&self, policy: Box<dyn Policy>, one_size: bool) -> Result<Box<dyn Policy>, CacheError> {
        if !one_size && !self.info.role.sizes {
            let able = ADMISSIONS.iter().filter(|info| info.role.sizes).map(|info| info.name);
            let others = able.collect::<Vec<_>>().join(", ");
            return Err(CacheError::AdmissionOfOneSize { admission: self.info.name, others });
        }
        let largest = tiny_lfu::LARGEST;
        if !self.info.role.sizes && policy.capacity() > largest {
            return Err(CacheError::TooLarge { policy: self.info.name, capacity: policy.capacity(), most: largest });
        }
        Ok((self.info.role.guard)(&self.settings, policy))
    }
}

/// Decides on newcomers by themselves.
trait Door: Send + Debug + 'static {
    /// Whether an item that is not cached is let in.
    fn admits(&mut self, access: Access) -> bool;

    /// Memory that does not depend on the trace.
    fn bytes(&self) -> usize;
}

/// A policy behind a door.
#[derive(Debug)]
struct Guarded<D> {
    door: D,
    policy: Box<dyn Policy>,
}

fn guarded<D: Door>(door: D, policy: Box<dyn Policy>) -> Box<dyn Policy> {
    Box::new(Guarded { door, policy })
}

impl<D: Door> Policy for Guarded<D> {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        if self.policy.contains(access.item) || self.door.admits(access) {
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
        self.policy.bytes() + self.door.bytes()
    }

    fn prefetch(&self, item: u32) {
        self.policy.prefetch(item);
    }
}
