//! A gated recurrence whose time axis is split over all GPUs of a machine, or of a cluster, and a long sum.
//!
//! ```sh
//! cargo run --release -p scan-runtime --example 02_several_gpus                  # all GPUs of this machine
//! torchrun --nnodes 2 --nproc-per-node 8 --no-python target/release/examples/02_several_gpus   # of a cluster
//! ```
//!
//! Without a GPU four threads are the ranks. Each rank compares its part of the recurrence with the whole, which it scans
//! alone, prints the throughput, and scans its slice of one long array.

use std::{
    env,
    error::Error,
    process::{Command, ExitCode},
    sync::Arc,
    thread,
    time::Instant,
};

use clap::Parser;
use scan_runtime::{
    Axis, Host, ScanOp, Scanner, World,
    cudarc::driver::{CudaSlice, CudaStream},
    devices, ops, scan_element, scan_op,
    world::Launch,
};

/// A gated recurrence over several GPUs
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// How many ranks to start on this machine: all GPUs by default
    #[arg(long)]
    ranks: Option<usize>,
    /// Sequences
    #[arg(long, default_value_t = 8)]
    batch: usize,
    /// Steps of each sequence, which are split over the ranks
    #[arg(long, default_value_t = 4_096)]
    steps: usize,
    /// Channels of each step
    #[arg(long, default_value_t = 256)]
    channels: usize,
    /// Elements of the long array, over all ranks, as a power of two
    #[arg(long, default_value_t = 26)]
    long: u32,
}

/// A gate and a token of a step.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    gate: f32,
    token: f32,
}

/// What some steps do to a state: `h` becomes `a·h + b`.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine {
    a: f32,
    b: f32,
}

/// `h = gate · h + token`.
#[derive(Clone, Copy, Debug)]
struct Recurrence;

#[scan_op]
impl ScanOp for Recurrence {
    type Input = Step;
    type Carry = f32;
    type Output = f32;
    const START: f32 = 0.0;
    fn step(h: f32, x: Step) -> f32 {
        x.gate * h + x.token
    }
    fn project(h: f32) -> f32 {
        h
    }

    type State = Affine;
    const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
    fn lift(x: Step) -> Affine {
        Affine { a: x.gate, b: x.token }
    }
    fn combine(f: Affine, g: Affine) -> Affine {
        Affine { a: f.a * g.a, b: g.a * f.b + g.b }
    }
    fn apply(f: Affine, h: f32) -> f32 {
        f.a * h + f.b
    }
}

impl Arguments {
    /// The gates and tokens of some steps of all sequences, in the order (sequence, step, channel).
    fn steps(&self, from: usize, to: usize) -> (Vec<f32>, Vec<f32>) {
        let at = |index: usize| {
            let (rest, channel) = (index / self.channels, index % self.channels);
            let (sequence, step) = (rest / (to - from).max(1), from + rest % (to - from).max(1));
            let mixed = (sequence * 31 + step * 17 + channel * 7) % 97;
            (0.5 + mixed as f32 / 200.0, mixed as f32 / 97.0 - 0.5)
        };
        (0..self.batch * (to - from) * self.channels).map(at).unzip()
    }

    /// The steps of a rank.
    fn part(&self, rank: usize, size: usize) -> (usize, usize) {
        (self.steps * rank / size, self.steps * (rank + 1) / size)
    }

    fn axis(&self, from: usize, to: usize) -> Result<Axis, scan_runtime::Error> {
        Ok(Axis::of(&[self.batch, to - from, self.channels], 1)?)
    }

