//! Where on the device the bytes of a request lie. A request is fitted once, when the host issues it, above cache and
//! block layer: these see only addresses that the device has.

use ssdlab_trace::{Placed, Request};

use crate::run::error::SimError;
use crate::setup::Setup;
use crate::setup::host::Fit;

/// Fits the requests of a host to a device.
#[derive(Clone, Copy, Debug)]
pub struct AddressMapper {
    fit: Fit,
    capacity_bytes: u64,
    page_bytes: u32,
    /// A request that ends here or before stays as it is.
    untouched_bytes: u64,
    /// Requests fitted.
    requests: u64,
}

/// A request on the device.
#[derive(Clone, Copy, Debug)]
pub struct Fitted {
    /// It begins on the device; the part beyond the end wraps to the beginning, see [`runs`].
    pub request: Request,
    /// Whether the request of the host ended beyond the device and was wrapped.
    pub wrapped: bool,
}

impl AddressMapper {
    /// Fits to the device of `setup`, by its rule.
    pub fn new(setup: &Setup) -> Self {
        let capacity_bytes = setup.capacity_bytes();
        let untouched_bytes = match setup.fit {
            Fit::Scale { extent_bytes } if extent_bytes > capacity_bytes => 0,
            Fit::Error | Fit::Wrap | Fit::Scale { .. } => capacity_bytes,
        };
        Self { fit: setup.fit, capacity_bytes, page_bytes: setup.geometry.page_bytes, untouched_bytes, requests: 0 }
    }

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Fits the next request of the host.
    ///
    /// # Errors
    /// If the request ends beyond a device that refuses such.
    #[inline(always)]
    pub fn fit(&mut self, request: &Request) -> Result<Fitted, SimError> {
        if self.stays(request) { Ok(Fitted { request: *request, wrapped: false }) } else { self.place(*request) }
    }

    /// Whether the next request of the host lies on the device as it is: the half of [`Self::fit`] that copies nothing.
    #[inline(always)]
    pub(crate) fn stays(&mut self, request: &Request) -> bool {
        self.requests += 1;
        !request.ends_beyond(self.untouched_bytes)
    }

    /// Places a request that does not stay as it is.
    ///
    /// # Errors
    /// See [`Self::fit`].
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
                    // The place within the page is kept, so that aligned requests stay aligned.
                    let offset = (scaled as u64 & !page_mask) | (request.offset & page_mask);
                    request.offset = offset.min(capacity_bytes - bytes);
                    request.bytes = bytes as u32;
                }
                Ok(Fitted { request, wrapped: false })
            }
        }
    }
}

/// The runs of bytes that a fitted request covers; more than one only where it wraps.
#[inline]
pub fn runs(request: &Request, capacity_bytes: u64) -> Runs {
    Runs { offset: request.offset, left: request.bytes.into(), capacity_bytes }
}

/// `(offset, end)` of one run after the other.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    offset: u64,
    left: u64,
    capacity_bytes: u64,
}

impl Iterator for Runs {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        if self.left == 0 {
            return None;
        }
        let bytes = self.left.min(self.capacity_bytes - self.offset);
        let run = (self.offset, self.offset + bytes);
        self.left -= bytes;
        self.offset = 0;
        Some(run)
    }
}
