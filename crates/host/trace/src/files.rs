//! Properties of the set of files that form a trace: format, devices, completeness.

use std::borrow::BorrowMut;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::shown;
use crate::formats::{self, columns};
use crate::input::{Input, Origin};
use crate::{Files, Format, ReadOptions, TraceError};

/// Returns the common format of all inputs at `paths`. The bytes read for detection stay in the inputs' windows. Fails
/// if the formats differ or an input is empty. In a recording, the empty files of idle CPUs are accepted, unless all
/// files are empty.
pub(crate) fn format_of<I: BorrowMut<Input>>(
    paths: &[&Path],
    inputs: impl Iterator<Item = Result<I, TraceError>>,
    options: &ReadOptions,
) -> Result<Format, TraceError> {
    let given = given_format(options)?;
    let mut detected: Option<(String, Format)> = None;
    let (mut empty, mut filled) = (None, false);
    for input in inputs {
        let mut input = input?;
        let input = input.borrow_mut();
        // The input window is filled only if the format must be detected. If the user gave the format, the decoder
        // reads the first bytes itself, because it may have to skip malformed lines.
        if given.is_none() {
            input.refill()?;
        }
        if input.is_empty() || given.is_none() && input.bytes().is_empty() {
            let after = if input.is_empty() { "" } else { " after decompression" };
            let why = format!("is empty{after}; there is nothing to replay");
            empty.get_or_insert_with(|| TraceError::io(input.path(), why));
            continue;
        }
        filled = true;
        if given.is_some() {
            continue;
        }
        let format = formats::detect(input.bytes(), input.path(), detected.as_ref())?;
        let path = shown(input.path());
        match &detected {
            Some((first, other)) if *other != format => {
                let why = format!("{first} is in format {}, but {path} is in format {}", other.name, format.name);
                let remedy = "convert one of them with 'ssdlab trace convert' first";
                return Err(TraceError::Invalid(format!("{why}; {remedy}")));
            }
            _ => detected = Some((path, format)),
        }
    }
    let format = given.or(detected.map(|(_, format)| format));
    match (format, empty) {
        (Some(format), Some(empty)) if !filled || !are_parts(paths, format) => Err(empty),
        (None, Some(empty)) => Err(empty),
        (Some(format), _) => Ok(format),
        (None, None) => Err(TraceError::Invalid("no trace file given; pass at least one file".into())),
    }
}

fn given_format(options: &ReadOptions) -> Result<Option<Format>, TraceError> {
    let columns: Format = &columns::INFO;
    match (&options.columns, options.format) {
        (Some(_), Some(other)) if other != columns => {
            let why = format!("--columns cannot describe --format {}, which has fixed columns", other.name);
            Err(TraceError::Invalid(format!("{why}; remove one of the two options")))
        }
        (Some(_), _) => Ok(Some(columns)),
        (None, Some(format)) if format == columns => {
            let why = "--format columns needs a layout; for example, pass --columns time=0,op=1,offset=2,size=3";
            Err(TraceError::Invalid(why.into()))
        }
        (None, format) => Ok(format),
    }
}

/// Returns the device name of each file, for formats without device names. Concatenated files form one device.
/// Otherwise each file is a device, named after the file or, if several files have the same name, after its path.
pub(crate) fn device_names(paths: &[&Path], files: Files) -> Vec<Vec<u8>> {
    let name = |path: &Path| path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
    let mut times = BTreeMap::new();
    for path in paths {
        *times.entry(name(path)).or_insert(0) += 1;
    }
    let named = |path: &&Path| match files {
        Files::Concatenated => name(paths[0]),
        _ if times[&name(path)] > 1 => path.as_os_str().as_encoded_bytes().to_vec(),
        _ => name(path),
    };
    paths.iter().map(named).collect()
}

/// Checks that no file is given twice. A repeated file would make the replay issue every request twice.
pub(crate) fn are_different(origins: &[Origin]) -> Result<(), TraceError> {
    let mut met = BTreeSet::new();
    let mut repeated = origins.iter().filter(|origin| matches!(origin, Origin::File(_, name) if !met.insert(name)));
    let Some(origin) = repeated.next() else { return Ok(()) };
    let remedy = "pass each file once, or pass a copy of the file to replay it as a second device";
    Err(TraceError::Invalid(format!("{} was given twice; {remedy}", shown(origin.path()))))
}

