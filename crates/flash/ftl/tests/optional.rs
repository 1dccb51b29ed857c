//! Goal: an FTL needs only write, read, trim and lookup; other capabilities return an error by default. Method: the
//! smallest possible FTL, on flash behind `dyn`.

use std::io::ErrorKind;

use ssdlab_core::{Archive, Lpn, Ppn};
use ssdlab_ftl::{DynFtl, Ftl, WriteContext};
use ssdlab_nand::{Cause, Counts, FlashSink, Found, Role, Scan, Source, SpareArea};

/// An FTL that writes every logical page once, to the flash page with the same number.
struct Identity {
    written: Vec<bool>,
}

impl Ftl for Identity {
    fn write<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _context: WriteContext, sink: &mut S) {
        for page in 0..count {
            let lpn = Lpn(lpn.0 + page);
            self.written[lpn.index()] = true;
            let spare = SpareArea { lpn, sequence: lpn.0.into(), role: Role::Data };
            sink.program(Ppn(lpn.0), spare, Source::Host(page), Cause::Host);
        }
    }

    fn read<S: FlashSink>(&mut self, lpn: Lpn, count: u32, cause: Cause, sink: &mut S) -> u32 {
        let (written, unmapped): (Vec<Lpn>, Vec<Lpn>) =
            (lpn.0..lpn.0 + count).map(Lpn).partition(|&lpn| self.lookup(lpn).is_some());
        written.iter().for_each(|lpn| sink.read(Ppn(lpn.0), cause));
        unmapped.len() as u32
    }

    fn trim<S: FlashSink>(&mut self, lpn: Lpn, count: u32, _sink: &mut S) {
        self.written[lpn.index()..lpn.index() + count as usize].fill(false);
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.written[lpn.index()].then_some(Ppn(lpn.0))
    }
}

/// A scan of completely erased flash.
struct Erased;

impl Scan for Erased {
    fn page(&self, _ppn: Ppn) -> Found {
        Found::Erased
    }

    fn is_bad(&self, _block: ssdlab_core::BlockId) -> bool {
        false
    }

    fn erases(&self, _block: ssdlab_core::BlockId) -> u32 {
        0
    }
}

#[test]
fn a_small_ftl_serves_requests_and_refuses_the_rest() {
    let mut ftl: Box<dyn DynFtl> = Box::new(Identity { written: vec![false; 8] });
    let mut counts = Counts::default();
    ftl.write_dyn(Lpn(2), 3, WriteContext::default(), &mut counts);
    ftl.trim_dyn(Lpn(3), 1, &mut counts);
    assert_eq!(ftl.read_dyn(Lpn(0), 8, Cause::Host, &mut counts), 6);
    assert_eq!((counts.programmed(), counts.reads.iter().sum::<u64>()), (3, 2));
    let mut copies = Vec::new();
    ftl.copies(8, &mut |lpn, ppn| copies.push((lpn.0, ppn.0)));
    assert_eq!(copies, [(2, 2), (4, 4)]);
    assert!(ftl.keep_for_failures(1).unwrap_err().contains("failing"));
    assert!(ftl.recover_dyn(&Erased, &[], &mut counts).unwrap_err().contains("power loss"));
    let mut bytes = Vec::new();
    let error = ftl.archive(&mut Archive::Save(&mut bytes)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(!ftl.is_worn_out() && ftl.check().is_ok());
}
