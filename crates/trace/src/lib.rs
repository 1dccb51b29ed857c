//! Requests, the readers of every trace format, generators and characterisation.

mod decode;
mod encode;
pub mod error;
mod fault;
mod fields;
pub mod formats;
mod input;
mod intake;
mod names;
pub mod options;
pub mod reader;
mod reorder;
pub mod report;
pub mod request;
pub mod source;
mod spread;
#[cfg(test)]
mod testing;
pub mod workload;
pub mod writer;

pub use error::TraceError;
pub use formats::Format;
pub use options::{Action, DeviceChoice, ReadOptions};
pub use reader::TraceReader;
pub use report::{IngestCounts, IngestReport};
pub use request::{Op, Request, flag};
pub use source::{Progress, SliceSource, Source};
pub use workload::{Arrival, Pattern, Workload};
pub use writer::{TraceWriter, WriteReport, open_writer};
