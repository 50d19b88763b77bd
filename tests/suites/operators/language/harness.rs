//! Compiles the text of many operators into one library and runs it beside their Rust.

use rayon::prelude::*;
use scan_codegen::{
    DeviceLimits, ElementKind, ElementType, KernelSource, OpSource, Overrides, Primitive, ScanSpec, Target,
    operator_text, plan,
};
use scan_runtime::{Parameters, ScanElement, ScanOp, half};
use scan_tests::checked::render;
use std::cell::Cell;
use std::fmt::{Debug, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

/// Values to try: edges first, then random ones.
pub(crate) trait Sample: ScanElement {
    fn edges() -> Vec<Self>;
    fn random(random: &mut Random) -> Self;

    /// What functions of one value are tried on.
    fn singles() -> Vec<Self> {
        let mut random = Random(11);
        let mut values = Self::edges();
        values.extend((0..1000).map(|_| Self::random(&mut random)));
        values
    }
}

/// How far apart a float in Rust and in the text may be. Two NaNs are equal in any case.
#[derive(Clone, Copy)]
pub(crate) enum Tolerance {
    /// The same bits.
    Exact,
    /// The same bits, or one zero and the other.
    EitherZero,
    /// At most so many units in the last place.
    Ulps(u64),
    /// As many units in the last place as stand beside the field's name; none where it is not named.
    Fields(&'static [(&'static str, u64)]),
}

impl From<u64> for Tolerance {
    fn from(ulps: u64) -> Self {
        if ulps == 0 { Tolerance::Exact } else { Tolerance::Ulps(ulps) }
    }
}

impl Tolerance {
    fn of_field(self, name: &str) -> Self {
        match self {
            Tolerance::Fields(fields) => {
                fields.iter().find(|(field, _)| *field == name).map_or(Tolerance::Exact, |(_, ulps)| (*ulps).into())
            }
            whole => whole,
        }
    }
}

/// A small generator (SplitMix64), so that every run tries the same values.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// One operator, with the inputs it was run on and what Rust made of them.
struct Case {
    name: String,
    source: OpSource,
    body: String,
    /// The same for NVRTC.
    cuda: String,
    op: String,
    function: &'static str,
    /// The names of the types of its operands, and of its result.
    operands: Vec<String>,
    returns: String,
    result: ElementType,
    /// Keeps the tables to which their bytes point.
    parameters: Parameters,
    left: Vec<u8>,
    right: Vec<u8>,
    expected: Vec<Option<Vec<u8>>>,
    /// An input for a reader.
    shown: Shown,
    tolerance: Tolerance,
}

type Shown = Box<dyn Fn(usize) -> String + Send + Sync>;

#[derive(Default)]
pub(crate) struct Suite {
    cases: Vec<Case>,
}

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) compared: usize,
    pub(crate) wrong: usize,
    pub(crate) failures: String,
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What Rust makes of each input; a panic is a result like any other.
fn expected(count: usize, run: &mut dyn FnMut(usize) -> Vec<u8>) -> Vec<Option<Vec<u8>>> {
    QUIET.set(true);
    let all = (0..count).map(|i| catch_unwind(AssertUnwindSafe(|| run(i))).ok()).collect();
    QUIET.set(false);
    all
}

fn pairs<T: Sample>() -> (Vec<T>, Vec<T>) {
    let mut random = Random(7);
    let edges = T::edges();
    let mut pairs: Vec<(T, T)> = edges.iter().flat_map(|a| edges.iter().map(move |b| (*a, *b))).collect();
    pairs.extend((0..300).map(|_| (T::random(&mut random), T::random(&mut random))));
    pairs.into_iter().unzip()
}

/// All pairs of edges and some random pairs.
fn carries_and_inputs<C: Sample, I: Sample>() -> (Vec<C>, Vec<I>) {
    let mut random = Random(7);
    let (carries, inputs) = (C::singles(), I::singles());
    let edges = I::edges();
    let mut pairs: Vec<(C, I)> = C::edges().iter().flat_map(|c| edges.iter().map(move |x| (*c, *x))).collect();
    let mut any = |len: usize| random.next() as usize % len;
    pairs.extend((0..300).map(|_| (carries[any(carries.len())], inputs[any(inputs.len())])));
    pairs.into_iter().unzip()
}

