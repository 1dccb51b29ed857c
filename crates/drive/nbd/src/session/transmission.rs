//! Transmission phase of a session: requests and replies.

use std::ops::Range;
use std::sync::Arc;

use super::Step;
use super::input::Input;
use super::negotiation::CONTEXT_ID;
use super::output::Output;
use crate::buffer::KEPT;
use crate::export::{BlockSizes, Errno, Export, Extent, Features, ReplyTime, Zeroing};
use crate::protocol::{ReplyKind, Request, Writer, cmd, cmd_flag, transmission};

/// Maximum number of extents in a reply to `BLOCK_STATUS`.
const MAX_EXTENTS: usize = 4096;

/// Size in bytes of a grain. Reads are checked for zeroes grain by grain; a grain that contains only zeroes is omitted
/// from the reply.
const GRAIN: usize = 4096;

/// Failure of a request: error number, and a message that may be empty.
struct Failure(Errno, &'static str);

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self(errno, "")
    }
}

/// Connection of a client to an export.
pub(super) struct Transmission {
    export: Arc<dyn Export>,
    pub size: u64,
    sizes: BlockSizes,
    features: Features,
    kind: ReplyKind,
    /// True if the client selected the metadata context `base:allocation`.
    context: bool,
    /// Buffer for the data of a read whose zeroes are omitted from the reply.
    scratch: Vec<u8>,
}

impl Transmission {
    pub fn new(export: Arc<dyn Export>, kind: ReplyKind, context: bool) -> Self {
        let (size, sizes, features) = (export.size(), export.block_sizes(), export.features());
        Self { export, size, sizes, features, kind, context, scratch: Vec::new() }
    }

    /// Returns the memory in bytes that the connection uses besides its input and output buffers.
    pub fn memory(&self) -> usize {
        self.scratch.capacity()
    }

    /// Returns the export's transmission flags for this client.
    pub fn flags(&self) -> u16 {
        use transmission::*;
        let Features { read_only, rotational, trim, cache } = self.features;
        let flag = |on: bool, flag: u16| if on { flag } else { 0 };
        HAS_FLAGS
            | SEND_FLUSH
            | SEND_FUA
            | CAN_MULTI_CONN
            | flag(read_only, READ_ONLY)
            | flag(!read_only, SEND_WRITE_ZEROES | SEND_FAST_ZERO)
            | flag(!read_only && trim, SEND_TRIM)
            | flag(rotational, ROTATIONAL)
            | flag(cache, SEND_CACHE)
            | flag(self.kind != ReplyKind::Simple, SEND_DF)
    }

    /// Executes the next request if it moves at most `most` bytes.
    pub fn step(&mut self, stopping: bool, most: usize, input: &mut Input, output: &mut Output) -> Step {
        let extended = self.kind == ReplyKind::Extended;
        let header_bytes = Request::header_bytes(extended);
        let filled = input.filled();
        let Some(header) = filled.get(..header_bytes) else { return Step::Short(header_bytes) };
        let Some(request) = Request::decode(header, extended) else { return Step::Close };
        if request.command == cmd::DISC {
            return Step::Close;
        }
        let has_payload =
            if extended { request.flags & cmd_flag::PAYLOAD_LEN != 0 } else { request.command == cmd::WRITE };
        let payload_bytes = if has_payload { request.bytes } else { 0 };
        if payload_bytes > self.sizes.maximum.into() || (has_payload && request.command != cmd::WRITE) {
            if extended && payload_bytes > self.sizes.maximum.into() {
                return Step::Close;
            }
            input.consume(header_bytes);
            input.discard(payload_bytes);
            let why = if request.command == cmd::WRITE { TOO_LONG } else { "this command has no payload" };
            self.writer(request, output).error(Errno::Inval, why);
            return Step::Done;
        }
        let data_bytes = if request.command == cmd::READ { request.bytes } else { payload_bytes };
        if data_bytes <= self.sizes.maximum.into() && data_bytes as usize > most {
            return Step::Long(data_bytes as usize);
        }
        let whole = header_bytes + payload_bytes as usize;
        let Some(payload) = filled.get(header_bytes..whole) else { return Step::Short(whole) };
        let start = output.bytes.len();
        let done = if stopping { Err(Errno::Shutdown.into()) } else { self.perform(request, payload, output) };
        match done {
            Ok(leave) => output.complete(start, leave, payload.len()),
            Err(Failure(errno, why)) => {
                output.bytes.truncate(start);
                self.writer(request, output).error(errno, why);
            }
        }
        input.consume(whole);
        Step::Done
    }

