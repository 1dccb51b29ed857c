//! Turns the parsed entries of traces in all formats into requests: checks the entries and selects devices.

use std::ops::Range;

use ssdlab_core::units::counted;

use crate::fault::{Fault, NOT_AN_OP};
use crate::names::Names;
use crate::report::{IngestReport, grouped};
use crate::{DeviceChoice, Format, Op, Request, Target, TraceError};

/// Result of parsing one line or record.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// A request of the trace.
    Io(Io<'a>),
    /// A request with an unknown operation, which the fault describes. The entry is counted but not replayed.
    UnknownOp(Fault<'a>),
    /// An entry that is not a request, such as a header, or an event whose action was not selected. The entry is
    /// counted but not replayed.
    Skip(Skip),
}

impl<'a> Entry<'a> {
    /// Creates the entry for a request with the unknown operation `text` in the given field.
    #[cold]
    pub fn unknown_op(field: &'static str, text: &'a [u8]) -> Self {
        Self::UnknownOp(Fault::new(field, text, NOT_AN_OP))
    }
}

/// Reason why an entry of a trace is not a request.
#[derive(Clone, Copy, Debug)]
pub enum Skip {
    /// The entry is a header, comment or summary.
    Header,
    /// The entry is an event of a type other than the chosen action.
    OtherAction,
    /// The entry is an event or a file operation that moves no data.
    NonIo,
    /// The entry is a wait that is too short to advance the clock.
    ShortWait,
}

/// A request as written in the trace.
#[derive(Clone, Copy, Debug)]
pub struct Io<'a> {
    /// Time of the request in ns since the trace's own epoch.
    pub time_ns: u64,
    /// Operation of the request.
    pub op: Op,
    /// Byte offset of the request on its device.
    pub offset: u64,
    /// Length of the request in bytes.
    pub bytes: u64,
    /// Device of the request.
    pub device: Device,
    /// Request flags: bits of [`crate::flag`].
    pub flags: u8,
    /// Process of the request.
    pub stream: Stream<'a>,
}

/// Process that made a request. The process gets an id only when the request is accepted, so that processes of other
/// devices do not fill the table.
#[derive(Clone, Copy, Debug)]
pub enum Stream<'a> {
    /// The trace does not name the process.
    None,
    /// Process identified by its number. Number 0 is the idle task, which runs interrupt handlers; it is not treated as
    /// a process.
    Number(u64),
    /// Process identified by its name.
    Named(&'a [u8]),
    /// Process identified by its id in `Tables::streams`; 0 means none.
    Id(u32),
}

/// Device that a request of the trace addresses.
#[derive(Clone, Copy, Debug, Default)]
pub enum Device {
    /// The file itself is the device, in formats without device names.
    #[default]
    File,
    /// Device identified by its id in `Tables::devices`.
    Id(u32),
}

/// Names of the devices and streams that occur in a trace.
#[derive(Debug)]
pub struct Tables {
    pub(crate) devices: Names,
    pub(crate) streams: Names,
    /// True if timestamps are whole seconds. The requests of each second must then be spread evenly over the second.
    pub(crate) whole_seconds: bool,
    /// Number of requests for cache objects that were read as trims because of operation code 2. Some programs use this
    /// code for another operation.
    pub(crate) numbered_trims: u64,
}

impl Tables {
    /// Creates empty tables; stream 0 means "none".
    pub(crate) fn new() -> Self {
        let mut streams = Names::new(STREAMS_MAX);
        streams.id(b"");
        Self { devices: Names::new(DEVICES_MAX), streams, whole_seconds: false, numbered_trims: 0 }
    }

    /// Returns the device with this name. Adds the name to the table if it is new.
    pub fn device(&mut self, name: &[u8]) -> Device {
        Device::Id(self.devices.id(name))
    }

    /// Returns the stream with this name. Adds the name to the table if it is new.
    pub fn stream_named(&mut self, name: &[u8]) -> Stream<'static> {
        Stream::Id(self.streams.id(name))
    }

    /// Returns the id of a stream. Adds the stream's name to the table if it is new.
    #[inline]
    fn stream(&mut self, stream: Stream<'_>) -> u32 {
        match stream {
            Stream::None | Stream::Number(0) => 0,
            Stream::Number(number) => self.streams.number(number),
            Stream::Named(name) => self.streams.id(name),
            Stream::Id(id) => id,
        }
    }

    /// Adds a stream named after a device and returns its id.
    fn device_stream(&mut self, device: u32) -> u32 {
        self.streams.device(self.devices.list()[device as usize].as_bytes())
    }
}

