//! The two places where ssdlab talks to the memory system directly: huge pages and prefetching.
//!
//! A map of a 64 GiB drive is 64 MiB of `u32` hit at random. With 4 KiB pages each access misses the
//! TLB as well as the cache, and memory-bound loops run up to twice as slow. This is the only module
//! of the workspace's pure crates that may contain `unsafe`.
#![allow(unsafe_code)]

/// A `Vec` whose storage asks the kernel for huge pages before it is first touched.
///
/// Where the kernel refuses, it is an ordinary `Vec`: results never depend on it.
#[derive(Debug, Clone)]
pub struct HugeVec<T>(Vec<T>);

impl<T: Copy> HugeVec<T> {
    /// `len` copies of `value`.
    pub fn filled(value: T, len: usize) -> Self {
        let mut storage = Vec::with_capacity(len);
        advise_huge(storage.as_mut_ptr() as usize, len * size_of::<T>());
        storage.resize(len, value);
        Self(storage)
    }
}

impl<T> std::ops::Deref for HugeVec<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> std::ops::DerefMut for HugeVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

#[cfg(target_os = "linux")]
fn advise_huge(address: usize, bytes: usize) {
    const HUGE: usize = 2 << 20;
    let start = address.next_multiple_of(HUGE);
    let end = (address + bytes) / HUGE * HUGE;
    if start < end {
        // SAFETY: the range lies inside an allocation this module owns and is aligned to pages;
        // MADV_HUGEPAGE changes how it is backed, never what it holds. A refusal is harmless.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_huge(_address: usize, _bytes: usize) {}

/// Asks the processor to load `slice[index]` into its cache; out of range is allowed and does nothing.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < slice.len() {
        // SAFETY: the address is inside the slice, and a prefetch has no architectural effect.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().add(index).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_it_was_filled_with() {
        let mut v = HugeVec::filled(7_u32, 3 << 20);
        v[1 << 20] = 9;
        prefetch(&v, 5);
        prefetch(&v, usize::MAX);
        assert_eq!((v.len(), v[0], v[1 << 20], v[(3 << 20) - 1]), (3 << 20, 7, 9, 7));
    }
}
