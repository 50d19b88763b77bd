//! What a user sees of a source, and keeps as a snapshot.

use scan_codegen::{Overrides, ScanSpec, plan_columns};
use scan_runtime::{DeviceLimits, KernelSource, ScanOp, Scanner, gallery::automaton::Lexer, scan_op};
use scan_tests::checked::render_columns;

/// One operator, twice.
mod above {
    use super::*;

    #[scan_op(identity = 1)]
    pub(super) fn product(a: u32, b: u32) -> u32 {
        a.wrapping_mul(b)
    }
}

mod below {
    use super::*;

    #[scan_op(identity = 1)]
    pub(super) fn product(a: u32, b: u32) -> u32 {
        a.wrapping_mul(b)
    }

    #[scan_op(identity = 1)]
    pub(super) fn times(a: u32, b: u32) -> u32 {
        a.wrapping_mul(b)
    }
}

fn scanner() -> Scanner {
    Scanner::cpu_for(DeviceLimits::of("sm_90".parse().unwrap()))
}

/// Over inputs of one range of lengths after the other.
fn sources(scan: &scan_runtime::Scan<impl scan_runtime::ScanOp>) -> Vec<KernelSource> {
    scan.plan().unwrap().iter().map(|plan| scan.cuda_source_for(plan.from as usize).unwrap()).collect()
}

#[test]
fn the_first_line_names_scan_and_device() {
    let scan = scanner().scan(below::times).exclusive();
    let (plans, sources) = (scan.plan().unwrap(), sources(&scan));
    assert!(sources.len() > 2);
    let froms: Vec<u64> = plans.iter().map(|plan| plan.from).collect();
    for (i, source) in sources.iter().enumerate() {
        let lengths = match froms.get(i + 1) {
            Some(next) if i == 0 => format!("up to {} elements", next - 1),
            Some(next) => format!("{} to {} elements", froms[i], next - 1),
            None => format!("from {} elements on", froms[i]),
        };
        let first =
            format!("// Times: exclusive scan, {lengths}, for sm_90, by scan-runtime {}.", env!("CARGO_PKG_VERSION"));
        let shown = source.to_string();
        assert_eq!(shown.lines().next(), Some(&*first));
        // Ranges that share kernels have one text, each line of which has the number that messages give it.
        assert_eq!(source.text.lines().next(), Some("// Times: exclusive scan."));
        assert!(shown.lines().skip(1).eq(source.text.lines().skip(1)));
        assert!(shown.ends_with('\n'));
    }
    assert_eq!(scan.cuda_source().unwrap().to_string(), sources.last().unwrap().to_string());

    let one = scan.strategy(plans.shortest().strategy).cuda_source().unwrap().to_string();
    assert!(one.starts_with("// Times: exclusive scan, any number of elements, for sm_90, by "), "{one}");
    let reduction = Scanner::cpu_for(DeviceLimits::of("sm_80".parse().unwrap())).reduce(below::times);
    let reduction = reduction.cuda_source().unwrap().to_string();
    assert!(reduction.starts_with("// Times: reduction, any number of elements, for sm_80, by "), "{reduction}");
}

#[test]
fn a_text_without_lines_does_not_depend_on_the_operators_place() {
    let (above, below) = (sources(&scanner().scan(above::product)), sources(&scanner().scan(below::product)));
    for (above, below) in above.into_iter().zip(below) {
        assert_ne!(above.text, below.text);
        let (above, below) = (above.without_lines(), below.without_lines());
        assert_eq!(above, below);
        assert!(!above.to_string().contains("#line"), "{above}");
    }
}

/// Of scans, reductions and scans along an axis, whose heading and prelude differ: elements, functions and the struct.
#[test]
fn the_operators_own_part_is_that_of_the_text() {
    let (scanner, spec) = (scanner(), ScanSpec::inclusive());
    let columns = plan_columns(&Lexer.source(), &spec, &scanner.limits(), &Overrides::default()).unwrap();
    let sources = [
        sources(&scanner.scan(Lexer)),
        sources(&scanner.scan(Lexer).reverse().exclusive()),
        vec![scanner.reduce(Lexer).cuda_source().unwrap()],
        vec![render_columns(&Lexer.source(), &columns).unwrap()],
    ];
    for source in sources.into_iter().flatten() {
        for source in [source.clone(), source.clone().without_lines()] {
            let own = source.operator();
            let (before, after) = source.text.split_once(own).unwrap();
            assert!(before.ends_with("};\n\n") && after.starts_with("\n// ----"), "{source}");
            for name in ["Table_", "Lexer"] {
                let declared = format!(" {name} {{\n"); // after `struct`, or its alignment
                assert!(own.contains(&declared) && !before.contains(&declared), "{source}");
            }
            assert!(!after.contains("step(u8") && !own.contains("// ----") && own.contains("after("), "{source}");
        }
    }
}

/// The functions of a small operator are inlined everywhere, and it has no constants.
#[test]
fn the_own_part_of_a_small_operator_is_one_text() {
    let scan = scanner().scan(below::product);
    let mut sources = [sources(&scan), sources(&scan.exclusive())].concat();
    sources.push(scanner().reduce(below::product).cuda_source().unwrap());
    for source in sources {
        insta::allow_duplicates! {
            insta::assert_snapshot!(source.without_lines().operator(), @r"
            struct Product {
              __device__ __forceinline__ u32 combine(u32 a, u32 b) const {
                return a * b;
              }
              __device__ __forceinline__ u32 identity() const { return u32(1u); }
            };
            ");
        }
    }
}

/// The first line, the struct, the alias, and each kernel.
#[test]
fn another_operator_name_changes_few_lines() {
    let (product, times) = (sources(&scanner().scan(below::product)), sources(&scanner().scan(below::times)));
    for (product, times) in product.into_iter().zip(times) {
        let (product, times) = (product.without_lines().to_string(), times.without_lines().to_string());
        assert_eq!(product.lines().count(), times.lines().count());
        let changed: Vec<&str> =
            times.lines().zip(product.lines()).filter(|(a, b)| a != b).map(|(line, _)| line).collect();
        let kernels = times.matches("extern \"C\" __global__").count();
        assert!(kernels > 0 && changed.len() <= 3 + kernels, "{changed:#?}");
    }
}
