//! What look-ahead takes, part by part: its kernel beside others that leave parts of it out, or do them in another way.
//!
//! Each is made of the text of the kernel as it is generated, compiled and launched alone, in turns with a copy of the bytes that
//! it must move. Those that leave nothing out must give what the kernel itself gives, and that what the CPU gives.

use std::{fmt::Write as _, sync::Arc};

use rayon::prelude::*;
use scan_codegen::{
    Architecture, DeviceLimits, KernelSource, OpSource, Overrides, Plan, ScanSpec, Segments, plan, render,
};
use scan_runtime::{
    Carry, ScanOp as _, Scanner,
    cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut},
    nvrtc, ops,
};
use scan_tests::{
    configure,
    gallery::{self, Example, visit_gallery},
    operators::{Interval, MatrixProduct, TestOperator, bits, inputs},
};

use super::{
    ModularProduct, Outcome, Product, WAY,
    back::{Entrant, Work, limits, load},
    fetch, filled, median, sample,
    segments::{HeadSource, Heads, Lengths},
    with_warp_shuffles,
};

/// Bytes of the input, in segments and else.
const SEGMENTED_BYTES: usize = 512 << 20;
const BYTES: [usize; 2] = [256 << 20, 2 << 30];
const SAMPLES: usize = 7;

/// A text that stands in the kernel once, and what takes its place.
type Part = (&'static str, &'static str);

/// Threads of a team, teams, elements of a run, stages; none where the planner chooses.
type Shape = (u32, u32, u32, Option<u32>);

/// A kernel.
#[derive(Clone)]
struct Variant {
    what: String,
    shape: Option<Shape>,
    parts: Vec<Part>,
    /// Blocks of a multiprocessor.
    blocks: u32,
    /// Whether it leaves nothing out.
    means: bool,
}

fn variant(what: &str, parts: &[&[Part]], means: bool) -> Variant {
    Variant { what: what.to_owned(), shape: None, parts: parts.concat(), blocks: 1, means }
}

impl Variant {
    fn shaped(&self, shape: Shape) -> Self {
        let (threads, teams, run, stages) = shape;
        let stages = stages.map_or_else(String::new, |stages| format!(" × {stages} stages"));
        Variant {
            what: format!("{}, {threads} × {teams} × {run}{stages}", self.what),
            shape: Some(shape),
            ..self.clone()
        }
    }

    fn twice(&self) -> Self {
        Variant { what: format!("{}, two blocks", self.what), blocks: 2, ..self.clone() }
    }
}

const NO_LOOKER: [Part; 2] = [
    ("  if (warp == LOOK_AHEAD_WARP) {\n", "  if (warp == LOOK_AHEAD_WARP) {\n    return;\n"),
    ("        wait(&prefix_ready[stage], use % 2);\n", ""),
];
const NO_GATHERERS: [Part; 1] =
    [("  } else if (warp >= GROUP_WARP) {\n", "  } else if (warp >= GROUP_WARP) {\n    return;\n")];
const NO_MESSAGES: [Part; 1] =
    [("            publish(&statuses[tile_index], warp_aggregate, AGGREGATE, epoch);\n", "")];
