//! What launchers say of a process: its rank, how many there are, and where they meet.

use std::env;

use super::WorldError;

/// A process's place among those that a launcher has started, as the variables of the launcher say. They are looked for
/// in this order:
///
/// | launcher | rank | size | rank on this machine |
/// |---|---|---|---|
/// | `torchrun` | `RANK` | `WORLD_SIZE` | `LOCAL_RANK` |
/// | Open MPI | `OMPI_COMM_WORLD_RANK` | `OMPI_COMM_WORLD_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK` |
/// | MPICH, Intel MPI | `PMI_RANK` | `PMI_SIZE` | `MPI_LOCALRANKID` |
/// | Slurm | `SLURM_PROCID` | `SLURM_NTASKS` | `SLURM_LOCALID` |
///
/// Rank 0 listens at `MASTER_ADDR`, at the port after `MASTER_PORT`, at which `torchrun` itself listens, until all ranks
/// have come. `torchrun` sets both variables. Under Slurm they are optional: without them it is the first node of
/// `SLURM_NODELIST`, and a port that follows from `SLURM_JOB_ID`. Under the others set them, as by
/// `mpirun -x MASTER_ADDR=… -x MASTER_PORT=…`.
///
/// Ranks of other jobs are turned away by a token: `SCAN_WORLD_TOKEN`, or else the number of the job, as the launcher
/// says. A hash of it goes over the network in clear. As with NCCL itself, whoever can listen on the network can take
/// part: it must be one that the job trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// The rank.
    pub rank: usize,
    /// How many ranks there are.
    pub size: usize,
    /// The rank among the processes of this machine.
    pub local_rank: usize,
    /// The host at which rank 0 listens, and the port.
    pub address: (String, u16),
    pub(super) token: String,
}

/// A launcher: its name, and its variables for the rank, the size, the rank on this machine, and the job.
struct Launcher {
    rank: &'static str,
    size: &'static str,
    local_rank: &'static str,
    job: &'static str,
}

const LAUNCHERS: [Launcher; 4] = [
    Launcher { rank: "RANK", size: "WORLD_SIZE", local_rank: "LOCAL_RANK", job: "TORCHELASTIC_RUN_ID" },
    Launcher {
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        job: "OMPI_MCA_ess_base_jobid",
    },
    Launcher { rank: "PMI_RANK", size: "PMI_SIZE", local_rank: "MPI_LOCALRANKID", job: "PMI_JOBID" },
    Launcher { rank: "SLURM_PROCID", size: "SLURM_NTASKS", local_rank: "SLURM_LOCALID", job: "SLURM_JOB_ID" },
];

const ADDRESS: &str = "MASTER_ADDR";
const PORT: &str = "MASTER_PORT";
const TOKEN: &str = "SCAN_WORLD_TOKEN";
const NODES: &str = "SLURM_NODELIST";
const JOB: &str = "SLURM_JOB_ID";

fn wrong(variable: &str, problem: impl Into<String>) -> WorldError {
    WorldError::Variable { variable: variable.to_owned(), problem: problem.into() }
}

impl Launch {
    /// The place of this process.
    ///
    /// # Errors
    ///
    /// [`WorldError::Variable`] names the variable that is missing or does not parse, and [`WorldError::NoRank`] is of
    /// a rank that is not below the size.
    pub fn from_env() -> Result<Self, WorldError> {
        Launch::from(|name| env::var(name).ok())
    }

    fn from(variable: impl Fn(&str) -> Option<String>) -> Result<Self, WorldError> {
        let text = |name: &str| variable(name).ok_or_else(|| wrong(name, "is not set"));
        let number = |name: &str| {
            let text = text(name)?;
            text.trim().parse::<usize>().map_err(|_| wrong(name, format!("is `{text}`, not a number")))
        };
        let launcher = LAUNCHERS.iter().find(|launcher| variable(launcher.rank).is_some());
        let Launcher { rank, size, local_rank, job } = launcher.unwrap_or(&LAUNCHERS[0]);
        let (rank, size, local_rank) = (number(rank)?, number(size)?, number(local_rank)?);
        if rank >= size {
            return Err(WorldError::NoRank { rank, size });
        }
        let host = match (variable(ADDRESS), variable(NODES)) {
            (Some(host), _) => host,
            (None, Some(nodes)) => first_node(&nodes).ok_or_else(|| wrong(NODES, format!("is `{nodes}`, no list")))?,
            (None, None) => return Err(wrong(ADDRESS, "is not set")),
        };
        let port = match (variable(PORT), variable(JOB)) {
            (None, Some(_)) => 20_000 + (number(JOB)? % 20_000) as u16,
            _ => u16::try_from(number(PORT)?)
                .ok()
                .and_then(|port| port.checked_add(1))
                .ok_or_else(|| wrong(PORT, "is no port that has one after it"))?,
        };
        let token = variable(TOKEN).or_else(|| variable(job)).unwrap_or_default();
        Ok(Launch { rank, size, local_rank, address: (host, port), token })
    }

