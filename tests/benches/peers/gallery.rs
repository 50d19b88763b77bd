//! The gallery's operators beside a copy of as many bytes and beside CUB, which has the operators' own CUDA text, with
//! an iterator that lifts and one that projects.

use std::{ffi::c_void, ptr, sync::Arc};

use scan_runtime::{
    Device, Prepared, ScanOp, Scanner,
    cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut},
};
use scan_tests::gallery::{Example, Visitor, compare, visit_gallery};

use crate::{
    Bench, Outcome,
    cub::{GalleryCub, GalleryScan},
    race::{Buffers, Clock},
};

/// Elements after which an input repeats itself, and results that are compared with the CPU's.
const REPEATED: usize = 1 << 20;
const CHECKED: usize = 1 << 16;
/// Turns of each, and microseconds of one.
pub(crate) const TURNS: usize = 5;
const TURN: f64 = 3_000.0;

impl Bench {
    /// Prints a line for each operator, and the means.
    pub(crate) fn gallery(&mut self, lengths: &[usize], limit: usize) -> Outcome {
        let columns: String = lengths.iter().map(|len| format!(" 2^{}: ours, CUB |", len.ilog2())).collect();
        println!("| operator, ratio to a copy | bytes: input, state, output |{columns}");
        println!("|---|---|{}", "--:|".repeat(lengths.len()));
        let cub = GalleryCub::open();
        if let Err(why) = &cub {
            println!("no CUB: {why}");
        }
        let mut gallery =
            Gallery { bench: self, cub: cub.ok(), lengths, limit, ratios: vec![Vec::new(); lengths.len()] };
        visit_gallery(&mut gallery);
        for (len, ratios) in lengths.iter().zip(&gallery.ratios) {
            let mean = |ratio: fn(&(f64, f64)) -> f64| {
                (ratios.iter().map(|pair| ratio(pair).ln()).sum::<f64>() / ratios.len() as f64).exp()
            };
            let (ours, to_cub) = (mean(|(ours, _)| *ours), mean(|(ours, cub)| ours / cub));
            println!("2^{}: {ours:.3} of a copy, {to_cub:.2} times CUB, geometric means", len.ilog2());
        }
        Ok(())
    }
}

struct Gallery<'a> {
    bench: &'a mut Bench,
    cub: Option<GalleryCub>,
    lengths: &'a [usize],
    /// Bytes of a buffer.
    limit: usize,
    /// At each length, ours and CUB's.
    ratios: Vec<Vec<(f64, f64)>>,
}

impl Visitor for Gallery<'_> {
    fn visit<Op: Example>(&mut self, name: &str) {
        if self.bench.wants(name)
            && let Err(error) = self.measure::<Op>(name)
        {
            println!("| {name} | {error} |");
            self.bench.wrong.push(format!("{name}: {error}"));
        }
    }
}

