//! What a short scan waits for: its kernel beside others that leave out parts of it, many launches in a graph.
//!
//! Each kernel does what the one before it in the table does and one thing more, so that the differences tell what each takes.
//! But for the last, whole one of each family their results mean nothing.

use std::sync::Arc;

use rayon::prelude::*;
use scan_codegen::{DeviceLimits, KernelSource, Overrides, Plan, ScanSpec, Segments, plan, render};
use scan_runtime::{
    BlockScan, Carry, Scanner, Strategy,
    cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut},
    nvrtc, ops,
};
use scan_tests::{
    configure,
    operators::{TestOperator, bits, inputs},
};

use super::{
    Outcome, WAY,
    back::{Entrant, Work, limits, load},
    filled, with_warp_shuffles,
};

const CALLS: usize = 40;

/// Elements, their bytes; threads of a block, bytes of a run, blocks of a cluster.
type Case = (usize, usize, Carry, u32, u32, Option<u32>);

const CASES: [Case; 27] = [
    (1 << 10, 4, Carry::OneBlock, 256, 16, None),
    (1 << 12, 4, Carry::OneBlock, 512, 48, None),
    (1 << 13, 4, Carry::Cluster, 256, 16, Some(8)),
    (1 << 14, 4, Carry::Cluster, 512, 16, Some(8)),
    (1 << 16, 4, Carry::Cluster, 1024, 32, Some(8)),
    (1 << 13, 4, Carry::LookAtAll, 128, 16, None),
    (1 << 15, 4, Carry::LookAtAll, 128, 16, None),
    (1 << 15, 4, Carry::LookAtAll, 128, 48, None),
    (1 << 16, 4, Carry::LookAtAll, 128, 16, None),
    (1 << 16, 4, Carry::LookAtAll, 128, 48, None),
    (1 << 17, 4, Carry::LookAtAll, 128, 48, None),
    (1 << 18, 4, Carry::LookAtAll, 256, 48, None),
    (1 << 20, 4, Carry::LookAtAll, 256, 80, None),
    (1 << 22, 4, Carry::LookAtAll, 256, 144, None),
    (1 << 20, 1, Carry::LookAtAll, 256, 48, None),
    (1 << 22, 1, Carry::LookAtAll, 256, 80, None),
    (1 << 24, 1, Carry::LookAtAll, 256, 144, None),
    (1 << 20, 2, Carry::LookAtAll, 256, 80, None),
    (1 << 22, 2, Carry::LookAtAll, 256, 144, None),
    (1 << 24, 2, Carry::LookAtAll, 256, 144, None),
    (1 << 16, 8, Carry::LookAtAll, 128, 48, None),
    (1 << 18, 8, Carry::LookAtAll, 256, 48, None),
    (1 << 19, 8, Carry::LookAtAll, 256, 80, None),
    (1 << 20, 8, Carry::LookAtAll, 256, 144, None),
    (1 << 20, 8, Carry::LookAtAll, 256, 168, None),
    (1 << 20, 8, Carry::LookAtAll, 512, 72, None),
    (1 << 21, 8, Carry::LookAtAll, 256, 144, None),
];

/// What stands in the kernels, and what takes its place where a part is left out.
const NUMBER: (&str, &str) = ("    ticket_bits = take_number(tickets);\n", "");
const TURN: (&str, &str) = (
    "    shared_epoch = ticket_of(ticket_bits, tickets, statuses, gridDim.x, room).epoch;\n",
    "    shared_epoch = 0;\n",
);
const EXCHANGE_OF_ALL: (&str, &str) =
    ("prefix = look_at_all(op, statuses, tile_index, epoch, input, in_place);", "prefix = aggregate;");
const SENDING: (&str, &str) = ("    publish(&statuses[tile_index], aggregate, AGGREGATE, epoch);\n", "");
const FOLDING: (&str, &str) =
    ("fold(op, prefix, any, statuses[slot], 0, blockIdx.x);", "prefix = aggregate; any = blockIdx.x > 0;");
const WAITING: (&str, &str) = ("    wait(&all_arrived[slot], iteration / 2 % 2);\n", "");
const EXPECTING: (&str, &str) =
    ("    if (threadIdx.x == 0) {\n      arrive_and_expect(", "    if (false) {\n      arrive_and_expect(");
