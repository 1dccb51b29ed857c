//! Which pages left lately: their hashes in a direct-mapped table, overwritten by later ones.

use crate::PageId;
use crate::hash::hash;

/// Remembers about as many departures as it has places, each with how many came after it.
pub struct Ghosts {
    /// Tag and sequence number of the departure; sequence number 0 is empty.
    places: Box<[(u32, u32)]>,
    departures: u32,
}

impl Ghosts {
    /// A memory of about `pages` departures, doubled so that few are overwritten early.
    pub fn new(pages: usize) -> Self {
        Self { places: vec![(0, 0); (2 * pages).next_power_of_two()].into(), departures: 0 }
    }

    fn place(&self, id: PageId) -> (usize, u32) {
        let hash = hash(id);
        ((hash >> 32) as usize & (self.places.len() - 1), hash as u32)
    }

    /// Page `id` leaves.
    pub fn leave(&mut self, id: PageId) {
        // Number 0 is for empty places only.
        self.departures = self.departures.checked_add(1).unwrap_or(1);
        let (place, tag) = self.place(id);
        self.places[place] = (tag, self.departures);
    }

    /// Forgets page `id` and says how many left after it, if it was remembered.
    pub fn back(&mut self, id: PageId) -> Option<u32> {
        let (place, tag) = self.place(id);
        let (known, departure) = self.places[place];
        if departure == 0 || known != tag {
            return None;
        }
        self.places[place] = (0, 0);
        Some(self.departures.wrapping_sub(departure))
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_are_counted_from_the_page() {
        let mut ghosts = Ghosts::new(1 << 16);
        (0..10).for_each(|id| ghosts.leave(id));
        assert_eq!((ghosts.back(9), ghosts.back(0), ghosts.back(10)), (Some(0), Some(9), None));
        assert_eq!(ghosts.back(9), None);
        ghosts.leave(9);
        assert_eq!(ghosts.back(9), Some(0));
    }
}
