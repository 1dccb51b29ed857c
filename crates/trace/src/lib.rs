//! Requests, the readers of every trace format, generators and characterisation.

pub mod error;
pub mod request;
pub mod source;
pub mod workload;

pub use error::TraceError;
pub use request::{Op, Request, flag};
pub use source::{Progress, SliceSource, Source};
pub use workload::{Arrival, Pattern, Workload};
