//! Reads numbers from bytes. Corrects a single wrong bit: flips each bit in turn until the checksum is right.

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Returns the bytes unchanged if their checksum is right. Otherwise returns the bytes with a single bit flipped so
/// that the checksum is right; None if there is no such bit.
pub(crate) fn corrected<const BYTES: usize>(
    bytes: &[u8; BYTES],
    is_whole: impl Fn(&[u8; BYTES]) -> bool,
) -> Option<[u8; BYTES]> {
    let flipped = |bit: usize| {
        let mut bytes = *bytes;
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    };
    if is_whole(bytes) { Some(*bytes) } else { (0..8 * BYTES).map(flipped).find(is_whole) }
}