fn bytes<T: ScanElement>(value: &T) -> Vec<u8> {
    scan_runtime::__private::bytes_of(value)
}

fn all_bytes<T: ScanElement>(values: &[T]) -> Vec<u8> {
    let mut all = Vec::new();
    values.iter().for_each(|value| all.extend_from_slice(&bytes(value)));
    all
}

/// Pairs for a reader, after these words.
fn shown<A: Sample + Debug, B: Sample + Debug>(words: &'static str, left: Vec<A>, right: Vec<B>) -> Shown {
    Box::new(move |i| format!("{words}{:?}, {:?}", left[i], right[i]))
}

impl Suite {
    /// `combine`, on all pairs of edges and some random pairs.
    pub(crate) fn combine<O: ScanOp>(&mut self, op: O, tolerance: impl Into<Tolerance>)
    where
        O::State: Sample + Debug,
    {
        let (left, right) = pairs::<O::State>();
        let expected = expected(left.len(), &mut |i| bytes(&op.combine(left[i], right[i])));
        let values = [all_bytes(&left), all_bytes(&right)];
        let shown = shown("", left, right);
        self.cases.push(Case::new(op.source(), op.parameters(), "combine", values, expected, shown, tolerance.into()));
    }

    /// `lift`, on all edges and some random values.
    pub(crate) fn lift<O: ScanOp>(&mut self, op: O, tolerance: impl Into<Tolerance>)
    where
        O::Input: Sample + Debug,
    {
        let values = O::Input::singles();
        let expected = expected(values.len(), &mut |i| bytes(&op.lift(values[i])));
        let left = all_bytes(&values);
        let shown: Shown = Box::new(move |i| format!("{:?}", values[i]));
        let values = [left, Vec::new()];
        self.cases.push(Case::new(op.source(), op.parameters(), "lift", values, expected, shown, tolerance.into()));
    }

    /// `step` and `emit` of a stepped operator, on all pairs of edges and some random pairs.
    pub(crate) fn stepped<O: ScanOp>(&mut self, op: O)
    where
        O::Input: Sample + Debug,
        O::Carry: Sample + Debug,
    {
        type Run<O> = fn(&O, <O as ScanOp>::Carry, <O as ScanOp>::Input) -> Vec<u8>;
        let functions: [(&str, &str, Run<O>); 2] = [
            ("step", "step, ", |op, c, x| bytes(&op.step(c, x))),
            ("emit", "emit, ", |op, c, x| bytes(&op.emit(c, x))),
        ];
        for (function, words, run) in functions {
            let (carries, inputs) = carries_and_inputs::<O::Carry, O::Input>();
            let expected = expected(carries.len(), &mut |i| run(&op, carries[i], inputs[i]));
            let values = [all_bytes(&carries), all_bytes(&inputs)];
            let shown = shown(words, carries, inputs);
            let tolerance = Tolerance::Exact;
            self.cases.push(Case::new(op.source(), op.parameters(), function, values, expected, shown, tolerance));
        }
    }

    /// Puts a mistake into the text of every operator that has these words.
    pub(crate) fn mutate(&mut self, words: &str, mistake: &str) {
        assert!(self.cases.iter().any(|case| case.body.contains(words)), "no text has `{words}`");
        self.cases.iter_mut().for_each(|case| case.body = case.body.replace(words, mistake));
    }

    /// Compiles all, in files of this name, as many at a time as there are cores, runs all, compares all.
    pub(crate) fn run(self, name: &str) -> Report {
        let sources = self.sources(2 * std::thread::available_parallelism().map_or(1, |cores| cores.get()));
        let compiled = |(part, source): (usize, &String)| compile(&format!("{name}_{part}"), source);
        let libraries: Vec<_> = sources.par_iter().enumerate().map(|(part, source)| compiled((part, source))).collect();
        let mut report = Report::default();
        for (index, case) in self.cases.iter().enumerate() {
            case.compare(&libraries[index % libraries.len()], index, &mut report);
        }
        report
    }

    /// Scans with the operators, for NVRTC.
    pub(crate) fn kernels(&self) -> Vec<KernelSource> {
        let kernels = |case: &Case| {
            let (spec, overrides) = (ScanSpec::inclusive(), Overrides::default());
            let plans = plan(&case.source, &spec, &DeviceLimits::BASELINE, &overrides).unwrap();
            render(&case.source, plans.longest(), plans.device()).unwrap()
        };
        self.cases.iter().map(kernels).collect()
    }

