//! The generated CUDA, reviewed like source.

use scan_codegen::{DeviceLimits, OffsetWidth, Overrides, ScanSpec, Segments};
use scan_runtime::{Axis, BlockScan, Carry, Network, Run, Scan, ScanOp, Scanner, Strategy, WarpNetwork, gallery, ops};
use scan_tests::{
    items::Classes,
    operators::{Affine, MatrixProduct, MixedSum, TestOperator, compose},
    strategies::{CARRIES, LOOK_AHEAD, NETWORKS},
};

/// For a device on which blocks look back over long inputs: every algorithm can be had there.
fn scanner() -> Scanner {
    Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE)
}

fn text<Op: ScanOp>(scan: Scan<Op>) -> String {
    format!("{}\n\n{}", scan.plan().unwrap(), scan.cuda_source().unwrap().text)
}

#[test]
fn sum_inclusive() {
    insta::assert_snapshot!(text(scanner().scan(ops::sum::<f32>())));
}

/// What a device runs that has shared memory enough: the whole text.
#[test]
fn look_ahead_of_sums() {
    insta::assert_snapshot!(text(Scanner::cpu_for(DeviceLimits::H200).scan(ops::sum::<f32>())));
}

#[test]
fn compose_exclusive() {
    insta::assert_snapshot!(text(scanner().scan(compose).exclusive()));
}

/// Tables of run time in the shared memory of look-ahead's blocks: where they are copied, and where they are read.
#[test]
fn tables() {
    let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::H200);
    let scan = scanner.scan(Classes::new(300, 5)).strategy(LOOK_AHEAD);
    let (plan, text) = (scan.plan().unwrap().to_string(), scan.cuda_source().unwrap().without_lines().text);
    let between = |from: &str, to: &str| {
        let start = text.find(from).unwrap_or_else(|| panic!("no {from:?} in\n{text}"));
        &text[start..start + text[start..].find(to).unwrap()]
    };
    let parts = [
        &plan,
        between("// Table<T>", "// a..b"),
        between("struct Classes", "\n};"),
        between("// Copies the items of a table", "extern \"C\""),
        between("  keep_tables(op);", "  block.epoch"),
    ];
    insta::assert_snapshot!(parts.join("\n…\n"));
}

/// Operator and order: what tells a scan from the last element to the first from another.
#[test]
fn reversed() {
    let text = scanner().scan(compose).reverse().cuda_source().unwrap().text;
    let (start, end) = (text.find("struct Affine").unwrap(), text.find("// ---- Intrinsics").unwrap());
    insta::assert_snapshot!(&text[start..end]);
}

#[test]
fn mixed_exclusive_with_an_initial_value() {
    let scanner = scanner();
    insta::assert_snapshot!(text(scanner.scan(MixedSum).exclusive().init(MixedSum::initial_value())));
}

/// The part of a source that begins at this heading.
fn part<'a>(source: &'a str, heading: &str) -> &'a str {
    let start = source.find(heading).unwrap_or_else(|| panic!("no {heading:?} in\n{source}"));
    let end = source[start + 4..].find("// ---- ").map_or(source.len(), |end| start + 4 + end);
    &source[start..end]
}

/// A name for a file.
fn slug(strategy: impl ToString) -> String {
    strategy.to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "_").to_lowercase()
}

#[test]
fn every_network() {
    for network in NETWORKS {
        let strategy = Strategy { block: BlockScan::of(network), carry: Carry::OneBlock };
        let source = scanner().scan(compose).exclusive().strategy(strategy).cuda_source().unwrap().text;
        let before = source.find("// ---- One block").unwrap();
        let text = part(&source[..before], "// ---- The tile");
        let network_part = &source[source.find(text).unwrap() + text.len()..before];
        insta::assert_snapshot!(format!("network_{}", slug(network)), network_part);
    }
}

/// The network of a warp, up to what folds the runs.
fn warp_part(source: &str) -> &str {
    let end = source.find("// The fold of the first `count` elements of a run").unwrap();
    let start = source[..end].rfind("\n}\n\n// ").and_then(|last| source[..last].rfind("\n}\n\n// ")).unwrap();
    &source[start + 4..end]
}

