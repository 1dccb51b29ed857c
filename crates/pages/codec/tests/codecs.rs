//! Tests of every codec in the table.

use proptest::prelude::*;
use ssdlab_codec::{CODECS, Codec, CodecSpec, SpecError};
use ssdlab_core::Rng;

fn parse(text: &str) -> CodecSpec {
    text.parse().unwrap()
}

/// Returns every codec that stores data, with its default, smallest and largest parameters.
fn codecs() -> Vec<(String, Box<dyn Codec>)> {
    let mut specs: Vec<String> = Vec::new();
    for info in CODECS.iter().filter(|info| info.name != "modelled") {
        specs.push(info.name.to_owned());
        if let [parameter] = info.role.parameters {
            specs.extend([parameter.min, parameter.max].map(|value| format!("{}:{value}", info.name)));
        }
    }
    // The slowest level needs much memory and would test no additional code.
    specs.retain(|spec| spec != "zstd:22");
    specs.into_iter().map(|spec| (spec.clone(), parse(&spec).build().unwrap())).collect()
}

/// Returns a page that mixes runs, short periods and noise.
fn page(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    let mut page = Vec::new();
    while page.len() < bytes {
        let (kind, length) = (rng.below(3), 1 + rng.below(200));
        let first = rng.next_u64() as u8;
        page.extend((0..length).map(|at| match kind {
            0 => first,
            1 => first.wrapping_add((at % 7) as u8),
            _ => rng.next_u64() as u8,
        }));
    }
    page.truncate(bytes);
    page
}

/// Bytes past the end of a buffer, to detect overruns.
const GUARD: [u8; 64] = [0xA5; 64];

/// Returns a buffer of `bytes` bytes followed by [`GUARD`].
fn guarded(bytes: usize) -> Vec<u8> {
    let mut buffer = vec![0; bytes];
    buffer.extend(GUARD);
    buffer
}

proptest! {
    #![proptest_config(ssdlab_tiers::cases(256))]

    /// With a large enough buffer, every page is restored, and no codec writes past the end of the buffer.
    #[test]
    fn round_trip(pages in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3000), 1..4), seed: u64) {
        let mut rng = Rng::named(seed, "codec");
        let mixed = page(&mut rng, 4096);
        for (name, mut codec) in codecs() {
            for page in pages.iter().chain([&mixed]) {
                let room = page.len() * 2 + 100;
                let mut out = guarded(room);
                let length = codec.compress(page, &mut out[..room]);
                prop_assert!(length.is_some(), "{name} output exceeds twice the page");
                prop_assert_eq!(&out[room..], &GUARD);
                let mut back = guarded(page.len());
                let restored = codec.decompress(&out[..length.unwrap()], &mut back[..page.len()]);
                prop_assert_eq!(restored, Ok(()), "{}", name);
                prop_assert_eq!(&back[..page.len()], &page[..], "{}", name);
                prop_assert_eq!(&back[page.len()..], &GUARD);
            }
        }
    }

    /// For any buffer size, the compressed page fits and is correct, or the result is `None`. The codec works after
    /// `None`.
    #[test]
    fn output_never_exceeds_the_buffer(seed: u64, rooms in prop::collection::vec(0_usize..4200, 1..20)) {
        let mut rng = Rng::named(seed, "room");
        for (name, mut codec) in codecs() {
            for &room in &rooms {
                let page = page(&mut rng, 4096);
                let mut out = guarded(room);
                let length = codec.compress(&page, &mut out[..room]);
                prop_assert_eq!(&out[room..], &GUARD, "{}", &name);
                if let Some(length) = length {
                    prop_assert!(length <= room);
                    let mut back = vec![0; 4096];
                    prop_assert_eq!(codec.decompress(&out[..length], &mut back), Ok(()), "{}", &name);
                    prop_assert_eq!(&back, &page, "{}", &name);
                }
            }
        }
    }

    /// Garbage and damaged pages cause no panic and no write past the page; the codec then restores an intact page.
    #[test]
    fn garbage_input_is_safe(seed: u64, garbage in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut rng = Rng::named(seed, "garbage");
        for (name, mut codec) in codecs() {
            let sound = page(&mut rng, 2048);
            let mut out = vec![0; 4096];
            let length = codec.compress(&sound, &mut out).unwrap();
            let mut damaged = out[..length].to_vec();
            damaged[rng.below(length as u64) as usize] ^= 1 << rng.below(8);
            let cut = &out[..rng.below(length as u64) as usize];
            let mut back = guarded(2048);
            for bytes in [&garbage[..], &damaged, cut] {
                // A codec need not detect damage, because the caller checks a checksum.
                let _ = codec.decompress(bytes, &mut back[..2048]);
                prop_assert_eq!(&back[2048..], &GUARD, "{}", name);
            }
            prop_assert!(codec.decompress(cut, &mut back[..2048]).is_err(), "{} restores from {} bytes", name, cut.len());
            prop_assert!(codec.decompress(&out[..length], &mut back[..2047]).is_err(), "{} into less", name);
            prop_assert!(codec.decompress(&out[..length], &mut guarded(2048)[..2049]).is_err(), "{} into more", name);
            prop_assert_eq!(codec.decompress(&out[..length], &mut back[..2048]), Ok(()));
            prop_assert_eq!(&back[..2048], &sound[..]);
        }
    }
}