    /// The same operators as kernels for NVRTC, dealt out to so many sources.
    pub(crate) fn cuda_sources(&self, count: usize) -> Vec<CudaSource> {
        let mut sources: Vec<_> = (0..count).map(|_| CudaSource { text: String::new(), cases: Vec::new() }).collect();
        for (index, case) in self.cases.iter().enumerate() {
            let Case { name, cuda, op, function, operands, returns, .. } = case;
            let [left, right] = [&operands[0], operands.last().unwrap_or(returns)];
            let arguments = ["left[i]", "right[i]"][..operands.len()].join(", ");
            let source = &mut sources[index % count];
            source.cases.push(index);
            writeln!(
                source.text,
                "namespace case_{index} {{ // {name}\n{cuda}\n\
                 extern \"C\" __global__ void run_{index}({op} op, const {left} *left, const {right} *right, {returns} *out, unsigned char *done, unsigned n) {{\n\
                 const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n\
                 if (i >= n) return;\n\
                 out[i] = op.{function}({arguments});\n\
                 done[i] = 1;\n}}\n}}",
            )
            .unwrap();
        }
        sources
    }

    /// What the kernel of a case is given.
    pub(crate) fn case(&self, index: usize) -> Inputs<'_> {
        let Case { parameters, left, right, expected, result, .. } = &self.cases[index];
        Inputs {
            kernel: format!("run_{index}"),
            parameters: parameters.bytes(),
            left,
            right,
            count: expected.len(),
            result: result.size,
        }
    }

    /// Compares what the kernel of a case made of its inputs; where `done` is 0, it panicked.
    pub(crate) fn check(&self, index: usize, out: &[u8], done: &[u8], report: &mut Report) {
        self.cases[index].check(out, |i| done[i] == 0, report);
    }

    /// The texts for the host, dealt out to so many sources.
    fn sources(&self, count: usize) -> Vec<String> {
        let mut sources = vec![String::new(); count];
        for (index, case) in self.cases.iter().enumerate() {
            let source = &mut sources[index % count];
            let Case { body, op, function, operands, returns, .. } = case;
            let (mut pointers, mut copies) = (String::new(), String::new());
            let names = ["a", "b"];
            for ((name, ty), side) in names.iter().zip(operands).zip(["left", "right"]) {
                write!(pointers, "auto {side} = static_cast<const {ty} *>({side}_bytes); ").unwrap();
                write!(copies, "{ty} {name}; __builtin_memcpy(&{name}, {side} + i, sizeof({name})); ").unwrap();
            }
            let arguments = names[..operands.len()].join(", ");
            writeln!(
                source,
                "namespace case_{index} {{ // {name}\n{body}\n[[noreturn]] void panic() {{ throw 0; }}\n\
                 extern \"C\" void run_{index}(const char *parameters, const void *left_bytes, const void *right_bytes, {returns} *out, char *panicked, size_t n) {{\n\
                 {op} op; __builtin_memcpy(&op, parameters, {size});\n\
                 {pointers}\n\
                 for (size_t i = 0; i < n; ++i) {{\n\
                 {copies}\n\
                 try {{ {returns} result = op.{function}({arguments}); __builtin_memcpy(out + i, &result, sizeof(result)); }} catch (int) {{ panicked[i] = 1; }}\n\
                 }}\n}}\n}}",
                name = case.name,
                size = case.parameters.bytes().len(),
            )
            .unwrap();
        }
        sources
    }
}

