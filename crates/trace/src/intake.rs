//! From a parsed entry to a request: the checks every format shares, and the choice of the device.

use crate::fault::Fault;
use crate::names::Names;
use crate::report::IngestReport;
use crate::{DeviceChoice, Format, Op, Request, Target, TraceError};

/// What a line or record turned out to be.
#[derive(Clone, Copy)]
pub(crate) enum Entry<'a> {
    /// A request.
    Io(Io<'a>),
    /// Something else, to be counted.
    Skip(Skip),
}

/// Why an entry is no request.
#[derive(Clone, Copy)]
pub(crate) enum Skip {
    /// Header, comment, summary.
    Header,
    /// An event that was not asked for.
    OtherAction,
    /// Moves no data.
    NonIo,
    /// Unknown operation.
    UnknownOp,
    /// A wait too short to count.
    ShortWait,
}

/// A request as its trace has it.
#[derive(Clone, Copy)]
pub(crate) struct Io<'a> {
    /// Absolute time in ns, in the trace's own epoch.
    pub time_ns: u64,
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    pub device: Device,
    /// Bits of [`crate::flag`].
    pub flags: u8,
    pub stream: Stream<'a>,
}

/// Who makes a request. Numbered when the request is taken, so that the table has room for those of the chosen device.
#[derive(Clone, Copy)]
pub(crate) enum Stream<'a> {
    /// The trace does not tell.
    None,
    /// A process or another that is called by its number. Process 0 is the idle task, in whose name interrupts act:
    /// none.
    Number(u64),
    /// One that is called by its name.
    Named(&'a [u8]),
    /// Id in [`Tables::streams`], 0 for none.
    Id(u32),
}

/// Whose addresses a request uses.
#[derive(Clone, Copy)]
pub(crate) enum Device {
    /// The format names no device: the file is the device.
    File,
    /// Id in [`Tables::devices`].
    Id(u32),
}

/// The names a trace introduces.
pub(crate) struct Tables {
    pub devices: Names,
    pub streams: Names,
    /// Whether times are whole seconds, over which requests are to be spread.
    pub whole_seconds: bool,
}

impl Tables {
    /// Empty tables; stream 0 is "none".
    pub fn new() -> Self {
        let mut streams = Names::new(STREAMS_MAX);
        streams.id(b"");
        Self { devices: Names::new(DEVICES_MAX), streams, whole_seconds: false }
    }

    /// The id of a stream.
    #[inline]
    fn stream(&mut self, stream: Stream<'_>) -> u32 {
        match stream {
            Stream::None | Stream::Number(0) => 0,
            Stream::Number(number) => self.streams.number(number),
            Stream::Named(name) => self.streams.id(name),
            Stream::Id(id) => id,
        }
    }
}

/// Most devices told apart in one trace.
const DEVICES_MAX: usize = 65_536;
/// Most processes told apart, and the empty name of index 0.
const STREAMS_MAX: usize = 65_536;
/// Devices laid side by side start at multiples of this: page-aligned for any page up to 1 MiB.
const DEVICE_ALIGN: u64 = 1 << 20;
/// A request beyond `u32` is cut into pieces of this many bytes.
const PIECE_BYTES: u64 = 1 << 31;
/// Longest request accepted, the capacity of the largest drive; longer ones are malformed. Bounds what one line can grow
/// to.
pub(crate) const REQUEST_MAX: u64 = 1 << 48;

/// Where each device goes.
enum Layout {
    /// The first request decides.
    Undecided,
    /// One device at its own addresses.
    One(u32),
    /// First pass: only note how far each device reaches.
    Measure(Vec<u64>),
    /// Every device in its own range, from and to.
    Ranges(Vec<(u64, u64)>),
    /// Every device at its own addresses, over the others.
    Overlay,
    /// Every device at its own addresses; the device of each request is told.
    Told(Vec<u32>),
}

/// Checks entries, keeps the tables and counts.
pub(crate) struct Intake {
    pub tables: Tables,
    pub report: IngestReport,
    target: Target,
    layout: Layout,
    /// Requests of each device that was not chosen, by id.
    others: Vec<u64>,
    /// The stream of each device among several, by id, for requests that name no stream of their own. When the first is
    /// made, the first pass has met all processes, of which one may be called like a device.
    own_streams: Vec<Option<u32>>,
    /// Whether a file stood for its device.
    file_is_device: bool,
}

