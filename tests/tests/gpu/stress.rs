//! A thousand runs on two streams at once, while another process keeps the device busy.

use std::{
    error::Error,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use scan_codegen::Overrides;
use scan_runtime::{
    BlockScan, Carry, Network, Scan, Scanner, Strategy,
    cudarc::driver::{CudaSlice, CudaStream},
    ops,
};
use scan_tests::{
    configure,
    operators::{Interval, PolynomialHash, TestOperator, first_difference},
    reference::WAYS,
};

use crate::{Outcome, Trials, cases::Case};

/// Set for the process that keeps the device busy.
const LOAD: &str = "SCAN_TESTS_LOAD";

/// Runs of each of the four operators, on each of the two streams, with each way to carry.
const RUNS: usize = 250;

pub(crate) fn add(trials: &mut Trials) {
    trials.add("large_a_thousand_runs_beside_another_process", || {
        let load = Load::begin()?;
        for carry in [Carry::LookBack, Carry::LookAhead] {
            runs::<ops::Sum<u8>>(carry)?;
            runs::<ops::Sum<i32>>(carry)?;
            runs::<PolynomialHash>(carry)?;
            runs::<Interval>(carry)?;
        }
        load.end()
    });
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

fn runs<Op: TestOperator>(carry: Carry) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no context")?;
    let streams = [context.new_stream()?, context.new_stream()?];
    let case = Case::<Op>::shared();
    // Long enough for many tiles, short enough to be looked at a thousand times.
    let lengths = [(1 << 20) / size_of::<Op::Item>(), 300_007 / size_of::<Op::Item>()];
    let inputs: Vec<CudaSlice<Op::Item>> =
        (0..2).map(|which| streams[which].clone_htod(case.input(lengths[which]))).collect::<Result<_, _>>()?;
    for run in 0..RUNS {
        let ways = [run % 4, (run + 1) % 4];
        let outputs: Vec<CudaSlice<Op::Item>> = (0..2)
            .map(|which| {
                let scan = scan::<Op>(&scanner, ways[which], carry);
                scan.on(&streams[which]).run(&inputs[which])
            })
            .collect::<Result<_, _>>()?;
        for which in 0..2 {
            check::<Op>(&streams[which], &outputs[which], case.expected(ways[which], lengths[which]))
                .map_err(|error| format!("run {run}, stream {which}, {carry:?}: {error}"))?;
        }
    }
    Ok(())
}

/// In the way with this place in [`WAYS`]; blocks that stay are few, so that each has many rounds.
fn scan<Op: TestOperator>(scanner: &Scanner, way: usize, carry: Carry) -> Scan<'_, Op> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry });
    overrides.blocks = (carry == Carry::LookAhead).then_some(9);
    configure::<Op>(scanner, WAYS[way]).overrides(overrides)
}

fn check<Op: TestOperator>(stream: &Arc<CudaStream>, output: &CudaSlice<Op::Item>, expected: &[Op::Item]) -> Outcome {
    let output = stream.clone_dtoh(output)?;
    match first_difference(&output, expected) {
        Some(first) => Err(format!("{}: wrong from {first} on", std::any::type_name::<Op>()).into()),
        None => Ok(()),
    }
}
