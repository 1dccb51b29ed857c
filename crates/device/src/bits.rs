//! One wrong bit put right: it is the one without which the checksum holds.

/// These bytes if they are whole, else those that are whole once one bit is flipped, if there are any.
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