impl Intake {
    pub fn new(format: Format, choice: &DeviceChoice, target: Target) -> Self {
        let mut tables = Tables::new();
        tables.whole_seconds = format == Format::Tencent;
        let layout = match choice {
            DeviceChoice::First => Layout::Undecided,
            DeviceChoice::All => Layout::Measure(Vec::new()),
            DeviceChoice::Overlay => Layout::Overlay,
            DeviceChoice::Named(name) => Layout::One(tables.devices.id(name.as_bytes())),
        };
        let (others, own_streams) = (Vec::new(), Vec::new());
        let mut report = IngestReport::new(format);
        if let DeviceChoice::Named(name) = choice {
            report.device = Some(name.clone());
        }
        Self { tables, report, target, layout, others, own_streams, file_is_device: false }
    }

    /// Takes every device, and tells that of each request.
    pub fn telling(format: Format) -> Self {
        let layout = Layout::Told(Vec::new());
        Self { layout, ..Self::new(format, &DeviceChoice::First, Target::Drive) }
    }

    /// Moves the devices of the requests since it was last asked to `out`.
    pub fn tell(&mut self, out: &mut Vec<u32>) {
        if let Layout::Told(devices) = &mut self.layout {
            out.append(devices);
        }
    }

    /// Whether a file stood for its device, as its format names none.
    pub fn file_is_device(&self) -> bool {
        self.file_is_device
    }

