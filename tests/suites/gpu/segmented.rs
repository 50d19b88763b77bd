//! Scans that restart, with every strategy: the patterns of heads that the emulator runs, and longer ones.

use std::sync::Arc;

use scan_runtime::{Carry, Strategy, TileNumbers, cudarc::driver::CudaStream, ops};
use scan_tests::{
    configure,
    operators::{MatrixProduct, PolynomialHash, TestOperator, first_difference, inputs},
    reference::{self, WAYS},
    restart,
    segments::{HEAD_SOURCES, Heads, PATTERNS, Restart, begins, places},
    strategies::{self, LOOK_AHEAD},
};

use crate::{Outcome, Trials, ensure, older::scanner};

/// What a test of one operator needs: where segments begin, and the inputs for that.
type Inputs<Op> = fn(&[bool]) -> Vec<<Op as TestOperator>::Item>;

pub(crate) fn add(trials: &mut Trials) {
    let can_have: Vec<_> = strategies::all_segmented().filter(|&strategy| trials.can_have(strategy)).collect();
    for (index, strategy) in can_have.into_iter().enumerate() {
        trials.add(format!("segmented: {strategy}"), move || {
            let rung = Rung { index, strategy, threads: Some(32) };
            climb::<Restart>(rung, 9, &[1, 2, 31, 33, 64, 65, 1_019], places)?;
            climb::<PolynomialHash>(rung, 3, &[65, 1_025], |begins| inputs::<PolynomialHash>(begins.len()))?;
            match strategies::takes_small_elements_only(strategy) {
                true => climb::<MatrixProduct<4>>(rung, 1, &[200], |begins| inputs::<MatrixProduct<4>>(begins.len())),
                false => climb::<MatrixProduct<8>>(rung, 1, &[200], |begins| inputs::<MatrixProduct<8>>(begins.len())),
            }
        });
        trials.add(format!("large segmented: {strategy}"), move || {
            let rung = Rung { index, strategy, threads: None };
            let longest: &[usize] = match strategy.carry {
                Carry::Chained(TileNumbers::BlockIndex) => &[10_000],
                _ => &[65_537, 1_048_577],
            };
            climb::<Restart>(rung, 3, longest, places)?;
            climb::<ops::Sum<u8>>(rung, 3, longest, |begins| inputs::<ops::Sum<u8>>(begins.len()))
        });
    }
    for (name, strategy) in [("segmented_views", None), ("segmented_views_look_ahead", Some(LOOK_AHEAD))] {
        if strategy.is_some_and(|strategy| !trials.can_have(strategy)) {
            continue;
        }
        trials.add(name.to_owned(), move || {
            views::<Restart>(strategy, places)?;
            views::<PolynomialHash>(strategy, |begins| inputs::<PolynomialHash>(begins.len()))
        });
    }
    // Several rounds of the grid, by name and by default.
    for (name, strategy) in [("by default", None), ("look-ahead", Some(LOOK_AHEAD))] {
        if strategy.is_some_and(|strategy| !trials.can_have(strategy)) {
            continue;
        }
        trials.add(format!("large segmented, long: {name}"), move || {
            long::<ops::Sum<u8>>(strategy, 20_000_003, |begins| inputs::<ops::Sum<u8>>(begins.len()))?;
            long::<ops::Sum<f32>>(strategy, 20_000_003, |begins| inputs::<ops::Sum<f32>>(begins.len()))?;
            long::<PolynomialHash>(strategy, 20_000_003, |begins| inputs::<PolynomialHash>(begins.len()))?;
            long::<Restart>(strategy, 5_000_003, places)?;
            long::<MatrixProduct<5>>(strategy, 300_007, |begins| inputs::<MatrixProduct<5>>(begins.len()))
        });
    }
    trials.add("segmented_by_bits_of_every_word", bits_of_every_word);
    trials.add("segmented_inputs_of_another_length_are_refused", || {
        let scanner = scanner()?;
        let context = scanner.context().ok_or("no context")?;
        let stream = context.new_stream()?;
        let (flags, input) = (stream.clone_htod(&[1_u8; 5])?, stream.clone_htod(&[1_i32; 6])?);
        let result = scanner.scan(ops::sum()).on(&stream).by_flags(&flags).run(&input);
        ensure(matches!(result, Err(scan_runtime::Error::Length { found: 5, expected: 6, .. })), || {
            "five flags for six elements".to_owned()
        })
    });
}

