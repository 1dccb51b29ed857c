//! Host requests to a recorded drive.

use serde::{Deserialize, Serialize};

/// Operation of a host request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// The host writes pages.
    Write,
    /// The host reads pages.
    Read,
    /// The host trims pages.
    Trim,
}

/// A host request to consecutive logical pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Operation of the request.
    pub op: Op,
    /// First logical page that the request covers.
    pub page: u32,
    /// Number of logical pages.
    pub count: u32,
}