const TELLING: (&str, &str) = ("elements > 0 && threadIdx.x < CLUSTER", "false");
const BEGINNING: (&str, &str) = ("  arrive_in_cluster();\n  State prefix", "  State prefix");
const MEETING: (&str, &str) =
    ("    if (first == 0) {\n      wait_for_cluster();", "    if (false) {\n      wait_for_cluster();");
const CLUSTER: (&str, &str) = ("__cluster_dims__(CLUSTER) ", "");
const SCANNING: (&str, &str) = (
    "aggregate = in_registers(op, run, prefix_in_tile, elements);",
    "aggregate = element_of(op, run, 0); prefix_in_tile = aggregate;",
);

/// Tiles are numbered in the order in which blocks begin, as where results take the place of elements.
const AS_IN_PLACE: (&str, &str) = ("const bool in_place = ", "const bool in_place = true || ");

/// Each warp has its part of the tile copied in bulk, and waits for that alone.
const BULK_IN: (&str, &str) = (
    "  load_tile(op, input + start, run, stage, elements);\n",
    "  __shared__ Barrier arrived[WARPS];
  if (elements == TILE && (size_t)(input + start) % 16 == 0) {
    constexpr unsigned WARP_BYTES = INPUT_BYTES / WARPS;
    const unsigned warp = threadIdx.x / WARP;
    if (threadIdx.x % WARP == 0) {
      init_barrier(&arrived[warp], 1);
      fence_barriers();
      arrive_and_expect(&arrived[warp], WARP_BYTES);
      begin_copy_in((unsigned char*)stage + warp * WARP_BYTES, (const unsigned char*)(input + start) + warp * WARP_BYTES, WARP_BYTES, &arrived[warp]);
    }
    __syncwarp();
    wait(&arrived[warp], 0);
    const InputUnit* from = (const InputUnit*)stage + threadIdx.x * INPUT_UNITS;
#pragma unroll
    for (unsigned k = 0; k < INPUT_UNITS; k++) {
      const InputUnit unit = from[k];
      for (unsigned j = 0; j < sizeof(InputUnit) / 4; j++) {
        run.word[k * sizeof(InputUnit) / 4 + j] = unit.word[j];
      }
    }
  } else {
    load_tile(op, input + start, run, stage, elements);
  }
",
);
/// And copied out.
const STORING: &str = "  __syncthreads(); // the results have been written\n  store_bytes(";
const BULK_OUT: &str = "  if (elements == TILE && (size_t)output % 16 == 0) {
    constexpr unsigned WARP_BYTES = RESULT_BYTES / WARPS;
    fence_for_copies();
    __syncwarp();
    if (threadIdx.x % WARP == 0) {
      const unsigned warp = threadIdx.x / WARP;
      begin_copy_out((unsigned char*)output + warp * WARP_BYTES, (const unsigned char*)stage + warp * WARP_BYTES, WARP_BYTES);
      wait_for_copies_out();
    }
    return;
  }
  __syncthreads(); // the results have been written
  store_bytes(";

/// The text with what copies in bulk, as look-ahead has it.
fn with_bulk_copies(text: &str, ahead: &str) -> Option<String> {
    let first = ahead.find("// A barrier in shared memory (mbarrier)")?;
    let end = ahead.find("// Keeps the optimizer from looking through a word")?;
    let kernel = text.find("// ---- The tile")?;
    Some(format!("{}{}\n{}", &text[..kernel], ahead.get(first..end)?, &text[kernel..]))
}

/// The body of a kernel that does something else: what stands between its first brace and its last.
fn with_body(text: &str, body: &str) -> Option<String> {
    let kernel = text.rfind("extern \"C\"")?;
    let open = kernel + text[kernel..].find(") {\n")? + 4;
    Some(format!("{}{body}}}\n", &text[..open]))
}

const EMPTY: &str = "";
const COPYING: &str = "  const size_t start = (size_t)blockIdx.x * TILE;
  const unsigned elements = start < n ? elements_of_tile(start, n) : 0, units = elements * sizeof(f32) / sizeof(Unit);
  const Unit* from = (const Unit*)(input + start);
  Unit* to = (Unit*)(output + start);
  constexpr unsigned A_THREAD = (INPUT_BYTES / sizeof(Unit) + THREADS - 1) / THREADS;
  Unit held[A_THREAD];
#pragma unroll
  for (unsigned k = 0; k < A_THREAD; k++) {
    if (k * THREADS + threadIdx.x < units) {
      held[k] = from[k * THREADS + threadIdx.x];
    }
  }
#pragma unroll
  for (unsigned k = 0; k < A_THREAD; k++) {
    if (k * THREADS + threadIdx.x < units) {
      to[k * THREADS + threadIdx.x] = held[k];
    }
  }
";

/// The kernels for a case: what each does, and its text.
fn variants(carry: Carry, element: &str, text: &str, ahead: &str) -> Outcome<Vec<(&'static str, String)>> {
    let without_of = |text: &str, parts: &[(&str, &str)]| {
        parts.iter().try_fold(text.to_owned(), |text, (part, other)| {
            let kernel = text.rfind("extern \"C\"").unwrap_or(0);
            match text[kernel..].matches(part).count() {
                1 => Ok(format!("{}{}", &text[..kernel], text[kernel..].replace(part, other))),
                count => Err(format!("the kernel has changed: `{part}` stands there {count} times")),
            }
        })
    };
    let without = |parts: &[(&str, &str)]| without_of(text, parts);
    let body = |body: &str| with_body(text, body).ok_or("the kernel has changed");
    let mut variants = vec![
        ("empty", body(EMPTY)?),
        ("loads and stores alone", body(&COPYING.replace("sizeof(f32)", &format!("sizeof({element})")))?),
    ];
    match carry {
        Carry::Cluster => {
            let bare = |text: String| text.replace(CLUSTER.0, CLUSTER.1);
            variants.insert(0, ("empty, no cluster", bare(body(EMPTY)?)));
            let alone = [FOLDING, WAITING, EXPECTING, TELLING, BEGINNING, MEETING];
            variants.push(("by way of shared memory", without(&[&alone[..], &[SCANNING]].concat())?));
            variants.push(("scan of the block", without(&alone)?));
            variants.push(("meeting of the cluster", without(&alone[..4])?));
            variants.push(("sums told and waited for", without(&[FOLDING])?));
        }
        Carry::OneBlock => {
            variants.push(("by way of shared memory", without(&[SCANNING])?));
        }
        _ => {
            let alone = [EXCHANGE_OF_ALL, SENDING, NUMBER, TURN];
            variants.push(("by way of shared memory", without(&[&alone[..], &[SCANNING]].concat())?));
            variants.push(("scan of the block", without(&alone)?));
            variants.push(("turn", without(&[EXCHANGE_OF_ALL, SENDING])?));
            variants.push(("message", without(&[EXCHANGE_OF_ALL])?));
        }
    }
    variants.push(("all", text.to_owned()));
    if carry == Carry::LookAtAll {
        variants.push(("all, as in place", without(&[AS_IN_PLACE])?));
        if text.contains(STORING) {
            let bulk = with_bulk_copies(text, ahead).ok_or("the kernel has changed")?;
            let out = bulk.replace(STORING, BULK_OUT);
            let alone = [EXCHANGE_OF_ALL, SENDING, NUMBER, TURN];
            let both = without_of(&out, &[&alone[..], &[SCANNING, BULK_IN]].concat())?;
            variants.push(("to runs and back in bulk", both));
            variants.push(("all, in bulk in", without_of(&bulk, &[BULK_IN])?));
            variants.push(("all, in bulk in and out", without_of(&out, &[BULK_IN])?));
        }
    }
    Ok(variants)
}

/// The plan, its kernels, and those of look-ahead.
fn planned<Op: TestOperator>(
    (_, _, carry, threads, bytes, blocks): Case,
    limits: &DeviceLimits,
) -> Outcome<(Plan, KernelSource, KernelSource)> {
    let operator = Op::new().source();
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block: BlockScan::in_registers(), carry });
    let run = bytes / size_of::<Op::Item>() as u32;
    (overrides.threads, overrides.run, overrides.blocks) = (Some(threads), Some(run), blocks);
    let spec = ScanSpec::inclusive().with_segments(Segments::None);
    let shape = plan(&operator, &spec, limits, &overrides)?.longest().clone();
    let source = render(&operator, &shape)?;
    let mut overrides = Overrides::default();
    overrides.strategy = Some(with_warp_shuffles(Carry::LookAhead));
    let ahead = render(&operator, plan(&operator, &spec, limits, &overrides)?.longest())?;
    Ok((shape, source, ahead))
}

