//! Uses of scans beside a copy of the bytes that each must move, and beside CUB's primitives for them: the elements
//! below a pivot, run lengths, a radix sort, the summed-area table of an image, the sum of two long integers.
//! `examples/uses` explains the operators, and compares them with plain loops.

use std::{ffi::c_void, mem, ptr, sync::Arc};

use scan_runtime::{
    Axis, ScanOp, arrays,
    cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, sys::CUstream},
    ops, scan_element, scan_fn, scan_op,
};
use scan_tests::operators::mixed;

use crate::{Bench, Outcome, cub::open, race::Clock};

/// Turns of each, and microseconds of one.
const TURNS: usize = 5;
const TURN: f64 = 3_000.0;

/// Rows and columns of the image.
const SIDE: usize = 1 << 14;

const PIVOT: u32 = 1 << 31;

#[scan_fn]
fn below_pivot(x: u32) -> ops::Candidate<u32> {
    ops::Candidate { keep: x < PIVOT, value: x }
}

#[scan_element]
#[derive(Clone, Copy)]
struct Element {
    index: u32,
    value: u32,
}

/// Some elements: the first and the last, where the first is, where the last run begins, how many runs begin after the
/// first one.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    first: u32,
    last: u32,
    begin: u32,
    last_begin: u32,
    runs: u32,
}

/// The runs so far, and the last of them.
#[scan_element]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Last {
    runs: u32,
    value: u32,
    begin: u32,
}

#[scan_element]
#[derive(Clone, Copy)]
struct Run {
    place: u32,
    value: u32,
    length: u32,
}

/// Each run where the next one begins: its number, its element, its length. The last run is the total.
#[derive(Clone)]
struct Runs;

#[scan_op]
impl ScanOp for Runs {
    type Input = Element;
    type State = Part;
    type Carry = Last;
    type Output = Run;
    const IDENTITY: Part = Part { first: 0, last: 0, begin: u32::MAX, last_begin: 0, runs: 0 };
    const START: Last = Last { runs: 0, value: 0, begin: 0 };
    fn lift(x: Element) -> Part {
        Part { first: x.value, last: x.value, begin: x.index, last_begin: x.index, runs: 0 }
    }
    fn combine(a: Part, b: Part) -> Part {
        if a.begin == u32::MAX {
            return b;
        }
        if b.begin == u32::MAX {
            return a;
        }
        let differs = a.last != b.first;
        let last_begin = if b.runs > 0 || differs { b.last_begin } else { a.last_begin };
        Part { first: a.first, last: b.last, begin: a.begin, last_begin, runs: a.runs + b.runs + differs as u32 }
    }
    fn apply(s: Part, c: Last) -> Last {
        if s.begin == u32::MAX {
            return c;
        }
        let differs = c.runs == 0 || c.value != s.first;
        let begin = if s.runs > 0 || differs { s.last_begin } else { c.begin };
        Last { runs: c.runs + s.runs + differs as u32, value: s.last, begin }
    }
    fn step(c: Last, x: Element) -> Last {
        if c.runs == 0 || c.value != x.value { Last { runs: c.runs + 1, value: x.value, begin: x.index } } else { c }
    }
    fn emit(c: Last, x: Element) -> Run {
        let ends = c.runs > 0 && c.value != x.value;
        Run { place: if ends { c.runs - 1 } else { u32::MAX }, value: c.value, length: x.index - c.begin }
    }
}

#[scan_element]
#[derive(Clone, Copy)]
struct Item {
    key: u32,
    payload: u32,
}

#[scan_element]
#[derive(Clone, Copy)]
struct Placed {
    place: u32,
    key: u32,
    payload: u32,
}

/// Bits of a digit: as many counts as digits are in each state.
const BITS: usize = 2;
const DIGITS: usize = 1 << BITS;

/// A number for each digit: how many keys have it, or where the next key goes that has it.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct OfDigits {
    numbers: [u32; DIGITS],
}

#[scan_fn]
fn count(numbers: OfDigits, digit: u32) -> OfDigits {
    let mut after = numbers;
    for d in 0..DIGITS as u32 {
        after.numbers[d as usize] += (d == digit) as u32;
    }
    after
}

