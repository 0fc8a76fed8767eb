//! Compressed data inside the page: deflate in base64, in elements that the browser does not run.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use maud::{Markup, PreEscaped, html};

/// Returns an element whose text is the result of [`pack`].
pub fn packed_element(id: &str, packed: &str) -> Markup {
    html! { "\n" script id=(id) type="application/octet-stream" { (PreEscaped(packed)) } }
}

/// Maximum compression saves 3 % of a page, and takes 2 ms for each sample.
const LEVEL: Compression = Compression::best();

/// Returns the data compressed in the zlib format, in base64. The script of the page decodes it with
/// the browser's `DecompressionStream("deflate")`.
pub fn pack(data: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), LEVEL);
    // Writing into a `Vec` cannot fail.
    let written = encoder.write_all(data).and_then(|()| encoder.finish());
    STANDARD.encode(written.unwrap_or_default())
}

/// Returns the HTML without its `<figure>` elements, which must not be nested.
pub fn remove_figures(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 4);
    let mut rest = html;
    // Text cannot contain these strings, because maud escapes `<`.
    while let Some((before, figure)) = rest.split_once("<figure") {
        text.push_str(before);
        rest = figure.split_once("</figure>").map_or("", |(_, after)| after);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_removed_and_all_else_is_kept() {
        let html = "<p>a</p><figure id=\"x\"><svg></svg></figure><table></table><figure>y</figure>b";
        assert_eq!(remove_figures(html), "<p>a</p><table></table>b");
        assert_eq!(remove_figures("<p>&lt;figure</p>"), "<p>&lt;figure</p>");
    }

    #[test]
    fn packed_data_is_inflated_to_itself() {
        use std::io::Read as _;
        let data = b"</script> and \x07 again and again and again";
        let element = packed_element("x", &pack(data)).into_string();
        let text = element.split('>').nth(1).unwrap().split('<').next().unwrap();
        let bytes = STANDARD.decode(text).unwrap();
        let mut inflated = Vec::new();
        flate2::read::ZlibDecoder::new(&bytes[..]).read_to_end(&mut inflated).unwrap();
        assert_eq!(inflated, data);
    }
}
