fn main() {
    let which = std::env::args().nth(1).unwrap();
    if which == "codec" {
        ssdlab_bench::codec::report(ssdlab_bench::Scale::Real)
    } else {
        ssdlab_bench::pool::report(ssdlab_bench::Scale::Real)
    }
}