const NO_MESSAGES_OF_SEGMENTS: [Part; 1] = [(
    "            publish(&statuses[tile_index], warp_aggregate, warps_with_heads == 0 ? AGGREGATE : PREFIX, epoch);\n",
    "",
)];
const NO_WAITING: [Part; 2] = [
    ("  while (!arrived) {\n    arrived = true;\n", "  {\n    arrived = true;\n"),
    ("    if (!arrived) {\n      load_statuses(window, statuses, count, lane);\n    }\n", ""),
];
const NO_REDUCTION: [Part; 1] = [(
    "          for (unsigned k = 1; k < TEAM_RUN; k++) {\n            aggregate = opaque(",
    "          for (unsigned k = 1; k < 1; k++) {\n            aggregate = opaque(",
)];
const NO_SCAN: [Part; 1] = [(
    "        __syncwarp();\n        if (tile.whole) {\n",
    "        __syncwarp();\n        if (true) {\n        } else if (tile.whole) {\n",
)];
/// The same where results do not take the place of elements.
const NO_SCAN_APART: [Part; 1] = [(
    "overwrite other threads' elements\n        if (tile.whole) {\n",
    "overwrite other threads' elements\n        if (true) {\n        } else if (tile.whole) {\n",
)];
/// A tile is handed over in the turn in which it has come.
const AT_ONCE: [Part; 3] = [
    ("      if (iteration >= TEAMS) {\n", "      if (tile_index < tiles) {\n"),
    (
        "        const unsigned stage = (iteration - TEAMS) % STAGES, use = (iteration - TEAMS) / STAGES;\n",
        "        const unsigned stage = iteration % STAGES, use = iteration / STAGES;\n",
    ),
    ("previous_tile_index = tile_index - TEAMS * gridDim.x;", "previous_tile_index = tile_index;"),
];
/// Results are copied out before there is anything to wait for.
const OUT_FIRST: [Part; 2] = [
    (
        "      if (iteration > 0 && next_tile_index < tiles) {\n        wait_for_copies_out(); // the stage is free\n",
        "      const Tile tile = tile_at(tile_index, head_padding, n, copies);\n      if (tile.whole && copies_out) {\n        \
         begin_copy_out((unsigned char*)(output + tile.start), stages + stage * STAGE_BYTES, RESULT_BYTES);\n      } else {\n        \
         asm volatile(\"cp.async.bulk.commit_group;\" : : : \"memory\");\n      }\n      \
         if (iteration > 0 && next_tile_index < tiles) {\n        asm volatile(\"cp.async.bulk.wait_group.read 1;\" : : : \"memory\");\n",
    ),
    (
        "      const Tile tile = tile_at(tile_index, head_padding, n, copies);\n      if (tile.whole && copies_out) {\n        \
         begin_copy_out((unsigned char*)(output + tile.start), stages + stage * STAGE_BYTES, RESULT_BYTES);\n      }\n    }\n",
        "    }\n",
    ),
];
const EVICT_IN: [Part; 1] = [(
    "  asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\"\n               \
     : : \"r\"(shared_address(to)), \"l\"(from), \"r\"(bytes), \"r\"(shared_address(barrier)) : \"memory\");\n",
    "  unsigned long long policy;\n  \
     asm volatile(\"createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\" : \"=l\"(policy));\n  \
     asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;\"\n \
     : : \"r\"(shared_address(to)), \"l\"(from), \"r\"(bytes), \"r\"(shared_address(barrier)), \"l\"(policy) : \"memory\");\n",
)];
const EVICT_OUT: [Part; 1] = [(
    "  asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\"\n               : : \"l\"(to), \"r\"(shared_address(from)), \"r\"(bytes) : \"memory\");\n",
    "  unsigned long long policy;\n  \
     asm volatile(\"createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\" : \"=l\"(policy));\n  \
     asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;\" : : \"l\"(to), \"r\"(shared_address(from)), \"r\"(bytes), \"l\"(policy) : \"memory\");\n",
)];
/// Two rounds of a block are of neighbouring tiles.
const NEIGHBOURS: [Part; 1] = [(
    "  Tile tile;\n  tile.start = (size_t)tile_index * TEAM_TILE - head_padding;\n",
    "  Tile tile;\n  const unsigned all_tiles = (unsigned)((n + head_padding + TEAM_TILE - 1) / TEAM_TILE), pairs = all_tiles / (2 * gridDim.x);\n  \
     const unsigned of_round = tile_index % (2 * gridDim.x);\n  \
     if (tile_index < pairs * 2 * gridDim.x) {\n    \
     tile_index = tile_index - of_round + of_round % gridDim.x * 2 + of_round / gridDim.x;\n  }\n  \
     tile.start = (size_t)tile_index * TEAM_TILE - head_padding;\n",
)];
/// Each block has a stretch of its own.
const STRETCHES: [Part; 1] = [(
    "  Tile tile;\n  tile.start = (size_t)tile_index * TEAM_TILE - head_padding;\n",
    "  Tile tile;\n  const unsigned all_tiles = (unsigned)((n + head_padding + TEAM_TILE - 1) / TEAM_TILE), iterations = all_tiles / gridDim.x;\n  \
     if (tile_index < iterations * gridDim.x) {\n    \
     tile_index = tile_index % gridDim.x * iterations + tile_index / gridDim.x;\n  }\n  \
     tile.start = (size_t)tile_index * TEAM_TILE - head_padding;\n",
)];
const PREFETCH: [Part; 1] = [(
    "        wait_for_copies_out(); // the stage is free\n",
    "        wait_for_copies_out(); // the stage is free\n        {\n          \
     const Tile ahead = tile_at(next_tile_index + 4 * gridDim.x, head_padding, n, copies);\n          \
     if (later + 4 * gridDim.x < tiles && ahead.whole) {\n            \
     asm volatile(\"cp.async.bulk.prefetch.L2.global [%0], %1;\" : : \"l\"(input + ahead.start), \"r\"(INPUT_BYTES) : \"memory\");\n          \
     }\n        }\n",
)];
const LOOKS_EARLY: [Part; 1] = [(
    "constexpr bool PREFETCHES_WINDOW = sizeof(TileStatus) > sizeof(Packet);",
    "constexpr bool PREFETCHES_WINDOW = true;",
)];

