//! Maps requests to device addresses. Each request is mapped only once, when the host issues it; cache and block layer
//! use only device addresses.

use ssdlab_trace::{Placed, Request};

use crate::run::error::SimError;
use crate::setup::Setup;
use crate::setup::host::Fit;

/// Maps request addresses to device addresses.
#[derive(Clone, Copy, Debug)]
pub struct AddressMapper {
    fit: Fit,
    capacity_bytes: u64,
    page_bytes: u32,
    /// Requests that end at or before this byte address are not changed.
    untouched_bytes: u64,
    /// Number of host requests that were mapped to device addresses.
    requests: u64,
}

/// A host request after mapping to device addresses.
#[derive(Clone, Copy, Debug)]
pub struct Fitted {
    /// The mapped request, which begins on the device. Any part past the end of the device wraps to the beginning; see
    /// [`runs`].
    pub request: Request,
    /// True if the original request ended past the end of the device and was wrapped.
    pub wrapped: bool,
}

impl AddressMapper {
    /// Creates a mapper for the device of `setup`; `setup.fit` is the rule for addresses past its end.
    pub fn new(setup: &Setup) -> Self {
        let capacity_bytes = setup.capacity_bytes();
        let untouched_bytes = match setup.fit {
            Fit::Scale { extent_bytes } if extent_bytes > capacity_bytes => 0,
            Fit::Error | Fit::Wrap | Fit::Scale { .. } => capacity_bytes,
        };
        Self { fit: setup.fit, capacity_bytes, page_bytes: setup.geometry.page_bytes, untouched_bytes, requests: 0 }
    }

    /// Returns the number of host requests that were mapped to device addresses.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Maps the next request of the host.
    ///
    /// # Errors
    /// Fails if the request ends past the end of the device and the rule does not allow that.
    #[inline(always)]
    pub fn fit(&mut self, request: &Request) -> Result<Fitted, SimError> {
        if self.stays(request) { Ok(Fitted { request: *request, wrapped: false }) } else { self.place(*request) }
    }

    /// Returns true if the next request fits the device and needs no change. This is the fast path of [`Self::fit`],
    /// which copies nothing.
    #[inline(always)]
    pub(crate) fn stays(&mut self, request: &Request) -> bool {
        self.requests += 1;
        !request.ends_beyond(self.untouched_bytes)
    }

    /// Maps a request whose address must change.
    ///
    /// # Errors
    /// See [`Self::fit`] for the errors.
    #[cold]
    #[inline(never)]
    pub(crate) fn place(&self, mut request: Request) -> Result<Fitted, SimError> {
        let Self { capacity_bytes, page_bytes, requests: number, .. } = *self;
        match self.fit {
            Fit::Error => {
                let request = Placed::at(format!("request {number}"), &request);
                Err(SimError::BeyondDevice { request, capacity_bytes })
            }
            Fit::Wrap => {
                request.offset %= capacity_bytes;
                Ok(Fitted { request, wrapped: true })
            }
            Fit::Scale { extent_bytes } => {
                if extent_bytes > capacity_bytes {
                    let page_mask = u64::from(page_bytes) - 1;
                    let scaled = u128::from(request.offset) * u128::from(capacity_bytes) / u128::from(extent_bytes);
                    let bytes = u64::from(request.bytes).min(capacity_bytes);
                    // Keeps the offset within the page, so that aligned requests stay aligned.
                    let offset = (scaled as u64 & !page_mask) | (request.offset & page_mask);
                    request.offset = offset.min(capacity_bytes - bytes);
                    request.bytes = bytes as u32;
                }
                Ok(Fitted { request, wrapped: false })
            }
        }
    }
}

/// Returns `(offset, end)` of the byte ranges that a mapped request covers: two ranges if the request wraps around the
/// device.
#[inline]
pub fn runs(request: &Request, capacity_bytes: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
    let (mut offset, mut left) = (request.offset, u64::from(request.bytes));
    std::iter::from_fn(move || {
        (left > 0).then(|| {
            let bytes = left.min(capacity_bytes - offset);
            let run = (offset, offset + bytes);
            (offset, left) = (0, left - bytes);
            run
        })
    })
}
