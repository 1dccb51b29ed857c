//! Files copied to the device concurrently, each written from front to back.

use ssdlab_core::units::write_bytes;
use ssdlab_core::{Info, Parameter, Rng, Settings, Unit};

use super::addresses::{Addresses, PatternInfo, PatternRules};
use super::check::{STREAMS_MAX, ensure, numbered};
use super::space::{RequestTarget, Space};
use crate::TraceError;

const FILES: Parameter =
    Parameter::new("files", Unit::Count("files"), 10, [1, STREAMS_MAX], "Number of files written concurrently.")
        .example(2);
const FILE_SIZE: Parameter =
    Parameter::new("file_size", Unit::Bytes, 100 << 20, [512, 1 << 40], "Size of each file.").example(64 << 20);

pub(super) static INFO: PatternInfo = Info {
    name: "copy_files",
    help: "sequential writes to `files` files of size `file_size`, interleaved request by request; ends when all files \
           are written or after `workload.requests` requests",
    source: "",
    parameters: &[FILES, FILE_SIZE],
    role: PatternRules::of::<CopyFiles>(),
};

#[derive(Debug)]
struct CopyFiles {
    files: u64,
    file_bytes: u64,
    /// Distance between the starts of consecutive files in bytes.
    stride: u64,
    made: u64,
}

impl Addresses for CopyFiles {
    const READS: bool = false;
    const STREAMS: bool = true;

    /// Checks that the files fit into the span, and that the requests cover each file without gaps.
    fn check(settings: &Settings, space: Space) -> Result<(), TraceError> {
        let (files, file_bytes) = (settings.get(FILES.name), settings.get(FILE_SIZE.name));
        let Space { align, span, smallest, largest } = space;
        let whole = write_bytes((largest / align * align).max(align));
        ensure!(smallest == largest, "sizes", "`copy_files` supports only one request size; set it to {whole}");
        let (size, slot) = (write_bytes(largest), write_bytes(align));
        let why =
            format!("the request size {size} is not a multiple of the alignment {slot}, so files would have gaps");
        ensure!(largest.is_multiple_of(align), "sizes", "{why}; set it to {whole}");
        let stride = file_bytes.checked_next_multiple_of(align);
        // The span may end right after the last file, without the alignment gap that separates other files.
        let end = stride.and_then(|stride| stride.checked_mul(files - 1)?.checked_add(file_bytes));
        let (size, all) = (write_bytes(file_bytes), write_bytes(span));
        let (field, most) = match span / files / align * align {
            0 => (FILES.name, (span / align).to_string()),
            most => (FILE_SIZE.name, write_bytes(most)),
        };
        let why = format!("{field} is too large: {files} files of {size} exceed the span of {all}; lower it to {most}");
        ensure!(end.is_some_and(|end| end <= span), field, "{why}");
        Ok(())
    }

    /// Returns the number of requests needed to write all files.
    fn requests(settings: &Settings, space: Space) -> u64 {
        settings.get(FILE_SIZE.name).div_ceil(space.largest).saturating_mul(settings.get(FILES.name))
    }

    fn new(settings: &Settings, space: Space, _: &mut Rng) -> Self {
        let file_bytes = settings.get(FILE_SIZE.name);
        Self { files: settings.get(FILES.name), file_bytes, stride: file_bytes.next_multiple_of(space.align), made: 0 }
    }

    fn streams(&self) -> Vec<String> {
        numbered("file", self.files as usize)
    }

    fn next(&mut self, bytes: u32, _: &mut Rng) -> RequestTarget {
        let (file, round) = (self.made % self.files, self.made / self.files);
        self.made += 1;
        let from = round * u64::from(bytes);
        let bytes = (self.file_bytes - from).min(bytes.into()) as u32;
        RequestTarget { offset: file * self.stride + from, bytes, stream: file as u16 + 1 }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{generate, refusal, workload};
    use crate::{Op, Source, Workload};

    fn copy(files: u64, file_bytes: u64) -> Workload {
        let workload = workload("copy_files", &[("files", files), ("file_size", file_bytes)]);
        Workload { sizes: vec![(65_536, 1.0)], ..workload }
    }

    /// Goal: each byte of each file is written once, in order, and files take turns. Method: follows the write position
    /// of each file through all requests.
    #[test]
    fn every_file_is_written_once_front_to_back_in_turn() {
        let (files, file_bytes) = (7_u64, (1 << 20) + 5000);
        let requests = generate(&copy(files, file_bytes));
        assert_eq!(requests.len() as u64, files * 17);
        let mut written = vec![0; files as usize];
        for (index, request) in requests.iter().enumerate() {
            let file = index % 7;
            assert_eq!((request.op, request.stream as usize), (Op::Write, file + 1));
            // Files start at multiples of the alignment.
            assert_eq!(request.offset, file as u64 * ((1 << 20) + 8192) + written[file]);
            written[file] += u64::from(request.bytes);
        }
        assert!(written.iter().all(|&bytes| bytes == file_bytes), "{written:?}");
        assert_eq!(requests.last().map(|request| request.bytes), Some(5000));
    }

    #[test]
    fn the_number_of_requests_ends_a_copy_early() {
        let requests = generate(&Workload { requests: 10, ..copy(3, 1 << 20) });
        assert_eq!(requests.len(), 10);
        let generator = crate::Generator::new(&copy(3, 1 << 20)).unwrap();
        assert_eq!(generator.progress().total, Some(48));
        assert_eq!(generator.streams(), ["", "file1", "file2", "file3"]);
    }

    #[test]
    fn impossible_copies_are_rejected() {
        assert_eq!(
            refusal(&copy(10, 10 << 20)),
            "workload file_size: file_size is too large: 10 files of 10MiB exceed the span of 64MiB; lower it to \
             6552KiB"
        );
        assert_eq!(refusal(&Workload { span_bytes: 10 * 6_709_248, ..copy(10, 6_709_248) }), "");
        assert!(refusal(&copy(65_535, 1 << 40)).contains("exceed the span of"));
        let mixed = Workload { sizes: vec![(4096, 1.0), (8192, 1.0)], ..copy(2, 1 << 20) };
        assert!(refusal(&mixed).contains("only one request size; set it to 8KiB"));
        let odd = Workload { sizes: vec![(5000, 1.0)], ..copy(2, 1 << 20) };
        assert!(refusal(&odd).contains("set it to 4KiB"));
    }
}
