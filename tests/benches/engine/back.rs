//! The shapes of one block, of looking at all tiles and of looking back at small and middle lengths, without the host's part:
//! many launches in a graph. With segments too.

use std::{ffi::c_void, ops::RangeInclusive, ptr, sync::Arc};

use rayon::prelude::*;
use scan_codegen::{
    Argument, DeviceLimits, KernelSource, Launch, Overrides, Plan, ScanSpec, Schedule, Segments, plan, render,
};
use scan_runtime::{
    BlockScan, Carry, Scanner, Strategy,
    cudarc::{
        driver::{
            CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, result,
            sys::{
                CUdeviceptr, CUfunction_attribute, CUgraphInstantiate_flags, CUlaunchAttribute, CUlaunchAttributeID,
                CUlaunchAttributeValue, CUlaunchConfig, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                cuLaunchKernelEx,
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

use super::{
    Outcome, WAY, filled, median, sample,
    segments::{HeadSource, Heads, Lengths},
    with_warp_shuffles,
};

/// Calls in a row: fewer where one takes long.
const CALLS: usize = 20;
const LONG_CALLS: usize = 5;
const SAMPLES: usize = 5;
/// Lengths: these powers of two, and half as much again.
const LENGTHS: RangeInclusive<u32> = 8..=27;
/// The longest input, in bytes.
const LONGEST: usize = 640 << 20;
/// Elements at the beginning and at the end of which the results are compared.
const CHECKED: usize = 1 << 17;
/// Segments have this mean length.
const SEGMENT: u64 = 1000;
/// Threads of a block, bytes of a run: of one block alone, of one cluster of so many blocks, of blocks that look at all tiles, of
/// blocks that look back, with the tiles that a lane looks at, and of the teams of look-ahead, with their number.
const ALONE: [(u32, u32); 4] = [(256, 16), (512, 16), (512, 48), (1024, 32)];
const CLUSTER: [(u32, u32, u32); 12] = [
    (128, 16, 8),
    (256, 16, 4),
    (256, 16, 8),
    (256, 32, 8),
    (256, 48, 8),
    (512, 16, 4),
    (512, 16, 8),
    (512, 32, 8),
    (512, 48, 8),
    (512, 80, 8),
    (1024, 16, 8),
    (1024, 32, 8),
];
const AT_ALL: [(u32, u32); 16] = [
    (128, 16),
    (128, 48),
    (128, 80),
    (128, 144),
    (128, 208),
    (256, 176),
    (256, 16),
    (256, 32),
    (256, 48),
    (256, 80),
    (256, 112),
    (256, 144),
    (256, 208),
    (512, 32),
    (512, 48),
    (512, 80),
];
const BACK: [(u32, u32, u32); 4] = [(256, 48, 1), (256, 80, 1), (256, 112, 1), (512, 48, 1)];
const AHEAD: [(u32, u32, u32); 4] = [(192, 60, 3), (192, 92, 3), (128, 92, 3), (256, 60, 3)];
/// The same for elements of more than so many bytes.
const AHEAD_LARGE: [(u32, u32, u32); 12] = [
    (192, 144, 3),
    (192, 108, 2),
    (192, 180, 2),
    (128, 144, 3),
    (128, 192, 3),
    (128, 192, 2),
    (128, 320, 2),
    (96, 192, 3),
    (64, 192, 4),
    (64, 192, 3),
    (64, 320, 3),
    (64, 600, 2),
];
const LARGE: usize = 12;
/// The least bytes for which look-ahead is measured.
const LEAST_AHEAD: usize = 64 << 10;
/// The most tiles at all of which a block may look.
const MOST_TILES: usize = 4096;

pub(super) struct Entrant {
    name: String,
    plan: Plan,
    function: CudaFunction,
    workspace: CudaSlice<u8>,
    /// Whether its blocks need to be on the device at once, whatever the plan says.
    pub(super) cooperative: bool,
    /// Where the workspace is.
    place: CUdeviceptr,
}

impl Entrant {
    /// What it is, and its shape.
    pub(super) fn shape(&self) -> String {
        let teams = self
            .plan
            .pipeline
            .map_or_else(String::new, |pipeline| format!(" × {}, {} stages", pipeline.teams, pipeline.stages));
        format!("{} ({} × {}{teams})", self.name, self.plan.threads, self.plan.run)
    }
}

pub(super) fn limits(scanner: &Scanner) -> DeviceLimits {
    let mut limits = DeviceLimits::new(scanner.limits().architecture, scanner.limits().multiprocessors);
    limits.shared_bytes_per_block_optin = scanner.limits().shared_bytes_per_block_optin;
    limits
}

/// Plans, compiles and loads; none where there is no such shape.
fn entrant<Op: TestOperator>(
    scanner: &Scanner,
    name: String,
    overrides: &Overrides,
    segments: &Segments,
    longest: usize,
) -> Option<Entrant> {
    let operator = Op::new().source();
    let spec = ScanSpec::inclusive().with_segments(segments.clone());
    let plan = plan(&operator, &spec, &limits(scanner), overrides).ok()?.longest().clone();
    let source = render(&operator, &plan).ok()?;
    load(scanner, name, plan, &source, longest)
}

/// Compiles and loads the last kernel of a source.
pub(super) fn load(
    scanner: &Scanner,
    name: String,
    plan: Plan,
    source: &KernelSource,
    longest: usize,
) -> Option<Entrant> {
    let compiled = nvrtc::compile(source, &name, scanner.limits().architecture).ok()?;
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
    Some(Entrant { name, plan, function, workspace, cooperative: false, place })
}

pub(super) struct Work<'a> {
    pub(super) stream: &'a Arc<CudaStream>,
    pub(super) input: CUdeviceptr,
    pub(super) output: CUdeviceptr,
    /// What tells where segments begin, and how many offsets there are.
    pub(super) heads: (CUdeviceptr, u64),
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
                Argument::StatusRoom => schedule.workspace.status_room(entrant.workspace.len() as u64),
                Argument::Length(len) => len,
                Argument::Heads => self.heads.0,
                Argument::HeadCount => self.heads.1,
                _ => 0,
            })
            .collect();
        let mut pointers: Vec<*mut c_void> = launch
            .arguments
            .iter()
            .zip(&mut scalars)
            .map(|(argument, scalar)| match argument {
                Argument::Operator => ptr::from_ref(&operator).cast_mut().cast(),
                _ => ptr::from_mut(scalar).cast(),
            })
            .collect();
        let cooperative = launch.cooperative.applies(self.input == self.output) || entrant.cooperative;
        let (id, value) = match cooperative {
            true => (CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CUlaunchAttributeValue { cooperative: 1 }),
            false => (
                CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                CUlaunchAttributeValue { programmaticStreamSerializationAllowed: launch.programmatic.into() },
            ),
        };
        let mut attribute = CUlaunchAttribute { id, pad: [0; 4], value };
        let config = CUlaunchConfig {
            gridDimX: launch.blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: launch.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: launch.dynamic_shared_bytes,
            hStream: self.stream.cu_stream(),
            attrs: &mut attribute,
            numAttrs: 1,
        };
        let function = entrant.function.cu_function();
        // SAFETY: these are the arguments that the plan lists for an operator without parameters; the buffers are as long.
        unsafe { cuLaunchKernelEx(&config, function, pointers.as_mut_ptr(), ptr::null_mut()) }.result()?;
        Ok(())
    }

    /// Many calls in a row.
    pub(super) fn calls(&self, entrant: &Entrant, len: u64, calls: usize) -> Outcome {
        let schedule = entrant.plan.schedule(len)?;
        for _ in 0..calls {
            for launch in &schedule.launches {
                self.launch(entrant, &schedule, launch)?;
            }
        }
        Ok(())
    }

    pub(super) fn copies(&self, bytes: usize, calls: usize) -> Outcome {
        for _ in 0..calls {
            // SAFETY: both buffers are as long.
            unsafe { result::memcpy_dtod_async(self.output, self.input, bytes, self.stream.cu_stream())? };
        }
        Ok(())
    }

    /// Microseconds of a call in a graph.
    pub(super) fn time(&self, count: usize, calls: impl Fn(usize) -> Outcome) -> Outcome<f64> {
        calls(1)?;
        self.stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let captured = calls(count);
        let graph = self.stream.end_capture(CUgraphInstantiate_flags(0));
        captured?;
        let graph = graph?.ok_or("nothing was captured")?;
        graph.launch()?;
        let times = (0..SAMPLES).map(|_| Ok(sample(self.stream, || Ok(graph.launch()?))? / count as f64));
        Ok(median(times.collect::<Outcome<Vec<f64>>>()?))
    }
}

