//! The recurrence `h = gate * h + token` over two arrays to one, beside a copy of as many bytes, the same over one
//! array of pairs, over arrays that are no slices, with a length in device memory, and a plain sum.

use std::{cell::RefCell, sync::Arc};

use scan_runtime::{
    Device, Prepared, ScanElement, ScanOp, Scanner,
    arrays::{gather, indices, scatter, scatter_by_output},
    cudarc::driver::{CudaSlice, CudaStream},
    ops, scan_element, scan_fn, scan_op,
};

use crate::{
    Bench, Outcome,
    race::{self, Buffers, Call, Entrant, Mode},
};

/// The coefficients of a step.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    gate: f32,
    token: f32,
}

#[derive(Clone)]
struct Recurrence;

#[scan_op]
impl ScanOp for Recurrence {
    type Input = Step;
    type State = Step;
    type Output = f32;
    fn lift(step: Step) -> Step {
        step
    }
    fn combine(f: Step, g: Step) -> Step {
        Step { gate: f.gate * g.gate, token: g.gate * f.token + g.token }
    }
    fn project(h: Step) -> f32 {
        h.token
    }
}

/// The same with indices for tokens.
#[derive(Clone)]
struct Indexed;

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct IndexedStep {
    gate: f32,
    token: u32,
}

#[scan_op]
impl ScanOp for Indexed {
    type Input = IndexedStep;
    type State = Step;
    type Output = f32;
    fn lift(step: IndexedStep) -> Step {
        Step { gate: step.gate, token: (step.token % 7) as f32 - 3.0 }
    }
    fn combine(f: Step, g: Step) -> Step {
        Step { gate: f.gate * g.gate, token: g.gate * f.token + g.token }
    }
    fn project(h: Step) -> f32 {
        h.token
    }
}

/// Keeps three elements of seven.
#[scan_fn]
fn positive(token: f32) -> ops::Candidate<f32> {
    ops::Candidate { keep: token > 0.0, value: token }
}

/// None, one or two for an element: as many results as elements.
#[scan_fn]
fn expanded(token: f32) -> ops::Several<f32, 2> {
    let count = if token > 0.0 { 2_u32 } else { (token == 0.0) as u32 };
    ops::Several { count, items: [token, -token] }
}

/// The arrays, each with room for an element more in front.
struct Arrays {
    gates: CudaSlice<f32>,
    tokens: CudaSlice<f32>,
    states: CudaSlice<f32>,
    pairs: CudaSlice<Step>,
    /// Each index, in order.
    places: CudaSlice<u32>,
    length: CudaSlice<u64>,
}

/// Gates are signs and tokens small integers, so that every grouping gives the same.
fn step(index: usize) -> Step {
    Step { gate: if index.is_multiple_of(3) { -1.0 } else { 1.0 }, token: (index % 7) as f32 - 3.0 }
}

/// `len` values that repeat, made on the host in parts.
fn repeating<T: ScanElement>(
    stream: &Arc<CudaStream>,
    len: usize,
    value: impl Fn(usize) -> T,
) -> Outcome<CudaSlice<T>> {
    const PERIOD: usize = 21 << 18;
    let block: Vec<T> = (0..PERIOD.min(len)).map(value).collect();
    Ok(Buffers::repeating(stream, &block, len)?.input)
}