/// A run is two halves, of which each is a chain of applications; the sum of the first half is kept from turn to turn.
const HALVES: [Part; 5] = [
    (
        " // exclusive, of this lane's run, in the tile published last\n",
        ";\n    decltype(prefix_in_warp) first_half;\n",
    ),
    (
        "next_prefix_in_warp;\n      if (tile_index < tiles) {\n",
        "next_prefix_in_warp, next_first_half;\n      if (tile_index < tiles) {\n",
    ),
    (
        "          aggregate = element_of(op, run, 0);\n#pragma unroll\n          for (unsigned k = 1; k < TEAM_RUN; k++) {\n            \
         aggregate = opaque(op.combine(aggregate, element_of(op, run, k)));\n          }\n",
        "          constexpr unsigned HALF = TEAM_RUN / 2;\n          next_first_half = element_of(op, run, 0);\n          \
         aggregate = element_of(op, run, HALF);\n#pragma unroll\n          \
         for (unsigned k = 1; k < TEAM_RUN - HALF; k++) {\n            \
         if (k < HALF) {\n              next_first_half = opaque(op.combine(next_first_half, element_of(op, run, k)));\n            }\n            \
         aggregate = opaque(op.combine(aggregate, element_of(op, run, HALF + k)));\n          }\n          \
         aggregate = op.combine(next_first_half, aggregate);\n",
    ),
    (
        "#pragma unroll\n          for (unsigned k = 0; k < TEAM_RUN; k++) {\n            const State element = element_of(op, run, k);\n            \
         prefix = then(op, any, prefix, element);\n            const Output result = result_of(op, prefix);\n            \
         any = true;\n            prefix = opaque(prefix);\n            \
         put_result(stage_bytes, thread, k, result);\n          }\n",
        "          constexpr unsigned HALF = TEAM_RUN / 2;\n          \
         State later = any ? op.combine(prefix, first_half) : first_half;\n\
         #pragma unroll\n          for (unsigned k = 0; k < TEAM_RUN - HALF; k++) {\n            if (k < HALF) {\n              \
         prefix = opaque(then(op, any, prefix, element_of(op, run, k)));\n              any = true;\n              \
         put_result(stage_bytes, thread, k, prefix);\n            }\n            \
         later = opaque(op.combine(later, element_of(op, run, HALF + k)));\n            \
         put_result(stage_bytes, thread, HALF + k, later);\n          }\n",
    ),
    (
        "      prefix_in_warp = next_prefix_in_warp;\n",
        "      prefix_in_warp = next_prefix_in_warp;\n      first_half = next_first_half;\n",
    ),
];
/// Threads read and write elements on their own, as many as the kernel has.
const PLAIN: &str = "  const unsigned thread = threadIdx.x + blockIdx.x * blockDim.x, threads = gridDim.x * blockDim.x;
  const size_t units = n * sizeof(*input) / sizeof(uint4);
  const uint4* from = (const uint4*)input;
  uint4* to = (uint4*)output;
  for (size_t first = thread; first < units; first += AT_ONCE * threads) {
    uint4 held[AT_ONCE];
#pragma unroll
    for (unsigned k = 0; k < AT_ONCE; k++) {
      held[k] = from[min(first + k * threads, units - 1)];
    }
#pragma unroll
    for (unsigned k = 0; k < AT_ONCE; k++) {
      to[min(first + k * threads, units - 1)] = held[k];
    }
  }
";

/// The same, where each block takes the next part of the input that none has taken.
const PLAIN_IN_TURN: &str = "  __shared__ unsigned taken[2];
  unsigned* counts = (unsigned*)tickets;
  constexpr unsigned AT_ONCE = 8;
  const size_t part = blockDim.x * AT_ONCE, units = n * sizeof(*input) / sizeof(uint4), parts = units / part;
  const uint4* from = (const uint4*)input;
  uint4* to = (uint4*)output;
  if (threadIdx.x == 0) {
    taken[0] = atomicAdd(&counts[0], 1);
  }
  for (unsigned iteration = 0;; iteration++) {
    __syncthreads();
    const unsigned tile_index = taken[iteration % 2];
    if (tile_index >= parts) {
      break;
    }
    if (threadIdx.x == 0) {
      taken[(iteration + 1) % 2] = atomicAdd(&counts[0], 1);
    }
    uint4 held[AT_ONCE];
#pragma unroll
    for (unsigned k = 0; k < AT_ONCE; k++) {
      held[k] = from[tile_index * part + k * blockDim.x + threadIdx.x];
    }
#pragma unroll
    for (unsigned k = 0; k < AT_ONCE; k++) {
      to[tile_index * part + k * blockDim.x + threadIdx.x] = held[k];
    }
  }
  if (threadIdx.x == 0 && atomicAdd(&counts[1], 1) == gridDim.x - 1) {
    counts[0] = counts[1] = 0;
  }
";

