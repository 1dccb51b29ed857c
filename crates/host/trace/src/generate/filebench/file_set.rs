//! Picks files of a fileset in rotation: the next existing file or the next missing file.
//!
//! Source: `fileset_pick` in Filebench's `fileset.c`. It picks the file at the rotor (the current position of the
//! rotation), or else the next higher file, wrapping around, and moves the rotor past that file. Threads share the
//! rotors, because only oltp uses `opennext`.

/// A set of small numbers with a fast search for the first member at or after a given number.
#[derive(Clone, Debug)]
pub(super) struct Members {
    words: Vec<u64>,
    count: u32,
}

impl Members {
    /// Creates an empty set of numbers below `limit`.
    fn none(limit: u32) -> Self {
        Self { words: vec![0; limit.div_ceil(u64::BITS) as usize], count: 0 }
    }

    /// Creates the set of all numbers below `limit`.
    pub fn all(limit: u32) -> Self {
        let mut members = Self::none(limit);
        (0..limit).for_each(|member| members.flip(member));
        members
    }

    /// Adds a number to the set, or removes it if present.
    pub fn flip(&mut self, member: u32) {
        let word = &mut self.words[(member / u64::BITS) as usize];
        *word ^= 1 << (member % u64::BITS);
        self.count = if *word >> (member % u64::BITS) & 1 == 1 { self.count + 1 } else { self.count - 1 };
    }

    /// Returns the first member at or after `from`, wrapping around; `None` if the set is empty.
    pub fn next(&self, from: u32) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let words = self.words.len();
        let first = (from / u64::BITS) as usize % words;
        let mask = if (from / u64::BITS) as usize == first { u64::MAX << (from % u64::BITS) } else { u64::MAX };
        let member = |index: usize, mask: u64| {
            let word = self.words[index] & mask;
            (word != 0).then(|| index as u32 * u64::BITS + word.trailing_zeros())
        };
        member(first, mask).or_else(|| (1..=words).find_map(|step| member((first + step) % words, u64::MAX)))
    }
}

/// State of the files of a fileset, by file number.
#[derive(Clone, Debug)]
pub(super) struct FileSet {
    existing: Members,
    missing: Members,
    existing_rotor: u32,
    missing_rotor: u32,
    open_counts: Vec<u32>,
}

impl FileSet {
    /// Creates a fileset of `files` files that do not exist yet.
    pub fn new(files: u32) -> Self {
        Self {
            existing: Members::none(files),
            missing: Members::all(files),
            existing_rotor: 0,
            missing_rotor: 0,
            open_counts: vec![0; files as usize],
        }
    }

    pub fn open_existing(&mut self) -> Option<u32> {
        let file = self.pick_existing()?;
        self.open_counts[file as usize] += 1;
        Some(file)
    }

    /// Creates and opens the next missing file.
    pub fn create(&mut self) -> Option<u32> {
        let file = self.missing.next(self.missing_rotor)?;
        self.missing_rotor = file + 1;
        self.flip(file);
        self.open_counts[file as usize] += 1;
        Some(file)
    }

    /// Marks a missing file as existing, or an existing file as missing.
    pub fn flip(&mut self, file: u32) {
        self.missing.flip(file);
        self.existing.flip(file);
    }

    pub fn close(&mut self, file: u32) {
        self.open_counts[file as usize] -= 1;
    }

    /// Deletes the next existing file; does nothing if the file is open.
    pub fn delete(&mut self) -> Option<u32> {
        let file = self.pick_existing()?;
        if self.open_counts[file as usize] > 0 {
            return None;
        }
        self.flip(file);
        Some(file)
    }

    fn pick_existing(&mut self) -> Option<u32> {
        let file = self.existing.next(self.existing_rotor)?;
        self.existing_rotor = file + 1;
        Some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_picked_in_rotation() {
        let mut set = FileSet::new(200);
        [3, 70, 150].into_iter().for_each(|file| set.flip(file));
        let opened: Vec<_> = (0..4).filter_map(|_| set.open_existing()).collect();
        assert_eq!(opened, [3, 70, 150, 3]);
        // The rotor points at file 4. The next file, 70, is open, so nothing is deleted; file 150 was closed.
        assert_eq!(set.delete(), None);
        set.close(150);
        assert_eq!(set.delete(), Some(150));
        assert_eq!([set.create(), set.create(), set.create(), set.create()], [Some(0), Some(1), Some(2), Some(4)]);
        // The search for an existing file wraps around to file 0, which exists by now.
        assert_eq!(set.open_existing(), Some(0));
    }

    #[test]
    fn an_empty_set_has_no_next_file() {
        let mut set = FileSet::new(64);
        assert_eq!((set.open_existing(), set.delete()), (None, None));
        (0..64).for_each(|file| set.flip(file));
        assert_eq!(set.create(), None);
    }
}
