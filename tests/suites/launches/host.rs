//! Calls with host slices.

use scan_runtime::{Error, ScanOp, Table, arrays, ops, scan_op};
use scan_tests::{
    columns::Recurrence,
    operators::{AffineU32, MapU32},
};

use crate::kinds::{FEW, Kinds, MANY, bitmap, bits, flags, floats, keys, lasts, offsets, scanner, zeros};

/// An operator with a parameter and a table.
#[derive(Clone)]
pub(crate) struct Weighted {
    pub(crate) scale: f32,
    pub(crate) weights: Table<f32>,
}

#[scan_op]
impl ScanOp for Weighted {
    type Input = u8;
    type State = f32;
    type Output = f32;
    const IDENTITY: f32 = 0.0;
    fn lift(&self, x: u8) -> f32 {
        self.weights[x as usize]
    }
    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }
    fn project(&self, sum: f32) -> f32 {
        self.scale * sum
    }
}

pub(crate) fn weighted() -> Weighted {
    Weighted { scale: 0.5, weights: (0..256).map(|byte| byte as f32).collect() }
}

/// Pairs of numbers.
pub(crate) fn maps(len: usize) -> Vec<MapU32> {
    (0..len as u32).map(|index| MapU32 { a: 3, b: index }).collect()
}

pub(crate) fn add(kinds: &mut Kinds) {
    slices(kinds);
    segments(kinds);
    reductions(kinds);
}

fn slices(kinds: &mut Kinds) {
    kinds.add("host_run", "sums.run(&input), 1,000 elements", |calls| {
        let (sums, input) = (scanner()?.scan(ops::sum::<f32>()), floats(FEW));
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_run_many", "sums.run(&input), 1,000,000 elements", |calls| {
        let (sums, input) = (scanner()?.scan(ops::sum::<f32>()), floats(MANY));
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_run_into", "sums.run_into(&input, &mut output)", |calls| {
        let (sums, input, mut output) = (scanner()?.scan(ops::sum::<f32>()), floats(FEW), floats(FEW));
        calls.gives(&input, || {
            zeros(&mut output);
            sums.run_into(&input, &mut output).map(|()| output.clone())
        })
    });
    kinds.add("host_run_in_place", "sums.run_in_place(&mut buffer)", |calls| {
        let (sums, mut buffer) = (scanner()?.scan(ops::sum::<f32>()), floats(FEW));
        let input = buffer.clone();
        calls.gives(&input, || sums.run_in_place(&mut buffer).map(|()| buffer.clone()))
    });
    kinds.add("host_run_in_place_many", "sums.run_in_place(&mut buffer), 1,000,000 elements", |calls| {
        let (sums, mut buffer) = (scanner()?.scan(ops::sum::<f32>()), floats(MANY));
        let input = buffer.clone();
        calls.gives(&input, || sums.run_in_place(&mut buffer).map(|()| buffer.clone()))
    });
    kinds.add("host_run_with_total", "sums.with_total().run(&input)", |calls| {
        let (sums, input) = (scanner()?.scan(ops::sum::<f32>()), floats(FEW));
        let expected = (input.clone(), input.last().copied());
        calls.gives(&expected, || sums.with_total().run(&input))
    });
    kinds.add("host_run_with_total_many", "sums.with_total().run(&input), 1,000,000 elements", |calls| {
        let (sums, input) = (scanner()?.scan(ops::sum::<f32>()), floats(MANY));
        let expected = (input.clone(), input.last().copied());
        calls.gives(&expected, || sums.with_total().run(&input))
    });
    kinds.add("host_run_in_place_with_total", "sums.with_total().run_in_place(&mut buffer)", |calls| {
        let (sums, mut buffer) = (scanner()?.scan(ops::sum::<f32>()), floats(FEW));
        let expected = (buffer.clone(), buffer.last().copied());
        calls.gives(&expected, || sums.with_total().run_in_place(&mut buffer).map(|total| (buffer.clone(), total)))
    });
    kinds.add("host_init", "sums.exclusive().init(1.5).run(&input)", |calls| {
        let (sums, input) = (scanner()?.scan(ops::sum::<f32>()), floats(FEW));
        let sums = sums.exclusive().init(1.5);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_reverse", "sums.reverse().run(&input)", |calls| {
        let (sums, input) = (scanner()?.scan(ops::sum::<f32>()), floats(FEW));
        let sums = sums.reverse();
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_struct", "a recurrence of structs, init and run_with_total(&input)", |calls| {
        let (scan, input) = (scanner()?.scan(AffineU32).init(MapU32 { a: 5, b: 7 }), maps(FEW));
        let expected = (input.clone(), input.last().copied());
        calls.gives(&expected, || scan.with_total().run(&input))
    });
    kinds.add("host_table", "an operator with a parameter and a table, run(&input)", |calls| {
        let (scan, input) = (scanner()?.scan(weighted()), vec![3; FEW]);
        calls.twice(|| scan.run(&input))
    });
    kinds.add("host_stepped", "an operator with carries of its own, run_with_total(&input)", |calls| {
        let (scan, input) = (scanner()?.scan(scan_runtime::gallery::automaton::Lexer), vec![b'"'; FEW]);
        let expected = (input.clone(), input.last().copied());
        calls.gives(&expected, || scan.with_total().run(&input))
    });
}

