//! A drive where its bytes are kept: found there, or made.

use std::fs;
use std::path::Path;

use ssdlab_ftl::Line;
use ssdlab_nand::Geometry;

use crate::backend::{Backend, Fault, FileBackend, FileError, MemoryBackend};
use crate::drive::{Drive, Options};
use crate::error::DriveError;
use crate::mount::MountReport;

/// Why a drive is not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The drive.
    #[error(transparent)]
    Drive(#[from] DriveError),
}

/// Mounts the drive in the file at `path`, or makes one where there is none; without a path the drive is in memory.
/// `settings` are those of its configuration, which a file keeps. `over` wraps the backend of its flash. Returns the
/// drive and what its mount did; a new drive was not mounted.
///
/// # Errors
/// If the file holds no such drive, or that cannot be made or mounted.
pub fn open<B: Backend>(
    path: Option<&Path>,
    geometry: Geometry,
    options: Options,
    settings: &[Line],
    over: impl FnOnce(Box<dyn Backend>) -> Result<B, Fault>,
) -> Result<(Drive<B>, Option<MountReport>), OpenError> {
    let lines = options.lines(&geometry);
    let (flash, is_new): (Box<dyn Backend>, bool) = match path {
        None => (Box::new(MemoryBackend::new(geometry)), true),
        Some(path) => {
            let there = path.exists();
            let open = if there { FileBackend::open } else { FileBackend::create };
            let file = open(path, geometry, &lines, settings)?;
            let is_begun = file.is_begun();
            (Box::new(file), is_begun)
        }
    };
    let flash = over(flash).map_err(DriveError::from)?;
    if is_new {
        let made = Drive::create(flash, options).and_then(Drive::writable_anew).inspect_err(|_| {
            if let Some(path) = path {
                // Half a drive is none. That it cannot be removed says nothing more than why it could not be made.
                let _ = fs::remove_file(path);
            }
        });
        let made = made?;
        path.map(FileBackend::finish).transpose()?;
        return Ok((made, None));
    }
    let mut drive = Drive::off(flash, options)?;
    let report = drive.mount()?;
    Ok((drive, Some(report)))
}
