//! Every operator, every way to scan: the GPU's bits are the plain loop's.

use std::sync::Arc;

use scan_runtime::{ScanElement, cudarc::driver::CudaStream};
use scan_tests::{
    configure,
    operators::{TestOperator, Visitor, bits, first_difference, inputs},
    reference::{self, WAYS},
};

use crate::{Outcome, Trials, ensure, older::scanner};

impl Visitor for Trials {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        self.add(format!("lengths_{name}"), lengths::<Op>);
        self.add(format!("levels_{name}"), levels::<Op>);
        self.add(format!("large_{name}"), large::<Op>);
        self.add(format!("views_{name}"), views::<Op>);
    }
}

fn compare<Op: TestOperator>(lengths: &[usize], threads: Option<u32>) -> Outcome {
    let scanner = scanner()?;
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let input = inputs::<Op>(longest);
    for way in WAYS {
        let scan = configure::<Op>(&scanner, way);
        let scan = match threads {
            Some(threads) => scan.threads(threads),
            None => scan,
        };
        // A prefix of the scan is the scan of the prefix.
        let expected = reference::scan(&Op::new(), way.0, way.1.then(Op::initial_value), &input);
        for &len in lengths {
            let wrong = first_difference(&scan.run(&input[..len])?, &expected[..len]);
            ensure(wrong.is_none(), || format!("{way:?}, length {len}: wrong from {wrong:?} on"))?;
        }
    }
    Ok(())
}

fn lengths<Op: TestOperator>() -> Outcome {
    let scanner = scanner()?;
    let tile = scanner.scan(Op::new()).plan()?.shortest().tile as usize;
    compare::<Op>(
        &[0, 1, 2, 3, 31, 32, 33, 1_019, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1, 4_101],
        None,
    )
}

/// Small blocks, so that the aggregates outgrow a block, and theirs too, at lengths that the sanitizer can bear.
fn levels<Op: TestOperator>() -> Outcome {
    compare::<Op>(&[1_023, 1_024, 1_025, 2_049, 32_767, 32_768, 32_769, 33_000], Some(32))
}

fn large<Op: TestOperator>() -> Outcome {
    let mut lengths = vec![65_537, 786_437, 1_048_577];
    // Where one plan takes over from another.
    for plan in scanner()?.scan(Op::new()).plan()?.longer() {
        let from = usize::try_from(plan.from)?;
        lengths.extend([from - 1, from, from + plan.tile as usize].into_iter().filter(|&len| len < 1_500_000));
    }
    lengths.sort_unstable();
    if size_of::<Op::Item>() <= 16 {
        lengths.push(8_388_611);
    }
    compare::<Op>(&lengths, None)
}

/// Views that begin in the middle of a buffer, on a stream of the user's: nothing around the output is touched, all of the
/// output is written, and in place gives the same.
fn views<Op: TestOperator>() -> Outcome {
    let scanner = scanner()?;
    let context = scanner.context().ok_or("no context")?;
    let stream = context.new_stream()?;
    const GUARD: usize = 64;
    for (offset, len) in [(0, 1_000), (1, 1_024), (3, 1_025), (7, 2_500), (5, 40_001), (1, 0)] {
        let input = inputs::<Op>(offset + len);
        let poison = vec![Op::initial_value(); GUARD + offset + len + GUARD];
        for way in WAYS {
            let scan = configure::<Op>(&scanner, way);
            let expected = reference::scan(&Op::new(), way.0, way.1.then(Op::initial_value), &input[offset..]);
            let device_input = stream.clone_htod(&input)?;
            let mut device_output = stream.clone_htod(&poison)?;
            let first = GUARD + offset;
            scan.on(&stream)
                .run_into(&device_input.slice(offset..), &mut device_output.slice_mut(first..first + len))?;
            check_around(&stream, &device_output, first, &expected, &poison, "into")?;
            ensure(bits(&stream.clone_dtoh(&device_input)?) == bits(&input), || "the input changed".to_owned())?;

            let mut buffer = poison.clone();
            buffer[first..first + len].copy_from_slice(&input[offset..]);
            let mut device_buffer = stream.clone_htod(&buffer)?;
            scan.on(&stream).run_in_place(&mut device_buffer.slice_mut(first..first + len))?;
            check_around(&stream, &device_buffer, first, &expected, &poison, "in place")?;

            if len > 0 {
                let output = scan.on(&stream).run(&device_input.slice(offset..))?;
                ensure(bits(&stream.clone_dtoh(&output)?) == bits(&expected), || format!("{way:?}, new output"))?;
            }
        }
    }
    Ok(())
}

fn check_around<T: ScanElement>(
    stream: &Arc<CudaStream>,
    buffer: &scan_runtime::cudarc::driver::CudaSlice<T>,
    first: usize,
    expected: &[T],
    poison: &[T],
    what: &str,
) -> Outcome {
    let mut whole = poison.to_vec();
    stream.memcpy_dtoh(buffer, &mut whole)?;
    stream.synchronize()?;
    let end = first + expected.len();
    ensure(bits(&whole[..first]) == bits(&poison[..first]), || format!("{what}: wrote before the output"))?;
    ensure(bits(&whole[end..]) == bits(&poison[end..]), || format!("{what}: wrote after the output"))?;
    ensure(bits(&whole[first..end]) == bits(expected), || format!("{what}, offset {first}, length {}", expected.len()))
}