fn segments(kinds: &mut Kinds) {
    kinds.add("host_by_flags", "sums.by_flags(&flags).run(&input)", |calls| {
        let (input, flags) = (floats(FEW), flags(FEW, 70));
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.by_flags(&flags);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_by_flags_many", "sums.by_flags(&flags).run(&input), 1,000,000 elements", |calls| {
        let (input, flags) = (floats(MANY), flags(MANY, 70));
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.by_flags(&flags);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_by_bits", "sums.by_bits(&bits).run(&input)", |calls| {
        let (input, bits) = (floats(FEW), bits(FEW, 70));
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.by_bits(&bits);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_by_bits_at", "sums.by_bits_at(&bytes, 77).run(&input)", |calls| {
        let (input, bytes) = (floats(FEW), bitmap(FEW, 70, 77));
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.by_bits_at(&bytes[..(77 + FEW).div_ceil(8)], 77);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_by_keys", "sums.by_keys(&keys).with_total().run(&input)", |calls| {
        let (input, keys) = (floats(FEW), keys(FEW, 70));
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.by_keys(&keys);
        let expected = (input.clone(), input.last().copied());
        calls.gives(&expected, || sums.clone().with_total().run(&input))
    });
    kinds.add("host_by_offsets", "sums.by_offsets(&offsets).run(&input)", |calls| {
        let (input, offsets) = (floats(FEW), offsets(FEW, 70));
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.by_offsets(&offsets);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_by_offsets_of_64_bits", "sums.by_offsets(&offsets).run(&input)", |calls| {
        let input = floats(FEW);
        let offsets: Vec<usize> = offsets(FEW, 70).into_iter().map(|offset| offset as usize).collect();
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.by_offsets(&offsets);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_rows", "sums.rows(100).run(&input)", |calls| {
        let (sums, input) = (scanner()?.scan(ops::sum::<f32>()), floats(FEW));
        let sums = sums.rows(100);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_rows_each", "sums.rows(100).init_each(&values).with_totals().run(&input)", |calls| {
        let (input, values) = (floats(FEW), floats(FEW / 100));
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.rows(100).init_each(&values);
        let expected = (input.clone(), lasts(&input, 100));
        calls.gives(&expected, || sums.clone().with_totals().run(&input))
    });
    kinds.add("host_rows_totals_in_place", "sums.rows(100).totals_into(…).run_in_place(&mut buffer)", |calls| {
        let (mut buffer, mut totals) = (floats(FEW), floats(FEW / 100));
        let sums = scanner()?.scan(ops::sum::<f32>());
        let expected = (buffer.clone(), lasts(&buffer, 100));
        calls.gives(&expected, || {
            zeros(&mut totals);
            sums.rows(100).totals_into(&mut totals).run_in_place(&mut buffer)?;
            Ok::<_, Error>((buffer.clone(), totals.clone()))
        })
    });
    kinds.add("host_offsets_each", "sums.by_offsets(&offsets).init_each(&values).with_totals().run(&input)", |calls| {
        let (input, offsets) = (floats(FEW), offsets(FEW, 70));
        let values = floats(offsets.len() - 1);
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.by_offsets(&offsets).init_each(&values);
        let expected = (input.clone(), lasts(&input, 70));
        calls.gives(&expected, || sums.clone().with_totals().run(&input))
    });
    kinds.add(
        "host_offsets_totals",
        "sums.by_offsets(&offsets).run_into_with_totals(…), 1,000,000 elements",
        |calls| {
            let (input, mut output, offsets) = (floats(MANY), floats(MANY), offsets(MANY, 70_000));
            let mut totals = floats(offsets.len() - 1);
            let sums = scanner()?.scan(ops::sum::<f32>());
            let expected = (input.clone(), lasts(&input, 70_000));
            calls.gives(&expected, || {
                zeros(&mut output);
                zeros(&mut totals);
                sums.by_offsets(&offsets).totals_into(&mut totals).run_into(&input, &mut output)?;
                Ok::<_, Error>((output.clone(), totals.clone()))
            })
        },
    );
}

