//! Storage below a cache: a file, or pages in memory with a fixed latency or the latency of a simulated drive.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use ssdlab_pool::{Loader, PageId};
use ssdlab_sim::SimError;
use ssdlab_trace::Op;

use crate::clock::Wait;
use crate::simulated::SimulatedDrive;

/// Alignment of buffers for direct I/O, sufficient for every drive.
const ALIGNMENT: usize = 4096;

/// Reasons why a page could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The operating system reported an error.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file of pages.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The simulated drive reported an error.
    #[error("simulated drive: {0}")]
    Simulated(#[from] SimError),
    /// The page lies past the end of the file.
    #[error("page {1} is past the end of {0}; write the page first")]
    Beyond(PathBuf, PageId),
}

/// File of pages, accessed with direct I/O where the file system allows it.
///
/// The file may end within the last page; the missing part of the page reads as zeros.
#[derive(Debug)]
pub struct PagedFile {
    path: PathBuf,
    file: File,
    direct: bool,
    writable: bool,
    page_bytes: usize,
    /// Unused buffers, each one page long and aligned for direct I/O.
    buffers: Mutex<Vec<Aligned>>,
}

impl PagedFile {
    /// Opens the file `path`, which has pages of `page_bytes` bytes; opens it read-only if it is not writable. Fails if
    /// the file does not exist or cannot be read.
    pub fn open(path: &Path, page_bytes: usize) -> Result<Self, StorageError> {
        let error = |source| StorageError::Io { path: path.to_owned(), source };
        if page_bytes.is_multiple_of(512)
            && let Ok((file, writable)) = open(path, OFlags::DIRECT)
        {
            // Some file systems accept the flag for direct I/O, but reads then fail.
            let mut buffer = Aligned::new(page_bytes);
            if file.read_at(buffer.bytes(), 0).is_ok() && file.read_at(buffer.bytes(), page_bytes as u64).is_ok() {
                let buffers = Mutex::new(vec![buffer]);
                return Ok(Self { path: path.to_owned(), file, direct: true, writable, page_bytes, buffers });
            }
        }
        let (file, writable) = open(path, OFlags::empty()).map_err(error)?;
        if file.metadata().map_err(error)?.is_dir() {
            return Err(error(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        Ok(Self { path: path.to_owned(), file, direct: false, writable, page_bytes, buffers: Mutex::default() })
    }

    /// Returns the path of the file of pages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if the file is writable.
    pub fn writable(&self) -> bool {
        self.writable
    }

    /// True if the file uses direct I/O.
    pub fn direct(&self) -> bool {
        self.direct
    }

    fn offset(&self, page: PageId) -> Result<u64, StorageError> {
        let beyond = || StorageError::Beyond(self.path.clone(), page);
        page.checked_mul(self.page_bytes as u64).filter(|&offset| offset <= i64::MAX as u64).ok_or_else(beyond)
    }

    fn io<T>(&self, result: io::Result<T>) -> Result<T, StorageError> {
        result.map_err(|source| StorageError::Io { path: self.path.clone(), source })
    }

    /// Calls `work` with an aligned buffer of one page.
    fn with_buffer<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> T {
        let idle = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut buffer = idle.unwrap_or_else(|| Aligned::new(self.page_bytes));
        let result = work(buffer.bytes());
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        result
    }
}

/// Opens a file for reading and, if possible, writing. Returns the file, and true if it is writable.
fn open(path: &Path, flags: OFlags) -> io::Result<(File, bool)> {
    let flags = flags.bits() as i32;
    let writable = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    writable
        .map(|file| (file, true))
        .or_else(|_| Ok((OpenOptions::new().read(true).custom_flags(flags).open(path)?, false)))
}

/// Reads `page` from `offset` in the file; returns the number of bytes read, which is smaller at the end of the file.
fn read(file: &File, page: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < page.len() {
        match file.read_at(&mut page[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // A short read means the end of the file. Another read would also start at an unaligned offset, which direct
        // I/O rejects.
        if !done.is_multiple_of(512) {
            break;
        }
    }
    Ok(done)
}

impl Loader for PagedFile {
    type Error = StorageError;

    fn load(&self, id: PageId, page: &mut [u8]) -> Result<(), StorageError> {
        let offset = self.offset(id)?;
        let length = if self.direct {
            self.with_buffer(|buffer| {
                let length = read(&self.file, buffer, offset)?;
                page[..length].copy_from_slice(&buffer[..length]);
                Ok(length)
            })
        } else {
            read(&self.file, page, offset)
        };
        let length = self.io(length)?;
        if length == 0 {
            return Err(StorageError::Beyond(self.path.clone(), id));
        }
        page[length..].fill(0);
        Ok(())
    }

    fn store(&self, id: PageId, page: &[u8]) -> Result<(), StorageError> {
        let offset = self.offset(id)?;
        self.io(if self.direct {
            self.with_buffer(|buffer| {
                buffer.copy_from_slice(page);
                self.file.write_all_at(buffer, offset)
            })
        } else {
            self.file.write_all_at(page, offset)
        })
    }
}

/// Buffer aligned for direct I/O.
#[derive(Debug)]
struct Aligned {
    bytes: Vec<u8>,
    from: usize,
    length: usize,
}

impl Aligned {
    fn new(length: usize) -> Self {
        let bytes = vec![0; length + ALIGNMENT];
        let from = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { bytes, from, length }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..self.from + self.length]
    }
}

/// Storage below a measured cache, with operation counters.
pub struct Storage<C> {
    kind: Kind<C>,
    loads: AtomicU64,
    stores: AtomicU64,
    load_ns: AtomicU64,
}

/// Types of storage below a cache.
pub enum Kind<C> {
    /// A file of pages.
    File(PagedFile),
    /// Pages in memory, read and written in a fixed time. Page numbers past the last page wrap around to the first
    /// page. Writes are discarded.
    Fixed(C, Duration, Wait),
    /// Like `Fixed`, but with the latency of a simulated drive.
    Simulated(C, Arc<SimulatedDrive>),
}

ssdlab_core::counters! {
    /// Operation counters of a [`Storage`].
    pub struct Done {
        loads: "pages", "Pages read.";
        stores: "pages", "Pages written.";
        load_ns: "ns", "Total time of page reads.";
        late_ns: "ns", "Total time that threads waited after the simulated drive had completed their requests.";
    }
}

impl<C> Storage<C> {
    /// Creates storage with all counters at 0.
    pub fn new(kind: Kind<C>) -> Self {
        Self { kind, loads: AtomicU64::new(0), stores: AtomicU64::new(0), load_ns: AtomicU64::new(0) }
    }

    /// Returns the operation counters so far.
    pub fn done(&self) -> Done {
        let late_ns = if let Kind::Simulated(_, drive) = &self.kind { drive.late_ns() } else { 0 };
        Done {
            loads: self.loads.load(Relaxed),
            stores: self.stores.load(Relaxed),
            load_ns: self.load_ns.load(Relaxed),
            late_ns,
        }
    }
}

/// Returns page `id` of `contents`. Page numbers past the end wrap around to the first page.
pub(crate) fn page_of(contents: &[u8], id: PageId, page_bytes: usize) -> &[u8] {
    let at = (id % (contents.len() / page_bytes) as u64) as usize * page_bytes;
    &contents[at..at + page_bytes]
}

impl<C: AsRef<[u8]> + Send + Sync + 'static> Loader for Storage<C> {
    type Error = StorageError;

    fn load(&self, id: PageId, page: &mut [u8]) -> Result<(), StorageError> {
        let began = Instant::now();
        match &self.kind {
            Kind::File(file) => file.load(id, page)?,
            Kind::Fixed(contents, cost, wait) => {
                page.copy_from_slice(page_of(contents.as_ref(), id, page.len()));
                wait.since(began, *cost);
            }
            Kind::Simulated(contents, drive) => {
                page.copy_from_slice(page_of(contents.as_ref(), id, page.len()));
                drive.serve(Op::Read, id * page.len() as u64, page.len() as u32)?;
            }
        }
        self.loads.fetch_add(1, Relaxed);
        self.load_ns.fetch_add(began.elapsed().as_nanos() as u64, Relaxed);
        Ok(())
    }

    fn store(&self, id: PageId, page: &[u8]) -> Result<(), StorageError> {
        match &self.kind {
            Kind::File(file) => file.store(id, page)?,
            Kind::Fixed(_, cost, wait) => wait.since(Instant::now(), *cost),
            Kind::Simulated(_, drive) => drive.serve(Op::Write, id * page.len() as u64, page.len() as u32)?,
        }
        self.stores.fetch_add(1, Relaxed);
        Ok(())
    }
}