/// One thread has tiles copied in and out in bulk, and takes the next that none has taken.
const BULK_IN_TURN: &str = "  __shared__ Barrier full[STAGES];
  __shared__ unsigned tile_of[STAGES];
  unsigned char* stages = launched_shared_memory();
  unsigned* counts = (unsigned*)tickets;
  const unsigned tiles = (unsigned)(n / TEAM_TILE);
  constexpr unsigned BEHIND = 2;
  if (threadIdx.x == 0) {
    for (unsigned stage = 0; stage < STAGES; stage++) {
      init_barrier(&full[stage], 1);
    }
    fence_barriers();
    unsigned next = atomicAdd(&counts[0], 1);
    const auto load = [&](unsigned stage) {
      tile_of[stage] = next;
      if (next < tiles) {
        arrive_and_expect(&full[stage], INPUT_BYTES);
        begin_copy_in(stages + stage * STAGE_BYTES, (const unsigned char*)(input + (size_t)next * TEAM_TILE), INPUT_BYTES, &full[stage]);
        next = atomicAdd(&counts[0], 1);
      }
    };
    for (unsigned stage = 0; stage < STAGES; stage++) {
      load(stage);
    }
    for (unsigned iteration = 0;; iteration++) {
      const unsigned stage = iteration % STAGES;
      if (tile_of[stage] >= tiles) {
        break;
      }
      wait(&full[stage], iteration / STAGES % 2);
      begin_copy_out((unsigned char*)(output + (size_t)tile_of[stage] * TEAM_TILE), stages + stage * STAGE_BYTES, RESULT_BYTES);
      if (iteration >= BEHIND) {
        asm volatile(\"cp.async.bulk.wait_group.read 2;\" : : : \"memory\");
        load((iteration - BEHIND) % STAGES);
      }
    }
    wait_for_copies_out();
    if (atomicAdd(&counts[1], 1) == gridDim.x - 1) {
      counts[0] = counts[1] = 0;
    }
  }
";

const ALL_OF_FLOOR: &[&[Part]] = &[&NO_LOOKER, &NO_MESSAGES, &NO_REDUCTION, &NO_SCAN];

/// The kernel's parts, one after the other.
fn parts() -> Vec<Variant> {
    let none = &NO_MESSAGES;
    vec![
        variant("all", &[], true),
        variant("all, out first", &[&OUT_FIRST], true),
        variant("statuses not waited for", &[&NO_WAITING], false),
        variant("no looker, no statuses", &[&NO_LOOKER, none], false),
        variant("nor reduction", &[&NO_LOOKER, none, &NO_REDUCTION], false),
        variant("in and out only", ALL_OF_FLOOR, false),
        variant("in and out only, out first", &[ALL_OF_FLOOR, &[&OUT_FIRST]].concat(), false),
        variant("in and out at once", &[ALL_OF_FLOOR, &[&AT_ONCE]].concat(), false),
        variant("in and out at once, out first", &[ALL_OF_FLOOR, &[&AT_ONCE, &OUT_FIRST]].concat(), false),
    ]
}

/// Ways in and out alone, and with all the rest; a group each, so that one that does not run does not take the others along.
fn group(name: &str, size: u32) -> Vec<Variant> {
    let only = |what: &str, parts: &[&[Part]]| variant(what, &[ALL_OF_FLOOR, parts].concat(), false);
    let all = variant("all", &[], true);
    let in_and_out = only("in and out only", &[]);
    let run = |words: u32| (4 * words / size - 1) | 1;
    let in_step = |what: &str, parts: &[&[Part]]| variant(what, parts, false);
    match name {
        "step" => vec![
            in_step("in step, no reduction", &[&NO_REDUCTION]),
            in_step("in step, no scan", &[&NO_SCAN]),
            in_step("in step, in and out only", &[&NO_REDUCTION, &NO_SCAN]),
        ],
        "hints" => vec![
            variant("all, results first out of the cache", &[&EVICT_OUT], true),
            variant("all, elements and results first out of the cache", &[&EVICT_IN, &EVICT_OUT], true),
        ],
        "fetched" => vec![variant("all, fetched ahead into the cache", &[&PREFETCH], true)],
        "order" => vec![only("neighbouring tiles", &[&NEIGHBOURS]), only("a stretch for each block", &[&STRETCHES])],
        "twice" => [(128, 2, 23, 8), (192, 2, 15, 8)]
            .into_iter()
            .flat_map(|(threads, teams, words, stages)| {
                let shape = (threads, teams, run(words), Some(stages));
                [in_and_out.shaped(shape).twice(), all.shaped(shape).twice()]
            })
            .collect(),
        "shapes" => {
            [(192, 3, 31, Some(8)), (192, 3, 31, Some(7)), (192, 3, 27, None), (192, 3, 23, None), (160, 3, 31, None)]
                .into_iter()
                .map(|(threads, teams, words, stages)| all.shaped((threads, teams, run(words), stages)))
                .collect()
        }
        _ => Vec::new(),
    }
}

const GROUPS: [&str; 6] = ["step", "hints", "fetched", "order", "twice", "shapes"];

/// Shapes and ways for an operator whose applications wait for each other.
fn costly() -> Vec<Variant> {
    let all = variant("all", &[], true);
    let alone = variant("no looker, no statuses", &[&NO_LOOKER, &NO_MESSAGES], false);
    let halves = variant("halves", &[&HALVES], true);
    let early = variant("looks early", &[&LOOKS_EARLY], true);
    let mut variants = vec![
        halves.clone(),
        early.clone(),
        variant("halves, looks early", &[&HALVES, &LOOKS_EARLY], true),
        variant("halves, no looker, no statuses", &[&HALVES, &NO_LOOKER, &NO_MESSAGES], false),
        variant("halves, statuses not waited for", &[&HALVES, &NO_WAITING], false),
    ];
    let shapes = [
        (320, 3, 19, None),
        (256, 3, 23, None),
        (192, 4, 23, None),
        (384, 2, 19, None),
        (480, 2, 15, None),
        (320, 2, 23, None),
        (256, 2, 31, None),
        (128, 5, 23, None),
        (96, 8, 19, None),
        (192, 3, 23, None),
    ];
    for shape in shapes {
        variants.extend([all.shaped(shape), halves.shaped(shape)]);
    }
    for shape in [(320, 3, 19, None), (384, 2, 19, None), (480, 2, 15, None), (320, 2, 23, None)] {
        variants.push(alone.shaped(shape));
    }
    variants
}

/// As if it were known where the offsets of a tile are, of segments of mean length 64.
const NO_SEARCH: [Part; 4] = [
    (
        "tiles, head_padding, offsets, offset_count,\n            FEW_PROBES);\n",
        "0, head_padding, offsets, offset_count,\n            FEW_PROBES);\n",
    ),
    ("      } else if (iteration % STEP_ITERATIONS == 0) {\n", "      } else if (false) {\n"),
    (
        "const size_t tile_low = shuffle(low, iteration % WARP), tile_high = shuffle(high, iteration % WARP);",
        "const size_t tile_low = min((size_t)tile_index * TEAM_TILE / 64, offset_count), tile_high = min(tile_low + TEAM_TILE / 64, offset_count);",
    ),
    ("while (!is_done(search)) {\n      advance(search, offsets, MAX_PROBES);\n    }\n", ""),
];
const NO_MARKS: [Part; 1] = [("        mark_heads(", "        if (false) mark_heads(")];
const NO_HEADS: [Part; 1] = [(
    "        next_heads = read_heads(",
    "        next_heads = RunHeads{};\n        if (false) next_heads = read_heads(",
)];

fn by_offsets() -> Vec<Variant> {
    let all = variant("all", &[], true);
    let none = &NO_MESSAGES_OF_SEGMENTS;
    let mut variants = vec![
        all.clone(),
        variant("no search", &[&NO_SEARCH], false),
        variant("nor marks", &[&NO_SEARCH, &NO_MARKS], false),
        variant("nor looker, statuses", &[&NO_SEARCH, &NO_MARKS, &NO_LOOKER, none], false),
    ];
    for (threads, runs) in [(192, [23, 27]), (256, [19, 17]), (256, [15, 13]), (288, [15, 17]), (320, [15, 13])] {
        variants.extend(runs.map(|run| all.shaped((threads, 3, run, None))));
    }
    variants
}

fn by_flags() -> Vec<Variant> {
    let all = variant("all", &[], true);
    let none = &NO_MESSAGES_OF_SEGMENTS;
    let mut variants = vec![
        all.clone(),
        variant("no looker, no statuses", &[&NO_LOOKER, none], false),
        variant("no flags read", &[&NO_HEADS], false),
        variant("nor reduction", &[&NO_HEADS, &NO_LOOKER, none, &NO_REDUCTION], false),
        variant("in and out only", &[&NO_HEADS, &NO_LOOKER, none, &NO_REDUCTION, &NO_SCAN], false),
    ];
    for (threads, runs) in [(256, [52, 60]), (288, [44, 52]), (320, [44, 52]), (320, [36, 28])] {
        variants.extend(runs.map(|run| all.shaped((threads, 3, run, None))));
    }
    variants
}

/// The text with these parts in place of its own.
fn with_parts(source: &KernelSource, parts: &[Part]) -> Outcome<KernelSource> {
    let mut source = source.clone();
    for (part, other) in parts {
        match source.text.matches(part).count() {
            1 => source.text = source.text.replace(part, other),
            count => return Err(format!("the kernel has changed: `{part}` stands there {count} times").into()),
        }
    }
    Ok(source)
}

/// The plan and the text of a kernel; none where there is no such shape.
fn planned(
    operator: &OpSource,
    variant: &Variant,
    segments: &Segments,
    limits: &DeviceLimits,
) -> Outcome<Option<(Plan, KernelSource)>> {
    let spec = ScanSpec::inclusive().with_segments(segments.clone());
    let mut overrides = Overrides::default();
    overrides.strategy = Some(with_warp_shuffles(Carry::LookAhead));
    if let Some((threads, teams, run, stages)) = variant.shape {
        (overrides.threads, overrides.teams, overrides.run) = (Some(threads), Some(teams), Some(run));
        overrides.stages = stages;
    }
    let shape = |overrides: &Overrides| Some(plan(operator, &spec, limits, overrides).ok()?.longest().clone());
    let Some(mut plan) = shape(&overrides) else { return Ok(None) };
    let source = render(operator, &plan)?;
    if let Some(pipeline) = &mut plan.pipeline {
        pipeline.blocks *= variant.blocks;
    }
    Ok(Some((plan, with_parts(&source, &variant.parts)?)))
}

/// Kernels that copy.
fn copies() -> [(&'static str, String); 3] {
    [
        ("a copy by threads", PLAIN.replace("AT_ONCE", "4")),
        ("a copy by threads, in turn", PLAIN_IN_TURN.to_owned()),
        ("a copy in bulk, in turn", BULK_IN_TURN.to_owned()),
    ]
}

/// A kernel that does something else.
fn with_body(source: &KernelSource, body: &str) -> Option<KernelSource> {
    let mut source = source.clone();
    let kernel = source.text.rfind("extern \"C\"")?;
    let open = kernel + source.text[kernel..].find(") {\n")? + 4;
    source.text = format!("{}{body}}}\n", &source.text[..open]);
    Some(source)
}

pub(super) fn h200() -> DeviceLimits {
    let mut limits = DeviceLimits::new(Architecture { major: 9, minor: 0 }, 132);
    limits.shared_bytes_per_block_optin = 227 * 1024;
    limits
}

/// Compiles all of them for an H200, without one: whether the parts still stand in the kernels.
pub(super) fn compile_all(names: &[String]) -> Outcome {
    scan_tests::nvrtc()?;
    fn compile<Op: TestOperator>(name: &str, variants: Vec<Variant>, segments: &Segments) -> Outcome {
        let failures: Vec<String> = variants
            .into_par_iter()
            .filter_map(|variant| {
                let compiled =
                    planned(&Op::new().source(), &variant, segments, &h200()).map_err(|error| error.to_string());
                let compiled = compiled.and_then(|planned| match planned {
                    None => Ok("no such shape".to_owned()),
                    Some((_, source)) => {
                        let compiled = nvrtc::compile(&source, name, h200().architecture);
                        compiled.map(|_| "compiled".to_owned()).map_err(|error| error.to_string())
                    }
                });
                match compiled {
                    Ok(how) => {
                        println!("{name}: {}: {how}", variant.what);
                        None
                    }
                    Err(error) => Some(format!("{name}: {}: {error}", variant.what)),
                }
            })
            .collect();
        match failures.is_empty() {
            true => Ok(()),
            false => Err(failures.join("\n").into()),
        }
    }
    let wanted = |name: &str| names.iter().any(|wanted| wanted == name || wanted == "all");
    let none = &Segments::None;
    if wanted("f32") {
        compile::<ops::Sum<f32>>(
            "f32",
            [parts(), GROUPS.iter().flat_map(|name| group(name, 4)).collect()].concat(),
            none,
        )?;
    }
    if wanted("copies") {
        let Some((_, source)) = planned(&ops::sum::<f32>().source(), &variant("", &[], false), none, &h200())? else {
            return Ok(());
        };
        for (what, body) in copies() {
            let source = with_body(&source, &body).ok_or("the kernel has changed")?;
            nvrtc::compile(&source, what, h200().architecture)?;
        }
    }
    if wanted("u64") {
        compile::<ops::Sum<u64>>(
            "u64",
            [parts(), GROUPS.iter().flat_map(|name| group(name, 8)).collect()].concat(),
            none,
        )?;
    }
    if wanted("matrix2") {
        compile::<Product>("matrix2", parts(), none)?;
    }
    if wanted("matrix3") {
        compile::<MatrixProduct<3>>("matrix3", parts(), none)?;
    }
    if wanted("u8") {
        compile::<ops::Sum<u8>>("u8", parts(), none)?;
        compile::<ops::Sum<u8>>("u8 by flags", by_flags(), &HeadSource::Flags.segments())?;
    }
    if wanted("modular") {
        compile::<ModularProduct>("modular", [parts(), costly()].concat(), none)?;
    }
    if wanted("offsets") {
        compile::<ops::Sum<f32>>("f32 by offsets", by_offsets(), &HeadSource::Offsets.segments())?;
    }
    Ok(())
}

/// The kernels of those operators that are asked for.
pub(super) fn sweep_all(scanner: &Scanner, wanted: impl Fn(&str) -> bool) -> Outcome {
    for name in GROUPS {
        if wanted(&format!("f32-{name}")) {
            sweep::<ops::Sum<f32>>("f32", scanner, &[vec![variant("all", &[], true)], group(name, 4)].concat())?;
        }
        if wanted(&format!("u64-{name}")) {
            sweep::<ops::Sum<u64>>("u64", scanner, &[vec![variant("all", &[], true)], group(name, 8)].concat())?;
        }
    }
    if wanted("f32") {
        sweep::<ops::Sum<f32>>("f32", scanner, &parts())?;
    }
    if wanted("u64") {
        sweep::<ops::Sum<u64>>("u64", scanner, &parts())?;
    }
    if wanted("matrix2") {
        sweep::<Product>("matrix2", scanner, &parts())?;
    }
    if wanted("matrix3") {
        sweep::<MatrixProduct<3>>("matrix3", scanner, &parts())?;
    }
    if wanted("u8") {
        sweep::<ops::Sum<u8>>("u8", scanner, &parts())?;
        segmented::<ops::Sum<u8>>("u8", scanner, HeadSource::Flags, &[64], &by_flags())?;
    }
    if wanted("modular") {
        sweep::<ModularProduct>("modular", scanner, &[parts(), costly()].concat())?;
    }
    visit_gallery(&mut Gallery { scanner, wanted: &wanted });
    if wanted("offsets") {
        segmented::<ops::Sum<f32>>("f32", scanner, HeadSource::Offsets, &[1, 2, 64, 1000], &by_offsets())?;
    }
    Ok(())
}

/// Compiles and loads all kernels at once; those of which there is no such shape are left out.
fn entrants<'a>(
    scanner: &Scanner,
    operator: &OpSource,
    variants: &'a [Variant],
    segments: &Segments,
    longest: usize,
) -> Outcome<Vec<(&'a Variant, Entrant)>> {
    let entrants: Vec<Result<Option<(&Variant, Entrant)>, String>> = variants
        .par_iter()
        .map(|variant| {
            let planned = planned(operator, variant, segments, &limits(scanner)).map_err(|error| error.to_string())?;
            let entrant = |(plan, source)| load(scanner, variant.what.clone(), plan, &source, longest);
            Ok(planned.and_then(entrant).map(|entrant| (variant, entrant)))
        })
        .collect();
    let entrants: Result<Vec<_>, String> = entrants.into_iter().collect();
    Ok(entrants?.into_iter().flatten().collect())
}

/// The kernels over short inputs and long ones, in one segment.
fn sweep<Op: TestOperator>(name: &str, scanner: &Scanner, variants: &[Variant]) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let size = size_of::<Op::Item>();
    let longest = BYTES[BYTES.len() - 1] / size;
    let block = inputs::<Op>(1 << 21);
    let input = filled(&stream, &block, longest)?;
    let mut output = filled(&stream, &block, longest)?;
    let mut entrants = entrants(scanner, &Op::new().source(), variants, &Segments::None, longest)?;
    let alone = variant("", &[], false);
    for (what, body) in copies() {
        let Some((plan, source)) = planned(&Op::new().source(), &alone, &Segments::None, &limits(scanner))? else {
            continue;
        };
        let source = with_body(&source, &body).ok_or("the kernel has changed")?;
        let entrant = load(scanner, what.to_owned(), plan, &source, longest);
        entrants.push((&alone, entrant.ok_or_else(|| format!("{what} does not compile"))?));
    }
    let work = Work {
        stream: &stream,
        input: input.device_ptr(&stream).0,
        output: output.device_ptr_mut(&stream).0,
        heads: (0, 0),
    };
    let expected = configure::<Op>(&Scanner::cpu(), WAY).run(&block)?;
    let mut rows = vec![String::new(); entrants.len()];
    for bytes in BYTES {
        let len = bytes / size;
        let mut reference = None;
        for ((variant, entrant), row) in entrants.iter().zip(&mut rows) {
            if let Err(error) = work.calls(entrant, len as u64, 1) {
                write!(row, " {error} |")?;
                continue;
            }
            if variant.means && !is_right::<Op>(&stream, &output, len, &expected, &mut reference)? {
                row.push_str(" WRONG |");
                continue;
            }
            let (ratio, time) = ratio(&work, entrant, len, (len * size, len * size))?;
            write!(row, " {time:.1} | {ratio:.3} |")?;
        }
    }
    println!("\n| {name} | 256 MiB, µs | ratio | 2 GiB, µs | ratio |\n|---|--:|--:|--:|--:|");
    for ((_, entrant), row) in entrants.iter().zip(rows) {
        println!("| {} |{row}", entrant.shape());
    }
    Ok(())
}

