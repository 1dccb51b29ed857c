//! What a cache cannot be asked for.

use ssdlab_core::{ParameterError, UnknownMember};
use thiserror::Error;

/// A cache, a curve or a sample that cannot be.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CacheError {
    /// No policy has this name.
    #[error(transparent)]
    UnknownPolicy(#[from] UnknownMember),
    /// The policy has no such parameter, or not with this value.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A cache of no size.
    #[error("a cache holds something: make the capacity at least 1")]
    NoCapacity,
    /// More than the policy can manage.
    #[error("a cache of {capacity} is beyond policy `{policy}`, which manages up to {most}; make it smaller")]
    TooLarge {
        /// The policy.
        policy: &'static str,
        /// The capacity asked for.
        capacity: u64,
        /// The largest.
        most: u64,
    },
    /// The policy is defined for items of one size.
    #[error(
        "policy `{policy}` is defined for items of one size; simulate pages or count objects, or take one of {others}"
    )]
    OneSizeOnly {
        /// The policy.
        policy: &'static str,
        /// Policies that can.
        others: String,
    },
    /// The admission is defined for items of one size.
    #[error("admission `{admission}` is defined for items of one size; take one of {others}")]
    AdmissionOfOneSize {
        /// The admission.
        admission: &'static str,
        /// Admissions that can.
        others: String,
    },
    /// The policy must know the future.
    #[error("policy `{policy}` must know the future; give it the accesses of the whole trace, not batches")]
    NeedsFuture {
        /// The policy.
        policy: &'static str,
    },
    /// Not a page.
    #[error("pages of {page_bytes} bytes: write a power of two from 512")]
    PageBytes {
        /// What was asked for.
        page_bytes: u32,
    },
    /// More items than numbers.
    #[error("the trace has more than 4,294,967,294 items; use larger pages or sample it")]
    TooManyItems,
    /// The system refuses the memory that they take.
    #[error("there is no memory for more than the {items} different items so far; take larger pages, or a sample")]
    NoMemory {
        /// Items so far.
        items: u32,
    },
    /// A number that no item has.
    #[error("an access is to item {item}, but there are {items}; number items from 0 and give how many there are")]
    UnknownItem {
        /// The number.
        item: u32,
        /// Items there are.
        items: u32,
    },
    /// More accesses than positions.
    #[error("the trace has more than 4,294,967,294 accesses; feed it in batches or sample it")]
    TooManyAccesses,
    /// No curve in one pass.
    #[error("{why}; simulate the sizes one by one")]
    NoOnePass {
        /// Why not.
        why: &'static str,
    },
    /// Not a sample.
    #[error("`{field}` is {value}, but must lie in {range}")]
    Sampling {
        /// The option.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        range: &'static str,
    },
    /// Pages that cannot shrink so.
    #[error("compressed pages: `{field}` is {value}, but must be {range}")]
    PageSizes {
        /// The number.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        range: &'static str,
    },
    /// Limits of dirty pages that contradict one another.
    #[error("dirty limits of {background} % and {hard} %: the first may not be above the second, nor that above 100 %")]
    DirtyLimits {
        /// Where writing back begins.
        background: u32,
        /// Where writers wait.
        hard: u32,
    },
}