/// Bits in bytes and words of 64 bits, from any bit on in host memory, and from a multiple of 32 on in device memory.
fn bits_of_every_word() -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, len) in [1, 40, 4_097, 1_500_007].into_iter().enumerate() {
        for first in [0, 1, 31, 64, 96] {
            let begins: Vec<bool> = (0..len).map(|i| i % (3 + 50 * turn) == 2).collect();
            let input: Vec<u32> = (0..len as u32).collect();
            let expected = reference::scan_segments(&ops::sum::<u32>(), WAYS[0].0, None, &input, &begins);
            let mut words = vec![u64::MAX; (first + len).div_ceil(64) + 1];
            for (bit, begins) in (first..).zip(&begins).filter(|(_, begins)| !**begins) {
                words[bit / 64] &= !(u64::from(!begins) << (bit % 64));
            }
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let sums = scanner.scan(ops::sum::<u32>());
            let what = |what: &str| format!("{what}, {len} elements, from bit {first} on");
            same(&sums.by_bits_at(&words, first).run(&input)?, &expected, || what("words"))?;
            let fewest = &bytes[..(first + len).div_ceil(8)];
            same(&sums.by_bits_at(fewest, first).run(&input)?, &expected, || what("bytes"))?;
            let (words, bytes, input) =
                (stream.clone_htod(&words)?, stream.clone_htod(&bytes)?, stream.clone_htod(&input)?);
            let found = sums.on(&stream).by_bits_at(&words, first).run(&input);
            if !first.is_multiple_of(32) {
                ensure(matches!(found, Err(scan_runtime::Error::HeadBitsAlignment { .. })), || what("not refused"))?;
                continue;
            }
            same(&stream.clone_dtoh(&found?)?, &expected, || what("words on the device"))?;
            let found = sums.on(&stream).by_bits_at(&bytes, first).run(&input)?;
            same(&stream.clone_dtoh(&found)?, &expected, || what("bytes on the device"))?;
        }
    }
    Ok(())
}

/// Every head_source, at one length that no tile divides, with patterns and ways to scan in turn.
fn long<Op: TestOperator>(strategy: Option<Strategy>, len: usize, input: Inputs<Op>) -> Outcome {
    let scanner = scanner()?;
    for head_source in 0..HEAD_SOURCES {
        let way = WAYS[head_source % WAYS.len()];
        let scan = configure::<Op>(&scanner, way);
        let scan = || match strategy {
            Some(strategy) => scan.clone().strategy(strategy),
            None => scan.clone(),
        };
        let pattern = PATTERNS[head_source * 5 % PATTERNS.len()];
        let begins = begins(pattern, len, scan().plan()?.for_len(len as u64).tile as usize);
        let input = input(&begins);
        let heads = Heads::new(head_source, &begins);
        let expected = reference::scan_segments(&Op::new(), way.0, way.1.then(Op::initial_value), &input, &begins);
        let result = heads.of(&scan()).run(&input)?;
        same(&result, &expected, || format!("{way:?}, head_source {head_source}, length {len}, heads {}", pattern.0))?;
    }
    Ok(())
}

/// A strategy, and its place among all.
#[derive(Clone, Copy)]
struct Rung {
    index: usize,
    strategy: Strategy,
    threads: Option<u32>,
}

