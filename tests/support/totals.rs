//! Totals of scans of host memory, restarting or not, against a plain loop, on any scanner; prepared, too.

use scan_codegen::ScanSpec;
use scan_runtime::{Error, Run, Scan, ScanKind, Scanner};

use crate::{
    configure,
    operators::{AffineU32, TestOperator, bits, inputs},
    reference::{self, WAYS},
    segments::{HEAD_SOURCES, Heads, PATTERNS, begins},
};

type Op = AffineU32;
type Item = <Op as TestOperator>::Item;

/// Compares totals of scans by every kind of heads, in every way and direction.
///
/// # Errors
///
/// What goes wrong.
pub fn check(scanner: &Scanner) -> Result<(), Box<dyn std::error::Error>> {
    for (turn, len) in [0, 1, 2, 65, 4_097, 40_003].into_iter().enumerate() {
        let input = inputs::<Op>(len);
        for head_source in 0..=HEAD_SOURCES + 1 {
            let way = WAYS[(turn + head_source) % WAYS.len()];
            let (kind, with_initial) = way;
            let reversed = (turn + head_source / 4) % 2 == 1;
            let initial = with_initial.then(Op::initial_value);
            let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
            let spec = if reversed { spec.reverse() } else { spec };
            let scan = configure::<Op>(scanner, way);
            let scan = if reversed { scan.reverse() } else { scan };
            let heads = match head_source {
                HEAD_SOURCES => Heads::rows(len.max(1), len),
                _ => Heads::new(head_source, &begins(PATTERNS[(turn + head_source) % PATTERNS.len()], len, 4_096)),
            };
            let begins = (head_source <= HEAD_SOURCES).then_some(&heads.begins[..]);
            let expected = (
                reference::scan_as(&Op::new(), &spec, initial, &input, begins),
                reference::total_as(&Op::new(), &spec, initial, &input, begins),
            );
            let what = format!("{len} elements, {spec}, {heads:?}");
            match head_source {
                0..HEAD_SOURCES => same(&scan, Some(&heads), &input, &expected, &what)?,
                HEAD_SOURCES => same(&scan, Some(&Heads::rows(len.max(1), len)), &input, &expected, &what)?,
                _ => same(&scan, None, &input, &expected, &what)?,
            }
        }
    }
    Ok(())
}

/// Every way to run it, at once and prepared.
fn same(
    scan: &Scan<Op>,
    heads: Option<&Heads>,
    input: &[Item],
    expected: &(Vec<Item>, Option<Item>),
    what: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let is_right = |how: &str, output: &[Item], total: Option<Item>| {
        let right = bits(output) == bits(&expected.0)
            && total.map(|total| bits(&[total])) == expected.1.map(|total| bits(&[total]));
        if right { Ok(()) } else { Err(format!("{how}, {what}: another output or total")) }
    };
    let run = || heads.map_or_else(|| Run::from(scan), |heads| heads.of(scan));
    let (output, total) = run().with_total().run(input)?;
    is_right("a vector", &output, total)?;
    let mut output = input.to_vec();
    let total = run().with_total().run_into(input, &mut output)?;
    is_right("a slice", &output, total)?;
    let mut output = input.to_vec();
    let total = run().with_total().run_in_place(&mut output)?;
    is_right("in place", &output, total)?;
    let prepared = run().with_total().prepare(input.len())?;
    let again = || match heads {
        Some(heads) => heads.of_handle(&prepared).with_total(),
        None => prepared.with_total(),
    };
    let mut output = input.to_vec();
    let total = again().run_in_place(&mut output)?;
    is_right("prepared, in place", &output, total)?;
    let total = again().run_into(input, &mut output)?;
    is_right("prepared, a slice", &output, total)?;
    match prepared.run(input) {
        Err(Error::HandleMismatch { .. }) => {}
        found => {
            return Err(format!("{what}: a run without what the handle was prepared for: {:?}", found.err()).into());
        }
    }
    match again().run(&vec![Op::initial_value(); input.len() + 1]) {
        Err(Error::PreparedLength { len, max_len }) if (len, max_len) == (input.len() + 1, input.len()) => Ok(()),
        found => Err(format!("{what}: more elements than prepared for: {:?}", found.err()).into()),
    }
}
