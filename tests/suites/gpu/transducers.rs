//! Programs that give up to two results for an input, on a device: in host memory and in device memory.

use scan_runtime::{
    Scanner,
    arrays::{bits, indices, scatter_by_output},
};
use scan_tests::transducers::{Decoded, Leb128, ReadNumbers, Utf16, documents, leb128, numbers_of, units_of};

use crate::{Outcome, Trials, ensure};

const LENGTHS: [usize; 5] = [1, 33, 4_097, 100_003, 3_000_001];

pub(crate) fn add(trials: &mut Trials) {
    trials.add("documents_that_begin_anew", of_documents);
    trials.add("numbers_and_the_first_error", of_numbers);
}

fn of_documents() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let scan = scanner.scan(Utf16);
    for len in LENGTHS {
        let documents = documents(len, 7);
        let expected = units_of(&documents);
        let (bytes, flags): (Vec<u8>, Vec<bool>) = documents.iter().map(|x| (x.byte, x.begins)).unzip();
        let mut units = vec![0; expected.len()];
        let total = scan.with_total().run_into((&bytes, &flags), scatter_by_output((&mut units,)))?;
        let count = total.map_or(0, |total| total.units as usize);
        ensure(count == expected.len() && units == expected, || format!("host memory, {len} bytes"))?;

        // From the fourth bit on.
        let mut bitmap = vec![0_u8; (len + 3).div_ceil(8)];
        flags.iter().enumerate().for_each(|(i, &flag)| bitmap[(i + 3) / 8] |= u8::from(flag) << ((i + 3) % 8));
        let (bytes, flags, bitmap) =
            (stream.clone_htod(&bytes)?, stream.clone_htod(&flags)?, stream.clone_htod(&bitmap)?);
        for by_bits in [false, true] {
            let mut units = stream.alloc_zeros::<u16>(expected.len().max(1))?;
            let mut total = stream.clone_htod(&[Decoded::default()])?;
            let run = scan.on(&stream).total_into(&mut total);
            match by_bits {
                false => run.run_into((&bytes, &flags), scatter_by_output((&mut units,)))?,
                true => run.run_into((&bytes, bits(&bitmap, 3)), scatter_by_output((&mut units,)))?,
            }
            let same = stream.clone_dtoh(&units)?[..expected.len()] == expected;
            let count = stream.clone_dtoh(&total)?[0].units as usize;
            ensure(same && count == expected.len(), || format!("device memory, {len} bytes, by bits: {by_bits}"))?;
        }
    }
    Ok(())
}

fn of_numbers() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let scan = scanner.scan(Leb128);
    for (len, wrong_from) in LENGTHS.into_iter().flat_map(|len| [(len, len), (len, len / 2), (len, 0)]) {
        let bytes = leb128(len, 7, wrong_from);
        let (expected, first_error) = numbers_of(&bytes);
        let right = |numbers: &[u32], total: ReadNumbers, memory: &str| {
            let same = numbers.starts_with(&expected) && total.numbers as usize == expected.len();
            let what = || format!("{memory}, {len} bytes, wrong from {wrong_from}");
            ensure(same && total.first_error == first_error, what)
        };
        let mut numbers = vec![0; expected.len()];
        let outputs = scatter_by_output((&mut numbers,));
        let total = scan.with_total().run_into((&bytes, indices()), outputs)?;
        right(&numbers, total.ok_or("no total")?, "host memory")?;

        let bytes = stream.clone_htod(&bytes)?;
        let mut numbers = stream.alloc_zeros::<u32>(expected.len().max(1))?;
        let nothing = ReadNumbers { numbers: 0, first_error: 0, value: 0, bytes: 0 };
        let mut total = stream.clone_htod(&[nothing])?;
        let outputs = scatter_by_output((&mut numbers,));
        scan.on(&stream).total_into(&mut total).run_into((&bytes, indices()), outputs)?;
        right(&stream.clone_dtoh(&numbers)?, stream.clone_dtoh(&total)?[0], "device memory")?;
    }
    Ok(())
}