#[scan_fn]
fn add(a: OfDigits, b: OfDigits) -> OfDigits {
    let mut sum = a;
    for digit in 0..DIGITS {
        sum.numbers[digit] += b.numbers[digit];
    }
    sum
}

/// Counts of a digit.
#[derive(Clone)]
struct Histogram {
    shift: u32,
}

#[scan_op]
impl ScanOp for Histogram {
    type Input = u32;
    type State = OfDigits;
    type Output = OfDigits;
    const IDENTITY: OfDigits = OfDigits { numbers: [0; DIGITS] };
    fn lift(&self, key: u32) -> OfDigits {
        count(Self::IDENTITY, key >> self.shift & (DIGITS as u32 - 1))
    }
    fn combine(a: OfDigits, b: OfDigits) -> OfDigits {
        add(a, b)
    }
    fn append(&self, counts: OfDigits, key: u32) -> OfDigits {
        count(counts, key >> self.shift & (DIGITS as u32 - 1))
    }
}

/// Where items go by a digit of their keys.
#[derive(Clone)]
struct Pass {
    shift: u32,
}

#[scan_op]
impl ScanOp for Pass {
    type Input = Item;
    type Carry = OfDigits;
    type Output = Placed;
    const START: OfDigits = OfDigits { numbers: [0; DIGITS] };
    fn advance(&self, next: OfDigits, x: Item) -> (OfDigits, Placed) {
        let digit = x.key >> self.shift & (DIGITS as u32 - 1);
        let mut place = 0_u32;
        for d in 0..DIGITS as u32 {
            if d == digit {
                place = next.numbers[d as usize];
            }
        }
        (count(next, digit), Placed { place, key: x.key, payload: x.payload })
    }
    type State = OfDigits;
    const IDENTITY: OfDigits = OfDigits { numbers: [0; DIGITS] };
    fn lift(&self, x: Item) -> OfDigits {
        count(Self::IDENTITY, x.key >> self.shift & (DIGITS as u32 - 1))
    }
    fn combine(a: OfDigits, b: OfDigits) -> OfDigits {
        add(a, b)
    }
    fn append(&self, counts: OfDigits, x: Item) -> OfDigits {
        count(counts, x.key >> self.shift & (DIGITS as u32 - 1))
    }
    fn apply(counts: OfDigits, next: OfDigits) -> OfDigits {
        add(next, counts)
    }
}

/// Corresponding words of two long integers.
#[scan_element]
#[derive(Clone, Copy)]
struct Words {
    a: u64,
    b: u64,
}

/// The carry of a part: 0, 1, or that of the part before it.
const PROPAGATES: u8 = 2;

/// The sum of two long integers.
#[derive(Clone)]
struct Add;

#[scan_op]
impl ScanOp for Add {
    type Input = Words;
    type Carry = bool;
    type Output = u64;
    const START: bool = false;
    fn advance(carry: bool, words: Words) -> (bool, u64) {
        let sum = words.a.wrapping_add(words.b);
        ((sum < words.a) | ((sum == u64::MAX) & carry), sum.wrapping_add(carry as u64))
    }
    type State = u8;
    const IDENTITY: u8 = PROPAGATES;
    fn lift(words: Words) -> u8 {
        let sum = words.a.wrapping_add(words.b);
        if sum == u64::MAX { PROPAGATES } else { (sum < words.a) as u8 }
    }
    fn combine(a: u8, b: u8) -> u8 {
        if b == PROPAGATES { a } else { b }
    }
    fn apply(effect: u8, carry: bool) -> bool {
        if effect == PROPAGATES { carry } else { effect == 1 }
    }
}

type Select = unsafe extern "C" fn(*mut c_void, *mut usize, u64, u64, u64, u32, u32, CUstream) -> std::ffi::c_int;
type EncodeOrSort = unsafe extern "C" fn(*mut c_void, *mut usize, u64, u64, u64, u64, u32, CUstream) -> std::ffi::c_int;

