// What a generated crate exports, in the words of C. The programs are in the same file, after this.

use scan_codegen::{FunctionSource, OpSource, Piece, Target, operator_text};
use half::{bf16, f16};
use scan_runtime::{ScanOp, scan_element, scan_fn, scan_op};
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

thread_local! {
    /// Whether a panic is a result like any other.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

struct Program {
    /// The function that is the program.
    function: &'static str,
    source: fn() -> OpSource,
    run: unsafe fn(*const u8, *const u8, *mut u8),
}

/// A program, which is nothing but a type.
fn program<Op: ScanOp>() -> &'static Op {
    const { assert!(size_of::<Op>() == 0) };
    // SAFETY: nothing is read through it, and it is aligned.
    unsafe { NonNull::dangling().as_ref() }
}

fn source<Op: ScanOp>() -> OpSource {
    program::<Op>().source()
}

/// Runs the function of this name.
macro_rules! run {
    ($($function:ident($left:ident, $right:ident) -> $result:ident;)*) => {$(
        unsafe fn $function<Op: ScanOp>(a: *const u8, b: *const u8, out: *mut u8) {
            let op = program::<Op>();
            // SAFETY: the caller hands over a value of each type, and room for the result.
            unsafe {
                let (a, b) = (a.cast::<Op::$left>().read_unaligned(), b.cast::<Op::$right>().read_unaligned());
                out.cast::<Op::$result>().write_unaligned(op.$function(a, b));
            }
        }
    )*};
}

run! {
    combine(State, State) -> State;
    append(State, Input) -> State;
    prepend(Input, State) -> State;
    apply(State, Carry) -> Carry;
    step(Carry, Input) -> Carry;
    emit(Carry, Input) -> Output;
}

/// Runs a program; whether it panicked. Its values lie at `a` and `b`, its result goes to `out`.
#[unsafe(no_mangle)]
unsafe extern "C" fn programs_run(index: usize, a: *const u8, b: *const u8, out: *mut u8) -> bool {
    QUIET.set(true);
    // SAFETY: the caller knows the program's types.
    let panicked = catch_unwind(AssertUnwindSafe(|| unsafe { (PROGRAMS[index].run)(a, b, out) })).is_err();
    QUIET.set(false);
    panicked
}

#[unsafe(no_mangle)]
extern "C" fn programs_silence() {
    std::panic::set_hook(Box::new(|panic| {
        if !QUIET.get() {
            eprintln!("{panic}");
        }
    }));
}

#[unsafe(no_mangle)]
extern "C" fn programs_size(index: usize, value: usize) -> usize {
    let source = (PROGRAMS[index].source)();
    let function = source.functions.iter().find(|function| function.name == PROGRAMS[index].function).unwrap();
    function.parameters.get(value).map_or(&function.returns, |(_, ty)| ty).size
}

/// Hands the CUDA text of some programs, or why there is none, to `take`; whether there is one.
#[unsafe(no_mangle)]
unsafe extern "C" fn programs_text(
    first: usize,
    end: usize,
    cuda: bool,
    take: unsafe extern "C" fn(*mut c_void, *const u8, usize),
    context: *mut c_void,
) -> bool {
    let text = if cuda { kernels(first..end) } else { together(first..end) };
    let (good, text) = match text {
        Ok(text) => (true, text),
        Err(error) => (false, error.to_string()),
    };
    // SAFETY: `take` is called with the caller's own context.
    unsafe { take(context, text.as_ptr(), text.len()) };
    good
}

fn renumber(pieces: &mut [Piece], places: &[usize]) {
    for piece in pieces {
        match piece {
            Piece::Helper(index) => *index = places[*index],
            Piece::Struct { fields, base, .. } => {
                fields.iter_mut().for_each(|(_, value)| renumber(value, places));
                base.iter_mut().for_each(|base| renumber(base, places));
            }
            _ => {}
        }
    }
}

