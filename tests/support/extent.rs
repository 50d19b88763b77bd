//! How much a test run executes: the quick run what everyone waits for, the long run all.
//!
//! Both have every kind of test. A quick run leaves out programs of which it executes every line elsewhere: the lines of
//! kernels, numbers aside, that [the ladder](climb::in_turn) has, another program of the same test, or a test of the
//! suite that [every run](compiled_beyond) executes. Of planted faults it looks for one in so many.

use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    iter,
    sync::LazyLock,
};

use scan_codegen::KernelSource;
use scan_runtime::ScanOp;

use crate::{
    climb,
    emulated::{ColumnsProgram, Module, Program, ReductionProgram},
    reference::WAYS,
};

/// The variable of the environment that asks for a long run, by `long`.
pub const VARIABLE: &str = "SCAN_TESTS";

/// Whether this is a long run.
pub fn is_long() -> bool {
    static LONG: LazyLock<bool> = LazyLock::new(|| std::env::var_os(VARIABLE).is_some_and(|value| value == "long"));
    *LONG
}

/// The heading in generated texts at which kernels begin; what is before it is the operator's.
const KERNELS: &str = "// ---- The types";

/// The hashes of the lines of a source's kernels, without comments, numbers and the operator's name.
pub fn lines_of(source: &KernelSource) -> HashSet<u64> {
    lines(&source.text.replace(&source.kernel_name(""), "")).collect()
}

/// The hashes of a text's lines of kernels, without comments and numbers.
pub fn lines(text: &str) -> impl Iterator<Item = u64> {
    let kernels = text.find(KERNELS).map_or(text, |start| &text[start..]);
    let mut bytes = Vec::new();
    kernels.lines().filter_map(move |line| {
        let code = code_of(line).trim();
        bytes.clear();
        bytes.extend(code.bytes().filter(|byte| !byte.is_ascii_digit()));
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        (!code.is_empty()).then(|| hasher.finish())
    })
}

/// A line without its comment. A search for a text prepares itself for longer than a line takes.
pub fn code_of(line: &str) -> &str {
    let comment = line.as_bytes().windows(2).position(|two| matches!(two, [b'/', b'/']));
    comment.map_or(line, |comment| &line[..comment])
}

/// The places of texts that have, together, all lines that any has and that are not covered already: again and again the
/// text that adds the most.
pub fn cover(texts: &[HashSet<u64>], covered: &mut HashSet<u64>) -> BTreeSet<usize> {
    let mut chosen = BTreeSet::new();
    let mut gains: BinaryHeap<(usize, Reverse<usize>)> =
        texts.iter().enumerate().map(|(place, lines)| (lines.len(), Reverse(place))).collect();
    while let Some((bound, Reverse(place))) = gains.pop() {
        let gain = texts[place].difference(covered).count();
        if gain == bound && gain > 0 {
            covered.extend(&texts[place]);
            chosen.insert(place);
        } else if gain > 0 {
            gains.push((gain, Reverse(place)));
        }
    }
    chosen
}

thread_local! {
    /// The lines that this test, which is a thread of its own, has executed.
    static EXECUTED: RefCell<HashSet<u64>> = RefCell::default();
    /// How many times it has compiled programs.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// What every quick run executes: the strategies over intervals, in each way.
static LADDER: LazyLock<HashSet<u64>> = LazyLock::new(|| {
    let programs = (0..WAYS.len()).flat_map(climb::in_turn);
    programs.flat_map(|program| lines_of(&program.source)).collect()
});

/// A quick run executes so many programs of an operator at least.
const MIN: usize = 1;

/// Compiles programs, all together. A quick run drops those whose lines the ladder has, or others, or programs before in
/// this test.
///
/// # Panics
///
/// If one does not compile.
pub fn compiled<P: Generated>(programs: impl IntoIterator<Item = P>) -> Vec<P> {
    compiled_beyond(HashSet::new, programs)
}

/// As [`compiled`], of a suite that has another test that executes these lines in every run.
///
/// # Panics
///
/// If one does not compile.
pub fn compiled_beyond<P: Generated>(
    lines: impl FnOnce() -> HashSet<u64>,
    programs: impl IntoIterator<Item = P>,
) -> Vec<P> {
    EXECUTED.with_borrow_mut(|executed| {
        if executed.is_empty() && !is_long() {
            *executed = lines();
            executed.extend(&*LADDER);
        }
    });
    compiled_of_the_ladder(programs)
}

/// As [`compiled`], but what the ladder has counts as executed only where the test has executed it.
///
/// # Panics
///
/// If one does not compile.
pub fn compiled_of_the_ladder<P: Generated>(programs: impl IntoIterator<Item = P>) -> Vec<P> {
    let lines = |program: &P| program.sources().flat_map(lines_of).collect();
    let programs = covering(programs.into_iter().collect(), lines);
    let sources: Vec<_> = programs.iter().flat_map(P::sources).collect();
    Module::compile(&sources).unwrap_or_else(|error| panic!("{error}"));
    programs
}

/// Counts lines as executed by this test that another one executes in every run.
pub fn begin_with(lines: &HashSet<u64>) {
    EXECUTED.with_borrow_mut(|executed| executed.extend(lines));
}

/// Of sources that a test has compiled for GPUs, in a quick run those that have all lines of kernels that any has.
pub fn for_gpus<T>(sources: Vec<T>, source: impl Fn(&T) -> &KernelSource) -> Vec<T> {
    covering(sources, |item| lines_of(source(item)))
}

/// In a long run all. In a quick one as few as have, with those before in this test, every line that any has; one at
/// least.
fn covering<T>(mut items: Vec<T>, lines: impl Fn(&T) -> HashSet<u64>) -> Vec<T> {
    if !is_long() {
        let texts: Vec<HashSet<u64>> = items.iter().map(lines).collect();
        let mut chosen = EXECUTED.with_borrow_mut(|executed| cover(&texts, executed));
        // Of those that have no line of their own some, others for each operator.
        let turn = CALLS.replace(CALLS.get() + 1);
        chosen.extend((0..MIN.min(texts.len())).map(|index| (MIN * turn + index) % texts.len()));
        let mut place = 0;
        items.retain(|_| {
            place += 1;
            chosen.contains(&(place - 1))
        });
    }
    items
}

/// What has generated texts.
pub trait Generated {
    /// The texts.
    fn sources(&self) -> impl Iterator<Item = &KernelSource>;
}

impl<Op: ScanOp> Generated for Program<Op> {
    fn sources(&self) -> impl Iterator<Item = &KernelSource> {
        iter::once(&self.source)
    }
}

impl<Op: ScanOp> Generated for ReductionProgram<Op> {
    fn sources(&self) -> impl Iterator<Item = &KernelSource> {
        iter::once(&self.source)
    }
}

impl<Op: ScanOp> Generated for ColumnsProgram<Op> {
    fn sources(&self) -> impl Iterator<Item = &KernelSource> {
        ColumnsProgram::sources(self)
    }
}

/// A program, and what a test knows of it.
impl<T, P: Generated> Generated for (T, P) {
    fn sources(&self) -> impl Iterator<Item = &KernelSource> {
        self.1.sources()
    }
}

/// All of them in a long run; in a quick one the first of each `step`.
pub fn one_in<T>(step: usize, items: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    items.into_iter().step_by(if is_long() { 1 } else { step })
}
