//! Calls over host memory on either side: on the CPU, on the GPU, and where the scanner chooses.

use scan_runtime::{HostMemory, Scan, Scanner, ops};
use scan_tests::{
    gallery::{Example, Visitor, visit_gallery},
    operators::{Affine, compose, mixed},
};

use crate::{Outcome, warm::each};

/// The binary logarithms of the lengths.
const LENGTHS: [u32; 10] = [8, 10, 12, 14, 16, 18, 20, 22, 24, 26];
/// Bytes of the longest arrays.
const MAX_BYTES: usize = 1 << 28;

/// A line for each operator and length: instructions and bytes of an element, microseconds on the CPU, on the GPU, and
/// by choice, which side that was, and by how much it missed the better one.
pub(crate) fn measure() -> Outcome {
    let build = |side| Scanner::builder().device(0).host_memory(side).build();
    let mut sides = Sides {
        cpu: Scanner::cpu(),
        device: build(HostMemory::OnDevice)?,
        either: build(HostMemory::Faster)?,
        failed: None,
        worst: Vec::new(),
    };
    println!("\nHost memory on either side, microseconds\n");
    println!("| operator | instructions | bytes in | out | length | CPU | GPU | chosen | side | of the better |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|---|--:|");
    let numbers: Vec<f32> = (0..MAX_BYTES / 8).map(|i| (mixed(i as u64) >> 40) as f32).collect();
    sides.scan("sum_f32", ops::sum::<f32>(), &numbers)?;
    sides.reduce("reduce_sum_f32", ops::sum::<f32>(), &numbers)?;
    drop(numbers);
    let maps: Vec<Affine> = (0..MAX_BYTES / 16).map(|i| Affine { a: 0.5, b: i as f32 }).collect();
    sides.scan("affine", compose, &maps)?;
    drop(maps);
    visit_gallery(&mut sides);
    let mut worst = sides.worst;
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("\nFarthest from the better side: {:.2?}", &worst[..worst.len().min(12)]);
    sides.failed.map_or(Ok(()), |error| Err(error.into()))
}

struct Sides {
    cpu: Scanner,
    device: Scanner,
    either: Scanner,
    failed: Option<String>,
    worst: Vec<(f64, String)>,
}

impl Sides {
    fn scan<Op: scan_runtime::ScanOp + Clone>(&mut self, name: &str, op: Op, input: &[Op::Input]) -> Outcome {
        let scans = [&self.cpu, &self.device, &self.either].map(|scanner| scanner.scan(op.clone()));
        let mut output = scans[0].run(input)?;
        self.rows(name, &op, input, &scans[2], |side, len| Ok(scans[side].run_into(&input[..len], &mut output[..len])?))
    }

    fn reduce<Op: scan_runtime::ScanOp + Clone>(&mut self, name: &str, op: Op, input: &[Op::Input]) -> Outcome {
        let reductions = [&self.cpu, &self.device, &self.either].map(|scanner| scanner.reduce(op.clone()));
        let run = |side: usize, len| reductions[side].run(&input[..len]).map(drop).map_err(Into::into);
        self.rows(name, &op, input, &reductions[2], run)
    }

    fn rows<Op: scan_runtime::ScanOp, R: scan_runtime::Outcome>(
        &mut self,
        name: &str,
        op: &Op,
        input: &[Op::Input],
        chosen: &Scan<Op, R>,
        mut run: impl FnMut(usize, usize) -> Outcome,
    ) -> Outcome {
        let instructions = scan_codegen::instructions_of_an_element(&op.source());
        let (bytes_in, bytes_out) = (size_of::<Op::Input>(), size_of::<Op::Output>());
        for power in LENGTHS {
            let len = 1 << power;
            if len > input.len() {
                break;
            }
            let mut times = [0.0; 3];
            for (side, time) in times.iter_mut().enumerate() {
                *time = each(|| run(side, len))?;
            }
            let [cpu, device, either] = times;
            let side = if chosen.backend_for(len).to_string().starts_with("CPU") { "CPU" } else { "GPU" };
            // By the times of the sides, not of the choosing scanner: times of one side vary from turn to turn.
            let missed = if side == "CPU" { cpu } else { device } / cpu.min(device);
            println!(
                "| {name} | {instructions} | {bytes_in} | {bytes_out} | 2^{power} | {cpu:.1} | {device:.1} | {either:.1} | {side} | {missed:.2} |"
            );
            self.worst.push((missed, format!("{name} 2^{power}")));
        }
        Ok(())
    }
}

impl Visitor for Sides {
    fn visit<Op: Example>(&mut self, name: &str) {
        let bytes = size_of::<Op::Input>() + size_of::<Op::Output>();
        let heavy = ["linear_recurrence", "welford", "tropical_matrices", "automaton"].contains(&name);
        let max = if heavy { MAX_BYTES / bytes } else { 1 << 20 };
        let input = Op::input(max.min(1 << 26));
        if let Err(error) = self.scan(name, Op::new(), &input) {
            self.failed.get_or_insert(format!("{name}: {error}"));
        }
    }
}
