//! Replacement policies written in Python. The Rust side keeps the sizes of the cached items, and checks what the
//! policy evicts.

use pyo3::prelude::*;
use ssdlab_cache::{Access, Counts, POLICIES, Policy, PolicyRules, simulate};

use super::{Entry, Registered, Running, leaked, or_unwind};

pub(super) fn register(entry: &'static Entry) -> Registered {
    let build = leaked(|_: &_, capacity, items| -> Box<dyn Policy> { Box::new(Cache::new(entry, capacity, items)) });
    let role = PolicyRules { sizes: true, needs_future: false, largest: u64::MAX, one_pass: None, build };
    POLICIES.register(entry.info(role))
}

#[derive(Debug)]
struct Cache {
    running: Running,
    hit: Py<PyAny>,
    insert: Py<PyAny>,
    evict: Py<PyAny>,
    remove: Py<PyAny>,
    /// Size of each cached item; 0 for other items.
    sizes: Vec<u32>,
    used: u64,
    capacity: u64,
}

impl Cache {
    fn new(entry: &Entry, capacity: u64, items: u32) -> Self {
        or_unwind(|py| {
            let running = Running::start(py, entry, 0)?;
            running.plugin.setattr(py, "capacity", capacity)?;
            let method = |name| running.plugin.getattr(py, name);
            let (hit, insert, evict, remove) = (method("hit")?, method("insert")?, method("evict")?, method("remove")?);
            Ok(Self { running, hit, insert, evict, remove, sizes: vec![0; items as usize], used: 0, capacity })
        })
    }

    fn evicted(&mut self, py: Python<'_>) -> PyResult<u32> {
        let sizes = &self.sizes;
        let item = self.running.ask(
            py,
            &self.evict,
            || Ok(()),
            |answer| {
                let item =
                    answer.extract::<u32>().ok().filter(|&item| sizes.get(item as usize).is_some_and(|&size| size > 0));
                item.ok_or_else(|| {
                    "which is not a cached item; return an item that was inserted and is still cached".into()
                })
            },
        )?;
        self.used -= u64::from(std::mem::take(&mut self.sizes[item as usize]));
        Ok(item)
    }

    fn accessed(
        &mut self,
        py: Python<'_>,
        Access { item, size, .. }: Access,
        evicted: &mut Vec<u32>,
    ) -> PyResult<bool> {
        if self.contains(item) {
            self.running.ask(py, &self.hit, || Ok((item,)), |_| Ok(()))?;
            return Ok(true);
        }
        while self.used + u64::from(size) > self.capacity {
            evicted.push(self.evicted(py)?);
        }
        self.sizes[item as usize] = size;
        self.used += u64::from(size);
        self.running.ask(py, &self.insert, || Ok((item,)), |_| Ok(()))?;
        Ok(false)
    }

    fn removed(&mut self, py: Python<'_>, item: u32) -> PyResult<()> {
        if self.contains(item) {
            self.used -= u64::from(std::mem::take(&mut self.sizes[item as usize]));
            self.running.ask(py, &self.remove, || Ok((item,)), |_| Ok(()))?;
        }
        Ok(())
    }
}

impl Policy for Cache {
    fn access(&mut self, access: Access, evicted: &mut Vec<u32>) -> bool {
        or_unwind(|py| self.accessed(py, access, evicted))
    }

    fn victim(&mut self) -> Option<u32> {
        (self.used > 0).then(|| or_unwind(|py| self.evicted(py)))
    }

    fn remove(&mut self, item: u32) {
        or_unwind(|py| self.removed(py, item));
    }

    fn contains(&self, item: u32) -> bool {
        self.sizes[item as usize] > 0
    }

    fn size(&self, item: u32) -> u32 {
        self.sizes[item as usize]
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn grow(&mut self, items: u32) {
        self.sizes.resize(items as usize, 0);
    }

    fn bytes(&self) -> usize {
        self.sizes.len() * size_of::<u32>()
    }

    fn prefetch(&self, _item: u32) {}

    fn simulate(&mut self, accesses: &[Access], counts: &mut Counts) {
        // Attaches the Rust thread to the interpreter only once, because attaching takes longer than a call.
        Python::attach(|_| simulate(self, accesses, counts));
    }
}
