//! Scans and reductions along an axis of an array in host memory.

use std::{fmt, sync::Arc};

use scan_codegen::{ArrayKind, ArrayKinds, Arrays, Axis, ColumnLayout, ColumnsPlan, Plans};

use super::{
    HostCall,
    call::{Wants, arrays},
    cost::{Cost, Kernels, bytes},
};
#[cfg(feature = "cuda")]
use crate::call::HostTotals;
use crate::{
    Error, ScanOp,
    arrays::{HostInput, HostOutput, Never, Shaped, fields::Lengths},
    call::{Initial, Layouts, Request, Totals},
    cpu::{self, Both, Memory, Unwritten},
    generate,
    heads::check_initial_values,
    room::room,
    scan::Options,
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

/// The axis that a call is along.
#[derive(Clone, Debug, Default)]
pub(crate) enum CallAxis {
    /// None: all elements are one sequence, or segments of one.
    #[default]
    None,
    /// That of this number, of the shape that the arrays have.
    OfArrays(isize),
    /// One of a known shape.
    Known(Arc<AxisLayout>),
}

impl CallAxis {
    /// The axis, where the shape is known.
    #[inline]
    pub(crate) fn known(&self) -> Option<&Arc<AxisLayout>> {
        match self {
            CallAxis::Known(along) => Some(along),
            _ => None,
        }
    }
}

/// An array that is scanned along an axis.
#[derive(Clone, Debug)]
pub(crate) struct AxisLayout {
    pub(crate) axis: Axis,
    layout: ColumnLayout,
}

impl AxisLayout {
    pub(crate) fn new(axis: Axis) -> Self {
        AxisLayout { layout: axis.layout(), axis }
    }

    pub(crate) fn layout(&self) -> &ColumnLayout {
        &self.layout
    }

    /// Whether there is one column, which is contiguous.
    pub(crate) fn is_one_row(&self) -> bool {
        self.layout.is_rows() && self.layout.columns() == 1
    }

    /// The length of a column, if the columns are rows of a scan that restarts.
    pub(crate) fn row(&self) -> Option<usize> {
        let layout = &self.layout;
        let are_rows = layout.is_rows() && layout.columns() > 1 && !layout.is_empty();
        are_rows.then_some(layout.length() as usize)
    }

    /// Whether columns are contiguous, one behind the other, and scanned as rows. One alone is no row that has values
    /// of its own.
    pub(crate) fn is_of_rows(&self, request: &Request) -> bool {
        let has_values = request.initial == Initial::Each || request.totals == Totals::PerSegment;
        self.layout.is_rows() && !self.layout.is_empty() && (!has_values || self.layout.columns() > 1)
    }

    /// Whether memory of `found` elements holds the array.
    pub(crate) fn check_length(&self, what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
        let holds = if expected == self.axis.len() { found == expected } else { found >= expected };
        match holds {
            true => Ok(()),
            false => Err(Error::AxisLength { what, found, expected, shape: self.axis.shape().to_vec() }),
        }
    }

    /// The error of results that leave gaps.
    pub(crate) fn gaps(&self) -> Error {
        Error::AxisGaps { shape: self.axis.shape().to_vec() }
    }
}

/// What would run along an axis on a GPU.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AxisPlan {
    /// Columns that are contiguous, one behind the other, as rows.
    Rows(Plans),
    /// Any others.
    Columns(ColumnsPlan),
}

impl fmt::Display for AxisPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AxisPlan::Rows(plans) => plans.fmt(f),
            AxisPlan::Columns(plan) => plan.fmt(f),
        }
    }
}

/// The layouts of the scan whose totals are the results of a reduction along an axis.
pub(super) fn totals_only(layouts: Layouts) -> Layouts {
    Layouts { output: (Arrays::One, ArrayKinds::new([ArrayKind::NoMemory])), ..layouts }
}

impl<Op: ScanOp> HostCall<'_, Op> {
    /// The plan for the array, or for any where its shape is not known.
    pub(super) fn columns_plan(&self, totals: Totals) -> Result<ColumnsPlan, Error> {
        let Options { op, scanner, .. } = self.options;
        let spec = self.call(totals).spec();
        let plan = generate::plan_columns(&op.source(), &spec, &scanner.limits(), &self.options.shape())?;
        Ok(match &self.along {
            CallAxis::Known(along) => plan.for_layout(along.layout()),
            _ => plan,
        })
    }

    /// Scans columns that are not rows.
    ///
    /// # Safety
    ///
    /// As for [`run_memory`](HostCall::run_memory).
    pub(super) unsafe fn run_columns<M: Memory<Op>>(
        &self,
        engine: &Engine,
        along: &AxisLayout,
        memory: M,
        layouts: Layouts,
        wants: Wants<Op::Carry>,
    ) -> Result<(), Error> {
        let (axis, layout, totals) = (&along.axis, &along.layout, wants.pointer());
        let call = self.scan_call(wants.totals(), layouts);
        if let Some(values) = self.initial_values() {
            check_initial_values(values.len(), axis.columns())?;
        }
        if layout.is_empty() {
            self.columns_plan(wants.totals())?;
            let count = if totals.is_null() { 0 } else { axis.columns() };
            for column in 0..count {
                let value = self.initial_values().and_then(|values| values.get(column).copied());
                let total = value.map_or_else(|| self.options.total_of_nothing(), Ok)?;
                // SAFETY: the caller vouches for the totals.
                unsafe { totals.add(column).write(total) };
            }
            return self.watched(0, |_| Ok(()));
        }
        match engine {
            Engine::Cpu { .. } => {
                #[cfg(feature = "cuda")]
                self.note_scan(memory, axis.len(), layouts, &wants)?;
                let has_values = call.request.initial == Initial::Each || !totals.is_null();
                match has_values || self.options.overrides.is_some() {
                    true => self.columns_plan(wants.totals()).map(drop)?,
                    false => self.check_planned(Totals::None)?,
                }
                let _span = tells_of_calls().then(|| computing::<Op>(axis.len()));
                let Options { op, kind, order, initial_value, .. } = self.options;
                let values = cpu::ColumnValues {
                    initial_value: *initial_value,
                    initial_values: self.initial_values(),
                    totals: (!totals.is_null()).then_some(totals),
                };
                // SAFETY: the caller vouches for the memory; the values have been counted.
                self.watched(axis.len(), |watch| unsafe {
                    cpu::scan_columns(&**op, *kind, *order, values, layout, memory, axis.len(), watch)
                })
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(device) => {
                let totals = HostTotals::per_segment(totals, axis.columns());
                // SAFETY: as above.
                unsafe { call.scan_columns_on_device(device, axis, &memory.host(axis.len()), totals) }
            }
        }
    }
}