    /// Calls the export for a request and appends the reply.
    fn perform(&mut self, request: Request, payload: &[u8], output: &mut Output) -> Result<ReplyTime, Failure> {
        self.check(&request)?;
        let Request { offset, bytes, .. } = request;
        let has = |flag: u16| request.flags & flag != 0;
        let fua = has(cmd_flag::FUA);
        let leave = match request.command {
            _ if bytes == 0 && request.command != cmd::FLUSH => ReplyTime::Now,
            cmd::READ => return self.read(request, output),
            cmd::BLOCK_STATUS => return self.block_status(request, output),
            cmd::WRITE => self.export.write(offset, payload, fua)?,
            cmd::FLUSH => self.export.flush()?,
            cmd::TRIM => self.export.trim(offset, bytes, fua)?,
            cmd::CACHE => self.export.cache(offset, bytes)?,
            cmd::WRITE_ZEROES => {
                let how = Zeroing { no_hole: has(cmd_flag::NO_HOLE), fast: has(cmd_flag::FAST_ZERO), fua };
                self.export.write_zeroes(offset, bytes, how)?
            }
            _ => unreachable!("unknown commands are rejected before this match"),
        };
        self.writer(request, output).success();
        Ok(leave)
    }

    /// Checks that the client's request follows the protocol and the limits of the export.
    fn check(&self, request: &Request) -> Result<(), Failure> {
        let Request { flags, command, offset, bytes, .. } = *request;
        let structured = self.kind != ReplyKind::Simple;
        let of_command = match command {
            cmd::READ if structured => cmd_flag::DF,
            cmd::WRITE if self.kind == ReplyKind::Extended => cmd_flag::PAYLOAD_LEN,
            cmd::WRITE_ZEROES => cmd_flag::NO_HOLE | cmd_flag::FAST_ZERO,
            cmd::BLOCK_STATUS if self.context => cmd_flag::REQ_ONE,
            cmd::READ | cmd::WRITE | cmd::FLUSH => 0,
            cmd::TRIM if self.features.trim => 0,
            cmd::CACHE if self.features.cache => 0,
            cmd::BLOCK_STATUS => return Err(Failure(Errno::Inval, "no metadata context is selected")),
            _ => return Err(Failure(Errno::Inval, "unsupported command")),
        };
        if flags & !(of_command | cmd_flag::FUA) != 0 {
            return Err(Failure(Errno::Inval, "unsupported flag for this command"));
        }
        let writes = matches!(command, cmd::WRITE | cmd::TRIM | cmd::WRITE_ZEROES);
        if writes && self.features.read_only {
            return Err(Failure(Errno::Perm, "the export is read-only"));
        }
        if command == cmd::FLUSH {
            let whole = offset == 0 && bytes == 0;
            return if whole { Ok(()) } else { Err(Failure(Errno::Inval, "a flush must have offset and length 0")) };
        }
        if command == cmd::WRITE && self.kind == ReplyKind::Extended && flags & cmd_flag::PAYLOAD_LEN == 0 {
            return Err(Failure(Errno::Inval, "a write with extended headers must set PAYLOAD_LEN"));
        }
        if (offset | bytes) & u64::from(self.sizes.minimum - 1) != 0 {
            return Err(Failure(Errno::Inval, "offset and length must be multiples of the minimum block size"));
        }
        if offset.checked_add(bytes).is_none_or(|end| end > self.size) {
            let errno = if matches!(command, cmd::WRITE | cmd::WRITE_ZEROES) { Errno::NoSpc } else { Errno::Inval };
            return Err(Failure(errno, "the range exceeds the export"));
        }
        match command {
            cmd::READ if bytes > self.sizes.maximum.into() => {
                let errno = if flags & cmd_flag::DF != 0 { Errno::Overflow } else { Errno::Inval };
                Err(Failure(errno, TOO_LONG))
            }
            cmd::BLOCK_STATUS if bytes == 0 => Err(Failure(Errno::Inval, "the range is empty")),
            _ => Ok(()),
        }
    }