    /// The number of the device among the `count` ones that the process sees.
    pub(super) fn device(&self, count: usize) -> Result<usize, WorldError> {
        match (self.local_rank, count) {
            (_, 1) => Ok(0),
            (local_rank, count) if local_rank < count => Ok(local_rank),
            (local_rank, count) => Err(wrong(
                "CUDA_VISIBLE_DEVICES",
                format!("shows {count} devices to the process with rank {local_rank} on this machine: start fewer"),
            )),
        }
    }
}

/// The first host of a list such as `node[007-010,12],other3`.
fn first_node(nodes: &str) -> Option<String> {
    let end = nodes.find([',', '[']).unwrap_or(nodes.len());
    let (name, rest) = nodes.split_at(end);
    let number = rest.strip_prefix('[').map(|rest| rest.split([',', '-', ']']).next().unwrap_or_default());
    let suffix = match (number, rest.find(']')) {
        (Some(_), Some(close)) => rest[close + 1..].split(',').next().unwrap_or_default(),
        (Some(_), None) => return None,
        (None, _) => "",
    };
    let node = format!("{name}{}{suffix}", number.unwrap_or_default());
    (!node.is_empty()).then_some(node)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::*;

    fn launch(variables: &[(&str, &str)]) -> Result<Launch, String> {
        let find =
            |name: &str| variables.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned());
        Launch::from(find).map_err(|error| error.to_string())
    }

    #[test]
    fn each_launcher_is_read() {
        let torchrun = [
            ("RANK", "3"),
            ("WORLD_SIZE", "8"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "head"),
            ("MASTER_PORT", "29500"),
            ("TORCHELASTIC_RUN_ID", "job"),
            // Of the allocation in which torchrun runs.
            ("SLURM_PROCID", "0"),
            ("SLURM_JOB_ID", "5"),
        ];
        let expected =
            Launch { rank: 3, size: 8, local_rank: 1, address: ("head".to_owned(), 29501), token: "job".to_owned() };
        assert_eq!(launch(&torchrun).unwrap(), expected);
        let openmpi = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
            ("MASTER_ADDR", "127.0.0.1"),
            ("MASTER_PORT", "1000"),
            ("SCAN_WORLD_TOKEN", "secret"),
            ("OMPI_MCA_ess_base_jobid", "7"),
        ];
        let found = launch(&openmpi).unwrap();
        assert_eq!((found.rank, found.size, &*found.token), (1, 2, "secret"));
        let mpich = [("PMI_RANK", "0"), ("PMI_SIZE", "1"), ("MPI_LOCALRANKID", "0")];
        assert!(launch(&mpich).unwrap_err().starts_with("MASTER_ADDR is not set"));
        let slurm = [
            ("SLURM_PROCID", "9"),
            ("SLURM_NTASKS", "16"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_NODELIST", "gpu[007-010,12]"),
            ("SLURM_JOB_ID", "123456"),
        ];
        let found = launch(&slurm).unwrap();
        assert_eq!((found.rank, found.local_rank, found.address), (9, 1, ("gpu007".to_owned(), 23456)));
        assert_eq!(found.token, "123456");
    }

    #[test]
    fn what_is_missing_or_no_number_is_named() {
        assert!(launch(&[]).unwrap_err().starts_with("RANK is not set; start the program by `torchrun`"));
        let with = |name: &str, value: &str| {
            let all =
                [("RANK", "0"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "1")];
            launch(&all.map(|(other, kept)| (other, if other == name { value } else { kept }))).unwrap_err()
        };
        assert!(with("WORLD_SIZE", "two").starts_with("WORLD_SIZE is `two`, not a number"));
        assert!(with("MASTER_PORT", "65535").starts_with("MASTER_PORT is no port"));
        assert_eq!(with("RANK", "2"), "rank 2 of a world of 2: ranks are numbered from 0 and below the size");
    }

    #[test]
    fn first_nodes_of_lists() {
        let found = ["a", "a,b", "n[1-2]", "n[09,11]-x,m", "n[3", ""].map(first_node);
        let expected = [Some("a"), Some("a"), Some("n1"), Some("n09-x"), None, None];
        assert_eq!(found, expected.map(|node| node.map(str::to_owned)));
    }

    #[test]
    fn a_process_that_sees_one_device_takes_it() {
        let mut launch = launch(&[
            ("RANK", "5"),
            ("WORLD_SIZE", "8"),
            ("LOCAL_RANK", "5"),
            ("MASTER_ADDR", "a"),
            ("MASTER_PORT", "1"),
        ])
        .unwrap();
        assert_eq!((launch.device(1).unwrap(), launch.device(8).unwrap()), (0, 5));
        assert!(launch.device(4).unwrap_err().to_string().contains("shows 4 devices"));
        launch.local_rank = 0;
        assert_eq!(launch.device(4).unwrap(), 0);
    }
}
