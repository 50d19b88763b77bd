//! Scans whose input and output have an array for each field: in host and device memory, from either end, restarting or
//! not, each array at a place of its own.

use scan_codegen::ScanSpec;
use scan_runtime::{Error, ScanKind, Staging};
use scan_tests::{
    columns::{ColumnsOperator, Recurrence, Summarize, Summary},
    reference::{self, WAYS},
};

use crate::{Outcome, Trials, ensure, older::scanner};

pub(crate) fn add(trials: &mut Trials) {
    trials.add("columns", || {
        for (index, len) in [1, 31, 1_019, 4_101, 20_011, 300_007].into_iter().enumerate() {
            run(len, index)?;
        }
        Ok(())
    });
    trials.add("large_columns", || {
        for (index, len) in [3_000_017, 8_388_611, 40_000_003].into_iter().enumerate() {
            run(len, index)?;
        }
        Ok(())
    });
    trials.add("columns_prepared", prepared);
    trials.add("columns_in_chunks", in_chunks);
    trials.add("columns_of_other_lengths_are_refused", || {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let (gates, tokens) = (stream.clone_htod(&[1_u32; 7])?, stream.clone_htod(&[1_u32; 6])?);
        let mut states = stream.alloc_zeros::<u32>(7)?;
        let found = scanner.scan(Recurrence).on(&stream).run_into((&gates, &tokens), &mut states);
        ensure(matches!(found, Err(Error::ArrayLength { array: 1, .. })), || "7 gates and 6 tokens".to_owned())
    });
}

/// Indices at which the parts of the arrays begin that are scanned: as of whole arrays, alike, and each for itself.
const BEGINNINGS: [[usize; 5]; 4] = [[0; 5], [5; 5], [1, 2, 3, 4, 5], [0, 0, 0, 1, 0]];

/// Three arrays to two, in every way and from both ends.
fn run(len: usize, index: usize) -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let input = Summarize::inputs(len, index as u64);
    let begins: Vec<bool> = (0..len).map(|i| i == 0 || i % 3_001 == 5).collect();
    let flags = stream.clone_htod(&begins)?;
    for (turn, (kind, with_initial_value)) in WAYS.into_iter().enumerate() {
        let [kind_at, value_at, code_at, hash_at, factor_at] = BEGINNINGS[(index + turn) % BEGINNINGS.len()];
        let (reversed, restarts) = ((index + turn) % 2 == 1, turn / 2 == index % 2);
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = if reversed { spec.reverse() } else { spec };
        let scan = scanner.scan(Summarize);
        let scan = if kind == ScanKind::Exclusive { scan.exclusive() } else { scan };
        let scan = if reversed { scan.reverse() } else { scan };
        let initial_value = with_initial_value.then(Summarize::initial_value);
        let scan = initial_value.iter().fold(scan, |scan, value| scan.init(*value));
        let expected = reference::scan_as(&Summarize, &spec, initial_value, &input, restarts.then_some(&begins[..]));
        let same = |hashes: &[u32], factors: &[u8], what: &str| {
            let found = hashes.iter().zip(factors).map(|(&hash, &factor)| Summary { hash, factor });
            let wrong = found.zip(&expected).position(|(found, expected)| found != *expected);
            ensure(wrong.is_none(), || format!("{what}, {spec}, {len} elements: wrong from {wrong:?} on"))
        };
        let kinds: Vec<u8> = (0..kind_at).map(|_| 9).chain(input.iter().map(|x| x.kind)).collect();
        let values: Vec<f32> = (0..value_at).map(|_| 9.0).chain(input.iter().map(|x| x.value)).collect();
        let codes: Vec<[u16; 3]> = (0..code_at).map(|_| [9; 3]).chain(input.iter().map(|x| x.code)).collect();
        let (mut hashes, mut factors) = (vec![0; len], vec![0; len]);
        let arrays = (&kinds[kind_at..], &values[value_at..], &codes[code_at..]);
        match restarts {
            true => scan.by_flags(&begins).run_into(arrays, (&mut hashes, &mut factors))?,
            false => scan.clone().run_into(arrays, (&mut hashes, &mut factors))?,
        }
        same(&hashes, &factors, "host memory")?;

        let (kinds, values, codes) =
            (stream.clone_htod(&kinds)?, stream.clone_htod(&values)?, stream.clone_htod(&codes)?);
        let mut hashes = stream.clone_htod(&vec![0xa5a5_a5a5_u32; hash_at + len + 3])?;
        let mut factors = stream.clone_htod(&vec![0xa5_u8; factor_at + len + 3])?;
        {
            let arrays = (&kinds.slice(kind_at..), &values.slice(value_at..), &codes.slice(code_at..));
            let mut hashes = hashes.slice_mut(hash_at..hash_at + len);
            let mut factors = factors.slice_mut(factor_at..factor_at + len);
            let on_stream = scan.on(&stream);
            let on_stream = if restarts { on_stream.by_flags(&flags) } else { on_stream };
            on_stream.run_into((arrays.0, arrays.1, arrays.2), (&mut hashes, &mut factors))?;
        }
        let (hashes, factors) = (stream.clone_dtoh(&hashes)?, stream.clone_dtoh(&factors)?);
        same(&hashes[hash_at..hash_at + len], &factors[factor_at..factor_at + len], "device memory")?;
        let untouched = hashes[..hash_at].iter().chain(&hashes[hash_at + len..]).all(|&word| word == 0xa5a5_a5a5)
            && factors[..factor_at].iter().chain(&factors[factor_at + len..]).all(|&byte| byte == 0xa5);
        ensure(untouched, || format!("{len} elements: something beside the output was written"))?;
    }
    Ok(())
}

