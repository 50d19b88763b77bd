//! The kernels of a program, recorded and compiled ahead of time, and the same calls in a process without a compiler.

use std::{
    env,
    error::Error,
    fmt::Debug,
    fs,
    path::Path,
    process::{Command, Output},
    sync::LazyLock,
};

use scan_runtime::{
    Axis, DeviceLimits, Overrides, Reduce, Run, Scan, Scanner, Staging,
    aot::{Bundle, Precompiled, Recording, Wanted},
    arrays::{discard, gather, indices, previous, scatter, scatter_by_output, strided},
    nvrtc::LIBRARY_VARIABLE,
    ops,
};
use scan_tests::{columns::Recurrence, driver, target_dir};

use crate::{
    host::weighted,
    kinds::{FEW, Kinds, OnStream, Outcome, bits, flags, floats, keys, offsets},
};

/// Where a child process finds its bundle.
const BUNDLE_OF_CHILD: &str = "SCAN_TESTS_BUNDLE_OF_LAUNCHES";
const CHILD: &str = "ahead_of_time_child_without_nvrtc";

/// So many elements take several chunks of [`in_chunks`], and none of the default length.
const LEN: usize = 10_000;
/// Elements of host memory that take several chunks of the default length.
const LONG: usize = 40 << 20;

fn in_chunks() -> Staging {
    Staging::default().with_chunk_bytes(16 << 10)
}

/// What a call of the program gives.
type Given = Result<Box<dyn Debug>, Box<dyn Error>>;

fn given(result: impl Debug + 'static) -> Given {
    Ok(Box::new(result))
}

