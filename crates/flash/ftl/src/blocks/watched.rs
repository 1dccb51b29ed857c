//! Block properties that the block tables record only if the victim policy uses them.

use ssdlab_core::{Archive, Archived, BlockId};

/// Properties of blocks that a victim policy uses. By default it uses none; unused properties cost nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Uses {
    /// The policy reads [`PlaneView::invalidation_times`](super::PlaneView::invalidation_times).
    pub invalidation_times: bool,
    /// The policy reads [`PlaneView::owners`](super::PlaneView::owners).
    pub owners: bool,
    /// The policy reads [`PlaneView::changes`](super::PlaneView::changes).
    pub changes: bool,
}

/// Recorded values of the properties in [`Uses`]; None for a property that the policy does not use.
#[derive(Debug)]
pub(super) struct Watched {
    pub invalidated_at: Option<Vec<u64>>,
    pub owners: Option<Vec<u16>>,
    pub changes: Option<Changes>,
}

impl Watched {
    pub fn new(uses: Uses, blocks: usize, planes: usize) -> Self {
        let changes = || Changes { of_planes: vec![Vec::new(); planes], is_listed: vec![false; blocks] };
        Self {
            invalidated_at: uses.invalidation_times.then(|| vec![0; blocks]),
            owners: uses.owners.then(|| vec![0; blocks]),
            changes: uses.changes.then(changes),
        }
    }

    /// Resets the properties of a block that is taken for writing.
    pub fn taken(&mut self, block: BlockId) {
        if let Some(times) = &mut self.invalidated_at {
            times[block.index()] = 0;
        }
        if let Some(owners) = &mut self.owners {
            owners[block.index()] = 0;
        }
        self.changed(block);
    }

    pub fn invalidated(&mut self, block: BlockId, now: u64) {
        if let Some(times) = &mut self.invalidated_at {
            times[block.index()] = now;
        }
        self.changed(block);
    }

    /// Records that a property of a block has changed.
    pub fn changed(&mut self, block: BlockId) {
        if let Some(changes) = &mut self.changes {
            changes.add(block);
        }
    }

    /// Saves or loads the properties. After loading, every block counts as changed.
    pub fn archive(&mut self, archive: &mut Archive<'_>) -> Archived {
        let Self { invalidated_at, owners, changes } = self;
        invalidated_at.iter_mut().try_for_each(|times| archive.array(times))?;
        owners.iter_mut().try_for_each(|owners| archive.array(owners))?;
        if let (Archive::Load(_), Some(changes)) = (archive, changes) {
            (0..changes.is_listed.len() as u32).for_each(|block| changes.add(BlockId(block)));
        }
        Ok(())
    }
}

/// For each plane, the blocks that have changed since the victim policy last chose a victim in this plane.
#[derive(Debug)]
pub(super) struct Changes {
    pub of_planes: Vec<Vec<u32>>,
    /// For each block, true if it is already in the list of its plane.
    is_listed: Vec<bool>,
}

impl Changes {
    fn add(&mut self, block: BlockId) {
        if !std::mem::replace(&mut self.is_listed[block.index()], true) {
            let blocks_per_plane = self.is_listed.len() / self.of_planes.len();
            self.of_planes[block.index() / blocks_per_plane].push(block.0);
        }
    }

    pub fn forget(&mut self, plane: usize) {
        for block in self.of_planes[plane].drain(..) {
            self.is_listed[block as usize] = false;
        }
    }
}
