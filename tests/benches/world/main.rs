//! Scans across the GPUs of one machine, a process each: the part of the speed of a copy that each rank reaches, for
//! the bytes that it must move (each input twice, each output once). `--ranks 1` is the same on one GPU; `--threads`
//! makes the ranks threads of one process; `--only NAME` runs one row. `peers.py` beside this file measures what one
//! writes with torch.

use std::{env, error::Error, process::Command, sync::Arc, thread};

use clap::Parser;
use scan_runtime::{
    Axis, ScanElement, ScanOp, World,
    cudarc::driver::{CudaEvent, DevicePtr, DevicePtrMut, sys::CUevent_flags},
    ops, scan_element, scan_op,
    world::{Across, Launch},
};
use scan_tests::nccl::Communicators;

/// Scans across the GPUs of one machine, beside copies.
#[derive(Clone, Debug, Parser)]
#[command(long_about = None)]
struct Arguments {
    /// How many GPUs
    #[arg(long, default_value_t = 2)]
    ranks: usize,
    /// Threads of one process in place of processes; NCCL's own exchange is timed, too
    #[arg(long)]
    threads: bool,
    /// Only the rows whose name has this part
    #[arg(long, default_value = "")]
    only: String,
    /// Runs of each row, of which the median counts
    #[arg(long, default_value_t = 15)]
    runs: usize,
    /// Elements of a rank in the longest rows, as a power of two; what does not fit is left out
    #[arg(long, default_value_t = 32)]
    longest: u32,
    /// What cargo passes on
    #[arg(long, hide = true)]
    bench: bool,
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine {
    a: f32,
    b: f32,
}

#[scan_op(identity = Affine { a: 1.0, b: 0.0 })]
fn compose(f: Affine, g: Affine) -> Affine {
    Affine { a: f.a * g.a, b: g.a * f.b + g.b }
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Matrix {
    m: [f32; 9],
}

#[scan_op(identity = Matrix { m: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0] })]
fn product(a: Matrix, b: Matrix) -> Matrix {
    let mut c = Matrix { m: [0.0_f32; 9] };
    for row in 0..3_usize {
        for column in 0..3_usize {
            for k in 0..3_usize {
                c.m[3 * row + column] += a.m[3 * row + k] * b.m[3 * k + column];
            }
        }
    }
    c
}

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let arguments = Arguments::parse();
    if arguments.threads {
        return in_threads(&arguments);
    }
    if env::var_os("RANK").is_none() {
        let program = env::current_exe()?;
        let command = || {
            let mut command = Command::new(&program);
            command.args(env::args_os().skip(1));
            command
        };
        return Ok(Launch::on_this_machine(arguments.ranks, command)?);
    }
    let world = World::from_env()?;
    Bench { copy: 0.0, arguments, world, communicators: None }.run()
}

fn in_threads(arguments: &Arguments) -> Outcome {
    let show = |error: Box<dyn Error>| error.to_string();
    let communicators = Arc::new(Communicators::of_devices(arguments.ranks).map_err(|error| error.to_string())?);
    let worlds = World::of_devices(&(0..arguments.ranks).collect::<Vec<_>>())?;
    let outcome: Result<(), String> = thread::scope(|scope| {
        let rank = |world| {
            let (arguments, communicators) = (arguments.clone(), Some(communicators.clone()));
            scope.spawn(move || Bench { copy: 0.0, arguments, world, communicators }.run().map_err(show))
        };
        let ranks: Vec<_> = worlds.into_iter().map(rank).collect();
        ranks.into_iter().try_for_each(|rank| rank.join().map_err(|_| "a panic".to_owned())?)
    });
    Ok(outcome?)
}

struct Bench {
    arguments: Arguments,
    world: World,
    /// NCCL's own, for the time of its exchange alone.
    communicators: Option<Arc<Communicators>>,
    /// Bytes that a copy reads and writes in a millisecond.
    copy: f64,
}

impl Bench {
    fn run(mut self) -> Outcome {
        self.copy = self.copy_speed()?;
        if self.world.rank() == 0 {
            println!("# {}, NCCL {:?}", self.world.scanner().backend(), scan_runtime::world::nccl::version()?);
            println!("row\tranks\telements_of_a_rank\tmilliseconds\tpart_of_copy\tcopy_GB_per_s");
        }
        self.small()?;
        for power in [20, 24, 26, 28, 30, 32].into_iter().filter(|power| *power <= self.arguments.longest) {
            self.of_one_array("sum_f32", ops::sum::<f32>(), power)?;
        }
        for power in [26, 28, 30].into_iter().filter(|power| *power <= self.arguments.longest) {
            self.of_one_array("affine_f32", compose, power)?;
        }
        for power in [24, 26, 28].into_iter().filter(|power| *power <= self.arguments.longest) {
            self.of_one_array("matrix_36_bytes", product, power)?;
        }
        for power in [26, 28, 30].into_iter().filter(|power| *power <= self.arguments.longest) {
            self.by_flag(power)?;
            self.by_key(power)?;
        }
        self.rows()
    }