impl<Op: ScanOp> HostCall<'_, Op> {
    /// An error if the call is along an axis of arrays that have a shape.
    #[inline(always)]
    pub(super) fn has_known_shape(&self) -> Result<(), Error> {
        match self.along {
            CallAxis::OfArrays(axis) => Err(Error::UnknownShape { axis }),
            _ => Ok(()),
        }
    }

    /// This call along the axis of arrays that have a shape; none if their shape changes nothing.
    pub(super) fn of_shape<I: HostInput<Op::Input>, O: HostOutput<Op::Output>>(
        &self,
        input: &I,
        output: Option<&O>,
    ) -> Result<Option<Self>, Error> {
        self.with_shapes(input.shape()?, output.map(O::shape).transpose()?)
    }

    /// This call with an input and an output of these shapes, or with new results.
    #[cold]
    pub(super) fn with_shapes(
        &self,
        input: Option<Shaped>,
        output: Option<Option<Shaped>>,
    ) -> Result<Option<Self>, Error> {
        let of_output;
        let shape = match (&input, output.as_ref().and_then(Option::as_ref)) {
            (Some(input), Some(output)) if self.results_shape(&input.shape) != output.shape => {
                return Err(Error::AxisShapes {
                    first: self.results_shape(&input.shape),
                    second: output.shape.clone(),
                });
            }
            (Some(shaped), _) => &shaped.shape,
            (None, Some(shaped)) => {
                of_output = self.elements_shape(&shaped.shape);
                &of_output
            }
            (None, None) => {
                return match self.along {
                    CallAxis::OfArrays(axis) => Err(Error::UnknownShape { axis }),
                    _ => Ok(None),
                };
            }
        };
        let number = match &self.along {
            CallAxis::None if shape.len() == 1 => return Ok(None),
            CallAxis::None => return Err(Error::AxisUnnamed { shape: shape.clone() }),
            CallAxis::Known(along) if along.axis.shape() != shape => {
                return Err(Error::AxisShapes { first: along.axis.shape().to_vec(), second: shape.clone() });
            }
            CallAxis::Known(along) => along.axis.axis() as isize,
            CallAxis::OfArrays(axis) => *axis,
        };
        let mut axis = Axis::of(shape, number)?;
        // New results lie in memory as the elements do.
        let output = output.unwrap_or_else(|| input.clone().filter(|_| !self.options.includes_initial));
        if let Some(strides) = input.and_then(|input| input.strides) {
            axis = axis.input_strides(&strides)?;
        }
        if let Some(strides) = output.and_then(|output| output.strides) {
            axis = axis.output_strides(&strides)?;
        }
        Ok(Some(self.clone().along_layout(Arc::new(AxisLayout::new(axis)))))
    }

    /// Reduces each column of an array.
    pub(super) fn reduce_columns<I: HostInput<Op::Input>>(
        &self,
        along: &AxisLayout,
        input: I,
    ) -> Result<Vec<Op::Output>, Error> {
        let mut lengths = Lengths::of("input");
        input.items(&mut lengths);
        let needed = along.axis.input_len();
        along.check_length("input", lengths.len()?.unwrap_or(needed), needed)?;
        self.check_prepared(along.axis.len(), Totals::None)?;
        let count = along.axis.columns();
        let mut totals = room::<Op::Carry>(count)?;
        let wants = Wants::PerSegment(totals.as_mut_ptr());
        let engine = self.engine(Cost {
            elements: along.axis.len(),
            bytes: bytes::<Op, I, Never>(needed, 0).saturating_add(count.saturating_mul(size_of::<Op::Carry>())),
            slices: &|each| input.slices(each),
            kernels: Some(Kernels::of::<Op, I, &mut [Op::Output]>(Totals::PerSegment)),
        });
        let input = input.hold(0, self.lanes_of(engine, needed, &wants))?;
        let memory = Both { input: I::at(&input), output: Unwritten };
        let layouts = arrays::<Op, I, &mut [Op::Output]>();
        #[cfg(feature = "cuda")]
        if count > 0 && !along.layout.is_empty() {
            self.note_columns_on_device(layouts)?;
        }
        let layouts = totals_only(layouts);
        // SAFETY: the input holds the array, there is room for the totals, and results have no memory.
        unsafe {
            self.run_memory(engine, memory, along.axis.len(), layouts, wants)?;
            totals.set_len(count);
        }
        let mut results = room(count)?;
        for total in totals {
            results.push(cpu::project(&*self.options.op, total)?);
        }
        Ok(results)
    }
}
