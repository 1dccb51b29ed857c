//! Chooses among the devices of requests that come with their device, such as rows of a table, as a reader does among
//! those of a trace.

use crate::intake::{Device, Entry, Intake, Io, Stream};
use crate::{DeviceChoice, Format, IngestReport, Parted, Request, Target, TraceError};

/// Takes the requests of the devices that are asked for.
pub struct Devices {
    intake: Intake,
    /// Ids in the intake by numbers of volumes.
    ids: Vec<Option<u32>>,
}

impl Devices {
    /// Where all devices are asked for, requests come in two passes, between which [`Self::lay_out`] is called.
    pub fn new(choice: &DeviceChoice) -> Self {
        // The format whose requests come with their volume.
        let intake = Intake::new(Format::Volume, choice, Target::Drive);
        Self { intake, ids: Vec::new() }
    }

    /// Whether this is the first of two passes, in which nothing is taken.
    pub fn measuring(&self) -> bool {
        self.intake.measuring()
    }

    /// Ends the first pass.
    pub fn lay_out(&mut self) -> Result<(), TraceError> {
        self.intake.lay_out()
    }

    /// Appends the requests of a batch that are asked for.
    pub fn take(&mut self, batch: &Parted, out: &mut Vec<Request>) -> Result<(), TraceError> {
        let before = out.len();
        self.take_until(batch, out, |_| false)?;
        self.intake.report.counts.requests += (out.len() - before) as u64;
        Ok(())
    }

    /// Of the requests of a batch that are asked for, the first that ends beyond `capacity_bytes`, and its number in
    /// the batch.
    pub fn find_beyond(&mut self, batch: &Parted, capacity_bytes: u64) -> Result<Option<(usize, Request)>, TraceError> {
        let mut out = Vec::new();
        let row = self.take_until(batch, &mut out, |request| request.ends_beyond(capacity_bytes))?;
        Ok(row.zip(out.pop()))
    }

    /// Appends the requests of a batch that are asked for, up to the last one; returns its number.
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
            taken.map_err(|fault| TraceError::Device(fault.to_string()))?;
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

    /// What has been met so far.
    pub fn report(&self) -> &IngestReport {
        &self.intake.report
    }

    /// Names of the streams taken so far, by [`Request::stream`]; the first is empty: none.
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
        out.iter().map(|one| (one.time_ns, one.offset, name(one.stream))).collect()
    }

    #[test]
    fn one_device_is_that_of_the_first_request_or_named() {
        let one = |time, at, name: &str| (time, at, name.to_owned());
        let mut first = Devices::new(&DeviceChoice::First);
        assert_eq!(taken(&mut first), [one(5, 0, ""), one(7, 8192, "")]);
        assert_eq!(taken(&mut first), [one(5, 0, ""), one(7, 8192, "")]);
        first.conclude().unwrap();
        let report = first.report();
        assert_eq!((report.device.as_deref(), report.counts.requests), (Some("b"), 4));
        assert_eq!(report.other_devices, [("a".into(), 4)]);
        assert!(report.notes[0].starts_with("device b was chosen; 1 other holds 4 requests (a)"), "{:?}", report.notes);
        let mut named = Devices::new(&DeviceChoice::Named("a".into()));
        assert_eq!(taken(&mut named), [one(6, 4096, "vim"), one(9, 0, "")]);
        let mut none = Devices::new(&DeviceChoice::Named("c".into()));
        assert_eq!(taken(&mut none), []);
        assert!(none.conclude().unwrap_err().to_string().starts_with("device \"c\" is not in the trace; it has b, a"));
    }

    #[test]
    fn a_request_beyond_a_drive_has_its_row() {
        let found = |choice: &DeviceChoice, capacity_bytes| {
            let mut devices = Devices::new(choice);
            if devices.measuring() {
                taken(&mut devices);
                devices.lay_out().unwrap();
            }
            let found = devices.find_beyond(&batch(), capacity_bytes).unwrap();
            found.map(|(row, request)| (row, request.offset))
        };
        assert_eq!(found(&DeviceChoice::First, 4096), Some((2, 8192)));
        assert_eq!(found(&DeviceChoice::Named("a".into()), 4096), Some((1, 4096)));
        assert_eq!(found(&DeviceChoice::All, 16_384), Some((1, (1 << 20) + 4096)));
        assert_eq!(found(&DeviceChoice::First, 8704), None);
    }

    #[test]
    fn all_devices_lie_side_by_side_as_streams() {
        let mut all = Devices::new(&DeviceChoice::All);
        assert!(all.measuring() && taken(&mut all).is_empty());
        all.lay_out().unwrap();
        let found = taken(&mut all);
        let (behind, name) = (1 << 20, |name: &str| name.to_owned());
        let expected =
            [(5, 0, name("b")), (6, behind + 4096, name("vim")), (7, 8192, name("b")), (9, behind, name("a"))];
        assert_eq!(found, expected);
        assert_eq!(all.report().counts.requests, 4);
    }
}
