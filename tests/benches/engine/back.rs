//! The shapes of one block and of look-back at small and middle lengths, with hardly any of the host's part: many launches in
//! a row and in a graph.

use std::{ffi::c_void, sync::Arc};

use rayon::prelude::*;
use scan_codegen::{Argument, DeviceLimits, Launch, Overrides, Plan, ScanSpec, Schedule, plan, render};
use scan_runtime::{
    BlockScan, Carry, Scanner, Strategy,
    cudarc::{
        driver::{
            CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, result,
            sys::{
                CUdeviceptr, CUfunction_attribute, CUgraphInstantiate_flags,
                CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            },
        },
        nvrtc::Ptx,
    },
    nvrtc,
};
use scan_tests::{
    configure,
    operators::{TestOperator, bits, inputs},
};

use super::{Outcome, WAY, fetch, filled, median, sample, with_warp_shuffles};

/// Calls in a row.
const CALLS: usize = 20;
const SAMPLES: usize = 5;
/// Lengths, by their logarithms.
const LENGTHS: [u32; 10] = [10, 12, 13, 14, 16, 18, 20, 22, 24, 26];
/// Threads of a block, bytes of a run: of one block alone, of blocks that look at all tiles, and of blocks that look back, with
/// the tiles that a lane looks at.
const ALONE: [(u32, u32); 7] = [(128, 48), (256, 16), (256, 48), (512, 16), (512, 48), (512, 80), (1024, 32)];
const AT_ALL: [(u32, u32); 10] =
    [(128, 16), (128, 48), (128, 80), (256, 16), (256, 48), (256, 80), (256, 112), (512, 48), (512, 80), (1024, 32)];
const BACK: [(u32, u32, u32); 9] = [
    (128, 112, 1),
    (256, 48, 1),
    (256, 80, 1),
    (256, 112, 1),
    (256, 144, 1),
    (512, 48, 1),
    (512, 80, 1),
    (512, 80, 2),
    (1024, 32, 1),
];

struct Entrant {
    name: String,
    plan: Plan,
    function: CudaFunction,
    workspace: CudaSlice<u8>,
    /// Where the workspace is.
    place: CUdeviceptr,
}

fn limits(scanner: &Scanner) -> DeviceLimits {
    let mut limits = DeviceLimits::new(scanner.limits().architecture, scanner.limits().multiprocessors);
    limits.shared_bytes_per_block_optin = scanner.limits().shared_bytes_per_block_optin;
    limits
}

/// Plans, compiles and loads; none where there is no such shape.
fn entrant<Op: TestOperator>(
    scanner: &Scanner,
    name: String,
    overrides: &Overrides,
    longest: usize,
) -> Option<Entrant> {
    let operator = Op::new().source();
    let plan = plan(&operator, &ScanSpec::inclusive(), &limits(scanner), overrides).ok()?.longest().clone();
    let source = render(&operator, &plan).ok()?;
    let compiled = nvrtc::compile(&source, &operator.name, scanner.limits().architecture).ok()?;
    let context = scanner.context()?;
    context.bind_to_thread().ok()?;
    let module = context.load_module(Ptx::from_binary(compiled.cubin)).ok()?;
    let kernel = *plan.kernels().last()?;
    let function = module.load_function(&source.kernel_name(kernel)).ok()?;
    let bytes = plan.dynamic_shared_bytes(kernel);
    if bytes > 0 {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        function.set_attribute(attribute, bytes as i32).ok()?;
    }
    let bytes = plan.schedule(longest as u64).ok()?.workspace.bytes().max(1);
    let workspace = context.default_stream().alloc_zeros::<u8>(bytes as usize).ok()?;
    context.default_stream().synchronize().ok()?;
    // Asked for here, once: the slice would have a captured stream wait for what is not captured.
    let place = workspace.device_ptr(&context.default_stream()).0;
    Some(Entrant { name, plan, function, workspace, place })
}

