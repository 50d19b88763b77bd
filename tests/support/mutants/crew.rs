//! Processes that examine mutants. What a mutant does to a process, an endless loop or a wild write, it does to one of these.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    slice,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use super::{
    Mutant,
    probes::{GROUPS, Probe},
};
use crate::emulated::{EmulatorError, Module};

/// What has become of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This has shown it.
    Found(String),
    /// The compiler refuses it.
    NotCompiled(String),
    /// So many probes have another text with it, and none goes wrong. Where it is none, nothing has been tried.
    Survived(usize),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Found(how) => write!(f, "found\t{how}"),
            Outcome::NotCompiled(message) => write!(f, "not compiled\t{message}"),
            Outcome::Survived(probes) => write!(f, "survived\t{probes}"),
        }
    }
}

impl Outcome {
    fn read(line: &str) -> Result<Self, String> {
        let unknown = || format!("a process that examines mutants answers `{line}`");
        let (word, rest) = line.split_once('\t').ok_or_else(unknown)?;
        match word {
            "found" => Ok(Outcome::Found(rest.to_owned())),
            "not compiled" => Ok(Outcome::NotCompiled(rest.to_owned())),
            "survived" => rest.parse().map(Outcome::Survived).map_err(|_| unknown()),
            _ => Err(unknown()),
        }
    }
}

/// What a process says after each probe that has found nothing.
const AT_WORK: &str = "at work";

/// Examines the mutants whose names come in, a line each, and answers with what has become of them, a line each, after one for each
/// probe that has found nothing. Modules are kept in `folder` for as long as a mutant takes.
///
/// # Errors
///
/// If the answers cannot be written, or a probe goes wrong without any mutant.
pub fn serve(folder: &Path, names: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    Module::keep_in(folder.to_owned());
    let mut examiner = Examiner::new();
    for name in names.lines() {
        let mutant = Mutant::named(&name?).map_err(io::Error::other)?;
        let outcome = examiner.examine(&mutant, || {
            writeln!(answers, "{AT_WORK}")?;
            answers.flush()
        });
        let outcome = outcome.map_err(io::Error::other)?;
        writeln!(answers, "{}", outcome.to_string().replace('\n', " "))?;
        answers.flush()?;
        // What is loaded stays so without its file.
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

struct Examiner {
    probes: Vec<Probe>,
    /// The groups of probes that no mutant has needed yet.
    groups: slice::Iter<'static, fn(&mut Vec<Probe>)>,
    /// By template, the probes that it is part of: what has found the most comes first.
    order: BTreeMap<&'static str, Vec<usize>>,
    /// Those that are known to find nothing where there is nothing to be found.
    silent: BTreeSet<usize>,
}

impl Examiner {
    fn new() -> Self {
        Examiner { probes: Vec::new(), groups: GROUPS.iter(), order: BTreeMap::new(), silent: BTreeSet::new() }
    }

    /// Renders one more group of probes. Returns whether there was one.
    fn extend(&mut self) -> bool {
        let Some(group) = self.groups.next() else { return false };
        let first = self.probes.len();
        group(&mut self.probes);
        for (index, probe) in self.probes.iter().enumerate().skip(first) {
            for template in &probe.templates {
                self.order.entry(template).or_default().push(index);
            }
        }
        true
    }

    /// The probe at this place in the order of a template.
    fn probe_at(&mut self, template: &'static str, place: usize) -> Option<usize> {
        loop {
            let found = self.order.get(template).and_then(|order| order.get(place)).copied();
            if found.is_some() || !self.extend() {
                return found;
            }
        }
    }

    /// `tell` hears of each probe that finds nothing.
    fn examine(&mut self, mutant: &Mutant, mut tell: impl FnMut() -> io::Result<()>) -> Result<Outcome, String> {
        let templates = mutant.templates();
        let mut tried = 0;
        let mut place = 0;
        while let Some(index) = self.probe_at(mutant.template, place) {
            let probe = &self.probes[index];
            place += 1;
            let source = match probe.render(&templates) {
                Ok(source) if source.text == probe.source.text => continue,
                Ok(source) => source,
                Err(error) => return Ok(Outcome::NotCompiled(error.to_string())),
            };
            tried += 1;
            let fault = match probe.run(&source) {
                Ok(()) => {
                    tell().map_err(|error| error.to_string())?;
                    continue;
                }
                Err(EmulatorError::Compiler { message }) => {
                    let message = message.lines().find(|line| line.contains("error")).unwrap_or(&message);
                    return Ok(Outcome::NotCompiled(message.to_owned()));
                }
                Err(error @ EmulatorError::Unsupported { .. }) => return Ok(Outcome::NotCompiled(error.to_string())),
                Err(fault) => fault,
            };
            let name = probe.name.clone();
            if self.silent.insert(index) {
                tell().map_err(|error| error.to_string())?;
                probe.run(&probe.source).map_err(|error| format!("without a mutant, {name}: {error}"))?;
            }
            if let Some(order) = self.order.get_mut(mutant.template) {
                order[..place].rotate_right(1);
            }
            return Ok(Outcome::Found(format!("{name}: {fault}")));
        }
        Ok(Outcome::Survived(tried))
    }
}

/// Processes at work.
#[derive(Clone, Debug)]
pub struct Crew {
    /// The command that [serves](serve) when it is called with `--serve FOLDER`.
    pub program: PathBuf,
    /// A folder for what the processes compile. It is removed at the end.
    pub folder: PathBuf,
    /// How many processes.
    pub size: usize,
    /// A mutant with which a probe takes longer is taken never to end.
    pub patience: Duration,
}

/// A process examines no more than so many mutants: what it has loaded stays in memory.
const SHIFT: usize = 60;

impl Crew {
    /// Examines mutants, and tells of each when it is through.
    ///
    /// # Errors
    ///
    /// If a process cannot be started, or a probe goes wrong without any mutant.
    pub fn examine(&self, mutants: &[Mutant], tell: impl Fn(&Mutant, &Outcome) + Sync) -> Result<Vec<Outcome>, String> {
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(vec![None; mutants.len()]);
        let work = |number: usize| -> Result<(), String> {
            let mut worker: Option<Worker> = None;
            while let Some((index, mutant)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, mutants.get(i)?)))
            {
                let at_work = match worker.take().filter(|worker| worker.examined < SHIFT) {
                    Some(worker) => worker,
                    None => Worker::start(&self.program, &self.folder.join(number.to_string()))?,
                };
                let (outcome, left) = at_work.examine(mutant, self.patience)?;
                worker = left;
                tell(mutant, &outcome);
                outcomes.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(outcome);
            }
            Ok(())
        };
        let work = |number: usize| {
            let result = work(number);
            // The others need not go on.
            if result.is_err() {
                next.store(mutants.len(), Ordering::Relaxed);
            }
            result
        };
        let size = self.size.clamp(1, mutants.len().max(1));
        let results: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..size)
                .map(|number| {
                    scope.spawn({
                        let work = &work;
                        move || work(number)
                    })
                })
                .collect();
            let died = |_| Err("a thread died".to_owned());
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(died)).collect()
        });
        let _ = fs::remove_dir_all(&self.folder); // nothing may have been compiled
        results.into_iter().collect::<Result<(), _>>()?;
        let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(outcomes.into_iter().flatten().collect())
    }
}