    fn read(&mut self, request: Request, output: &mut Output) -> Result<ReplyTime, Failure> {
        let start = output.bytes.len();
        self.writer(request, output).data(request.bytes);
        let data = output.bytes.grow(request.bytes as usize);
        let leave = self.export.read(request.offset, data)?;
        let may_fragment = self.kind != ReplyKind::Simple && request.flags & cmd_flag::DF == 0;
        if may_fragment && runs(request.offset, data).any(|(_, zero)| zero) {
            self.scratch.extend_from_slice(data);
            output.bytes.truncate(start);
            let mut writer = Writer { out: &mut output.bytes, kind: self.kind, request };
            for (run, zero) in runs(request.offset, &self.scratch) {
                let offset = request.offset + run.start as u64;
                let done = run.end == self.scratch.len();
                if zero {
                    writer.hole_chunk(offset, run.len() as u32, done);
                } else {
                    writer.data_chunk(offset, run.len() as u64, done);
                    writer.out.extend(&self.scratch[run]);
                }
            }
            self.scratch.clear();
            self.scratch.shrink_to(KEPT);
        }
        Ok(leave)
    }

    fn block_status(&self, request: Request, output: &mut Output) -> Result<ReplyTime, Failure> {
        let most = if request.flags & cmd_flag::REQ_ONE != 0 { 1 } else { MAX_EXTENTS };
        let mut extents: Vec<Extent> = Vec::new();
        let mut offset = request.offset;
        let end = request.offset + request.bytes;
        while offset < end {
            let extent = self.export.extent(offset, end - offset)?;
            assert!(
                (1..=end - offset).contains(&extent.bytes),
                "invalid extent: {} bytes at offset {offset}",
                extent.bytes
            );
            offset += extent.bytes;
            let same = |last: &&mut Extent| (last.hole, last.zero) == (extent.hole, extent.zero);
            if let Some(last) = extents.last_mut().filter(same) {
                last.bytes += extent.bytes;
            } else if extents.len() < most {
                extents.push(extent);
            } else {
                break;
            }
        }
        self.writer(request, output).block_status(CONTEXT_ID, &extents);
        Ok(ReplyTime::Now)
    }

    fn writer<'a>(&self, request: Request, output: &'a mut Output) -> Writer<'a> {
        Writer { out: &mut output.bytes, kind: self.kind, request }
    }
}

const TOO_LONG: &str = "the request exceeds the maximum block size";

/// Splits data that begins at `offset` into runs, each with a flag. A run with the flag consists of whole grains that
/// contain only zeroes, which the reply describes as a hole.
fn runs(offset: u64, data: &[u8]) -> impl Iterator<Item = (Range<usize>, bool)> {
    let first = (GRAIN - offset as usize % GRAIN).min(data.len());
    let mut start = 0;
    let grain_at = move |start: usize| if start == 0 { first } else { GRAIN.min(data.len() - start) };
    let is_zero = move |start: usize| {
        let grain = &data[start..][..grain_at(start)];
        grain.len() == GRAIN && grain.chunks(64).all(|part| part.iter().fold(0, |bits, byte| bits | byte) == 0)
    };
    std::iter::from_fn(move || {
        let zero = start < data.len() && is_zero(start);
        let mut end = start;
        while end < data.len() && is_zero(end) == zero {
            end += grain_at(end);
        }
        let run = start..end;
        start = end;
        (!run.is_empty()).then_some((run, zero))
    })
}