/// Whether results begin as expected, and are those of the first kernel that was asked.
fn is_right<Op: TestOperator>(
    stream: &Arc<CudaStream>,
    output: &CudaSlice<Op::Item>,
    len: usize,
    expected: &[Op::Item],
    reference: &mut Option<Vec<u8>>,
) -> Outcome<bool> {
    stream.synchronize()?;
    let found = fetch::<Op>(stream, output, len)?;
    let begins = bits(&stream.clone_dtoh(&output.slice(..expected.len()))?) == bits(expected);
    Ok(begins && *reference.get_or_insert_with(|| found.clone()) == found)
}

/// The kernels over segments of these mean lengths.
fn segmented<Op: TestOperator>(
    name: &str,
    scanner: &Scanner,
    head_source: HeadSource,
    means: &[u64],
    variants: &[Variant],
) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let size = size_of::<Op::Item>();
    let len = SEGMENTED_BYTES / size.max(2);
    let block = inputs::<Op>(1 << 21);
    let input = filled(&stream, &block, len)?;
    let mut output = filled(&stream, &block, len)?;
    let entrants = entrants(scanner, &Op::new().source(), variants, &head_source.segments(), len)?;
    let mut rows = vec![String::new(); entrants.len()];
    for &mean in means {
        let heads = Heads::new(&stream, Lengths::Mean(mean), len)?;
        let work = Work {
            stream: &stream,
            input: input.device_ptr(&stream).0,
            output: output.device_ptr_mut(&stream).0,
            heads: heads.place(head_source, &stream),
        };
        let expected = configure::<Op>(&Scanner::cpu(), WAY).by_flags(&heads.begins).run(&block)?;
        let mut reference = None;
        for ((variant, entrant), row) in entrants.iter().zip(&mut rows) {
            if let Err(error) = work.calls(entrant, len as u64, 1) {
                write!(row, " {error} |")?;
                continue;
            }
            if variant.means && !is_right::<Op>(&stream, &output, len, &expected, &mut reference)? {
                row.push_str(" WRONG |");
                continue;
            }
            let moved = 2 * len * size + heads.bytes(head_source);
            let (ratio, _) = ratio(&work, entrant, len, (len * size, moved / 2))?;
            write!(row, " {ratio:.3} |")?;
        }
    }
    let lengths: String = means.iter().map(|mean| format!(" mean {mean} |")).collect();
    println!("\n| {name} by {head_source} |{lengths}\n|---|{}", "--:|".repeat(means.len()));
    for ((_, entrant), row) in entrants.iter().zip(rows) {
        println!("| {} |{row}", entrant.shape());
    }
    Ok(())
}

