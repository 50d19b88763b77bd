//! The figures of a cost.

use std::{fmt, ops::Add};

use crate::kernel_role::KernelRole;

/// The cost of a scan, launch by launch. A figure that exceeds 64 bits is `u64::MAX`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// The launches, in order.
    pub launches: Vec<LaunchCost>,
}

/// The cost of one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchCost {
    /// The role of the kernel.
    pub kernel: KernelRole,
    /// Applications of the operator, over all threads.
    pub applications: Count,
    /// Steps: for each interval between two barriers, the applications of the thread that has the most of them, added
    /// up over the intervals; the maximum over blocks. In the textbooks' networks no thread has more than one per
    /// interval, so this is the number of rows in their diagrams.
    pub steps: Count,
    /// Barriers that each thread waits at; the maximum over blocks.
    pub barriers: u64,
    /// Bytes that threads read from global memory. A value that every thread of a block reads counts once per thread.
    /// If blocks wait for each other, this excludes repeated polls of a status.
    pub global_read: u64,
    /// Bytes that threads write to global memory.
    pub global_written: u64,
}

/// A range of counts. The bounds differ if the count depends on which blocks are ahead of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The minimum.
    pub min: u64,
    /// The maximum.
    pub max: u64,
}

impl Count {
    /// Whether the count is possible.
    pub fn contains(self, count: u64) -> bool {
        (self.min..=self.max).contains(&count)
    }

    pub(super) fn of_greater(self, other: Count) -> Count {
        Count { min: self.min.max(other.min), max: self.max.max(other.max) }
    }
}

impl From<u64> for Count {
    fn from(count: u64) -> Self {
        Count { min: count, max: count }
    }
}

impl Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max {
            f.pad(&self.min.to_string())
        } else {
            f.pad(&format!("{} to {}", self.min, self.max))
        }
    }
}

impl Cost {
    /// Applications of the operator in all launches.
    pub fn applications(&self) -> Count {
        self.launches.iter().fold(Count::default(), |sum, launch| sum + launch.applications)
    }

    /// Steps of all launches, one after the other.
    pub fn steps(&self) -> Count {
        self.launches.iter().fold(Count::default(), |sum, launch| sum + launch.steps)
    }

    /// Barriers of all launches, one after the other.
    pub fn barriers(&self) -> u64 {
        self.launches.iter().fold(0, |sum, launch| sum.saturating_add(launch.barriers))
    }

    /// Bytes read from and written to global memory in all launches.
    pub fn global_bytes(&self) -> u64 {
        let bytes = self.launches.iter().flat_map(|launch| [launch.global_read, launch.global_written]);
        bytes.fold(0, u64::saturating_add)
    }
}

/// The cost for a block to scan values in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockCost {
    /// Applications of the operator.
    pub applications: u64,
    /// Steps, as in [`LaunchCost::steps`].
    pub steps: u64,
    /// Barriers.
    pub barriers: u64,
}

/// A figure, saturated to 64 bits.
pub(super) fn saturated(figure: u128) -> u64 {
    u64::try_from(figure).unwrap_or(u64::MAX)
}

impl Add for BlockCost {
    type Output = BlockCost;
    fn add(self, other: BlockCost) -> BlockCost {
        BlockCost {
            applications: self.applications.saturating_add(other.applications),
            steps: self.steps.saturating_add(other.steps),
            barriers: self.barriers.saturating_add(other.barriers),
        }
    }
}

impl BlockCost {
    /// The cost of `count` of them, one after the other.
    pub(super) fn times(self, count: u64) -> BlockCost {
        let BlockCost { applications, steps, barriers } = self;
        BlockCost {
            applications: count.saturating_mul(applications),
            steps: count.saturating_mul(steps),
            barriers: count.saturating_mul(barriers),
        }
    }
}
