//! The kernel that reduces ranges, in the emulator.

use std::fmt::Debug;

use scan_codegen::{
    Arrays as Layout, DeviceLimits, KernelSource, OffsetWidth, RangeReductionPlan, ScanSpec, Target,
    plan_range_reduction,
};
use scan_emulator::{Array, Arrays, Emulator, EmulatorError, Fault, FaultKind, KeptMemory, Memory, Module};
use scan_runtime::{__private::bytes_of, ScanElement, ScanOp};

use super::kinds::{OutputArrays, wrong_item};
use crate::{checked, columns, mutants, reference};

/// Reduces ranges with an operator.
#[derive(Clone, Debug)]
pub struct RangesProgram<Op> {
    /// The operator.
    pub op: Op,
    /// The plan.
    pub plan: RangeReductionPlan,
    /// The generated text. Change it to see what the emulator makes of it.
    pub source: KernelSource,
}

impl<Op: ScanOp<Output: Debug>> RangesProgram<Op> {
    /// Plans for positions of this width, and writes the kernel, of blocks of this many threads.
    ///
    /// # Errors
    ///
    /// As those of planning and rendering.
    pub fn new(op: Op, spec: &ScanSpec, positions: OffsetWidth, threads: u32) -> Result<Self, EmulatorError> {
        let mut limits = DeviceLimits::BASELINE;
        (limits.threads_per_block, limits.multiprocessors) = (threads, 1);
        let plan = plan_range_reduction(&op.source(), spec, positions, &limits)?;
        let source = checked::render_range_reduction_from(mutants::templates(), &op.source(), &plan, Target::Host)?;
        Ok(RangesProgram { op, plan, source })
    }

    /// The result of each range, as the plan's spec says. One that is not within the input has no elements.
    fn expected(&self, input: &[Op::Input], ranges: &[(u64, u64)], values: &[Op::Carry]) -> Vec<Op::Output> {
        let spec = &self.plan.spec;
        let of_range = |(k, &(begin, end)): (usize, &(u64, u64))| {
            let elements = match begin < end && end <= input.len() as u64 {
                true => &input[begin as usize..end as usize],
                false => &[],
            };
            let initial = spec.initial_value.then(|| values[if spec.initial_values { k } else { 0 }]);
            let total = match spec.reversed {
                true => reference::total_back(&self.op, initial, elements),
                false => reference::total(&self.op, initial, elements),
            };
            total.map_or_else(|| self.of_nothing(values), |total| self.op.project(total))
        };
        ranges.iter().enumerate().map(of_range).collect()
    }

    /// What the host says an empty range comes to, where there is no initial value: anything.
    fn of_nothing(&self, values: &[Op::Carry]) -> Op::Output {
        self.op.project(self.op.start().unwrap_or(values[0]))
    }

    /// Reduces ranges of an input and compares the results bit for bit with those of the plain loop over the operator's
    /// Rust body. Begins have this many bytes more than aligned ones before them.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the kernel or the results.
    pub fn verify(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        ranges: &[(u64, u64)],
        values: &[Op::Carry],
    ) -> Result<(), EmulatorError> {
        let spec = &self.plan.spec;
        let expected = self.expected(input, ranges, values);
        let positions = |position: fn(&(u64, u64)) -> u64| -> Vec<u8> {
            let bytes = if self.plan.positions == OffsetWidth::U32 { 4 } else { 8 };
            ranges.iter().flat_map(|range| position(range).to_le_bytes()[..bytes].to_vec()).collect()
        };
        let (begins, ends) = (positions(|range| range.0), positions(|range| range.1));
        let initial = match (spec.initial_value, spec.initial_values) {
            (false, _) => bytes_of(&self.of_nothing(values)),
            (true, false) => bytes_of(&values[0]),
            (true, true) => values.iter().flat_map(bytes_of).collect(),
        };
        let offsets = &mut [1, 0, 3].into_iter().chain(std::iter::repeat(0));
        let OutputArrays { arrays: outputs, wanted } = OutputArrays::new(spec, &expected, expected.len(), offsets);
        let array = |(bytes, item)| Array { bytes, item, ..Array::default() };
        let inputs: Vec<Array> = columns::split(spec.input, input).into_iter().map(array).collect();
        let are_one = (spec.input, spec.output) == (Layout::One, Layout::One);
        let (bytes, parameters) = (all_bytes(input), self.op.parameters());
        let memory = Memory {
            operator: parameters.bytes(),
            initial_value: &initial,
            input: &bytes,
            arrays: (!are_one).then_some(Arrays { inputs: &inputs, outputs: &outputs }),
            heads: &begins,
            range_ends: &ends,
            head_count: input.len() as u64,
            output_bytes: Some(if are_one { size_of_val(&expected[..]) } else { 0 }),
            output_element: size_of::<Op::Output>(),
            ..Memory::default()
        };
        let (module, schedule) = (Module::new(&self.source)?, self.plan.schedule(ranges.len() as u64)?);
        let run = emulator.run(
            &module,
            |role| self.source.kernel_name(role),
            &schedule,
            &memory,
            &mut KeptMemory::default(),
        )?;
        let wrong = match are_one {
            true => {
                let size = size_of::<Op::Output>();
                let differs = |k: &usize| run.output[k * size..(k + 1) * size] != bytes_of(&expected[*k])[..];
                (0..expected.len()).find(differs).map(|k| FaultKind::WrongTotal {
                    expected: format!("{:?} of range {k}, {:?}", expected[k], ranges[k]),
                    found: format!("{:?}", &run.output[k * size..(k + 1) * size]),
                })
            }
            false => wrong_item(&run.output, &wanted),
        };
        wrong.map_or(Ok(()), |kind| Err(Box::new(Fault::at_end(kind, &self.source.name, "the kernel")).into()))
    }
}

fn all_bytes<T: ScanElement>(items: &[T]) -> Vec<u8> {
    items.iter().flat_map(bytes_of).collect()
}