/// Two arrays to one, by a handle, with the total.
fn prepared() -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let scan = scanner.scan(Recurrence);
    let (gates, mut states) = (stream.alloc_zeros::<u32>(8)?, stream.alloc_zeros::<u32>(8)?);
    let handle = scan.on(&stream).with_total().prepare_like((&gates, &gates), &mut states, 1_000_003)?;
    for len in [1, 5_000, 1_000_003] {
        let input = Recurrence::inputs(len, 11);
        let gates = stream.clone_htod(&input.iter().map(|step| step.gate).collect::<Vec<_>>())?;
        let tokens = stream.clone_htod(&input.iter().map(|step| step.token).collect::<Vec<_>>())?;
        let (mut states, mut total) =
            (stream.alloc_zeros::<u32>(len)?, stream.clone_htod(&[Recurrence::initial_value()])?);
        handle.total_into(&mut total).run_into((&gates, &tokens), &mut states)?;
        let expected = reference::scan(&Recurrence, ScanKind::Inclusive, None, &input);
        ensure(stream.clone_dtoh(&states)? == expected, || format!("{len} elements"))?;
        let total = stream.clone_dtoh(&total)?;
        ensure(total.first().map(|map| map.b) == expected.last().copied(), || format!("the total of {len} elements"))?;
    }
    let other = scan.on(&stream).prepare(8)?;
    let found = other.run_into((&gates, &gates), &mut states);
    ensure(matches!(found, Err(Error::HandleMismatch { .. })), || "a handle for one array took several".to_owned())
}

fn in_chunks() -> Outcome {
    let staging = Staging::default().with_chunk_bytes(64 << 10);
    let scanner = scan_runtime::Scanner::builder().device(0).staging(staging).build()?;
    let len = 100_003;
    let input = Recurrence::inputs(len, 5);
    let gates: Vec<u32> = input.iter().map(|step| step.gate).collect();
    let tokens: Vec<u32> = input.iter().map(|step| step.token).collect();
    for reversed in [false, true] {
        let scan = if reversed { scanner.scan(Recurrence).reverse() } else { scanner.scan(Recurrence) };
        let spec = if reversed { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
        let mut states = vec![0; len];
        scan.run_into((&gates, &tokens), &mut states)?;
        let expected = reference::scan_as(&Recurrence, &spec, None, &input, None);
        ensure(states == expected, || format!("{spec} in chunks"))?;
    }
    Ok(())
}
