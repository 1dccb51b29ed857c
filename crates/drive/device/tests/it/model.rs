//! Model of a drive: the allowed contents of each page, the newest last.

use std::ops::Range;

/// A possible state of a page.
#[derive(Clone, Debug)]
struct State {
    bytes: Vec<u8>,
    /// True if the page was trimmed; if the trim is lost, older copies may become valid again.
    trimmed: bool,
}

#[derive(Clone, Debug)]
pub struct Model {
    page_bytes: usize,
    pages: Vec<Vec<State>>,
}

impl Model {
    pub fn new(pages: u32, page_bytes: u32) -> Self {
        let page_bytes = page_bytes as usize;
        let blank = State { bytes: vec![0; page_bytes], trimmed: false };
        Self { page_bytes, pages: vec![vec![blank]; pages as usize] }
    }

    pub fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Returns the newest bytes of a range.
    pub fn read(&self, offset: usize, bytes: usize) -> Vec<u8> {
        (offset..offset + bytes).map(|at| self.newest(at / self.page_bytes)[at % self.page_bytes]).collect()
    }

    fn newest(&self, lpn: usize) -> &[u8] {
        &self.pages[lpn].last().expect("each page has at least one possible state").bytes
    }

    /// Applies a host write; returns the pages that the write touches.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> Range<usize> {
        let touched = offset / self.page_bytes..(offset + bytes.len()).div_ceil(self.page_bytes);
        for lpn in touched.clone() {
            let mut page = self.newest(lpn).to_vec();
            for (at, byte) in page.iter_mut().enumerate() {
                if let Some(&new) = (lpn * self.page_bytes + at).checked_sub(offset).and_then(|at| bytes.get(at)) {
                    *byte = new;
                }
            }
            self.pages[lpn].push(State { bytes: page, trimmed: false });
        }
        touched
    }

    /// Applies a trim of whole pages.
    pub fn trim(&mut self, lpns: Range<usize>) {
        for states in &mut self.pages[lpns] {
            states.push(State { bytes: vec![0; self.page_bytes], trimmed: true });
        }
    }

    /// Makes the newest contents of the given pages durable.
    pub fn settle(&mut self, lpns: Range<usize>) {
        for states in &mut self.pages[lpns] {
            states.drain(..states.len() - 1);
        }
    }

    /// Makes the newest contents of all pages durable.
    pub fn flush(&mut self) {
        self.settle(0..self.pages.len());
    }

    /// True if the page may be in a trimmed state.
    pub fn was_trimmed(&self, lpn: usize) -> bool {
        self.pages[lpn].iter().any(|state| state.trimmed)
    }

    /// Checks that the contents of a page are possible, and makes them the expected contents. If trims were lost,
    /// trimmed contents are possible too.
    pub fn found(&mut self, lpn: usize, page: &[u8], trims_lost: bool) -> Result<(), String> {
        let was_trimmed = self.was_trimmed(lpn);
        let may = &mut self.pages[lpn];
        let is_there = may.iter().any(|state| state.bytes == page) || trims_lost && was_trimmed;
        if !is_there {
            let stamps = |page: &[u8]| page.chunks(8).map(|c| c[0]).collect::<Vec<_>>();
            return Err(format!(
                "page {lpn} holds {:?}, but only these contents are possible: {:?}",
                stamps(page),
                may.iter().map(|state| stamps(&state.bytes)).collect::<Vec<_>>()
            ));
        }
        let trimmed = was_trimmed && page.iter().all(|&byte| byte == 0);
        *may = vec![State { bytes: page.to_vec(), trimmed }];
        Ok(())
    }
}
