//! Stepped operators, and operators that append inputs, on the CPU: the plain loop, on one thread and on several.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{DeviceLimits, Overrides, ScanSpec, Segments, plan};
use scan_runtime::{Axis, Error, PlanError, ScanOp, Scanner, ops, scan_op};
use scan_tests::{
    checked::render,
    lifting::{Narrow, Wide, inputs},
    stepped::{Advancer, COMPARISONS, Coder, Emitter},
};

#[test]
fn stepped_operators_equal_a_plain_loop() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for (name, compare) in COMPARISONS {
            for len in [0, 1, 2, 100, 9_001] {
                let compared = pool.install(|| compare(&Scanner::cpu(), len).map_err(|error| error.to_string()));
                compared.unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }
}

/// Carry and output by one function, or by two: the same results, in either direction.
#[test]
fn a_stepped_operator_that_advances_equals_one_that_steps_and_emits() {
    let (scanner, x) = (Scanner::cpu(), inputs(9_001));
    let [advanced, stepped] = [scans(&scanner, Advancer, &x), scans(&scanner, Coder, &x)];
    assert!(advanced == stepped);
    assert_eq!(scanner.reduce(Advancer).run(&x).unwrap(), scanner.reduce(Coder).run(&x).unwrap());
}

type Found = (Vec<Wide>, Option<u32>);

fn scans<Op>(scanner: &Scanner, op: Op, x: &[Narrow]) -> Vec<Found>
where
    Op: ScanOp<Input = Narrow, Carry = u32, Output = Wide> + Copy,
{
    let scan = scanner.scan(op);
    let all = [scan.clone(), scan.clone().reverse(), scan.clone().exclusive(), scan.exclusive().reverse()];
    all.map(|scan| scan.with_total().run(x).unwrap()).into()
}

/// Every call whose results are of carries is refused before it runs, on every backend: the planner's answer is the
/// same.
#[test]
fn an_emitter_makes_no_results_of_carries() {
    let scanner = Scanner::cpu();
    let (x, rows) = (inputs(12), Axis::of(&[3, 4], 0).unwrap());
    let mut results = [Wide { a: 0, b: 0 }; 12];
    let exclusive = scanner.scan(Emitter).exclusive();
    let refused = [
        exclusive.run(&x).err(),
        exclusive.clone().init(5).reverse().run_into(&x, &mut results).err(),
        exclusive.along(rows.clone()).run(&x).err(),
        exclusive.rows(3).with_totals().run(&x).err(),
        exclusive.prepare(12).err(),
        exclusive.plan().err(),
        scanner.scan(ops::pair(ops::with_exclusive(Coder), Emitter)).exclusive().run(&x).err(),
        scanner.reduce(Emitter).run(&x).err(),
        scanner.reduce(Emitter).run(&[] as &[Narrow]).err(),
        scanner.reduce(Emitter).rows(3).run(&x).err(),
        scanner.reduce(Emitter).by_offsets(&[0_u32, 0, 12]).run(&x).err(),
        scanner.reduce(Emitter).along(rows.clone()).run(&x).err(),
        scanner.reduce(Emitter).prepare(12).err(),
        scanner.reduce(Emitter).plan().err(),
    ];
    let around = [
        scanner.scan(ops::with_exclusive(Emitter)).run(&x).err(),
        scanner.scan(ops::with_exclusive(Emitter)).along(rows.clone()).run(&x).err(),
        scanner.scan(ops::with_exclusive(Emitter)).plan().err(),
        scanner.scan(ops::skip_nulls(Emitter)).run((&x, &[true; 12])).err(),
        scanner.scan(ops::propagate_nulls(Emitter)).plan().err(),
    ];
    for (index, error) in refused.into_iter().chain(around).enumerate() {
        assert!(matches!(error, Some(Error::Plan(PlanError::NoProject { .. }))), "{index}: {error:?}");
    }
    let error = exclusive.run(&x).unwrap_err().to_string();
    assert_eq!(error, "operator `Emitter` has no `project`: add `project` to scan exclusively or to reduce");

    // The totals are carries, which need none.
    let (output, total) = scanner.scan(Emitter).with_total().run(&x).unwrap();
    assert_eq!((output[0].a, total), (0x1234_5678, scanner.scan(Coder).with_total().run(&x).unwrap().1));
    assert_eq!(scanner.scan(Emitter).along(rows).run(&x).unwrap().len(), 12);
}

/// An emitter whose carry is an output by another name.
struct Renamed;

type Place = u32;

#[scan_op]
impl ScanOp for Renamed {
    type Element = u32;
    type Carry = u32;
    type Output = Place;
    const IDENTITY: u32 = 0;
    const START: u32 = 7;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u32) -> u32 {
        c.wrapping_add(s)
    }
    fn step(c: u32, x: u32) -> u32 {
        c.wrapping_add(x)
    }
    fn emit(c: u32, x: u32) -> Place {
        c.wrapping_mul(x)
    }
}

#[test]
fn a_carry_that_is_an_output_needs_no_project() {
    let scanner = Scanner::cpu();
    assert_eq!(scanner.scan(Renamed).run(&[2, 3]).unwrap(), [14, 27]);
    assert_eq!(scanner.scan(Renamed).exclusive().run(&[2, 3]).unwrap(), [7, 9]);
    assert_eq!(scanner.reduce(Renamed).run(&[2, 3]).unwrap(), 12);
}

/// A reduction by segments gives `project` of a carry, on every device: the kernels whose last results it takes do not
/// emit.
#[test]
fn emitting_reductions_by_segments_are_refused() {
    let spec = ScanSpec::inclusive().with_segments(Segments::Rows);
    for (spec, emits) in [(spec.clone(), true), (spec.projecting(), false)] {
        let plans = plan(&Coder.source(), &spec, &DeviceLimits::H200, &Overrides::default()).unwrap();
        let text = render(&Coder.source(), plans.longest(), plans.device()).unwrap().text;
        assert_eq!(text.contains("op.emit("), emits, "{spec}");
    }
}