struct Work<'a> {
    stream: &'a Arc<CudaStream>,
    input: CUdeviceptr,
    output: CUdeviceptr,
}

impl Work<'_> {
    fn launch(&self, entrant: &Entrant, schedule: &Schedule, launch: &Launch) -> Outcome {
        let operator = 0_u8;
        let workspace = entrant.place;
        let mut scalars: Vec<u64> = launch
            .arguments
            .iter()
            .map(|argument| match *argument {
                Argument::Input => self.input,
                Argument::Output => self.output,
                Argument::Workspace(place) => workspace + place,
                Argument::MessageRoom => schedule.workspace.message_room(entrant.workspace.len() as u64),
                Argument::Length(len) => len,
                _ => 0,
            })
            .collect();
        let mut pointers: Vec<*mut c_void> = launch
            .arguments
            .iter()
            .zip(&mut scalars)
            .map(|(argument, scalar)| match argument {
                Argument::Operator => std::ptr::from_ref(&operator).cast_mut().cast(),
                _ => std::ptr::from_mut(scalar).cast(),
            })
            .collect();
        let call = if launch.cooperative { result::launch_cooperative_kernel } else { result::launch_kernel };
        let (grid, block) = ((launch.blocks, 1, 1), (launch.threads, 1, 1));
        let shared = launch.dynamic_shared_bytes;
        // SAFETY: these are the arguments that the plan lists for an operator without parameters; the buffers are as long.
        unsafe {
            call(entrant.function.cu_function(), grid, block, shared, self.stream.cu_stream(), &mut pointers)?;
        }
        Ok(())
    }

    /// Many calls in a row.
    fn calls(&self, entrant: &Entrant, len: u64, calls: usize) -> Outcome {
        let schedule = entrant.plan.schedule(len)?;
        for _ in 0..calls {
            for launch in &schedule.launches {
                self.launch(entrant, &schedule, launch)?;
            }
        }
        Ok(())
    }

    fn copies(&self, bytes: usize, calls: usize) -> Outcome {
        for _ in 0..calls {
            // SAFETY: both buffers are as long.
            unsafe { result::memcpy_dtod_async(self.output, self.input, bytes, self.stream.cu_stream())? };
        }
        Ok(())
    }

    /// Microseconds of a call: back to back, and in a graph.
    fn times(&self, calls: impl Fn(usize) -> Outcome) -> Outcome<(f64, f64)> {
        calls(CALLS)?;
        self.stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let captured = calls(CALLS);
        let graph = self.stream.end_capture(CUgraphInstantiate_flags(0));
        captured?;
        let graph = graph?.ok_or("nothing was captured")?;
        graph.launch()?;
        let (mut streamed, mut replayed) = (Vec::new(), Vec::new());
        for _ in 0..SAMPLES {
            streamed.push(sample(self.stream, || calls(CALLS))? / CALLS as f64);
            replayed.push(sample(self.stream, || Ok(graph.launch()?))? / CALLS as f64);
        }
        Ok((median(streamed), median(replayed)))
    }
}

