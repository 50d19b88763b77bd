//! Scans along an axis: shapes of the kernel over shapes of arrays, as ratios to a copy of the same bytes.
//!
//! `engine -- axis` measures the planner's shape, `engine -- axis shapes` others, `axis-f32` and its like choose
//! operators. The results of some columns are compared with those of a plain loop before anything is timed.

use std::{ffi::c_void, ptr, sync::Arc};

use rayon::prelude::*;
use scan_codegen::{Argument, Axis, ColumnsPlan, KernelRole, Overrides, ScanSpec, plan_columns};
use scan_runtime::{
    ScanOp, Scanner,
    cudarc::{
        driver::{CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, result, sys::CUfunction_attribute},
        nvrtc::Ptx,
    },
    half::f16,
    nvrtc, ops, scan_element, scan_op,
};
use scan_tests::{
    checked::render_columns,
    operators::{TestOperator, compose, inputs, mixed},
};

use super::{Outcome, SAMPLES, filled, median, sample};

/// Shapes of arrays, and the axis.
const ARRAYS: [(&[usize], usize); 11] = [
    (&[1024, 1024], 0),
    (&[4096, 4096], 0),
    (&[1 << 20, 256], 0),
    (&[4096, 65536], 0),
    (&[65536, 4096], 0),
    (&[1 << 22, 64], 0),
    (&[8, 65536, 512], 1),
    (&[8, 8192, 4096], 1),
    (&[8, 65536, 1536], 1),
    (&[64, 1 << 22], 0),
    (&[4, 1 << 26], 0),
];

/// Threads of a block, bytes of a thread's run, bytes of a thread's row, bytes of a tile's row, words of statuses that
/// a thread has in flight at once.
type Shape = (u32, u32, u32, u32, u32);

const SHAPES: [Shape; 7] = [
    (128, 224, 8, 256, 16),
    (256, 192, 8, 256, 16),
    (256, 208, 8, 256, 16),
    (256, 224, 8, 256, 8),
    (256, 224, 8, 256, 32),
    (256, 224, 16, 256, 16),
    (256, 240, 8, 256, 16),
];

/// The same for arrays of few columns.
const NARROW: [Shape; 4] =
    [(256, 224, 8, 128, 16), (256, 224, 8, 128, 48), (256, 224, 8, 256, 48), (256, 240, 8, 128, 32)];

/// Changes of the planned text, to see what its parts cost: their names, what is replaced, and what by. Their results
/// are wrong.
const CHANGES: [(&str, &[(&str, &str)]); 2] = [
    ("does not wait", &[NO_WAIT]),
    ("does not carry", &[("carries = !WHOLE_COLUMNS && steps.rows > 1", "carries = false")]),
];
const NO_WAIT: (&str, &str) =
    ("while (status_of(loaded, &words, epoch) != generation) {", "status_of(loaded, &words, epoch); while (false) {");

/// The most elements that arrays are cut down to: all of them fit beside their results.
const LONGEST_BYTES: usize = 4 << 30;

/// The name of what the planner chooses.
const PLANNED: &str = "planned";

/// Elements that are compared with a plain loop, unless a column has more.
const COMPARED: usize = 1 << 20;

/// The longest period of inputs: no power of two, so that no column repeats it.
const BLOCK: usize = 1_999_993;

/// Threads of a block and rows of a thread.
const RECURRENCE_SHAPES: [(u32, u32); 6] = [(128, 11), (128, 12), (128, 14), (64, 20), (64, 28), (256, 12)];

struct Entrant {
    name: String,
    plan: ColumnsPlan,
    function: CudaFunction,
    changed: bool,
}

fn entrant<Op: TestOperator>(
    scanner: &Scanner,
    name: String,
    plan: ColumnsPlan,
    changes: &[(&str, &str)],
) -> Outcome<Entrant> {
    let mut source = render_columns(&Op::new().source(), &plan)?;
    for (from, to) in changes {
        if !source.text.contains(from) {
            return Err(format!("no {from}").into());
        }
        source.text = source.text.replace(from, to);
    }
    let compiled = nvrtc::compile(&source, &name, scanner.limits().architecture)?;
    let context = scanner.context().ok_or("no CUDA context")?;
    context.bind_to_thread()?;
    let module = context.load_module(Ptx::from_binary(compiled.cubin))?;
    let function = module.load_function(&source.kernel_name(KernelRole::ScanColumns.name()))?;
    let dynamic = plan.dynamic_shared_bytes(KernelRole::ScanColumns) as i32;
    function.set_attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)?;
    Ok(Entrant { name, plan, function, changed: !changes.is_empty() })
}

