//! Opens the drive at a path, or creates it.

use std::fs;
use std::path::Path;

use ssdlab_core::difference::Line;
use ssdlab_nand::Geometry;

use crate::backend::{Backend, Fault, FileBackend, FileError, MemoryBackend};
use crate::drive::{Drive, Options};
use crate::error::DriveError;
use crate::report::MountReport;

/// Reason why a drive cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The drive's file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The drive cannot be created or mounted.
    #[error(transparent)]
    Drive(#[from] DriveError),
}

/// Mounts the drive in the file at `path`, or creates it. Without a path, the drive is in memory. An existing file must
/// have the settings in `lines`; `settings` is the configuration, which the file stores. `over` wraps the flash
/// backend. A new drive is empty, or continues from the FTL state that `state` returns. Returns the drive and its mount
/// report, or None instead of a report for a new drive. Fails if the file contains a different drive, or the drive
/// cannot be created or mounted.
pub fn open<B: Backend, E: From<OpenError>>(
    path: Option<&Path>,
    geometry: Geometry,
    options: Options,
    (lines, settings): (&[Line], &[Line]),
    over: impl FnOnce(Box<dyn Backend>) -> Result<B, Fault>,
    state: impl FnOnce() -> Result<Option<Vec<u8>>, E>,
) -> Result<(Drive<B>, Option<MountReport>), E> {
    let (flash, is_new): (Box<dyn Backend>, bool) = match path {
        None => (Box::new(MemoryBackend::new(geometry)), true),
        Some(path) => {
            let there = path.exists();
            let open = if there { FileBackend::open } else { FileBackend::create };
            let file = open(path, geometry, lines, settings).map_err(OpenError::from)?;
            let is_begun = file.is_begun();
            (Box::new(file), is_begun)
        }
    };
    let flash = over(flash).map_err(|fault| OpenError::Drive(fault.into()))?;
    if is_new {
        let made = state().and_then(|state| {
            let made = match state {
                None => Drive::create(flash, options),
                Some(state) => Drive::create_from(flash, options, &state),
            };
            Ok(made.and_then(Drive::writable_anew).map_err(OpenError::Drive)?)
        });
        let made = made.inspect_err(|_| {
            if let Some(path) = path {
                // Removes the partly created drive, which is useless. An error of the removal is ignored, because only
                // the first error helps the user.
                let _ = fs::remove_file(path);
            }
        })?;
        path.map(FileBackend::finish).transpose().map_err(OpenError::from)?;
        return Ok((made, None));
    }
    let mut drive = Drive::off(flash, options).map_err(OpenError::Drive)?;
    let report = drive.mount().map_err(OpenError::Drive)?;
    Ok((drive, Some(report)))
}
