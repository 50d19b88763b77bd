//! The gallery's operators for CUB: their own CUDA text, each in a namespace, with `benches/peers/gallery.cu` around
//! it.

use scan_codegen::{Target, operator_text};
use scan_tests::gallery::{Example, Visitor, visit_gallery};

/// What stands before all of them.
const HEADERS: &str = "#include <cstdint>\n#include <cstring>\n\n#include <cub/device/device_scan.cuh>\n#include <thrust/iterator/transform_iterator.h>\n#include <thrust/iterator/transform_output_iterator.h>\n\n";
/// What stands around each.
const SCAN: &str = include_str!("../../benches/peers/gallery.cu");
/// C's linkage keeps a name out of its namespace.
const PANICKED: &str = "extern \"C\" {\n__device__ volatile unsigned* scan_panicked;\n}\n";

/// The text of all scans.
pub(crate) fn source() -> Result<String, String> {
    let mut texts = Texts { all: HEADERS.to_owned(), failed: None };
    visit_gallery(&mut texts);
    texts.failed.map_or(Ok(texts.all), Err)
}

struct Texts {
    all: String,
    failed: Option<String>,
}

impl Visitor for Texts {
    fn visit<Op: Example>(&mut self, name: &str) {
        let source = Op::new().source();
        let has = |name: &str| source.functions.iter().any(|function| function.name == name);
        let words = match operator_text(&source, Target::Cuda) {
            Ok(words) => words,
            Err(error) => return self.failed = Some(format!("{name}: {error}")),
        };
        let lines = words.text.split_inclusive('\n').filter(|line| !line.starts_with("#line "));
        let text = lines.collect::<String>().replace(PANICKED, "__device__ volatile unsigned* scan_panicked;\n");
        // CUB applies operators also to what no element is, where they may panic; such results are not used.
        let text = text.replace("  __trap();\n  __builtin_unreachable();\n", "");
        let carry =
            if source.carry.is_some() { format!("op.apply(state, {})", words.start) } else { "state".to_owned() };
        let filled = [
            ("{NAME}", name),
            ("{OPERATOR}", &words.operator),
            ("{INPUT}", &words.input),
            ("{STATE}", &words.state),
            ("{OUTPUT}", &words.output),
            ("{LIFTED}", if has("lift") { "op.lift(input)" } else { "input" }),
            ("{PROJECTED}", &if has("project") { format!("op.project({carry})") } else { carry }),
            ("{TEXT}", text.trim_end()), // last: it may have braces of its own
        ];
        let scan = filled.iter().fold(SCAN.to_owned(), |scan, (word, value)| scan.replace(word, value));
        // The comment says it once.
        self.all.push_str(scan.split_once("\n\n").map_or(&scan[..], |(_, scan)| scan));
        self.all.push('\n');
    }
}