/// A call, or a few of one kind.
type Kind = (&'static str, fn(&Scanner) -> Given);

/// The calls over host memory of a program.
const PROGRAM: &[Kind] = &[
    ("inclusive", |scanner| given(scanner.scan(ops::sum::<f32>()).run(&floats(FEW))?)),
    ("exclusive, an initial value, a total", |scanner| {
        given(scanner.scan(ops::sum::<f32>()).exclusive().init(1.5).with_total().run(&floats(FEW))?)
    }),
    ("nothing", |scanner| given(scanner.scan(ops::max::<u16>()).with_total().run(&[0_u16; 0])?)),
    ("in place, reversed", |scanner| {
        let mut buffer = floats(FEW);
        scanner.scan(ops::sum::<f32>()).reverse().run_in_place(&mut buffer)?;
        given(buffer)
    }),
    ("rows with values and totals", |scanner| {
        let scan = scanner.scan(ops::sum::<f32>());
        given(scan.rows(100).init_each(&floats(10)).with_totals().run(&floats(FEW))?)
    }),
    ("flags, bits, keys", |scanner| {
        let (scan, input) = (scanner.scan(ops::max::<f32>()), floats(FEW));
        let by_flags = scan.by_flags(&flags(FEW, 70)).run(&input)?;
        let by_bits = scan.by_bits(&bits(FEW, 70)).with_total().run(&input)?;
        given((by_flags, by_bits, scan.by_keys(&keys(FEW, 70)).run(&input)?))
    }),
    ("offsets with values", |scanner| {
        let (scan, offsets) = (scanner.scan(ops::sum::<f32>()), offsets(FEW, 70));
        let values = floats(offsets.len() - 1);
        given(scan.by_offsets(&offsets).init_each(&values).run(&floats(FEW))?)
    }),
    ("reductions", |scanner| {
        let (reduce, input) = (scanner.reduce(ops::max::<f32>()), floats(FEW));
        given((reduce.run(&input)?, reduce.clone().init(3.0).run(&input)?, reduce.clone().reverse().run(&input)?))
    }),
    ("reductions by segments", |scanner| {
        let (reduce, input, offsets) = (scanner.reduce(ops::sum::<f32>()), floats(FEW), offsets(FEW, 70));
        let values = floats(offsets.len() - 1);
        let by_offsets = reduce.by_offsets(&offsets).init_each(&values).run(&input)?;
        given((reduce.rows(100).run(&input)?, by_offsets, reduce.by_keys(&keys(FEW, 70)).run(&input)?))
    }),
    ("reductions of ranges", |scanner| {
        let (reduce, input, offsets) = (scanner.reduce(ops::sum::<f32>()), floats(FEW), offsets(FEW, 70));
        let (begins, ends) = (&offsets[..offsets.len() - 2], &offsets[2..]);
        let plain = reduce.by_ranges(begins, ends).run(&input)?;
        let of_two = scanner.reduce(Recurrence).by_ranges(begins, ends).run((&vec![1_u32; FEW], indices()))?;
        given((plain, of_two, reduce.by_ranges(begins, ends).init_each(&floats(begins.len())).run(&input)?))
    }),
    ("several arrays", |scanner| {
        let (gates, tokens, mut states) = (vec![1_u32; FEW], vec![2_u32; FEW], vec![0_u32; FEW]);
        scanner.scan(Recurrence).run_into((&gates, &tokens), &mut states)?;
        let reduce = scanner.reduce(Recurrence);
        given((states, reduce.run((&gates, &tokens))?, reduce.rows(100).run((indices(), &tokens))?))
    }),
    ("gathered and scattered", |scanner| {
        let (values, mut results) = (floats(FEW), floats(FEW));
        let places: Vec<u32> = (0..FEW as u32).rev().collect();
        scanner.scan(ops::max::<f32>()).run_into(gather(&values, &places), scatter(&mut results, &places))?;
        given(results)
    }),
    // The CPU alone would scan so many elements in parts.
    ("many scattered", |scanner| {
        let (values, mut results) = (vec![3_u8; 200_000], vec![0_u8; 200_000]);
        let places: Vec<u32> = (0..200_000).collect();
        scanner.scan(ops::max::<u8>()).exclusive().run_into(&values, scatter(&mut results, &places))?;
        given(results)
    }),
    ("indices and neighbours", |scanner| {
        let mut sums = vec![0_u64; FEW];
        scanner.scan(ops::sum::<u64>()).run_into(indices(), &mut sums)?;
        let total = scanner.scan(ops::max::<u64>()).with_total().run_into(&sums, discard())?;
        given((total, scanner.scan(ops::min::<u64>()).run(previous(&sums, 7))?))
    }),
    ("a filter", |scanner| {
        let (keep, values, mut kept) = (flags(FEW, 7), floats(FEW), floats(FEW));
        let scan = scanner.scan(ops::filter::<f32>());
        given(scan.with_total().run_into((&keep, &values), scatter_by_output((&mut kept,))).is_ok())
    }),
    ("axes", |scanner| {
        let (scan, input) = (scanner.scan(ops::sum::<f32>()), floats(FEW));
        let down = Axis::of(&[10, 100], 0)?;
        let columns = scan.along(down.clone()).init_each(&floats(100)).with_totals().run(&input)?;
        let rows = scan.along(Axis::of(&[10, 100], 1)?).run(&input)?;
        let mut counted = vec![0_u64; FEW];
        scanner.scan(ops::sum::<u64>()).along(down.clone()).run_into(indices(), &mut counted)?;
        let repeated = scan.along(down.clone()).run(strided(&input[..10], &[1, 0]))?;
        given((columns, rows, counted, repeated, scanner.reduce(ops::min::<f32>()).along(down).run(&input)?))
    }),
    ("reductions along axes", |scanner| {
        let (reduce, down) = (scanner.reduce(ops::max::<f32>()), Axis::of(&[10, 100], 0)?);
        let columns = reduce.along(down.clone()).init_each(&floats(100)).run(&floats(FEW))?;
        let rows = reduce.along(Axis::of(&[10, 100], 1)?).run(&floats(FEW))?;
        let of_two = scanner.reduce(Recurrence).along(down).run((&vec![1_u32; FEW], indices()))?;
        given((columns, rows, of_two))
    }),
    ("n + 1 results", |scanner| {
        let (scan, input) = (scanner.scan(ops::min::<f32>()).include_initial(), floats(FEW));
        let (rows, all) = (scan.rows(100).run(&input)?, scan.run(&input)?);
        given((rows, all, scan.along(Axis::of(&[10, 100], 0)?).with_totals().run(&input)?))
    }),
    ("overrides", |scanner| {
        let scan = scanner.scan(ops::sum::<f32>()).deterministic().overrides(Overrides::default().threads(128));
        given(scan.run(&floats(FEW))?)
    }),
    ("parameters, a report", |scanner| {
        let scan = scanner.scan(weighted()).with_progress(|_| ());
        given(scan.run(&vec![3_u8; FEW])?)
    }),
    ("handles", |scanner| {
        let (scan, input, keys) = (scanner.scan(ops::min::<i32>()), vec![3; FEW], keys(FEW, 70));
        let (plain, by_keys) = (scan.prepare(FEW)?, scan.by_keys(&keys).with_total().prepare(FEW)?);
        let columns = scanner.scan(ops::min::<i16>()).along(Axis::of(&[10, 100], 0)?).prepare(FEW)?;
        let reduce = scanner.reduce(ops::min::<i64>()).prepare(FEW)?;
        let (of_segments, values) = (by_keys.by_keys(&keys).with_total().run(&input)?, vec![3_i16; FEW]);
        given((plain.run(&input)?, of_segments, columns.run(&values)?, reduce.run(&vec![3_i64; FEW])?))
    }),
    ("handles that are not run", |scanner| {
        _ = scanner.scan(ops::max::<u8>()).prepare(FEW)?;
        given(())
    }),
    ("handles of arrays like these", |scanner| {
        let (gates, tokens, mut states) = (vec![1_u32; FEW], vec![2_u32; FEW], vec![0_u32; FEW]);
        let scan = scanner.scan(Recurrence).reverse();
        let handle = Run::from(&scan).prepare_like((&gates, &tokens), &mut states, FEW)?;
        handle.run_into((&gates, &tokens), &mut states)?;
        given(states)
    }),
    ("handles of several chunks", |scanner| {
        let (scan, reduce) = (scanner.scan(ops::sum::<u32>()), scanner.reduce(ops::sum::<u32>()));
        let (handle, reduce) = (scan.prepare(LONG)?, reduce.prepare(LONG)?);
        let columns = scan.along(Axis::of(&[LONG / 10, 10], 0)?).prepare(LONG)?;
        let input = vec![3; FEW];
        drop(columns);
        given((handle.run(&input)?, reduce.run(&input)?))
    }),
];

/// Calls over device memory that need the kernels of the program's calls over host memory.
fn on_device(on: &OnStream) -> Outcome {
    let (sums, stream) = (on.scanner.scan(ops::sum::<f32>()), &on.stream);
    let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
    sums.on(stream).run_into(&input, &mut output)?;
    let mut total = on.slice("total", &[0.0])?;
    sums.clone().exclusive().init(1.5).on(stream).total_into(&mut total).run_into(&input, &mut output)?;
    sums.clone().reverse().on(stream).run_in_place(&mut output)?;
    let values = on.slice("values", &floats(15))?;
    let mut totals = on.slice("totals", &floats(10))?;
    let rows = sums.on(stream).rows(100);
    rows.init_each(&values.slice(..10)).totals_into(&mut totals).run_into(&input, &mut output)?;
    let (keys, offsets) = (on.slice("keys", &keys(FEW, 70))?, on.slice("offsets", &offsets(FEW, 70))?);
    on.scanner.scan(ops::max::<f32>()).on(stream).by_keys(&keys).run_into(&input, &mut output)?;
    sums.on(stream).by_offsets(&offsets).init_each(&values).run_into(&input, &mut output)?;
    on.scanner.reduce(ops::max::<f32>()).on(stream).run(&input)?;
    on.scanner.reduce(ops::sum::<f32>()).on(stream).rows(100).run(&input)?;
    let (gates, mut states) = (on.slice("gates", &[1_u32; FEW])?, on.slice("states", &[0_u32; FEW])?);
    on.scanner.scan(Recurrence).on(stream).run_into((&gates, &gates), &mut states)?;
    let down = sums.on(stream).along(Axis::of(&[10, 100], 0)?);
    let (first, mut last) = (on.slice("first", &floats(100))?, on.slice("last", &floats(100))?);
    down.init_each(&first).totals_into(&mut last).run_into(&input, &mut output)?;
    drop(on.scanner.scan(ops::min::<i32>()).on(stream).prepare(FEW)?);
    let minima = on.scanner.scan(ops::min::<f32>()).include_initial();
    minima.on(stream).run(&input)?;
    minima.on(stream).rows(100).run(&input)?;
    drop(minima.on(stream).prepare(FEW)?);
    reductions_on_device(on)?;
    Ok(stream.synchronize()?)
}

/// The same of reductions, whose kernels write the results of device memory where the host makes those of its own.
fn reductions_on_device(on: &OnStream) -> Outcome {
    let (stream, down) = (&on.stream, Axis::of(&[10, 100], 0)?);
    let (input, values) = (on.slice("input", &floats(FEW))?, on.slice("values", &floats(100))?);
    let (minima, maxima) = (on.scanner.reduce(ops::min::<f32>()), on.scanner.reduce(ops::max::<f32>()));
    minima.on(stream).along(down.clone()).run(&input)?;
    drop(minima.on(stream).along(Axis::of(&[4, 3, 5], 1)?).prepare(60)?);
    maxima.on(stream).along(down.clone()).init_each(&values).run(&input)?;
    maxima.on(stream).along(Axis::of(&[10, 100], 1)?).run(&input)?;
    maxima.clone().reverse().on(stream).run(&input)?;
    let (begins, ends) = (on.slice("begins", &[5_u32, 0])?, on.slice("ends", &[9_u32, 1_000])?);
    on.scanner.reduce(ops::sum::<f32>()).on(stream).by_ranges(&begins, &ends).run(&input)?;
    let (gates, tokens) = (on.slice("gates", &[1_u32; FEW])?, on.slice("tokens", &[2_u32; FEW])?);
    let recurrence = on.scanner.reduce(Recurrence);
    recurrence.on(stream).along(down).run((&gates, &tokens))?;
    recurrence.on(stream).run((&gates, &tokens))?;
    Ok(())
}

/// The least and the largest number, which no recorded call looks for.
fn bounds(scanner: &Scanner) -> Reduce<ops::Pair<ops::Min<f64>, ops::Max<f64>>> {
    scanner.reduce(ops::pair(ops::min(), ops::max()))
}

/// Kernels of reductions over device memory into two arrays, by the kinds of these.
fn like_these() -> Vec<Wanted> {
    let (bounds, x, places) = (bounds(&Scanner::cpu()), [0.0_f64; 0], [0_u32; 0]);
    let (mut least, mut largest) = ([0.0; 0], [0.0; 0]);
    let [down, along] = [0, 1].map(|axis| Axis::of(&[10, 100], axis).expect("an axis"));
    vec![
        bounds.kernels_like(&x, (&mut least, &mut largest)),
        bounds.along(down.clone()).kernels_like(&x, (&mut least, &mut largest)),
        bounds.along(along.clone()).init_each(&[]).kernels_like(&x, (discard(), scatter(&mut largest, &places))),
        bounds.along(along).kernels_like(strided(&x, &[1, 0]), (&mut least, &mut largest)),
        bounds.by_offsets::<u64>(&[]).kernels_like(&x, (&mut least, &mut largest)),
        bounds.by_keys::<u64>(&[]).kernels_like(gather(&x, &places), (&mut least, &mut largest)),
        bounds.by_ranges::<u64>(&[], &[]).kernels_like(&x, (&mut least, &mut largest)),
        with_initial_of_rows().kernels_like(previous(&x, 0.0), &mut least),
    ]
}

/// A scan of `n + 1` results of rows.
fn with_initial_of_rows() -> Run<'static, ops::Sum<f64>> {
    static SCAN: LazyLock<Scan<ops::Sum<f64>>> = LazyLock::new(|| Scanner::cpu().scan(ops::sum()).include_initial());
    SCAN.rows(100)
}