/// The ratio to a copy, of the bytes that each must read and write, of which the copy's are read once, and microseconds.
fn ratio(work: &Work<'_>, entrant: &Entrant, len: usize, (copied, moved): (usize, usize)) -> Outcome<(f64, f64)> {
    let (mut copies, mut scans) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        copies.push(sample(work.stream, || work.copies(copied, 1))?);
        scans.push(sample(work.stream, || work.calls(entrant, len as u64, 1))?);
    }
    let time = median(scans);
    Ok((moved as f64 / copied as f64 * median(copies) / time, time))
}

/// The parts of operators of the gallery, `gallery-welford` and so on.
struct Gallery<'a, W> {
    scanner: &'a Scanner,
    wanted: W,
}

impl<W: Fn(&str) -> bool> gallery::Visitor for Gallery<'_, W> {
    fn visit<Op: Example>(&mut self, name: &str) {
        if (self.wanted)(&format!("gallery-{name}"))
            && let Err(error) = sweep_example::<Op>(name, self.scanner)
        {
            println!("| {name} | {error} |");
        }
    }
}

/// Elements of an input of the gallery, of which the first are repeated.
const EXAMPLES: usize = 1 << 26;
const REPEATED: usize = 1 << 20;

/// The kernel of an operator of the gallery without one part after the other, and without each of two alone.
fn sweep_example<Op: Example>(name: &str, scanner: &Scanner) -> Outcome {
    if size_of::<Op>() > 0 {
        return Err("an operator with parameters is launched by the library only".into());
    }
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let operator = Op::new().source();
    let all = variant("all", &[], true);
    let (_, source) = planned(&operator, &all, &Segments::None, &limits(scanner))?.ok_or("there is no plan")?;
    let gatherers: &[Part] = if source.text.contains(NO_GATHERERS[0].0) { &NO_GATHERERS } else { &[] };
    let scan: &[Part] = if source.text.contains(NO_SCAN_APART[0].0) { &NO_SCAN_APART } else { &NO_SCAN };
    let looker: &[&[Part]] = &[&NO_LOOKER, gatherers, &NO_MESSAGES];
    let variants = [
        all,
        variant("statuses not waited for", &[&NO_WAITING], false),
        variant("no looker, no statuses", looker, false),
        variant("nor reduction", &[looker, &[&NO_REDUCTION]].concat(), false),
        variant("in and out only", &[looker, &[&NO_REDUCTION, scan]].concat(), false),
        variant("without the reduction", &[&NO_REDUCTION], false),
        variant("without the scan", &[scan], false),
    ];
    let input = filled(&stream, &Op::input(REPEATED), EXAMPLES)?;
    // SAFETY: it is written before it is read, if at all.
    let mut output = unsafe { stream.alloc::<Op::Output>(EXAMPLES)? };
    let moved = EXAMPLES * (size_of::<Op::Input>() + size_of::<Op::Output>());
    let (from, mut to) = (stream.alloc_zeros::<u8>(moved / 2)?, stream.alloc_zeros::<u8>(moved / 2)?);
    let work = Work {
        stream: &stream,
        input: input.device_ptr(&stream).0,
        output: output.device_ptr_mut(&stream).0,
        heads: (0, 0),
    };
    println!("\n| {name} | 2^26, µs | ratio |\n|---|--:|--:|");
    for (_, entrant) in entrants(scanner, &operator, &variants, &Segments::None, EXAMPLES)? {
        let (mut copies, mut scans) = (Vec::new(), Vec::new());
        work.calls(&entrant, EXAMPLES as u64, 1)?;
        for _ in 0..SAMPLES {
            copies.push(sample(&stream, || Ok(stream.memcpy_dtod(&from, &mut to)?))?);
            scans.push(sample(&stream, || work.calls(&entrant, EXAMPLES as u64, 1))?);
        }
        let [copy, time] = [copies, scans].map(median);
        println!("| {} | {time:.1} | {:.3} |", entrant.shape(), copy / time);
    }
    Ok(())
}

