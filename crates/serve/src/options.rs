//! What of a simulation's set-up a drive of bytes has.

use ssdlab_device::{Options, WriteBuffer};
use ssdlab_sim::{Clock, FlushPolicy, Setup};

/// Why a set-up is no drive that can be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// A page cache lies above the drive.
    #[error("a drive is served without a cache above it, as clients have their own; leave out cache.policy")]
    Cache,
    /// An I/O scheduler lies above the drive.
    #[error("a drive is served without a block layer above it, as clients have their own; leave out block.scheduler")]
    BlockLayer,
}

/// The drive of bytes that a set-up describes.
///
/// # Errors
/// If something lies above the drive.
pub fn drive_options(setup: &Setup) -> Result<Options, OptionsError> {
    if setup.cache.is_some() {
        return Err(OptionsError::Cache);
    }
    if setup.block.is_some() {
        return Err(OptionsError::BlockLayer);
    }
    let buffer = match setup.clock {
        Clock::Event(_, drive) => drive.buffer,
        Clock::Count | Clock::Serial(_) => None,
    };
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