/// Returns the name of the recording to which a per-CPU file belongs: `sda.blktrace` for `sda.blktrace.0`.
fn recording(name: &str) -> Option<&str> {
    let (stem, cpu) = name.rsplit_once('.')?;
    cpu.parse::<u32>().is_ok().then_some(stem)
}

/// True if the files are the per-CPU files that blktrace wrote for one recording.
pub(crate) fn are_parts(paths: &[&Path], format: Format) -> bool {
    let mut stems = paths.iter().map(|path| path.to_str().and_then(recording));
    let first = stems.next().flatten();
    format.role.parts && first.is_some() && stems.all(|stem| stem == first)
}

/// Returns a note if some per-CPU files of a recording (`sda.blktrace.0`, ...) exist but were not given by the user.
pub(crate) fn missing_siblings(parts: &[&Path]) -> Option<String> {
    let given: BTreeSet<_> = parts.iter().filter_map(|part| part.file_name()).collect();
    let stem = recording(given.first()?.to_str()?)?;
    let folder = parts[0].parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    // Idle CPUs leave empty files, which need not be given.
    let entries = folder.read_dir().ok()?.flatten().filter(|entry| entry.metadata().is_ok_and(|about| about.len() > 0));
    let missing = entries
        .map(|entry| entry.file_name())
        .filter(|name| name.to_str().and_then(recording) == Some(stem) && !given.contains(name.as_os_str()))
        .count();
    (missing > 0).then(|| {
        let (few, all) = (given.len(), given.len() + missing);
        format!("only {few} of {all} files {stem}.* were given; each holds the events of one CPU, so pass all files")
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::formats::parse;
    use crate::input::Origin;
    use crate::testing::{Directory, drain, options, read_several};
    use crate::{DeviceChoice, Files, ReadOptions, Source, TraceReader, VolumeReader};

    fn csv(skip_bad: bool) -> ReadOptions {
        ReadOptions { skip_bad, ..options("ssdlab-csv") }
    }

    #[test]
    fn several_files_need_concat_or_merge() {
        let files: [&[u8]; 2] = [b"0,R,0,512\n", b"0,R,0,512\n"];
        let message = read_several(None, Files::Parts, &files).unwrap_err().to_string();
        assert!(message.starts_with("2 files given; pass --concat"), "{message}");
        let mixed: [&[u8]; 2] = [b"0,R,0,512\n", b"10,hm,0,Read,0,512,1\n"];
        let message = read_several(None, Files::Merged, &mixed).unwrap_err().to_string();
        assert!(
            message.starts_with("memory is in format ssdlab-csv, but memory is in format msr; convert one"),
            "{message}"
        );
    }

    /// The first line of the second file is damaged, so only the first file has a known format.
    #[test]
    fn a_file_of_no_known_format_is_read_like_the_one_before() {
        let files: [&[u8]; 2] = [b"10,hm,0,Read,0,512,1\n", b"damaged\n20,hm,0,Read,512,512,1\n"];
        let message = read_several(None, Files::Concatenated, &files).unwrap_err().to_string();
        assert_eq!(message, "memory: no trace format fits; to read it in the format of memory, pass --format msr");
        let options = ReadOptions { files: Files::Concatenated, skip_bad: true, ..options("msr") };
        let origins: Vec<Origin> = files.iter().map(|&bytes| Origin::Memory(bytes.into())).collect();
        assert_eq!(drain(&mut TraceReader::over(&origins, &options).unwrap()).unwrap().len(), 2);
    }

    /// Goal: each file starts when the previous file ends, and all files share one device. Method: compares the times
    /// with values computed by hand, for times out of order, an empty last file, and whole-second times.
    #[test]
    fn concatenated_files_follow_each_other() {
        let files: [&[u8]; 3] =
            [b"1000,R,0,512\n1030,R,8,512\n", b"70,W,0,512\n50,W,8,512\n", b"# nothing\n7,R,16,512\n"];
        let options = ReadOptions { files: Files::Concatenated, ..csv(true) };
        let origins: Vec<Origin> = files.iter().map(|&bytes| Origin::Memory(bytes.into())).collect();
        let mut reader = TraceReader::over(&origins, &options).unwrap();
        for _ in 0..2 {
            let requests = drain(&mut reader).unwrap();
            let places: Vec<(u64, u64)> = requests.iter().map(|r| (r.time_ns, r.offset / 512)).collect();
            assert_eq!(places, [(0, 0), (30, 8), (30, 8), (50, 0), (50, 16)]);
            reader.rewind().unwrap();
        }
        let seconds: [&[u8]; 2] = [b"5,8,8,0,1\n5,16,8,0,1\n6,24,8,0,1\n", b"9,8,8,0,2\n9,16,8,0,2\n"];
        let (requests, report) = read_several(Some("tencent"), Files::Concatenated, &seconds).unwrap();
        assert_eq!((requests.len(), report.other_devices.len()), (5, 0));
        assert!(requests[3].offset > 1 << 20, "the second device lies beside the first: {requests:?}");
    }

    #[test]
    fn files_of_a_format_without_devices_are_devices() {
        let files = ["0,R,0,512\n20,R,8,512\n", "10,R,16,512\n"];
        // Files in memory share one path, so they are one device.
        let (requests, _) = read_several(Some("ssdlab-csv"), Files::Merged, &files.map(str::as_bytes)).unwrap();
        assert_eq!(requests.iter().map(|r| r.offset / 4096).collect::<Vec<_>>(), [0, 2, 1]);
        let directory = Directory::new("reader");
        let paths = [directory.file("a.csv", files[0]), directory.file("b.csv", files[1])];
        let count = |device| {
            let options = ReadOptions { device, files: Files::Merged, ..csv(false) };
            let mut reader = TraceReader::open(&paths, &options).unwrap();
            (drain(&mut reader).unwrap().len(), reader.report().device.clone(), reader.report().other_devices.clone())
        };
        assert_eq!(count(DeviceChoice::Named("b.csv".into())), (1, Some("b.csv".into()), vec![("a.csv".into(), 2)]));
        assert_eq!(count(DeviceChoice::First), (3, None, vec![]));
    }

    /// Goal: with devices side by side, the stream of a request is the process it names, or else its device. With a
    /// single device, requests have no stream. Method: compares with streams assigned by hand, for a format that names
    /// devices and a format that also names processes.
    #[test]
    fn devices_side_by_side_are_streams() {
        let streams = |format, device, text: &[u8]| {
            let options = ReadOptions { device, ..options(format) };
            let mut reader = TraceReader::over(&[Origin::Memory(text.into())], &options).unwrap();
            let requests = drain(&mut reader).unwrap();
            let names = reader.streams();
            requests.iter().map(|request| names[usize::from(request.stream)].clone()).collect::<Vec<_>>()
        };
        let volumes = b"7,W,0,4096,1\n3,R,0,4096,2\n7,R,0,4096,3\n";
        assert_eq!(streams("alibaba", DeviceChoice::All, volumes), ["7", "3", "7"]);
        assert_eq!(streams("alibaba", DeviceChoice::First, volumes), ["", ""]);
        assert_eq!(streams("alibaba", DeviceChoice::All, b"7,W,0,4096,1\n7,R,0,4096,3\n"), ["", ""]);
        let processes = b"0,R,0,512,0x1,42\n5,W,8,512,0x1,0\n";
        assert_eq!(streams("ssdlab-csv", DeviceChoice::All, processes), ["42", ""]);
    }

    /// Each file has the same name as a process in the other file.
    #[test]
    fn a_device_differs_from_a_process_of_the_same_name() {
        let directory = Directory::new("namesakes");
        let first = directory.file("1", "0,R,0,512,0x1,0\n20,R,0,512,0x1,2\n");
        let second = directory.file("2", "10,R,0,512,0x1,0\n30,R,0,512,0x1,1\n");
        let options = ReadOptions { files: Files::Merged, ..csv(false) };
        let mut reader = TraceReader::open(&[first, second], &options).unwrap();
        let requests = drain(&mut reader).unwrap();
        let names = reader.streams();
        let streams: Vec<_> = requests.iter().map(|request| names[usize::from(request.stream)].as_str()).collect();
        assert_eq!(streams, ["1 (device)", "2 (device)", "2", "1"]);
    }

    #[test]
    fn a_file_cannot_be_merged_with_itself() {
        let directory = Directory::new("twice");
        let path = directory.file("a.csv", "0,R,0,512\n20,R,8,512\n");
        let open = |files| TraceReader::open(&[path.clone(), path.clone()], &ReadOptions { files, ..csv(false) });
        let message = open(Files::Merged).unwrap_err().to_string();
        let fleet = VolumeReader::open_as(&[(path.clone(), path.clone()), (path.clone(), path.clone())], &csv(false));
        assert_eq!(fleet.err().unwrap().to_string(), message);
        assert!(message.ends_with(
            "a.csv was given twice; pass each file once, or pass a copy of the file to replay it as a second device"
        ));
        let mut reader = open(Files::Concatenated).unwrap();
        assert_eq!(reader.fill(&mut Vec::new(), 10).unwrap(), 4);
    }

    /// Goal: the file of an idle CPU is accepted as part of a recording, although it is empty. Method: reads four files
    /// and compares the requests. Two files are empty. The other two have one queue event each: 512-byte reads of
    /// sector 8 at 10 ns and of sector 16 at 30 ns.
    #[test]
    fn empty_files_of_idle_cpus_are_accepted() {
        let directory = Directory::new("idle");
        let event = |time: u64, sector: u64| {
            let mut record = [0_u8; 48];
            record[..4].copy_from_slice(&0x6561_7407_u32.to_le_bytes());
            record[8..16].copy_from_slice(&time.to_le_bytes());
            record[16..24].copy_from_slice(&sector.to_le_bytes());
            record[24..28].copy_from_slice(&512_u32.to_le_bytes());
            record[28..32].copy_from_slice(&0x1_0001_u32.to_le_bytes());
            record.to_vec()
        };
        let nothing = zstd::encode_all(&b""[..], 1).unwrap();
        let parts = [Vec::new(), event(30, 16), nothing, event(10, 8)];
        let name = |cpu| format!("sda.blktrace.{cpu}");
        let paths: Vec<_> = parts.iter().enumerate().map(|(cpu, part)| directory.file(&name(cpu), part)).collect();
        for format in [None, parse("blktrace").ok()] {
            let options = ReadOptions { format, ..ReadOptions::default() };
            let mut reader = TraceReader::open(&paths, &options).unwrap();
            let requests = drain(&mut reader).unwrap();
            let read: Vec<_> =
                requests.iter().map(|request| (request.time_ns, request.offset, request.bytes)).collect();
            assert_eq!((read, reader.report().notes.len()), (vec![(0, 4096, 512), (20, 8192, 512)], 0));
            let named: Vec<_> = paths.iter().map(|path| (path.clone(), path.clone())).collect();
            let mut volumes = VolumeReader::open_as(&named, &options).unwrap();
            let mut parted = crate::Parted::default();
            volumes.fill(&mut parted, 10).unwrap();
            assert_eq!(parted.requests.len(), 2);
            // An empty file is an error if it is the only file, or if it is not a per-CPU file of blktrace.
            let message = TraceReader::open(&paths[..1], &options).unwrap_err().to_string();
            assert!(message.ends_with("sda.blktrace.0: is empty; there is nothing to replay"), "{message}");
        }
        let other = directory.file("other.csv", "");
        let options = ReadOptions { files: Files::Merged, ..ReadOptions::default() };
        let message = TraceReader::open(&[paths[1].clone(), other], &options).unwrap_err().to_string();
        assert!(message.ends_with("other.csv: is empty; there is nothing to replay"), "{message}");
    }

    #[test]
    fn missing_per_cpu_files_are_noted() {
        let directory = Directory::new("siblings");
        let mut record = [0_u8; 48];
        record[..4].copy_from_slice(&0x6561_7407_u32.to_le_bytes());
        let paths = ["sda.blktrace.0", "sda.blktrace.1", "sda.blktrace.12"].map(|name| directory.file(name, record));
        let notes = |paths: &[PathBuf]| {
            let reader = TraceReader::open(paths, &ReadOptions::default()).unwrap();
            reader.report().notes.clone()
        };
        let expected = |few| {
            [format!(
                "only {few} of 3 files sda.blktrace.* were given; each holds the events of one CPU, so pass all files"
            )]
        };
        assert_eq!((notes(&paths[..1]), notes(&paths[1..])), (expected(1).into(), expected(2).into()));
        assert!(notes(&paths).is_empty());
        // The trace file of an idle CPU is empty. Neither its absence nor its presence causes a note.
        let idle = directory.file("sda.blktrace.13", "");
        assert!(notes(&paths).is_empty());
        assert!(notes(&[&paths[..], &[idle]].concat()).is_empty());
    }
}
