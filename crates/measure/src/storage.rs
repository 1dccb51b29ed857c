//! What lies below a cache: a file, or contents in memory at a fixed cost or at the times of a simulated drive.

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

use crate::clock::sleep;
use crate::simulated::SimulatedDrive;

/// Alignment of buffers for direct I/O, which suits every drive.
const ALIGNMENT: usize = 4096;

/// Why a page could not be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The simulated drive refused.
    #[error("the simulated drive: {0}")]
    Simulated(#[from] SimError),
    /// The page lies behind the end.
    #[error("{} ends before page {page}; ask for pages that it has, or write this one first", path.display())]
    Beyond {
        /// The file.
        path: PathBuf,
        /// The page.
        page: PageId,
    },
}

/// A file of pages, read and written past the page cache of the system where the file system allows it.
///
/// The last page may be short in the file; it reads as if zeros followed.
#[derive(Debug)]
pub struct PagedFile {
    path: PathBuf,
    file: File,
    direct: bool,
    writable: bool,
    page_bytes: usize,
    /// Aligned buffers of no use at present.
    buffers: Mutex<Vec<Aligned>>,
}

impl PagedFile {
    /// Opens `path` for pages of `page_bytes`, for reading only if it may not be written.
    ///
    /// # Errors
    /// There is no such file, or it may not be read.
    pub fn open(path: &Path, page_bytes: usize) -> Result<Self, StorageError> {
        let error = |source| StorageError::Io { path: path.to_owned(), source };
        if page_bytes.is_multiple_of(512)
            && let Ok((file, writable)) = open(path, OFlags::DIRECT)
        {
            // Some file systems accept the flag and refuse to read.
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

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether pages can be stored.
    pub fn writable(&self) -> bool {
        self.writable
    }

    /// Whether the page cache of the system is passed by.
    pub fn direct(&self) -> bool {
        self.direct
    }

    fn at(&self, page: PageId) -> Result<u64, StorageError> {
        let beyond = || StorageError::Beyond { path: self.path.clone(), page };
        page.checked_mul(self.page_bytes as u64).filter(|&offset| offset <= i64::MAX as u64).ok_or_else(beyond)
    }

    fn io<T>(&self, result: io::Result<T>) -> Result<T, StorageError> {
        result.map_err(|source| StorageError::Io { path: self.path.clone(), source })
    }

    /// Lets `work` have an aligned buffer of a page.
    fn with_buffer<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> T {
        let kept = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut buffer = kept.unwrap_or_else(|| Aligned::new(self.page_bytes));
        let result = work(buffer.bytes());
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        result
    }
}

/// Opens a file, and says whether for writing too.
fn open(path: &Path, flags: OFlags) -> io::Result<(File, bool)> {
    let flags = flags.bits() as i32;
    let writable = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    writable
        .map(|file| (file, true))
        .or_else(|_| Ok((OpenOptions::new().read(true).custom_flags(flags).open(path)?, false)))
}

/// Reads as much of `page` as the file has, and says how much.
fn read(file: &File, page: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < page.len() {
        match file.read_at(&mut page[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // The end of the file: asking for more from an odd place is an error of direct I/O.
        if !done.is_multiple_of(512) {
            break;
        }
    }
    Ok(done)
}

impl Loader for PagedFile {
    type Error = StorageError;

    fn load(&self, id: PageId, page: &mut [u8]) -> Result<(), StorageError> {
        let offset = self.at(id)?;
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
            return Err(StorageError::Beyond { path: self.path.clone(), page: id });
        }
        page[length..].fill(0);
        Ok(())
    }

    fn store(&self, id: PageId, page: &[u8]) -> Result<(), StorageError> {
        let offset = self.at(id)?;
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

/// Bytes at an address that direct I/O takes.
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

/// How a thread spends a fixed cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It spins, to the microsecond, and takes a processor from others.
    Busy,
    /// It sleeps, for a little longer than told, as for a real drive.
    Sleep,
}

/// Contents in memory that take a fixed time. What is written is not kept.
#[derive(Debug)]
pub struct FixedCost<C> {
    /// Whole pages, which repeat beyond their end.
    pub contents: C,
    /// Time of a page read or written.
    pub cost: Duration,
    /// How it passes.
    pub wait: Wait,
}

impl<C: AsRef<[u8]>> FixedCost<C> {
    fn spend(&self, began: Instant) {
        match self.wait {
            Wait::Sleep => sleep(self.cost.saturating_sub(began.elapsed())),
            Wait::Busy => {
                while began.elapsed() < self.cost {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// Storage below a measured cache, with a count of what it does.
pub struct Storage<C> {
    kind: Kind<C>,
    loads: AtomicU64,
    stores: AtomicU64,
    load_ns: AtomicU64,
}

/// What a [`Storage`] is.
pub enum Kind<C> {
    /// A file.
    File(PagedFile),
    /// A fixed cost.
    Fixed(FixedCost<C>),
    /// Contents in memory, as whole pages which repeat beyond their end, at the times of a simulated drive. What is
    /// written is not kept.
    Simulated(C, Arc<SimulatedDrive>),
}

/// What storage has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Pages read.
    pub loads: u64,
    /// Pages written.
    pub stores: u64,
    /// Time of all pages read, in nanoseconds.
    pub load_ns: u64,
    /// Time that threads waited for a simulated drive beyond what that took, in nanoseconds.
    pub late_ns: u64,
}

impl<C> Storage<C> {
    /// Storage that has done nothing.
    pub fn new(kind: Kind<C>) -> Self {
        Self { kind, loads: AtomicU64::new(0), stores: AtomicU64::new(0), load_ns: AtomicU64::new(0) }
    }

    /// What was done so far.
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

/// Page `id` of contents that repeat beyond their end.
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
            Kind::Fixed(fixed) => {
                page.copy_from_slice(page_of(fixed.contents.as_ref(), id, page.len()));
                fixed.spend(began);
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
            Kind::Fixed(fixed) => fixed.spend(Instant::now()),
            Kind::Simulated(_, drive) => drive.serve(Op::Write, id * page.len() as u64, page.len() as u32)?,
        }
        self.stores.fetch_add(1, Relaxed);
        Ok(())
    }
}
