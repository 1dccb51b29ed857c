//! Files copied to the device concurrently, each front to back.

use super::check::{STREAMS_MAX, countable, ensure, wrong};
use super::space::{RequestTarget, Space};
use crate::TraceError;
use ssdlab_core::units::write_bytes;

/// Checks that the files fit into the span without gaps; `request_bytes` is the request size, if there is only one.
pub(super) fn check(files: u32, file_bytes: u64, request_bytes: Option<u32>, space: Space) -> Result<(), TraceError> {
    let Space { align, span, largest } = space;
    countable("files", files, STREAMS_MAX)?;
    let whole = write_bytes((largest / align * align).max(align));
    let Some(request_bytes) = request_bytes else {
        return wrong("sizes", format!("copied files need a single request size; set it to {whole}"));
    };
    let (size, slot) = (write_bytes(request_bytes.into()), write_bytes(align));
    let why = format!("{size} is not a multiple of the alignment {slot}, which leaves gaps in files");
    ensure!(u64::from(request_bytes).is_multiple_of(align), "sizes", "{why}; set it to {whole}");
    ensure!(file_bytes > 0, "file_bytes", "a file must have at least 1 byte; set it to 100MiB");
    let stride = file_bytes.checked_next_multiple_of(align);
    // No gap is needed after the last file.
    let end = stride.and_then(|stride| stride.checked_mul(u64::from(files) - 1)?.checked_add(file_bytes));
    if end.is_some_and(|end| end <= span) {
        return Ok(());
    }
    let (size, all) = (write_bytes(file_bytes), write_bytes(span));
    let (field, most) = match span / u64::from(files) / align * align {
        0 => ("files", (span / align).to_string()),
        most => ("file_bytes", write_bytes(most)),
    };
    wrong(field, format!("{files} files of {size} exceed the span {all}; lower it to {most}"))
}

#[derive(Clone, Debug)]
pub(super) struct CopyFiles {
    files: u64,
    file_bytes: u64,
    /// Distance between the starts of consecutive files in bytes.
    stride: u64,
    request_bytes: u32,
    made: u64,
}

impl CopyFiles {
    pub fn new(files: u32, file_bytes: u64, request_bytes: u32, space: Space) -> Self {
        Self {
            files: files.into(),
            file_bytes,
            stride: file_bytes.next_multiple_of(space.align),
            request_bytes,
            made: 0,
        }
    }

    pub fn files(&self) -> usize {
        self.files as usize
    }

    /// Returns the number of requests needed to write all files.
    pub fn requests(&self) -> u64 {
        self.file_bytes.div_ceil(self.request_bytes.into()).saturating_mul(self.files)
    }

    pub fn next(&mut self) -> RequestTarget {
        let (file, round) = (self.made % self.files, self.made / self.files);
        self.made += 1;
        let from = round * u64::from(self.request_bytes);
        let bytes = (self.file_bytes - from).min(self.request_bytes.into()) as u32;
        RequestTarget { offset: file * self.stride + from, bytes, stream: file as u16 + 1 }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{generate, refusal, workload};
    use crate::{Op, Pattern, Source, Workload};

    fn copy(files: u32, file_bytes: u64) -> Workload {
        Workload { sizes: vec![(65_536, 1.0)], ..workload(Pattern::CopyFiles { files, file_bytes }) }
    }

    /// Goal: each byte of each file is written once, in order, and files take turns.
    #[test]
    fn every_file_is_written_once_front_to_back_in_turn() {
        let (files, file_bytes) = (7_u64, (1 << 20) + 5000);
        let requests = generate(&copy(files as u32, file_bytes));
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
            "workload file_bytes: 10 files of 10MiB exceed the span 64MiB; lower it to 6552KiB"
        );
        assert_eq!(refusal(&Workload { span_bytes: 10 * 6_709_248, ..copy(10, 6_709_248) }), "");
        assert!(refusal(&copy(10, u64::MAX)).contains("exceed the span"));
        assert!(refusal(&copy(0, 4096)).contains("raise it to 1"));
        assert!(refusal(&copy(1, 0)).contains("at least 1 byte"));
        let mixed = Workload { sizes: vec![(4096, 1.0), (8192, 1.0)], ..copy(2, 1 << 20) };
        assert!(refusal(&mixed).contains("single request size; set it to 8KiB"));
        let odd = Workload { sizes: vec![(5000, 1.0)], ..copy(2, 1 << 20) };
        assert!(refusal(&odd).contains("set it to 4KiB"));
    }
}
