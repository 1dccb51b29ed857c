//! Closed-form write amplification under uniform random writes.
//!
//! `alpha` is the ratio of physical to logical pages, excluding open blocks.

/// Returns Lambert's W on its principal branch, for -1/e <= x < 0, by Newton's method.
fn lambert_w0(x: f64) -> f64 {
    // Starts from a series around the branch point, which is accurate enough on the whole interval.
    let p = (2.0 * (std::f64::consts::E * x + 1.0)).max(0.0).sqrt();
    let mut w = -1.0 + p - p * p / 3.0;
    for _ in 0..50 {
        let e = w.exp();
        let step = (w * e - x) / (e * (w + 1.0)).max(1e-300);
        w -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    w
}

/// Write amplification of FIFO: `alpha / (alpha + W0(-alpha e^-alpha))` (Desnoyers 2014; Xiang and Kurkoski 2012).
pub fn fifo(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w0(-alpha * (-alpha).exp()))
}

/// Write amplification A of greedy with B = `pages` pages per block: `X0 = -1/2 - (B/alpha) W0(-alpha' e^-alpha')`,
/// `alpha' = alpha (1 + 1/2B)`, `A = B / (B - X0)` (after Desnoyers 2014).
pub fn greedy(alpha: f64, pages: f64) -> f64 {
    let primed = alpha * (1.0 + 1.0 / (2.0 * pages));
    let x0 = -0.5 - pages / alpha * lambert_w0(-primed * (-primed).exp());
    pages / (pages - x0)
}

/// Write amplification of random victims: `alpha / (alpha - 1)`.
pub fn random(alpha: f64) -> f64 {
    alpha / (alpha - 1.0)
}

/// Write amplification A of d-choices by a mean-field model (Van Houdt 2013): tails `M_i = P(valid >= i)` with `1 -
/// M_i^d = lambda i (M_i - M_(i+1))`, `sum M_i = B / alpha`, `A = B / (B - sum M_i^d)`.
pub fn d_choices(alpha: f64, pages: u32, d: u32) -> f64 {
    let tails = |lambda: f64| {
        let mut tail = 0.0;
        let (mut sum, mut sum_of_powers) = (0.0, 0.0);
        for i in (1..=pages).rev() {
            // Solves 1 - m^d = lambda i (m - tail) for m in tail..=1 by bisection; the left side decreases, the right
            // side increases.
            let (mut low, mut high) = (tail, 1.0_f64);
            for _ in 0..60 {
                let m = 0.5 * (low + high);
                if 1.0 - m.powi(d as i32) > lambda * f64::from(i) * (m - tail) {
                    low = m;
                } else {
                    high = m;
                }
            }
            tail = 0.5 * (low + high);
            sum += tail;
            sum_of_powers += tail.powi(d as i32);
        }
        (sum, sum_of_powers)
    };
    let target = f64::from(pages) / alpha;
    // Finds lambda by bisection: the sum of the tail probabilities falls as lambda grows; for small lambda, all of them
    // are 1.
    let (mut low, mut high) = (1e-9_f64, 1e3_f64);
    for _ in 0..100 {
        let lambda = (low * high).sqrt();
        if tails(lambda).0 > target {
            low = lambda;
        } else {
            high = lambda;
        }
    }
    let pages = f64::from(pages);
    pages / (pages - tails((low * high).sqrt()).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the formulas with published values for 7 % spare space, as a share of the physical space.
    #[test]
    fn formulas_match_published_values() {
        let alpha = 1.0 / 0.93;
        for (ours, published) in [
            (fifo(alpha), 7.3177),
            (greedy(alpha, 64.0), 6.6001),
            (greedy(alpha, 256.0), 7.1237),
            (random(alpha), 14.2857),
            (d_choices(alpha, 64, 2), 9.6354),
            (d_choices(alpha, 64, 10), 6.8939),
        ] {
            assert!((ours / published - 1.0).abs() < 2e-4, "{ours} against {published}");
        }
        // The abstract of Xiang and Kurkoski gives 2.36 at over-provisioning 0.3.
        assert!((fifo(1.3) - 2.364).abs() < 1e-3);
    }
}
