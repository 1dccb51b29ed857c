//! Size of the simulated drive, relative to the drive whose lifetime a run projects.

use serde::Serialize;

/// Relation between the simulated drive and the drive whose lifetime a run projects.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Size {
    /// The simulated drive is the drive whose lifetime is projected.
    Full,
    /// The simulated drive is a scale model of the drive whose lifetime is projected.
    Model(ScaleModel),
    /// The trace determined the capacity of the simulated drive, so no lifetime is projected.
    OfTrace,
}

/// Scale model of a nominal drive: a smaller drive with smaller blocks, but with the same numbers of channels, dies and
/// planes and the same timing.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ScaleModel {
    /// Capacity of the nominal drive in bytes.
    pub nominal_capacity_bytes: u64,
    /// Flash capacity of the nominal drive divided by the flash capacity of the scale model.
    pub ratio: f64,
    /// Capacity in bytes that the trace needs. The scale model is larger if a drive of this capacity would have too few
    /// blocks.
    pub needed_bytes: u64,
}

impl Size {
    /// Returns the scale model; `None` for other drives.
    pub const fn model(&self) -> Option<ScaleModel> {
        match self {
            Self::Model(model) => Some(*model),
            Self::Full | Self::OfTrace => None,
        }
    }

    /// Returns the lifetime of the projected drive divided by the lifetime of the simulated drive. `None` without a
    /// projected drive.
    pub const fn ratio(&self) -> Option<f64> {
        match self {
            Self::Full => Some(1.0),
            Self::Model(model) => Some(model.ratio),
            Self::OfTrace => None,
        }
    }
}
