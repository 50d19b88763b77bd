//! The ranks of one machine, started without a launcher.

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command},
    sync::Arc,
    thread,
    time::Duration,
};

use super::{Launch, WorldError};

const PAUSE: Duration = Duration::from_millis(20);

impl Launch {
    /// Starts so many processes on this machine, with the variables that [`World::from_env`](crate::World::from_env)
    /// reads there, and waits until all have ended well. If one fails, the others are stopped. It is what `torchrun
    /// --nproc-per-node` does, for machines without it.
    ///
    /// ```no_run
    /// use std::{env, process::Command};
    ///
    /// use scan_runtime::world::{Launch, World};
    ///
    /// if env::var_os("RANK").is_none() {
    ///     let program = env::current_exe()?;
    ///     return Ok(Launch::on_this_machine(2, || Command::new(&program))?);
    /// }
    /// let world: World = World::from_env()?;
    /// println!("rank {} of {}", world.rank(), world.size());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`WorldError::Process`] of the first rank that does not start or does not end well.
    pub fn on_this_machine(size: usize, command: impl Fn() -> Command) -> Result<(), WorldError> {
        let failed = |rank, problem: String, source: Option<io::Error>| WorldError::Process {
            rank,
            problem,
            source: source.map(Arc::new),
        };
        let port = free_port().map_err(|error| failed(0, "finds no free port".to_owned(), Some(error)))?;
        let mut ranks = Ranks(Vec::new());
        for rank in 0..size {
            let mut command = command();
            command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", (port - 1).to_string());
            command.env("WORLD_SIZE", size.to_string());
            command.envs(["RANK", "LOCAL_RANK"].map(|variable| (variable, rank.to_string())));
            let child = command.spawn().map_err(|error| failed(rank, "does not start".to_owned(), Some(error)))?;
            ranks.0.push((rank, child));
        }
        // Whoever still runs when one has failed is stopped where `ranks` is dropped.
        while !ranks.0.is_empty() {
            let mut ended = Vec::new();
            for (place, (rank, child)) in ranks.0.iter_mut().enumerate() {
                match child.try_wait() {
                    Ok(None) => {}
                    Ok(Some(status)) if status.success() => ended.push(place),
                    Ok(Some(status)) => return Err(failed(*rank, format!("ended: {status}"), None)),
                    Err(error) => return Err(failed(*rank, "cannot be waited for".to_owned(), Some(error))),
                }
            }
            ended.into_iter().rev().for_each(|place| drop(ranks.0.swap_remove(place)));
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// Processes that are stopped when this is dropped.
struct Ranks(Vec<(usize, Child)>);

impl Drop for Ranks {
    fn drop(&mut self) {
        for (_, child) in &mut self.0 {
            // One that has ended already is no error.
            _ = child.kill();
            _ = child.wait();
        }
    }
}

/// A port at which nothing listens at the moment.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
