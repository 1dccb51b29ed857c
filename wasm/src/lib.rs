//! Simulator in WebAssembly for the pages that `ssdlab explain` writes.
//!
//! A page calls three functions and needs no JavaScript library. `room` allocates a buffer, into which the page writes
//! its request. `answer` runs the request and returns the length of the result. `place` returns the address of the
//! result. Request and result are JSON; see [`ssdlab_explain::answer`].

use std::cell::RefCell;

thread_local! {
    /// Buffer of the request, which the result then replaces.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Allocates a buffer of `bytes` bytes for the request and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(bytes, 0);
        text.as_mut_ptr()
    })
}

/// Runs the request in the buffer and returns the length of the result in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    TEXT.with_borrow_mut(|text| {
        *text = ssdlab_explain::answer(&String::from_utf8_lossy(text)).into_bytes();
        text.len()
    })
}

/// Returns the address of the result.
#[unsafe(no_mangle)]
pub extern "C" fn place() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}