/// Compiles a source with the host's compiler, in a file of this name.
fn compile(name: &str, source: &str) -> libloading::Library {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = directory.join(format!("{name}.cpp"));
    let library = directory.join(format!("{name}.so"));
    std::fs::write(&file, source).unwrap();
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let flags = ["-std=c++20", "-O0", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-pipe"];
    let output = Command::new(&compiler).args(flags).arg(&file).arg("-o").arg(&library).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs a C++20 compiler, `{compiler}`: {error}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    let shown: String = messages.lines().take(40).fold(String::new(), |shown, line| shown + line + "\n");
    assert!(output.status.success(), "the text does not compile:\n{shown}");
    // SAFETY: the library was made just now, and has no initialisers.
    unsafe { libloading::Library::new(&library) }.unwrap()
}

/// A text for NVRTC, and the cases whose kernels stand in it.
pub(crate) struct CudaSource {
    pub(crate) text: String,
    pub(crate) cases: Vec<usize>,
}

/// What the kernel of a case is given: its operator by value, its operands, and how many; and the size of a result.
pub(crate) struct Inputs<'a> {
    pub(crate) kernel: String,
    pub(crate) parameters: &'a [u8],
    pub(crate) left: &'a [u8],
    pub(crate) right: &'a [u8],
    pub(crate) count: usize,
    pub(crate) result: usize,
}

/// In the suite's kernels a thread that panics ends, and the others go on: so that each can be seen to panic or not.
/// In a scan's kernels all end, and the launch reports an error.
const TRAP: &str = "__trap();";
const EXIT: &str = "asm volatile(\"exit;\"); __builtin_unreachable();";

type Run = unsafe extern "C" fn(*const u8, *const u8, *const u8, *mut u8, *mut u8, usize);

impl Case {
    fn new(
        source: OpSource,
        parameters: Parameters,
        function: &'static str,
        [left, right]: [Vec<u8>; 2],
        expected: Vec<Option<Vec<u8>>>,
        shown: Shown,
        tolerance: Tolerance,
    ) -> Self {
        std::panic::set_hook(Box::new(|info| {
            if !QUIET.get() {
                eprintln!("{info}");
            }
        }));
        let text = operator_text(&source, Target::Host).unwrap();
        let carry = source.carry.as_ref().map_or(&source.state, |carry| &carry.ty);
        let (operands, returns, result) = match function {
            "lift" => (vec![text.input], text.state, &source.state),
            "step" => (vec![text.carry_type.clone(), text.input], text.carry_type, carry),
            "emit" => (vec![text.carry_type, text.input], text.output, &source.output),
            _ => (vec![text.state.clone(), text.state.clone()], text.state, &source.state),
        };
        Case {
            name: format!("{} of {}", source.name, source.state.name),
            body: text.text.replace("#line here\n", ""),
            cuda: operator_text(&source, Target::Cuda).unwrap().text.replace("#line here\n", "").replace(TRAP, EXIT),
            op: text.operator,
            function,
            operands,
            returns,
            result: result.clone(),
            source,
            parameters,
            left,
            right,
            expected,
            shown,
            tolerance,
        }
    }

    /// Runs the host's text, and compares.
    fn compare(&self, library: &libloading::Library, index: usize, report: &mut Report) {
        let count = self.expected.len();
        // 16 bytes of alignment, which is the most that an element here has.
        let aligned = |bytes: &[u8]| -> Vec<u128> {
            let mut words = vec![0_u128; bytes.len().div_ceil(16).max(1)];
            // SAFETY: there is room for all bytes, and any bytes make a u128.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), words.as_mut_ptr().cast(), bytes.len()) };
            words
        };
        let (left, right) = (aligned(&self.left), aligned(&self.right));
        let mut out = aligned(&vec![0xaa; self.result.size * count]);
        let mut panicked = vec![0_u8; count];
        // SAFETY: the function was written for these types, and every buffer holds `count` of them.
        unsafe {
            let run = library.get::<Run>(format!("run_{index}").as_bytes()).unwrap();
            let parameters = aligned(self.parameters.bytes());
            run(
                parameters.as_ptr().cast(),
                left.as_ptr().cast(),
                right.as_ptr().cast(),
                out.as_mut_ptr().cast(),
                panicked.as_mut_ptr(),
                count,
            );
        }
        // SAFETY: the words hold as many bytes.
        let out = unsafe { std::slice::from_raw_parts(out.as_ptr().cast::<u8>(), self.result.size * count) };
        self.check(out, |i| panicked[i] == 1, report);
    }

