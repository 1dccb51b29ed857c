//! Files copied onto the device at the same time, each front to back.

use super::{STREAMS_MAX, Space, Target, countable, wrong};
use crate::TraceError;
use ssdlab_core::Bytes;

#[derive(Clone, Debug)]
pub(super) struct CopyFiles {
    files: u64,
    file_bytes: u64,
    /// Bytes from the start of one file to that of the next.
    stride: u64,
    request_bytes: u32,
    made: u64,
}

impl CopyFiles {
    /// `request_bytes` is the only size of the requests, if there is but one.
    pub fn new(files: u32, file_bytes: u64, request_bytes: Option<u32>, space: Space) -> Result<Self, TraceError> {
        let Space { align, span, .. } = space;
        countable("files", files, STREAMS_MAX)?;
        let Some(request_bytes) = request_bytes else {
            return wrong("sizes", "files are copied in requests of one size; write a single size, such as 64KiB");
        };
        if !u64::from(request_bytes).is_multiple_of(align) {
            let above = u64::from(request_bytes).next_multiple_of(align);
            let whole = if above <= span { above } else { above - align };
            let write = if whole > 0 { format!("write {whole}B or ") } else { String::new() };
            let why = format!(
                "{request_bytes} bytes are not a multiple of the alignment of {align}, so that a file would have gaps; \
                 {write}lower the alignment"
            );
            return wrong("sizes", why);
        }
        if file_bytes == 0 {
            return wrong("file_bytes", "0 bytes are no file; write a size, such as 100MiB");
        }
        let files = u64::from(files);
        let stride = file_bytes.checked_next_multiple_of(align);
        // Behind the last file nothing need follow.
        let end = stride.and_then(|stride| stride.checked_mul(files - 1)?.checked_add(file_bytes));
        match (stride, end) {
            (Some(stride), Some(end)) if end <= span => Ok(Self { files, file_bytes, stride, request_bytes, made: 0 }),
            _ => {
                let most = span / files / align * align;
                let remedy = if most == 0 { "use fewer".into() } else { format!("lower it to {most}B") };
                let why = format!(
                    "{files} files of {file_bytes} bytes ({}) exceed the span of {span} ({}); \
                     {remedy} or enlarge the span",
                    Bytes(file_bytes),
                    Bytes(span),
                );
                wrong("file_bytes", why)
            }
        }
    }

    pub fn files(&self) -> usize {
        self.files as usize
    }

    /// How many requests write every file.
    pub fn requests(&self) -> u64 {
        self.file_bytes.div_ceil(self.request_bytes.into()).saturating_mul(self.files)
    }

    pub fn next(&mut self) -> Target {
        let (file, round) = (self.made % self.files, self.made / self.files);
        self.made += 1;
        let from = round * u64::from(self.request_bytes);
        let bytes = (self.file_bytes - from).min(self.request_bytes.into()) as u32;
        Target { offset: file * self.stride + from, bytes, stream: file as u16 + 1 }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{generate, refusal, workload};
    use crate::{Op, Pattern, Source, Workload};

    fn copy(files: u32, file_bytes: u64) -> Workload {
        Workload { sizes: vec![(65_536, 1.0)], ..workload(Pattern::CopyFiles { files, file_bytes }) }
    }

    /// Goal: each byte of each file is written once, in order, files taking turns.
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
    fn copies_that_cannot_be_are_refused() {
        assert_eq!(
            refusal(&copy(10, 10 << 20)),
            "workload file_bytes: 10 files of 10485760 bytes (10.0 MiB) exceed the span of 67108864 (64.0 MiB); \
             lower it to 6709248B or enlarge the span"
        );
        assert_eq!(refusal(&Workload { span_bytes: 10 * 6_709_248, ..copy(10, 6_709_248) }), "");
        assert!(refusal(&copy(10, u64::MAX)).contains("exceed the span"));
        assert!(refusal(&copy(0, 4096)).contains("1 to 65535"));
        assert!(refusal(&copy(1, 0)).contains("no file"));
        let mixed = Workload { sizes: vec![(4096, 1.0), (8192, 1.0)], ..copy(2, 1 << 20) };
        assert!(refusal(&mixed).contains("a single size"));
        let odd = Workload { sizes: vec![(5000, 1.0)], ..copy(2, 1 << 20) };
        assert!(refusal(&odd).contains("write 8192B or lower the alignment"));
    }
}
