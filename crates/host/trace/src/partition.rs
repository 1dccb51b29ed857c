//! Splits a trace of many volumes into one file per volume, in one pass and bounded memory.
//!
//! A [`VolumeReader`] decodes files in turn and returns requests with their volumes. A [`Partition`] appends the
//! requests to the volumes' files, possibly on another thread. Only when a volume is read back are its requests sorted
//! by time and, if their times are whole seconds, spread over their second. The result equals that of reading the whole
//! trace with only this volume selected.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::decode::BATCH;
use crate::files::{are_different, device_names, format_of};
use crate::formats::volume::{self, RECORD, STREAM_NAME, VOLUME_NAME};
use crate::input::{Input, Origin};
use crate::intake::Intake;
use crate::reader::Lane;
use crate::{Files, Format, IngestReport, Op, Progress, ReadOptions, Request, TraceError};

/// Requests in file order, each with its volume.
#[derive(Debug, Default)]
pub struct Parted {
    /// Requests with absolute times, in the trace's own epoch.
    pub requests: Vec<Request>,
    /// Volume number of each request. Volumes are numbered in the order of their first appearance.
    pub volumes: Vec<u32>,
    /// Names of the volumes that occurred so far.
    pub names: Vec<String>,
    /// Names of the streams that occurred so far, indexed by [`Request::stream`]; the first name is empty.
    pub streams: Vec<String>,
    /// True if times are whole seconds. The requests of each second must then be spread evenly over the second.
    pub whole_seconds: bool,
}

/// Reader that returns each request with its volume; reads files one after another.
pub struct VolumeReader {
    origins: Vec<Origin>,
    devices: Vec<Vec<u8>>,
    options: ReadOptions,
    format: Format,
    intake: Intake,
    /// The file that is currently being read, with its decoded requests.
    lane: Option<Lane>,
    files_done: usize,
    /// Sizes of all files in bytes.
    sizes: Vec<u64>,
}

impl VolumeReader {
    /// Opens files, given as pairs: the path to open, and the path to show in messages. Options that select a device or
    /// combine several files have no effect.
    pub fn open_as(named: &[(PathBuf, PathBuf)], options: &ReadOptions) -> Result<Self, TraceError> {
        Self::over(Origin::files(named), options)
    }

    fn over(origins: Vec<Origin>, options: &ReadOptions) -> Result<Self, TraceError> {
        are_different(&origins)?;
        let paths: Vec<&Path> = origins.iter().map(Origin::path).collect();
        let devices = device_names(&paths, Files::Merged);
        // Opens only one file at a time, because the number of files may exceed the limit of open files. Fails if a
        // file is missing.
        let open = |origin| Input::open(origin, Vec::new());
        let sizes = origins.iter().map(|origin| Ok(open(origin)?.progress().1)).collect::<Result<_, TraceError>>()?;
        let format = format_of(&paths, origins.iter().map(open), options)?;
        let intake = Intake::recording_devices(format);
        let options = options.clone();
        Ok(Self { origins, devices, options, format, intake, lane: None, files_done: 0, sizes })
    }

    /// Appends `max` or more requests, or all that remain if there are fewer. Appends nothing once all files are read.
    pub fn fill(&mut self, out: &mut Parted, max: usize) -> Result<(), TraceError> {
        out.requests.reserve(max + BATCH);
        while out.requests.len() < max {
            let Some(lane) = &mut self.lane else {
                let Some(origin) = self.origins.get(self.files_done) else { break };
                let input = Input::open(origin, self.devices[self.files_done].clone())?;
                self.lane = Some(Lane::new(input, self.format, &self.options));
                continue;
            };
            if lane.refill(&mut self.intake, BATCH)? {
                self.intake.report.counts.requests += lane.batch.len() as u64;
                out.requests.extend_from_slice(&lane.batch);
            } else {
                self.lane = None;
                self.files_done += 1;
            }
        }
        let tables = &self.intake.tables;
        if tables.devices.folded() {
            let why = "the trace has more than 65,536 volumes; pass fewer files";
            return Err(TraceError::Invalid(why.into()));
        }
        out.names = tables.devices.list().to_vec();
        out.streams = tables.streams.list().to_vec();
        out.whole_seconds = tables.whole_seconds;
        self.intake.drain_devices(&mut out.volumes);
        Ok(())
    }

    /// Returns the format of the files, given or detected.
    pub fn format(&self) -> Format {
        self.format
    }

    /// True if each request names its device; otherwise each file is a device.
    pub fn names_volumes(&self) -> bool {
        !self.intake.file_is_device
    }

    /// Returns the report on the requests read so far.
    pub fn report(&self) -> &IngestReport {
        &self.intake.report
    }

    /// Returns the number of bytes read so far, and the total.
    pub fn progress(&self) -> Progress {
        let current = self.lane.as_ref().map_or(0, |lane| lane.input.progress().0);
        let done = self.sizes[..self.files_done].iter().sum::<u64>() + current;
        Progress { done, total: Some(self.sizes.iter().sum()) }
    }
}