fn entrants<Op: TestOperator>(scanner: &Scanner, shapes: bool) -> Vec<Entrant> {
    let size = size_of::<Op::Item>() as u32;
    let plan = |overrides: Overrides| {
        plan_columns(&Op::new().source(), &ScanSpec::inclusive(), &scanner.limits(), &overrides).ok()
    };
    let planned = plan(Overrides::default()).map(|plan| plan.all()).unwrap_or_default();
    let mut plans: Vec<_> = planned.into_iter().map(|plan| (PLANNED.to_owned(), Some(plan))).collect();
    let narrow = NARROW.map(|shape| (shape, ", narrow"));
    let others = SHAPES.map(|shape| (shape, "")).into_iter().chain(narrow).filter(|_| shapes);
    for ((threads, run, row, tile, words), narrow) in others {
        let width = (row / size).max(1);
        let run = (run / (width * size)).max(1);
        let plan = plan(Overrides::default().threads(threads).run(run));
        let plan = plan.map(|plan| plan.shaped(width, (tile / (width * size)).max(1)).polling(words));
        plans.push((format!("{threads} threads, {run} × {width}, {tile} bytes, {words} words{narrow}"), plan));
    }
    let mut plans: Vec<_> = plans.into_iter().filter_map(|(name, plan)| Some((name, plan?, &[][..]))).collect();
    if shapes {
        plans.extend(
            CHANGES.iter().filter_map(|&(name, changes)| Some((name.to_owned(), plan(Overrides::default())?, changes))),
        );
    }
    let made = |(name, plan, changes): (String, _, _)| {
        entrant::<Op>(scanner, name.clone(), plan, changes).inspect_err(|error| eprintln!("{name}: {error}")).ok()
    };
    plans.into_par_iter().filter_map(made).collect()
}

/// Launches the kernel over an array.
fn launch<T>(
    stream: &Arc<CudaStream>,
    entrant: &Entrant,
    axis: &Axis,
    input: &CudaSlice<T>,
    output: &mut CudaSlice<T>,
    workspace: &mut CudaSlice<u8>,
) -> Outcome {
    let layout = axis.layout();
    let schedule = entrant.plan.schedule(&layout)?;
    let words = layout.words();
    let room = schedule.workspace.status_room(workspace.len() as u64);
    let ((input, _reading), (output, _writing)) = (input.device_ptr(stream), output.device_ptr_mut(stream));
    let (workspace, _keeping) = workspace.device_ptr_mut(stream);
    for launch in &schedule.launches {
        let mut scalars: Vec<u64> = launch
            .arguments
            .iter()
            .map(|argument| match *argument {
                Argument::Input => input,
                Argument::Output => output,
                Argument::Workspace(place) => workspace + place,
                Argument::StatusRoom => room,
                Argument::Length(number) => number,
                _ => 0,
            })
            .collect();
        let mut pointers: Vec<*mut c_void> = launch
            .arguments
            .iter()
            .zip(&mut scalars)
            .map(|(argument, scalar)| match argument {
                Argument::Layout => words.as_ptr().cast_mut().cast(),
                _ => ptr::from_mut(scalar).cast(),
            })
            .collect();
        let (grid, block) = ((launch.blocks, 1, 1), (launch.threads, 1, 1));
        let function = entrant.function.cu_function();
        let shared = launch.dynamic_shared_bytes;
        // SAFETY: these are the arguments that the plan lists for an operator without parameters; the buffers are as
        // long.
        unsafe {
            match launch.cooperative.applies(false) {
                true => {
                    result::launch_cooperative_kernel(function, grid, block, shared, stream.cu_stream(), &mut pointers)?
                }
                false => result::launch_kernel(function, grid, block, shared, stream.cu_stream(), &mut pointers)?,
            }
        }
    }
    Ok(())
}

