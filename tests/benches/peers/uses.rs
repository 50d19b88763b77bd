//! Uses of scans, compared with a copy of the bytes that each must move and with CUB's primitives: the elements below a
//! pivot, run lengths, a radix sort, the summed-area table of an image, the sum of two long integers. `examples/uses`
//! explains the operators, and compares them with plain loops.

use std::{
    ffi::{c_int, c_void},
    mem, ptr,
    sync::Arc,
};

use libloading::Library;
use scan_runtime::{
    Axis, ScanOp, Scanner, arrays,
    cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, sys::CUstream},
    ops, scan_element, scan_fn, scan_op,
};
use scan_tests::{
    operators::mixed,
    run_lengths::{Open, RunLengths},
};

use crate::{
    Bench, Outcome,
    cub::open,
    gallery::{TURNS, median, turn},
    race::Clock,
};

/// Rows and columns of the image.
const SIDE: usize = 1 << 14;

const PIVOT: u32 = 1 << 31;

#[scan_fn]
fn below_pivot(x: u32) -> ops::Candidate<u32> {
    ops::Candidate { keep: x < PIVOT, value: x }
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

type Select = unsafe extern "C" fn(*mut c_void, *mut usize, u64, u64, u64, u32, u32, CUstream) -> c_int;
type EncodeOrSort = unsafe extern "C" fn(*mut c_void, *mut usize, u64, u64, u64, u64, u32, CUstream) -> c_int;

/// A call of CUB, which is given its temporary memory, or asked how much it needs.
type Call = dyn Fn(*mut c_void, &mut usize) -> c_int;

/// A primitive of CUB, and its temporary memory.
struct Theirs {
    call: Box<Call>,
    memory: CudaSlice<u8>,
}

fn check(code: c_int) -> Outcome {
    if code == 0 { Ok(()) } else { Err(format!("CUB: error {code} of the runtime").into()) }
}

impl Theirs {
    fn run(&mut self, stream: &Arc<CudaStream>) -> Outcome {
        let mut bytes = self.memory.len();
        let temporary = self.memory.device_ptr_mut(stream).0 as *mut c_void;
        check((self.call)(temporary, &mut bytes))
    }
}

fn address<T: DeviceRepr>(slice: &CudaSlice<T>, stream: &Arc<CudaStream>) -> u64 {
    slice.device_ptr(stream).0
}

/// What all uses need.
struct Uses<'a> {
    scanner: &'a Scanner,
    stream: Arc<CudaStream>,
    clock: &'a Clock,
    library: Option<Library>,
    len: usize,
    /// Random numbers, in both memories.
    x: Vec<u32>,
    device: CudaSlice<u32>,
}

