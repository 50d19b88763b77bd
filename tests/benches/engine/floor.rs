//! What a short scan waits for: its kernel beside others that leave out parts of it, many launches in a graph.
//!
//! Each kernel does what the one before it in the table does and one thing more, so that the differences tell what each takes.
//! But for the last, whole one of each family their results mean nothing.

use std::sync::Arc;

use scan_codegen::{KernelSource, Overrides, Plan, ScanSpec, Segments, plan, render};
use scan_runtime::{
    BlockScan, Carry, ScanOp, Scanner, Strategy,
    cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut},
    ops,
};
use scan_tests::operators::inputs;

use super::{
    Outcome,
    back::{Entrant, Work, limits, load},
    filled,
};

const CALLS: usize = 40;

/// Elements; threads of a block, bytes of a run, blocks of a cluster.
type Case = (usize, Carry, u32, u32, Option<u32>);

const CASES: [Case; 10] = [
    (1 << 10, Carry::OneBlock, 256, 16, None),
    (1 << 12, Carry::OneBlock, 512, 48, None),
    (1 << 13, Carry::Cluster, 256, 16, Some(8)),
    (1 << 14, Carry::Cluster, 512, 16, Some(8)),
    (1 << 16, Carry::Cluster, 1024, 32, Some(8)),
    (1 << 13, Carry::LookAtAll, 128, 16, None),
    (1 << 16, Carry::LookAtAll, 128, 16, None),
    (1 << 16, Carry::LookAtAll, 128, 48, None),
    (1 << 18, Carry::LookAtAll, 256, 48, None),
    (1 << 20, Carry::LookAtAll, 256, 80, None),
];

/// What stands in the kernels, and what takes its place where a part is left out.
const TURN: (&str, &str) = (
    "  if (threadIdx.x == 0) {\n    turn_taken = take_turn(turns, messages, gridDim.x, room);\n  }\n  __syncthreads();\n  \
     const Turn turn = turn_taken;\n",
    "  const Turn turn = {blockIdx.x, 0};\n",
);
const EXCHANGE_OF_ALL: (&str, &str) =
    ("before = look_at_all(sum_op, messages, number, turn.epoch);", "before = total;");
const SENDING: (&str, &str) = ("    send(&messages[number], total, AGGREGATE, turn.epoch);\n", "");
const FOLDING: (&str, &str) =
    ("fold(sum_op, before, any, told[place], 0, blockIdx.x);", "before = total; any = blockIdx.x > 0;");
const WAITING: (&str, &str) = ("    wait(&all_told[place], time / 2 % 2);\n", "");
const EXPECTING: (&str, &str) =
    ("    if (threadIdx.x == 0) {\n      arrive_and_expect(", "    if (false) {\n      arrive_and_expect(");
const TELLING: (&str, &str) = ("elements > 0 && threadIdx.x < CLUSTER", "false");
const BEGINNING: (&str, &str) = ("  arrive_in_cluster();\n  f32 before", "  f32 before");
const MEETING: (&str, &str) =
    ("    if (first == 0) {\n      wait_for_cluster();", "    if (false) {\n      wait_for_cluster();");
const CLUSTER: (&str, &str) = ("__cluster_dims__(CLUSTER) ", "");
const SCANNING: (&str, &str) =
    ("total = in_registers(sum_op, run, earlier, elements);", "total = element_of(sum_op, run, 0); earlier = total;");

