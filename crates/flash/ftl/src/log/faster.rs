//! FASTer: a variant of FAST that gives valid pages a second chance, and merges cold pages one logical block at a time.
//!
//! ```text
//! write: as FAST; while less than a quarter of the isolation area is free, each appended page also causes a drain
//! reclaim(victim = oldest block of the random log):
//!     every page valid, none on its second chance:  all get a second chance; the victim becomes the newest block
//!     else, for each valid page:
//!         without a second chance so far:  copy to the newest block, on its second chance
//!         with an isolation area:          copy there
//!         else:                            merge its logical block, as FAST
//!         erase the victim
//! drain: merge the logical block of the oldest valid page in the isolation area; erase the oldest block of the area
//!     once it has no valid page
//! ```
//!
//! In each log block, pages copied for their second chance precede all host pages, so one offset marks their end.
//!
//! Source: Lim, Lee, Moon, "FASTer FTL for enterprise-class flash memory SSDs", SNAPI 2010 (slides). The authors' later
//! code adds details that the slides omit: the size of the isolation area, the first rule of reclaiming, and
//! `keep_sparse`. `keep_sparse` is off by default, because the results match the slides' table without it. Neither
//! source has a drain rule that works for every log size: the authors' code adjusts an interval by constants, and
//! overshoots. This implementation keeps a quarter of the isolation area free. This is enough room for the pages of one
//! victim, and merges then occur one by one. Two features of the authors' code are not implemented: detection of
//! sequential writes by counting appends, and a page of logical page numbers in every log block.

use ssdlab_core::parameter::percent;
use ssdlab_core::{Archive, Archived, BlockId, Lpn, Parameter, Settings, Unit};
use ssdlab_nand::{Cause, FlashSink, Note, RetireReason, Role};

use crate::Problem;
use crate::log::{
    HostPage, Log, LogBlock, LogBlocks, LogDevice, LogFtl, LogInfo, LogRules, PageAddress, Ring, SEQUENTIAL,
    SequentialLog,
};
use crate::recovery::{BlockSurvey, Survey};

/// Registry entry of this log-block FTL.
pub static INFO: LogInfo = LogInfo {
    name: "faster",
    help: "FASTer: FAST with a second chance for valid pages and an isolation area",
    source: "Lim et al., SNAPI 2010",
    parameters: &[SEQUENTIAL, SECOND_CHANCE, KEEP_SPARSE, ISOLATION],
    role: LogRules {
        // The reserve is two blocks: the target of a full merge, and the target of pages on their second chance.
        reserve_blocks: 2,
        // FASTer needs at least one random log block in addition to a sequential log block.
        has_log: true,
        least_log_blocks: |settings| settings.get(SEQUENTIAL.name) as u32 + 1,
        check,
        build: None,
    },
};

const SECOND_CHANCE: Parameter = Parameter::switch(
    "second_chance",
    true,
    "Gives pages a second chance: pages still valid when their log block is reclaimed are written to the log once \
     more.",
)
.example(0);

const KEEP_SPARSE: Parameter = Parameter::switch(
    "keep_sparse",
    false,
    "Writes pages to the log again even after their second chance, if fewer than half of the pages in their log block \
     are valid.",
)
.example(1);

/// The default is the value in the code of FASTer's authors.
const ISOLATION: Parameter = Parameter::new(
    "isolation",
    Unit::Share,
    percent(20),
    [0, percent(90)],
    "Share of the log blocks used as the isolation area for pages still valid after their second chance; 0% merges \
     these pages at once.",
)
.example(0);

/// Returns the number of log blocks of the isolation area: 0, or at least 2.
pub fn isolation_blocks(settings: &Settings, log_blocks: u32) -> u32 {
    (f64::from(log_blocks) * settings.fraction(ISOLATION.name)).round() as u32
}