    /// Takes one entry of a file; `file` gives the id of the file as a device, where that is needed.
    #[inline(always)]
    pub fn take<'a>(
        &mut self,
        entry: Entry<'a>,
        file: impl FnOnce(&mut Names) -> u32,
        out: &mut Vec<Request>,
    ) -> Result<(), Fault<'a>> {
        let counts = &mut self.report.counts;
        let io = match entry {
            Entry::Io(io) => io,
            Entry::Skip(why) => {
                match why {
                    Skip::Header => counts.headers += 1,
                    Skip::OtherAction => counts.other_actions += 1,
                    Skip::NonIo => counts.non_io += 1,
                    Skip::UnknownOp => counts.unknown_op += 1,
                    Skip::ShortWait => counts.short_waits += 1,
                }
                return Ok(());
            }
        };
        if io.offset.checked_add(io.bytes).is_none() || io.bytes > REQUEST_MAX {
            return Err(Fault::new(
                "",
                b"",
                "offset and size exceed what a device can hold (2^64 bytes, 256 TiB a request)",
            ));
        }
        let device = match io.device {
            Device::Id(id) => id,
            Device::File => {
                self.file_is_device = true;
                file(&mut self.tables.devices)
            }
        };
        let base = match &mut self.layout {
            Layout::Told(_) | Layout::Overlay => 0,
            Layout::One(chosen) if *chosen == device => 0,
            Layout::One(_) => {
                self.count_other(device);
                return Ok(());
            }
            Layout::Ranges(ranges) => {
                let range = ranges.get(device as usize).filter(|(from, to)| io.offset + io.bytes <= to - from);
                let changed = "lies beyond its device as the first pass found it: the file is changing; copy it first";
                range.ok_or(Fault::new("", b"the request", changed))?.0
            }
            Layout::Undecided => {
                self.layout = Layout::One(device);
                self.report.device = Some(self.tables.devices.list()[device as usize].clone());
                0
            }
            Layout::Measure(extents) => {
                if extents.len() <= device as usize {
                    extents.resize(device as usize + 1, 0);
                }
                extents[device as usize] = extents[device as usize].max(io.offset + io.bytes);
                self.tables.stream(io.stream);
                return Ok(());
            }
        };
        let named = self.tables.stream(io.stream);
        let stream = match self.own_streams.get_mut(device as usize) {
            Some(own) if named == 0 => {
                let Tables { devices, streams, .. } = &mut self.tables;
                *own.get_or_insert_with(|| streams.device(devices.list()[device as usize].as_bytes())) as u16
            }
            _ => named as u16,
        };
        let counts = &mut self.report.counts;
        if stream == u16::MAX && self.tables.streams.folded() {
            counts.streams_folded += 1;
        }
        // Made in one go: a request put together piece by piece in memory waits for its pieces before it is copied.
        let request = |offset: u64, bytes: u32| Request {
            time_ns: io.time_ns,
            offset,
            bytes,
            op: io.op,
            flags: io.flags,
            stream,
        };
        if io.op == Op::Flush {
            out.push(request(0, 0));
        } else if io.bytes == 0 && !self.target.keeps_empty(io.op) {
            counts.zero_length += 1;
            return Ok(());
        } else if let Ok(bytes) = u32::try_from(io.bytes) {
            out.push(request(base + io.offset, bytes));
        } else {
            counts.split_overlong += 1;
            let before = out.len();
            split(request(base + io.offset, 0), io.bytes, out);
            self.note(device, out.len() - before);
            return Ok(());
        }
        self.note(device, 1);
        Ok(())
    }

    /// Notes the device of the last requests, if it is to be told.
    #[inline]
    fn note(&mut self, device: u32, requests: usize) {
        if let Layout::Told(devices) = &mut self.layout {
            devices.resize(devices.len() + requests, device);
        }
    }

    #[cold]
    fn count_other(&mut self, device: u32) {
        self.report.counts.other_device += 1;
        let device = device as usize;
        if self.others.len() <= device {
            self.others.resize(device + 1, 0);
        }
        self.others[device] += 1;
    }

    /// Whether this is the first of two passes.
    pub fn measuring(&self) -> bool {
        matches!(self.layout, Layout::Measure(_))
    }

    /// Ends the first pass: gives every device its range and starts counting afresh.
    pub fn lay_out(&mut self) -> Result<(), TraceError> {
        if self.tables.devices.folded() {
            let why = "the trace has more than 65,536 devices; choose one with --device NAME";
            return Err(TraceError::Device(why.into()));
        }
        if let Layout::Measure(extents) = &self.layout {
            let mut next = 0_u64;
            let mut ranges = Vec::with_capacity(extents.len());
            for &extent in extents {
                let from = next;
                let after = next.checked_add(extent).and_then(|end| end.checked_next_multiple_of(DEVICE_ALIGN));
                next = after.ok_or_else(|| {
                    let why = "the devices laid side by side exceed 2^64 bytes; choose one with --device NAME";
                    TraceError::Device(why.into())
                })?;
                ranges.push((from, from + extent));
            }
            if ranges.len() > 1 {
                self.own_streams = vec![None; ranges.len()];
            }
            self.layout = Layout::Ranges(ranges);
            self.report = IngestReport::new(self.report.format);
        }
        Ok(())
    }

    /// Completes the report at the end of the trace.
    pub fn conclude(&mut self) -> Result<(), TraceError> {
        let names = self.tables.devices.list();
        let mut others: Vec<(String, u64)> =
            self.others.iter().enumerate().filter(|(_, n)| **n > 0).map(|(id, &n)| (names[id].clone(), n)).collect();
        // Stable: devices with equally many requests stay in order of appearance.
        others.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let report = &mut self.report;
        let count = others.len();
        others.truncate(IngestReport::DEVICES_LISTED);
        let listed = || others.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let more = if count > others.len() { ", ..." } else { "" };
        if let Layout::One(chosen) = self.layout {
            let name = &names[chosen as usize];
            let none = report.counts.requests + report.counts.zero_length == 0;
            if none && count > 0 {
                let why = format!("device {name:?} is not in the trace; it has {}{more}", listed());
                return Err(TraceError::Device(why));
            }
            if count > 0 {
                let requests = report.counts.other_device;
                report.notes.push(format!(
                    "device {name} was chosen; {} {} request{} ({}{more}): choose with --device NAME, all (side by side) or overlay (over each other)",
                    if count == 1 { "1 other holds".into() } else { format!("{count} others hold") },
                    crate::report::grouped(requests),
                    if requests == 1 { "" } else { "s" },
                    listed(),
                ));
            }
        }
        // Of other formats these are records that never are requests.
        let has_actions = matches!(report.format, Format::Blkparse | Format::Blktrace | Format::Ftrace);
        let counts = &report.counts;
        if has_actions && counts.requests == 0 && counts.other_actions > 0 && counts.other_device == 0 {
            report.notes.push("no event has the chosen action: choose with --action queue, issue or complete".into());
        }
        report.other_devices = others;
        Ok(())
    }
}

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