/// Compiles all of them, without a device.
pub(super) fn compile_all(limits: &DeviceLimits) -> Outcome {
    fn compile<Op: TestOperator>(element: &str, case: Case, limits: &DeviceLimits) -> Outcome {
        let (_, source, ahead) = planned::<Op>(case, limits)?;
        for (what, text) in variants(case.2, element, &source.text, &ahead.text)? {
            let mut source = source.clone();
            source.text = text;
            nvrtc::compile(&source, what, limits.architecture)?;
        }
        println!("{case:?}: compiled");
        Ok(())
    }
    for case in CASES {
        match case.1 {
            1 => compile::<ops::Sum<u8>>("u8", case, limits)?,
            2 => compile::<ops::Sum<i16>>("i16", case, limits)?,
            4 => compile::<ops::Sum<f32>>("f32", case, limits)?,
            _ => compile::<ops::Sum<u64>>("u64", case, limits)?,
        }
    }
    Ok(())
}

/// The kernels of each case, by what they do.
pub(super) fn sweep(scanner: &Scanner) -> Outcome {
    println!("\n| elements | kernel | what it does | microseconds in a graph |\n|--:|---|---|--:|");
    for case in CASES {
        match case.1 {
            1 => sweep_case::<ops::Sum<u8>>("u8", case, scanner)?,
            2 => sweep_case::<ops::Sum<i16>>("i16", case, scanner)?,
            4 => sweep_case::<ops::Sum<f32>>("f32", case, scanner)?,
            _ => sweep_case::<ops::Sum<u64>>("u64", case, scanner)?,
        }
    }
    Ok(())
}

