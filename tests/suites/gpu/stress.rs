//! A thousand runs on two streams at once, while another process keeps the device busy; kernels that wait for a while that
//! looks random around all that threads tell each other; and look-ahead with so few blocks that each fills its stages many times.

use std::{
    any::type_name,
    error::Error,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use scan_codegen::Overrides;
use scan_runtime::{
    BlockScan, Carry, Network, Scan, Scanner, Strategy, TileNumbers,
    cudarc::driver::{CudaSlice, CudaStream},
    ops,
};
use scan_tests::{
    configure,
    operators::{Interval, MatrixProduct, PolynomialHash, TestOperator, first_difference, inputs},
    reference::{self, WAYS},
    segments::{HEAD_SOURCES, Heads, PATTERNS, Restart, begins, places},
    strategies::LOOK_AHEAD,
};

use crate::{Outcome, Trials, cases::Case, ensure};

/// Set for the process that keeps the device busy.
const LOAD: &str = "SCAN_TESTS_LOAD";

/// Runs of each of the four operators, on each of the two streams, with each way to carry.
const RUNS: usize = 250;

/// The same of kernels that wait at random, which take longer.
const RUNS_WITH_DELAYS: usize = 20;

pub(crate) fn add(trials: &mut Trials) {
    trials.add("large_a_thousand_runs_beside_another_process", || {
        let load = Load::begin()?;
        for carry in [Carry::LookBack, Carry::LookAhead] {
            let stress = Stress { block: BlockScan::coarsened(Network::WarpShuffle), carry, delays: false, runs: RUNS };
            stress.operators()?;
        }
        load.end()
    });
    // Short, so that the sanitizer sees stages that are filled again.
    trials.add("many_iterations_of_look_ahead", || {
        rounds::<Interval>(short_rounds())?;
        rounds::<ops::Sum<u8>>(short_rounds())?;
        rounds::<MatrixProduct<3>>(short_rounds())
    });
    trials.add("many_iterations_of_groups: look-ahead", || {
        rounds::<Interval>(short_rounds_of_groups())?;
        rounds::<MatrixProduct<5>>(short_rounds_of_groups())
    });
    for head_source in [0, 7] {
        trials.add(format!("many_iterations_of_segmented_groups: look-ahead, {head_source}"), move || {
            segmented_rounds::<Restart>(head_source, short_rounds_of_groups(), places)
        });
    }
    for head_source in 0..HEAD_SOURCES {
        trials.add(format!("many_iterations_of_segmented_look_ahead: {head_source}"), move || {
            segmented_rounds::<Restart>(head_source, short_rounds(), places)?;
            segmented_rounds::<ops::Sum<u8>>(head_source, short_rounds(), |begins| inputs::<ops::Sum<u8>>(begins.len()))
        });
    }
    let (runs, in_registers) = (RUNS_WITH_DELAYS, BlockScan::in_registers());
    let shared = BlockScan::coarsened(Network::WarpShuffle);
    for (block, carry) in [
        (shared, Carry::Chained(TileNumbers::BlockIndex)),
        (shared, Carry::Chained(TileNumbers::Counter)),
        (shared, Carry::LookBack),
        (shared, Carry::LookAhead),
        (in_registers, Carry::LookBack),
        (in_registers, Carry::LookAtAll),
    ] {
        let stress = Stress { block, carry, delays: true, runs };
        let name = Strategy { block, carry };
        trials.add(format!("large_random_delays: {name}"), move || stress.operators());
    }
}

/// What runs again and again.
#[derive(Clone, Copy)]
struct Stress {
    block: BlockScan,
    carry: Carry,
    /// Whether the kernels wait for a while that looks random around all that threads tell each other.
    delays: bool,
    runs: usize,
}

impl Stress {
    fn operators(self) -> Outcome {
        runs::<ops::Sum<u8>>(self)?;
        runs::<ops::Sum<i32>>(self)?;
        runs::<PolynomialHash>(self)?;
        runs::<Interval>(self)
    }
}

/// If this process is the one that keeps the device busy: does so until it is killed. Returns only if it cannot.
pub(crate) fn keep_busy_if_asked() -> Option<Box<dyn Error>> {
    std::env::var_os(LOAD)?;
    let keep_busy = || -> Result<(), Box<dyn Error>> {
        let scanner = Scanner::cuda(0)?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let mut buffer = stream.clone_htod(&vec![1_u32; 1 << 25])?;
        loop {
            for _ in 0..20 {
                scanner.scan(ops::sum()).on(&stream).run_in_place(&mut buffer)?;
            }
            stream.synchronize()?;
        }
    };
    keep_busy().err()
}

/// The process that keeps the device busy; killed when this goes.
struct Load(Child);

impl Load {
    fn begin() -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        Ok(Load(command.env(LOAD, "1").stdout(Stdio::null()).spawn()?))
    }

    /// An error if it ended on its own, and so did not keep the device busy.
    fn end(mut self) -> Outcome {
        match self.0.try_wait()? {
            Some(status) => Err(format!("the process that was to keep the device busy ended: {status}").into()),
            None => Ok(()),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Look-ahead with two blocks and short tiles.
fn short_rounds() -> Overrides {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(LOOK_AHEAD);
    (overrides.threads, overrides.run, overrides.teams) = (Some(64), Some(12), Some(2));
    (overrides.stages, overrides.blocks) = (Some(5), Some(2));
    overrides
}

/// Two groups of blocks, and one that has fewer.
fn short_rounds_of_groups() -> Overrides {
    let mut overrides = short_rounds();
    (overrides.threads, overrides.run) = (Some(32), Some(3));
    (overrides.blocks, overrides.group) = (Some(8), Some(3));
    overrides
}

/// Views that begin anywhere, and whole slices, apart and in place.
fn rounds<Op: TestOperator>(overrides: Overrides) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let case = Case::<Op>::shared();
    for (way, before) in [(0, (0, 0)), (1, (1, 1)), (2, (1, 0)), (3, (0, 3))] {
        let scan = configure::<Op>(&scanner, WAYS[way]).overrides(overrides);
        let len = 45 * scan.plan()?.longest().tile as usize + 7;
        let mut padded = vec![Op::initial_value(); before.0];
        padded.extend_from_slice(case.input(len));
        let mut input = stream.clone_htod(&padded)?;
        let mut output = stream.clone_htod(case.input(len + before.1))?;
        scan.on(&stream).run_into(&input.slice(before.0..), &mut output.slice_mut(before.1..))?;
        let output = stream.clone_dtoh(&output.slice(before.1..))?;
        scan.on(&stream).run_in_place(&mut input.slice_mut(before.0..))?;
        let in_place = stream.clone_dtoh(&input.slice(before.0..))?;
        for (found, how) in [(output, "apart"), (in_place, "in place")] {
            let wrong = first_difference(&found, case.expected(way, len));
            ensure(wrong.is_none(), || {
                format!("{}, {how}, {:?}, from {before:?}: wrong from {wrong:?} on", type_name::<Op>(), WAYS[way])
            })?;
        }
    }
    Ok(())
}

/// Segments told in one way, with each pattern of heads.
fn segmented_rounds<Op: TestOperator>(
    head_source: usize,
    overrides: Overrides,
    input: fn(&[bool]) -> Vec<Op::Item>,
) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let way = WAYS[head_source % WAYS.len()];
    let scan = configure::<Op>(&scanner, way).overrides(overrides);
    let tile = (overrides.threads.unwrap_or_default() * overrides.run.unwrap_or_default()) as usize;
    for (pattern, len) in PATTERNS.into_iter().zip([45 * tile + 7, 12 * tile].into_iter().cycle()) {
        let begins = begins(pattern, len, tile);
        let input = input(&begins);
        let heads = Heads::new(head_source, &begins);
        let expected = reference::scan_segments(&Op::new(), way.0, way.1.then(Op::initial_value), &input, &begins);
        let found = heads.of(&scan).run(&input)?;
        let wrong = first_difference(&found, &expected);
        ensure(wrong.is_none(), || {
            format!("{}, {way:?}, {len} elements, heads {}: wrong from {wrong:?} on", type_name::<Op>(), pattern.0)
        })?;
    }
    Ok(())
}

fn runs<Op: TestOperator>(stress: Stress) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no context")?;
    let streams = [context.new_stream()?, context.new_stream()?];
    let case = Case::<Op>::shared();
    // Long enough for many tiles, short enough to be looked at a thousand times.
    let max = scan::<Op>(&scanner, 0, stress).plan()?.longest().max_len;
    let length = |bytes: u64| (bytes / size_of::<Op::Item>() as u64).min(max) as usize;
    let lengths = [length(1 << 20), length(300_007)];
    let inputs: Vec<CudaSlice<Op::Item>> =
        (0..2).map(|which| streams[which].clone_htod(case.input(lengths[which]))).collect::<Result<_, _>>()?;
    for run in 0..stress.runs {
        let ways = [run % 4, (run + 1) % 4];
        let outputs: Vec<CudaSlice<Op::Item>> = (0..2)
            .map(|which| {
                let scan = scan::<Op>(&scanner, ways[which], stress);
                scan.on(&streams[which]).run(&inputs[which])
            })
            .collect::<Result<_, _>>()?;
        for which in 0..2 {
            check::<Op>(&streams[which], &outputs[which], case.expected(ways[which], lengths[which]))
                .map_err(|error| format!("run {run}, stream {which}, {:?}: {error}", stress.carry))?;
        }
    }
    Ok(())
}

/// In the way with this place in [`WAYS`]; blocks that stay are few, so that each has many rounds.
fn scan<Op: TestOperator>(scanner: &Scanner, way: usize, stress: Stress) -> Scan<Op> {
    let Stress { block, carry, delays, .. } = stress;
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block, carry });
    overrides.delays = delays;
    overrides.blocks = (carry == Carry::LookAhead).then_some(9);
    // Those of the largest elements form groups.
    overrides.group = (carry == Carry::LookAhead && size_of::<Op::Item>() > 8).then_some(4);
    configure::<Op>(scanner, WAYS[way]).overrides(overrides)
}

fn check<Op: TestOperator>(stream: &Arc<CudaStream>, output: &CudaSlice<Op::Item>, expected: &[Op::Item]) -> Outcome {
    let output = stream.clone_dtoh(output)?;
    match first_difference(&output, expected) {
        Some(first) => Err(format!("{}: wrong from {first} on", std::any::type_name::<Op>()).into()),
        None => Ok(()),
    }
}
