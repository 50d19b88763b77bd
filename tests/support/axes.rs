//! Arrays that are scanned along an axis: their elements, and scans of host memory beside a plain loop.

use scan_codegen::{Axis, ScanKind, ScanSpec};
use scan_runtime::{Error, Scan, Scanner};

use crate::{
    configure,
    operators::{TestOperator, first_difference, mixed},
    reference,
};

/// The elements of an array. Those of a column follow each other. Columns are so many elements apart.
pub fn elements<T: Copy>(axis: &Axis, apart: u64, element: impl Fn(u64) -> T) -> Vec<T> {
    let mut input: Vec<T> = (0..axis.input_len() as u64).map(|gap| element((1 << 50) | (3 * gap))).collect();
    let place = reference::places(axis, axis.both_strides().0);
    for (number, column) in reference::columns(axis).iter().enumerate() {
        for row in 0..axis.shape()[axis.axis()] {
            input[place(column, row)] = element(number as u64 * apart + row as u64);
        }
    }
    input
}

/// A scan with an operator, its array and the results of a plain loop.
pub struct Case<Op: TestOperator> {
    /// The scan.
    pub scan: Scan<Op>,
    /// The axis.
    pub axis: Axis,
    /// The elements.
    pub input: Vec<Op::Item>,
    /// The results; elements between them.
    pub expected: Vec<Op::Item>,
}

impl<Op: TestOperator> Case<Op> {
    /// A scan in one of the ways of [`WAYS`](reference::WAYS), from the first row or from the last.
    pub fn new(scanner: &Scanner, axis: Axis, (kind, with_initial_value): (ScanKind, bool), reversed: bool) -> Self {
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let scan = configure::<Op>(scanner, (kind, with_initial_value));
        let (scan, spec) = if reversed { (scan.reverse(), spec.reverse()) } else { (scan, spec) };
        let input = elements(&axis, 1 << 20, Op::input);
        let mut expected = between::<Op>(&axis);
        let initial_value = with_initial_value.then(Op::initial_value);
        reference::scan_axis(&Op::new(), &spec, initial_value, &axis, &input, &mut expected);
        Case { scan, axis, input, expected }
    }

    /// The memory of the results before there are any.
    pub fn between(&self) -> Vec<Op::Item> {
        between::<Op>(&self.axis)
    }

    /// What is wrong with results.
    pub fn fault(&self, found: &[Op::Item]) -> Option<String> {
        let wrong = first_difference(found, &self.expected)?;
        Some(format!("{:?}: wrong from {wrong} on", self.axis))
    }

    /// What is wrong with the results of host memory: new, in memory that is there, and in place.
    ///
    /// # Errors
    ///
    /// Those of the scans.
    pub fn fault_on_host(&self) -> Result<Option<String>, Error> {
        let scan = self.scan.along(self.axis.clone());
        let mut faults = Vec::new();
        if self.axis.output_len() == self.axis.len() {
            faults.push(self.fault(&scan.run(&self.input)?));
        }
        let mut output = self.between();
        scan.run_into(&self.input, &mut output)?;
        faults.push(self.fault(&output));
        if self.axis.lies_the_same() && self.axis.output_len() == self.axis.len() {
            let mut buffer = self.input.clone();
            scan.run_in_place(&mut buffer)?;
            faults.push(self.fault(&buffer));
        }
        Ok(faults.into_iter().flatten().next())
    }
}

fn between<Op: TestOperator>(axis: &Axis) -> Vec<Op::Item> {
    (0..axis.output_len() as u64).map(|gap| Op::input(7 * gap)).collect()
}

/// A shape, an axis, and the strides of input and output.
///
/// # Panics
///
/// If there is no such array.
pub fn strided(shape: &[usize], axis: usize, input: &[isize], output: &[isize]) -> Axis {
    let axis = Axis::of(shape, axis).and_then(|axis| axis.input_strides(input)?.output_strides(output));
    axis.expect("an array")
}

