//! Tunables shared by schedulers, and errors in setting tunables. Each scheduler declares its tunables in a table.

use ssdlab_core::{Parameter, ParameterError, Unit, UnknownMember};
use thiserror::Error;

/// Maximum backward distance from the last request, in CFQ and BFQ.
pub(crate) const BACK_SEEK_MAX: Parameter = Parameter::new(
    "back_seek_max",
    Unit::KiB,
    16_384,
    [0, 1 << 40],
    "Maximum backward seek; requests farther back are served only after all requests ahead.",
);

/// Cost factor of backward distances, in CFQ and BFQ.
pub(crate) const BACK_SEEK_PENALTY: Parameter = Parameter::new(
    "back_seek_penalty",
    Unit::Count("factor"),
    2,
    [1, 1_000_000],
    "Factor by which a backward seek costs more than a forward seek of equal distance.",
);

/// Error in setting a tunable.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TunableError {
    /// The scheduler's name is unknown.
    #[error(transparent)]
    UnknownScheduler(#[from] UnknownMember),
    /// The tunable is unknown, or its value is out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The tunable's value exceeds the size of the device.
    #[error(
        "tunable `{name}` of scheduler `{scheduler}` is {value} {unit}, more than the device's {device} {unit}; \
         set it to {device} or less"
    )]
    BeyondDevice {
        /// Name of the scheduler.
        scheduler: &'static str,
        /// Name of the tunable.
        name: &'static str,
        /// Requested value of the tunable.
        value: u64,
        /// Size of the device in `unit`.
        device: u64,
        /// Unit of the requested value and of the device's size.
        unit: Unit,
    },
}