/// Compares some columns with those of a plain loop.
fn compare<Op: TestOperator>(axis: &Axis, block: &[Op::Item], output: &[Op::Item]) -> Outcome {
    let (strides, shape) = (axis.both_strides().0, axis.shape());
    let (step, length) = (strides[axis.axis()].unsigned_abs(), shape[axis.axis()]);
    let outer = if axis.axis() == 0 { 1 } else { shape[0] };
    let op = Op::new();
    let bytes = |item: &Op::Item| scan_runtime::__private::bytes_of(item);
    for sampled in 0..(COMPARED / length).clamp(1, 64) {
        let first = sampled % outer * strides[0].unsigned_abs() + sampled * 7919 % step;
        let mut prefix = None;
        for row in 0..length {
            let place = first + row * step;
            let element = op.lift(block[place % block.len()]);
            let next = prefix.map_or(element, |prefix| op.combine(prefix, element));
            if bytes(&next) != bytes(&output[place]) {
                return Err(format!("row {row} of column {first}: {:?}, not {next:?}", output[place]).into());
            }
            prefix = Some(next);
        }
    }
    Ok(())
}

fn sweep<Op: TestOperator>(name: &str, scanner: &Scanner, shapes: bool) -> Outcome {
    let context = scanner.context().ok_or("no CUDA context")?;
    let stream = context.new_stream()?;
    let size = size_of::<Op::Item>();
    let block = inputs::<Op>(BLOCK);
    let longest = LONGEST_BYTES / size;
    let input = filled(&stream, &block, longest)?;
    let mut output = filled(&stream, &block, longest)?;
    let entrants = entrants::<Op>(scanner, shapes);
    for (shape, along) in ARRAYS {
        let mut shape = shape.to_vec();
        while shape.iter().product::<usize>() > longest {
            shape[0] /= 2;
        }
        let axis = Axis::of(&shape, along)?;
        let len = axis.len();
        let copy = |output: &mut CudaSlice<Op::Item>| -> Outcome<f64> {
            let from = input.slice(..len);
            sample(&stream, || Ok(stream.memcpy_dtod(&from, &mut output.slice_mut(..len))?))
        };
        copy(&mut output)?;
        let mut first: Option<Vec<u8>> = None;
        // Of the planned ones, the one that is for the array.
        let suits = |entrant: &&Entrant| entrant.plan.suits(&axis.layout(), &[0], &[0]);
        let planned = entrants.iter().filter(|entrant| entrant.name == PLANNED).find(suits);
        let is_narrow = |entrant: &&Entrant| entrant.name.ends_with("narrow");
        let others = entrants.iter().filter(|entrant| entrant.name != PLANNED);
        let others = others.filter(|entrant| axis.columns() <= 512 || !is_narrow(entrant));
        for entrant in planned.into_iter().chain(others) {
            let bytes = entrant.plan.schedule(&axis.layout())?.workspace.bytes() as usize;
            let mut workspace = stream.alloc_zeros::<u8>(bytes)?;
            copy(&mut output)?; // no result of the kernel before is left
            launch(&stream, entrant, &axis, &input, &mut output, &mut workspace)?;
            stream.synchronize()?;
            let end = scan_tests::operators::bits(&stream.clone_dtoh(&output.slice(len - (1 << 18)..len))?);
            let verdict = match &first {
                None => {
                    first = Some(end);
                    compare::<Op>(&axis, &block, &stream.clone_dtoh(&output.slice(..len))?)
                }
                Some(first) if *first == end || entrant.changed => Ok(()),
                Some(_) => Err("the last results differ".into()),
            };
            if let Err(error) = verdict {
                println!("| {name} | {shape:?}, {along} | {} | WRONG: {error} |", entrant.name);
                continue;
            }
            let (mut copies, mut scans) = (Vec::new(), Vec::new());
            for _ in 0..SAMPLES {
                copies.push(copy(&mut output)?);
                scans.push(sample(&stream, || launch(&stream, entrant, &axis, &input, &mut output, &mut workspace))?);
            }
            let (copy, scan) = (median(copies), median(scans));
            println!("| {name} | {shape:?}, {along} | {} | {copy:.1} | {scan:.1} | {:.3} |", entrant.name, copy / scan);
        }
    }
    Ok(())
}

