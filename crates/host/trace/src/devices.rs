//! Device selection for requests that do not come from a file, such as the rows of a table with a device column. The
//! rules are the same as for trace files.

use crate::formats::volume;
use crate::intake::{Device, Entry, Intake, Io, Stream};
use crate::{DeviceChoice, IngestReport, Parted, Request, Target, TraceError};

/// Filter that passes the requests of the selected devices.
pub struct Devices {
    intake: Intake,
    /// Id of each volume in the table of device names, by volume number; `None` before the volume's first request.
    ids: Vec<Option<u32>>,
}

impl Devices {
    /// Creates a filter. If all devices are selected, the caller must pass all requests twice, and call
    /// [`Self::lay_out`] between the two passes.
    pub fn new(choice: &DeviceChoice) -> Self {
        // The requests come from no file. The format only fills a field of the report, and its rules must have neither
        // actions nor whole seconds.
        let intake = Intake::new(&volume::INFO, choice, Target::Drive);
        Self { intake, ids: Vec::new() }
    }

    /// True during the first of two passes, which measures the devices and returns no requests.
    pub fn measuring(&self) -> bool {
        self.intake.measuring()
    }

    /// Ends the first pass, in which the size of every device was measured, and assigns each device its range in the
    /// address space.
    pub fn lay_out(&mut self) -> Result<(), TraceError> {
        self.intake.lay_out()
    }

    /// Appends the selected requests of a batch to `out`.
    pub fn take(&mut self, batch: &Parted, out: &mut Vec<Request>) -> Result<(), TraceError> {
        let before = out.len();
        self.take_until(batch, out, |_| false)?;
        self.intake.report.counts.requests += (out.len() - before) as u64;
        Ok(())
    }

    /// Finds the first selected request of a batch that extends beyond `capacity_bytes`; returns the request and its
    /// row.
    pub fn find_beyond(&mut self, batch: &Parted, capacity_bytes: u64) -> Result<Option<(usize, Request)>, TraceError> {
        let mut out = Vec::new();
        let row = self.take_until(batch, &mut out, |request| request.ends_beyond(capacity_bytes))?;
        Ok(row.zip(out.pop()))
    }

    /// Appends the selected requests of a batch to `out`, up to and including the first request for which `is_last` is
    /// true. Returns the row of that request.
    fn take_until(
        &mut self,
        batch: &Parted,
        out: &mut Vec<Request>,
        is_last: impl Fn(&Request) -> bool,
    ) -> Result<Option<usize>, TraceError> {
        self.ids.resize(batch.names.len(), None);
        for (row, (request, &volume)) in batch.requests.iter().zip(&batch.volumes).enumerate() {
            let devices = &mut self.intake.tables.devices;
            let name = batch.names[volume as usize].as_bytes();
            let id = *self.ids[volume as usize].get_or_insert_with(|| devices.id(name));
            let stream = match batch.streams.get(usize::from(request.stream)) {
                Some(name) => Stream::Named(name.as_bytes()),
                None => Stream::Number(request.stream.into()),
            };
            let &Request { time_ns, op, offset, bytes, flags, .. } = request;
            let io = Io { time_ns, op, offset, bytes: bytes.into(), device: Device::Id(id), flags, stream };
            let taken = self.intake.take(Entry::Io(io), |_| id, out);
            taken.map_err(|fault| TraceError::Invalid(fault.to_string()))?;
            if out.last().is_some_and(&is_last) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Completes the report at the end of the trace.
    pub fn conclude(&mut self) -> Result<(), TraceError> {
        self.intake.conclude()
    }

    /// Returns the report on the requests read so far.
    pub fn report(&self) -> &IngestReport {
        &self.intake.report
    }

    /// Returns the names of the streams read so far, indexed by [`Request::stream`]; the first name is empty and means
    /// no stream.
    pub fn streams(&self) -> &[String] {
        self.intake.tables.streams.list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::testing::request;

    fn batch() -> Parted {
        let mut requests = [(5, 0), (6, 4096), (7, 8192), (9, 0)].map(|(time, at)| request(time, Op::Read, at, 512));
        requests[1].stream = 1;
        Parted {
            requests: requests.into(),
            volumes: vec![1, 0, 1, 0],
            names: vec!["a".into(), "b".into()],
            streams: vec![String::new(), "vim".into()],
            whole_seconds: false,
        }
    }

    fn taken(devices: &mut Devices) -> Vec<(u64, u64, String)> {
        let mut out = Vec::new();
        devices.take(&batch(), &mut out).unwrap();
        let name = |stream: u16| devices.streams()[usize::from(stream)].clone();
        out.iter().map(|request| (request.time_ns, request.offset, name(request.stream))).collect()
    }

    #[test]
    fn the_selected_device_is_the_first_or_the_named_one() {
        let row = |time, at, name: &str| (time, at, name.to_owned());
        let mut first = Devices::new(&DeviceChoice::First);
        assert_eq!(taken(&mut first), [row(5, 0, ""), row(7, 8192, "")]);
        assert_eq!(taken(&mut first), [row(5, 0, ""), row(7, 8192, "")]);
        first.conclude().unwrap();
        let report = first.report();
        assert_eq!((report.device.as_deref(), report.counts.requests), (Some("b"), 4));
        assert_eq!(report.other_devices, [("a".into(), 4)]);
        assert!(
            report.notes[0].starts_with("only device b is replayed; 1 other device has 4 requests (a)"),
            "{:?}",
            report.notes
        );
        let mut named = Devices::new(&DeviceChoice::Named("a".into()));
        assert_eq!(taken(&mut named), [row(6, 4096, "vim"), row(9, 0, "")]);
        let mut none = Devices::new(&DeviceChoice::Named("c".into()));
        assert_eq!(taken(&mut none), []);
        assert!(
            none.conclude()
                .unwrap_err()
                .to_string()
                .starts_with("device \"c\" is not in the trace; its devices are b, a")
        );
    }

    #[test]
    fn a_request_beyond_the_drive_is_found_with_its_row() {
        let first_beyond = |choice: &DeviceChoice, capacity_bytes| {
            let mut devices = Devices::new(choice);
            if devices.measuring() {
                taken(&mut devices);
                devices.lay_out().unwrap();
            }
            let beyond = devices.find_beyond(&batch(), capacity_bytes).unwrap();
            beyond.map(|(row, request)| (row, request.offset))
        };
        assert_eq!(first_beyond(&DeviceChoice::First, 4096), Some((2, 8192)));
        assert_eq!(first_beyond(&DeviceChoice::Named("a".into()), 4096), Some((1, 4096)));
        assert_eq!(first_beyond(&DeviceChoice::All, 16_384), Some((1, (1 << 20) + 4096)));
        assert_eq!(first_beyond(&DeviceChoice::First, 8704), None);
    }

    #[test]
    fn all_devices_lie_side_by_side_with_their_names_as_streams() {
        let mut all = Devices::new(&DeviceChoice::All);
        assert!(all.measuring() && taken(&mut all).is_empty());
        all.lay_out().unwrap();
        let requests = taken(&mut all);
        let (behind, name) = (1 << 20, |name: &str| name.to_owned());
        let expected =
            [(5, 0, name("b")), (6, behind + 4096, name("vim")), (7, 8192, name("b")), (9, behind, name("a"))];
        assert_eq!(requests, expected);
        assert_eq!(all.report().counts.requests, 4);
    }
}