#[test]
fn every_network_of_a_warp() {
    for network in WarpNetwork::ALL {
        let block = BlockScan::in_registers().over_warps(network);
        let source =
            scanner().scan(compose).strategy(Strategy { block, carry: Carry::LookAtAll }).cuda_source().unwrap();
        insta::assert_snapshot!(format!("warp_{}", slug(network)), warp_part(&source.text));
    }
}

/// The lines about a constant array that each block copies to shared memory, without its items.
#[test]
fn constants_in_shared_memory() {
    let scanner = Scanner::cpu_for(scan_runtime::DeviceLimits::H200);
    let source = scanner.scan(gallery::automaton::Lexer).strategy(LOOK_AHEAD).cuda_source().unwrap().without_lines();
    let copies = part(&source.text, "// Copies a constant array");
    let copies = &copies[..copies.find("\n}").unwrap()];
    let named = source.text.lines().filter(|line| line.contains("ROWS"));
    let named: Vec<_> = named.map(|line| line.split(" = {").next().unwrap().trim()).collect();
    insta::assert_snapshot!(format!("{copies}\n}}\n…\n{}", named.join("\n")));
}

/// A stepped operator that prepends inputs, by a permutation of bytes.
#[test]
fn runs_folded_from_their_ends() {
    let source = text(scanner().scan(gallery::automaton::Lexer));
    let operator = &source[source.find("struct Lexer {").unwrap()..source.find("// ---- The types").unwrap()];
    let parts = [part(&source, "// ---- Inputs are combined"), part(&source, "// ---- In registers")];
    insta::assert_snapshot!(format!("{operator}\n…\n{}", parts.join("\n…\n")));
}

#[test]
fn a_tile_of_bytes() {
    let strategy = Strategy { block: BlockScan::in_registers(), carry: Carry::LookAtAll };
    let source = scanner().scan(ops::sum::<u8>()).strategy(strategy).cuda_source().unwrap().text;
    insta::assert_snapshot!(part(&source, "// ---- The tile"));
}

#[test]
fn the_inclusive_variant_of_an_exclusive_network() {
    let strategy = Strategy { block: BlockScan::of(Network::Blelloch { padded: true }), carry: Carry::OneBlock };
    insta::assert_snapshot!(text(scanner().scan(ops::max::<i32>()).strategy(strategy)));
}

#[test]
fn coarsened_over_a_padded_tree() {
    let strategy = Strategy { block: BlockScan::coarsened(Network::Blelloch { padded: true }), carry: Carry::OneBlock };
    insta::assert_snapshot!(text(scanner().scan(ops::bit_xor::<u16>()).strategy(strategy)));
}

#[test]
fn every_carry() {
    for carry in CARRIES {
        let strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry };
        let scanner = scanner();
        let scan = scanner.scan(MixedSum).init(MixedSum::initial_value()).strategy(strategy);
        let source = scan.cuda_source().unwrap().text;
        let from = source.find("// ---- One block").unwrap();
        insta::assert_snapshot!(format!("carry_{}", slug(carry)), &source[from..]);
    }
}

#[test]
fn look_ahead() {
    let scanner = scanner();
    for (name, text) in [
        ("bytes", text(scanner.scan(ops::sum::<u8>()).strategy(LOOK_AHEAD))),
        ("structs", text(scanner.scan(MixedSum).exclusive().init(MixedSum::initial_value()).strategy(LOOK_AHEAD))),
        ("groups", text(scanner.scan(MatrixProduct::<5>::new()).strategy(LOOK_AHEAD))),
        ("segments_by_flags", segmented(scanner.scan(ops::sum::<f32>()).strategy(LOOK_AHEAD).by_flags::<u8>(&[]))),
        (
            "segments_by_offsets",
            segmented(
                scanner.scan(compose).init(Affine { a: 2.0, b: 1.0 }).strategy(LOOK_AHEAD).by_offsets::<u32>(&[]),
            ),
        ),
    ] {
        let (plan, source) = text.split_once("\n\n").unwrap();
        let from = source.find("// The dynamic shared memory").unwrap();
        insta::assert_snapshot!(format!("look_ahead_{name}"), format!("{plan}\n\n{}", &source[from..]));
    }
}

#[test]
fn look_at_all() {
    let scanner = scanner();
    let strategy = Strategy { block: BlockScan::in_registers(), carry: Carry::LookAtAll };
    let scan = scanner.scan(compose).exclusive().init(Affine { a: 2.0, b: 1.0 }).strategy(strategy);
    insta::assert_snapshot!(segmented(scan.by_offsets::<u32>(&[])));
}