fn check(settings: &Settings, log: &LogBlocks) -> Result<(), Problem> {
    let LogBlocks { count, .. } = *log;
    let share = settings.get(ISOLATION.name);
    let blocks = isolation_blocks(settings, count);
    let part = format!("{} of {count} log blocks is {blocks}", ISOLATION.unit.write(share));
    let most = count.saturating_sub(settings.get(SEQUENTIAL.name) as u32 + 1);
    let message = if share > 0 && blocks < 2 {
        let remedy = match most {
            0..2 => "lower it to 0%".into(),
            _ => format!("raise it to {}", ISOLATION.unit.write(percent(200_u64.div_ceil(count.into())))),
        };
        format!("{part}, but an isolation area needs 2 blocks; {remedy}")
    } else if blocks > most {
        let share = if most < 2 { 0 } else { u64::from(most) * 100 / u64::from(count) };
        let share = ISOLATION.unit.write(percent(share));
        format!("{part}, which leaves no log block for random pages; lower it to {share}")
    } else {
        return Ok(());
    };
    Err(Problem::new(ISOLATION.name, message))
}

/// The log of FASTer: a sequential log block, random log blocks and an isolation area.
pub struct Faster {
    second_chance: bool,
    keep_sparse: bool,
    sequential: SequentialLog,
    random: Ring,
    isolation: Ring,
    /// For each block of the random log, the number of pages at its start that are on their second chance.
    second: Vec<u16>,
}

/// FASTer: FAST with second chances and an isolation area.
pub type FasterFtl = LogFtl<Faster>;

impl Faster {
    fn reclaim<S: FlashSink>(&mut self, device: &mut LogDevice, sink: &mut S) -> Option<()> {
        let victim = self.random.give_up().expect("a full ring has an oldest block");
        let valid = device.valid(victim);
        let seasoned = u32::from(self.second[victim as usize]);
        if self.second_chance && valid == device.pages_per_block() && seasoned == 0 {
            self.second[victim as usize] = valid as u16;
            self.random.push(victim);
            sink.note(Note::Rotated(BlockId(victim)));
            return Some(());
        }
        device.retire(victim, RetireReason::Oldest, sink);
        if self.second_chance && valid > 0 {
            let newest = device.take(Role::Log, sink)?;
            self.random.push(newest);
        }
        let keep = self.keep_sparse && 2 * valid < device.pages_per_block();
        let mut merged = false;
        for offset in 0..device.pages_per_block() {
            device.expect_page(victim, offset);
            let Some(address) = device.valid_page(victim, offset) else { continue };
            // Pages get no second chance if the destination block of the copies has failed.
            let goes_on = self.second_chance && (keep || offset >= seasoned);
            if goes_on
                && !(sink.fails() && self.random.is_full(device))
                && self.random.append_copy(device, address, Cause::SecondChance, sink).is_some()
            {
                continue;
            }
            if self.isolation.capacity() > 0 {
                self.isolate(device, address, victim, sink)?;
            } else {
                self.sequential.merge_block(device, address.lbn, sink)?;
                merged = true;
            }
        }
        if self.second_chance
            && valid > 0
            && let Some(newest) = self.random.newest()
        {
            self.second[newest as usize] = device.next(newest) as u16;
        }
        self.second[victim as usize] = 0;
        device.erase_emptied(victim, merged, sink);
        Some(())
    }

    /// Moves a page of a victim to the isolation area, unless draining that area merges the page first.
    fn isolate<S: FlashSink>(
        &mut self,
        device: &mut LogDevice,
        address: PageAddress,
        victim: u32,
        sink: &mut S,
    ) -> Option<()> {
        while device.is_in(address.lpn, victim) {
            if self.isolation.is_full(device) {
                self.drain(device, sink)?;
            } else if self.isolation.append_copy(device, address, Cause::Isolation, sink).is_some() {
                break;
            } else if device.stuck {
                return None;
            }
        }
        Some(())
    }

    /// Does one step of draining: merges the logical block of the oldest page in the isolation area, and erases the
    /// area's oldest block once it has no valid pages.
    fn drain<S: FlashSink>(&mut self, device: &mut LogDevice, sink: &mut S) -> Option<()> {
        let oldest = self.isolation.oldest().expect("the isolation area is not empty while it is drained");
        let valid = |offset| device.valid_page(oldest, offset).map(|address| (offset, address));
        let page = (0..device.pages_per_block()).find_map(valid);
        if let Some((offset, address)) = page {
            sink.note(Note::Drained(Lpn(address.lpn)));
            self.sequential.merge_block(device, address.lbn, sink)?;
            // The next draining step will merge the logical block of the next valid page.
            device.expect_merge(oldest, offset + 1);
        }
        if device.valid(oldest) == 0 {
            self.isolation.give_up();
            device.retire(oldest, RetireReason::Drained, sink);
            device.erase_emptied(oldest, page.is_some(), sink);
        }
        Some(())
    }
}