/// Request counts and byte counts of a volume.
#[derive(Clone, Debug, Default)]
pub struct VolumeTotals {
    /// Name of the volume in the trace.
    pub name: String,
    /// Number of requests of the volume.
    pub requests: u64,
    /// Number of reads of the volume.
    pub reads: u64,
    /// Number of writes of the volume.
    pub writes: u64,
    /// Bytes read from the volume.
    pub read_bytes: u64,
    /// Bytes written to the volume.
    pub written_bytes: u64,
    /// First byte after the highest address of any request to the volume.
    pub end_bytes: u64,
    /// Time of the volume's earliest request in ns, in the trace's own epoch.
    pub first_ns: u64,
    /// Time of the volume's latest request in ns.
    pub last_ns: u64,
    /// Number of streams whose names have been written to the volume's file, including stream 0.
    streams_named: usize,
}

impl VolumeTotals {
    fn add(&mut self, request: &Request) {
        if self.requests == 0 {
            (self.first_ns, self.last_ns) = (request.time_ns, request.time_ns);
        }
        self.first_ns = self.first_ns.min(request.time_ns);
        self.last_ns = self.last_ns.max(request.time_ns);
        self.requests += 1;
        self.end_bytes = self.end_bytes.max(request.end());
        let (read, written) = (request.op == Op::Read, request.op == Op::Write);
        self.reads += u64::from(read);
        self.writes += u64::from(written);
        self.read_bytes += u64::from(read) * u64::from(request.bytes);
        self.written_bytes += u64::from(written) * u64::from(request.bytes);
    }
}

/// Writes the requests of each volume to a separate file.
#[derive(Debug)]
pub struct Partition {
    folder: PathBuf,
    volumes: Vec<VolumeTotals>,
    /// Records of the current batch, sorted by volume. The buffer is kept between batches to reuse its memory.
    sorted: Vec<[u8; RECORD]>,
}

