//! The intrinsics that kernels call, as the compiler makes PTX of them. The emulator replaces this part of the kernels
//! by its own, so that nothing else looks at it without a GPU.
//!
//! A snapshot shows each wrapper's instructions for each architecture: the scope and order of loads and stores, the
//! mask and mode of shuffles and votes, the barriers and copies. The emulator then shows that kernels are right if
//! these instructions do what the PTX manual says. Only hardware shows
//!
//! - that they do: that a 16-byte access is never torn, that bytes of a bulk copy are there when its barrier's phase
//!   ends
//! - what the driver makes of PTX, and what its assembler reorders around `asm volatile`
//! - that a block that polls does not keep the block from running for which it waits
//! - programmatic launches: how much of what is before them such a launch overlaps with
//! - where the emulator is stricter than the hardware or laxer: values older than six stores are never seen there, and
//!   lanes of a warp that have parted come together only at an instruction for the warp

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::collections::BTreeMap;

use rayon::prelude::*;
use scan_codegen::{Architecture, Arrays, DeviceLimits, KernelSource, Overrides, ScanSpec, Segments, plan_columns};
use scan_runtime::{Axis, BlockScan, Carry, Network, OffsetWidth, ScanOp, Strategy, nvrtc, ops};
use scan_tests::{operators::Interval, strategies::LOOK_AHEAD};

const fn sm(major: u32, minor: u32) -> Architecture {
    Architecture { major, minor }
}

const ARCHITECTURES: [Architecture; 7] = [sm(7, 5), sm(8, 0), sm(8, 6), sm(8, 9), sm(9, 0), sm(10, 0), sm(12, 0)];

