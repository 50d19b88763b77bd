//! How processes that a launcher has started get the id of their world: from rank 0, over TCP.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{TcpListener, TcpStream, ToSocketAddrs},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{Launch, WorldError, nccl::Id};

/// What a rank sends: this, a hash of the token, its rank and the size.
const GREETING: &[u8; 8] = b"scan/1\0\0";
const REQUEST: usize = GREETING.len() + 32 + 4 + 4;

/// What rank 0 answers before the id.
const WELCOME: u8 = 0;
const OTHER_JOB: u8 = 1;
const OTHER_SIZE: u8 = 2;
const TAKEN: u8 = 3;

/// How long a connection may take that says nothing.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// Gives all ranks the id that rank 0 makes. Each rank waits until the deadline.
pub(super) fn meet(
    launch: &Launch,
    deadline: Duration,
    make: impl FnOnce() -> Result<Id, WorldError>,
) -> Result<Id, WorldError> {
    let until = Instant::now() + deadline;
    match (launch.rank, launch.size) {
        (_, 1) => make(),
        (0, _) => {
            let id = make()?;
            launch.give(&id, deadline, until)?;
            Ok(id)
        }
        _ => launch.ask(deadline, until),
    }
}

impl Launch {
    fn failed(&self, problem: impl Into<String>, source: Option<io::Error>) -> WorldError {
        let address = format!("{}:{}", self.address.0, self.address.1);
        WorldError::Meeting { rank: self.rank, address, problem: problem.into(), source: source.map(Arc::new) }
    }

    fn request(&self) -> [u8; REQUEST] {
        let mut request = [0; REQUEST];
        let (greeting, rest) = request.split_at_mut(GREETING.len());
        let (token, numbers) = rest.split_at_mut(32);
        greeting.copy_from_slice(GREETING);
        token.copy_from_slice(blake3::hash(self.token.as_bytes()).as_bytes());
        let (rank, size) = numbers.split_at_mut(4);
        rank.copy_from_slice(&(self.rank as u32).to_le_bytes());
        size.copy_from_slice(&(self.size as u32).to_le_bytes());
        request
    }

