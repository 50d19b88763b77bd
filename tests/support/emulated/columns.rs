//! A scan along an axis of an array for the emulator.

use std::{
    fmt::Debug,
    mem,
    sync::{Mutex, PoisonError},
};

use scan_codegen::{
    ArrayKind, Arrays as Layout, Axis, ColumnLayout, ColumnsPlan, DeviceLimits, KernelSource, Overrides, ScanSpec,
    Target, plan_columns,
};
use scan_runtime::{__private::bytes_of, ScanElement, ScanOp};

use super::{
    Array, ArrayKind as Taken, Arrays, Counters, Emulator, EmulatorError, Fault, FaultKind, KeptMemory, Memory, Module,
    Run, program::elements,
};
use crate::{checked, columns, mutants, reference};

/// A scan along an axis of typed elements for the emulator, as [`Program`](super::Program) is a scan. Its runs share
/// the memory that the kernel keeps.
#[derive(Debug)]
pub struct ColumnsProgram<Op: ScanOp> {
    /// The operator.
    pub op: Op,
    /// What stands before the first element of each column.
    pub initial_value: Option<Op::Carry>,
    /// The plan.
    pub plan: ColumnsPlan,
    /// The generated text. Change it to see what the emulator makes of it.
    pub source: KernelSource,
    /// The plans and the texts for arrays that do not suit it, or suit another one better.
    others: Vec<(ColumnsPlan, KernelSource)>,
    kept: Mutex<KeptMemory>,
}

impl<Op: ScanOp + Clone> Clone for ColumnsProgram<Op> {
    fn clone(&self) -> Self {
        ColumnsProgram {
            op: self.op.clone(),
            initial_value: self.initial_value,
            plan: self.plan.clone(),
            source: self.source.clone(),
            others: self.others.clone(),
            kept: Mutex::default(),
        }
    }
}

/// What nothing has been written to.
const UNTOUCHED: u8 = 0xa5;

/// Which elements of the memory of the output are results.
fn results(axis: &Axis) -> Vec<bool> {
    let place = reference::result_places(axis);
    let mut is_result = vec![false; axis.output_len()];
    for column in reference::columns(axis) {
        (0..axis.shape()[axis.axis()]).for_each(|row| is_result[place(&column, row)] = true);
    }
    is_result
}

/// The place in memory of each item of the input with other strides, by its place with those of the axis.
fn places(axis: &Axis, strides: &[isize]) -> Vec<usize> {
    let (own, other) = (reference::places(axis, axis.both_strides().0), reference::places(axis, strides));
    let mut places = vec![0; axis.input_len()];
    for column in reference::columns(axis) {
        (0..axis.shape()[axis.axis()]).for_each(|row| places[own(&column, row)] = other(&column, row));
    }
    places
}

/// The place of each item's neighbour along the axis; none at an edge, and in gaps.
fn along(axis: &Axis, after: bool) -> Vec<Option<usize>> {
    let step = axis.both_strides().0[axis.axis()];
    // Which row an item is of.
    let mut of_row = vec![0; axis.shape().len()];
    of_row[axis.axis()] = 1;
    let edge = if after { axis.shape()[axis.axis()] - 1 } else { 0 };
    let neighbour = |(place, row): (usize, usize)| match (row == edge, after) {
        (true, _) => None,
        (false, true) => place.checked_add_signed(step),
        (false, false) => place.checked_add_signed(-step),
    };
    let rows = places(axis, &of_row);
    let len = rows.len();
    rows.into_iter().enumerate().map(neighbour).map(|found| found.filter(|place| *place < len)).collect()
}

