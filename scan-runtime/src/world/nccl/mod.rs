//! NCCL, NVIDIA's library for communication between GPUs: finding it.
//!
//! To load it, to ask for its version and to make an [`Id`] needs neither a GPU nor a driver.

mod communicator;
mod library;
mod tag;
mod watch;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

pub(super) use communicator::{Communicator, Joining, TAG_BYTES};
use library::Nccl;
pub use library::NcclError;

use super::WorldError;
use crate::search::Search;

/// The environment variable that names the NCCL library, or the folder it is in. If it is `off`, NCCL is not searched
/// for.
pub const LIBRARY_VARIABLE: &str = "SCAN_NCCL";

/// The command that installs NCCL through Python.
pub const INSTALL_COMMAND: &str = "python3 -m pip install nvidia-nccl-cu13";

const SEARCH: Search = Search { variable: LIBRARY_VARIABLE, names: &["libnccl.so.2"], packages: &["nvidia/nccl/lib"] };

/// Finds NCCL without loading it; `None` where only the system's loader may find it.
///
/// # Errors
///
/// [`WorldError::NoNccl`] if the search is turned off.
pub fn locate() -> Result<Option<PathBuf>, WorldError> {
    if SEARCH.is_turned_off() {
        return Err(WorldError::NoNccl { searched: Vec::new() });
    }
    Ok(SEARCH.folders().find_map(|folder| SEARCH.library_in(&folder)))
}

/// The version of the NCCL that is found, as (major, minor, patch).
///
/// # Errors
///
/// [`WorldError::NoNccl`], [`WorldError::NcclUnusable`] and [`WorldError::Nccl`].
pub fn version() -> Result<(u32, u32, u32), WorldError> {
    load()?.version()
}

fn load() -> Result<&'static Nccl, WorldError> {
    static LOADED: Mutex<Option<&'static Nccl>> = Mutex::new(None);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(nccl) = *loaded {
        return Ok(nccl);
    }
    let nccl = match locate()? {
        Some(path) => Nccl::load(&path)?,
        None => Nccl::load(Path::new(SEARCH.names[0]))
            .map_err(|_| WorldError::NoNccl { searched: SEARCH.folders().collect() })?,
    };
    Ok(*loaded.insert(Box::leak(Box::new(nccl))))
}

/// What the ranks of one world share: one rank makes it, and gives it to the others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Id([u8; Id::BYTES]);

impl Id {
    /// How many bytes it has.
    pub const BYTES: usize = 128;

    /// A new one.
    ///
    /// ```no_run
    /// use scan_runtime::world::nccl::Id;
    ///
    /// let id = Id::new()?;
    /// assert!(id == Id::from_bytes(*id.as_bytes()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`version`].
    pub fn new() -> Result<Self, WorldError> {
        load()?.id().map(Id)
    }

    /// The bytes, to be sent to the other ranks.
    pub fn as_bytes(&self) -> &[u8; Id::BYTES] {
        &self.0
    }

    /// The one of these bytes.
    pub fn from_bytes(bytes: [u8; Id::BYTES]) -> Self {
        Id(bytes)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Id(…)")
    }
}