/// Launches of one kernel alone, for a profiler to look at: `profile-f32`, `profile-offsets-64` and so on.
pub(super) fn profile(scanner: &Scanner, names: &[String]) -> Outcome {
    fn launches<Op: TestOperator>(scanner: &Scanner, heads: Option<(HeadSource, u64)>) -> Outcome {
        let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
        let len = SEGMENTED_BYTES / size_of::<Op::Item>().max(2);
        let block = inputs::<Op>(1 << 21);
        let input = filled(&stream, &block, len)?;
        let mut output = filled(&stream, &block, len)?;
        let segments = heads.map_or(Segments::None, |(head_source, _)| head_source.segments());
        let all = [variant("all", &[], true)];
        let entrants = entrants(scanner, &Op::new().source(), &all, &segments, len)?;
        let place = heads.map(|(_, mean)| Heads::new(&stream, Lengths::Mean(mean), len)).transpose()?;
        let place = place.as_ref().zip(heads).map(|(place, (head_source, _))| place.place(head_source, &stream));
        let work = Work {
            stream: &stream,
            input: input.device_ptr(&stream).0,
            output: output.device_ptr_mut(&stream).0,
            heads: place.unwrap_or((0, 0)),
        };
        for (_, entrant) in &entrants {
            work.calls(entrant, len as u64, 3)?;
        }
        stream.synchronize()?;
        Ok(())
    }
    for name in names.iter().filter_map(|name| name.strip_prefix("profile-")) {
        match name.rsplit_once('-') {
            Some(("offsets", mean)) => launches::<ops::Sum<f32>>(scanner, Some((HeadSource::Offsets, mean.parse()?)))?,
            Some(("flags", mean)) => launches::<ops::Sum<u8>>(scanner, Some((HeadSource::Flags, mean.parse()?)))?,
            _ if name == "modular" => launches::<ModularProduct>(scanner, None)?,
            _ => launches::<ops::Sum<f32>>(scanner, None)?,
        }
    }
    Ok(())
}