/// The shapes over elements of an operator, in one segment or in many.
pub(super) fn sweep<Op: TestOperator>(name: &str, scanner: &Scanner, head_source: Option<HeadSource>) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let size = size_of::<Op::Item>();
    let longest = (3_usize << (LENGTHS.end() - 1)).min(LONGEST / size);
    let block = inputs::<Op>(longest.min(1 << 21));
    let input = filled(&stream, &block, longest)?;
    let mut output = filled(&stream, &block, longest)?;
    let heads = head_source.map(|_| Heads::new(&stream, Lengths::Mean(SEGMENT), longest)).transpose()?;
    let expected = match &heads {
        None => configure::<Op>(&Scanner::cpu(), WAY).run(&block)?,
        Some(heads) => configure::<Op>(&Scanner::cpu(), WAY).by_flags(&heads.begins[..block.len()]).run(&block)?,
    };
    let name = head_source.map_or_else(|| name.to_owned(), |head_source| format!("{name} by {head_source}"));
    let segments = head_source.map_or(Segments::None, HeadSource::segments);

    let mut wanted = Vec::new();
    for carry in [Carry::LookBack, Carry::LookAhead] {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(with_warp_shuffles(carry));
        wanted.push((carry.to_string(), overrides));
    }
    let alone = ALONE.map(|(threads, bytes)| (Carry::OneBlock, "1", threads, bytes, None));
    let cluster = CLUSTER.map(|(threads, bytes, blocks)| (Carry::Cluster, "C", threads, bytes, Some(blocks)));
    let at_all = AT_ALL.map(|(threads, bytes)| (Carry::LookAtAll, "A", threads, bytes, None));
    let back = BACK.map(|(threads, bytes, looks)| (Carry::LookBack, "B", threads, bytes, Some(looks)));
    let large = AHEAD_LARGE.into_iter().filter(|_| size > LARGE);
    let ahead = AHEAD.into_iter().chain(large);
    let ahead = ahead.map(|(threads, bytes, teams)| (Carry::LookAhead, "L", threads, bytes, Some(teams)));
    for (carry, letter, threads, bytes, count) in
        alone.into_iter().chain(cluster).chain(at_all).chain(back).chain(ahead)
    {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(match carry {
            Carry::LookAhead => with_warp_shuffles(carry),
            _ => Strategy { block: BlockScan::in_registers(), carry },
        });
        overrides.threads = Some(threads);
        overrides.run = Some((bytes / size as u32).max(1));
        match carry {
            Carry::Cluster => overrides.blocks = count,
            Carry::LookBack => overrides.statuses_per_lane = count,
            Carry::LookAhead => overrides.teams = count,
            _ => (),
        }
        if wanted.iter().any(|(_, known)| *known == overrides) {
            continue;
        }
        let count = count.filter(|count| *count > 1).map(|count| format!("/{count}")).unwrap_or_default();
        wanted.push((format!("{letter}{threads}x{bytes}{count}"), overrides));
    }
    let entrants: Vec<Entrant> = wanted
        .into_par_iter()
        .filter_map(|(name, overrides)| entrant::<Op>(scanner, name, &overrides, &segments, longest))
        .collect();
    let mut lengths: Vec<usize> =
        LENGTHS.flat_map(|log| [2, 3].map(|halves| (halves << (log - 1)).min(longest))).collect();
    lengths.dedup();
    for len in lengths {
        let mut reference = None;
        let mut rows = Vec::new();
        let calls = if len * size > 64 << 20 { LONG_CALLS } else { CALLS };
        let place = |head_source| heads.as_ref().map_or((0, 0), |heads| heads.place(head_source, &stream));
        let work = Work {
            stream: &stream,
            input: input.device_ptr(&stream).0,
            output: output.device_ptr_mut(&stream).0,
            heads: head_source.map_or((0, 0), place),
        };
        let copy = work.time(calls, |calls| work.copies(len * size, calls))?;
        for entrant in &entrants {
            let tiles = len.div_ceil(entrant.plan.tile as usize);
            let is_sensible = match entrant.plan.strategy.carry {
                Carry::OneBlock => tiles <= 2,
                Carry::Cluster => (2..=8).contains(&tiles),
                Carry::LookAtAll => (2..=MOST_TILES).contains(&tiles),
                Carry::LookAhead => len * size >= LEAST_AHEAD,
                _ => tiles >= 2,
            };
            if !is_sensible {
                continue;
            }
            if !check::<Op>(&work, entrant, &output, &expected, len, &mut reference)? {
                rows.push((f64::INFINITY, format!("{}: WRONG", entrant.name)));
                continue;
            }
            let time = work.time(calls, |calls| work.calls(entrant, len as u64, calls))?;
            println!("# {name} | {len} | {} | run {} | {time:.2} | {:.3}", entrant.name, entrant.plan.run, copy / time);
            rows.push((time, format!("{} {time:.2}", entrant.name)));
        }
        rows.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let best: Vec<_> = rows.iter().take(6).map(|(_, row)| row.as_str()).collect();
        let others: Vec<_> = rows
            .iter()
            .skip(6)
            .map(|(_, row)| row.as_str())
            .filter(|row| ["look-ahead", "B256x112", "WRONG"].iter().any(|of| row.contains(of)))
            .collect();
        println!("{name} {len}: copy {copy:.2}; {} ({})", best.join(", "), others.join(", "));
    }
    Ok(())
}

/// Whether a call scans rightly: at the beginning as the CPU does, and at the end as the first one did.
fn check<Op: TestOperator>(
    work: &Work<'_>,
    entrant: &Entrant,
    output: &CudaSlice<Op::Item>,
    expected: &[Op::Item],
    len: usize,
    reference: &mut Option<Vec<u8>>,
) -> Outcome<bool> {
    // SAFETY: the output has room for `len` elements, and is read only after a scan has written it.
    unsafe { result::memset_d8_async(work.output, 0xa5, len * size_of::<Op::Item>(), work.stream.cu_stream())? };
    work.calls(entrant, len as u64, 1)?;
    let checked = len.min(expected.len()).min(CHECKED);
    if bits(&work.stream.clone_dtoh(&output.slice(..checked))?) != bits(&expected[..checked]) {
        return Ok(false);
    }
    let found = bits(&work.stream.clone_dtoh(&output.slice(len - checked..len))?);
    Ok(reference.get_or_insert_with(|| found.clone()) == &found)
}