/// Who takes part: a copy moves as many bytes as the scan.
fn line_up<'a>(scanner: &'a Scanner, arrays: &'a RefCell<Arrays>, len: usize) -> Vec<Entrant<'a, f32>> {
    let entrant = |name: &str, call: Call<'a, f32>| Entrant { name: name.to_owned(), call: Ok(call), side_bytes: 0 };
    let mut entrants = vec![race::copy()];
    for (name, apart) in [("two arrays to one", 0), ("the same, the tokens an element further", 1)] {
        let mut handle: Option<Prepared<Recurrence, Device>> = None;
        let call: Call<'a, f32> = Box::new(move |buffers, _| {
            let Arrays { gates, tokens, states, .. } = &mut *arrays.borrow_mut();
            let (gates, tokens) = (gates.slice(..len), tokens.slice(apart..apart + len));
            let mut states = states.slice_mut(..len);
            if handle.is_none() {
                let scan = scanner.scan(Recurrence);
                handle = Some(scan.on(&buffers.stream).prepare_like((&gates, &tokens), &mut states, len)?);
            }
            let Some(handle) = &handle else { return Ok(()) };
            Ok(handle.run_into((&gates, &tokens), &mut states)?)
        });
        entrants.push(entrant(name, call));
    }
    let mut handle: Option<Prepared<Recurrence, Device>> = None;
    let call: Call<'a, f32> = Box::new(move |buffers, _| {
        if handle.is_none() {
            handle = Some(scanner.scan(Recurrence).on(&buffers.stream).prepare(len)?);
        }
        let Arrays { pairs, states, .. } = &mut *arrays.borrow_mut();
        let (pairs, mut states) = (pairs.slice(..len), states.slice_mut(..len));
        handle.as_ref().map_or(Ok(()), |handle| Ok(handle.run_into(&pairs, &mut states)?))
    });
    entrants.push(entrant("one array of pairs to one", call));
    let call: Call<'a, f32> = Box::new(move |buffers, _| {
        let Arrays { gates, states, .. } = &mut *arrays.borrow_mut();
        let (gates, mut states) = (gates.slice(..len), states.slice_mut(..len));
        let scan = scanner.scan(Indexed);
        Ok(scan.on(&buffers.stream).run_into((&gates, indices()), &mut states)?)
    });
    entrants.push(entrant("indices as tokens, 8 bytes an element", call));
    let call: Call<'a, f32> = Box::new(move |buffers, _| {
        let Arrays { gates, tokens, states, places, .. } = &mut *arrays.borrow_mut();
        let (gates, mut states) = (gates.slice(..len), states.slice_mut(..len));
        let scan = scanner.scan(Recurrence);
        let inputs = (&gates, gather(tokens, places));
        Ok(scan.on(&buffers.stream).run_into(inputs, &mut states)?)
    });
    entrants.push(entrant("tokens gathered in order, 16 bytes", call));
    let call: Call<'a, f32> = Box::new(move |buffers, _| {
        let Arrays { gates, tokens, states, places, .. } = &mut *arrays.borrow_mut();
        let (gates, tokens) = (gates.slice(..len), tokens.slice(..len));
        let scan = scanner.scan(Recurrence);
        Ok(scan.on(&buffers.stream).run_into((&gates, &tokens), scatter(states, places))?)
    });
    entrants.push(entrant("states scattered in order, 16 bytes", call));
    let call: Call<'a, f32> = Box::new(move |buffers, _| {
        let Arrays { tokens, states, .. } = &mut *arrays.borrow_mut();
        let tokens = tokens.slice(..len);
        let scan = scanner.scan(ops::map::<positive, _>(ops::filter()));
        Ok(scan.on(&buffers.stream).run_into(&tokens, scatter_by_output((states,)))?)
    });
    entrants.push(entrant("three of seven tokens kept, 5.7 bytes", call));
    let call: Call<'a, f32> = Box::new(move |buffers, _| {
        let Arrays { tokens, states, .. } = &mut *arrays.borrow_mut();
        let tokens = tokens.slice(..len);
        let scan = scanner.scan(ops::map::<expanded, _>(ops::flat_map()));
        Ok(scan.on(&buffers.stream).run_into(&tokens, scatter_by_output((states,)))?)
    });
    entrants.push(entrant("none to two results a token, 8 bytes", call));
    let call: Call<'a, f32> = Box::new(move |buffers, _| {
        let Arrays { gates, tokens, states, length, .. } = &mut *arrays.borrow_mut();
        let (gates, tokens, mut states) = (gates.slice(..len), tokens.slice(..len), states.slice_mut(..len));
        let scan = scanner.scan(Recurrence);
        Ok(scan.on(&buffers.stream).len_from(length).run_into((&gates, &tokens), &mut states)?)
    });
    entrants.push(entrant("the length in device memory, two arrays to one", call));
    let mut handle: Option<Prepared<ops::Sum<f32>, Device>> = None;
    let call: Call<'a, f32> = Box::new(move |buffers, moved| {
        if handle.is_none() {
            handle = Some(scanner.scan(ops::sum()).on(&buffers.stream).prepare(moved)?);
        }
        let (input, mut output) = (buffers.input.slice(..moved), buffers.output.slice_mut(..moved));
        handle.as_ref().map_or(Ok(()), |handle| Ok(handle.run_into(&input, &mut output)?))
    });
    entrants.push(entrant("a sum of as many bytes", call));
    entrants
}

impl Bench {
    /// Times the recurrence at these lengths, and prints a table for each.
    pub(crate) fn columns(&mut self, lengths: &[usize]) -> Outcome {
        for &len in lengths {
            self.columns_of(len)?;
        }
        Ok(())
    }

    fn columns_of(&mut self, len: usize) -> Outcome {
        let stream = self.stream.clone();
        let arrays = RefCell::new(Arrays {
            gates: repeating(&stream, len, |index| step(index).gate)?,
            tokens: repeating(&stream, len + 1, |index| step(index).token)?,
            states: stream.alloc_zeros(len)?,
            pairs: repeating(&stream, len, step)?,
            places: stream.clone_htod(&(0..len as u32).collect::<Vec<_>>())?,
            length: stream.clone_htod(&[len as u64])?,
        });
        // A copy reads and writes four bytes an element: half as many elements again move twelve bytes.
        let moved = len * 3 / 2;
        let mut buffers = Buffers::repeating(&stream, &vec![1.0_f32; moved.min(1 << 20)], moved)?;
        let scanner = self.scanner.clone();
        let mut entrants = line_up(&scanner, &arrays, len);
        let checked = len.min(self.checked);
        let steps: Vec<Step> = (0..checked).map(step).collect();
        let expected = Scanner::cpu().scan(Recurrence).run(&steps)?;
        let mut wrong = Vec::new();
        for entrant in entrants.iter_mut().filter(|entrant| entrant.name.ends_with("to one")) {
            stream.memset_zeros(&mut arrays.borrow_mut().states)?;
            if let Ok(call) = &mut entrant.call {
                call(&mut buffers, len)?;
            }
            if stream.clone_dtoh(&arrays.borrow().states.slice(..checked))? != expected {
                wrong.push(format!("{}: wrong result at {len} elements", entrant.name));
            }
        }
        self.wrong.extend(wrong);
        let hindrances: Vec<Option<String>> = entrants.iter().map(|_| None).collect();
        let times = self.clock.race(&mut buffers, &mut entrants, &hindrances, moved, Mode::Stream);
        println!("h = gate * h + token, {len} elements, {} bytes moved:\n", 12 * len);
        let copy = times.first().and_then(|times| times.as_ref().ok()).map_or(f64::NAN, |times| times.median);
        for (entrant, times) in entrants.iter().zip(times) {
            match times {
                Ok(times) => println!(
                    "{:>40}  {:9.2} µs ({:.2} to {:.2})  {:.3} of the copy",
                    entrant.name,
                    times.median,
                    times.fastest,
                    times.slowest,
                    copy / times.median
                ),
                Err(why) => println!("{:>40}  {why}", entrant.name),
            }
        }
        println!();
        Ok(())
    }
}