impl Gallery<'_> {
    fn measure<Op: Example>(&mut self, name: &str) -> Outcome {
        let (stream, scanner) = (self.bench.stream.clone(), self.bench.scanner.clone());
        let element = size_of::<Op::Input>().max(size_of::<Op::Output>());
        let lengths: Vec<usize> = self.lengths.iter().copied().filter(|len| len * element <= self.limit).collect();
        let longest = lengths.iter().copied().max().ok_or("no length")?;
        let block = Op::input(REPEATED.min(longest));
        let expected = Scanner::cpu().scan(Op::new()).run(&block[..CHECKED.min(longest)])?;
        let input = Buffers::repeating(&stream, &block, longest)?.input;
        // SAFETY: it is written before it is read.
        let mut output = unsafe { stream.alloc::<Op::Output>(longest)? };
        let bytes_of = |len: usize| len * (size_of::<Op::Input>() + size_of::<Op::Output>()) / 2;
        let (from, mut to) =
            (stream.alloc_zeros::<u8>(bytes_of(longest))?, stream.alloc_zeros::<u8>(bytes_of(longest))?);
        let mut theirs = self.cub.as_ref().map(|cub| cub.scan(name, &Op::new())).transpose()?;
        let mut row = String::new();
        for (len, ratios) in lengths.into_iter().zip(&mut self.ratios) {
            let part = input.slice(..len);
            let scan = scanner.scan(Op::new());
            let prepared: Prepared<Op, Device> = scan.on(&stream).prepare(len)?;
            let check = |output: &CudaSlice<Op::Output>| -> Outcome {
                let found = stream.clone_dtoh(&output.slice(..expected.len().min(len)))?;
                Ok(compare(&found, &expected[..found.len()], Op::tolerance().max(1e-3))?)
            };
            prepared.run_into(&part, &mut output.slice_mut(..len))?;
            check(&output)?;
            let last = stream.clone_dtoh(&output.slice(len - 1..len))?;
            if let Some(theirs) = &mut theirs {
                theirs.run::<Op>(&stream, &input, &mut output, len)?;
                check(&output)?;
                let found = stream.clone_dtoh(&output.slice(len - 1..len))?;
                // Rounding adds up on the way there, without bounds in longer inputs.
                if len <= REPEATED {
                    compare(&found, &last, if Op::tolerance() > 0.0 { 0.05 } else { 0.0 })?;
                }
            }
            let clock = &self.bench.clock;
            let copy = from.slice(..bytes_of(len));
            let [mut copies, mut ours, mut cubs] = [const { Vec::new() }; 3];
            for _ in 0..TURNS {
                let mut copied = to.slice_mut(..bytes_of(len));
                copies.push(turn(clock, &stream, || Ok(stream.memcpy_dtod(&copy, &mut copied)?))?);
                ours.push(turn(clock, &stream, || Ok(prepared.run_into(&part, &mut output.slice_mut(..len))?))?);
                if let Some(theirs) = &mut theirs {
                    cubs.push(turn(clock, &stream, || theirs.run::<Op>(&stream, &input, &mut output, len))?);
                }
            }
            let [copy, ours, cub] = [copies, ours, cubs].map(median);
            row.push_str(&format!(" {:.3}, {:.3} |", copy / ours, copy / cub));
            ratios.push((copy / ours, copy / cub));
        }
        let [input, state, output] = [size_of::<Op::Input>(), size_of::<Op::State>(), size_of::<Op::Output>()];
        println!("| {name} | {input}, {state}, {output} |{row}");
        Ok(())
    }
}

pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Microseconds of a call, of as many as fill a turn.
pub(crate) fn turn(clock: &Clock, stream: &Arc<CudaStream>, mut call: impl FnMut() -> Outcome) -> Outcome<f64> {
    let once = clock.time(stream, &mut call)?;
    let calls = (TURN / once).clamp(1.0, 100.0) as u32;
    Ok(clock.time(stream, || (0..calls).try_for_each(|_| call()))? / f64::from(calls))
}

impl GalleryScan {
    /// One scan by CUB.
    fn run<Op: ScanOp>(
        &mut self,
        stream: &Arc<CudaStream>,
        input: &CudaSlice<Op::Input>,
        output: &mut CudaSlice<Op::Output>,
        len: usize,
    ) -> Outcome {
        let (from, _reading) = input.device_ptr(stream);
        let (to, _writing) = output.device_ptr_mut(stream);
        if self.memory.as_ref().is_none_or(|(of, _)| *of != len) {
            let mut bytes = 0;
            self.call(ptr::null_mut(), &mut bytes, (from, to), len, stream)?;
            // SAFETY: CUB writes what it reads of it. A null pointer would be a question, so there is always a byte.
            self.memory = Some((len, unsafe { stream.alloc::<u8>(bytes.max(1)) }?));
        }
        let Some((_, memory)) = &mut self.memory else { return Ok(()) };
        let (mut bytes, temporary) = (memory.len(), memory.device_ptr_mut(stream).0 as *mut c_void);
        self.call(temporary, &mut bytes, (from, to), len, stream)
    }
}
