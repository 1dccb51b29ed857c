//! Direct use of the memory system: huge pages, mapped files and prefetching.
//!
//! The map of a 64 GiB drive is a 64 MiB array of `u32` that is accessed at random. With 4 KiB pages, each access
//! misses both the TLB and the cache, and memory-bound loops take up to twice as long. In the pure crates of the
//! workspace, only this module may contain `unsafe`.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::collections::TryReserveError;
use std::fmt;
use std::io;
use std::ptr::NonNull;

use memmap2::{MmapAsRawDesc, MmapMut, MmapOptions};

use crate::entry::{Entry, SharedEntry};

/// A number type for large arrays; every bit pattern must be valid.
pub trait Plain: Copy + Default + sealed::Sealed {
    /// Converts the number to little-endian byte order.
    fn to_little_endian(self) -> Self;
}

mod sealed {
    /// Only number types without padding may implement [`Plain`](super::Plain).
    pub trait Sealed {}
}

macro_rules! plain {
    ($($number:ty),+) => {$(
        impl sealed::Sealed for $number {}
        impl Plain for $number {
            #[inline(always)]
            fn to_little_endian(self) -> Self {
                self.to_le()
            }
        }
    )+};
}

plain!(u8, u16, u32, u64, Entry);

/// Returns numbers as bytes in native byte order.
pub fn bytes_of<T: Plain>(numbers: &[T]) -> &[u8] {
    // SAFETY: both slices cover the same memory; numbers have no padding, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// Returns numbers as mutable bytes in native byte order.
pub fn bytes_of_mut<T: Plain>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: both slices cover the same memory, and all byte patterns are valid numbers.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

/// Returns map entries as atomics, so that several threads may set them.
pub fn shared(entries: &mut [Entry]) -> &[SharedEntry] {
    // SAFETY: the exclusive borrow guarantees no other access, and both types have the layout of `u32`.
    unsafe { &*(std::ptr::from_mut(entries) as *const [SharedEntry]) }
}

/// Copies byte slices to their offsets in `into`, past the CPU caches. Use it for data that will not be read soon: the
/// destination is not read before it is written, and the caches keep their contents.
pub fn scatter<'a>(into: &mut [u8], parts: impl Iterator<Item = (usize, &'a [u8])>) {
    for (offset, from) in parts {
        let to = &mut into[offset..offset + from.len()];
        #[cfg(target_arch = "x86_64")]
        if to.as_ptr().cast::<std::arch::x86_64::__m128i>().is_aligned() && from.len().is_multiple_of(LINE_BYTES) {
            // SAFETY: both slices have the same length, a multiple of a cache line, and `to` is aligned. The fence
            // below comes before any other access.
            unsafe { stream(to, from) };
            continue;
        }
        to.copy_from_slice(from);
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction `sfence`.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

/// Copies whole cache lines with non-temporal stores; the caller must issue a fence afterwards.
///
/// # Safety
/// `to` and `from` have the same length, a multiple of [`LINE_BYTES`], and `to` is aligned to 16 bytes.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn stream(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for (to, from) in to.chunks_exact_mut(LINE_BYTES).zip(from.chunks_exact(LINE_BYTES)) {
        let (to, from) = (to.as_mut_ptr().cast::<__m128i>(), from.as_ptr().cast::<__m128i>());
        // SAFETY: four words are a cache line; the caller guarantees whole cache lines.
        unsafe {
            let words: [__m128i; 4] = std::array::from_fn(|at| _mm_loadu_si128(from.add(at)));
            (0..4).for_each(|at| _mm_stream_si128(to.add(at), words[at]));
        }
    }
}

/// A private mapping of a part of a file: untouched parts are never read, and changes stay in memory.
///
/// The file must not be modified in place while the mapping exists. The file may be renamed, replaced or removed.
pub struct Mapping(MmapMut);

impl Mapping {
    /// Maps `bytes` bytes of a file, starting at `offset`.
    pub fn new(file: impl MmapAsRawDesc, offset: u64, bytes: usize) -> io::Result<Self> {
        // SAFETY: the mapping is private, and callers never modify the mapped file, as the type [`Mapping`] requires.
        let map = unsafe { MmapOptions::new().offset(offset).len(bytes).map_copy(file) };
        map.map(Self)
    }
}

/// An array of fixed length, stored in a `Vec` that requests huge pages from the kernel, or in a [`Mapping`] of a file.
///
/// If the kernel refuses the request, the memory has ordinary pages. Results never depend on the page size.
pub struct HugeVec<T> {
    /// Pointer to the elements in either storage, so that an access need not distinguish the two cases.
    slice: NonNull<[T]>,
    _memory: Vec<T>,
    _file: Option<Mapping>,
}

// SAFETY: the array owns its storage, as a `Vec` does.
unsafe impl<T: Send> Send for HugeVec<T> {}
// SAFETY: the array owns its storage, as a `Vec` does.
unsafe impl<T: Sync> Sync for HugeVec<T> {}

impl<T: Copy> HugeVec<T> {
    /// Creates an array of `len` copies of `value`.
    pub fn filled(value: T, len: usize) -> Self {
        Self::fill(Vec::with_capacity(len), value, len)
    }

    /// Like [`Self::filled`], but fails if the memory cannot be allocated.
    pub fn try_filled(value: T, len: usize) -> Result<Self, TryReserveError> {
        let mut storage = Vec::new();
        storage.try_reserve_exact(len)?;
        Ok(Self::fill(storage, value, len))
    }

    fn fill(mut storage: Vec<T>, value: T, len: usize) -> Self {
        advise(storage.as_mut_ptr() as usize, len * size_of::<T>(), true);
        storage.resize(len, value);
        Self::in_memory(storage)
    }