/// A process that serves.
struct Worker {
    process: Child,
    names: ChildStdin,
    answers: Receiver<String>,
    errors: Receiver<String>,
    examined: usize,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended
        let _ = self.process.wait();
    }
}

impl Worker {
    fn start(program: &Path, folder: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{}: {error}", program.display());
        let mut command = Command::new(program);
        command.arg("--serve").arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(failed)?;
        let (Some(names), Some(answers), Some(errors)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(format!("{}: it cannot be talked to", program.display()));
        };
        Ok(Worker { process, names, answers: lines(answers), errors: lines(errors), examined: 0 })
    }

    /// What becomes of a mutant, and the process, unless the mutant has ended it.
    fn examine(mut self, mutant: &Mutant, patience: Duration) -> Result<(Outcome, Option<Self>), String> {
        let sent = writeln!(self.names, "{mutant}").and_then(|()| self.names.flush());
        let answer = match sent {
            Ok(()) => loop {
                match self.answers.recv_timeout(patience) {
                    Ok(line) if line == AT_WORK => {}
                    answer => break answer,
                }
            },
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        match answer {
            Ok(line) => {
                self.examined += 1;
                Ok((Outcome::read(&line)?, Some(self)))
            }
            Err(RecvTimeoutError::Timeout) => Ok((Outcome::Found(format!("no end after {patience:?}")), None)),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.process.wait().map_err(|error| error.to_string())?;
                let errors: Vec<String> = self.errors.iter().collect();
                // A process that gives up says why; one that a mutant ends was killed by a signal.
                match status.code() {
                    Some(code) => Err(format!("at {mutant} the process ended with {code}: {}", errors.join("\n"))),
                    None => Ok((Outcome::Found(format!("the process died: {status}")), None)),
                }
            }
        }
    }
}

/// The lines of a pipe, read by a thread of their own.
fn lines(pipe: impl io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    receiver
}