fn sweep_case<Op: TestOperator>(element: &str, case: Case, scanner: &Scanner) -> Outcome {
    let stream: Arc<CudaStream> = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let (len, size, carry, threads, bytes, _) = case;
    let block = inputs::<Op>(len);
    let expected = bits(&configure::<Op>(&Scanner::cpu(), WAY).run(&block)?);
    let input = filled(&stream, &block, len)?;
    let mut output = filled(&stream, &block, len)?;
    let work = Work {
        stream: &stream,
        input: input.device_ptr(&stream).0,
        output: output.device_ptr_mut(&stream).0,
        heads: (0, 0),
    };
    let copy = work.time(CALLS, |calls| work.copies(len * size, calls))?;
    let (plan, source, ahead) = planned::<Op>(case, &limits(scanner))?;
    let name = format!("{element}, {carry}, {threads} × {bytes} bytes");
    println!("| {len} | {name} | copy by the driver | {copy:.2} |");
    let entrants: Vec<(&str, Option<Entrant>)> = variants(carry, element, &source.text, &ahead.text)?
        .into_par_iter()
        .map(|(what, text)| {
            let mut source = source.clone();
            source.text = text;
            (what, load(scanner, what.to_owned(), plan.clone(), &source, len))
        })
        .collect();
    for (what, entrant) in entrants {
        let mut entrant = entrant.ok_or_else(|| format!("`{what}` of {name} does not compile"))?;
        let together: &[bool] = if what == "empty" { &[false, true] } else { &[false] };
        for &cooperative in together {
            entrant.cooperative = cooperative;
            let time = work.time(CALLS, |calls| work.calls(&entrant, len as u64, calls))?;
            let how = if cooperative { ", launched cooperatively" } else { "" };
            let right = !what.starts_with("all") || bits(&stream.clone_dtoh(&output)?) == expected;
            let how = if right { how } else { " WRONG" };
            println!("| {len} | {name} | {what}{how} | {time:.2} |");
        }
    }
    Ok(())
}