    fn is_wanted(&self, name: &str) -> bool {
        name.contains(&self.arguments.only)
    }

    /// The slowest rank's milliseconds of a run, the median of several.
    fn time(&self, mut run: impl FnMut() -> Result<(), scan_runtime::Error>) -> Outcome<f64> {
        let (world, mut times) = (&self.world, Vec::new());
        let (slowest, stream) = (world.scanner().reduce(ops::max::<f32>()), world.stream());
        let event = || -> Outcome<CudaEvent> { Ok(stream.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?) };
        let (start, end) = (event()?, event()?);
        for round in 0..self.arguments.runs + 3 {
            // The ranks come together.
            let mut together = slowest.across(world).run(&stream.clone_htod(&[0.0])?)?;
            world.synchronize()?;
            start.record(stream)?;
            run()?;
            end.record(stream)?;
            world.synchronize()?;
            let time = scan_runtime::milliseconds_between(&start, &end)?;
            slowest.across(world).run_into(&stream.clone_htod(&[time])?, &mut together)?;
            world.synchronize()?;
            if round >= 3 {
                times.push(stream.clone_dtoh(&together)?[0]);
            }
        }
        times.sort_by(f32::total_cmp);
        Ok(f64::from(times[times.len() / 2]))
    }

    fn copy_speed(&self) -> Outcome<f64> {
        let stream = self.world.stream();
        let from = stream.alloc_zeros::<u8>(4 << 30)?;
        let mut to = stream.alloc_zeros::<u8>(4 << 30)?;
        let copy = || {
            stream.memcpy_dtod(&from, &mut to).expect("a copy");
            Ok(())
        };
        Ok(2.0 * from.len() as f64 / self.time(copy)?)
    }

    fn print(&self, name: &str, elements: usize, bytes: usize, milliseconds: f64) {
        if self.world.rank() == 0 {
            let part = (elements * bytes) as f64 / self.copy / milliseconds;
            let (ranks, copy) = (self.world.size(), self.copy / 1e6);
            println!("{name}\t{ranks}\t{elements}\t{milliseconds:.4}\t{part:.3}\t{copy:.0}");
        }
    }

    /// What is there beyond the bytes: a scan across the ranks of hardly any elements, and its launches alone.
    fn small(&self) -> Outcome {
        if !self.is_wanted("small") {
            return Ok(());
        }
        let (world, stream) = (&self.world, self.world.stream());
        let sums = world.scanner().scan(ops::sum::<f32>());
        let reduce = world.scanner().reduce(ops::sum::<f32>());
        let (input, mut output) = (stream.alloc_zeros::<f32>(1 << 10)?, stream.alloc_zeros::<f32>(1 << 10)?);
        let mut one = stream.alloc_zeros::<f32>(1)?;
        let across = self.time(|| sums.across(world).run_into(&input, &mut output))?;
        let kernels = self.time(|| {
            reduce.on(stream).run_into(&input, &mut one)?;
            sums.on(stream).init_from(&one).run_into(&input, &mut output)
        })?;
        if let Some(communicators) = &self.communicators {
            let (from, mut to) = (stream.alloc_zeros::<f32>(1)?, stream.alloc_zeros::<f32>(world.size())?);
            let (from, to) = (from.device_ptr(stream).0, to.device_ptr_mut(stream).0);
            // SAFETY: the memory has an element, and one for each rank, and is used on this stream only.
            let gather = || unsafe { communicators.all_gather(world.rank(), (from, to, 4), stream.cu_stream().cast()) };
            let time = self.time(|| {
                gather().expect("an exchange");
                Ok(())
            })?;
            self.print("small_exchange_of_nccl_alone", 1, 4, time);
        }
        self.print("small_across", 1 << 10, 12, across);
        self.print("small_reduction_and_scan_alone", 1 << 10, 12, kernels);
        Ok(())
    }

