//! CUB's scans, from the library that `cargo run -p scan-tools --bin bundle -- --peers` makes of `cub.cu`.

use std::{
    env,
    ffi::{CStr, c_char, c_int, c_void},
    path::PathBuf,
    ptr,
    sync::Arc,
};

use libloading::Library;
use scan_runtime::{
    ScanKind, ScanOp,
    cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, sys::CUstream},
};
use scan_tests::target_dir;

use crate::{Outcome, cases::Case, race::Call};

const FILE: &str = "libcub_peer.so";

/// `cub_inclusive_…` and `cub_exclusive_…`.
type Scan = unsafe extern "C" fn(*mut c_void, *mut usize, *const c_void, *mut c_void, u64, CUstream) -> c_int;
/// `cub_by_keys_…`.
type ByKeys =
    unsafe extern "C" fn(*mut c_void, *mut usize, *const c_void, *const c_void, *mut c_void, u32, CUstream) -> c_int;
/// `cub_by_offsets_…`.
type ByOffsets =
    unsafe extern "C" fn(*mut c_void, *mut usize, *const c_void, u32, *const c_void, *mut c_void, CUstream) -> c_int;

/// `cub_gallery_…`.
type OfGallery =
    unsafe extern "C" fn(*mut c_void, *mut usize, *const c_void, *const c_void, *mut c_void, i32, CUstream) -> c_int;

/// A library of the bundle, else of the target folder.
fn find(file: &str) -> Result<PathBuf, String> {
    let beside = |program: PathBuf| Some(program.parent()?.parent()?.join("peers").join(file));
    let places = [env::current_exe().ok().and_then(beside), target_dir().ok().map(|t| t.join("peers").join(file))];
    let places: Vec<PathBuf> = places.into_iter().flatten().collect();
    places.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        let places: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
        format!(
            "no library of CUB at {}; make it with `cargo run -p scan-tools --bin bundle -- --peers`",
            places.join(" or ")
        )
    })
}

/// Opens a library of CUB's primitives.
pub(crate) fn open(file: &str) -> Result<Library, String> {
    let path = find(file)?;
    // SAFETY: the library is made of CUB; its initialisers register its kernels and do nothing else.
    unsafe { Library::new(&path) }.map_err(|error| format!("{} does not open: {error}", path.display()))
}

/// The library of the gallery's operators.
pub(crate) struct GalleryCub {
    library: Arc<Library>,
}

impl GalleryCub {
    pub(crate) fn open() -> Result<Self, String> {
        Ok(GalleryCub { library: Arc::new(open("libcub_gallery.so")?) })
    }

    /// The scan of an operator, with these parameters.
    pub(crate) fn scan<Op: ScanOp>(&self, name: &str, op: &Op) -> Result<GalleryScan, String> {
        // SAFETY: functions of this name have this type.
        let function = unsafe { self.library.get::<OfGallery>(format!("cub_gallery_{name}").as_bytes()) };
        let function = *function.map_err(|error| format!("the library has no {name}: {error}"))?;
        let mut operator = op.parameters().bytes().to_vec();
        operator.resize(operator.len().max(1), 0); // an empty struct has a byte
        Ok(GalleryScan { _library: self.library.clone(), function, operator, memory: None })
    }
}

/// CUB's scan of an operator, and its temporary memory for a length.
pub(crate) struct GalleryScan {
    /// Open as long as its function is called.
    _library: Arc<Library>,
    function: OfGallery,
    /// The operator's parameters.
    operator: Vec<u8>,
    pub(crate) memory: Option<(usize, CudaSlice<u8>)>,
}

impl GalleryScan {
    pub(crate) fn call(
        &self,
        temporary: *mut c_void,
        bytes: &mut usize,
        (input, output): (u64, u64),
        len: usize,
        stream: &Arc<CudaStream>,
    ) -> Outcome {
        let (input, output) = (input as *const c_void, output as *mut c_void);
        let operator = self.operator.as_ptr().cast();
        // SAFETY: both buffers hold `len` elements, the library asked for this much temporary memory, and reads as many
        // bytes of the operator as it has.
        let code =
            unsafe { (self.function)(temporary, bytes, operator, input, output, len as i32, stream.cu_stream()) };
        if code == 0 { Ok(()) } else { Err(format!("CUB: error {code} of the runtime").into()) }
    }
}

/// The peer library.
pub(crate) struct Cub {
    library: Library,
    error: unsafe extern "C" fn(c_int) -> *const c_char,
    pub(crate) version: String,
}

impl Cub {
    /// Opens the library: the one asked for, else that of the bundle, else the one in the target folder.
    pub(crate) fn open(asked: Option<PathBuf>) -> Result<Self, String> {
        let path = asked.map_or_else(|| find(FILE), Ok)?;
        // SAFETY: the library is made of cub.cu; its initialisers register its kernels and do nothing else.
        let library =
            unsafe { Library::new(&path) }.map_err(|error| format!("{} does not open: {error}", path.display()))?;
        let symbol = |error: libloading::Error| format!("{}: {error}", path.display());
        // SAFETY: these are the types of the functions in cub.cu.
        let (version, error) = unsafe {
            let version: unsafe extern "C" fn() -> c_int = *library.get(b"cub_version").map_err(symbol)?;
            (version(), *library.get(b"cub_error").map_err(symbol)?)
        };
        let version = format!("{}.{}.{}", version / 100_000, version / 100 % 1_000, version % 100);
        Ok(Cub { library, error, version })
    }

