//! Benchmark of page compressors: compares calls through ssdlab's `Codec` trait with direct calls to the libraries.

use std::hint::black_box;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use ssdlab_codec::CodecSpec;

use crate::machine::processor_seconds;
use crate::text::pages;
use crate::{Scale, head, machine};

const PAGE_BYTES: usize = 8192;

// Reasons why a codec cannot fail in this benchmark.
const FITS: &str = "the output buffer is large enough";
const INTACT: &str = "the page is intact";
const MEMORY: &str = "memory for a context";

/// Function that compresses or decompresses the first slice into the second. Returns the number of bytes written.
type Work = Box<dyn FnMut(&[u8], &mut [u8]) -> usize>;

/// Compression library, called with reused contexts as its documentation recommends.
struct Library {
    spec: &'static str,
    compress: Work,
    restore: Work,
}

fn libraries() -> Vec<Library> {
    let mut zstd_in = zstd::bulk::Compressor::new(3).expect(MEMORY);
    let mut zstd_out = zstd::bulk::Decompressor::new().expect(MEMORY);
    let mut zlib_in = Compress::new(Compression::new(6), true);
    let mut zlib_out = Decompress::new(true);
    let mut deflate_in = libdeflater::Compressor::new(libdeflater::CompressionLvl::new(1).expect("the level is valid"));
    let mut deflate_out = libdeflater::Decompressor::new();
    vec![
        Library {
            spec: "lz4",
            compress: Box::new(|page, out| lzzzz::lz4::compress(page, out, 1).expect(FITS)),
            restore: Box::new(|bytes, page| lzzzz::lz4::decompress(bytes, page).expect(INTACT)),
        },
        Library {
            spec: "lz4hc:4",
            compress: Box::new(|page, out| lzzzz::lz4_hc::compress(page, out, 4).expect(FITS)),
            restore: Box::new(|bytes, page| lzzzz::lz4::decompress(bytes, page).expect(INTACT)),
        },
        Library {
            spec: "zstd:3",
            compress: Box::new(move |page, out| zstd_in.compress_to_buffer(page, out).expect(FITS)),
            restore: Box::new(move |bytes, page| zstd_out.decompress_to_buffer(bytes, page).expect(INTACT)),
        },
        Library {
            spec: "zlib:6",
            compress: Box::new(move |page, out| {
                zlib_in.reset();
                zlib_in.compress(page, out, FlushCompress::Finish).expect(FITS);
                zlib_in.total_out() as usize
            }),
            restore: Box::new(move |bytes, page| {
                zlib_out.reset(true);
                zlib_out.decompress(bytes, page, FlushDecompress::Finish).expect(INTACT);
                zlib_out.total_out() as usize
            }),
        },
        Library {
            spec: "libdeflate:1",
            compress: Box::new(move |page, out| deflate_in.deflate_compress(page, out).expect(FITS)),
            restore: Box::new(move |bytes, page| deflate_out.deflate_decompress(bytes, page).expect(INTACT)),
        },
    ]
}

/// Returns the microseconds per page for compression and for decompression, and the compressed pages.
fn run(
    pages: &[Vec<u8>],
    mut compress: impl FnMut(&[u8], &mut [u8]) -> usize,
    mut restore: impl FnMut(&[u8], &mut [u8]),
) -> (f64, f64, Vec<Vec<u8>>) {
    let mut out = vec![0; 2 * PAGE_BYTES];
    let began = processor_seconds();
    for page in pages {
        black_box(compress(page, &mut out));
    }
    let compress_us = (processor_seconds() - began) * 1e6 / pages.len() as f64;
    let compressed: Vec<Vec<u8>> = pages
        .iter()
        .map(|page| {
            let length = compress(page, &mut out);
            out[..length].to_vec()
        })
        .collect();
    let mut back = vec![0; PAGE_BYTES];
    let began = processor_seconds();
    for bytes in &compressed {
        restore(bytes, &mut back);
        black_box(&back);
    }
    (compress_us, (processor_seconds() - began) * 1e6 / pages.len() as f64, compressed)
}

/// Prints the table of codecs.
pub fn report(scale: Scale) {
    let (count, rounds) = scale.pick((20, 1), (4_000, 9));
    let pages = pages(count, PAGE_BYTES);
    println!(
        "## Page compressors: {count} pages of 8 KiB, one core, through ssdlab's trait and by direct library calls\n"
    );
    head(
        "codec | compression ratio | compress, us | library compress, us | speed ratio | decompress, us | library decompress, us | speed ratio | result hash",
    );
    for mut library in libraries() {
        let spec: CodecSpec = library.spec.parse().expect("the codec exists");
        let [mut codec, mut other] = [(); 2].map(|()| spec.build().expect(MEMORY));
        let mut best = [f64::INFINITY; 4];
        let mut stored = Vec::new();
        // ssdlab's codec and the library alternate, so that interference affects both equally.
        for _ in 0..rounds {
            let (compress_us, restore_us, ours) = run(
                &pages,
                |page, out| codec.compress(page, out).expect(FITS),
                |bytes, page| other.decompress(bytes, page).expect(INTACT),
            );
            let (alone_us, alone_restore_us, theirs) = run(&pages, &mut library.compress, |bytes, page| {
                (library.restore)(bytes, page);
            });
            assert_eq!(ours, theirs, "{}", library.spec);
            for (best, new) in best.iter_mut().zip([compress_us, alone_us, restore_us, alone_restore_us]) {
                *best = best.min(new);
            }
            stored = ours;
        }
        let bytes: usize = stored.iter().map(Vec::len).sum();
        println!(
            "| {} | {:.2} | {:.2} | {:.2} | **{:.2}** | {:.2} | {:.2} | **{:.2}** | {:08x} |",
            library.spec,
            (count * PAGE_BYTES) as f64 / bytes as f64,
            best[0],
            best[1],
            best[1] / best[0],
            best[2],
            best[3],
            best[3] / best[2],
            machine::hash(&bytes.to_string()),
        );
    }
}
