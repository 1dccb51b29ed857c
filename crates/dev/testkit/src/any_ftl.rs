//! Runs a test operation on the FTL of a set-up, whatever the type of the FTL.

use ssdlab_ftl::Ftl;
use ssdlab_ftl::choice::Visitor;
use ssdlab_sim::Setup;

/// Operation that works with an FTL of any type.
pub trait AnyFtl: Sized {
    /// Result of the operation.
    type Output;

    /// Runs this operation on the FTL `ftl`.
    fn visit<F: Ftl>(self, ftl: F) -> Self::Output;
}

/// Visitor that accepts both page-mapped and log-block FTLs.
struct AllFamilies<V>(V);

impl<V: AnyFtl> Visitor for AllFamilies<V> {
    type Output = V::Output;

    fn plain<F: Ftl + Send + 'static>(self, ftl: F) -> V::Output {
        self.0.visit(ftl)
    }
}

/// Builds the FTL of `setup` and passes it to `visitor`.
///
/// # Panics
/// Panics if the set-up is invalid.
pub fn visit<V: AnyFtl>(setup: &Setup, visitor: V) -> V::Output {
    setup.ftl.build(setup.shape(), setup.seed, AllFamilies(visitor)).expect("the set-up is valid")
}
