//! Trace formats define how a trace file is read and written.
//!
//! A [`LineFormat`] parses lines of text; a [`RecordFormat`] parses binary records. ssdlab reads the file, decompresses
//! it, skips comments and reports a [`Fault`] with file, line and field. An [`Encoder`] is needed only to write the
//! format.
//!
//! # Example
//!
//! ```
#![cfg_attr(any(doc, doctest), doc = include_str!("../../../python/ssdlab/model/extension/templates/trace_format.rs"))]
//! ```

use ssdlab_trace::FORMATS;
pub use ssdlab_trace::formats::{
    Device, Encoder, Entry, Fault, Io, Item, LineFormat, RecordFormat, Skip, Stream, Supported, Tables,
};
pub use ssdlab_trace::{FormatInfo, FormatRules, Op, ReadOptions, Request, Source, TraceReader, flag};

use crate::NameTaken;

/// Adds a trace format to ssdlab; fails if another trace format has the same name.
pub fn register(info: &'static FormatInfo) -> Result<(), NameTaken> {
    FORMATS.register(info)
}
