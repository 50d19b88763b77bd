//! Sources of segment heads in device memory.

use std::sync::Arc;

use cudarc::driver::{CudaStream, SyncOnDrop, sys};

use super::arrays::DeviceArray;
use crate::{
    Error,
    heads::{HeadKind, OffsetType, check_indexed, check_length, check_range_ends, segment_count},
};

/// A source of segment heads in device memory.
#[derive(Clone, Copy)]
pub(crate) struct DeviceHeads<'a> {
    pub(crate) kind: HeadKind,
    /// None where no memory tells it.
    memory: Option<&'a dyn DeviceArray>,
    /// Where ranges end.
    ends: Option<&'a dyn DeviceArray>,
}

impl<'a> DeviceHeads<'a> {
    pub(crate) const NONE: DeviceHeads<'static> = DeviceHeads { kind: HeadKind::None, memory: None, ends: None };

    pub(crate) fn rows(len: usize) -> Self {
        DeviceHeads { kind: HeadKind::Rows { len }, ..DeviceHeads::NONE }
    }

    pub(crate) fn new(kind: HeadKind, memory: &'a dyn DeviceArray) -> Self {
        DeviceHeads { kind, memory: Some(memory), ends: None }
    }

    pub(crate) fn ranges(ty: OffsetType, begins: &'a dyn DeviceArray, ends: &'a dyn DeviceArray) -> Self {
        DeviceHeads { ends: Some(ends), ..DeviceHeads::new(HeadKind::Ranges(ty), begins) }
    }

    /// How many flags, words, keys or offsets there are, or elements of a row.
    fn count(&self) -> usize {
        match (self.kind, self.memory) {
            (HeadKind::Rows { len }, _) => len,
            (_, memory) => memory.map_or(0, DeviceArray::count),
        }
    }

    /// The number that kernels are given: of offsets, or of the elements of a row.
    pub(crate) fn head_count(&self) -> u64 {
        self.count() as u64
    }

    /// The streams that the memory belongs to, where there is any.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &Arc<CudaStream>> {
        self.memory.into_iter().chain(self.ends).map(DeviceArray::stream)
    }

    /// Whether offsets tell them, which may leave elements out, or not ascend.
    pub(crate) fn has_offsets(&self) -> bool {
        matches!(self.kind, HeadKind::Offsets(_))
    }

    /// Whether there are as many as an input of this length requires.
    pub(crate) fn check(&self, len: usize) -> Result<(), Error> {
        match self.kind {
            HeadKind::Bits(bits) => bits.check_device(self.count(), len),
            HeadKind::Ranges(_) => check_range_ends(self.ends.map_or(0, DeviceArray::count), self.count()),
            kind => check_length(kind, self.count(), len),
        }
    }

    /// How many segments an input of this length has, where the host can tell.
    pub(crate) fn segments(&self, len: usize) -> Option<usize> {
        segment_count(self.kind, self.count(), len)
    }

    /// How many segments there are, each of which has an initial value, or a total.
    pub(crate) fn check_each(&self, len: usize) -> Result<usize, Error> {
        check_indexed(self.kind, self.count(), len)
    }

    /// Where they are, and the guard that records the event by which cudarc orders work on several streams: it is
    /// dropped once the launches are made.
    pub(crate) fn pointer(&self, stream: &'a CudaStream) -> Result<(sys::CUdeviceptr, Option<SyncOnDrop<'a>>), Error> {
        match (self.kind, self.memory.map(|memory| memory.pointer(stream))) {
            (HeadKind::Bits(bits), Some((pointer, reading))) => Ok((bits.address(pointer)?, Some(reading))),
            (_, Some((pointer, reading))) => Ok((pointer, Some(reading))),
            (_, None) => Ok((0, None)),
        }
    }

    /// The same of where ranges end.
    pub(crate) fn ends(&self, stream: &'a CudaStream) -> (sys::CUdeviceptr, Option<SyncOnDrop<'a>>) {
        self.ends.map_or((0, None), |ends| {
            let (pointer, reading) = ends.pointer(stream);
            (pointer, Some(reading))
        })
    }
}
