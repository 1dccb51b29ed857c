//! Host requests.

use serde::{Deserialize, Serialize};

/// Kind of a host request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Write pages.
    Write,
    /// Read pages.
    Read,
    /// Trim pages.
    Trim,
}

/// Host request, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Kind of request.
    pub op: Op,
    /// First page.
    pub page: u32,
    /// Number of pages.
    pub count: u32,
}