impl<Op: ScanOp> ColumnsProgram<Op> {
    /// Plans a scan along an axis, has `change` change the plan, and writes its kernel.
    ///
    /// # Errors
    ///
    /// [`EmulatorError::Plan`] if there is no such plan, [`EmulatorError::Render`] if the operator cannot be written.
    pub fn new(
        op: Op,
        spec: &ScanSpec,
        initial_value: Option<Op::Carry>,
        overrides: &Overrides,
        change: impl Fn(ColumnsPlan) -> ColumnsPlan,
    ) -> Result<Self, EmulatorError> {
        let spec = if initial_value.is_some() { spec.clone().with_initial_value() } else { spec.clone() };
        let operator = op.source();
        let plan = change(plan_columns(&operator, &spec, &DeviceLimits::BASELINE, overrides)?);
        let render =
            |plan: &ColumnsPlan| checked::render_columns_from(mutants::templates(), &operator, plan, Target::Host);
        let source = render(&plan)?;
        let others = plan.all().into_iter().filter(|other| *other != plan);
        let others = others.map(|plan| render(&plan).map(|source| (plan, source))).collect::<Result<_, _>>()?;
        Ok(ColumnsProgram { op, initial_value, plan, source, others, kept: Mutex::default() })
    }

    /// What the kernel has kept by now, as [`Program::kept_bytes`](super::Program::kept_bytes).
    pub fn kept_bytes(&mut self) -> &mut Vec<u8> {
        &mut self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Its texts.
    pub fn sources(&self) -> impl Iterator<Item = &KernelSource> {
        std::iter::once(&self.source).chain(self.others.iter().map(|(_, source)| source))
    }

    /// Scans `input`, which has [`Axis::input_len`] elements, into memory that begins so many elements beyond an
    /// aligned address, as the input does, and compares the results bit for bit with those of a plain loop, and what
    /// lies between them with what was there.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the kernel, [`FaultKind::WrongOutput`], and those of [`Module::new`].
    pub fn verify(
        &self,
        emulator: &Emulator,
        axis: &Axis,
        input: &[Op::Input],
        (input_offset, output_offset): (usize, usize),
    ) -> Result<(), EmulatorError>
    where
        Op::Output: Debug,
    {
        let bytes: Vec<u8> = input.iter().flat_map(bytes_of).collect();
        let memory = Memory {
            input: &bytes,
            output_bytes: Some(axis.output_len() * size_of::<Op::Output>()),
            output_element: size_of::<Op::Output>(),
            output_holds: (axis.output_len() > axis.len()).then_some(UNTOUCHED),
            input_offset: input_offset * size_of::<Op::Input>(),
            output_offset: output_offset * size_of::<Op::Output>(),
            ..Memory::default()
        };
        let mut found = self.run(emulator, axis, memory)?;
        let output = found.clone();
        self.compare(axis, input, &mut found, &output)?;
        let is_result = results(axis);
        let is_touched = |(index, is_result): (usize, bool)| {
            !is_result && bytes_of(&output[index]).iter().any(|byte| *byte != UNTOUCHED)
        };
        let Some(index) = is_result.into_iter().enumerate().position(is_touched) else { return Ok(()) };
        let (expected, found) = ("what was there".to_owned(), format!("{:?}", output[index]));
        let kind = FaultKind::WrongOutput { index: index as u64, expected, found };
        Err(Box::new(Fault::at_end(kind, &self.source.name, "the kernel")).into())
    }

    /// As [`verify`](ColumnsProgram::verify), with the arrays of input and output that the plan's layouts tell of. Each
    /// begins so many of its items beyond an aligned address; arrays beyond these offsets begin there.
    ///
    /// # Errors
    ///
    /// As [`verify`](ColumnsProgram::verify).
    pub fn verify_columns(
        &self,
        emulator: &Emulator,
        axis: &Axis,
        input: &[Op::Input],
        offsets: &[usize],
    ) -> Result<(), EmulatorError>
    where
        Op::Output: Debug,
        Op::Carry: Debug,
    {
        self.verify_each(emulator, axis, input, None, offsets)
    }

    /// As [`verify_columns`](ColumnsProgram::verify_columns), of a plan with an initial value for each column, if there
    /// are any, and with the total of each, if the plan has them: these are compared, too.
    ///
    /// # Errors
    ///
    /// As [`verify`](ColumnsProgram::verify), and [`FaultKind::WrongTotal`].
    pub fn verify_each(
        &self,
        emulator: &Emulator,
        axis: &Axis,
        input: &[Op::Input],
        values: Option<&[Op::Carry]>,
        offsets: &[usize],
    ) -> Result<(), EmulatorError>
    where
        Op::Output: Debug,
        Op::Carry: Debug,
    {
        self.verify_kinds(emulator, axis, input, values, offsets, &[])
    }

    /// As [`verify_each`](ColumnsProgram::verify_each), with arrays of the kinds that the plan tells of: those with
    /// strides of their own have these strides, in their order. They hold what `input` has at the beginning.
    ///
    /// # Errors
    ///
    /// As [`verify_each`](ColumnsProgram::verify_each).
    pub fn verify_kinds(
        &self,
        emulator: &Emulator,
        axis: &Axis,
        input: &[Op::Input],
        values: Option<&[Op::Carry]>,
        offsets: &[usize],
        own: &[&[isize]],
    ) -> Result<(), EmulatorError>
    where
        Op::Output: Debug,
        Op::Carry: Debug,
    {
        let (spec, columns, layout) = (&self.plan.spec, axis.columns(), axis.layout_with(own));
        let mut offsets = offsets.iter().copied().chain(std::iter::repeat(0));
        let mut array = |(bytes, item): (Vec<u8>, usize), first: usize| {
            let offset = item * offsets.next().unwrap_or_default();
            Array { bytes, item, offset, first: first * item, ..Array::default() }
        };
        let [first, first_result] = layout.firsts();
        let (mut inputs, mut items, mut strided) = (Vec::new(), Vec::new(), 0);
        for (index, lying) in columns::split(spec.input, input).into_iter().enumerate() {
            let mut array = array(lying, first);
            let item = array.item;
            match spec.input_kinds.of(index) {
                kind @ (ArrayKind::Previous | ArrayKind::Next) => {
                    let edge = columns::edge_of(&array.bytes[..item]);
                    let found = along(axis, kind == ArrayKind::Next);
                    items.extend(columns::neighbours(&array.bytes, item, &edge, |place| found[place]));
                    let row = axis.shape()[axis.axis()];
                    array.kind = Taken::Followed(columns::neighbour_words(row, &edge));
                }
                ArrayKind::Strided => {
                    let (first, len) = axis.first_and_len(own[strided]).unwrap_or_default();
                    let found = places(axis, own[strided]);
                    items.extend(columns::neighbours(&array.bytes, item, &[], |place| Some(found[place])));
                    let words = layout.strided_words(strided).flat_map(u64::to_le_bytes).collect();
                    array.bytes.truncate(len * item);
                    array.kind = Taken::Followed(words);
                    array.first = first * item;
                    strided += 1;
                }
                _ => items.extend(&array.bytes),
            }
            inputs.push(array);
        }
        let joined = columns::joined::<Op::Input>(spec.input, &items, input.len());
        // SAFETY: the bytes are those of inputs, but for numbers.
        let input: &[Op::Input] = &unsafe { elements::<Op::Input>(&joined) };
        // Others are not written.
        let slices = |arrays: Vec<(Vec<u8>, usize)>| {
            let arrays = arrays.into_iter().enumerate();
            arrays.filter(|&(index, _)| spec.output_kinds.of(index) == ArrayKind::Slice).map(|(_, array)| array)
        };
        let items = columns::split::<Op::Output>(spec.output, &[]);
        let outputs = slices(items).map(|(_, item)| (vec![0; axis.output_len() * item], item));
        let outputs: Vec<_> = outputs.map(|lying| array(lying, first_result)).collect();
        let initial_value: Vec<u8> =
            values.unwrap_or(self.initial_value.as_slice()).iter().flat_map(bytes_of).collect();
        let of_one = |arrays: &[Array]| arrays.first().map_or((Vec::new(), 0), |one| (one.bytes.clone(), one.offset));
        let ((bytes, input_offset), (_, output_offset)) = (of_one(&inputs), of_one(&outputs));
        let by_field = [spec.input, spec.output].contains(&Layout::PerField)
            || !spec.input_kinds.are_slices()
            || !spec.output_kinds.are_slices();
        let arrays = Arrays { inputs: &inputs, outputs: &outputs };
        let memory = Memory {
            input: if by_field { &[] } else { &bytes },
            output_bytes: Some(if by_field { 0 } else { axis.output_len() * size_of::<Op::Output>() }),
            output_element: size_of::<Op::Output>(),
            input_offset: if by_field { 0 } else { input_offset },
            output_offset: if by_field { 0 } else { output_offset },
            arrays: by_field.then_some(arrays),
            initial_value: &initial_value,
            total_bytes: match (spec.totals, spec.projects) {
                (false, _) => 0,
                (true, false) => columns * size_of::<Op::Carry>(),
                (true, true) => columns * size_of::<Op::Output>(),
            },
            ..Memory::default()
        };
        let Run { output: bytes, total: totals, .. } = self.run_memory(emulator, &layout, memory)?;
        let output = match spec.output_kinds.are_slices() {
            true => self.outputs(axis, by_field, bytes.clone()),
            // Results leave no gaps where not all are written.
            false => {
                let one = reference::scan_as(&self.op, spec, values.map(|values| values[0]), &input[..1], None);
                vec![one[0]; axis.output_len()]
            }
        };
        let mut expected = output.clone();
        let values = values.map(<[_]>::to_vec).or(self.initial_value.map(|value| vec![value; columns]));
        let expected_totals = reference::scan_axis_each(&self.op, spec, values.as_deref(), axis, input, &mut expected);
        if spec.output_kinds.are_slices() {
            self.same(&expected, &output)?;
        } else {
            let written: Vec<u8> =
                slices(columns::split(spec.output, &expected)).flat_map(|(bytes, _)| bytes).collect();
            if let Some(index) = written.iter().zip(&bytes).position(|(expected, found)| expected != found) {
                let (expected, found) = (written[index].to_string(), bytes[index].to_string());
                let kind = FaultKind::WrongOutput { index: index as u64, expected, found };
                return Err(Box::new(Fault::at_end(kind, &self.source.name, "the kernel")).into());
            }
        }
        if spec.projects {
            let project = |total| self.op.project(total);
            return self.same_totals(&totals, &expected_totals.into_iter().map(project).collect::<Vec<_>>());
        }
        self.same_totals(&totals, &expected_totals)
    }

    /// An error where a total is another than expected.
    fn same_totals<T: ScanElement + std::fmt::Debug>(&self, bytes: &[u8], expected: &[T]) -> Result<(), EmulatorError> {
        // SAFETY: the kernel has written every total (the emulator has seen to it).
        let found: Vec<T> = unsafe { elements(bytes) };
        let differs = |(found, expected)| bytes_of::<T>(found) != bytes_of::<T>(expected);
        let Some(index) = found.iter().zip(expected).position(differs) else { return Ok(()) };
        let (expected, found) = (format!("{:?}", expected[index]), format!("{:?}", found[index]));
        let kind = FaultKind::WrongTotal { expected: format!("{expected} of column {index}"), found };
        Err(Box::new(Fault::at_end(kind, &self.source.name, "the kernel")).into())
    }

    /// What a scan of `input` into other memory takes.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the kernel, and those of [`Module::new`].
    pub fn counters(&self, emulator: &Emulator, axis: &Axis, input: &[Op::Input]) -> Result<Counters, EmulatorError> {
        let bytes: Vec<u8> = input.iter().flat_map(bytes_of).collect();
        let initial_value = self.initial_value.as_ref().map(bytes_of).unwrap_or_default();
        let memory = Memory {
            input: &bytes,
            output_bytes: Some(axis.output_len() * size_of::<Op::Output>()),
            output_element: size_of::<Op::Output>(),
            initial_value: &initial_value,
            ..Memory::default()
        };
        Ok(self.run_memory(emulator, &axis.layout(), memory)?.counters)
    }

    /// Scans `input` where it stands, and compares the results with those of a plain loop, and what lies between them
    /// with what was there.
    ///
    /// # Errors
    ///
    /// As [`verify`](ColumnsProgram::verify).
    pub fn verify_in_place<T: ScanElement + Debug>(
        &self,
        emulator: &Emulator,
        axis: &Axis,
        input: &[T],
    ) -> Result<(), EmulatorError>
    where
        Op: ScanOp<Input = T, Output = T>,
    {
        let bytes: Vec<u8> = input.iter().flat_map(bytes_of).collect();
        let memory = Memory { input: &bytes, output_element: size_of::<T>(), ..Memory::default() };
        let found = self.run(emulator, axis, memory)?;
        self.compare(axis, input, &mut input.to_vec(), &found)
    }

    /// Compares what was found with what a plain loop makes of `expected`.
    fn compare(
        &self,
        axis: &Axis,
        input: &[Op::Input],
        expected: &mut [Op::Output],
        found: &[Op::Output],
    ) -> Result<(), EmulatorError>
    where
        Op::Output: Debug,
    {
        reference::scan_axis(&self.op, &self.plan.spec, self.initial_value, axis, input, expected);
        self.same(expected, found)
    }

    /// Compares results.
    fn same(&self, expected: &[Op::Output], found: &[Op::Output]) -> Result<(), EmulatorError>
    where
        Op::Output: Debug,
    {
        let differs = |(found, expected)| bytes_of::<Op::Output>(found) != bytes_of::<Op::Output>(expected);
        let Some(index) = found.iter().zip(expected).position(differs) else { return Ok(()) };
        let (expected, found) = (format!("{:?}", expected[index]), format!("{:?}", found[index]));
        let kind = FaultKind::WrongOutput { index: index as u64, expected, found };
        Err(Box::new(Fault::at_end(kind, &self.source.name, "the kernel")).into())
    }

    fn run(&self, emulator: &Emulator, axis: &Axis, memory: Memory<'_>) -> Result<Vec<Op::Output>, EmulatorError> {
        let initial_value = self.initial_value.as_ref().map(bytes_of).unwrap_or_default();
        let by_field = memory.arrays.is_some();
        let memory = Memory { initial_value: &initial_value, ..memory };
        let run = self.run_memory(emulator, &axis.layout(), memory)?;
        Ok(self.outputs(axis, by_field, run.output))
    }

    /// The results of which these are the bytes, as the kernel has left them.
    fn outputs(&self, axis: &Axis, by_field: bool, bytes: Vec<u8>) -> Vec<Op::Output> {
        let bytes = match by_field {
            true => columns::joined::<Op::Output>(self.plan.spec.output, &bytes, axis.output_len()),
            false => bytes,
        };
        // SAFETY: the kernel has written every result (the emulator has seen to it), and what an operator produces is a
        // valid element, as are those that were there before.
        unsafe { elements(&bytes) }
    }

    fn run_memory(&self, emulator: &Emulator, layout: &ColumnLayout, memory: Memory<'_>) -> Result<Run, EmulatorError> {
        let [first, first_result] = layout.firsts();
        let (input_first, output_first) = (first * size_of::<Op::Input>(), first_result * size_of::<Op::Output>());
        let output_offset = memory.output_bytes.map_or(memory.input_offset, |_| memory.output_offset);
        // The address of each array, and the words behind it.
        let words = |array: &Array| {
            let behind = if let Taken::Followed(bytes) = &array.kind { &bytes[..] } else { &[] };
            let behind = behind.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
            std::iter::once((array.offset + array.first) as u64).chain(behind).collect::<Vec<_>>()
        };
        let addresses = |arrays: &[Array]| arrays.iter().flat_map(words).collect();
        let (inputs, outputs): (Vec<u64>, Vec<u64>) = match memory.arrays {
            Some(Arrays { inputs, outputs }) => (addresses(inputs), addresses(outputs)),
            None => (vec![(memory.input_offset + input_first) as u64], vec![(output_offset + output_first) as u64]),
        };
        let suits = |plan: &ColumnsPlan| plan.suits(layout, &inputs, &outputs);
        let chosen = self.plan.all().into_iter().find(suits).unwrap_or(self.plan.clone());
        let other = self.others.iter().find(|(plan, _)| *plan == chosen);
        let (plan, source) = other.map_or((&self.plan, &self.source), |(plan, source)| (plan, source));
        let module = Module::new(source)?;
        let schedule = plan.schedule(layout)?;
        let operator = self.op.parameters();
        let layout: Vec<u8> = layout.words().into_iter().flat_map(u64::to_le_bytes).collect();
        let memory = Memory { operator: operator.bytes(), layout: &layout, input_first, output_first, ..memory };
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = mem::take(&mut *lock());
        let run = emulator.run(&module, |role| source.kernel_name(role), &schedule, &memory, &mut kept)?;
        *lock() = kept;
        Ok(run)
    }
}
