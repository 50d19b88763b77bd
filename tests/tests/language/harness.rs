//! Compiles the text of many operators into one library and runs it beside their Rust.

use scan_codegen::{
    DeviceLimits, ElementKind, ElementType, KernelSource, OpSource, Overrides, Primitive, ScanSpec, Target,
    operator_text, plan, render,
};
use scan_runtime::{Parameters, ScanElement, ScanOp};
use std::cell::Cell;
use std::fmt::{Debug, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

/// Values to try: edges first, then random ones.
pub(crate) trait Sample: ScanElement {
    fn edges() -> Vec<Self>;
    fn random(random: &mut Random) -> Self;
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
    state: String,
    input: String,
    result: ElementType,
    /// Keeps the tables to which their bytes point.
    parameters: Parameters,
    lifts: bool,
    left: Vec<u8>,
    right: Vec<u8>,
    expected: Vec<Option<Vec<u8>>>,
    shown: Vec<String>,
    ulps: u64,
}

#[derive(Default)]
pub(crate) struct Suite {
    cases: Vec<Case>,
}

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

fn singles<T: Sample>() -> Vec<T> {
    let mut random = Random(11);
    let mut values = T::edges();
    values.extend((0..1000).map(|_| T::random(&mut random)));
    values
}

fn bytes<T: ScanElement>(value: &T) -> Vec<u8> {
    scan_runtime::__private::bytes_of(value)
}

impl Suite {
    /// `combine`, on all pairs of edges and some random pairs.
    pub(crate) fn combine<O: ScanOp>(&mut self, op: O, ulps: u64)
    where
        O::State: Sample + Debug,
    {
        let (left, right) = pairs::<O::State>();
        let shown = left.iter().zip(&right).map(|(a, b)| format!("{a:?}, {b:?}")).collect();
        let expected = expected(left.len(), &mut |i| bytes(&op.combine(left[i], right[i])));
        let (left, right) = (left.iter().flat_map(bytes).collect(), right.iter().flat_map(bytes).collect());
        self.cases.push(Case::new(op.source(), op.parameters(), false, [left, right], expected, shown, ulps));
    }

    /// `lift`, on all edges and some random values.
    pub(crate) fn lift<O: ScanOp>(&mut self, op: O, ulps: u64)
    where
        O::Input: Sample + Debug,
    {
        let values = singles::<O::Input>();
        let shown = values.iter().map(|x| format!("{x:?}")).collect();
        let expected = expected(values.len(), &mut |i| bytes(&op.lift(values[i])));
        let left = values.iter().flat_map(bytes).collect();
        self.cases.push(Case::new(op.source(), op.parameters(), true, [left, Vec::new()], expected, shown, ulps));
    }

    /// Compiles all, runs all, compares all.
    pub(crate) fn run(self, name: &str) -> Report {
        let source = self.source();
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let file = directory.join(format!("{name}.cpp"));
        let library = directory.join(format!("{name}.so"));
        std::fs::write(&file, source).unwrap();
        std::fs::write(directory.join(format!("{name}.cu")), self.cuda_source()).unwrap();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let flags = ["-std=c++20", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-w"];
        let output = Command::new(&compiler).args(flags).arg(&file).arg("-o").arg(&library).output();
        let output = output.unwrap_or_else(|error| panic!("this test needs a C++20 compiler, `{compiler}`: {error}"));
        let messages = String::from_utf8_lossy(&output.stderr);
        let shown: String = messages.lines().take(40).fold(String::new(), |shown, line| shown + line + "\n");
        assert!(output.status.success(), "the text does not compile:\n{shown}");

        // SAFETY: the library was made just now, and has no initialisers.
        let library = unsafe { libloading::Library::new(&library) }.unwrap();
        let mut report = Report { compared: 0, wrong: 0, failures: String::new() };
        for (index, case) in self.cases.iter().enumerate() {
            case.compare(&library, index, &mut report);
        }
        report
    }

    /// Scans with the operators, for NVRTC.
    pub(crate) fn kernels(&self) -> Vec<KernelSource> {
        let kernels = |case: &Case| {
            let (spec, overrides) = (ScanSpec::inclusive(), Overrides::default());
            let plan = plan(&case.source, &spec, &DeviceLimits::BASELINE, &overrides).unwrap();
            render(&case.source, &plan).unwrap()
        };
        self.cases.iter().map(kernels).collect()
    }

    /// The same operators as kernels of NVRTC's CUDA, to be compiled and run by whoever has it.
    pub(crate) fn cuda_source(&self) -> String {
        let mut source = String::new();
        for (index, case) in self.cases.iter().enumerate() {
            let Case { cuda, op, state, input, .. } = case;
            let (arguments, call) =
                if case.lifts { (input, "lift(left[i])") } else { (state, "combine(left[i], right[i])") };
            writeln!(
                source,
                "namespace case_{index} {{ // {name}\n{cuda}\n\
                 extern \"C\" __global__ void run_{index}({op} op, const {arguments} *left, const {arguments} *right, {state} *out, unsigned n) {{\n\
                 const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n\
                 if (i < n) out[i] = op.{call};\n}}\n}}",
                name = case.name,
            )
            .unwrap();
        }
        source
    }

    fn source(&self) -> String {
        let mut source = String::new();
        for (index, case) in self.cases.iter().enumerate() {
            let Case { body, op, state, input, .. } = case;
            let (arguments, call) = if case.lifts { (input, "lift(a)") } else { (state, "combine(a, b)") };
            let right = if case.lifts {
                String::new()
            } else {
                format!("{arguments} b; __builtin_memcpy(&b, right + i, sizeof(b));")
            };
            writeln!(
                source,
                "namespace case_{index} {{ // {name}\n{body}\n[[noreturn]] void panic() {{ throw 0; }}\n\
                 extern \"C\" void run_{index}(const char *parameters, const void *left_bytes, const void *right_bytes, {state} *out, char *panicked, size_t n) {{\n\
                 {op} op; __builtin_memcpy(&op, parameters, {size});\n\
                 auto left = static_cast<const {arguments} *>(left_bytes); auto right = static_cast<const {arguments} *>(right_bytes);\n\
                 for (size_t i = 0; i < n; ++i) {{\n\
                 {arguments} a; __builtin_memcpy(&a, left + i, sizeof(a)); {right}\n\
                 try {{ {state} result = op.{call}; __builtin_memcpy(out + i, &result, sizeof(result)); }} catch (int) {{ panicked[i] = 1; }}\n\
                 }}\n}}\n}}",
                name = case.name,
                size = case.parameters.bytes().len(),
            )
            .unwrap();
        }
        source
    }
}

type Run = unsafe extern "C" fn(*const u8, *const u8, *const u8, *mut u8, *mut u8, usize);

impl Case {
    fn new(
        source: OpSource,
        parameters: Parameters,
        lifts: bool,
        [left, right]: [Vec<u8>; 2],
        expected: Vec<Option<Vec<u8>>>,
        shown: Vec<String>,
        ulps: u64,
    ) -> Self {
        std::panic::set_hook(Box::new(|info| {
            if !QUIET.get() {
                eprintln!("{info}");
            }
        }));
        let text = operator_text(&source, Target::Host).unwrap();
        Case {
            name: format!("{} of {}", source.name, source.state.name),
            body: text.text.replace("#line here\n", ""),
            cuda: operator_text(&source, Target::Cuda).unwrap().text.replace("#line here\n", ""),
            op: text.operator,
            state: text.state,
            input: text.input,
            result: source.state.clone(),
            source,
            parameters,
            lifts,
            left,
            right,
            expected,
            shown,
            ulps,
        }
    }

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
        let mut shown = 0;
        for (i, expected) in self.expected.iter().enumerate() {
            report.compared += 1;
            let found = &out[i * self.result.size..(i + 1) * self.result.size];
            let difference = match (expected, panicked[i] == 1) {
                (None, true) => continue,
                (None, false) => "Rust panicked, the text did not".to_owned(),
                (Some(_), true) => "the text panicked, Rust did not".to_owned(),
                (Some(expected), false) => match difference(&self.result, expected, found, self.ulps) {
                    None => continue,
                    Some(difference) => difference,
                },
            };
            report.wrong += 1;
            shown += 1;
            if shown <= 3 && report.failures.len() < 16_000 {
                writeln!(report.failures, "{} at {}: {difference}", self.name, self.shown[i]).unwrap();
            }
        }
    }
}

/// How two values differ, field by field, padding left out. NaNs are equal; floats may be some units in the last place apart.
fn difference(ty: &ElementType, rust: &[u8], text: &[u8], ulps: u64) -> Option<String> {
    match &ty.kind {
        ElementKind::Primitive(primitive) => {
            let value = |bytes: &[u8]| {
                let mut wide = [0; 16];
                wide[..bytes.len()].copy_from_slice(bytes);
                u128::from_le_bytes(wide)
            };
            let (rust, text) = (value(rust), value(text));
            let (same, shown) = match primitive {
                Primitive::F32 => {
                    let (a, b) = (f32::from_bits(rust as u32), f32::from_bits(text as u32));
                    (near(a.into(), b.into(), rust, text, 31, ulps), format!("{a:e} and {b:e}"))
                }
                Primitive::F64 => {
                    let (a, b) = (f64::from_bits(rust as u64), f64::from_bits(text as u64));
                    (near(a, b, rust, text, 63, ulps), format!("{a:e} and {b:e}"))
                }
                _ => (rust == text, String::new()),
            };
            (!same).then(|| format!("{rust:#x} in Rust, {text:#x} in the text {shown}"))
        }
        ElementKind::Struct(fields) => fields.iter().find_map(|field| {
            let range = field.offset..field.offset + field.ty.size;
            difference(&field.ty, &rust[range.clone()], &text[range], ulps)
                .map(|found| format!(".{} {found}", field.name))
        }),
        ElementKind::Enum { .. } | ElementKind::Table { .. } => {
            (rust != text).then(|| format!("{rust:02x?} in Rust, {text:02x?} in the text"))
        }
        ElementKind::Array { item, len } => (0..*len).find_map(|index| {
            let range = index * item.size..(index + 1) * item.size;
            difference(item, &rust[range.clone()], &text[range], ulps).map(|found| format!("[{index}] {found}"))
        }),
    }
}

fn near(a: f64, b: f64, a_bits: u128, b_bits: u128, sign: u32, ulps: u64) -> bool {
    if a_bits == b_bits || (a.is_nan() && b.is_nan()) {
        return true;
    }
    // As numbers on a line, the two zeros in the same place.
    let place = |bits: u128| {
        let magnitude = (bits & ((1 << sign) - 1)) as i128;
        if bits >> sign == 1 { -magnitude } else { magnitude }
    };
    ulps > 0 && !a.is_nan() && !b.is_nan() && place(a_bits).abs_diff(place(b_bits)) <= u128::from(ulps)
}

macro_rules! integer_samples {
    ($($ty:ident)*) => {$(
        impl Sample for $ty {
            fn edges() -> Vec<$ty> {
                let mut edges = vec![$ty::MIN, $ty::MIN.wrapping_add(1), $ty::MAX, $ty::MAX - 1, $ty::MAX / 2, $ty::MAX / 2 + 1];
                edges.extend([0, 1, 2, 3, 5, 7, 10, 31, 32, 33, 63, 64, 65, 100, 127]);
                edges.extend([$ty::MAX.wrapping_add($ty::MAX), (0 as $ty).wrapping_sub(2), (0 as $ty).wrapping_sub(7)]);
                edges.extend((0..$ty::BITS).step_by(9).map(|bit| (1 as $ty) << bit));
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
