//! Correction of a single wrong bit, by trying all bits against a checksum.

/// Returns the bytes if they are whole, else with the one bit flipped that makes them whole, if any.
pub(crate) fn put_right<const BYTES: usize>(
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