impl Uses<'_> {
    /// CUB's function of this name, called as `call` says.
    ///
    /// # Safety
    ///
    /// `F` is the type of the function.
    unsafe fn theirs<F: Copy + 'static>(
        &self,
        name: &str,
        call: impl Fn(F, *mut c_void, &mut usize) -> c_int + 'static,
    ) -> Outcome<Option<Theirs>> {
        let Some(library) = &self.library else { return Ok(None) };
        // SAFETY: the caller vouches for the type. The library is open as long as `self` lives, and so is the call.
        let function = unsafe { *library.get::<F>(name.as_bytes())? };
        let call = move |temporary, bytes: &mut usize| call(function, temporary, bytes);
        let mut bytes = 0;
        check(call(ptr::null_mut(), &mut bytes))?;
        // SAFETY: CUB writes what it reads of it.
        Ok(Some(Theirs { call: Box::new(call), memory: unsafe { self.stream.alloc(bytes.max(1)) }? }))
    }

    /// Prints the times of ours and of theirs, in turns with a copy of as many bytes.
    fn race(
        &self,
        (name, bytes): (&str, usize),
        ours: &mut dyn FnMut() -> Outcome,
        mut theirs: Option<Theirs>,
    ) -> Outcome {
        let stream = &self.stream;
        // SAFETY: what is copied does not matter.
        let (from, mut to) = unsafe { (stream.alloc::<u8>(bytes / 2)?, stream.alloc::<u8>(bytes / 2)?) };
        let mut times = [const { Vec::new() }; 3];
        ours()?;
        for _ in 0..TURNS {
            times[0].push(turn(self.clock, stream, || Ok(stream.memcpy_dtod(&from, &mut to)?))?);
            times[1].push(turn(self.clock, stream, &mut *ours)?);
            if let Some(theirs) = &mut theirs {
                times[2].push(turn(self.clock, stream, || theirs.run(stream))?);
            }
        }
        let [copy, ours_took, cub] = times.map(median);
        let of_cub = match theirs {
            Some(_) => format!("{:.3} | {:.3}", copy / cub, cub / ours_took),
            None => " | ".to_owned(),
        };
        println!("| {name} | {:.3} | {of_cub} | {ours_took:.0} |", copy / ours_took);
        // What is checked is ours, not what CUB has written to the same memory.
        ours()
    }

    /// The elements below a pivot. Whether the results are right, as of the others.
    fn compaction(&self) -> Outcome<bool> {
        let stream = &self.stream;
        let expected: Vec<u32> = self.x.iter().copied().filter(|x| *x < PIVOT).collect();
        let (mut kept, mut number) = (stream.alloc_zeros::<u32>(self.len)?, stream.alloc_zeros::<u32>(1)?);
        let (from, to, count) = (address(&self.device, stream), address(&kept, stream), address(&number, stream));
        let (len, cu_stream) = (self.len as u32, stream.cu_stream());
        // SAFETY: the function has this type, and the buffers have room for all elements and the number.
        let theirs = unsafe {
            self.theirs("cub_select_below", move |function: Select, temporary, bytes| {
                function(temporary, bytes, from, to, count, len, PIVOT, cu_stream)
            })?
        };
        let scan = self.scanner.scan(ops::map::<below_pivot, _>(ops::filter()));
        let mut ours = || -> Outcome {
            let run = scan.on(stream).total_into(&mut number);
            Ok(run.run_into(&self.device, arrays::scatter_by_output((&mut kept,)).consecutive())?)
        };
        self.race(("compaction, half kept", 4 * (self.len + expected.len())), &mut ours, theirs)?;
        let found = stream.clone_dtoh(&kept.slice(..expected.len()))?;
        Ok(found == expected && stream.clone_dtoh(&number)? == [expected.len() as u32])
    }

    /// Run lengths, of runs of about eight.
    fn runs(&self) -> Outcome<bool> {
        let stream = &self.stream;
        let begins = (0..self.len as u64).map(|i| u32::from(mixed(i).is_multiple_of(8)));
        let keys: Vec<u32> = begins
            .scan(0, |key, begins| {
                *key += begins;
                Some(*key)
            })
            .collect();
        let device = stream.clone_htod(&keys)?;
        let (mut elements, mut lengths) = (stream.alloc_zeros::<u32>(self.len)?, stream.alloc_zeros::<u32>(self.len)?);
        let number = stream.alloc_zeros::<u32>(1)?;
        let [from, of, to, count] = [&device, &elements, &lengths, &number].map(|slice| address(slice, stream));
        let (len, cu_stream) = (self.len as u32, stream.cu_stream());
        // SAFETY: the function has this type, and the buffers have room for all elements and the number.
        let theirs = unsafe {
            self.theirs("cub_runs", move |function: EncodeOrSort, temporary, bytes| {
                function(temporary, bytes, from, of, to, count, len, cu_stream)
            })?
        };
        let scan = self.scanner.scan(RunLengths);
        let mut total = stream.clone_htod(&[Open::default()])?;
        let mut ours = || -> Outcome {
            let run = scan.on(stream).total_into(&mut total);
            let outputs = arrays::scatter_by_output((&mut elements, &mut lengths)).consecutive();
            Ok(run.run_into(&device, outputs)?)
        };
        let runs = keys.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect::<Vec<_>>();
        self.race(("run lengths, about 8", 4 * self.len + 8 * runs.len()), &mut ours, theirs)?;
        let last = stream.clone_dtoh(&total)?[0];
        let last = (last.value, last.length);
        let elements = stream.clone_dtoh(&elements.slice(..runs.len() - 1))?;
        let lengths = stream.clone_dtoh(&lengths.slice(..runs.len() - 1))?;
        Ok(elements.into_iter().zip(lengths).chain([last]).eq(runs))
    }

    /// A radix sort with a payload.
    fn sort(&self) -> Outcome<bool> {
        let (stream, scanner) = (&self.stream, self.scanner);
        let payloads = stream.clone_htod(&(0..self.len as u32).collect::<Vec<_>>())?;
        let [mut sorted, mut moved, mut keys_between, mut payloads_between] = [
            stream.alloc_zeros::<u32>(self.len)?,
            stream.alloc_zeros::<u32>(self.len)?,
            stream.alloc_zeros::<u32>(self.len)?,
            stream.alloc_zeros::<u32>(self.len)?,
        ];
        let [keys, of, from, to] = [&self.device, &sorted, &payloads, &moved].map(|slice| address(slice, stream));
        let (len, cu_stream) = (self.len as u32, stream.cu_stream());
        // SAFETY: the function has this type, and the buffers have room for all items.
        let theirs = unsafe {
            self.theirs("cub_sort", move |function: EncodeOrSort, temporary, bytes| {
                function(temporary, bytes, keys, of, from, to, len, cu_stream)
            })?
        };
        let (mut counts, mut starts) = (stream.alloc_zeros::<u32>(DIGITS)?, stream.alloc_zeros::<u32>(DIGITS)?);
        let sums = scanner.scan(ops::sum::<u32>()).exclusive();
        let mut ours = || -> Outcome {
            stream.memcpy_dtod(&self.device, &mut sorted)?;
            stream.memcpy_dtod(&payloads, &mut moved)?;
            let mut from = [&mut sorted, &mut moved];
            let mut to = [&mut keys_between, &mut payloads_between];
            // An even number of passes: the last one writes to where the first one reads.
            for shift in (0..32).step_by(BITS) {
                {
                    // SAFETY: `OfDigits` is as many numbers.
                    let mut counts = unsafe { counts.transmute_mut::<OfDigits>(1) }.ok_or("counts")?;
                    scanner.reduce(Histogram { shift }).on(stream).run_into(&*from[0], &mut counts)?;
                }
                sums.on(stream).run_into(&counts, &mut starts)?;
                // SAFETY: as above.
                let starts = unsafe { starts.transmute::<OfDigits>(1) }.ok_or("starts")?;
                let [keys, payloads] = &mut to;
                let outputs = arrays::scatter_by_output((&mut **keys, &mut **payloads));
                let pass = scanner.scan(Pass { shift });
                pass.on(stream).init_from(&starts).run_into((&*from[0], &*from[1]), outputs)?;
                mem::swap(&mut from, &mut to);
            }
            Ok(())
        };
        self.race(("radix sort, payload of 32 bits", 16 * self.len), &mut ours, theirs)?;
        let mut expected: Vec<(u32, u32)> = self.x.iter().copied().zip(0..).collect();
        expected.sort_unstable();
        Ok(stream.clone_dtoh(&sorted)?.into_iter().zip(stream.clone_dtoh(&moved)?).eq(expected))
    }

    /// The summed-area table of an image, by two scans.
    fn table(&self) -> Outcome<bool> {
        let (stream, pixels) = (&self.stream, SIDE * SIDE);
        if self.len < pixels {
            println!("| summed-area table | needs 2^{} elements | | | |", pixels.ilog2());
            return Ok(true);
        }
        let image = self.device.slice(..pixels);
        let mut table = stream.alloc_zeros::<u32>(pixels)?;
        let sum = self.scanner.scan(ops::sum::<u32>());
        let axis = Axis::of(&[SIDE, SIDE], 0)?;
        let mut ours = || -> Outcome {
            sum.on(stream).rows(SIDE).run_into(&image, &mut table)?;
            Ok(sum.on(stream).along(axis.clone()).run_in_place(&mut table)?)
        };
        self.race(("summed-area table, 2^14 by 2^14", 16 * pixels), &mut ours, None)?;
        let last = self.x[..pixels].iter().fold(0_u32, |sum, x| sum.wrapping_add(*x));
        Ok(stream.clone_dtoh(&table.slice(pixels - 1..))? == [last])
    }

    /// The sum of two long integers.
    fn integers(&self) -> Outcome<bool> {
        let (stream, words) = (&self.stream, self.len / 2);
        let a: Vec<u64> = (0..words as u64).map(mixed).collect();
        // The complement in most words, so that carries run far.
        let b: Vec<u64> = a.iter().enumerate().map(|(i, a)| if i % 1000 == 0 { mixed(*a) } else { !a }).collect();
        let (device_a, device_b) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
        let mut sum = stream.alloc_zeros::<u64>(words)?;
        let scan = self.scanner.scan(Add);
        let mut ours = || -> Outcome { Ok(scan.on(stream).run_into((&device_a, &device_b), &mut sum)?) };
        self.race(("sum of long integers, words of 64 bits", 24 * words), &mut ours, None)?;
        let words = a.iter().zip(&b).scan(false, |carry, (&a, &b)| {
            let (sum, over) = a.overflowing_add(b);
            let (sum, over_by_carry) = sum.overflowing_add(u64::from(*carry));
            *carry = over | over_by_carry;
            Some(sum)
        });
        Ok(stream.clone_dtoh(&sum)?.into_iter().eq(words))
    }
}