    fn check(&self, out: &[u8], panicked: impl Fn(usize) -> bool, report: &mut Report) {
        let mut shown = 0;
        for (i, expected) in self.expected.iter().enumerate() {
            report.compared += 1;
            let found = &out[i * self.result.size..(i + 1) * self.result.size];
            let difference = match (expected, panicked(i)) {
                (None, true) => continue,
                (None, false) => "Rust panicked, the text did not".to_owned(),
                (Some(_), true) => "the text panicked, Rust did not".to_owned(),
                (Some(expected), false) => match difference(&self.result, expected, found, self.tolerance) {
                    None => continue,
                    Some(difference) => difference,
                },
            };
            report.wrong += 1;
            shown += 1;
            if shown <= 3 && report.failures.len() < 16_000 {
                writeln!(report.failures, "{} at {}: {difference}", self.name, (self.shown)(i)).unwrap();
            }
        }
    }
}

/// How two values differ, field by field, padding left out.
fn difference(ty: &ElementType, rust: &[u8], text: &[u8], tolerance: Tolerance) -> Option<String> {
    if rust == text {
        return None;
    }
    match &ty.kind {
        ElementKind::Primitive(primitive) => {
            let value = |bytes: &[u8]| {
                let mut wide = [0; 16];
                wide[..bytes.len()].copy_from_slice(bytes);
                u128::from_le_bytes(wide)
            };
            let (rust, text) = (value(rust), value(text));
            let (same, shown) = match primitive {
                Primitive::F16 => near(half::f16::from_bits, rust as u16, text as u16, tolerance),
                Primitive::Bf16 => near(half::bf16::from_bits, rust as u16, text as u16, tolerance),
                Primitive::F32 => near(f32::from_bits, rust as u32, text as u32, tolerance),
                Primitive::F64 => near(f64::from_bits, rust as u64, text as u64, tolerance),
                _ => (rust == text, String::new()),
            };
            (!same).then(|| format!("{rust:#x} in Rust, {text:#x} in the text {shown}"))
        }
        ElementKind::Struct(fields) => fields.iter().find_map(|field| {
            let range = field.offset..field.offset + field.ty.size;
            difference(&field.ty, &rust[range.clone()], &text[range], tolerance.of_field(&field.name))
                .map(|found| format!(".{} {found}", field.name))
        }),
        ElementKind::Enum { .. } | ElementKind::Table { .. } => {
            (rust != text).then(|| format!("{rust:02x?} in Rust, {text:02x?} in the text"))
        }
        ElementKind::Array { item, len } => (0..*len).find_map(|index| {
            let range = index * item.size..(index + 1) * item.size;
            difference(item, &rust[range.clone()], &text[range], tolerance).map(|found| format!("[{index}] {found}"))
        }),
    }
}

/// Whether two floats are as near as they must be, and both of them for a reader.
fn near<T: Into<f64>, Bits: Into<u64> + Copy>(
    from_bits: fn(Bits) -> T,
    rust: Bits,
    text: Bits,
    tolerance: Tolerance,
) -> (bool, String) {
    let sign = 8 * size_of::<Bits>() - 1;
    let (a, b): (f64, f64) = (from_bits(rust).into(), from_bits(text).into());
    let (rust, text): (u64, u64) = (rust.into(), text.into());
    // As numbers on a line, the two zeros in the same place.
    let place = |bits: u64| {
        let magnitude = i128::from(bits & ((1 << sign) - 1));
        if bits >> sign == 1 { -magnitude } else { magnitude }
    };
    let same = rust == text || (a.is_nan() && b.is_nan());
    let near = match tolerance {
        Tolerance::Exact | Tolerance::Fields(_) => same,
        Tolerance::EitherZero => same || (a == 0.0 && b == 0.0),
        // Where one is an infinity and the other the largest number, one function overflowed and the other not quite.
        Tolerance::Ulps(ulps) => {
            same || (!a.is_nan() && !b.is_nan() && place(rust).abs_diff(place(text)) <= u128::from(ulps))
        }
    };
    (near, format!("{a:e} and {b:e}"))
}

