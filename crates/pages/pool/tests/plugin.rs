//! A pool policy registered from another crate is listed, parsed and used like a built-in one.
#![cfg(not(feature = "shuttle"))]

use std::convert::Infallible;

use ssdlab_core::Bytes;
use ssdlab_pool::policy::{OWN, Policy, PoolPolicyInfo, policies, policy};
use ssdlab_pool::{Demotion, Loader, Options, PageId, Pool, Share, Source};

/// Evicts the page that was inserted last.
#[derive(Default)]
struct Stack(Vec<u32>);

impl Policy for Stack {
    fn grow(&mut self, slots: usize) {
        self.0.reserve_exact(slots - self.0.len());
    }

    fn insert(&mut self, slot: u32, _: PageId) {
        self.0.push(slot);
    }

    fn hit(&self, _: u32) {}

    fn remove(&mut self, slot: u32) {
        self.0.retain(|&other| other != slot);
    }

    fn victim(&mut self, evictable: &mut dyn FnMut(u32) -> bool) -> Option<u32> {
        let last = self.0.iter().rposition(|&slot| evictable(slot))?;
        Some(self.0.remove(last))
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u32>()
    }
}

static PLUGIN: PoolPolicyInfo = PoolPolicyInfo {
    name: "plugin",
    help: "Evicts the newest page.",
    source: "",
    parameters: &[],
    role: |_| Box::<Stack>::default(),
};

struct Zeros;

impl Loader for Zeros {
    type Error = Infallible;

    fn load(&self, _: PageId, page: &mut [u8]) -> Result<(), Infallible> {
        page.fill(0);
        Ok(())
    }

    fn store(&self, _: PageId, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Method: 1,000 pages, more than fit, are read once. By hand: each further page replaces the newest page. So the
/// oldest pages and the last page stay.
#[test]
fn a_registered_policy_chooses_the_victims() {
    OWN.register(&PLUGIN).expect("the registry is unused");
    assert!(policies().any(|choice| choice.name() == "plugin" && !choice.locks()));
    assert!(policy("unknown").expect_err("unknown").to_string().contains("plugin"));
    let options = Options {
        share: Share::Fixed { percent: 0.0 },
        raw_policy: policy("plugin").expect("a known policy"),
        demotion: Demotion::Synchronous,
        shards: 1,
        ..Options::new(Bytes(100 << 10), 1024)
    };
    let pool = Pool::new(options, Zeros).expect("the options are valid");
    let read = |id| pool.read(id, &mut [0; 1024]).expect("the page is loaded");
    assert!((0..1000).all(|id| read(id) == Source::Loader));
    let room = pool.usage().raw_pages;
    assert!((50..100).contains(&room), "{room}");
    assert!((0..room - 1).chain([999]).all(|id| read(id) == Source::Raw));
    assert_eq!(read(998), Source::Loader);
}
