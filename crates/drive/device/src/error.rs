//! Errors of a drive.

use ssdlab_core::Lpn;
use ssdlab_core::units::counted;

use crate::backend::Fault;

/// Reason why a request or a mount of the drive failed.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The drive is off, or its power failed during the request.
    #[error("the drive is off; mount it")]
    Off,
    /// The request extends past the end of the drive.
    #[error("bytes {offset} to {end} exceed the drive's capacity of {capacity} bytes")]
    OutOfRange {
        /// First byte of the requested range.
        offset: u64,
        /// End of the requested range.
        end: u64,
        /// Capacity of the drive in bytes.
        capacity: u64,
    },
    /// Too many blocks have failed. A block that fails while it holds data is marked as bad once its data has moved.
    #[error(
        "the drive is worn out and read-only: too many of its {blocks} blocks failed ({bad} are marked as bad); copy \
                 the data to another drive"
    )]
    ReadOnly {
        /// Number of blocks marked as bad.
        bad: u32,
        /// Total number of blocks.
        blocks: u32,
    },
    /// Too many blocks are bad from the factory.
    #[error("the drive would be read-only: {bad} of its {blocks} blocks are bad from the factory; raise device.op")]
    TooManyBad {
        /// Number of bad blocks.
        bad: u32,
        /// Total number of blocks.
        blocks: u32,
    },
    /// The flash has lost the data of a logical page.
    #[error("logical page {0} cannot be read: its data is damaged; overwrite it to make it readable")]
    Unreadable(Lpn),
    /// The flash contains data that its FTL cannot have written.
    #[error("the drive cannot be mounted: {0}")]
    Unmountable(String),
    /// The options conflict with each other or with the flash.
    #[error("{0}")]
    Options(String),
    /// The file that stores the drive was deleted.
    #[error("the drive's file was deleted; copy the data before you close the drive, or the data is lost")]
    Deleted,
    /// The medium that stores the flash reports an error.
    #[error("the drive stopped{}: {error}; remove the cause and mount the drive again", lost_pages(*lost))]
    Medium {
        /// Error of the medium.
        error: std::io::Error,
        /// Number of pages lost from a volatile write buffer.
        lost: u32,
    },
}

impl DriveError {
    /// Returns the Linux error number of this error.
    pub fn errno(&self) -> i32 {
        use rustix::io::Errno;
        let errno = match self {
            Self::Off => Errno::NODEV,
            Self::OutOfRange { .. } | Self::Options(_) => Errno::INVAL,
            Self::ReadOnly { .. } | Self::TooManyBad { .. } => Errno::ROFS,
            Self::Unreadable(_) | Self::Unmountable(_) | Self::Deleted => Errno::IO,
            Self::Medium { error, .. } => return error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()),
        };
        errno.raw_os_error()
    }
}

fn lost_pages(lost: u32) -> String {
    match lost {
        0 => String::new(),
        _ => format!(", losing {} from its write buffer", counted(lost.into(), "page")),
    }
}

impl From<Fault> for DriveError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::PowerLost => Self::Off,
            Fault::Io(error) => Self::Medium { error, lost: 0 },
            Fault::Failed | Fault::Uncorrectable => Self::Medium { error: std::io::Error::other(fault), lost: 0 },
        }
    }
}