macro_rules! integer_samples {
    ($($ty:ident)*) => {$(
        impl Sample for $ty {
            fn edges() -> Vec<$ty> {
                let mut edges = vec![$ty::MIN, $ty::MIN.wrapping_add(1), $ty::MAX, $ty::MAX - 1, $ty::MAX / 2, $ty::MAX / 2 + 1];
                edges.extend([0, 1, 2, 3, 5, 7, 10, 31, 32, 33, 63, 64, 65, 100, 127]);
                edges.extend([$ty::MAX.wrapping_add($ty::MAX), (0 as $ty).wrapping_sub(2), (0 as $ty).wrapping_sub(7)]);
                for power in (0..$ty::BITS).step_by(9).map(|bit| (1 as $ty) << bit) {
                    edges.extend([power, power.wrapping_sub(1), power.wrapping_add(1)]);
                }
                edges.sort_unstable();
                edges.dedup();
                edges
            }
            fn random(random: &mut Random) -> $ty {
                let wide = u128::from(random.next()) << 64 | u128::from(random.next());
                // All magnitudes alike, not only huge ones.
                (wide as $ty) >> (random.next() % u64::from($ty::BITS))
            }
        }
    )*};
}

integer_samples! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize }

macro_rules! float_samples {
    ($($ty:ident $bits:ident)*) => {$(
        impl Sample for $ty {
            fn edges() -> Vec<$ty> {
                let mut edges = vec![
                    0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 0.1, 0.3, 10.0, 100.5, 126.9, 127.0, 127.5, 128.0, 255.0, 255.9, 256.0, 300.0,
                    32767.5, 65535.5, 65536.0, 8388607.5, 16777217.0, 2147483647.0, 2147483648.0, 4294967295.0, 4294967296.0,
                    9223372036854775807.0, 18446744073709551615.0, 1.7e38, 3.4e38, 1e-30, 1e-38, 1e30,
                    std::f64::consts::PI as $ty, $ty::MAX, $ty::MIN_POSITIVE, $ty::EPSILON, $ty::INFINITY, $ty::NAN,
                    $ty::from_bits(1), $ty::MIN_POSITIVE / 2.0,
                ];
                let negative: Vec<$ty> = edges.iter().map(|x| -x).collect();
                edges.extend(negative);
                edges
            }
            fn random(random: &mut Random) -> $ty {
                match random.next() % 3 {
                    0 => $ty::from_bits(random.next() as $bits),
                    1 => (random.next() as i64 as $ty) / (1_u64 << 60) as $ty,
                    _ => (random.next() as i64 >> (random.next() % 60)) as $ty / 16.0,
                }
            }
        }
    )*};
}

float_samples! { f32 u32 f64 u64 }

macro_rules! half_samples {
    ($($ty:ident)*) => {$(
        impl Sample for half::$ty {
            fn edges() -> Vec<half::$ty> {
                type Half = half::$ty;
                let numbers = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 0.1, 10.0, 127.0, 255.0, 2049.0, 65504.0, 1e30, 1e-6, 1e-30];
                let mut edges: Vec<Half> = numbers.map(Half::from_f32).to_vec();
                edges.extend([Half::MAX, Half::MIN_POSITIVE, Half::EPSILON, Half::INFINITY, Half::NAN, Half::PI]);
                // The smallest subnormal number, the largest, and the neighbours of one.
                let bits = [1, 2, 3, Half::MIN_POSITIVE.to_bits() - 1, Half::ONE.to_bits() - 1, Half::ONE.to_bits() + 1];
                edges.extend(bits.map(Half::from_bits));
                let negative: Vec<Half> = edges.iter().map(|x| -*x).collect();
                edges.extend(negative);
                edges
            }
            fn random(random: &mut Random) -> half::$ty {
                half::$ty::from_bits(random.next() as u16)
            }
            /// All there are.
            fn singles() -> Vec<half::$ty> {
                (0..=u16::MAX).map(half::$ty::from_bits).collect()
            }
        }
    )*};
}

half_samples! { f16 bf16 }

impl Sample for bool {
    fn edges() -> Vec<bool> {
        vec![false, true]
    }
    fn random(random: &mut Random) -> bool {
        random.next() & 1 == 1
    }
}

impl<T: Sample, const N: usize> Sample for [T; N] {
    fn edges() -> Vec<[T; N]> {
        // All pairs; of longer arrays the ones of equal items.
        let edges = T::edges();
        match N {
            2 => edges.iter().flat_map(|a| edges.iter().map(|b| std::array::from_fn(|i| [*a, *b][i]))).collect(),
            _ => edges.into_iter().map(|edge| [edge; N]).collect(),
        }
    }
    fn random(random: &mut Random) -> [T; N] {
        std::array::from_fn(|_| T::random(random))
    }
}