/// The coefficients of a recurrence.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    gate: f32,
    token: f32,
}

/// `h = gate * h + token`.
#[derive(Clone, Copy)]
struct Recurrence;

#[scan_op]
impl ScanOp for Recurrence {
    type Input = Step;
    type State = Step;
    type Output = f32;
    const IDENTITY: Step = Step { gate: 1.0, token: 0.0 };
    fn lift(x: Step) -> Step {
        x
    }
    fn combine(f: Step, g: Step) -> Step {
        Step { gate: f.gate * g.gate, token: g.gate * f.token + g.token }
    }
    fn project(f: Step) -> f32 {
        f.token
    }
}

/// The recurrence over two arrays, into one, as a ratio to a copy of as many bytes. Gates are 0 or 1 and tokens whole
/// numbers, so that every grouping gives the same bits.
fn recurrence(scanner: &Scanner, shapes: bool) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let shape @ [_, length, channels] = [8, 65536, 1536];
    let axis = Axis::of(&shape, 1)?;
    let gate = |i: usize| if mixed(i as u64).is_multiple_of(64) { 0.0 } else { 1.0 };
    let token = |i: usize| (mixed(i as u64 + 7) % 8) as f32;
    let (gates, tokens): (Vec<f32>, Vec<f32>) = (0..BLOCK).map(|i| (gate(i), token(i))).unzip();
    let (from_gates, from_tokens) = (filled(&stream, &gates, axis.len())?, filled(&stream, &tokens, axis.len())?);
    let mut states = stream.alloc_zeros::<f32>(axis.len())?;
    let planned = std::iter::once((PLANNED.to_owned(), Overrides::default()));
    let shapes = RECURRENCE_SHAPES.into_iter().filter(|_| shapes).map(|(threads, run)| {
        (format!("{threads} threads, {run} rows"), Overrides::default().threads(threads).run(run))
    });
    for (name, overrides) in planned.chain(shapes) {
        let scan = scanner.scan(Recurrence).overrides(overrides);
        let scan = scan.on(&stream).along(axis.clone());
        scan.run_into((&from_gates, &from_tokens), &mut states)?;
        let last_sequence = (shape[0] - 1) * length * channels;
        let found = stream.clone_dtoh(&states.slice(last_sequence..))?;
        for channel in (0..16).map(|sampled| sampled * 7919 % channels) {
            let mut state = 0.0;
            for place in (0..length).map(|row| last_sequence + row * channels + channel) {
                state = gates[place % BLOCK] * state + tokens[place % BLOCK];
                if found[place - last_sequence] != state {
                    return Err(format!("{name}: element {place}: not {state}").into());
                }
            }
        }
        let (mut copies, mut scans) = (Vec::new(), Vec::new());
        for _ in 0..SAMPLES {
            copies.push(sample(&stream, || Ok(stream.memcpy_dtod(&from_gates, &mut states)?))?);
            let run = || Ok(scan.run_into((&from_gates, &from_tokens), &mut states)?);
            scans.push(sample(&stream, run)?);
        }
        // Three arrays are moved, where the copy moves two.
        let (copy, scan) = (1.5 * median(copies), median(scans));
        println!(
            "| recurrence | {shape:?}, 1, two arrays to one | {name} | {copy:.1} | {scan:.1} | {:.3} |",
            copy / scan
        );
    }
    Ok(())
}

pub(super) fn sweep_all(scanner: &Scanner, shapes: bool, wanted: impl Fn(&str) -> bool) -> Outcome {
    println!("| operator | array, axis | shape | copy, µs | scan, µs | ratio to copy |");
    println!("|---|---|---|---:|---:|---:|");
    if wanted("axis-f32") {
        sweep::<ops::Sum<f32>>("f32", scanner, shapes)?;
    }
    if wanted("axis-f16") {
        sweep::<ops::Sum<f16>>("f16", scanner, shapes)?;
    }
    if wanted("axis-affine") {
        sweep::<compose>("affine", scanner, shapes)?;
    }
    if wanted("axis-recurrence") {
        recurrence(scanner, shapes)?;
    }
    Ok(())
}
