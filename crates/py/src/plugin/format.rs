//! Trace formats written in Python. ssdlab reads the file; the class parses its lines or records.

use std::panic::resume_unwind;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use ssdlab_trace::formats::{
    Device, Entry, Fault, Io, LineFormat, RecordFormat, Skip, Stream, Tables, decode_lines, decode_records, sniff_lines,
};
use ssdlab_trace::{FORMATS, FormatRules, ReadOptions};

use super::request::Fields;
use super::{Registered, Running, leaked, or_unwind};
use crate::errors::SimulationError;

pub(super) fn register(plugin: &'static super::Entry) -> Registered {
    let sniff = leaked(|head: &[u8]| Parser::new(plugin).sniff(head));
    let decoder = leaked(|options: &ReadOptions| {
        let parser = Parser::new(plugin);
        if parser.record_bytes > 0 { decode_records(parser, options) } else { decode_lines(parser, options) }
    });
    FORMATS.register(plugin.info(FormatRules::decoded(sniff, decoder)))
}

/// Parser of one file.
struct Parser {
    running: Running,
    parse: Py<PyAny>,
    /// Length of a record; 0 for lines of text.
    record_bytes: usize,
    /// Message of the first fault. Later faults reuse it, because only the first message can be shown: reading either
    /// stops at the first fault, or skips all faults without showing their messages.
    first_fault: Option<&'static str>,
}

impl Parser {
    fn new(plugin: &super::Entry) -> Self {
        or_unwind(|py| {
            let running = Running::start(py, plugin, 0)?;
            let parse = running.plugin.getattr(py, "parse")?;
            let record_bytes = running.plugin.getattr(py, "record_bytes")?.extract(py)?;
            Ok(Self { running, parse, record_bytes, first_fault: None })
        })
    }

    /// Returns the confidence, in percent, that a file with these first bytes has the format.
    fn sniff(mut self, head: &[u8]) -> u32 {
        let answer = or_unwind(|py| {
            let Some(sniff) = self.running.plugin.bind(py).getattr_opt("sniff")? else { return Ok(None) };
            let percent = |answer: &Bound<'_, PyAny>| {
                let percent = answer.extract::<u32>().ok().filter(|&percent| percent <= 100);
                percent.ok_or_else(|| "which is not a percentage; return a whole number from 0 to 100".to_owned())
            };
            self.running.ask(py, &sniff.unbind(), || Ok((PyBytes::new(py, head),)), percent).map(Some)
        });
        match answer {
            Some(percent) => percent,
            None if self.record_bytes > 0 => 0,
            None => {
                // Faults are not reported while the format is being detected.
                self.first_fault = Some("");
                sniff_lines(self, head)
            }
        }
    }

    /// Parses a line or a record. `given` is the argument that the Python method receives.
    fn entry<'a, 'py, G: IntoPyObject<'py>>(
        &mut self,
        py: Python<'py>,
        given: G,
        tables: &mut Tables,
    ) -> Result<Entry<'a>, Fault<'a>> {
        let answer = self.running.ask(py, &self.parse, || Ok((given,)), |answer| entry_of(answer, tables));
        answer.map_err(|error| {
            if self.running.is_overdue() || !error.is_instance_of::<SimulationError>(py) {
                resume_unwind(Box::new(error));
            }
            Fault::new("", b"", self.first_fault.get_or_insert_with(|| error.value(py).to_string().leak()))
        })
    }
}

fn entry_of(answer: &Bound<'_, PyAny>, tables: &mut Tables) -> Result<Entry<'static>, String> {
    if answer.is_none() {
        return Ok(Entry::Skip(Skip::Header));
    }
    let fields = Fields::of(answer, 6).ok_or("which is not a request; return (op, offset, bytes, time_ns) or None")?;
    let stream = match &fields.stream {
        None => Stream::None,
        Some(stream) => match stream.cast::<PyString>() {
            Ok(name) => tables.stream_named(name.to_string().as_bytes()),
            Err(_) => Stream::Number(super::request::whole(stream, "stream")?),
        },
    };
    let device = fields.device.as_ref().map_or(Device::File, |device| tables.device(device.to_string().as_bytes()));
    let time_ns = fields.time_ns()?.unwrap_or(0);
    let (op, offset, bytes) = (fields.op()?, fields.offset()?, fields.bytes()?);
    Ok(Entry::Io(Io { time_ns, op, offset, bytes, device, flags: 0, stream }))
}

impl LineFormat for Parser {
    const COMMENTS: bool = false;

    fn line<'a>(&mut self, line: &'a [u8], tables: &mut Tables) -> Result<Entry<'a>, Fault<'a>> {
        Python::attach(|py| self.entry(py, String::from_utf8_lossy(line), tables))
    }
}

impl RecordFormat for Parser {
    const HEAD: usize = 1;

    fn record<'a>(&mut self, bytes: &'a [u8], tables: &mut Tables) -> Result<(Entry<'a>, usize), Fault<'a>> {
        let tail = self.record_bytes - 1;
        let Some(record) = bytes.get(..self.record_bytes) else { return Ok((Entry::Skip(Skip::Header), tail)) };
        Ok((Python::attach(|py| self.entry(py, PyBytes::new(py, record), tables))?, tail))
    }

    fn resync(&self, bytes: &[u8]) -> usize {
        self.record_bytes.min(bytes.len())
    }
}