#[test]
fn look_at_all_in_one_segment() {
    let strategy = Strategy { block: BlockScan::in_registers(), carry: Carry::LookAtAll };
    let scanner = scanner();
    insta::assert_snapshot!(scanner.scan(ops::sum::<f32>()).strategy(strategy).cuda_source().unwrap().text);
}

#[test]
fn one_cluster() {
    let scanner = scanner();
    let strategy = Strategy { block: BlockScan::in_registers(), carry: Carry::Cluster };
    insta::assert_snapshot!(segmented(scanner.scan(ops::sum::<f32>()).strategy(strategy).by_bits::<u32>(&[])));
}

/// The kernel whose neighbouring threads scan neighbouring columns: one column a thread, and several, of one array and
/// of two.
#[test]
fn along_an_axis() {
    let scanner = scanner();
    let axis = || Axis::of(&[8, 65_536, 1_536], 1).unwrap();
    let affine = scanner.scan(compose).exclusive().init(Affine { a: 2.0, b: 1.0 });
    let affine = affine.along(axis());
    let halves = scanner.scan(ops::sum::<scan_runtime::half::f16>()).reverse();
    let halves = halves.along(axis());
    let texts = [
        ("affine", affine.axis_plan().unwrap(), affine.cuda_source().unwrap().text),
        ("halves", halves.axis_plan().unwrap(), halves.cuda_source().unwrap().text),
    ];
    let recurrence = scanner.scan(scan_tests::columns::Recurrence).per_field();
    let recurrence = recurrence.along(axis());
    let recurrence = ("recurrence", recurrence.axis_plan().unwrap(), recurrence.cuda_source().unwrap().text);
    for (name, plan, source) in texts.into_iter().chain([recurrence]) {
        let from = source.find("// ---- Prefixes").unwrap();
        insta::assert_snapshot!(format!("along_an_axis_{name}"), format!("{plan}\n\n{}", &source[from..]));
    }
}

#[test]
fn segments_by_flags() {
    insta::assert_snapshot!(segmented(scanner().scan(ops::sum::<f32>()).by_flags::<u8>(&[])));
}

#[test]
fn segments_by_keys() {
    let strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::ReduceThenScan };
    let scanner = scanner();
    let scan = scanner.scan(compose).exclusive().init(Affine { a: 2.0, b: 1.0 }).strategy(strategy);
    insta::assert_snapshot!(segmented(scan.by_keys::<u64>(&[])));
}

#[test]
fn segments_by_offsets() {
    let strategy = Strategy { block: BlockScan::of(Network::Blelloch { padded: true }), carry: Carry::OneBlock };
    let scan = scanner();
    insta::assert_snapshot!(segmented(scan.scan(ops::max::<i32>()).strategy(strategy).by_offsets::<u32>(&[])));
}

/// What a scan has to do with its segments: all but the operator and the prelude.
fn segmented<Op: ScanOp>(scan: Run<'_, Op>) -> String {
    let source = scan.cuda_source().unwrap().text;
    let from = source.find("// ---- Intrinsics").unwrap();
    format!("{}\n\n{}", scan.plan().unwrap(), &source[from..])
}

/// An initial value and a total for each row, and for each segment between offsets.
#[test]
fn each_segment() {
    for (name, segments) in [("rows", Segments::Rows), ("offsets", Segments::Offsets(OffsetWidth::U32))] {
        let spec = ScanSpec::inclusive().with_segments(segments).with_initial_values().with_totals();
        let strategy = Strategy { block: BlockScan::in_registers(), carry: Carry::LookBack };
        let overrides = Overrides::default().strategy(strategy);
        let operator = ops::sum::<i32>().source();
        let plans = scan_codegen::plan(&operator, &spec, &DeviceLimits::BASELINE, &overrides).unwrap();
        let source = scan_tests::checked::render(&operator, plans.longest(), plans.device()).unwrap().text;
        let from = source.find("// ---- The segments").unwrap();
        insta::assert_snapshot!(format!("each_segment_{name}"), &source[from..]);
    }
}

#[test]
fn rendering_twice_gives_the_same_bytes() {
    let source = || scanner().scan(compose).cuda_source().unwrap();
    assert_eq!(source(), source());
}