type Call<'a> = dyn Fn(*mut c_void, &mut usize) -> std::ffi::c_int + 'a;

/// Memory for CUB's temporary data, and its call with it.
struct Theirs<'a> {
    call: Box<Call<'a>>,
    memory: CudaSlice<u8>,
}

impl<'a> Theirs<'a> {
    fn new(stream: &Arc<CudaStream>, call: impl Fn(*mut c_void, &mut usize) -> std::ffi::c_int + 'a) -> Outcome<Self> {
        let mut bytes = 0;
        call(ptr::null_mut(), &mut bytes);
        // SAFETY: CUB writes what it reads of it.
        Ok(Theirs { call: Box::new(call), memory: unsafe { stream.alloc(bytes.max(1)) }? })
    }

    fn run(&mut self, stream: &Arc<CudaStream>) -> Outcome {
        let mut bytes = self.memory.len();
        let temporary = self.memory.device_ptr_mut(stream).0 as *mut c_void;
        let code = (self.call)(temporary, &mut bytes);
        if code == 0 { Ok(()) } else { Err(format!("CUB: error {code} of the runtime").into()) }
    }
}

fn address<T: DeviceRepr>(slice: &CudaSlice<T>, stream: &Arc<CudaStream>) -> u64 {
    slice.device_ptr(stream).0
}

/// Times of a copy, of ours and of theirs, in turns.
fn race(
    clock: &Clock,
    stream: &Arc<CudaStream>,
    (name, bytes): (&str, usize),
    ours: &mut dyn FnMut() -> Outcome,
    mut theirs: Option<Theirs<'_>>,
) -> Outcome {
    // SAFETY: what is copied does not matter.
    let (from, mut to) = unsafe { (stream.alloc::<u8>(bytes / 2)?, stream.alloc::<u8>(bytes / 2)?) };
    let turn = |call: &mut dyn FnMut() -> Outcome| -> Outcome<f64> {
        let once = clock.time(stream, &mut *call)?;
        let calls = (TURN / once).clamp(1.0, 100.0) as u32;
        Ok(clock.time(stream, || (0..calls).try_for_each(|_| call()))? / f64::from(calls))
    };
    ours()?;
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..TURNS {
        times[0].push(turn(&mut || Ok(stream.memcpy_dtod(&from, &mut to)?))?);
        times[1].push(turn(ours)?);
        if let Some(theirs) = &mut theirs {
            times[2].push(turn(&mut || theirs.run(stream))?);
        }
    }
    let [copy, ours, cub] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    });
    println!("| {name} | {:.3} | {:.3} | {:.3} | {ours:.0} |", copy / ours, copy / cub, cub / ours);
    Ok(())
}

impl Bench {
    /// Prints a line for each use.
    pub(crate) fn uses(&mut self, power: u32) -> Outcome {
        let len = 1_usize << power;
        let (stream, scanner) = (self.stream.clone(), self.scanner.clone());
        let library = open("libcub_uses.so").map_err(|why| println!("no CUB: {why}")).ok();
        let cub = library.as_ref();
        println!(
            "| use, 2^{power} elements | ours / copy | CUB / copy | ours / CUB | ours, µs |\n|---|--:|--:|--:|--:|"
        );
        let x: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32).collect();
        let device = stream.clone_htod(&x)?;
        let mut outputs = [stream.alloc_zeros::<u32>(len)?, stream.alloc_zeros::<u32>(len)?];
        let mut number = stream.alloc_zeros::<u32>(1)?;
        let cu_stream = stream.cu_stream();
        let clock = &self.clock;
        let mut wrong = Vec::new();

