//! Errors of simulated caches, miss-ratio curves and plans.

use ssdlab_core::{ParameterError, UnknownMember};
use thiserror::Error;

/// An invalid request for a cache, a curve or a sample.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CacheError {
    /// No policy has this name.
    #[error(transparent)]
    UnknownPolicy(#[from] UnknownMember),
    /// A parameter is unknown, or its value is out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The requested capacity is 0.
    #[error("the cache capacity is 0; it must be at least 1")]
    NoCapacity,
    /// The capacity exceeds the policy's limit.
    #[error("capacity {capacity} is too large for policy `{policy}`; use at most {most}")]
    TooLarge {
        /// Name of the policy.
        policy: &'static str,
        /// The requested capacity in units.
        capacity: u64,
        /// Largest capacity that the policy supports, in units.
        most: u64,
    },
    /// The policy supports only items of equal size.
    #[error("policy `{policy}` supports only items of equal size; for objects of different sizes use one of {others}")]
    OneSizeOnly {
        /// Name of the policy.
        policy: &'static str,
        /// Names of policies that support items of different sizes.
        others: String,
    },
    /// The admission policy supports only items of equal size.
    #[error(
        "admission policy `{admission}` supports only items of equal size; for objects of different sizes use one of \
         {others}"
    )]
    AdmissionOfOneSize {
        /// Name of the admission policy.
        admission: &'static str,
        /// Names of admission policies that support items of different sizes.
        others: String,
    },
    /// The policy is offline: at each access, it must know when the item is accessed next.
    #[error("policy `{policy}` needs future accesses; simulate it on the whole trace, not on batches")]
    NeedsFuture {
        /// Name of the policy.
        policy: &'static str,
    },
    /// Invalid size of a page in bytes.
    #[error("page size {page_bytes} bytes is invalid; use a power of two, at least 512")]
    PageBytes {
        /// The invalid page size.
        page_bytes: u32,
    },
    /// The trace has more items than 32-bit item numbers can distinguish.
    #[error("the trace has more than 4,294,967,294 items; use larger pages or a sample")]
    TooManyItems,
    /// Memory for the items could not be allocated.
    #[error("out of memory after {items} distinct items; use larger pages or a sample")]
    NoMemory {
        /// Number of distinct items found in the trace so far.
        items: u32,
    },
    /// An item number is out of range.
    #[error("item {item} is out of range: item numbers must be below the number of items, {items}")]
    UnknownItem {
        /// The invalid item number.
        item: u32,
        /// Number of items; valid item numbers are below it.
        items: u32,
    },
    /// The trace has too many accesses for the field [`Access::next`](crate::Access::next), which stores positions in
    /// 32 bits.
    #[error("the trace has more than 4,294,967,294 accesses; use batches or a sample")]
    TooManyAccesses,
    /// A miss-ratio curve cannot be computed in one pass.
    #[error("{why}; simulate each cache size separately")]
    NoOnePass {
        /// The reason why the policy or the trace does not allow a one-pass curve.
        why: &'static str,
    },
    /// A sampling option is invalid.
    #[error("`{field}` is {value}, but must be {range}")]
    Sampling {
        /// Name of the option.
        field: &'static str,
        /// The invalid value of the option.
        value: String,
        /// Description of the valid values.
        range: &'static str,
    },
    /// The model of compressed page sizes is invalid.
    #[error("compressed pages: `{field}` is {value}, but must be {range}")]
    PageSizes {
        /// Name of the option.
        field: &'static str,
        /// The invalid value of the option.
        value: String,
        /// Description of the valid values.
        range: &'static str,
    },
    /// The limits on dirty pages contradict each other.
    #[error(
        "the dirty page limits are {background} % (background) and {hard} % (hard), but must satisfy background <= \
         hard <= 100 %"
    )]
    DirtyLimits {
        /// Background limit on dirty pages, in percent.
        background: u32,
        /// Hard limit on dirty pages, in percent.
        hard: u32,
    },
}
