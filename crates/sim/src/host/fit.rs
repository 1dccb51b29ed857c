//! Where on the device the bytes of a request lie. A request is fitted once, when the host issues it, above cache and
//! block layer: these see only addresses that the device has.

use ssdlab_trace::{Op, Request};

use crate::run::error::SimError;
use crate::setup::Setup;
use crate::setup::host::Fit;

/// Fits the requests of a host to a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fitter {
    fit: Fit,
    capacity_bytes: u64,
    page_bytes: u32,
    /// Requests fitted.
    requests: u64,
}

/// A request on the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fitted {
    /// It begins on the device; the part beyond the end wraps to the beginning, see [`runs`].
    pub request: Request,
    /// Whether the request of the host ended beyond the device and was wrapped.
    pub wrapped: bool,
}

impl Fitter {
    pub fn new(setup: &Setup) -> Self {
        Self {
            fit: setup.fit,
            capacity_bytes: setup.capacity_bytes(),
            page_bytes: setup.geometry.page_bytes,
            requests: 0,
        }
    }

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Fits the next request of the host.
    #[inline]
    pub fn fit(&mut self, request: &Request) -> Result<Fitted, SimError> {
        self.requests += 1;
        let mut fitted = Fitted { request: *request, wrapped: false };
        if request.op == Op::Flush {
            return Ok(fitted);
        }
        let Self { fit, capacity_bytes, page_bytes, requests: number } = *self;
        let bytes = u64::from(request.bytes);
        let end = request.offset.saturating_add(bytes);
        match fit {
            Fit::Error if end > capacity_bytes => return Err(SimError::BeyondDevice { number, end, capacity_bytes }),
            Fit::Wrap if end > capacity_bytes => {
                fitted.request.offset %= capacity_bytes;
                fitted.wrapped = true;
            }
            Fit::Scale { extent_bytes } if extent_bytes > capacity_bytes => {
                let page_mask = u64::from(page_bytes) - 1;
                let scaled = u128::from(request.offset) * u128::from(capacity_bytes) / u128::from(extent_bytes);
                let bytes = bytes.min(capacity_bytes);
                // The place within the page is kept, so that aligned requests stay aligned.
                let offset = (scaled as u64 & !page_mask) | (request.offset & page_mask);
                fitted.request.offset = offset.min(capacity_bytes - bytes);
                fitted.request.bytes = bytes as u32;
            }
            Fit::Error | Fit::Wrap | Fit::Scale { .. } => {}
        }
        Ok(fitted)
    }
}

/// The runs of bytes that a fitted request covers; more than one only where it wraps.
#[inline]
pub(crate) fn runs(request: &Request, capacity_bytes: u64) -> Runs {
    Runs { offset: request.offset, left: request.bytes.into(), capacity_bytes }
}

/// `(offset, end)` of one run after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs {
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
