//! Calls over host memory that choose between the GPU and the CPU, and arrays of `ndarray` on a GPU: against the CPU.

use std::{
    thread,
    time::{Duration, Instant},
};

use scan_runtime::{
    HostMemory, PageLocked, ScanOp, Scanner,
    ndarray::{Array3, s},
    scan_op,
    telemetry::spent,
};
use scan_tests::operators::{AffineU32, MapU32, MatrixProduct, TestOperator, inputs};

use crate::{Outcome, Trials, ensure};

pub(crate) fn add(trials: &mut Trials) {
    trials.add("sides_give_the_same_results", || {
        let sides = [choose::<AffineU32>()?, choose::<MatrixProduct<8>>()?].concat();
        ensure(sides.contains(&true) && sides.contains(&false), || format!("one side alone: {sides:?}"))
    });
    trials.add("first_calls_do_not_wait_for_the_compiler", first_calls);
    trials.add("arrays_with_a_shape", arrays);
}

/// Whether each call was on the CPU.
fn choose<Op: TestOperator + Clone>() -> Result<Vec<bool>, Box<dyn std::error::Error>>
where
    Op::Output: PartialEq,
{
    let gpu = Scanner::builder().device(0).host_memory(HostMemory::Faster).build()?;
    let [chosen, cpu] = [gpu.clone(), Scanner::cpu()].map(|scanner| scanner.scan(Op::new()));
    let mut sides = Vec::new();
    for len in [1, 40, 1_000, 10_000, 100_000] {
        let input = inputs::<Op>(len);
        let expected = cpu.run(&input)?;
        ensure(chosen.run(&input)? == expected, || format!("{len} elements"))?;
        let flags: Vec<bool> = (0..len).map(|index| index % 77 == 0).collect();
        let by_flags = chosen.by_flags(&flags).run(&input)?;
        ensure(by_flags == cpu.by_flags(&flags).run(&input)?, || format!("{len} elements by flags"))?;
        // Another side may be chosen for page-locked memory, and for ranges.
        let (locked, mut results) = (PageLocked::from_slice(&gpu, &input)?, PageLocked::from_slice(&gpu, &expected)?);
        results.reverse();
        chosen.run_into(&locked, &mut results)?;
        ensure(*results == *expected, || format!("{len} elements in page-locked memory"))?;
        let (begins, ends) = (vec![0_u32; 100], (0..100).map(|index| (len * index / 99) as u32).collect::<Vec<_>>());
        let of_ranges = [&gpu, &Scanner::cpu()].map(|scanner| {
            let reduce = scanner.reduce(Op::new());
            reduce.by_ranges(&begins, &ends).run(&input)
        });
        let [found, of_ranges] = of_ranges;
        ensure(found? == of_ranges?, || format!("ranges of {len} elements"))?;
        sides.push(chosen.backend_for(len).to_string().starts_with("CPU"));
    }
    Ok(sides)
}

/// Products in the field of 2³² elements, which no other trial has compiled.
#[derive(Clone, Copy)]
struct FieldProduct;

#[scan_op]
impl ScanOp for FieldProduct {
    type Element = u32;
    const IDENTITY: u32 = 1;
    fn combine(a: u32, b: u32) -> u32 {
        let mut product = 0_u32;
        let mut factor = a;
        for bit in 0..32_u32 {
            product ^= factor & 0_u32.wrapping_sub(b >> bit & 1);
            factor = factor << 1 ^ (0x8d & 0_u32.wrapping_sub(factor >> 31));
        }
        product
    }
}

/// The CPU runs the first call, the GPU a later one, and both give the same bits.
fn first_calls() -> Outcome {
    let scan = Scanner::builder().device(0).no_cache().host_memory(HostMemory::Faster).build()?.scan(FieldProduct);
    let len = 1 << 20;
    let input: Vec<u32> = (0..len as u32).map(|index| index.wrapping_mul(2_654_435_761) | 1).collect();
    let side = || scan.backend_for(len).to_string();
    ensure(side().contains("while the kernel"), || format!("the first call: {}", side()))?;
    let (first, spent) = spent(|| scan.run(&input));
    ensure(spent.launches == 0 && spent.compiled == 0, || format!("the first call: {spent}"))?;
    let begin = Instant::now();
    while !side().starts_with("CUDA") {
        ensure(begin.elapsed() < Duration::from_secs(60), || format!("after a minute: {}", side()))?;
        thread::sleep(Duration::from_millis(5));
    }
    println!("fact: the kernel was there after {:?}", begin.elapsed());
    let (later, spent) = self::spent(|| scan.run(&input));
    ensure(spent.launches > 0 && spent.compiled == 0, || format!("a later call: {spent}"))?;
    ensure(later? == first?, || "the sides give other bits".to_owned())
}

fn arrays() -> Outcome {
    let [device, cpu] = [Scanner::cuda(0)?, Scanner::cpu()];
    let array = Array3::from_shape_fn((60, 70, 80), |(i, j, k)| AffineU32::input(((i * 70 + j) * 80 + k) as u64));
    let turned = array.view().permuted_axes([2, 0, 1]);
    let part = array.slice(s![..;2, 3.., ..;-1]);
    for axis in 0..3 {
        for view in [array.view(), turned, part] {
            let scans = [&device, &cpu].map(|scanner| scanner.scan(AffineU32).along(axis).with_totals().run(view));
            let [found, expected] = scans;
            ensure(found? == expected?, || format!("axis {axis} of {:?}", view.shape()))?;
            let totals = [&device, &cpu].map(|scanner| scanner.reduce(AffineU32).along(axis).run(view));
            let [found, expected] = totals;
            ensure(found? == expected?, || format!("totals of axis {axis} of {:?}", view.shape()))?;
            let mut into = Array3::from_elem(view.raw_dim(), MapU32 { a: 0, b: 0 });
            device.scan(AffineU32).along(axis).run_into(view, into.slice_mut(s![.., .., ..]))?;
            ensure(into == cpu.scan(AffineU32).along(axis).run(view)?, || format!("axis {axis}, into"))?;
            let mut buffer = view.to_owned();
            device.scan(AffineU32).along(axis).run_in_place(&mut buffer)?;
            ensure(buffer == into, || format!("axis {axis}, in place"))?;
        }
    }
    Ok(())
}
