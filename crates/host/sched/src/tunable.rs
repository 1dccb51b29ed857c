//! Tunables shared by schedulers, and errors in setting tunables. Each scheduler declares its tunables in a table.

use ssdlab_core::{Parameter, ParameterError, Unit, UnknownMember};
use thiserror::Error;

/// Maximum backward distance from the last request, in CFQ and BFQ.
pub(crate) const BACK_SEEK_MAX: Parameter = Parameter {
    name: "back_seek_max",
    unit: Unit::KiB,
    default: 16_384,
    min: 0,
    max: 1 << 40,
    example: None,
    help: "Maximum backward seek; requests farther back are served only after all requests ahead.",
};

/// Cost factor of backward distances, in CFQ and BFQ.
pub(crate) const BACK_SEEK_PENALTY: Parameter = Parameter {
    name: "back_seek_penalty",
    unit: Unit::Count("factor"),
    default: 2,
    min: 1,
    max: 1_000_000,
    example: None,
    help: "Factor by which a backward seek costs more than a forward seek of equal distance.",
};

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