impl Log for Faster {
    const INFO: &'static LogInfo = &INFO;
    const SWITCHES: Role = Role::SequentialLog;

    fn new(device: &LogDevice, log_blocks: u32, settings: &Settings) -> Self {
        let sequential_blocks = settings.get(SEQUENTIAL.name) as u32;
        let isolation_blocks = isolation_blocks(settings, log_blocks);
        Self {
            second_chance: settings.is_set(SECOND_CHANCE.name),
            keep_sparse: settings.is_set(KEEP_SPARSE.name),
            sequential: SequentialLog::new(sequential_blocks),
            random: Ring::new(log_blocks - sequential_blocks - isolation_blocks, Role::Log),
            isolation: Ring::new(isolation_blocks, Role::Isolation),
            second: vec![0; device.blocks() as usize],
        }
    }

    fn captures(&self) -> bool {
        self.sequential.blocks() > 0
    }

    fn write<S: FlashSink>(&mut self, device: &mut LogDevice, page: HostPage, sink: &mut S) -> Option<()> {
        if self.sequential.write(device, page, sink)? {
            return Some(());
        }
        if 4 * self.isolation.room(device) < self.isolation.capacity() * device.pages_per_block() {
            self.drain(device, sink)?;
        }
        while self.random.is_full(device) {
            self.reclaim(device, sink)?;
        }
        self.random.append(device, page, sink)
    }

    fn blocks(&self) -> Vec<u32> {
        self.random.blocks().chain(self.isolation.blocks()).chain(self.sequential.block()).collect()
    }

    fn role(&self, block: u32) -> Role {
        if self.sequential.block() == Some(block) {
            Role::SequentialLog
        } else if self.isolation.blocks().any(|isolated| isolated == block) {
            Role::Isolation
        } else {
            Role::Log
        }
    }

    /// Returns the size of the log's tables: 4 bytes per page of the log, and a bit for its second chance.
    fn table_bytes(&self, device: &LogDevice) -> u64 {
        let log_blocks = self.random.capacity() + self.isolation.capacity() + self.sequential.blocks();
        let log_pages = u64::from(log_blocks) * u64::from(device.pages_per_block());
        let random_pages = u64::from(self.random.capacity()) * u64::from(device.pages_per_block());
        4 * log_pages + if self.second_chance { random_pages.div_ceil(8) } else { 0 }
    }

    fn memory_bytes(&self) -> u64 {
        let rings = u64::from(self.random.capacity() + self.isolation.capacity()) * size_of::<u32>() as u64;
        rings + (self.second.len() * size_of::<u16>()) as u64
    }

    /// If power failed while a random log block was being reclaimed, returns the block to which its pages were being
    /// copied. The log then has one block more than its capacity.
    fn unfinished(&self, survey: &Survey) -> Option<BlockId> {
        let random = |block: &BlockSurvey| block.role == Role::Log;
        let blocks = survey.blocks.iter().filter(|block| !block.bad && block.valid > 0 && random(block)).count();
        if blocks as u32 > self.random.capacity() { survey.opened_last(random) } else { None }
    }

    /// Restores the log after a power loss. The copies at the start of a block count as pages on their second chance.
    /// Blocks that got a second chance because all pages were valid can no longer be identified.
    fn take_up(&mut self, _device: &LogDevice, blocks: Vec<LogBlock>) -> Vec<LogBlock> {
        for block in blocks.iter().filter(|block| block.role == Role::Log) {
            self.second[block.block as usize] = block.copies as u16;
        }
        self.sequential.take_up(self.isolation.take_up(self.random.take_up(blocks)))
    }

    fn check(&self, device: &LogDevice) -> Result<(), String> {
        let seasoned = |block: u32| u32::from(self.second[block as usize]);
        if let Some(block) = self.random.blocks().find(|&block| seasoned(block) > device.next(block)) {
            return Err(format!("log block {block} has more second-chance pages than programmed pages"));
        }
        self.sequential.check(device)
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { second_chance: _, keep_sparse: _, sequential, random, isolation, second } = self;
        sequential.archive(archive)?;
        random.archive(archive)?;
        isolation.archive(archive)?;
        archive.array(second)
    }
}
