//! Doubly linked lists of slots in two arrays. Several lists over the same slots are several heads in one `Links`.

/// No slot.
pub const NONE: u32 = u32::MAX;

/// Neighbours of every slot: `after` is the one that came later.
#[derive(Default)]
pub struct Links {
    before: Vec<u32>,
    after: Vec<u32>,
}

/// The ends of a list.
#[derive(Clone, Copy)]
pub struct List {
    pub oldest: u32,
    pub newest: u32,
    pub len: usize,
}

impl Default for List {
    fn default() -> Self {
        Self { oldest: NONE, newest: NONE, len: 0 }
    }
}

impl Links {
    pub fn grow(&mut self, slots: usize) {
        for side in [&mut self.before, &mut self.after] {
            side.reserve_exact(slots - side.len());
            side.resize(slots, NONE);
        }
    }

    pub fn push(&mut self, list: &mut List, slot: u32) {
        self.before[slot as usize] = list.newest;
        self.after[slot as usize] = NONE;
        match list.newest {
            NONE => list.oldest = slot,
            newest => self.after[newest as usize] = slot,
        }
        list.newest = slot;
        list.len += 1;
    }

    pub fn remove(&mut self, list: &mut List, slot: u32) {
        let (before, after) = (self.before[slot as usize], self.after[slot as usize]);
        match before {
            NONE => list.oldest = after,
            before => self.after[before as usize] = after,
        }
        match after {
            NONE => list.newest = before,
            after => self.before[after as usize] = before,
        }
        list.len -= 1;
    }

    /// The slot that came after `slot`.
    pub fn after(&self, slot: u32) -> u32 {
        self.after[slot as usize]
    }

    pub fn bytes(&self) -> usize {
        (self.before.capacity() + self.after.capacity()) * size_of::<u32>()
    }
}