/// The calls that need them.
fn like_these_on_device(on: &OnStream) -> Outcome {
    let (bounds, stream) = (bounds(&on.scanner), &on.stream);
    let values: Vec<f64> = (0..FEW).map(|index| index as f64).collect();
    let (x, results) = (on.slice("x", &values)?, on.slice("results", &values)?);
    let (mut least, mut largest) = (results.clone(), results);
    let (mut one, mut other) = (least.slice_mut(..1), largest.slice_mut(..1));
    bounds.on(stream).run_into(&x, (&mut one, &mut other))?;
    drop(bounds.on(stream).prepare_like(&x, (&mut one, &mut other), FEW)?);
    let down = bounds.on(stream).along(Axis::of(&[10, 100], 0)?);
    let (mut one, mut other) = (least.slice_mut(..100), largest.slice_mut(..100));
    down.run_into(&x, (&mut one, &mut other))?;
    drop(down.prepare_like(&x, (&mut one, &mut other), FEW)?);
    let started = bounds.clone().init(ops::Both { first: 1.0, second: 1.0 });
    let nothing = started.on(stream).along(Axis::of(&[0, 100], 0)?);
    nothing.run_into(&x.slice(..0), (&mut one, &mut other))?;
    let (places, initial) =
        (on.slice("places", &(0..10).collect::<Vec<u32>>())?, ops::Both { first: 0.0, second: 1.0 });
    let (initial, along) = (on.slice("initial", &[initial; 10])?, bounds.on(stream).along(Axis::of(&[10, 100], 1)?));
    along.clone().init_each(&initial).run_into(&x, (discard(), scatter(&mut other, &places)))?;
    let (mut one, mut other) = (least.slice_mut(..10), largest.slice_mut(..10));
    along.run_into(strided(&x, &[1, 0]), (&mut one, &mut other))?;
    let offsets = on.slice("offsets", &[0_u64, 3, 7])?;
    let (mut one, mut other) = (least.slice_mut(..2), largest.slice_mut(..2));
    bounds.on(stream).by_offsets(&offsets).run_into(&x, (&mut one, &mut other))?;
    bounds.on(stream).by_ranges(&offsets.slice(..2), &offsets.slice(1..)).run_into(&x, (&mut one, &mut other))?;
    let (keys, order) = (on.slice("keys", &[7_u64; FEW])?, on.slice("order", &[3_u32; FEW])?);
    let mut count = on.slice("count", &[0_u64])?;
    let by_keys = bounds.on(stream).by_keys(&keys).count_into(&mut count);
    by_keys.run_into(gather(&x, &order), (&mut least, &mut largest))?;
    let with_initial = on.scanner.scan(ops::sum::<f64>()).include_initial();
    let mut room = on.slice("room", &vec![0.0; FEW + 10])?;
    with_initial.on(stream).rows(100).run_into(previous(&x, 0.0), &mut room)?;
    Ok(())
}