/// A kernel that calls one wrapper: its name, parameters and body.
type Probe = (&'static str, &'static str, &'static str);

/// A plan whose kernels have some of the wrappers, the first architecture that has them, and a probe for each.
struct Case {
    source: KernelSource,
    first: Architecture,
    probes: &'static [Probe],
}

/// The parts of a text that have intrinsics.
fn intrinsics_of(text: &str) -> String {
    let parts = ["// ---- Intrinsics", "// ---- Launches"].map(|heading| {
        let start = text.find(heading)?;
        let end =
            text[start + heading.len()..].find("\n// ---- ").map_or(text.len(), |end| start + heading.len() + end);
        Some(&text[start..end])
    });
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn with_intrinsics<Op: ScanOp>(op: &Op, spec: &ScanSpec, strategy: Strategy) -> KernelSource {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(strategy);
    let limits = DeviceLimits::of(sm(9, 0));
    let plans = scan_codegen::plan(&op.source(), spec, &limits, &overrides).unwrap();
    let mut source = scan_tests::checked::render(&op.source(), plans.longest(), plans.device()).unwrap();
    source.text = intrinsics_of(&source.text);
    source
}

const fn in_registers(carry: Carry) -> Strategy {
    Strategy { block: BlockScan::in_registers(), carry }
}

const COUNT: &str = "unsigned long long* place, unsigned long long value, unsigned long long* out";
const PACKET: &str = "Packet* place, Packet value, Packet* out";
const WORD: &str = "unsigned value, unsigned lane, unsigned* out";
const BARRIER: &str = "unsigned value, unsigned* out";
const SHARED_BARRIER: &str = "__shared__ Barrier barrier;";

/// What is common to all that wait for each other.
const OF_STATUSES: &[Probe] = &[
    ("fetch_ticket", COUNT, "out[0] = fetch_ticket(place);"),
    ("store_relaxed", COUNT, "store_relaxed(place, value);"),
    ("load_relaxed_packet", PACKET, "out[0] = load_relaxed(place);"),
    ("store_relaxed_packet", PACKET, "store_relaxed(place, value);"),
    ("shuffle_up", WORD, "out[0] = shuffle_up(value, lane);"),
    ("shuffle", WORD, "out[0] = shuffle(value, lane);"),
    ("highest_set_lane", WORD, "out[0] = highest_set_lane(value > lane);"),
];

const OF_LOADS: &[Probe] = &[
    ("ballot", WORD, "out[0] = ballot(value > lane);"),
    ("lowest_set_bit", WORD, "out[0] = lowest_set_bit(value);"),
    ("add_bits", WORD, "add_bits(out, value);"),
    (
        "cp_async_4",
        "const unsigned* from, unsigned* out",
        "__shared__ unsigned to[32]; cp_async(to, from); cp_async_wait_all(); out[0] = to[0];",
    ),
    (
        "cp_async_16",
        "const uint4_of_ours* from, uint4_of_ours* out",
        "__shared__ uint4_of_ours to[32]; cp_async(to, from); cp_async_wait_all(); out[0] = to[0];",
    ),
    ("opaque_word", WORD, "out[0] = opaque_word(value);"),
    ("wait_for_previous_launch", "", "wait_for_previous_launch();"),
    ("launch_dependents", "", "launch_dependents();"),
];

/// Of scans along an axis.
const OF_AXES: &[Probe] = &[
    ("opaque_place", "unsigned* out", "*opaque_place(out) = 0;"),
    (
        "cp_async_groups",
        "const uint4_of_ours* from, uint4_of_ours* out",
        "__shared__ uint4_of_ours to[32]; cp_async(to, from); cp_async_commit_group(); cp_async_commit_group(); \
         cp_async_wait_group<1>(); out[0] = to[0];",
    ),
];

const OF_ROWS: &[Probe] = &[("product_high", COUNT, "out[0] = product_high(place[0], value);")];

const OF_COPIES: &[Probe] = &[
    ("load_tickets", COUNT, "out[0] = load_tickets(place);"),
    ("load_relaxed_short_packet", PACKET, "out[0] = load_relaxed(place);"),
    ("store_relaxed_short_packet", PACKET, "store_relaxed(place, value);"),
    ("has_waited_long", BARRIER, "out[0] = has_waited_long(value);"),
    ("init_barrier", BARRIER, "BARRIER init_barrier(&barrier, value);"),
    ("fence_barriers", "", "fence_barriers();"),
    ("arrive", BARRIER, "BARRIER arrive(&barrier);"),
    ("arrive_for_warp", BARRIER, "BARRIER arrive_for_warp(&barrier);"),
    ("arrive_expect_tx", BARRIER, "BARRIER arrive_expect_tx(&barrier, value);"),
    ("wait", BARRIER, "BARRIER wait(&barrier, value);"),
    (
        "bulk_load",
        "const unsigned char* from, unsigned value",
        "BARRIER bulk_load(dynamic_shared_memory(), from, value, &barrier);",
    ),
    ("bulk_store", "unsigned char* to, unsigned value", "bulk_store(to, dynamic_shared_memory(), value);"),
    ("wait_for_bulk_stores", "", "wait_for_bulk_stores();"),
    ("fence_for_copies", "", "fence_for_copies();"),
];

const OF_CLUSTERS: &[Probe] = &[
    ("arrive_in_cluster", "", "arrive_in_cluster();"),
    ("wait_for_cluster", "", "wait_for_cluster();"),
    ("fence_barriers_to_cluster", "", "fence_barriers();"),
    ("init_barrier_of_cluster", BARRIER, "BARRIER init_barrier(&barrier, value);"),
    ("arrive_expect_tx_in_cluster", BARRIER, "BARRIER arrive_expect_tx(&barrier, value);"),
    ("wait_in_cluster", BARRIER, "BARRIER wait(&barrier, value);"),
    ("store_to_block", WORD, "BARRIER __shared__ unsigned to; store_to_block(&to, value, &barrier, lane);"),
];

fn cases() -> Vec<Case> {
    let spec = ScanSpec::inclusive();
    let by_offsets = spec.clone().with_segments(Segments::Offsets(OffsetWidth::U32));
    let rows = spec.clone().with_segments(Segments::Rows);
    let network = |carry| Strategy { block: BlockScan::of(Network::WarpShuffle), carry };
    vec![
        Case {
            source: with_intrinsics(&Interval, &spec, network(Carry::LookBack)),
            first: sm(7, 5),
            probes: OF_STATUSES,
        },
        Case {
            source: with_intrinsics(&ops::sum::<i32>(), &by_offsets, in_registers(Carry::LookBack)),
            first: sm(7, 5),
            probes: OF_LOADS,
        },
        Case {
            source: with_intrinsics(&ops::sum::<i32>(), &rows, in_registers(Carry::LookBack)),
            first: sm(7, 5),
            probes: OF_ROWS,
        },
        Case { source: along_an_axis(), first: sm(7, 5), probes: OF_AXES },
        // Values of four bytes travel in packets of eight there.
        Case { source: with_intrinsics(&ops::sum::<i32>(), &spec, LOOK_AHEAD), first: sm(9, 0), probes: OF_COPIES },
        Case {
            source: with_intrinsics(&ops::sum::<i32>(), &spec, in_registers(Carry::Cluster)),
            first: sm(9, 0),
            probes: OF_CLUSTERS,
        },
    ]
}

/// The intrinsics of a recurrence along an axis, whose lanes load for each other.
fn along_an_axis() -> KernelSource {
    let operator = ops::recurrence::<f32>().source();
    let spec = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::One);
    let plan = plan_columns(&operator, &spec, &DeviceLimits::of(sm(9, 0)), &Overrides::default()).unwrap();
    let layout = Axis::of(&[1_000, 256], 0).unwrap().layout();
    let mut source = scan_tests::checked::render_columns(&operator, &plan.for_layout(&layout)).unwrap();
    source.text = intrinsics_of(&source.text);
    source
}

/// A register or label of PTX, which begins so.
const PREFIXES: [&str; 2] = ["%", "$L__"];

/// The instructions of a kernel, its registers and labels numbered in the order in which they come.
fn normalised(body: &str) -> String {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut lines = Vec::new();
    for line in body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        if line.starts_with(".reg") || line.starts_with(".loc") {
            continue;
        }
        let mut rest = line;
        let mut told = String::new();
        while let Some(start) = PREFIXES.iter().filter_map(|prefix| rest.find(prefix)).min() {
            told.push_str(&rest[..start]);
            rest = &rest[start..];
            let first = if rest.starts_with('%') { 1 } else { 4 };
            let end = rest[first..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
            let end = end.map_or(rest.len(), |end| first + end);
            let (name, after) = rest.split_at(end);
            let kind: String = name[1..].chars().take_while(char::is_ascii_alphabetic).collect();
            let is_numbered = name.ends_with(|c: char| c.is_ascii_digit()) && !name.contains('.');
            let number = names.len();
            let known = names.entry(name.to_owned()).or_insert_with(|| match is_numbered {
                true if name.starts_with('%') => format!("%{kind}_{number}"),
                true => format!("label_{number}"),
                false => name.to_owned(),
            });
            told.push_str(known);
            rest = after;
        }
        told.push_str(rest);
        lines.push(told);
    }
    lines.join("\n")
}

/// What each probe of a text becomes for an architecture, by its name.
fn instructions(
    source: &KernelSource,
    probes: &[Probe],
    architecture: Architecture,
) -> Result<Vec<(&'static str, String)>, String> {
    let mut source = source.clone();
    source.text.push_str("\nstruct alignas(16) uint4_of_ours {\n  unsigned word[4];\n};\n");
    for (name, parameters, body) in probes {
        let body = body.replace("BARRIER ", &format!("{SHARED_BARRIER} "));
        source.text.push_str(&format!("extern \"C\" __global__ void probe_{name}({parameters}) {{\n  {body}\n}}\n"));
    }
    let compiled = nvrtc::compile_to_ptx(&source, "probes", architecture).map_err(|error| error.to_string())?;
    let ptx = String::from_utf8_lossy(&compiled.cubin);
    probes
        .iter()
        .map(|&(name, ..)| {
            let entry = format!(".entry probe_{name}(");
            let start = ptx.find(&entry).ok_or_else(|| format!("no `{entry}` in\n{ptx}"))?;
            let body = &ptx[start..];
            let body = &body[body.find("\n{").map_or(0, |brace| brace + 2)..];
            let body = &body[..body.find("\n}").unwrap_or(body.len())];
            Ok((name, normalised(body)))
        })
        .collect()
}

/// The listing of a case: each wrapper's instructions, once for all architectures that have the same.
fn listing(case: &Case) -> Result<String, String> {
    let architectures: Vec<_> = ARCHITECTURES.into_iter().filter(|architecture| *architecture >= case.first).collect();
    let all: Vec<_> = architectures
        .par_iter()
        .map(|&architecture| instructions(&case.source, case.probes, architecture))
        .collect::<Result<_, String>>()?;
    let mut listing = String::new();
    for (index, (name, ..)) in case.probes.iter().enumerate() {
        let mut rest: Vec<usize> = (0..architectures.len()).collect();
        while let Some(&first) = rest.first() {
            let body = &all[first][index].1;
            let (same, others): (Vec<usize>, Vec<usize>) =
                rest.iter().copied().partition(|&other: &usize| all[other][index].1 == *body);
            let names: Vec<_> = same.iter().map(|&place| architectures[place].to_string()).collect();
            listing.push_str(&format!("{name}: {}\n  {}\n", names.join(", "), body.replace('\n', "\n  ")));
            rest = others;
        }
    }
    Ok(listing)
}

#[test]
fn instructions_of_every_wrapper() {
    scan_tests::nvrtc().unwrap();
    let listings: Vec<String> = cases().iter().map(|case| listing(case).unwrap()).collect();
    insta::assert_snapshot!(listings.join("\n"));
}

/// Every intrinsic has a probe: a wrapper more, and this fails.
#[test]
fn every_wrapper_has_a_probe() {
    let mut wrappers = 0;
    let probed: String = cases().iter().flat_map(|case| case.probes).map(|(_, _, body)| *body).collect();
    for case in cases() {
        for line in case.source.text.lines().filter(|line| line.starts_with("__device__ __forceinline__")) {
            let name = line.split('(').next().unwrap().rsplit([' ', '*']).next().unwrap();
            let is_probed = ["(", "<"].iter().any(|next| probed.contains(&format!("{name}{next}")));
            assert!(is_probed || name == "shared_address", "`{name}` has no probe");
            wrappers += 1;
        }
    }
    assert!(wrappers > 30, "{wrappers}");
}

/// Faults in what only hardware would show: each changes the listing.
#[test]
fn planted_faults_change_the_listing() {
    let changes: [(&str, &str); 16] = [
        ("ld.relaxed.gpu.global.b128", "ld.relaxed.cta.global.b128"),
        ("st.relaxed.gpu.global.b128", "st.relaxed.cta.global.b128"),
        ("ld.relaxed.gpu.global.b64 %0, [%1];\" : \"=l\"(bits)", "ld.volatile.global.b64 %0, [%1];\" : \"=l\"(bits)"),
        (
            "ld.relaxed.gpu.global.b64 %0, [%1];\" : \"=l\"(value)",
            "ld.relaxed.cta.global.b64 %0, [%1];\" : \"=l\"(value)",
        ),
        ("__shfl_up_sync(0xffffffff", "__shfl_up_sync(0x7fffffff"),
        ("__shfl_sync(0xffffffff", "__shfl_sync(0x7fffffff"),
        ("31 - __clz(__ballot_sync(0xffffffff", "31 - __clz(__ballot_sync(0xfffffffe"),
        ("return __ballot_sync(0xffffffff", "return __ballot_sync(0xffff"),
        ("atomicAdd(count, 1ull)", "atomicAdd_block(count, 1ull)"),
        ("cp.async.wait_all", "cp.async.commit_group"),
        ("fence.mbarrier_init.release.cluster", "fence.proxy.async"),
        ("cp.async.bulk.wait_group.read 0", "cp.async.bulk.wait_group.read 1"),
        ("barrier.cluster.wait.acquire.aligned", "barrier.cluster.wait.aligned"),
        ("try_wait.parity.acquire.cluster", "try_wait.parity.relaxed.cluster"),
        ("try_wait.parity.shared::cta", "try_wait.parity.relaxed.cta.shared::cta"),
        ("griddepcontrol.wait;", "griddepcontrol.launch_dependents;"),
    ];
    scan_tests::nvrtc().unwrap();
    // The newest architecture has all wrappers.
    let of = |case: &Case, source: &KernelSource| instructions(source, case.probes, ARCHITECTURES[6]).unwrap();
    let cases: Vec<_> = cases().into_par_iter().map(|case| (of(&case, &case.source), case)).collect();
    changes.into_par_iter().for_each(|(from, to)| {
        let mut found = 0;
        for (unchanged, case) in cases.iter().filter(|(_, case)| case.source.text.contains(from)) {
            let mut planted = case.source.clone();
            planted.text = planted.text.replace(from, to);
            found += usize::from(of(case, &planted) != *unchanged);
        }
        assert!(found > 0, "`{to}` in place of `{from}` changes nothing");
    });
}
