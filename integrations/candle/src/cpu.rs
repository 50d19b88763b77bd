//! Tensors in host memory.

use candle_core::{CpuStorage, Error, Layout, Result, Storage};
use scan_runtime::{Scan, ScanOp, Scanner};

use crate::{
    Arrays, Float,
    arrays::HostArray,
    operator,
    pass::{Backend, Call, Geometry, wrong_count},
};

/// Host memory.
pub(crate) enum Cpu {}

impl Backend for Cpu {
    type Storage = CpuStorage;
    type Buffer<C: Float> = Vec<C>;
    type Values<'a, C: Float> = &'a [C];

    fn storage(storage: &Storage) -> Option<&CpuStorage> {
        match storage {
            Storage::Cpu(storage) => Some(storage),
            _ => None,
        }
    }

    fn buffer<C: Float>(_: &CpuStorage, len: usize) -> Result<Vec<C>> {
        Ok(vec![operator::value(0.0); len])
    }

    fn wrap<C: Float>(buffer: Vec<C>, _: &CpuStorage) -> CpuStorage {
        C::to_cpu_storage_owned(buffer)
    }

    fn any(storage: CpuStorage) -> Storage {
        Storage::Cpu(storage)
    }

    fn all<C: Float>(buffer: &Vec<C>) -> &[C] {
        buffer
    }

    fn values<C: Float>(storage: &CpuStorage, layout: Layout) -> Result<&[C]> {
        let (start, end) = layout.contiguous_offsets().ok_or_else(not_contiguous)?;
        Ok(&C::cpu_storage_as_slice(storage)?[start..end])
    }

    fn run<T, Op, I, O>(scan: &Scan<Op>, call: Call<'_, Self, T, Op::Carry>) -> Result<()>
    where
        T: Float,
        Op: ScanOp<Carry: Float>,
        I: Arrays<T, Op::Input>,
        O: Arrays<T, Op::Output>,
    {
        let Geometry { axis, inputs } = Geometry::new(call.dim, &call.inputs, &call.output)?;
        let of_inputs = call.inputs.iter().zip(inputs).map(|(view, place)| {
            let items = &T::cpu_storage_as_slice(view.storage)?[place.start..place.start + place.len];
            Ok(HostArray { items, strides: place.strides })
        });
        let input = I::host(&of_inputs.collect::<Result<Vec<_>>>()?).ok_or_else(|| wrong_count("scan"))?;
        let (start, len) = (call.output.start_offset(), axis.output_len());
        let outputs = call.outputs.iter_mut().map(|buffer| &mut buffer[start..start + len]).collect();
        let output = O::host_mut(outputs).ok_or_else(|| wrong_count("scan"))?;
        let run = scan.along(axis);
        let run = match call.initial {
            Some(values) => run.init_each(values),
            None => run,
        };
        match call.totals {
            Some(totals) => run.totals_into(totals).run_into(input, output),
            None => run.run_into(input, output),
        }
        .map_err(Error::wrap)
    }

    fn scanner(_: &CpuStorage) -> Result<Scanner> {
        Ok(Scanner::cpu())
    }
}

/// The error of initial values that the caller has not made contiguous.
pub(crate) fn not_contiguous() -> Error {
    Error::RequiresContiguous { op: "scan" }
}