pub(crate) fn add(kinds: &mut Kinds) {
    kinds.refused("ahead_of_time_recorded_calls_find_their_kernels", |_| {
        let recording = Recording::for_device(DeviceLimits::of("sm_90".parse()?));
        let cpu = Scanner::cpu();
        for (name, call) in PROGRAM {
            let at = |error| format!("{name}: {error}");
            let [found, expected] = [recording.scanner(), &cpu].map(|scanner| call(scanner).map_err(at));
            let (found, expected) = (format!("{:?}", found?), format!("{:?}", expected?));
            assert!(found == expected, "{name}: the recording gives {found}, the CPU {expected}");
        }
        let bundle = Bundle::new().architecture("sm_90").with(&recording);
        let bytes = like_these().iter().fold(bundle, Bundle::with).compile()?;
        let kernels = Precompiled::open(bytes.clone())?;
        let limits = DeviceLimits::of("sm_90".parse()?);
        assert_eq!(kernels.missing(&recording, &limits)?, [""; 0]);
        // What is called again is noted once.
        let before = format!("{recording:?}");
        PROGRAM.iter().try_for_each(|(_, call)| call(recording.scanner()).map(drop))?;
        assert_eq!(format!("{recording:?}"), before);

        let path = target_dir()?.join("launches-tests.scan");
        fs::write(&path, &bytes)?;
        let Output { status, stdout, stderr } = without_nvrtc(&path)?;
        let text = String::from_utf8_lossy(&stdout);
        assert!(status.success() && text.contains(DONE), "{text}{}", String::from_utf8_lossy(&stderr));
        Ok(())
    });
    kinds.refused(CHILD, |_| env::var_os(BUNDLE_OF_CHILD).map_or(Ok(()), |path| child(Path::new(&path))));
}

