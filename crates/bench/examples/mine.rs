//! x
use ssdlab_bench::{Scale::Real, codec, pool};
fn main() {
    match std::env::args().nth(1).unwrap().as_str() {
        "codec" => codec::report(Real),
        "raw" => pool::raw_hits(Real),
        "hits" => pool::compressed_hits(Real),
        _ => pool::compressing(Real),
    }
}
