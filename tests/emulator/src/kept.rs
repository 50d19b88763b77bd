//! The memory that kernels keep from run to run.

use scan_codegen::Workspace;

/// Bytes of the turns, which are all that is before the statuses.
pub(super) const TURNS_BYTES: u64 = 8;

/// Memory that belongs to the kernels of one plan from run to run, as [`Workspace::Kept`] tells. At first there is none; it comes
/// as zeros, in the length that is asked for, when a run needs it or needs more than there is.
#[derive(Debug, Default)]
pub struct KeptMemory {
    /// What the kernels have left there. Change it to see what they make of it.
    pub bytes: Vec<u8>,
}

impl KeptMemory {
    /// What a run finds, nothing of which stays here.
    pub(super) fn take(&mut self, workspace: &Workspace) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.bytes);
        match workspace {
            Workspace::Scratch { .. } => {
                self.bytes = bytes;
                Vec::new()
            }
            Workspace::Kept { .. } if bytes.len() as u64 >= workspace.bytes() => bytes,
            Workspace::Kept { .. } => vec![0; workspace.bytes() as usize],
        }
    }

    /// Takes over what the kernels have left in the parts of the memory that they know, which begin at these offsets.
    pub(super) fn give_back<'a>(&mut self, mut bytes: Vec<u8>, parts: impl Iterator<Item = (u64, &'a [u8])>) {
        for (offset, part) in parts {
            bytes[offset as usize..][..part.len()].copy_from_slice(part);
        }
        self.bytes = bytes;
    }
}
