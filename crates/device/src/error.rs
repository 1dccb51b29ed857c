//! What a drive answers when it cannot do what was asked.

use ssdlab_core::Lpn;

use crate::backend::Fault;

/// Why a request was not served.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The drive is off, or its power went off while it worked.
    #[error("the drive has no power; mount it")]
    Off,
    /// The request does not lie on the drive.
    #[error("bytes {offset} to {end} are asked for, and the drive has {capacity}")]
    OutOfRange {
        /// Its first byte.
        offset: u64,
        /// Behind its last byte.
        end: u64,
        /// Bytes of the drive.
        capacity: u64,
    },
    /// Too many blocks have failed. One that fails while it holds data is marked as bad when that has been moved.
    #[error(
        "the drive is worn out and can only be read: too many of its {blocks} blocks have failed, {bad} of which are \
         marked as bad so far; copy the data to another drive"
    )]
    ReadOnly {
        /// Blocks marked as bad.
        bad: u32,
        /// All blocks.
        blocks: u32,
    },
    /// Too many blocks are bad before the first is used.
    #[error(
        "the drive cannot be made, as it could only be read: {bad} of {blocks} blocks are bad from the factory; have \
         fewer bad blocks, or raise device.op"
    )]
    TooManyBad {
        /// Bad blocks.
        bad: u32,
        /// All blocks.
        blocks: u32,
    },
    /// Data was lost on the flash.
    #[error("logical page {0} cannot be read: its data on the flash is damaged; write it anew")]
    Unreadable(Lpn),
    /// The flash holds what its FTL cannot have written.
    #[error("the drive cannot be mounted: {0}")]
    Unmountable(String),
    /// The options do not fit together.
    #[error("{0}")]
    Options(String),
    /// The file that holds the bytes has no name any more.
    #[error("the drive's file was deleted, so nothing is safe: copy the data before the drive is closed")]
    Deleted,
    /// What holds the bytes reports an error.
    #[error("the drive stopped{}: {error}; remove the cause and mount it", told(*lost))]
    Medium {
        /// What it reports.
        error: std::io::Error,
        /// Pages that waited in a volatile write buffer, and are lost.
        lost: u32,
    },
}

impl DriveError {
    /// The number that Linux gives to such an error.
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

fn told(lost: u32) -> String {
    match lost {
        0 => String::new(),
        1 => ", and a page that waited in its write buffer is lost".into(),
        _ => format!(", and {lost} pages that waited in its write buffer are lost"),
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