        if self.wants("compaction") {
            let expected: Vec<u32> = x.iter().copied().filter(|x| *x < PIVOT).collect();
            let [kept, _] = &mut outputs;
            let theirs = match cub {
                Some(cub) => {
                    // SAFETY: the function has this type.
                    let function = unsafe { *cub.get::<Select>(b"cub_select_below")? };
                    let (from, to, count) =
                        (address(&device, &stream), address(kept, &stream), address(&number, &stream));
                    // SAFETY: the buffers have room for all elements and the number.
                    let call = move |temporary, bytes: &mut usize| unsafe {
                        function(temporary, bytes, from, to, count, len as u32, PIVOT, cu_stream)
                    };
                    Some(Theirs::new(&stream, call)?)
                }
                None => None,
            };
            let scan = scanner.scan(ops::map::<below_pivot, _>(ops::filter()));
            let mut ours = || -> Outcome {
                let run = scan.on(&stream).total_into(&mut number);
                Ok(run.run_into(&device, arrays::scatter_by_output((&mut *kept,)))?)
            };
            ours()?;
            let bytes = 4 * (len + expected.len());
            race(clock, &stream, ("compaction, half kept", bytes), &mut ours, theirs)?;
            ours()?;
            let found = stream.clone_dtoh(&kept.slice(..expected.len()))?;
            if found != expected || stream.clone_dtoh(&number)? != [expected.len() as u32] {
                wrong.push("compaction".to_owned());
            }
        }

        if self.wants("runs") {
            // Runs of about eight.
            let keys: Vec<u32> = (0..len as u64)
                .scan(0, |key, i| {
                    *key += u32::from(mixed(i).is_multiple_of(8));
                    Some(*key)
                })
                .collect();
            let device = stream.clone_htod(&keys)?;
            let [elements, lengths] = &mut outputs;
            let theirs = match cub {
                Some(cub) => {
                    // SAFETY: the function has this type.
                    let function = unsafe { *cub.get::<EncodeOrSort>(b"cub_runs")? };
                    let addresses = [address(&device, &stream), address(elements, &stream), address(lengths, &stream)];
                    let ([from, of, to], count) = (addresses, address(&number, &stream));
                    // SAFETY: the buffers have room for all elements and the number.
                    let call = move |temporary, bytes: &mut usize| unsafe {
                        function(temporary, bytes, from, of, to, count, len as u32, cu_stream)
                    };
                    Some(Theirs::new(&stream, call)?)
                }
                None => None,
            };
            let scan = scanner.scan(Runs);
            let mut total = stream.clone_htod(&[Last::default()])?;
            let mut ours = || -> Outcome {
                let run = scan.on(&stream).total_into(&mut total);
                let outputs = arrays::scatter_by_output((&mut *elements, &mut *lengths));
                Ok(run.run_into((arrays::indices(), &device), outputs)?)
            };
            ours()?;
            let runs = keys.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect::<Vec<_>>();
            race(clock, &stream, ("run lengths, about 8", 4 * len + 8 * runs.len()), &mut ours, theirs)?;
            ours()?;
            let found = [&*elements, &*lengths].map(|of| stream.clone_dtoh(&of.slice(..runs.len() - 1)));
            let ([elements, lengths], last) = (found, stream.clone_dtoh(&total)?[0]);
            let last = (last.value, len as u32 - last.begin);
            if elements?.into_iter().zip(lengths?).chain([last]).collect::<Vec<_>>() != runs {
                wrong.push("runs".to_owned());
            }
        }