    /// The largest difference of a rank's states to the part of the whole that is theirs, relative to the largest state.
    fn difference(&self, whole: &[f32], states: &[f32], from: usize, to: usize) -> f32 {
        let of_whole = (0..self.batch).flat_map(|sequence| {
            &whole[(sequence * self.steps + from) * self.channels..(sequence * self.steps + to) * self.channels]
        });
        let largest = whole.iter().fold(1e-6_f32, |largest, state| largest.max(state.abs()));
        of_whole.zip(states).fold(0.0_f32, |max, (a, b)| max.max((a - b).abs())) / largest
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match World::from_env() {
        Ok(world) => on_gpu(&arguments, &world),
        // No launcher has started this process.
        Err(_) if env::var_os("RANK").is_none() => start(&arguments),
        Err(error) => Err(error.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts a process for each GPU, or a thread for each rank where there is none.
fn start(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let gpus = devices().map_or(0, |devices| devices.len());
    if gpus == 0 {
        println!("No GPU is usable: the ranks are threads, which scan on the CPU.");
        return on_threads(arguments, arguments.ranks.unwrap_or(4));
    }
    let program = env::current_exe()?;
    let command = || {
        let mut command = Command::new(&program);
        command.args(env::args_os().skip(1));
        command
    };
    Ok(Launch::on_this_machine(arguments.ranks.unwrap_or(gpus), command)?)
}

/// What a rank does on its GPU.
fn on_gpu(arguments: &Arguments, world: &World) -> Result<(), Box<dyn Error>> {
    let (rank, size, stream) = (world.rank(), world.size(), world.stream());
    let (from, to) = arguments.part(rank, size);
    let scan = world.scanner().scan(Recurrence);

    let (gates, tokens) = arguments.steps(from, to);
    let (gates, tokens) = (stream.clone_htod(&gates)?, stream.clone_htod(&tokens)?);
    let mut states = stream.alloc_zeros::<f32>(gates.len())?;
    let across = scan.across(world).along(arguments.axis(from, to)?);
    across.run_into((&gates, &tokens), &mut states)?;
    world.synchronize()?;
    let found = stream.clone_dtoh(&states)?;

    let whole = arguments.steps(0, arguments.steps);
    let (whole_gates, whole_tokens) = (stream.clone_htod(&whole.0)?, stream.clone_htod(&whole.1)?);
    let whole = scan.on(stream).along(arguments.axis(0, arguments.steps)?).run((&whole_gates, &whole_tokens))?;
    let difference = arguments.difference(&stream.clone_dtoh(&whole)?, &found, from, to);

    // The ranks come together before the clock runs.
    across.run_into((&gates, &tokens), &mut states)?;
    world.synchronize()?;
    const RUNS: u32 = 20;
    let start = Instant::now();
    for _ in 0..RUNS {
        across.run_into((&gates, &tokens), &mut states)?;
    }
    world.synchronize()?;
    let time = start.elapsed() / RUNS;
    // Gates and tokens are read twice, and states written.
    let rate = (20 * states.len()) as f64 / time.as_secs_f64() / 1e9;
    println!(
        "rank {rank} of {size}: steps {from} to {to}, largest difference {difference:.1e}, {time:?}, {rate:.0} GB/s"
    );

    let len = (1_usize << arguments.long) / size;
    let ones = ones(stream, len)?;
    let sums = world.scanner().scan(ops::sum()).across(world).run(&ones)?;
    world.synchronize()?;
    let ends = [sums.slice(..1.min(len)), sums.slice(len.max(1) - 1..)];
    let ends = [stream.clone_dtoh(&ends[0])?, stream.clone_dtoh(&ends[1])?].concat();
    println!("rank {rank} of {size}: {len} ones, sums from {} to {}", ends[0], ends[1]);
    if ends != [rank * len + 1, (rank + 1) * len].map(|sum| sum as u64) || difference > 1e-5 {
        return Err("a result is wrong".into());
    }
    Ok(())
}

/// So many ones in device memory: a few from the host, and copies of them.
fn ones(stream: &Arc<CudaStream>, len: usize) -> Result<CudaSlice<u64>, Box<dyn Error>> {
    let mut ones = stream.alloc_zeros(len)?;
    let mut done = len.min(1 << 20);
    stream.memcpy_htod(&vec![1; done], &mut ones.slice_mut(..done))?;
    while done < len {
        let (from, mut to) = ones.split_at_mut(done);
        let more = done.min(len - done);
        stream.memcpy_dtod(&from.slice(..more), &mut to.slice_mut(..more))?;
        done += more;
    }
    Ok(ones)
}

/// The same with threads that scan on the CPU.
fn on_threads(arguments: &Arguments, size: usize) -> Result<(), Box<dyn Error>> {
    let (gates, tokens) = arguments.steps(0, arguments.steps);
    let whole = Scanner::cpu().scan(Recurrence).along(arguments.axis(0, arguments.steps)?).run((&gates, &tokens))?;
    let rank = |world: World<Host>| -> Result<f32, scan_runtime::Error> {
        let (from, to) = arguments.part(world.rank(), size);
        let (gates, tokens) = arguments.steps(from, to);
        let scan = Scanner::cpu().scan(Recurrence);
        let states = scan.across(&world).along(arguments.axis(from, to)?).run((&gates, &tokens))?;
        Ok(arguments.difference(&whole, &states, from, to))
    };
    let differences = thread::scope(|scope| {
        let ranks: Vec<_> = World::of_threads(size).into_iter().map(|world| scope.spawn(|| rank(world))).collect();
        let joined = ranks.into_iter().map(|rank| rank.join().map_err(|_| "a rank panicked")?.map_err(Box::from));
        joined.collect::<Result<Vec<f32>, Box<dyn Error>>>()
    })?;
    for (rank, difference) in differences.iter().enumerate() {
        let (from, to) = arguments.part(rank, size);
        println!("rank {rank} of {size}: steps {from} to {to}, largest difference {difference:.1e}");
    }
    if differences.iter().any(|difference| *difference > 1e-5) {
        return Err("a result is wrong".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_are_threads_give_the_whole() {
        let arguments = Arguments::parse_from(["", "--batch", "3", "--steps", "101", "--channels", "5"]);
        assert!((1..=8).all(|size| on_threads(&arguments, size).is_ok()));
        let whole = [0.0; 3 * 101 * 5];
        let mut part = [0.0; 3 * 50 * 5];
        part[7] = 1.0;
        assert!(arguments.difference(&whole, &part, 0, 50) > 1.0);
    }
}