pub(super) fn sweep<Op: TestOperator>(name: &str, scanner: &Scanner) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let size = size_of::<Op::Item>();
    let longest = (1_usize << LENGTHS[LENGTHS.len() - 1]).min((1 << 30) / size);
    let block = inputs::<Op>(longest.min(1 << 21));
    let input = filled(&stream, &block, longest)?;
    let mut output = filled(&stream, &block, longest)?;
    let expected = configure::<Op>(&Scanner::cpu(), WAY).run(&block)?;

    let mut wanted = Vec::new();
    for carry in [Carry::OneBlock, Carry::LookBack, Carry::LookAhead] {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(with_warp_shuffles(carry));
        wanted.push((format!("{carry} by default"), overrides));
    }
    let alone = ALONE.map(|(threads, bytes)| (Carry::OneBlock, threads, bytes, None));
    let at_all = AT_ALL.map(|(threads, bytes)| (Carry::LookAtAll, threads, bytes, None));
    let back = BACK.map(|(threads, bytes, looks)| (Carry::LookBack, threads, bytes, Some(looks)));
    for (carry, threads, bytes, look_run) in alone.into_iter().chain(at_all).chain(back) {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(Strategy { block: BlockScan::in_registers(), carry });
        overrides.threads = Some(threads);
        overrides.run = Some((bytes / size as u32).max(1));
        overrides.look_run = look_run;
        let looks = look_run.map(|looks| format!("×{looks}")).unwrap_or_default();
        wanted.push((format!("{carry} {threads}×{bytes}b{looks}"), overrides));
    }
    let entrants: Vec<Entrant> = wanted
        .into_par_iter()
        .filter_map(|(name, overrides)| entrant::<Op>(scanner, name, &overrides, longest))
        .collect();
    for len in LENGTHS.iter().map(|&log| (1_usize << log).min(longest)) {
        let mut reference = None;
        let mut rows = Vec::new();
        let mut copy = (0.0, 0.0);
        for entrant in &entrants {
            let one_block = entrant.plan.strategy.carry == Carry::OneBlock;
            // One block over many tiles is not what is asked here, nor others over one.
            let tiles = len.div_ceil(entrant.plan.tile as usize);
            let at_all = entrant.plan.strategy.carry == Carry::LookAtAll;
            if at_all && tiles > 4 * entrant.plan.threads as usize {
                continue;
            }
            if one_block && tiles > 2 || !one_block && (tiles < 2 || len < 1 << 12) {
                continue;
            }
            if entrant.plan.strategy.carry == Carry::LookAhead && len < 1 << 20 {
                continue;
            }
            let work =
                Work { stream: &stream, input: input.device_ptr(&stream).0, output: output.device_ptr_mut(&stream).0 };
            let verdict = check::<Op>(&work, entrant, &mut output, (&block, &expected), len, &mut reference)?;
            if !verdict {
                rows.push((f64::INFINITY, format!("{}: WRONG", entrant.name)));
                continue;
            }
            if copy.0 == 0.0 {
                copy = work.times(|calls| work.copies(len * size, calls))?;
            }
            let (streamed, replayed) = work.times(|calls| work.calls(entrant, len as u64, calls))?;
            println!(
                "# {name} | {len} | {} | run {} | {streamed:.2} | {replayed:.2} | {:.3}",
                entrant.name,
                entrant.plan.run,
                copy.1 / replayed
            );
            rows.push((replayed, format!("{} {streamed:.2}/{replayed:.2}", entrant.name)));
        }
        rows.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let best: Vec<_> = rows.iter().take(3).map(|(_, row)| row.as_str()).collect();
        let others: Vec<_> = rows
            .iter()
            .map(|(_, row)| row.as_str())
            .filter(|row| row.contains("default") || row.contains("WRONG"))
            .collect();
        let others = others.join("; ");
        println!("{name} {len}: copy {:.2}/{:.2}; {} ({others})", copy.0, copy.1, best.join("; "));
    }
    Ok(())
}

/// Whether a call scans rightly: as the CPU does, and beyond what it has scanned as the first one did.
fn check<Op: TestOperator>(
    work: &Work<'_>,
    entrant: &Entrant,
    output: &mut CudaSlice<Op::Item>,
    (block, expected): (&[Op::Item], &[Op::Item]),
    len: usize,
    reference: &mut Option<Vec<u8>>,
) -> Outcome<bool> {
    // SAFETY: the output has room for `len` elements, and is read only after a scan has written it.
    unsafe { result::memset_d8_async(work.output, 0xa5, len * size_of::<Op::Item>(), work.stream.cu_stream())? };
    work.calls(entrant, len as u64, 1)?;
    let checked = len.min(block.len());
    if bits(&work.stream.clone_dtoh(&output.slice(..checked))?) != bits(&expected[..checked]) {
        return Ok(false);
    }
    let found = fetch::<Op>(work.stream, output, len)?;
    Ok(reference.get_or_insert_with(|| found.clone()) == &found)
}