    fn in_memory(mut storage: Vec<T>) -> Self {
        Self { slice: NonNull::from(storage.as_mut_slice()), _memory: storage, _file: None }
    }
}

impl<T: Plain> HugeVec<T> {
    /// Creates an array of `len` zeros without touching its memory.
    pub fn zeros(len: usize) -> Self {
        let layout = Layout::array::<T>(len).expect("memory for a map");
        if layout.size() == 0 {
            return Self::in_memory(Vec::new());
        }
        // SAFETY: a `Vec` with capacity `len` has this layout, which is not empty, and zero bytes are a valid number.
        let storage = unsafe {
            let memory = alloc_zeroed(layout);
            if memory.is_null() {
                handle_alloc_error(layout);
            }
            Vec::from_raw_parts(memory.cast::<T>(), len, len)
        };
        advise(storage.as_ptr() as usize, layout.size(), true);
        Self::in_memory(storage)
    }

    /// Asks the kernel for small pages. In a sparse array, setting one entry then clears a small page, not a huge one.
    pub fn use_small_pages(&mut self) {
        advise(self.as_ptr() as usize, size_of_val(&**self), false);
    }

    /// Creates an array from a mapped file that contains little-endian numbers.
    pub fn mapped(mut mapping: Mapping) -> Self {
        let bytes = &mut mapping.0;
        let address = bytes.as_mut_ptr().cast::<T>();
        assert!(address.is_aligned(), "mmap returns page-aligned addresses");
        let slice = NonNull::slice_from_raw_parts(
            NonNull::new(address).expect("mmap never returns address 0"),
            bytes.len() / size_of::<T>(),
        );
        let mut mapped = Self { slice, _memory: Vec::new(), _file: Some(mapping) };
        if cfg!(target_endian = "big") {
            mapped.iter_mut().for_each(|number| *number = number.to_little_endian());
        }
        mapped
    }
}

impl<T> std::ops::Deref for HugeVec<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the slice lies in owned storage that is never resized, and holds valid values of `T`: elements of a
        // `Vec`, or bytes of a type for which all bit patterns are valid.
        unsafe { self.slice.as_ref() }
    }
}

impl<T> std::ops::DerefMut for HugeVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the slice is valid for the same reason as in `deref`, and the borrow is exclusive.
        unsafe { self.slice.as_mut() }
    }
}

impl<T: Copy> Clone for HugeVec<T> {
    fn clone(&self) -> Self {
        Self::in_memory(self.to_vec())
    }
}

impl<T: fmt::Debug> fmt::Debug for HugeVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(target_os = "linux")]
fn advise(address: usize, bytes: usize, huge: bool) {
    use rustix::mm::{Advice, madvise};

    const HUGE: usize = 2 << 20;
    let start = address.next_multiple_of(HUGE);
    let end = (address + bytes) / HUGE * HUGE;
    if start < end {
        let advice = if huge { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
        // SAFETY: the range is inside an allocation of this module and page-aligned. The advice changes the size of the
        // pages that back the range, never their contents. If the kernel refuses it, no harm is done.
        let _ = unsafe { madvise(start as *mut _, end - start, advice) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_address: usize, _bytes: usize, _huge: bool) {}

/// Prefetches `slice[index]` into the CPU cache; does nothing if the index is out of range.
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
    fn filled_arrays_hold_the_value() {
        let mut v = HugeVec::filled(7_u32, 3 << 20);
        v[1 << 20] = 9;
        prefetch(&v, 5);
        prefetch(&v, usize::MAX);
        assert_eq!((v.len(), v[0], v[1 << 20], v[(3 << 20) - 1]), (3 << 20, 7, 9, 7));
    }

    /// Slices are copied to their offsets and nothing else changes, for whole cache lines and odd sizes at any offset.
    #[test]
    fn parts_are_scattered() {
        let from: Vec<u8> = (0..1000_u32).map(|at| (at % 251) as u8 + 1).collect();
        let parts = [(0, 0..128), (128, 3..67), (257, 0..64), (400, 10..11), (448, 100..612), (960, 0..40)];
        let (mut into, mut expected) = (HugeVec::filled(0, 1000), vec![0; 1000]);
        scatter(&mut into, parts.iter().map(|(at, part)| (*at, &from[part.clone()])));
        parts.into_iter().for_each(|(at, part)| expected[at..at + part.len()].copy_from_slice(&from[part]));
        assert_eq!(into[..], expected);
    }

    /// Changes of a mapped array do not reach its file, and removing the file does not change the array.
    #[test]
    fn a_mapped_file_is_read_and_never_written() {
        let path = std::env::temp_dir().join(format!("ssdlab-mapped.{}", std::process::id()));
        let numbers: Vec<u32> = (0..4_096).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        std::fs::write(&path, &bytes).expect("a file can be written");
        let file = std::fs::File::open(&path).expect("it is there");
        let mut mapped = HugeVec::<u32>::mapped(Mapping::new(&file, 4_096, 8_192).expect("a file can be mapped"));
        drop(file);
        mapped[0] = 7;
        assert_eq!(std::fs::read(&path).expect("it is there"), bytes);
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!((mapped.len(), mapped[0], &mapped[1..]), (2_048, 7, &numbers[1_025..3_072]));
    }

    #[test]
    fn bytes_of_numbers_read_back_as_numbers() {
        let mut numbers = [0x0403_0201_u32.to_little_endian(), 0];
        bytes_of_mut(&mut numbers)[4] = 9;
        assert_eq!(bytes_of(&numbers), [1, 2, 3, 4, 9, 0, 0, 0]);
        assert_eq!(
            (HugeVec::<u64>::zeros(3).to_vec(), HugeVec::filled(2_u16, 2).clone().to_vec()),
            (vec![0; 3], vec![2; 2])
        );
    }
}
