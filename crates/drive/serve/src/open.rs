//! Opens the drive that a simulation set-up describes: a new drive, or a drive stored in a file.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use ssdlab_core::Archive;
use ssdlab_device::{DriveError, FileBackend, FileError, Options, WriteBuffer};
use ssdlab_sim::{FlushPolicy, Monitor, Setup, SimError, States, is_kept, live_from, prepare_ftl};

use crate::clock::{Clock, Pace};
use crate::report::{Mount, Start};
use crate::served::Served;

/// Options for serving a drive.
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions<'a> {
    /// File that stores the bytes, created if missing; `None` for memory.
    pub file: Option<&'a Path>,
    /// Initial state of a new drive; `None` for an empty drive. [`States::from`] is the saved state from which the
    /// drive continues; without it, the drive is preconditioned.
    pub start: Option<States<'a>>,
    /// Wall-clock seconds per simulated second; `None` sends replies immediately.
    pub scale: Option<f64>,
    /// True if client requests are recorded.
    pub record: bool,
}

/// Reason why a drive could not be opened for serving.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The set-up describes a drive that cannot be exported.
    #[error("{0}")]
    Options(&'static str),
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The stored drive cannot be opened.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The simulated drive cannot be built.
    #[error(transparent)]
    Time(#[from] SimError),
    /// The system cannot start the thread of the simulated drive.
    #[error("cannot start a thread for the simulated drive: {0}; raise the process limit (ulimit -u)")]
    Thread(io::Error),
}

impl From<ssdlab_device::OpenError> for OpenError {
    fn from(error: ssdlab_device::OpenError) -> Self {
        match error {
            ssdlab_device::OpenError::File(error) => Self::File(error),
            ssdlab_device::OpenError::Drive(error) => Self::Drive(error),
        }
    }
}

/// Returns the options of the stored drive that `setup` describes. Fails if the set-up has a page cache or a block
/// layer, which an exported drive cannot have.
pub fn drive_options(setup: &Setup) -> Result<Options, &'static str> {
    if setup.cache.is_some() {
        return Err("a served drive cannot have a page cache, because its clients have their own; remove cache.policy");
    }
    if setup.block.is_some() {
        return Err(
            "a served drive cannot have a block layer, because its clients have their own; remove block.scheduler",
        );
    }
    let buffer = if let ssdlab_sim::Clock::Event(_, drive) = setup.clock { drive.buffer } else { None };
    let buffer = buffer.map(|buffer| {
        let (high, low) = match buffer.flush {
            FlushPolicy::Eager => (1, 0),
            FlushPolicy::Watermark { high, low } => {
                let pages = f64::from(buffer.pages);
                let high = ((high * pages) as u32).max(1);
                (high, ((low * pages) as u32).min(high - 1))
            }
        };
        WriteBuffer { pages: buffer.pages, high, low, protected: buffer.protected }
    });
    Ok(Options {
        logical_pages: setup.logical_pages,
        ftl: setup.ftl,
        seed: setup.seed,
        buffer,
        journal_blocks: Options::journal_blocks(setup.geometry.blocks),
        spare_for_failures: 0,
        endurance_cycles: setup.endurance_cycles,
    })
}

/// Opens the drive of a set-up; `settings` is the configuration from which the set-up was made. `monitor` observes the
/// preconditioning of a new drive. Fails if the file, the stored drive or the simulated drive cannot be opened.
pub fn open(
    setup: &Setup,
    settings: &[(String, String)],
    options: ServeOptions<'_>,
    monitor: &mut dyn Monitor,
) -> Result<Arc<Served>, OpenError> {
    let (stored, lines) = (drive_options(setup).map_err(OpenError::Options)?, setup.lines());
    let mut precondition = None;
    let state = || -> Result<_, OpenError> {
        let Some(states) = options.start else { return Ok(None) };
        // Checks the options first, because preconditioning may take a long time.
        stored.check(&setup.geometry).map_err(DriveError::Options)?;
        let prepared = prepare_ftl(setup, states, monitor)?;
        precondition = Some(prepared.summary);
        Ok(Some(prepared.state))
    };
    let (mut drive, mount) = ssdlab_device::open(options.file, setup.geometry, stored, (&lines, settings), Ok, state)?;
    let in_memory = || "in memory; data is lost when the server exits".to_owned();
    let description = options.file.map_or_else(in_memory, |path| path.display().to_string());
    let file = options.file.map(|path| File::open(path).map_err(|error| FileError::Io(path.into(), error)));
    let live = match options.scale {
        None => None,
        Some(_) => {
            let mut state = Vec::new();
            drive.save_ftl(&mut Archive::Save(&mut state)).map_err(|error| DriveError::Medium { error, lost: 0 })?;
            Some(live_from(setup, &state)?)
        }
    };
    // The simulated time starts only when the drive is ready.
    let pace = Pace::new(options.scale.unwrap_or(1.0));
    let clock = live.map(|live| Clock::start(live, pace)).transpose().map_err(OpenError::Thread)?;
    Ok(Arc::new(Served::new(
        drive,
        file.transpose()?,
        description,
        Start { mount: mount.map(|mount| Mount::of(mount, setup)), precondition },
        pace,
        clock,
        options.record,
    )))
}

/// Kind of content in a drive file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveFile {
    /// A drive with stored bytes, complete or still being created.
    Bytes,
    /// The saved state of a simulated drive.
    State,
}

/// Returns the kind of drive that the file at a path contains; `None` if it is not a drive file.
pub fn drive_file(path: &Path) -> io::Result<Option<DriveFile>> {
    match fs::metadata(path) {
        // Does not open other files, because opening a pipe would wait for a writer.
        Ok(metadata) if !metadata.is_file() => Ok(None),
        Ok(_) => File::open(path).map(|file| match file {
            file if FileBackend::is_drive(&file) => Some(DriveFile::Bytes),
            file if is_kept(&file) => Some(DriveFile::State),
            _ => None,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
