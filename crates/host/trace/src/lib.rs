//! Block traces: readers and writers for every format, workload generators, and characterization.
//!
//! [`formats`] has one file per format, [`generate`] one per synthetic pattern. [`profile`], [`analysis`] and
//! [`intervals`] describe a trace; [`stack_distance`] computes hits for every cache size. Requests are processed as a
//! stream; only `analysis` and `intervals` keep state per touched page.

pub mod analysis;
mod calendar;
mod column_layout;
mod compression;
mod decode;
pub mod devices;
mod encode;
pub mod error;
mod fault;
mod fields;
mod files;
pub mod formats;
pub mod fuzz;
pub mod generate;
mod input;
mod intake;
pub mod intervals;
pub mod job;
mod names;
mod op_words;
pub mod options;
pub mod packing;
pub mod partition;
pub mod profile;
pub mod reader;
pub mod reorder;
pub mod report;
pub mod request;
pub mod rwbs;
pub mod source;
mod spread;
pub mod stack_distance;
mod testing;
pub mod workload;
pub mod writer;

pub use analysis::Analysis;
pub use column_layout::Columns;
pub use devices::Devices;
pub use error::TraceError;
pub use formats::{FORMATS, Format, FormatInfo, FormatRules};
pub use generate::{
    Addresses, FILE_SYSTEM_MIN, FILES_MAX, Generator, PATTERNS, PERSONALITIES, PatternInfo, PatternRules, Personality,
    PersonalityRules, QUEUES_MAX, RequestTarget, Space, Step, Work,
};
pub use intervals::{Intervals, LogSize, LogWindow, WrittenPages};
pub use job::{Job, JobOutcome};
pub use options::{Action, DeviceChoice, Files, ReadOptions, Target};
pub use packing::{Packed, Packing, UsedPages};
pub use partition::{Parted, Partition, VolumeReader, VolumeTotals};
pub use profile::Profile;
pub use reader::TraceReader;
pub use reorder::InOrder;
pub use report::{IngestCounts, IngestReport};
pub use request::{Op, Placed, Request, flag};
pub use rwbs::Rwbs;
pub use source::{Progress, SliceSource, Source};
pub use stack_distance::{CacheCurves, StackDistances, UseCounts};
pub use workload::{Arrival, Filebench, Pattern, Queue, Seeding, Workload};
pub use writer::{TraceWriter, WriteReport, open_writer};