/// Maximum number of devices in one trace.
const DEVICES_MAX: usize = 65_536;
/// Maximum number of streams, including the empty name at index 0.
const STREAMS_MAX: usize = 65_536;
/// Alignment of devices laid side by side: a multiple of any page size up to 1 MiB.
const DEVICE_ALIGN: u64 = 1 << 20;
/// Size in bytes of the pieces of a split request. A request is split if its length does not fit in 32 bits.
const PIECE_BYTES: u64 = 1 << 31;
/// Longest request accepted, in bytes: the capacity of the largest drive. The limit bounds the memory needed for one
/// line.
pub(crate) const REQUEST_MAX: u64 = 1 << 48;

/// Address layout of the devices of a trace.
enum DeviceLayout {
    /// No request has been seen yet. The device of the first request will be the only device that is replayed.
    FirstSeen,
    /// Replays one device at its own addresses.
    Single(u32),
    /// First pass over the files: records the highest end address on each device, by device id.
    Measure(Vec<u64>),
    /// Second pass over the files: replays each device in its own byte range. The ranges are indexed by device id and
    /// disjoint.
    SideBySide(Vec<Range<u64>>),
    /// Replays all devices at their own addresses, which may overlap.
    Overlay,
    /// Replays all devices at their own addresses, and records the device of each request.
    Recorded(Vec<u32>),
}

/// Turns the entries of a trace into requests: checks entries, selects devices, and assigns ids to names. Counts the
/// requests and all other entries.
pub struct Intake {
    pub tables: Tables,
    pub report: IngestReport,
    target: Target,
    layout: DeviceLayout,
    /// Number of requests of each unselected device, by id.
    other_requests: Vec<u64>,
    /// Streams for the requests that name no stream: one per device, by device id. Empty unless each device has its own
    /// range of addresses. The streams are created in the second pass, when all process names are known, so that no
    /// device gets the name of a process.
    device_streams: Vec<Option<u32>>,
    /// True if an accepted request came from a file that is treated as a device, because its format has no device
    /// names.
    pub file_is_device: bool,
}

impl Intake {
    pub fn new(format: Format, choice: &DeviceChoice, target: Target) -> Self {
        let mut tables = Tables::new();
        tables.whole_seconds = format.role.whole_seconds;
        let mut report = IngestReport::new(format);
        let layout = match choice {
            DeviceChoice::First => DeviceLayout::FirstSeen,
            DeviceChoice::All => DeviceLayout::Measure(Vec::new()),
            DeviceChoice::Overlay => DeviceLayout::Overlay,
            DeviceChoice::Named(name) => {
                report.device = Some(name.clone());
                DeviceLayout::Single(tables.devices.id(name.as_bytes()))
            }
        };
        let (other_requests, device_streams) = (Vec::new(), Vec::new());
        Self { tables, report, target, layout, other_requests, device_streams, file_is_device: false }
    }

    /// Creates an intake that accepts every device and records the device of each request.
    pub fn recording_devices(format: Format) -> Self {
        let layout = DeviceLayout::Recorded(Vec::new());
        Self { layout, ..Self::new(format, &DeviceChoice::First, Target::Drive) }
    }

    /// Moves to `out` the device ids recorded since the last call.
    pub fn drain_devices(&mut self, out: &mut Vec<u32>) {
        if let DeviceLayout::Recorded(devices) = &mut self.layout {
            out.append(devices);
        }
    }