fn reductions(kinds: &mut Kinds) {
    kinds.add("host_reduce", "sum.run(&input), 1,000 elements", |calls| {
        let (sum, input) = (scanner()?.reduce(ops::sum::<f32>()), floats(FEW));
        calls.gives(&input[input.len() - 1], || sum.run(&input))
    });
    kinds.add("host_reduce_many", "sum.run(&input), 1,000,000 elements", |calls| {
        let (sum, input) = (scanner()?.reduce(ops::sum::<f32>()), floats(MANY));
        calls.gives(&input[input.len() - 1], || sum.run(&input))
    });
    kinds.add("host_reduce_init", "sum.init(1.5).run(&input)", |calls| {
        let (sum, input) = (scanner()?.reduce(ops::sum::<f32>()), floats(FEW));
        let sum = sum.init(1.5);
        calls.gives(&input[input.len() - 1], || sum.run(&input))
    });
    kinds.add("host_reduce_reversed", "sum.reverse().run(&input); by offsets; a handle", |calls| {
        let (sum, input) = (scanner()?.reduce(ops::sum::<f32>()).reverse(), floats(FEW));
        let offsets = offsets(FEW, 70);
        calls.twice(|| sum.run(&input))?;
        calls.record("by offsets", || sum.by_offsets(&offsets).run(&input))?;
        let (handle, _) = calls.record("prepare", || sum.prepare(FEW))?;
        calls.record("run of the handle", || handle.run(&input))?;
        Ok(())
    });
    kinds.add("host_reduce_by_flags", "sum.by_flags(&flags).run(&input)", |calls| {
        let (input, flags) = (floats(FEW), flags(FEW, 70));
        let sum = scanner()?.reduce(ops::sum::<f32>());
        let sum = sum.by_flags(&flags);
        calls.gives(&lasts(&input, 70), || sum.run(&input))
    });
    kinds.add("host_reduce_by_bits_at", "sum.by_bits_at(&bytes, 77).run(&input)", |calls| {
        let (input, bytes) = (floats(FEW), bitmap(FEW, 70, 77));
        let sum = scanner()?.reduce(ops::sum::<f32>());
        let sum = sum.by_bits_at(&bytes, 77);
        calls.gives(&lasts(&input, 70), || sum.run(&input))
    });
    kinds.add("host_reduce_by_bits", "sum.by_bits(&bits).run(&input)", |calls| {
        let (input, bits) = (floats(FEW), bits(FEW, 70));
        let sum = scanner()?.reduce(ops::sum::<f32>());
        let sum = sum.by_bits(&bits);
        calls.gives(&lasts(&input, 70), || sum.run(&input))
    });
    kinds.add("host_reduce_by_keys", "sum.by_keys(&keys).run(&input)", |calls| {
        let (input, keys) = (floats(FEW), keys(FEW, 70));
        let sum = scanner()?.reduce(ops::sum::<f32>());
        let sum = sum.by_keys(&keys);
        calls.gives(&lasts(&input, 70), || sum.run(&input))
    });
    kinds.add("host_reduce_by_offsets", "sum.by_offsets(&offsets).run(&input)", |calls| {
        let (input, offsets) = (floats(FEW), offsets(FEW, 70));
        let sum = scanner()?.reduce(ops::sum::<f32>());
        let sum = sum.by_offsets(&offsets);
        calls.gives(&lasts(&input, 70), || sum.run(&input))
    });
    kinds.add("host_reduce_rows", "sum.rows(100).run(&input)", |calls| {
        let (sum, input) = (scanner()?.reduce(ops::sum::<f32>()), floats(FEW));
        let sum = sum.rows(100);
        calls.gives(&lasts(&input, 100), || sum.run(&input))
    });
    kinds.add("host_reduce_rows_of_indices", "layer.rows(100).run((arrays::indices(), &tokens))", |calls| {
        let (layer, tokens) = (scanner()?.reduce(Recurrence), vec![1_u32; FEW]);
        calls.twice(|| layer.rows(100).run((arrays::indices(), &tokens)))
    });
    kinds.add("host_reduce_rows_each", "sum.rows(100).init_each(&values).run(&input)", |calls| {
        let (input, values) = (floats(FEW), floats(FEW / 100));
        let sum = scanner()?.reduce(ops::sum::<f32>());
        let sum = sum.rows(100).init_each(&values);
        calls.gives(&lasts(&input, 100), || sum.run(&input))
    });
}