/// How long launches of few blocks and of many take, one at a time: under a tool that watches shared memory, they take longer
/// the more of it there is.
pub(super) fn launch_times(scanner: &Scanner) -> Outcome {
    println!("| operator | threads × teams × run, stages | blocks | elements | milliseconds |\n|---|---|--:|--:|--:|");
    launches::<ops::Sum<f32>>("f32", scanner)?;
    launches::<Interval>("interval", scanner)?;
    launches::<MatrixProduct<4>>("matrix4", scanner)
}

fn launches<Op: TestOperator>(name: &str, scanner: &Scanner) -> Outcome {
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let longest = 1 << 18;
    let block = inputs::<Op>(longest);
    let input = filled(&stream, &block, longest)?;
    let mut output = filled(&stream, &block, longest)?;
    let work = Work {
        stream: &stream,
        input: input.device_ptr(&stream).0,
        output: output.device_ptr_mut(&stream).0,
        heads: (0, 0),
    };
    for blocks in [2, 132] {
        for threads in [Some((64, 2, 4, Some(5))), None] {
            let all = variant("all", &[], true);
            let all = threads.map_or(all.clone(), |shape| all.shaped(shape));
            let planned = planned(&Op::new().source(), &all, &Segments::None, &limits(scanner))?;
            let Some((mut plan, source)) = planned else { continue };
            if let Some(pipeline) = &mut plan.pipeline {
                pipeline.blocks = blocks;
            }
            let tile = plan.tile as usize;
            let entrant =
                load(scanner, name.to_owned(), plan, &source, longest).ok_or("look-ahead does not compile")?;
            for len in [1, tile, 4 * tile, 23 * tile + 7] {
                let start = std::time::Instant::now();
                work.calls(&entrant, len as u64, 1)?;
                stream.synchronize()?;
                let milliseconds = start.elapsed().as_secs_f64() * 1e3;
                println!("| {} | {blocks} | {len} | {milliseconds:.1} |", entrant.shape());
            }
        }
    }
    Ok(())
}