    /// Accepts one entry and appends its requests to `out`; `file` returns the device id of the file.
    #[inline(always)]
    pub(crate) fn take<'a>(
        &mut self,
        entry: Entry<'a>,
        file: impl FnOnce(&mut Names) -> u32,
        out: &mut Vec<Request>,
    ) -> Result<(), Fault<'a>> {
        let Entry::Io(io) = entry else {
            self.count_no_request(entry);
            return Ok(());
        };
        // A flush has no address, even if the trace contains an address for it.
        let (offset, bytes) = if io.op == Op::Flush { (0, 0) } else { (io.offset, io.bytes) };
        if bytes > REQUEST_MAX {
            return Err(Fault::new("size", b"", "exceeds the maximum request size of 256 TiB"));
        }
        if offset.checked_add(bytes).is_none() {
            return Err(Fault::new("offset", b"", "is too large: the request ends beyond 2^64 bytes"));
        }
        let device = match io.device {
            Device::Id(id) => id,
            Device::File => {
                self.file_is_device = true;
                file(&mut self.tables.devices)
            }
        };
        let Some(base) = self.place(device, offset + bytes, io.stream)? else { return Ok(()) };
        let stream = self.stream_of(device, io.stream);
        // Builds the request in a single expression, because writing the fields one by one stalls the copy into the
        // vector (store forwarding).
        let request = |offset: u64, bytes: u32| Request {
            time_ns: io.time_ns,
            offset,
            bytes,
            op: io.op,
            flags: io.flags,
            stream,
        };
        let before = out.len();
        if io.op == Op::Flush {
            out.push(request(0, 0));
        } else if bytes == 0 && !self.target.keeps_empty(io.op) {
            self.report.counts.zero_length += 1;
        } else if let Ok(bytes) = u32::try_from(bytes) {
            out.push(request(base + offset, bytes));
        } else {
            self.report.counts.split_overlong += 1;
            split(request(base + offset, 0), bytes, out);
        }
        if let DeviceLayout::Recorded(devices) = &mut self.layout {
            devices.resize(devices.len() + out.len() - before, device);
        }
        Ok(())
    }

    fn count_no_request(&mut self, entry: Entry<'_>) {
        let counts = &mut self.report.counts;
        let count = match entry {
            Entry::Io(_) => return,
            Entry::UnknownOp(_) => &mut counts.unknown_op,
            Entry::Skip(Skip::Header) => &mut counts.headers,
            Entry::Skip(Skip::OtherAction) => &mut counts.other_actions,
            Entry::Skip(Skip::NonIo) => &mut counts.non_io,
            Entry::Skip(Skip::ShortWait) => &mut counts.short_waits,
        };
        *count += 1;
    }

    /// Returns the start address of a device in the address space of the replay; `end` is the address at which the
    /// current request ends on this device. Returns `None` if the request is not replayed, because this is the first
    /// pass or because its device is not selected.
    #[inline]
    fn place(&mut self, device: u32, end: u64, stream: Stream<'_>) -> Result<Option<u64>, Fault<'static>> {
        let index = device as usize;
        match &mut self.layout {
            DeviceLayout::Recorded(_) | DeviceLayout::Overlay => Ok(Some(0)),
            DeviceLayout::Single(selected) if *selected == device => Ok(Some(0)),
            DeviceLayout::Single(_) => {
                self.count_other(device);
                Ok(None)
            }
            DeviceLayout::SideBySide(ranges) => {
                let fits = |range: &&Range<u64>| end <= range.end - range.start;
                let why = "ends past the end of the device that the first pass found; the file is still being written, \
                           so read a copy of it";
                let range = ranges.get(index).filter(fits).ok_or(Fault::new("", b"the request", why))?;
                Ok(Some(range.start))
            }
            DeviceLayout::FirstSeen => {
                self.layout = DeviceLayout::Single(device);
                self.report.device = Some(self.tables.devices.list()[index].clone());
                Ok(Some(0))
            }
            DeviceLayout::Measure(ends) => {
                if ends.len() <= index {
                    ends.resize(index + 1, 0);
                }
                ends[index] = ends[index].max(end);
                self.tables.stream(stream);
                Ok(None)
            }
        }
    }

    /// Returns the stream of a request. A request without a stream gets the stream of its device, if any.
    #[inline]
    fn stream_of(&mut self, device: u32, stream: Stream<'_>) -> u16 {
        let mut id = self.tables.stream(stream);
        if id == 0
            && let Some(device_stream) = self.device_streams.get_mut(device as usize)
        {
            id = *device_stream.get_or_insert_with(|| self.tables.device_stream(device));
        }
        let id = id as u16;
        if id == u16::MAX && self.tables.streams.folded() {
            self.report.counts.streams_folded += 1;
        }
        id
    }

    #[cold]
    fn count_other(&mut self, device: u32) {
        self.report.counts.other_device += 1;
        let device = device as usize;
        if self.other_requests.len() <= device {
            self.other_requests.resize(device + 1, 0);
        }
        self.other_requests[device] += 1;
    }

    /// True during the first of two passes, which determines the sizes of the devices.
    pub fn measuring(&self) -> bool {
        matches!(self.layout, DeviceLayout::Measure(_))
    }

    /// Ends the first pass: assigns each device its range of addresses, and resets the counts.
    pub fn lay_out(&mut self) -> Result<(), TraceError> {
        if self.tables.devices.folded() {
            let why = "the trace has more than 65,536 devices; select a device with --device NAME";
            return Err(TraceError::Invalid(why.into()));
        }
        let DeviceLayout::Measure(ends) = &self.layout else { return Ok(()) };
        let mut next = 0_u64;
        let mut ranges = Vec::with_capacity(ends.len());
        for &bytes in ends {
            let start = next;
            let end = next.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(DEVICE_ALIGN));
            next = end.ok_or_else(|| {
                let why = "all devices together exceed 2^64 bytes; select a device with --device NAME";
                TraceError::Invalid(why.into())
            })?;
            ranges.push(start..start + bytes);
        }
        if ranges.len() > 1 {
            self.device_streams = vec![None; ranges.len()];
        }
        self.layout = DeviceLayout::SideBySide(ranges);
        self.report = IngestReport::new(self.report.format);
        self.tables.numbered_trims = 0;
        Ok(())
    }

    /// Completes the report at the end of the trace. Fails if the trace has requests, but none is for the selected
    /// device.
    pub fn conclude(&mut self) -> Result<(), TraceError> {
        let names = self.tables.devices.list();
        let counts = self.other_requests.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut others: Vec<(String, u64)> = counts.map(|(id, &count)| (names[id].clone(), count)).collect();
        // The stable sort keeps devices with equal counts in order of appearance.
        others.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let device_count = others.len();
        others.truncate(IngestReport::DEVICES_LISTED);
        if let DeviceLayout::Single(selected) = self.layout
            && device_count > 0
        {
            let selected = &names[selected as usize];
            let mut listed = others.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            if device_count > others.len() {
                listed += ", ...";
            }
            let counts = &self.report.counts;
            if counts.requests + counts.zero_length == 0 {
                let why = format!("device {selected:?} is not in the trace; its devices are {listed}");
                return Err(TraceError::Invalid(why));
            }
            self.report.notes.push(other_devices_note(selected, device_count, counts.other_device, &listed));
        }
        // The note applies only to formats in which the user can choose an action. In other formats, no option turns
        // the skipped entries into requests.
        let counts = &self.report.counts;
        if self.report.format.role.actions
            && counts.requests == 0
            && counts.other_actions > 0
            && counts.other_device == 0
        {
            let note = "no event has the chosen action; choose another action with --action (queue, issue or complete)";
            self.report.notes.push(note.into());
        }
        if self.tables.numbered_trims > 0 {
            let trims = counted(self.tables.numbered_trims, "request");
            self.report.notes.push(format!(
                "operation code 2 was read as a trim ({trims}); if it has another meaning, use op='R' in --columns"
            ));
        }
        self.report.other_devices = others;
        Ok(())
    }
}

/// Returns a note that lists the devices whose requests were left out.
fn other_devices_note(selected: &str, devices: usize, requests: u64, listed: &str) -> String {
    format!(
        "only device {selected} is replayed; {} {} request{} ({listed}); to replay others, pass --device NAME, \
         --device all (side by side) or --device overlay (at the same addresses)",
        if devices == 1 { "1 other device has".into() } else { format!("{devices} other devices have") },
        grouped(requests),
        if requests == 1 { "" } else { "s" },
    )
}

/// Appends a request of `bytes` bytes in pieces of at most [`PIECE_BYTES`].
#[cold]
fn split(mut request: Request, bytes: u64, out: &mut Vec<Request>) {
    let mut left = bytes;
    while left > 0 {
        request.bytes = left.min(PIECE_BYTES) as u32;
        out.push(request);
        left -= u64::from(request.bytes);
        request.offset += u64::from(request.bytes);
    }
}
