//! The figures of a cost.

use std::{fmt, ops::Add};

/// What a scan takes, launch by launch. A figure that outgrows 64 bits is the largest there is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// The launches, in their order.
    pub launches: Vec<LaunchCost>,
}

/// What one launch takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchCost {
    /// Which kernel: the role that stands in its name after the operator's.
    pub kernel: &'static str,
    /// Applications of the operator, over all threads.
    pub applications: Count,
    /// Steps: for every stretch between two barriers the applications of the thread that has the most of them there,
    /// added up; the most of any block. In the networks of the texts no thread has more than one in a stretch, so that
    /// this counts the rows of their pictures.
    pub steps: Count,
    /// Barriers that each thread waits at; the most of any block.
    pub barriers: u64,
    /// Bytes that threads read from global memory. What every thread of a block reads counts once for each. Where
    /// blocks wait for each other, these are the bytes if none has to: a block that waits polls the status again.
    pub global_read: u64,
    /// Bytes that threads write to global memory.
    pub global_written: u64,
}

/// How often something happens. The two ends differ where it depends on which blocks are ahead of which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// At the least.
    pub least: u64,
    /// At the most.
    pub most: u64,
}

impl Count {
    /// Whether it can be that often.
    pub fn contains(self, count: u64) -> bool {
        (self.least..=self.most).contains(&count)
    }

    pub(super) fn of_greater(self, other: Count) -> Count {
        Count { least: self.least.max(other.least), most: self.most.max(other.most) }
    }
}

impl From<u64> for Count {
    fn from(count: u64) -> Self {
        Count { least: count, most: count }
    }
}

impl Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count { least: self.least.saturating_add(other.least), most: self.most.saturating_add(other.most) }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most {
            f.pad(&self.least.to_string())
        } else {
            f.pad(&format!("{} to {}", self.least, self.most))
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

/// What a block takes to scan values in shared memory.
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

/// A figure of any size, as far as 64 bits go.
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
    /// So many of it, one after the other.
    pub(super) fn times(self, count: u64) -> BlockCost {
        let BlockCost { applications, steps, barriers } = self;
        BlockCost {
            applications: count.saturating_mul(applications),
            steps: count.saturating_mul(steps),
            barriers: count.saturating_mul(barriers),
        }
    }
}