/// Measures a use, and says whether its results are right.
type Measure = fn(&Uses<'_>) -> Outcome<bool>;

impl Bench {
    /// Prints a line for each use.
    pub(crate) fn uses(&mut self, power: u32) -> Outcome {
        if !(1..=30).contains(&power) {
            return Err(format!("uses have 2 to 2^30 elements, not 2^{power}: `--sizes 28`").into());
        }
        let len = 1_usize << power;
        let x: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32).collect();
        let uses = Uses {
            scanner: &self.scanner,
            stream: self.stream.clone(),
            clock: &self.clock,
            library: open("libcub_uses.so").map_err(|why| println!("no CUB: {why}")).ok(),
            len,
            device: self.stream.clone_htod(&x)?,
            x,
        };
        println!("| use, 2^{power} elements | ours / copy | CUB / copy | ours / CUB | ours, µs |");
        println!("|---|--:|--:|--:|--:|");
        let all: [(&str, Measure); 5] = [
            ("compaction", |uses| uses.compaction()),
            ("runs", |uses| uses.runs()),
            ("sort", |uses| uses.sort()),
            ("table", |uses| uses.table()),
            ("integers", |uses| uses.integers()),
        ];
        let mut wrong = Vec::new();
        for (name, measure) in all.into_iter().filter(|(name, _)| self.wants(name)) {
            if !measure(&uses)? {
                wrong.push(format!("{name}: wrong result"));
            }
        }
        self.wrong.extend(wrong);
        Ok(())
    }
}
