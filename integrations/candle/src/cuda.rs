//! Tensors on NVIDIA GPUs. Scans run on candle's own stream, over its own allocations: nothing waits, and nothing is
//! copied.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use candle_core::{CudaStorage, Error, Layout, Result, Storage};
use scan_runtime::{
    Scan, ScanOp, Scanner,
    cudarc::driver::{CudaSlice, CudaView},
};

use crate::{
    Arrays, Float,
    cpu::not_contiguous,
    pass::{Backend, Call, Geometry, wrong_count},
};

/// The memory of a GPU.
pub(crate) enum Cuda {}

/// An array in device memory.
#[doc(hidden)]
pub struct DeviceArray<'a, T> {
    pub(crate) items: CudaView<'a, T>,
    /// Its strides, if they differ from the axis's.
    pub(crate) strides: Option<Vec<usize>>,
}

/// The scanner of each GPU, with the kernels that it has compiled.
static SCANNERS: Mutex<Option<HashMap<usize, Scanner>>> = Mutex::new(None);

impl Backend for Cuda {
    type Storage = CudaStorage;
    type Buffer<C: Float> = CudaSlice<C>;
    type Values<'a, C: Float> = CudaView<'a, C>;

    fn storage(storage: &Storage) -> Option<&CudaStorage> {
        match storage {
            Storage::Cuda(storage) => Some(storage),
            _ => None,
        }
    }

    fn buffer<C: Float>(like: &CudaStorage, len: usize) -> Result<CudaSlice<C>> {
        // SAFETY: a scan writes all of it before anything reads it, on the same stream.
        unsafe { like.device.alloc::<C>(len) }
    }

    fn wrap<C: Float>(buffer: CudaSlice<C>, like: &CudaStorage) -> CudaStorage {
        CudaStorage::wrap_cuda_slice(buffer, like.device.clone())
    }

    fn any(storage: CudaStorage) -> Storage {
        Storage::Cuda(storage)
    }

    fn all<C: Float>(buffer: &CudaSlice<C>) -> CudaView<'_, C> {
        buffer.slice(..)
    }

    fn values<C: Float>(storage: &CudaStorage, layout: Layout) -> Result<CudaView<'_, C>> {
        let (start, end) = layout.contiguous_offsets().ok_or_else(not_contiguous)?;
        Ok(storage.as_cuda_slice::<C>()?.slice(start..end))
    }

    fn run<T, Op, I, O>(scan: &Scan<Op>, call: Call<'_, Self, T, Op::Carry>) -> Result<()>
    where
        T: Float,
        Op: ScanOp<Carry: Float>,
        I: Arrays<T, Op::Input>,
        O: Arrays<T, Op::Output>,
    {
        let Geometry { axis, inputs } = Geometry::new(call.dim, &call.inputs, &call.output)?;
        let Some(first) = call.inputs.first() else { return Err(wrong_count("scan")) };
        let stream = first.storage.device.cuda_stream();
        let of_inputs = call.inputs.iter().zip(inputs).map(|(view, place)| {
            let items = view.storage.as_cuda_slice::<T>()?.slice(place.start..place.start + place.len);
            Ok(DeviceArray { items, strides: (!place.is_of_axis).then_some(place.strides) })
        });
        let of_inputs = of_inputs.collect::<Result<Vec<_>>>()?;
        let (start, len) = (call.output.start_offset(), axis.output_len());
        let mut outputs: Vec<_> = call.outputs.iter_mut().map(|buffer| buffer.slice_mut(start..start + len)).collect();
        let output = O::device_mut(&mut outputs).ok_or_else(|| wrong_count("scan"))?;
        let run = scan.on(&stream).along(axis);
        let run = match &call.initial {
            Some(values) => run.init_each(values),
            None => run,
        };
        let counts_agree = match call.totals {
            Some(totals) => I::run_on_device(&run.totals_into(totals), &of_inputs, output),
            None => I::run_on_device(&run, &of_inputs, output),
        };
        match counts_agree.map_err(Error::wrap)? {
            true => Ok(()),
            false => Err(wrong_count("scan")),
        }
    }

    fn scanner(like: &CudaStorage) -> Result<Scanner> {
        let ordinal = like.device.cuda_stream().context().ordinal();
        let mut scanners = SCANNERS.lock().unwrap_or_else(PoisonError::into_inner);
        let scanners = scanners.get_or_insert_default();
        if let Some(scanner) = scanners.get(&ordinal) {
            return Ok(scanner.clone());
        }
        let scanner = Scanner::cuda(ordinal).map_err(Error::wrap)?;
        scanners.insert(ordinal, scanner.clone());
        Ok(scanner)
    }
}