/// Tiles are numbered by block, and the turn is asked for its epoch only, while the tile is loaded.
const BY_INDEX: &str = "all, tiles by block index";
const BY_INDEX_PARTS: [(&str, &str); 4] = [
    (TURN.0, "  unsigned long long taken = 0;\n  if (threadIdx.x == 0) {\n    taken = take_number(turns);\n  }\n"),
    ("number = turn.number;", "number = blockIdx.x;"),
    (
        "  load_tile(sum_op, input + start, run, stage, elements);\n",
        "  load_tile(sum_op, input + start, run, stage, elements);\n  if (threadIdx.x == 0) {\n    \
         turn_taken = {(unsigned)taken, (unsigned)(taken >> 32)};\n    if (turn_taken.number == gridDim.x - 1) {\n      \
         store_relaxed(turns, (unsigned long long)(turn_taken.epoch + 1) << 32);\n    }\n  }\n",
    ),
    (
        "total = in_registers(sum_op, run, earlier, elements);\n",
        "total = in_registers(sum_op, run, earlier, elements);\n  const Turn turn = turn_taken;\n",
    ),
];

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
fn variants(carry: Carry, text: &str) -> Outcome<Vec<(&'static str, String)>> {
    let without = |parts: &[(&str, &str)]| {
        parts.iter().try_fold(text.to_owned(), |text, (part, other)| {
            let kernel = text.rfind("extern \"C\"").unwrap_or(0);
            match text[kernel..].matches(part).count() {
                1 => Ok(format!("{}{}", &text[..kernel], text[kernel..].replace(part, other))),
                count => Err(format!("the kernel has changed: `{part}` stands there {count} times")),
            }
        })
    };
    let body = |body: &str| with_body(text, body).ok_or("the kernel has changed");
    let mut variants = vec![("empty", body(EMPTY)?), ("loads and stores alone", body(COPYING)?)];
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
            let alone = [EXCHANGE_OF_ALL, SENDING, TURN];
            variants.push(("by way of shared memory", without(&[&alone[..], &[SCANNING]].concat())?));
            variants.push(("scan of the block", without(&alone)?));
            variants.push(("turn", without(&[EXCHANGE_OF_ALL, SENDING])?));
            variants.push(("message", without(&[EXCHANGE_OF_ALL])?));
        }
    }
    variants.push(("all", text.to_owned()));
    if carry == Carry::LookAtAll {
        variants.push((BY_INDEX, without(&BY_INDEX_PARTS)?));
    }
    Ok(variants)
}

fn planned((_, carry, threads, bytes, blocks): Case, scanner: &Scanner) -> Outcome<(Plan, KernelSource)> {
    let operator = ops::sum::<f32>().source();
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block: BlockScan::in_registers(), carry });
    (overrides.threads, overrides.run, overrides.blocks) = (Some(threads), Some(bytes / 4), blocks);
    let spec = ScanSpec::inclusive().with_segments(Segments::None);
    let plan = plan(&operator, &spec, &limits(scanner), &overrides)?.longest().clone();
    let source = render(&operator, &plan)?;
    Ok((plan, source))
}

/// The kernels of each case, by what they do.
pub(super) fn sweep(scanner: &Scanner) -> Outcome {
    let stream: Arc<CudaStream> = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let longest = 1 << 20;
    let block = inputs::<ops::Sum<f32>>(longest);
    let input = filled(&stream, &block, longest)?;
    let mut output = filled(&stream, &block, longest)?;
    println!("\n| elements | kernel | what it does | microseconds in a graph |\n|--:|---|---|--:|");
    for case in CASES {
        let (len, carry, threads, bytes, _) = case;
        let work = Work {
            stream: &stream,
            input: input.device_ptr(&stream).0,
            output: output.device_ptr_mut(&stream).0,
            heads: (0, 0),
        };
        let copy = work.time(CALLS, |calls| work.copies(len * 4, calls))?;
        let (plan, source) = planned(case, scanner)?;
        let name = format!("{carry}, {threads} × {bytes} bytes");
        println!("| {len} | {name} | copy by the driver | {copy:.2} |");
        for (what, text) in variants(carry, &source.text)? {
            let mut source = source.clone();
            source.text = text;
            let entrant: Option<Entrant> = load(scanner, what.to_owned(), plan.clone(), &source, longest);
            let mut entrant = entrant.ok_or_else(|| format!("`{what}` of {name} does not compile"))?;
            let together: &[bool] = if [BY_INDEX, "empty"].contains(&what) { &[false, true] } else { &[false] };
            for &cooperative in together {
                entrant.cooperative = cooperative;
                let time = work.time(CALLS, |calls| work.calls(&entrant, len as u64, calls))?;
                let how = if cooperative { ", launched cooperatively" } else { "" };
                println!("| {len} | {name} | {what}{how} | {time:.2} |");
            }
        }
    }
    Ok(())
}
