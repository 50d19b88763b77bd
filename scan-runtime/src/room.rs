//! Memory for results.

use crate::{Error, telemetry::allocated_on_host};

/// An empty vector with room for `len` items, or the error that there is not enough memory.
pub(crate) fn room<T>(len: usize) -> Result<Vec<T>, Error> {
    let (mut vector, bytes) = (Vec::new(), len.saturating_mul(size_of::<T>()));
    vector.try_reserve_exact(len).map_err(|_| Error::OutOfHostMemory { bytes })?;
    allocated_on_host(bytes);
    Ok(vector)
}
