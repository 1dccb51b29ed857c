//! Numbered tokens with a variable limit (lib/sbitmap.c of Linux 6).
//!
//! After the limit is lowered, tokens with higher numbers are not issued again. Tokens above the limit that are still
//! in use do not count against the limit, so the order in which numbers are taken matters.

/// Maximum number of bits per word of the bitmap; a bitmap has at least four words.
const WORD_BITS: u32 = 64;

/// One word of the bitmap: tokens with consecutive numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    taken: u64,
    /// Returned tokens, one bit each. They are reused only once all other tokens of the word have been taken.
    returned: u64,
}

/// Tokens numbered from 0 up to a limit.
#[derive(Debug)]
pub(super) struct Tokens {
    limit: u32,
    word_bits: u32,
    words: Vec<Word>,
    /// Token returned last. The search for a free token starts in the bitmap word of this token.
    hint: u32,
}

impl Tokens {
    pub fn new(limit: u32) -> Self {
        let word_bits = WORD_BITS.min((limit / 4).max(1));
        let words = vec![Word::default(); limit.div_ceil(word_bits) as usize];
        Self { limit, word_bits, words, hint: 0 }
    }

    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Changes the number of tokens that may be taken. The new number must not exceed the initial number.
    pub fn resize(&mut self, limit: u32) {
        for word in &mut self.words {
            word.taken &= !std::mem::take(&mut word.returned);
        }
        self.limit = limit;
    }

    /// Returns a mask with the bits of a bitmap word whose tokens are below the limit.
    fn allowed(&self, word: usize) -> u64 {
        let bits = self.limit.saturating_sub(word as u32 * self.word_bits).min(self.word_bits);
        if bits == 64 { u64::MAX } else { (1 << bits) - 1 }
    }

    pub fn is_free(&self) -> bool {
        self.words.iter().enumerate().any(|(at, word)| (!word.taken | word.returned) & self.allowed(at) != 0)
    }

    /// Takes a free token and returns its number; `None` if no token is free.
    pub fn take(&mut self) -> Option<u32> {
        let words = self.limit.div_ceil(self.word_bits);
        let first = self.hint % self.limit / self.word_bits;
        let token = (0..words).map(|step| (first + step) % words).find_map(|at| {
            let allowed = self.allowed(at as usize);
            let word = &mut self.words[at as usize];
            if !word.taken & allowed == 0 {
                word.taken &= !std::mem::take(&mut word.returned);
            }
            let free = !word.taken & allowed;
            (free != 0).then(|| {
                let bit = free.trailing_zeros();
                word.taken |= 1 << bit;
                at * self.word_bits + bit
            })
        });
        match token {
            None => self.hint = 0,
            Some(token) if token == self.hint => self.hint = if token + 2 >= self.limit { 0 } else { token + 1 },
            Some(_) => {}
        }
        token
    }

    pub fn give_back(&mut self, token: u32) {
        self.words[(token / self.word_bits) as usize].returned |= 1 << (token % self.word_bits);
        if token < self.limit {
            self.hint = token;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ssdlab_tiers::cases(256))]

        #[test]
        fn tokens_below_the_limit_are_issued_and_no_others(
            most in prop::sample::select(vec![4_u32, 16, 64, 128, 256]),
            steps in prop::collection::vec((0_u8..8, any::<u32>()), 0..600),
        ) {
            let (mut tokens, mut taken, mut limit) = (Tokens::new(most), BTreeSet::new(), most);
            for (step, number) in steps {
                match step {
                    0..4 => {
                        let below = taken.iter().filter(|&&token| token < limit).count() as u32;
                        prop_assert_eq!(tokens.is_free(), below < limit);
                        let token = tokens.take();
                        prop_assert_eq!(token.is_some(), below < limit);
                        if let Some(token) = token {
                            prop_assert!(token < limit && taken.insert(token));
                        }
                    }
                    4..7 => {
                        let any = taken.iter().nth(number as usize % taken.len().max(1)).copied();
                        if let Some(token) = any {
                            taken.remove(&token);
                            tokens.give_back(token);
                        }
                    }
                    _ => {
                        limit = 1 + number % most;
                        tokens.resize(limit);
                        prop_assert_eq!(tokens.limit(), limit);
                    }
                }
            }
        }
    }
}
