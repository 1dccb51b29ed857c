//! Tunables that schedulers share, and what they cannot be. Each scheduler declares its own in a table.

use ssdlab_core::{Parameter, ParameterError, Unit, UnknownMember};
use thiserror::Error;

/// How far backward a request may be from the last one, in CFQ and the schedulers after it.
pub(crate) const BACK_SEEK_MAX: Parameter = Parameter {
    name: "back_seek_max",
    unit: Unit::KiB,
    default: 16_384,
    min: 0,
    max: 1 << 40,
    example: None,
    help: "How far backward a request may lie to be taken before one in front.",
};

/// What that costs.
pub(crate) const BACK_SEEK_PENALTY: Parameter = Parameter {
    name: "back_seek_penalty",
    unit: Unit::Count("factor"),
    default: 2,
    min: 1,
    max: 1_000_000,
    example: None,
    help: "How much farther a backward distance counts.",
};

/// A tunable was set that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TunableError {
    /// No scheduler has this name.
    #[error(transparent)]
    UnknownScheduler(#[from] UnknownMember),
    /// The scheduler has no such tunable, or not with this value.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Larger than the device.
    #[error(
        "tunable `{name}` of scheduler `{scheduler}` is {value} {unit}, but the device has {device} {unit}; \
         set it to {device} or less, or leave it out"
    )]
    BeyondDevice {
        /// The scheduler.
        scheduler: &'static str,
        /// The tunable.
        name: &'static str,
        /// The value asked for.
        value: u64,
        /// The size of the device.
        device: u64,
        /// The unit of both.
        unit: Unit,
    },
}
