//! Derives the options of the stored drive from a simulation's set-up.

use ssdlab_device::{Options, WriteBuffer};
use ssdlab_sim::{Clock, FlushPolicy, Setup};

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
