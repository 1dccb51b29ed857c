//! A drive from a set-up: made anew, or found in a file.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use ssdlab_core::Archive;
use ssdlab_device::{DriveError, FileBackend, FileError};
use ssdlab_sim::{Setup, SimError, is_kept, live_from};

use crate::clock::{Clock, Pace};
use crate::options::{OptionsError, drive_options};
use crate::report::Mount;
use crate::served::Served;

/// What is asked of a drive beside what it is.
#[derive(Clone, Copy, Debug)]
pub struct Wishes<'a> {
    /// Holds the bytes; memory if there is none. A file that is not there is created.
    pub file: Option<&'a Path>,
    /// Seconds on the wall for each simulated second until a reply leaves; none lets replies leave at once.
    pub scale: Option<f64>,
    /// Whether requests are recorded.
    pub record: bool,
}

/// Why a drive cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its set-up.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// Its file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The drive.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The drive in time.
    #[error(transparent)]
    Time(#[from] SimError),
    /// The system gives no thread.
    #[error("the drive in time has no thread: {0}")]
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

/// Opens the drive of a set-up, which `settings` describe.
///
/// # Errors
/// If the file, the drive or the drive in time cannot be had.
pub fn open(setup: &Setup, settings: &[(String, String)], wishes: Wishes<'_>) -> Result<Arc<Served>, OpenError> {
    let (mut drive, mount) = ssdlab_device::open(wishes.file, setup.geometry, drive_options(setup)?, settings, Ok)?;
    let description = match wishes.file {
        Some(path) => path.display().to_string(),
        None => "in memory, lost when the server ends".to_owned(),
    };
    let file = wishes.file.map(|path| File::open(path).map_err(|error| FileError::Io { path: path.into(), error }));
    let live = match wishes.scale {
        None => None,
        Some(_) => {
            let mut state = Vec::new();
            drive.save_ftl(&mut Archive::Save(&mut state)).map_err(|error| DriveError::Medium { error, lost: 0 })?;
            Some(live_from(setup, &state)?)
        }
    };
    // Time begins when the drive is ready.
    let pace = Pace::new(wishes.scale.unwrap_or(1.0));
    let clock = live.map(|live| Clock::start(live, pace)).transpose().map_err(OpenError::Thread)?;
    Ok(Arc::new(Served::new(
        drive,
        file.transpose()?,
        description,
        mount.map(|mount| Mount::of(mount, setup)),
        pace,
        clock,
        wishes.record,
    )))
}

/// What a file with a drive has of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveFile {
    /// The bytes that programs wrote, whether it is made or being made.
    Bytes,
    /// The state of a simulated one that was kept.
    State,
}

/// What a path names, if it is a file with a drive.
///
/// # Errors
/// If there is a file that cannot be read.
pub fn drive_file(path: &Path) -> io::Result<Option<DriveFile>> {
    match fs::metadata(path) {
        // Opening a pipe would wait for whoever writes to it.
        Ok(found) if !found.is_file() => Ok(None),
        Ok(_) => File::open(path).map(|file| match file {
            file if FileBackend::is_drive(&file) => Some(DriveFile::Bytes),
            file if is_kept(&file) => Some(DriveFile::State),
            _ => None,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