/// Host slices: every pattern at every length. Each way to scan and to tell where segments begin wants kernels of its own,
/// so a strategy goes only one way, which is another for the next one, and so many head_sources.
fn climb<Op: TestOperator>(rung: Rung, head_sources: usize, lengths: &[usize], input: Inputs<Op>) -> Outcome {
    let scanner = scanner()?;
    let way = WAYS[rung.index % WAYS.len()];
    let scan = || {
        let scan = configure::<Op>(&scanner, way).strategy(rung.strategy);
        match rung.threads {
            Some(threads) => scan.threads(threads),
            None => scan,
        }
    };
    let tile = scan().plan()?.longest().tile as usize;
    let mut run = 0;
    for &len in lengths {
        for pattern in PATTERNS {
            run += 1;
            let begins = begins(pattern, len, tile);
            let input = input(&begins);
            let heads = Heads::new(rung.index * head_sources + run % head_sources, &begins);
            let expected = reference::scan_segments(&Op::new(), way.0, way.1.then(Op::initial_value), &input, &begins);
            let result = heads.of(&scan()).run(&input)?;
            same(&result, &expected, || format!("{way:?}, length {len}, heads {}", pattern.0))?;
        }
    }
    Ok(())
}

fn same<T: scan_runtime::ScanElement>(result: &[T], expected: &[T], what: impl Fn() -> String) -> Outcome {
    let wrong = first_difference(result, expected);
    ensure(wrong.is_none(), || format!("{}: wrong from {wrong:?} on", what()))
}

/// Device slices and views that begin in the middle of a buffer, on a stream of the user's: into a view, in place, and into a
/// new slice. Nothing around the output is touched.
fn views<Op: TestOperator>(strategy: Option<Strategy>, input: Inputs<Op>) -> Outcome {
    let scanner = scanner()?;
    let context = scanner.context().ok_or("no context")?;
    let stream: Arc<CudaStream> = context.new_stream()?;
    let mut run = 0;
    for (offset, len) in [(0, 1_000), (1, 1_024), (3, 5_001), (7, 70_001), (1, 0)] {
        for pattern in PATTERNS {
            run += 1;
            let way = WAYS[run % WAYS.len()];
            let scan = configure::<Op>(&scanner, way);
            let scan = match strategy {
                Some(strategy) => scan.strategy(strategy),
                None => scan,
            };
            let begins = begins(pattern, len, scan.plan()?.for_len(len as u64).tile as usize);
            let heads = Heads::new(run, &begins);
            let input = input(&begins);
            let expected = reference::scan_segments(&Op::new(), way.0, way.1.then(Op::initial_value), &input, &begins);
            let what = |how: &str| format!("{how}, {way:?}, offset {offset}, length {len}, heads {}", pattern.0);

            let poison = vec![Op::initial_value(); offset + len + 64];
            let mut buffer = poison.clone();
            buffer[offset..offset + len].copy_from_slice(&input);
            let mut whole = poison.clone();
            whole[offset..offset + len].copy_from_slice(&expected);

            let mut device_buffer = stream.clone_htod(&buffer)?;
            let mut device_output = stream.clone_htod(&poison)?;
            let view = offset..offset + len;
            let scan_on = || scan.on(&stream);
            restart!(scan_on(), heads, |vector| on_device(&stream, vector)?, |scan| {
                scan.run_into(&device_buffer.slice(view.clone()), &mut device_output.slice_mut(view.clone()))?;
                same(&stream.clone_dtoh(&device_output)?, &whole, || what("into a view"))?;
                if len > 0 {
                    let output = scan.run(&device_buffer.slice(view.clone()))?;
                    same(&stream.clone_dtoh(&output)?, &expected, || what("into a new slice"))?;
                }
                scan.run_in_place(&mut device_buffer.slice_mut(view.clone()))?;
                same(&stream.clone_dtoh(&device_buffer)?, &whole, || what("in place"))?;
            });
        }
    }
    Ok(())
}

/// A slice of no bytes cannot be allocated.
fn on_device<T: scan_runtime::ScanElement>(
    stream: &Arc<CudaStream>,
    items: &[T],
) -> Result<scan_runtime::cudarc::driver::CudaSlice<T>, scan_runtime::cudarc::driver::DriverError> {
    if items.is_empty() { stream.null() } else { stream.clone_htod(items) }
}