/// The text of programs that share one prelude, for the host.
fn together(range: Range<usize>) -> Result<String, scan_codegen::RenderError> {
    let mut all: Option<OpSource> = None;
    let mut helpers: Vec<FunctionSource> = Vec::new();
    let mut table = String::new();
    for index in range {
        let mut source = (PROGRAMS[index].source)();
        source.functions.retain(|function| function.name == PROGRAMS[index].function);
        // A function that several programs call has another number in each; those that it calls come before it.
        let mut places = Vec::new();
        for mut helper in std::mem::take(&mut source.helpers) {
            renumber(&mut helper.body, &places);
            let place = helpers.iter().position(|known| known.name == helper.name);
            places.push(place.unwrap_or(helpers.len()));
            if place.is_none() {
                helpers.push(helper);
            }
        }
        source.functions.iter_mut().for_each(|function| renumber(&mut function.body, &places));
        let name = if all.is_none() { "combine".to_owned() } else { format!("program_{index}") };
        writeln!(table, "  program<&Programs::{name}>,").unwrap();
        let functions: Vec<FunctionSource> =
            source.functions.drain(..).map(|own| FunctionSource { name: name.clone(), ..own }).collect();
        let all = all.get_or_insert_with(|| OpSource { name: "Programs".to_owned(), identity: None, carry: None, ..source });
        all.functions.extend(functions);
    }
    if let Some(all) = &mut all {
        all.helpers = helpers;
    }
    let text = operator_text(&all.expect("there are programs"), Target::Host)?.text.replace("#line here\n", "");
    Ok(format!("{text}\n[[noreturn]] void panic() {{ throw 0; }}\n{RUNNER}const Run table[] = {{\n{table}}};\n"))
}

/// Runs a member function whose types C++ finds out.
const RUNNER: &str = r#"#line 1 "runner"
using Run = bool (*)(const void *, const void *, void *);
template <typename Function> struct Parts;
template <typename Operator, typename Result, typename A, typename B>
struct Parts<Result (Operator::*)(A, B) const> {
  static bool run(Result (Operator::*function)(A, B) const, const void *a, const void *b, void *out) {
    A left;
    B right;
    __builtin_memcpy(&left, a, sizeof(A));
    __builtin_memcpy(&right, b, sizeof(B));
    try {
      Result result = (Operator{}.*function)(left, right);
      __builtin_memcpy(out, &result, sizeof(Result));
      return false;
    } catch (int) {
      return true;
    }
  }
};
template <auto function>
bool program(const void *a, const void *b, void *out) { return Parts<decltype(function)>::run(function, a, b, out); }
"#;

/// The text of programs with a prelude each, as kernels.
fn kernels(range: Range<usize>) -> Result<String, scan_codegen::RenderError> {
    let mut all = String::new();
    for index in range {
        let text = operator_text(&(PROGRAMS[index].source)(), Target::Cuda)?;
        let (body, operator) = (text.text.replace("#line here\n", ""), text.operator);
        let (input, state, carry, output) = (text.input, text.state, text.carry_type, text.output);
        let function = PROGRAMS[index].function;
        let [left, right, result] = match function {
            "combine" => [&state, &state, &state],
            "append" => [&state, &input, &state],
            "prepend" => [&input, &state, &state],
            "apply" => [&state, &carry, &carry],
            "step" => [&carry, &input, &carry],
            _ => [&carry, &input, &output],
        };
        writeln!(
            all,
            "namespace program_{index} {{\n{body}\n\
             extern \"C\" __global__ void run_{index}({operator} op, const {left} *a, const {right} *b, {result} *out) {{\n\
             out[threadIdx.x] = op.{function}(a[threadIdx.x], b[threadIdx.x]);\n}}\n}}"
        )
        .unwrap();
    }
    Ok(all)
}

macro_rules! programs {
    ($($name:ident:$function:ident)*) => {
        static PROGRAMS: &[Program] = &[$(Program {
            function: stringify!($function),
            source: source::<$name>,
            run: $function::<$name>,
        }),*];
    };
}