impl Partition {
    /// Creates a writer whose files go to `folder`, which must exist and be empty.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), volumes: Vec::new(), sorted: Vec::new() }
    }

    /// Returns the totals of each volume, by volume number.
    pub fn volumes(&self) -> &[VolumeTotals] {
        &self.volumes
    }

    /// Returns the file name of a volume.
    pub fn file_name(volume: usize) -> String {
        format!("{volume:06}.ssdlab-volume")
    }

    /// Appends a batch of requests to the files of their volumes.
    pub fn add(&mut self, batch: &Parted) -> Result<(), TraceError> {
        for name in &batch.names[self.volumes.len()..] {
            self.volumes.push(VolumeTotals { name: name.clone(), ..VolumeTotals::default() });
        }
        // Counting sort by volume: computes where the records of each volume start, then places each record.
        let mut next = vec![0_usize; self.volumes.len() + 1];
        for &volume in &batch.volumes {
            next[volume as usize + 1] += 1;
        }
        for volume in 0..self.volumes.len() {
            next[volume + 1] += next[volume];
        }
        self.sorted.resize(batch.requests.len(), [0; RECORD]);
        for (request, &volume) in batch.requests.iter().zip(&batch.volumes) {
            let place = &mut next[volume as usize];
            self.sorted[*place] = volume::record(request);
            *place += 1;
            self.volumes[volume as usize].add(request);
        }
        let mut begin = 0;
        next.pop();
        for (volume, end) in next.into_iter().enumerate() {
            // The counting sort has moved the start index of each volume to the start of the next volume.
            if begin < end {
                self.append(volume, begin..end, batch)?;
            }
            begin = end;
        }
        Ok(())
    }

    fn append(&mut self, volume: usize, records: std::ops::Range<usize>, batch: &Parted) -> Result<(), TraceError> {
        let path = self.folder.join(Self::file_name(volume));
        let totals = &mut self.volumes[volume];
        let mut head = Vec::new();
        if totals.streams_named == 0 {
            head.extend_from_slice(&volume::head(batch.whole_seconds));
            volume::name(VOLUME_NAME, &totals.name, &mut head);
            totals.streams_named = 1;
        }
        for stream in batch.streams.get(totals.streams_named..).unwrap_or_default() {
            volume::name(STREAM_NAME, stream, &mut head);
        }
        totals.streams_named = totals.streams_named.max(batch.streams.len());
        let written = File::options().append(true).create(true).open(&path).and_then(|mut file| {
            file.write_all(&head)?;
            file.write_all(self.sorted[records].as_flattened())
        });
        written.map_err(|error| {
            TraceError::io(&path, format!("cannot be written: {error}; check the folder and its free space"))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Directory, drain, options};
    use crate::{DeviceChoice, TraceReader};

    fn parted(files: &[&str], format: &str, batch: usize, folder: &Path) -> Result<Partition, TraceError> {
        let origins = files.iter().map(|text| Origin::Memory(text.as_bytes().into())).collect();
        let mut reader = VolumeReader::over(origins, &options(format))?;
        let mut partition = Partition::new(folder);
        loop {
            let mut out = Parted::default();
            reader.fill(&mut out, batch)?;
            assert_eq!(out.requests.len(), out.volumes.len());
            if out.requests.is_empty() {
                return Ok(partition);
            }
            partition.add(&out)?;
        }
    }

    fn contents(mut reader: TraceReader) -> (Vec<Request>, Vec<String>) {
        let out = drain(&mut reader).unwrap();
        (out, reader.streams().to_vec())
    }

    fn of_volume(folder: &Path, volume: usize) -> (Vec<Request>, Vec<String>) {
        let path = folder.join(Partition::file_name(volume));
        contents(TraceReader::open(&[path], &ReadOptions::default()).unwrap())
    }

    fn of_device(text: &str, format: &str, name: &str) -> (Vec<Request>, Vec<String>) {
        let device = DeviceChoice::Named(name.into());
        let options = ReadOptions { device, ..options(format) };
        contents(TraceReader::over(&[Origin::Memory(text.as_bytes().into())], &options).unwrap())
    }

    fn line(format: &str, (volume, time, sector, sectors, write): (u8, u32, u32, u32, bool)) -> String {
        match format {
            "tencent" => format!("{},{sector},{sectors},{},{volume}\n", time / 40, u8::from(write)),
            _ => {
                let op = if write { 'W' } else { 'R' };
                format!("{volume},{op},{},{},{time}\n", u64::from(sector) * 512, u64::from(sectors) * 512)
            }
        }
    }

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        /// Goal: the file of a volume returns the same requests as a reader that selects the volume, and no request is
        /// missing. Method: splits traces with random volumes, unordered or whole-second times, and batches of varying
        /// sizes.
        #[test]
        fn a_volume_is_as_in_its_trace(
            rows in prop::collection::vec((0_u8..6, 0_u32..500, 0_u32..4000, 1_u32..64, any::<bool>()), 1..300),
            batch in 1_usize..200,
            format in prop_oneof![Just("alibaba"), Just("tencent")],
        ) {
            let text: String = rows.iter().map(|row| line(format, *row)).collect();
            let folder = Directory::new("as-in-its-trace");
            let partition = parted(&[&text], format, batch, &folder.0).unwrap();
            let mut twin: BTreeMap<String, [u64; 6]> = BTreeMap::new();
            for &(volume, _, sector, sectors, write) in &rows {
                let reference = twin.entry(volume.to_string()).or_default();
                let (w, bytes) = (u64::from(write), u64::from(sectors) * 512);
                let more = [1, 1 - w, w, (1 - w) * bytes, w * bytes];
                for (sum, part) in reference.iter_mut().zip(more) {
                    *sum += part;
                }
                reference[5] = reference[5].max(u64::from(sector) * 512 + bytes);
            }
            prop_assert_eq!(partition.volumes().len(), twin.len());
            for (number, totals) in partition.volumes().iter().enumerate() {
                let counted = [totals.requests, totals.reads, totals.writes, totals.read_bytes, totals.written_bytes, totals.end_bytes];
                prop_assert_eq!(counted, twin[&totals.name]);
                prop_assert_eq!(of_volume(&folder.0, number), of_device(&text, format, &totals.name));
            }
        }
    }

    #[test]
    fn streams_keep_their_numbers_and_names() {
        let text = "0,W,0,512,0x1,70\n10,W,8,512,0x1,71\n20,R,8,512,0x0,\n30,W,16,512,0x1,72\n";
        let folder = Directory::new("streams");
        parted(&[text], "ssdlab-csv", 2, &folder.0).unwrap();
        let whole =
            contents(TraceReader::over(&[Origin::Memory(text.as_bytes().into())], &options("ssdlab-csv")).unwrap());
        assert_eq!(of_volume(&folder.0, 0), whole);
        assert_eq!(whole.1, ["", "70", "71", "72"]);
    }

    #[test]
    fn a_volume_continues_in_the_next_file() {
        let folder = Directory::new("next");
        let partition = parted(&["1,W,0,512,10\n2,W,0,512,11\n", "2,R,0,512,20\n"], "alibaba", 1, &folder.0);
        let totals: Vec<(String, u64, u64, u64)> =
            partition.unwrap().volumes().iter().map(|v| (v.name.clone(), v.requests, v.first_ns, v.last_ns)).collect();
        assert_eq!(totals, [("1".into(), 1, 10_000, 10_000), ("2".into(), 2, 11_000, 20_000)]);
        assert_eq!(
            of_volume(&folder.0, 1).0.iter().map(|r| (r.time_ns, r.op)).collect::<Vec<_>>(),
            [(0, Op::Write), (9000, Op::Read)]
        );
    }

    #[test]
    fn a_missing_folder_is_named_in_the_error() {
        let folder = Directory::new("gone");
        let gone = folder.0.join("gone");
        let message = parted(&["1,W,0,512,10\n"], "alibaba", 1, &gone).err().unwrap().to_string();
        assert!(message.contains("gone/000000.ssdlab-volume: cannot be written: "), "{message}");
    }
}