    fn of_one_array<T: ScanElement, Op: ScanOp<Input = T, Output = T>>(
        &self,
        name: &str,
        op: Op,
        power: u32,
    ) -> Outcome {
        let (len, bytes) = (1_usize << power, size_of::<T>());
        if !self.is_wanted(name) || !self.has_room(2 * len * bytes)? {
            return Ok(());
        }
        let (world, stream) = (&self.world, self.world.stream());
        // SAFETY: the types of these rows consist of floats, which any bits are.
        let (input, mut output) = unsafe { (stream.alloc::<T>(len)?, stream.alloc::<T>(len)?) };
        let scan = world.scanner().scan(op);
        let time = self.time(|| scan.across(world).run_into(&input, &mut output))?;
        self.print(name, len, 3 * bytes, time);
        Ok(())
    }

    fn by_flag(&self, power: u32) -> Outcome {
        let len = 1_usize << power;
        if !self.is_wanted("by_flag") || !self.has_room(9 * len)? {
            return Ok(());
        }
        let (world, stream) = (&self.world, self.world.stream());
        let (flags, values) = (stream.alloc_zeros::<bool>(len)?, stream.alloc_zeros::<f32>(len)?);
        let mut output = stream.alloc_zeros::<f32>(len)?;
        let scan = world.scanner().scan(ops::by_flag(ops::sum::<f32>()));
        let time = self.time(|| scan.across(world).run_into((&flags, &values), &mut output))?;
        self.print("by_flag_sum_f32", len, 14, time);
        Ok(())
    }

    fn by_key(&self, power: u32) -> Outcome {
        let len = 1_usize << power;
        if !self.is_wanted("by_key") || !self.has_room(12 * len)? {
            return Ok(());
        }
        let (world, stream) = (&self.world, self.world.stream());
        let (keys, values) = (stream.alloc_zeros::<u32>(len)?, stream.alloc_zeros::<f32>(len)?);
        let mut output = stream.alloc_zeros::<f32>(len)?;
        let scan = world.scanner().scan(ops::by_key::<u32, _>(ops::sum::<f32>()));
        let time = self.time(|| scan.across(world).run_into((&keys, &values), &mut output))?;
        self.print("by_key_u32_sum_f32", len, 20, time);
        Ok(())
    }

    /// A gated recurrence over (8, 65536, 1536), whose 65536 steps are split.
    fn rows(&self) -> Outcome {
        let (world, stream) = (&self.world, self.world.stream());
        for (name, shape, axis) in [
            ("rows_8_65536_1536", [8, 65_536 / world.size(), 1_536], 1),
            ("rows_8_1536_65536", [8, 1_536, 65_536 / world.size()], 2),
        ] {
            let len = shape.iter().product();
            if !self.is_wanted(name) || !self.has_room(12 * len)? {
                continue;
            }
            let (gates, tokens) = (stream.alloc_zeros::<f32>(len)?, stream.alloc_zeros::<f32>(len)?);
            let mut output = stream.alloc_zeros::<f32>(len)?;
            let scan = world.scanner().scan(ops::recurrence::<f32>());
            let axis = Axis::of(&shape, axis)?;
            let across = || -> Across<'_, ops::Recurrence<f32>, _> { scan.across(world).along(axis.clone()) };
            let time = self.time(|| across().run_into((&gates, &tokens), &mut output))?;
            self.print(name, len, 20, time);
        }
        Ok(())
    }

    fn has_room(&self, bytes: usize) -> Outcome<bool> {
        Ok(bytes + (2 << 30) < self.world.stream().context().mem_get_info()?.0)
    }
}
