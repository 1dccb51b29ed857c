//! Levels of parallelism of a flash array, and the order in which pages are striped over them.

/// Group of the chips' erase blocks that form one block of the array; they are written, collected and erased together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collected {
    /// Single blocks: each block of a plane is written, collected and erased separately.
    Plane,
    /// The blocks with the same number on all planes of a die.
    Die,
    /// The blocks with the same number on all planes of all dies: a superblock.
    Superblock,
}

/// A level of parallelism in the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// A channel: a bus that connects chips to the controller.
    Channel,
    /// A chip on a channel.
    Way,
    /// A die of a chip, which works on one command at a time.
    Die,
    /// A plane of a die, which has its own page registers.
    Plane,
}

/// Order of the planes, fastest changing level first. `CWDP` puts successive pages on different channels, then on
/// different chips, dies and planes (the notation of MQSim and of Hu et al., ICS 2011).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StripeOrder(pub [Level; 4]);

impl StripeOrder {
    /// Stripe order in which channels change fastest, then ways, dies and planes.
    pub const CWDP: Self = Self([Level::Channel, Level::Way, Level::Die, Level::Plane]);

    /// Returns the stripe order with the given name, a permutation of the letters C, W, D and P.
    pub fn named(name: &str) -> Option<Self> {
        let mut levels = [Level::Channel; 4];
        let mut seen = 0_u8;
        if name.len() != levels.len() {
            return None;
        }
        for (level, letter) in levels.iter_mut().zip(name.bytes()) {
            *level = match letter {
                b'C' => Level::Channel,
                b'W' => Level::Way,
                b'D' => Level::Die,
                b'P' => Level::Plane,
                _ => return None,
            };
            seen |= 1 << *level as u8;
        }
        (seen == 0b1111).then_some(Self(levels))
    }
}

/// Number of units at each level of parallelism. Planes are numbered in stripe order: successive pages go to planes 0,
/// 1, 2 and so on. The first block of plane `p` is `p * blocks / planes()`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parallelism {
    /// Number of channels.
    pub channels: u32,
    /// Number of chips per channel.
    pub ways: u32,
    /// Number of dies per chip.
    pub dies: u32,
    /// Number of planes per die.
    pub planes: u32,
    /// Stripe order, in which the planes are numbered.
    pub order: StripeOrder,
}

/// Location of a plane in the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Number of the channel.
    pub channel: u32,
    /// Number of the die among all dies of the array, channel by channel.
    pub die: u32,
    /// Number of the plane within its die.
    pub plane: u32,
}

impl Parallelism {
    /// Parallelism of an array with one channel, one die and one plane.
    pub const SINGLE: Self = Self { channels: 1, ways: 1, dies: 1, planes: 1, order: StripeOrder::CWDP };

    /// Returns the number of planes in the array.
    pub const fn planes(&self) -> u32 {
        self.dies() * self.planes
    }

    /// Returns the number of dies in the array.
    pub const fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel()
    }

    /// Returns the number of areas: parts of the array that have separate free blocks.
    pub const fn areas(&self, collected: Collected) -> u32 {
        match collected {
            Collected::Plane => self.planes(),
            Collected::Die => self.dies(),
            Collected::Superblock => 1,
        }
    }

    /// Returns the number of dies per channel.
    pub const fn dies_per_channel(&self) -> u32 {
        self.ways * self.dies
    }

    /// Returns the location of plane `index` (planes are numbered in stripe order).
    pub fn place(&self, index: u32) -> Place {
        let mut rest = index;
        let mut at = [0; 4];
        for level in self.order.0 {
            let count = match level {
                Level::Channel => self.channels,
                Level::Way => self.ways,
                Level::Die => self.dies,
                Level::Plane => self.planes,
            };
            at[level as usize] = rest % count;
            rest /= count;
        }
        let [channel, way, die, plane] = at;
        Place { channel, die: (channel * self.ways + way) * self.dies + die, plane }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_planes_have_the_same_place_in_any_order() {
        let levels = [b'C', b'W', b'D', b'P'];
        let mut orders = 0;
        for code in 0..256_usize {
            let name: Vec<u8> = (0..4).map(|place| levels[(code >> (2 * place)) & 3]).collect();
            let Some(order) = StripeOrder::named(std::str::from_utf8(&name).unwrap()) else { continue };
            orders += 1;
            let array = Parallelism { channels: 3, ways: 2, dies: 2, planes: 4, order };
            let mut places: Vec<_> =
                (0..array.planes()).map(|index| array.place(index)).map(|at| (at.die, at.plane)).collect();
            assert!(
                (0..array.planes()).all(|p| array.place(p).die / array.dies_per_channel() == array.place(p).channel)
            );
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), 48);
            assert_eq!(places.last(), Some(&(11, 3)));
        }
        assert_eq!(orders, 24);
    }

    #[test]
    fn the_first_letter_changes_fastest() {
        let array =
            Parallelism { channels: 2, ways: 1, dies: 2, planes: 2, order: StripeOrder::named("PCWD").unwrap() };
        let places: Vec<_> = (0..4).map(|index| array.place(index)).collect();
        assert_eq!(places[1], Place { channel: 0, die: 0, plane: 1 });
        assert_eq!(places[2], Place { channel: 1, die: 2, plane: 0 });
        assert_eq!(array.place(4), Place { channel: 0, die: 1, plane: 0 });
    }
}