    /// A scan of everything, if the library has this operator.
    pub(crate) fn scan<C: Case>(&self, kind: ScanKind) -> Result<Call<'_, C::Item>, String> {
        let kind = match kind {
            ScanKind::Inclusive => "inclusive",
            ScanKind::Exclusive => "exclusive",
        };
        // SAFETY: functions of this name have this type.
        let function: Scan = unsafe { self.function(&symbol::<C>(kind))? };
        let mut workspace = Workspace::default();
        Ok(Box::new(move |buffers, len| {
            let input = address(&buffers.input, &buffers.stream);
            let output = address_mut(&mut buffers.output, &buffers.stream);
            workspace.run(self, &buffers.stream, len, |temporary, bytes, stream| {
                // SAFETY: both buffers hold `len` elements, and the library asked for this much temporary memory.
                unsafe { function(temporary, bytes, input, output, len as u64, stream) }
            })
        }))
    }

    /// A scan that restarts where the key changes.
    pub(crate) fn by_keys<'a, C: Case>(&'a self, keys: &'a CudaSlice<u32>) -> Result<Call<'a, C::Item>, String> {
        // SAFETY: functions of this name have this type.
        let function: ByKeys = unsafe { self.function(&symbol::<C>("by_keys"))? };
        let mut workspace = Workspace::default();
        Ok(Box::new(move |buffers, len| {
            let keys = address(keys, &buffers.stream);
            let input = address(&buffers.input, &buffers.stream);
            let output = address_mut(&mut buffers.output, &buffers.stream);
            workspace.run(self, &buffers.stream, len, |temporary, bytes, stream| {
                // SAFETY: as above; there are as many keys.
                unsafe { function(temporary, bytes, keys, input, output, len as u32, stream) }
            })
        }))
    }

    /// A scan of every segment between two offsets. The input is as long as the last offset tells.
    pub(crate) fn by_offsets<'a, C: Case>(&'a self, offsets: &'a CudaSlice<u32>) -> Result<Call<'a, C::Item>, String> {
        // SAFETY: functions of this name have this type.
        let function: ByOffsets = unsafe { self.function(&symbol::<C>("by_offsets"))? };
        let mut workspace = Workspace::default();
        let segments = offsets.len() as u32 - 1;
        Ok(Box::new(move |buffers, len| {
            let offsets = address(offsets, &buffers.stream);
            let input = address(&buffers.input, &buffers.stream);
            let output = address_mut(&mut buffers.output, &buffers.stream);
            workspace.run(self, &buffers.stream, len, |temporary, bytes, stream| {
                // SAFETY: as above; the offsets are those of segments within the buffers.
                unsafe { function(temporary, bytes, offsets, segments, input, output, stream) }
            })
        }))
    }

    /// # Safety
    ///
    /// `F` is the type of the function of this name.
    unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, String> {
        // SAFETY: the caller vouches for the type. The library is open as long as `self` lives, which all calls borrow.
        unsafe { self.library.get::<F>(name.as_bytes()) }
            .map(|function| *function)
            .map_err(|_| format!("the library has no {name}"))
    }

    fn check(&self, code: c_int) -> Outcome {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the runtime's texts are constants that end in a zero.
        let text = unsafe { CStr::from_ptr((self.error)(code)) };
        Err(format!("CUB: {}", text.to_string_lossy()).into())
    }
}

fn symbol<C: Case>(what: &str) -> String {
    format!("cub_{what}_{}", C::NAME.replace(' ', "_"))
}

fn address<T>(slice: &CudaSlice<T>, stream: &Arc<CudaStream>) -> *const c_void {
    slice.device_ptr(stream).0 as *const c_void
}

fn address_mut<T>(slice: &mut CudaSlice<T>, stream: &Arc<CudaStream>) -> *mut c_void {
    slice.device_ptr_mut(stream).0 as *mut c_void
}

/// The temporary memory of a call, kept from one call of a length to the next.
#[derive(Default)]
struct Workspace {
    memory: Option<CudaSlice<u8>>,
    /// What it is for: so many elements.
    len: Option<usize>,
    bytes: usize,
}

impl Workspace {
    fn run(
        &mut self,
        cub: &Cub,
        stream: &Arc<CudaStream>,
        len: usize,
        mut call: impl FnMut(*mut c_void, *mut usize, CUstream) -> c_int,
    ) -> Outcome {
        if self.len != Some(len) {
            self.bytes = 0;
            cub.check(call(ptr::null_mut(), &mut self.bytes, stream.cu_stream()))?;
            // A null pointer would be a question, not a call, so there is always a byte.
            if self.memory.as_ref().is_none_or(|memory| memory.len() < self.bytes) {
                // SAFETY: CUB writes what it reads of it.
                self.memory = Some(unsafe { stream.alloc(self.bytes.max(1)) }?);
            }
            self.len = Some(len);
        }
        let memory = self.memory.as_mut().ok_or("no temporary memory")?;
        cub.check(call(address_mut(memory, stream), &mut self.bytes, stream.cu_stream()))
    }
}
