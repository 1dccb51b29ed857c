//! Nominal device: computes the completion times of block requests, which determine when threads continue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Device that serves `depth` bios concurrently, each with the same service time, behind a link of limited bandwidth.
#[derive(Clone, Debug)]
pub(super) struct Device {
    /// Time in ns at which each of the `depth` slots becomes free.
    places: BinaryHeap<Reverse<u64>>,
    link_free_ns: u64,
    service_ns: u64,
    bytes_per_s: u64,
}

impl Device {
    /// Creates a device; `depth` and `bytes_per_s` must be at least 1.
    pub fn new(depth: u32, service_ns: u64, bytes_per_s: u64) -> Self {
        Self { places: (0..depth).map(|_| Reverse(0)).collect(), link_free_ns: 0, service_ns, bytes_per_s }
    }

    /// Submits a bio at `now_ns`; returns its completion time.
    pub fn submit(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let free_ns = self.places.pop().map_or(0, |Reverse(free_ns)| free_ns);
        let start_ns = now_ns.max(free_ns);
        self.link_free_ns = self.link_free_ns.max(start_ns) + bytes * 1_000_000_000 / self.bytes_per_s;
        let done_ns = (start_ns + self.service_ns).max(self.link_free_ns);
        self.places.push(Reverse(done_ns));
        done_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bios_wait_for_slots_and_the_link() {
        let mut device = Device::new(2, 100, 1_000_000_000);
        assert_eq!([0, 0, 0].map(|now| device.submit(now, 10)), [100, 100, 200]);
        // Transferring 1,000 bytes takes 1,000 ns, longer than the service of the request. The link transfers the 10
        // bytes of the next request only after that.
        assert_eq!(device.submit(500, 1000), 1500);
        assert_eq!(device.submit(500, 10), 1510);
    }
}
