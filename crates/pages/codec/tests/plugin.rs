//! A codec registered from another crate is used like a built-in one.

use ssdlab_codec::{CODECS, Codec, CodecInfo, CodecRules, CodecSpec, Corrupt};

struct Nothing;

impl Codec for Nothing {
    fn compress(&mut self, _: &[u8], _: &mut [u8]) -> Option<usize> {
        None
    }

    fn decompress(&mut self, _: &[u8], _: &mut [u8]) -> Result<(), Corrupt> {
        Ok(())
    }
}

static PLUGIN: CodecInfo = CodecInfo {
    name: "plugin",
    help: "Compresses nothing.",
    source: "",
    parameters: &[],
    role: CodecRules { parameters: &[], make: |_| Ok(Box::new(Nothing)) },
};

#[test]
fn a_registered_codec_is_parsed_and_listed() {
    CODECS.register(&PLUGIN).expect("the registry is unused");
    let spec: CodecSpec = "plugin".parse().expect("a known codec");
    assert_eq!(spec.build().expect("no allocation").compress(&[0; 512], &mut []), None);
    assert!("unknown".parse::<CodecSpec>().expect_err("unknown").to_string().contains("plugin"));
}
