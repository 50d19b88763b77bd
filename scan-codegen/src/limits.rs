//! The properties of a device that the planner needs.

use std::{fmt, str::FromStr};

use crate::{
    constants::{MAX_THREADS, WARP},
    error::PlanError,
};

/// The architecture that a kernel is compiled for: compute capability 9.0 is `sm_90`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Architecture {
    /// The major number of the compute capability.
    pub major: u32,
    /// The minor number of the compute capability.
    pub minor: u32,
}

impl Architecture {
    /// The oldest one that kernels are made for.
    pub const OLDEST: Architecture = Architecture { major: 7, minor: 5 };
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

/// The text does not name an architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an architecture: write compute capability 9.0 as `sm_90`")]
pub struct ArchitectureError {
    text: String,
}

impl FromStr for Architecture {
    type Err = ArchitectureError;

    /// Reads `sm_90`. The last digit is the minor number.
    fn from_str(text: &str) -> Result<Self, ArchitectureError> {
        let error = || ArchitectureError { text: text.to_owned() };
        let number = text.strip_prefix("sm_").filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
        let number: u32 = number.and_then(|digits| digits.parse().ok()).ok_or_else(error)?;
        if number < 10 { Err(error()) } else { Ok(Architecture { major: number / 10, minor: number % 10 }) }
    }
}

/// The properties of a device that the planner needs. Plans use at most 16,384 multiprocessors, 1,024 threads per
/// block, 1 MiB of shared memory per block and 2³¹ − 1 blocks per grid, even if a device has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DeviceLimits {
    /// The architecture that kernels are compiled for.
    pub architecture: Architecture,
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The maximum number of threads per block.
    pub threads_per_block: u32,
    /// The maximum shared memory per block that a kernel can declare, in bytes.
    pub shared_bytes_per_block: u32,
    /// The maximum shared memory per block that a launch can opt in to, in bytes.
    pub shared_bytes_per_block_optin: u32,
    /// The maximum number of blocks per grid.
    pub blocks_per_grid: u64,
}

/// In words: `sm_90, 132 multiprocessors, 227 KiB of shared memory for a block`.
impl fmt::Display for DeviceLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeviceLimits { architecture, multiprocessors, shared_bytes_per_block_optin, .. } = self;
        let shared = shared_bytes_per_block_optin / 1024;
        write!(f, "{architecture}, {multiprocessors} multiprocessors, {shared} KiB of shared memory for a block")
    }
}

impl DeviceLimits {
    /// The limits of an H200 (`sm_90`, 132 multiprocessors): the default of plans on a machine without a device.
    pub const H200: DeviceLimits = DeviceLimits::of(Architecture { major: 9, minor: 0 });

    /// The limits that every architecture from `sm_75` on supports, with the name `sm_90` and the multiprocessors of an
    /// H200. There is no such device: it is the base of [`new`](DeviceLimits::new).
    pub const BASELINE: DeviceLimits = DeviceLimits {
        architecture: Architecture { major: 9, minor: 0 },
        multiprocessors: 132,
        threads_per_block: 1024,
        shared_bytes_per_block: 48 * 1024,
        shared_bytes_per_block_optin: 48 * 1024,
        blocks_per_grid: (1 << 31) - 1,
    };

    /// The baseline with another architecture and another number of multiprocessors.
    pub const fn new(architecture: Architecture, multiprocessors: u32) -> Self {
        DeviceLimits { architecture, multiprocessors, ..DeviceLimits::BASELINE }
    }

    /// Whether kernels run on a device with these limits.
    ///
    /// # Errors
    ///
    /// [`PlanError::Architecture`] and [`PlanError::Limits`].
    pub fn check(&self) -> Result<(), PlanError> {
        self.usable().map(drop)
    }

    /// The limits, bounded by what plans use.
    pub(crate) fn usable(&self) -> Result<DeviceLimits, PlanError> {
        if self.architecture < Architecture::OLDEST {
            return Err(PlanError::Architecture { architecture: self.architecture });
        }
        let min = [
            ("multiprocessors", u64::from(self.multiprocessors), 1),
            ("threads_per_block", self.threads_per_block.into(), WARP.into()),
            ("blocks_per_grid", self.blocks_per_grid, 1),
        ];
        for (limit, value, min) in min {
            if value < min {
                return Err(PlanError::Limits { limit, value, min });
            }
        }
        // More bytes of a tile than this no barrier can be told to expect.
        const MAX_SHARED: u32 = 1 << 20;
        Ok(DeviceLimits {
            architecture: self.architecture,
            multiprocessors: self.multiprocessors.min(1 << 14),
            threads_per_block: self.threads_per_block.min(MAX_THREADS),
            shared_bytes_per_block: self.shared_bytes_per_block.min(MAX_SHARED),
            shared_bytes_per_block_optin: self.shared_bytes_per_block_optin.min(MAX_SHARED),
            blocks_per_grid: self.blocks_per_grid.min((1 << 31) - 1),
        })
    }

    /// The limits of the largest device of an architecture, for plans on machines without that device. For an
    /// architecture that this crate does not know, the [baseline](DeviceLimits::BASELINE).
    pub const fn of(architecture: Architecture) -> Self {
        // From the CUDA programming guide's table of compute capabilities, and the devices' data sheets.
        let (multiprocessors, shared_kibibytes) = match (architecture.major, architecture.minor) {
            (7, 5) => (72, 64),
            (8, 0) => (108, 163),
            (8, 6) => (84, 99),
            (8, 7) => (16, 163),
            (8, 9) => (142, 99),
            (9, 0) => (132, 227),
            (10, 0) => (148, 227),
            (10, 3) => (160, 227),
            (11, 0) => (20, 227),
            (12, 0) => (188, 99),
            (12, 1) => (48, 99),
            _ => (132, 48),
        };
        DeviceLimits {
            shared_bytes_per_block_optin: shared_kibibytes * 1024,
            ..DeviceLimits::new(architecture, multiprocessors)
        }
    }

    /// A lower bound for the number of resident blocks of a grid: a multiprocessor has room for at least one.
    pub(crate) fn blocks_at_once(&self) -> u64 {
        u64::from(self.multiprocessors).min(self.blocks_per_grid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_architectures_have_no_kernels() {
        for name in ["sm_60", "sm_70", "sm_72"] {
            let error = DeviceLimits::of(name.parse().unwrap()).check().unwrap_err();
            let expected =
                format!("kernels need compute capability 7.5 or later, and the device is {name}: use the CPU");
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(DeviceLimits::of(Architecture::OLDEST).check(), Ok(()));
    }

    #[test]
    fn architectures_are_read_as_they_are_written() {
        for (major, minor) in [(7, 5), (9, 0), (10, 3), (12, 1)] {
            let architecture = Architecture { major, minor };
            assert_eq!(architecture.to_string().parse(), Ok(architecture));
        }
        for text in ["", "sm_", "sm_9", "sm_90a", "sm_+90", "compute_90", "90", "sm_99999999999"] {
            let error = text.parse::<Architecture>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("`{text}` is not an architecture: write compute capability 9.0 as `sm_90`")
            );
        }
    }
}