#[test]
fn noise_does_not_shrink() {
    let mut rng = Rng::named(1, "noise");
    let noise: Vec<u8> = (0..8192).map(|_| rng.next_u64() as u8).collect();
    for (name, mut codec) in codecs() {
        assert_eq!(codec.compress(&noise, &mut vec![0; 8191]), None, "{name}");
        assert!(name == "none" || codec.compress(&[7; 8192], &mut vec![0; 1024]).is_some(), "{name}");
    }
}

/// On compressible data a higher level must not give larger pages.
#[test]
fn levels_order_sizes() {
    let mut rng = Rng::named(1, "levels");
    let pages: Vec<_> = (0..200).map(|_| page(&mut rng, 8192)).collect();
    let size = |spec: &str| {
        let mut codec = parse(spec).build().unwrap();
        pages.iter().map(|page| codec.compress(page, &mut vec![0; 16384]).unwrap()).sum::<usize>()
    };
    assert!(size("lz4:8") > size("lz4"));
    assert!(size("lz4") > size("lz4hc:9"));
    assert!(size("zstd:-5") > size("zstd:3"));
    assert!(size("zstd:3") >= size("zstd:9"));
    assert!(size("zlib:1") > size("zlib:6"));
    assert!(size("libdeflate:1") > size("libdeflate:9"));
}

#[test]
fn modelled_codec_returns_its_costs_and_writes_nothing() {
    let mut codec = parse("modelled:2:7.5:1").build().unwrap();
    let costs = codec.modelled().unwrap();
    assert_eq!((costs.ratio, costs.compress_us, costs.decompress_us), (2.0, 7.5, 1.0));
    assert_eq!(codec.compress(&[0; 4096], &mut [9; 4096]), Some(2048));
    assert_eq!(codec.compress(&[0; 4096], &mut [9; 2047]), None);
    let mut page = [3; 16];
    assert_eq!(codec.decompress(&[], &mut page), Ok(()));
    assert_eq!(page, [3; 16]);
    assert!(codecs().iter().all(|(_, codec)| codec.modelled().is_none()));
}

#[test]
fn specifications_are_parsed_and_printed() {
    for (text, canonical) in [
        ("none", "none"),
        ("lz4", "lz4:1"),
        ("lz4:4", "lz4:4"),
        (" ZSTD:-5 ", "zstd:-5"),
        ("zlib:6", "zlib:6"),
        ("modelled:3", "modelled:3:2:1"),
    ] {
        assert_eq!(parse(text).to_string(), canonical);
        assert_eq!(parse(canonical), parse(text));
    }
}

#[test]
fn errors_name_the_value_and_the_remedy() {
    let message = |text: &str| text.parse::<CodecSpec>().unwrap_err().to_string();
    assert!(message("zstdd").contains("\"zstdd\"; did you mean \"zstd\"?"), "{}", message("zstdd"));
    assert!(message("").starts_with("unknown codec \"\". Choose one of none, lz4, lz4hc"), "{}", message(""));
    assert_eq!(
        message("zstd:23"),
        "invalid zstd level \"23\": must be a whole number from -100 to 22; did you mean \"zstd:22\"?"
    );
    assert!(message("zlib:2.4").ends_with("did you mean \"zlib:2\"?"));
    assert!(message("zlib:best").ends_with("did you mean \"zlib:6\"?"));
    assert!(message("modelled:nan").contains("did you mean \"modelled:2.13:2:1\"?"));
    assert!(message("modelled:0.5:16.4:8").ends_with("did you mean \"modelled:1:16.4:8\"?"));
    let both = message("modelled:0.5:16.4:-8");
    assert!(
        both.starts_with("invalid modelled ratio \"0.5\"") && both.ends_with("did you mean \"modelled:1:16.4:0\"?"),
        "{both}"
    );
    assert_eq!(message("lz4:1:2"), "too many parameters in \"lz4:1:2\"; the syntax is \"lz4[:acceleration]\"");
    assert!(matches!("none:1".parse::<CodecSpec>(), Err(SpecError::TooMany { .. })));
}
