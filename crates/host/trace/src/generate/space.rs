//! Address space of a workload, and the addresses of its requests.

use ssdlab_core::units::write_bytes;

use super::check::ensure;
use crate::TraceError;

/// Maximum size of a block or region in bytes.
pub(super) const PART_MAX: u64 = 1 << 30;

/// Address space of a workload, in slots.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Size of a slot, the unit of addresses, in bytes.
    pub align: u64,
    /// Size of the address space in bytes; addresses start at 0.
    pub span: u64,
    /// Size of the smallest request in bytes.
    pub smallest: u64,
    /// Size of the largest request in bytes; at most `span`.
    pub largest: u64,
}

impl Space {
    /// Returns the number of addresses (multiples of the slot size) that leave enough space in the span for the largest
    /// request.
    pub fn starts(&self) -> u64 {
        (self.span - self.largest) / self.align + 1
    }

    /// Checks that `bytes` is a positive multiple of the slot size, and at most the size of the span.
    pub fn check_slots(&self, field: &'static str, bytes: u64) -> Result<(), TraceError> {
        let align = self.align;
        let size = write_bytes(bytes);
        let nearest = write_bytes((bytes / align * align).max(align));
        let (slot, span) = (write_bytes(align), write_bytes(self.span));
        let is_whole = bytes > 0 && bytes.is_multiple_of(align);
        ensure!(is_whole, field, "{size} is not a multiple of the alignment {slot}; set it to {nearest}");
        let most = write_bytes(self.span / align * align);
        ensure!(bytes <= self.span, field, "{size} exceeds the span of {span}; lower it to {most}");
        Ok(())
    }

    /// Checks that the largest request fits into `bytes`, which must be a whole number of slots.
    pub fn check_holds_largest(&self, field: &'static str, bytes: u64) -> Result<(), TraceError> {
        let fits = self.largest <= bytes;
        let least = self.largest.next_multiple_of(self.align);
        let can_grow = least <= self.span.min(PART_MAX);
        let [size, request, least] = [bytes, self.largest, least].map(write_bytes);
        ensure!(fits || !can_grow, field, "{size} is smaller than a request of {request}; raise it to {least}");
        let why = format!("the request size {request} exceeds the block or region size {size}; lower it to {size}");
        ensure!(fits, "sizes", "{why}");
        Ok(())
    }
}

/// Target of a request: its address, size and stream.
#[derive(Clone, Copy, Debug)]
pub struct RequestTarget {
    /// First byte of the request.
    pub offset: u64,
    /// Size of the request in bytes.
    pub bytes: u32,
    /// Number of the request's stream in [`super::Addresses::streams`], counted from 1; 0 means no stream.
    pub stream: u16,
}
