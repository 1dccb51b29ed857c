//! What must, may and must not be on a drive: for each page what it may hold, the newest last.

/// Bytes of a page.
type Page = Vec<u8>;

#[derive(Clone, Debug)]
pub struct Model {
    page_bytes: usize,
    pages: Vec<Vec<Page>>,
}

impl Model {
    pub fn new(pages: u32, page_bytes: u32) -> Self {
        let page_bytes = page_bytes as usize;
        Self { page_bytes, pages: vec![vec![vec![0; page_bytes]]; pages as usize] }
    }

    pub fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// The newest bytes.
    pub fn read(&self, offset: usize, bytes: usize) -> Vec<u8> {
        (offset..offset + bytes).map(|at| self.newest(at / self.page_bytes)[at % self.page_bytes]).collect()
    }

    fn newest(&self, lpn: usize) -> &Page {
        self.pages[lpn].last().expect("a page holds something")
    }

    /// The host writes; the pages that it touches.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> std::ops::Range<usize> {
        let touched = offset / self.page_bytes..(offset + bytes.len()).div_ceil(self.page_bytes);
        for lpn in touched.clone() {
            let mut page = self.newest(lpn).clone();
            for (at, byte) in page.iter_mut().enumerate() {
                if let Some(&new) = (lpn * self.page_bytes + at).checked_sub(offset).and_then(|at| bytes.get(at)) {
                    *byte = new;
                }
            }
            self.pages[lpn].push(page);
        }
        touched
    }

    /// The host trims whole pages.
    pub fn trim(&mut self, lpns: std::ops::Range<usize>) {
        for lpn in lpns {
            let zeros = vec![0; self.page_bytes];
            self.pages[lpn].push(zeros);
        }
    }

    /// The newest of these pages are safe.
    pub fn settle(&mut self, lpns: std::ops::Range<usize>) {
        for page in &mut self.pages[lpns] {
            page.drain(..page.len() - 1);
        }
    }

    /// Everything is safe.
    pub fn flush(&mut self) {
        self.settle(0..self.pages.len());
    }

    /// A page is found to hold this: it must be one of what it may hold, and is that from now on.
    pub fn found(&mut self, lpn: usize, page: &[u8]) -> Result<(), String> {
        let may = &mut self.pages[lpn];
        if !may.iter().any(|candidate| candidate == page) {
            let stamps = |page: &[u8]| page.chunks(8).map(|c| c[0]).collect::<Vec<_>>();
            return Err(format!(
                "page {lpn} holds {:?}; it may hold {:?}",
                stamps(page),
                may.iter().map(|page| stamps(page)).collect::<Vec<_>>()
            ));
        }
        *may = vec![page.to_vec()];
        Ok(())
    }
}