    /// Rank 0: gives the id to every other rank, once.
    fn give(&self, id: &Id, deadline: Duration, until: Instant) -> Result<(), WorldError> {
        let failed = |problem: &'static str| move |error| self.failed(problem, Some(error));
        let (host, port) = &self.address;
        let listener = TcpListener::bind((&**host, *port)).map_err(failed("it cannot listen there"))?;
        listener.set_nonblocking(true).map_err(failed("it cannot listen there"))?;
        let mut has_come = vec![false; self.size];
        has_come[0] = true;
        while has_come.contains(&false) {
            if Instant::now() > until {
                let missing = has_come.iter().enumerate().filter(|(_, has_come)| !**has_come);
                let missing: Vec<_> = missing.map(|(rank, _)| rank).collect();
                let (missing, what) = (format!("ranks {missing:?}"), "giving them the id of the world");
                return Err(WorldError::TimedOut { rank: 0, missing, what, waited: deadline });
            }
            match listener.accept() {
                // Whoever sends nothing of use is no rank of ours.
                Ok((stream, _)) => _ = self.answer(stream, id, &mut has_come),
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PAUSE),
                Err(error) => return Err(failed("it cannot listen there")(error)),
            }
        }
        Ok(())
    }

    fn answer(&self, mut stream: TcpStream, id: &Id, has_come: &mut [bool]) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut request = [0; REQUEST];
        stream.read_exact(&mut request)?;
        let mine = self.request();
        let numbers = REQUEST - 8;
        let rank =
            u32::from_le_bytes([request[numbers], request[numbers + 1], request[numbers + 2], request[numbers + 3]]);
        let place = has_come.get_mut(rank as usize);
        let (status, place) = match place {
            _ if request[..numbers] != mine[..numbers] => (OTHER_JOB, None),
            _ if request[numbers + 4..] != mine[numbers + 4..] => (OTHER_SIZE, None),
            Some(place) if !*place => (WELCOME, Some(place)),
            _ => (TAKEN, None),
        };
        stream.write_all(&[status])?;
        let Some(place) = place else { return Ok(()) };
        stream.write_all(id.as_bytes())?;
        stream.flush()?;
        *place = true;
        Ok(())
    }

    /// Another rank: gets the id from rank 0, which may not be there yet.
    fn ask(&self, deadline: Duration, until: Instant) -> Result<Id, WorldError> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let error = match self.ask_once(left.max(PAUSE)) {
                Ok((WELCOME, id)) => return Ok(Id::from_bytes(id)),
                Ok((OTHER_JOB, _)) => {
                    return Err(self.failed("another job listens there: its token is another one", None));
                }
                Ok((OTHER_SIZE, _)) => {
                    return Err(self.failed(format!("rank 0 has another number of ranks than {}", self.size), None));
                }
                Ok((TAKEN, _)) => return Err(self.failed("this rank has come already", None)),
                Ok((answer, _)) => return Err(self.failed(format!("what listens there answers {answer}"), None)),
                Err(error) => error,
            };
            if left.is_zero() {
                let problem = format!("rank 0 did not answer within {} s", deadline.as_secs_f32());
                return Err(self.failed(problem, Some(error)));
            }
            thread::sleep(PAUSE.min(left));
        }
    }

    fn ask_once(&self, left: Duration) -> io::Result<(u8, [u8; Id::BYTES])> {
        let (host, port) = &self.address;
        let address = (&**host, *port).to_socket_addrs()?.next().ok_or(ErrorKind::NotFound)?;
        let mut stream = TcpStream::connect_timeout(&address, left)?;
        stream.set_read_timeout(Some(left))?;
        stream.write_all(&self.request())?;
        let (mut status, mut id) = ([0], [0; Id::BYTES]);
        stream.read_exact(&mut status)?;
        if status[0] == WELCOME {
            stream.read_exact(&mut id)?;
        }
        Ok((status[0], id))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::*;

    /// A launch at a port that was free a moment ago.
    fn launch(size: usize) -> Launch {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        Launch { rank: 0, size, local_rank: 0, address: ("127.0.0.1".to_owned(), port), token: "job".to_owned() }
    }

    fn meet(launch: &Launch, milliseconds: u64) -> Result<Id, String> {
        let make = || Ok(Id::from_bytes([7; Id::BYTES]));
        super::meet(launch, Duration::from_millis(milliseconds), make).map_err(|error| error.to_string())
    }

    #[test]
    fn all_ranks_get_the_id_of_rank_0_whoever_comes_first() {
        let first = launch(5);
        thread::scope(|scope| {
            let ranks = [4, 2, 0, 1, 3].map(|rank| {
                let launch = Launch { rank, ..first.clone() };
                thread::sleep(Duration::from_millis(5));
                scope.spawn(move || meet(&launch, 20_000))
            });
            for rank in ranks {
                assert_eq!(rank.join().unwrap(), Ok(Id::from_bytes([7; Id::BYTES])));
            }
        });
    }

    #[test]
    fn others_are_turned_away_and_the_ranks_still_meet() {
        let first = launch(2);
        thread::scope(|scope| {
            let rank_0 = scope.spawn(|| meet(&first, 20_000));
            let with = |rank, size, token: &str| {
                let launch = Launch { rank, size, token: token.to_owned(), ..first.clone() };
                meet(&launch, 20_000).unwrap_err()
            };
            assert!(with(1, 2, "other").ends_with("another job listens there: its token is another one"));
            assert!(with(1, 3, "job").ends_with("rank 0 has another number of ranks than 3"));
            assert!(with(7, 2, "job").ends_with("this rank has come already"));
            // Somebody who says nothing.
            let (host, port) = &first.address;
            drop(TcpStream::connect((&**host, *port)).unwrap());
            assert!(meet(&Launch { rank: 1, ..first.clone() }, 20_000).is_ok());
            assert!(rank_0.join().unwrap().is_ok());
        });
    }

    #[test]
    fn who_does_not_come_is_named() {
        let first = launch(3);
        assert!(meet(&first, 50).unwrap_err().contains("ranks [1, 2]"));
        let late = meet(&Launch { rank: 1, ..first }, 50).unwrap_err();
        assert!(late.starts_with("rank 1 cannot meet the others at 127.0.0.1:"), "{late}");
        assert!(late.ends_with("rank 0 did not answer within 0.05 s"), "{late}");
    }

    #[test]
    fn one_rank_meets_nobody() {
        assert!(meet(&launch(1), 0).is_ok());
    }
}
