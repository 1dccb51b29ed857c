//! Running the same test on whatever FTL a set-up asks for.

use ssdlab_ftl::Ftl;
use ssdlab_ftl::choice::Visitor;
use ssdlab_sim::Setup;

/// What is done with an FTL of any type, whatever its family.
pub trait AnyFtl: Sized {
    /// What it yields.
    type Output;

    /// Does it.
    fn visit<F: Ftl>(self, ftl: F) -> Self::Output;
}

/// All families are visited alike.
struct Alike<V>(V);

impl<V: AnyFtl> Visitor for Alike<V> {
    type Output = V::Output;

    fn plain<F: Ftl + Send + 'static>(self, ftl: F) -> V::Output {
        self.0.visit(ftl)
    }

    fn cached_map<F: Ftl + Send + 'static>(self, ftl: F) -> V::Output {
        self.0.visit(ftl)
    }

    fn log_blocks<F: Ftl + Send + 'static>(self, ftl: F, _captures: bool) -> V::Output {
        self.0.visit(ftl)
    }
}

/// Builds the FTL of `setup` and hands it to `visitor`.
///
/// # Panics
/// If the set-up is impossible.
pub fn visit<V: AnyFtl>(setup: &Setup, visitor: V) -> V::Output {
    setup.ftl.build(setup.shape(), setup.seed, Alike(visitor)).expect("a possible set-up")
}
