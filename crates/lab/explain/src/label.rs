//! Names of blocks and pages in pictures and sentences.

use crate::{Drive, Scheme, State, Step, Use};

/// State of a drive, with the information needed to name its blocks.
#[derive(Clone)]
pub(crate) struct Labelled<'a> {
    pub drive: &'a Drive,
    pub state: State,
    /// For each block, the number of the last step that opened, erased or rotated it; negative if there is no such
    /// step.
    since: Vec<i64>,
}

impl<'a> Labelled<'a> {
    pub fn new(drive: &'a Drive, start: &State) -> Self {
        let blocks = start.blocks.len() as i64;
        Self { drive, state: start.clone(), since: (-blocks..0).collect() }
    }

    /// Applies step number `at` to the state.
    pub fn apply(&mut self, at: usize, step: &Step) {
        self.state.apply(step);
        if let Step::Erase { block, .. } | Step::Opened { block, .. } | Step::Rotated { block } = *step {
            self.since[block as usize] = at as i64;
        }
    }

    fn is_log(&self) -> bool {
        matches!(self.drive.ftl, Scheme::Log(_))
    }

    /// Returns the name of a block, which begins with a letter for its use.
    pub fn block(&self, number: u32) -> String {
        let block = &self.state.blocks[number as usize];
        let letter = match block.used {
            Use::Map => "M",
            _ if !self.is_log() => "B",
            Use::Data => return self.data_block_name(number, block.owner),
            Use::Log => "L",
            Use::Sequential => "S",
            Use::Isolation => "I",
            Use::Free | Use::Slc => "F",
            Use::Bad => "X",
        };
        format!("{letter}{number}")
    }

    fn data_block_name(&self, number: u32, owner: Option<u32>) -> String {
        match owner {
            None => "new".into(),
            Some(lbn) if self.data_block(lbn) == Some(number) => format!("D{lbn}"),
            // During a merge, both the old and the new data block exist.
            Some(lbn) => format!("D{lbn}′"),
        }
    }

    /// Returns the data block of a logical block; during a merge, the older of its two data blocks.
    pub fn data_block(&self, lbn: u32) -> Option<u32> {
        let blocks = self.state.blocks.iter().zip(&self.since).zip(0..);
        let own = blocks.filter(|((block, _), _)| block.used == Use::Data && block.owner == Some(lbn));
        own.min_by_key(|((_, since), _)| **since).map(|(_, number)| number)
    }

    /// Returns the use of a block in words, which a picture shows next to its name.
    pub fn block_use(&self, number: u32) -> String {
        let block = &self.state.blocks[number as usize];
        let of = |what: &str| block.owner.map_or(what.into(), |lbn| format!("{what} of {lbn}"));
        match (&self.drive.ftl, block.used) {
            (Scheme::Page(page), Use::Data) if page.survivors == "own" => match block.frontier {
                0 => "host".into(),
                1 => "GC".into(),
                stream => format!("stream {stream}"),
            },
            (Scheme::Log(_), Use::Sequential) => of("sequential"),
            (Scheme::Log(log), Use::Log) if log.scheme.name == "bast" => of("log"),
            (_, used) => match used {
                Use::Data => "data",
                Use::Log => "log",
                Use::Sequential => "sequential",
                Use::Isolation => "isolation",
                Use::Map => "map",
                Use::Slc => "SLC",
                Use::Free => "free",
                Use::Bad => "bad",
            }
            .into(),
        }
    }

    /// Returns the name of a flash page: its block's name, and its number within the block, counted from 0.
    pub fn place(&self, ppn: u32) -> String {
        format!("{}·{}", self.block(self.state.block_of(ppn)), ppn % self.drive.pages_per_block)
    }

    /// Returns the number of the map page that `lpn` denotes; `None` if `lpn` is a logical page.
    fn map_page(&self, lpn: u32) -> Option<u32> {
        lpn.checked_sub(self.drive.logical_pages).filter(|_| !self.is_log())
    }

    /// Returns the name of a logical page or map page, for a sentence.
    pub fn page(&self, lpn: u32) -> String {
        self.map_page(lpn).map_or_else(|| format!("page {lpn}"), |map_page| format!("map page {map_page}"))
    }

    /// Returns the number of a logical page or map page, as shown in a picture.
    pub fn page_number(&self, lpn: u32) -> String {
        self.map_page(lpn).map_or_else(|| lpn.to_string(), |map_page| format!("m{map_page}"))
    }
}
