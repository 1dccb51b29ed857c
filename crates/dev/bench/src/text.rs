//! Pages similar to database tables: words with a skewed distribution, ascending numbers and some noise.

use ssdlab_core::Rng;

/// Number of different words in the generated text.
const WORDS: u64 = 100;

/// Returns `count` pages of `bytes` bytes that LZ4 compresses to about half.
pub fn pages(count: usize, bytes: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::named(1, "text");
    let words: Vec<Vec<u8>> =
        (0..WORDS).map(|_| (0..3 + rng.below(9)).map(|_| b'a' + rng.below(26) as u8).collect()).collect();
    let mut row = 0_u32;
    let page = |_| {
        let mut page = Vec::with_capacity(bytes + 64);
        while page.len() < bytes {
            row += 1;
            page.extend(row.to_be_bytes());
            page.extend((rng.next_u64() as u16).to_le_bytes());
            for _ in 0..6 {
                // The product of two random numbers favours small numbers.
                let word = rng.below(WORDS) * rng.below(WORDS) / WORDS;
                page.extend(&words[word as usize]);
                page.push(b' ');
            }
        }
        page.truncate(bytes);
        page
    };
    (0..count).map(page).collect()
}
