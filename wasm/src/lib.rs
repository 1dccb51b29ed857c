//! The simulation of `ssdlab explain` inside its page.
//!
//! A page asks in three calls, and needs no library for it: `room` for so many bytes, where it writes the question;
//! `answer`, which returns how many bytes the answer has; `place`, where they are. Both are JSON, see
//! [`ssdlab_explain::answer`].

use std::cell::RefCell;

thread_local! {
    /// The question, then the answer.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a question of so many bytes and says where.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(bytes, 0);
        text.as_mut_ptr()
    })
}

/// Answers the question and says how many bytes the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    TEXT.with_borrow_mut(|text| {
        *text = ssdlab_explain::answer(&String::from_utf8_lossy(text)).into_bytes();
        text.len()
    })
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn place() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}