/// What the child process ends with.
const DONE: &str = "every recorded call has found its kernels";

/// Runs the test of the child in another process.
fn without_nvrtc(bundle: &Path) -> std::io::Result<Output> {
    Command::new(env::current_exe()?).args(["--exact", CHILD]).env(BUNDLE_OF_CHILD, bundle).output()
}

/// Whether this process is to have no compiler. To be called before anything looks for one.
///
/// # Safety
///
/// No other thread runs.
pub(crate) unsafe fn hide_compiler() {
    if env::var_os(BUNDLE_OF_CHILD).is_some() {
        // SAFETY: the caller guarantees it.
        unsafe { env::set_var(LIBRARY_VARIABLE, "off") };
    }
}

fn child(bundle: &Path) -> Outcome {
    let bytes = fs::read(bundle)?;
    let builder = || Scanner::builder().device(0).no_cache().precompiled(bytes.clone());
    let (scanner, chunked) = (builder().build()?, builder().staging(in_chunks()).build()?);
    for (name, call) in PROGRAM {
        let (result, record) = driver::record(|| call(&scanner));
        result.map_err(|error| format!("{name}: {error}"))?;
        let is_launched = record.contains("launch ") || ["nothing", "handles that are not run"].contains(name);
        assert!(is_launched, "{name}: nothing has been launched\n{record}");
    }
    on_device(&OnStream::of(scanner.clone())?)?;
    like_these_on_device(&OnStream::of(scanner.clone())?)?;

    // Kernels of chunks are there for what was prepared for so many elements; others go through the device at once.
    let launches = |call: &dyn Fn() -> Result<(), scan_runtime::Error>| {
        let (result, record) = driver::record(call);
        result.map(|()| record.matches("launch ").count())
    };
    let (known, other) = (chunked.scan(ops::sum::<u32>()), chunked.scan(ops::sum::<f32>()));
    assert_eq!(launches(&|| known.run(&vec![3; LEN]).map(drop))?, 3);
    assert_eq!(launches(&|| chunked.reduce(ops::sum::<u32>()).run(&vec![3; LEN]).map(drop))?, 3);
    assert!(launches(&|| known.along(Axis::of(&[LEN / 10, 10], 0)?).run(&vec![3; LEN]).map(drop))? >= 3);
    assert_eq!(launches(&|| other.run(&floats(LEN)).map(drop))?, 1);
    drop(other.prepare(LEN)?);

    let stats = scanner.cache_stats();
    assert!(stats.precompiled > 0 && stats.modules.is_empty(), "{stats:?}");
    // A call that was not recorded.
    let error = scanner.scan(ops::sum::<i8>()).run(&[1; FEW]).err().ok_or("it has found kernels")?.to_string();
    assert!(error.contains("is not among the precompiled kernels, and NVRTC is not installed"), "{error}");
    println!("{DONE}");
    Ok(())
}