/// Arrays that are not contiguous: padded rows, transposed, every second column, of many dimensions; with more columns
/// than a warp or a register has lanes; whose results lie apart, or elements, where the others do not; inverted along
/// the axis and along others, on either side and alike on both.
pub fn not_contiguous() -> Vec<Axis> {
    vec![
        strided(&[70, 6], 0, &[8, 1], &[8, 1]),
        strided(&[70, 6], 0, &[7, 1], &[7, 1]),
        strided(&[70, 6], 0, &[13, 2], &[13, 2]),
        strided(&[70, 6], 0, &[1, 70], &[1, 70]),
        strided(&[70, 6], 0, &[1, 70], &[6, 1]),
        strided(&[70, 6], 0, &[8, 1], &[1, 70]),
        strided(&[50, 40], 0, &[1, 50], &[40, 1]),
        strided(&[9, 35], 0, &[40, 1], &[1, 9]),
        strided(&[3, 33, 4, 2], 1, &[1, 24, 6, 3], &[264, 8, 2, 1]),
        strided(&[2, 2, 2, 37, 2, 1, 2, 2], 3, &[1184, 592, 296, 8, 4, 4, 2, 1], &[1184, 592, 296, 8, 4, 4, 2, 1]),
        strided(&[35, 70], 0, &[1, 35], &[71, 1]),
        strided(&[35, 70], 0, &[70, 1], &[1, 36]),
        strided(&[35, 70], 0, &[141, 2], &[213, 3]),
        strided(&[2, 9, 37], 1, &[333, 37, 1], &[666, 74, 2]),
        strided(&[2, 9, 37], 1, &[500, 50, 1], &[1, 74, 2]),
        strided(&[40], 0, &[1], &[3]),
        strided(&[40], 0, &[3], &[1]),
        strided(&[5, 40], 1, &[40, 1], &[41, 1]),
        strided(&[5, 40], 1, &[80, 2], &[40, 1]),
        strided(&[5, 40], 1, &[40, 1], &[80, 2]),
        strided(&[70, 6], 0, &[-6, 1], &[-6, 1]),
        strided(&[70, 6], 0, &[6, -1], &[6, -1]),
        strided(&[70, 6], 0, &[-8, -1], &[-8, -1]),
        strided(&[70, 8], 0, &[-8, 1], &[8, 1]),
        strided(&[70, 8], 0, &[8, 1], &[-8, 1]),
        strided(&[70, 6], 0, &[6, -1], &[-1, 71]),
        strided(&[40], 0, &[-1], &[-1]),
        strided(&[40], 0, &[3], &[-1]),
        strided(&[5, 40], 1, &[-40, 1], &[40, -1]),
        strided(&[5, 40], 1, &[41, -1], &[-40, 1]),
        strided(&[4, 35, 16], 1, &[-560, 16, 1], &[-576, -16, 1]),
        strided(&[3, 33, 4, 2], 1, &[-1, 24, -6, 3], &[264, -8, 2, -1]),
        strided(&[3, 33, 4, 2], 1, &[264, 8, -2, -1], &[264, 8, -2, -1]),
    ]
}

/// An array of up to four dimensions that a seed draws: in any order of the dimensions, with gaps or without, and with any
/// of them inverted, on either side; every third one lies alike on both.
///
/// # Panics
///
/// If there is no such array.
pub fn drawn(seed: u64) -> Axis {
    let mut count = seed << 32;
    let mut below = |end: u64| {
        count += 1;
        mixed(count) % end
    };
    let dimensions = 1 + below(4) as usize;
    let axis = below(dimensions as u64) as usize;
    let shape: Vec<usize> = (0..dimensions).map(|k| 1 + below(if k == axis { 40 } else { 6 }) as usize).collect();
    let mut strides = |with_gaps: bool| {
        let (mut order, mut strides, mut reach) = ((0..dimensions).collect::<Vec<_>>(), vec![0; dimensions], 0);
        order.sort_by_key(|_| below(1 << 20));
        for dimension in order {
            let gap = if with_gaps && below(3) == 0 { 1 + below(3) as usize } else { 0 };
            let stride = (reach + 1 + gap) as isize;
            strides[dimension] = if below(2) == 0 { stride } else { -stride };
            reach += (reach + 1 + gap) * (shape[dimension] - 1);
        }
        strides
    };
    let (input, output) = (strides(seed.is_multiple_of(2)), strides(seed.is_multiple_of(4)));
    strided(&shape, axis, &input, if seed % 3 == 1 { &input } else { &output })
}

/// What is wrong with a reduction of each column of an array from either end: alone, with an initial value, and with
/// one for each.
///
/// # Errors
///
/// Those of the reductions.
pub fn fault_of_reductions<Op: TestOperator>(scanner: &Scanner, axis: &Axis) -> Result<Option<String>, Error> {
    for reversed in [false, true] {
        let fault = fault_of_reductions_from::<Op>(scanner, axis, reversed)?;
        if fault.is_some() {
            return Ok(fault.map(|fault| format!("{fault}, reversed: {reversed}")));
        }
    }
    Ok(None)
}

fn fault_of_reductions_from<Op: TestOperator>(
    scanner: &Scanner,
    axis: &Axis,
    reversed: bool,
) -> Result<Option<String>, Error> {
    let input = elements(axis, 1 << 20, Op::input);
    let place = reference::places(axis, axis.both_strides().0);
    let column = |index: Vec<usize>| -> Vec<Op::Item> {
        (0..axis.shape()[axis.axis()]).map(|row| input[place(&index, row)]).collect()
    };
    let columns: Vec<_> = reference::columns(axis).into_iter().map(column).collect();
    let values: Vec<Op::Item> = (0..columns.len() as u64).map(|column| Op::input(5 * column + 3)).collect();
    let reduce = scanner.reduce(Op::new());
    let reduce = if reversed { reduce.reverse() } else { reduce };
    let (one, each) = (reduce.clone().init(Op::initial_value()), reduce.along(axis.clone()).init_each(&values));
    let ways = [("alone", reduce.along(axis.clone())), ("from one", one.along(axis.clone())), ("from each", each)];
    for (way, reduce) in ways {
        let expected = columns.iter().zip(&values).map(|(column, value)| {
            let initial = match way {
                "alone" => None,
                "from one" => Some(Op::initial_value()),
                _ => Some(*value),
            };
            let total = match reversed {
                false => reference::total(&Op::new(), initial, column),
                true => {
                    initial.into_iter().chain(column.iter().rev().copied()).reduce(|sum, x| Op::new().combine(x, sum))
                }
            };
            total.or_else(|| Op::new().identity())
        });
        let Some(expected) = expected.collect::<Option<Vec<_>>>() else { continue };
        if let Some(wrong) = first_difference(&reduce.run(&input)?, &expected) {
            return Ok(Some(format!("{axis:?}, {way}: wrong from {wrong} on")));
        }
    }
    Ok(None)
}