        if self.wants("sort") {
            let payloads = stream.clone_htod(&(0..len as u32).collect::<Vec<_>>())?;
            let [sorted, moved] = &mut outputs;
            let theirs = match cub {
                Some(cub) => {
                    // SAFETY: the function has this type.
                    let function = unsafe { *cub.get::<EncodeOrSort>(b"cub_sort")? };
                    let from = [address(&device, &stream), address(&payloads, &stream)];
                    let to = [address(sorted, &stream), address(moved, &stream)];
                    // SAFETY: the buffers have room for all items.
                    let call = move |temporary, bytes: &mut usize| unsafe {
                        function(temporary, bytes, from[0], to[0], from[1], to[1], len as u32, cu_stream)
                    };
                    Some(Theirs::new(&stream, call)?)
                }
                None => None,
            };
            let mut counts = stream.alloc_zeros::<u32>(DIGITS)?;
            let mut starts = stream.alloc_zeros::<u32>(DIGITS)?;
            let sums = scanner.scan(ops::sum::<u32>()).exclusive();
            let mut others = [stream.alloc_zeros::<u32>(len)?, stream.alloc_zeros::<u32>(len)?];
            let mut ours = || -> Outcome {
                let (mut from, mut to) = ([&mut *sorted, &mut *moved], others.each_mut());
                stream.memcpy_dtod(&device, from[0])?;
                stream.memcpy_dtod(&payloads, from[1])?;
                for shift in (0..32).step_by(BITS) {
                    {
                        // SAFETY: `OfDigits` is as many numbers.
                        let mut counts = unsafe { counts.transmute_mut::<OfDigits>(1) }.ok_or("counts")?;
                        scanner.reduce(Histogram { shift }).on(&stream).run_into(&*from[0], &mut counts)?;
                    }
                    sums.on(&stream).run_into(&counts, &mut starts)?;
                    // SAFETY: as above.
                    let starts = unsafe { starts.transmute::<OfDigits>(1) }.ok_or("starts")?;
                    let pass = scanner.scan(Pass { shift });
                    let [keys, payloads] = &mut to;
                    let outputs = arrays::scatter_by_output((&mut **keys, &mut **payloads));
                    pass.on(&stream).init_from(&starts).run_into((&*from[0], &*from[1]), outputs)?;
                    mem::swap(&mut from, &mut to);
                }
                Ok(())
            };
            ours()?;
            race(clock, &stream, ("radix sort, payload of 32 bits", 16 * len), &mut ours, theirs)?;
            ours()?;
            let mut expected: Vec<(u32, u32)> = x.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            let found = [&*sorted, &*moved].map(|of| stream.clone_dtoh(of));
            let [keys, payloads] = found;
            if keys?.into_iter().zip(payloads?).collect::<Vec<_>>() != expected {
                wrong.push("sort".to_owned());
            }
        }

        if self.wants("table") && len >= SIDE * SIDE {
            let image = device.slice(..SIDE * SIDE);
            let mut table = stream.alloc_zeros::<u32>(SIDE * SIDE)?;
            let (rows, down) = (scanner.scan(ops::sum::<u32>()), scanner.scan(ops::sum::<u32>()));
            let axis = Axis::of(&[SIDE, SIDE], 0)?;
            let mut ours = || -> Outcome {
                rows.on(&stream).rows(SIDE).run_into(&image, &mut table)?;
                Ok(down.on(&stream).along(axis.clone()).run_in_place(&mut table)?)
            };
            race(clock, &stream, ("summed-area table, 2^14 by 2^14", 16 * SIDE * SIDE), &mut ours, None)?;
            let last = x[..SIDE * SIDE].iter().fold(0_u32, |sum, x| sum.wrapping_add(*x));
            if stream.clone_dtoh(&table.slice(SIDE * SIDE - 1..))? != [last] {
                wrong.push("table".to_owned());
            }
        }

        if self.wants("integers") {
            let words = len / 2;
            let a: Vec<u64> = (0..words as u64).map(mixed).collect();
            let b: Vec<u64> = a.iter().enumerate().map(|(i, a)| if i % 1000 == 0 { mixed(*a) } else { !a }).collect();
            let (device_a, device_b) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
            let mut sum = stream.alloc_zeros::<u64>(words)?;
            let scan = scanner.scan(Add);
            let mut ours = || -> Outcome { Ok(scan.on(&stream).run_into((&device_a, &device_b), &mut sum)?) };
            race(clock, &stream, ("sum of long integers, words of 64 bits", 24 * words), &mut ours, None)?;
            let mut carry = false;
            let expected: Vec<u64> = a
                .iter()
                .zip(&b)
                .map(|(&a, &b)| {
                    let (sum, over) = a.overflowing_add(b);
                    let (sum, over_by_carry) = sum.overflowing_add(u64::from(carry));
                    carry = over | over_by_carry;
                    sum
                })
                .collect();
            if stream.clone_dtoh(&sum)? != expected {
                wrong.push("integers".to_owned());
            }
        }
        self.wrong.extend(wrong);
        Ok(())
    }
}
