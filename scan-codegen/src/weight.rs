//! The weight of an operator's functions, estimated from their text: about the number of instructions that the GPU
//! executes for a call. Planning and rendering use it: heavy functions are called, not inlined, and have shorter runs.

use crate::{
    constants::WORD,
    element::{ElementKind, ElementType, Primitive},
    operator::{FunctionSource, OpSource, Piece},
};

/// The cost of a call, in addition to the function itself.
const CALL: u64 = 24;

/// The maximum number of instructions of a function at all its inlined places in a kernel together; above it, it is
/// called.
///
/// A heavy operator that is inlined everywhere makes NVRTC slow; a light one that is called makes the kernel slow.
/// Measured: `docs/tuning.md#called-or-inlined`.
pub(crate) const INLINED: u32 = 8192;

/// The maximum number of instructions of the unrolled loops over a run.
///
/// Longer ones take NVRTC longer and are no faster. Measured: `docs/tuning.md#unrolled-runs`.
const UNROLLED: u64 = 4096;

/// How often `combine` is applied to join a run to others, as far as time goes: five times by the warp, twice to find
/// the run's exclusive prefix (a stepped operator applies the second of these to its carry, which takes no longer), and
/// as a part of what the first warp does.
const JOINS_OF_A_RUN: u64 = 8;

/// The weight of each function of an operator, and whether it is called or inlined.
pub(crate) struct Weights {
    /// Those of `functions`, in order.
    pub(crate) functions: Vec<Weight>,
    /// Those of `helpers`, in order.
    pub(crate) helpers: Vec<Weight>,
}

/// At how many places of a kernel the functions of an operator stand.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    /// What joins partial results: `combine`, and the `apply` of a stepped operator.
    pub(crate) joins: u64,
    /// What each element of a run goes through: all else, and `combine` too where elements are lifted.
    pub(crate) elements: u64,
}

impl Places {
    /// So many for each function.
    pub(crate) const fn all(places: u64) -> Self {
        Places { joins: places, elements: places }
    }

    fn of(self, function: &FunctionSource) -> u64 {
        if matches!(&*function.name, "combine" | "apply") { self.joins } else { self.elements }
    }
}

/// The function by which a fold of a run takes an input, where the operator has it.
fn by_input(op: &OpSource) -> &'static str {
    if op.folds_backwards() { "prepend" } else { "append" }
}

/// How often the kernels call a function for each element of a run: the run is folded, and then scanned from its
/// exclusive prefix.
fn calls_an_element(op: &OpSource, function: &str) -> u64 {
    let stepped = op.carry.is_some();
    match function {
        "append" | "prepend" if function != by_input(op) => 0,
        "lift" | "combine" if op.has(by_input(op)) => 0,
        // The scan of a stepped operator takes steps in place of partial results.
        "lift" | "combine" | "append" | "prepend" => {
            if stepped {
                1
            } else {
                2
            }
        }
        "apply" => 0,
        _ => 1,
    }
}

/// Bytes of the largest state that the compiler is known to translate correctly when it looks through it.
const LARGEST_OPEN_STATE: usize = 64;

/// Whether states are hidden from the optimizer at each element. It is kept busy for minutes by what it could know of a
/// long chain of remainders, and it miscompiles states of more than 64 bytes. Elsewhere it may look: then it computes
/// what does not depend on the input, such as the powers and counts of what is appended, and parts of a state that
/// share a word need not be packed. Measured: `docs/tuning.md#hidden-states`.
pub(crate) fn hides_states(op: &OpSource) -> bool {
    let divides = |function: &FunctionSource| {
        let uses = || function.uses.iter().map(|(part, _)| *part);
        widest(function).integer > 0 && uses().any(|part| part.contains("div") || part.contains("rem"))
    };
    let gains = op.takes_inputs() || has_narrow_parts(&op.state);
    !gains || op.state.size > LARGEST_OPEN_STATE || op.functions.iter().chain(&op.helpers).any(divides)
}

/// Whether a type has several parts that are narrower than a word.
fn has_narrow_parts(ty: &ElementType) -> bool {
    match &ty.kind {
        ElementKind::Primitive(_) | ElementKind::Enum { .. } | ElementKind::Table { .. } => false,
        ElementKind::Struct(fields) => {
            fields.len() > 1 && fields.iter().any(|field| field.ty.size < WORD as usize)
                || fields.iter().any(|field| has_narrow_parts(&field.ty))
        }
        ElementKind::Array { item, len } => *len > 1 && item.size < WORD as usize || has_narrow_parts(item),
    }
}

/// Whether there is an array of bytes in it that is gathered by permuting words.
fn has_bytes_of_words(ty: &ElementType) -> bool {
    match &ty.kind {
        ElementKind::Struct(fields) => fields.iter().any(|field| has_bytes_of_words(&field.ty)),
        ElementKind::Array { item, len } => item.size == 1 && matches!(len, 4 | 8 | 16) || has_bytes_of_words(item),
        ElementKind::Primitive(_) | ElementKind::Enum { .. } | ElementKind::Table { .. } => false,
    }
}

/// What follows from the weight of an operator, for whoever reads a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Decided {
    /// Instructions for an element of a run, as estimated.
    pub(crate) instructions: u64,
    /// The functions that are called, not inlined.
    pub(crate) called: Vec<String>,
    /// Whether the optimizer sees through states.
    pub(crate) open: bool,
}

impl Decided {
    /// Of an operator whose functions stand at so many places.
    pub(crate) fn of(op: &OpSource, places: Places, inlined: u32) -> Self {
        let weights = Weights::of(op, places, inlined);
        let functions = || op.functions.iter().zip(&weights.functions);
        let helpers = op.helpers.iter().zip(&weights.helpers);
        let called = functions().chain(helpers).filter(|(_, weight)| weight.called);
        Decided {
            instructions: Weights::of_an_element(op, u64::MAX),
            called: called.map(|(function, _)| function.name.clone()).collect(),
            open: !hides_states(op),
        }
    }

    /// The line of a plan that tells it; nothing of a light operator. The run, if the weight has bounded it.
    pub(crate) fn line(&self, run: Option<u32>) -> String {
        let Decided { instructions, called, open } = self;
        let run = run.map(|run| format!("runs of {run} elements"));
        let called = (!called.is_empty()).then(|| format!("{} called, not inlined", called.join(", ")));
        let open = open.then(|| "states open to the optimizer".to_owned());
        let decisions: Vec<String> = [run, called, open].into_iter().flatten().collect();
        if decisions.is_empty() {
            return String::new();
        }
        format!("  weight    about {instructions} instructions an element: {}\n", decisions.join("; "))
    }
}

/// What a function weighs, and how it gets to its callers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weight {
    /// Instructions of a call.
    pub(crate) instructions: u64,
    /// Whether it is called, not inlined.
    pub(crate) called: bool,
    /// Whether it is rarely called, so that its callers do not weigh more for it.
    pub(crate) cold: bool,
}

impl Weights {
    /// Of an operator whose functions stand at so many places of a kernel each, and are to have no more instructions there.
    pub(crate) fn of(op: &OpSource, places: Places, inlined: u32) -> Self {
        let max = |places: u64| u64::from(inlined) / places.max(1);
        let all = || op.functions.iter().chain(&op.helpers);
        let mut helpers: Vec<Weight> = Vec::new();
        for (index, helper) in op.helpers.iter().enumerate() {
            let times = |function: &FunctionSource| {
                function.calls.iter().filter(|(callee, _)| *callee == index).map(|(_, times)| *times).sum::<u64>()
            };
            let calls = all().map(times).fold(0, u64::saturating_add).max(1);
            helpers.push(Weight::of(helper, &helpers, max(places.elements) / calls));
        }
        let weight = |function| Weight::of(function, &helpers, max(places.of(function)));
        let functions = op.functions.iter().map(weight).collect();
        Weights { functions, helpers }
    }

    /// The instructions of a call of one of the operator's functions; 0 if it has none of that name.
    pub(crate) fn instructions_of(op: &OpSource, name: &str) -> u64 {
        let weights = Weights::of(op, Places::all(1), u32::MAX);
        let mut each = op.functions.iter().zip(&weights.functions);
        each.find(|(function, _)| function.name == name).map_or(0, |(_, weight)| weight.instructions)
    }

    /// So many elements of a run, where they are folded input by input, are worth joining the run to others: that takes
    /// no longer than they do, then.
    pub(crate) fn worthwhile_run(op: &OpSource) -> u32 {
        let Some(joins) = op.takes_inputs().then_some(JOINS_OF_A_RUN) else { return 1 };
        let weights = Weights::of(op, Places::all(1), u32::MAX);
        let mut each = op.functions.iter().zip(&weights.functions);
        let joined = each.find(|(function, _)| function.name == "combine").map_or(0, |(_, weight)| weight.instructions);
        let element = Weights::of_an_element(op, u64::MAX);
        u32::try_from(joined.saturating_mul(joins).div_ceil(element)).unwrap_or(u32::MAX)
    }

    /// The most elements of which a run is to be, whose functions are inlined or called as here.
    pub(crate) fn longest_run(op: &OpSource) -> u32 {
        u32::try_from(UNROLLED / Weights::of_an_element(op, 2 * CALL)).unwrap_or(u32::MAX).max(1)
    }

    /// The most inputs for which the loop that reduces a run of them is unrolled as a whole.
    pub(crate) fn max_appended(op: &OpSource) -> u32 {
        let of = |name| Weights::instructions_of(op, name);
        let by_input = by_input(op);
        let input = if op.has(by_input) { of(by_input) } else { of("lift").saturating_add(of("combine")) };
        u32::try_from(UNROLLED / input.max(1)).unwrap_or(u32::MAX)
    }

    /// Instructions of the unrolled loops over a run of so many elements, with functions at so many places.
    pub(crate) fn of_a_run(op: &OpSource, run: u32, places: Places, inlined: u32) -> u64 {
        let weights = Weights::of(op, places, inlined);
        let each = op.functions.iter().zip(&weights.functions).map(|(function, weight)| {
            let instructions = if weight.called { CALL } else { weight.instructions };
            calls_an_element(op, &function.name).saturating_mul(instructions)
        });
        each.fold(0, u64::saturating_add).saturating_mul(run.into())
    }

    /// Instructions for an element of a run, where a call of a function counts for so many at most.
    fn of_an_element(op: &OpSource, max: u64) -> u64 {
        let weights = Weights::of(op, Places::all(1), u32::MAX);
        let each = op.functions.iter().zip(&weights.functions).map(|(function, weight)| {
            calls_an_element(op, &function.name).saturating_mul(weight.instructions.min(max))
        });
        each.fold(0, u64::saturating_add).max(1)
    }
}

/// About the number of instructions that a scan executes for an element, without what joins partial results.
pub fn instructions_of_an_element(op: &OpSource) -> u64 {
    Weights::of_an_element(op, u64::MAX)
}

/// Whether `combine` is called, so that the steps of a network over a warp are a loop in the machine code as well: it would be called
/// at ten places otherwise, in each of the three networks of a kernel that looks at all. Lighter operators have their
/// steps unrolled, which is faster. Measured: `docs/tuning.md#networks-as-loops`.
pub(crate) fn calls_combine(op: &OpSource, places: Places, inlined: u32) -> bool {
    let weights = Weights::of(op, places, inlined);
    let mut functions = op.functions.iter().zip(&weights.functions);
    functions.any(|(function, weight)| function.name == "combine" && weight.called)
}

impl Weight {
    /// The weight of a function whose callees have weights. It is called if it has more instructions than `max`.
    fn of(function: &FunctionSource, helpers: &[Weight], max: u64) -> Self {
        let widest = widest(function);
        let words = function.returns.size.div_ceil(4).max(1) as u64;
        let own = function.uses.iter().map(|(part, times)| instructions(part, widest).saturating_mul(*times));
        let called = function.calls.iter().map(|(callee, times)| {
            let weight = helpers.get(*callee).map_or(CALL, |helper| match helper {
                Weight { cold: true, .. } => 0,
                Weight { called: true, .. } => CALL,
                Weight { instructions, .. } => *instructions,
            });
            weight.saturating_mul(*times)
        });
        let instructions = own.chain(called).fold(words, u64::saturating_add);
        Weight { instructions, called: function.cold || instructions > max.max(CALL), cold: function.cold }
    }
}

/// The widest number among the types that a function's text names.
fn widest(function: &FunctionSource) -> Width {
    let parameters = function.parameters.iter().map(|(_, ty)| ty);
    let mut widest = Width::default();
    parameters.chain([&function.returns]).for_each(|ty| widest.widen(ty));
    widest.widen_all(&function.body);
    widest.gathers_bytes = function.parameters.iter().any(|(_, ty)| has_bytes_of_words(ty));
    widest
}

/// Bytes of the widest integer and of the widest float.
#[derive(Clone, Copy, Default)]
struct Width {
    integer: usize,
    float: usize,
    /// Whether what it gathers are small arrays of bytes.
    gathers_bytes: bool,
}

impl Width {
    fn widen(&mut self, ty: &ElementType) {
        match &ty.kind {
            ElementKind::Primitive(Primitive::F16 | Primitive::Bf16 | Primitive::F32 | Primitive::F64) => {
                self.float = self.float.max(ty.size);
            }
            // Indices of arrays are `usize`, and rarely divisors.
            ElementKind::Primitive(Primitive::Usize | Primitive::Isize) => self.integer = self.integer.max(4),
            ElementKind::Primitive(_) | ElementKind::Enum { .. } => self.integer = self.integer.max(ty.size),
            ElementKind::Struct(fields) => fields.iter().for_each(|field| self.widen(&field.ty)),
            ElementKind::Array { item, .. } | ElementKind::Table { item, .. } => self.widen(item),
        }
    }

    fn widen_all(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Type(ty) | Piece::Constant { ty, .. } => self.widen(ty),
                Piece::Struct { ty, fields, base } => {
                    ty.iter().for_each(|ty| self.widen(ty));
                    fields.iter().for_each(|(_, value)| self.widen_all(value));
                    base.iter().for_each(|base| self.widen_all(base));
                }
                Piece::Divisor(value) => self.widen_all(value),
                Piece::Text(_) | Piece::Name(_) | Piece::Helper(_) | Piece::Line(_) => {}
            }
        }
    }
}

/// The instructions of a part of the prelude for numbers of these widths: rough figures, from the machine code of
/// sm_90.
fn instructions(part: &str, width: Width) -> u64 {
    let words = width.integer.div_ceil(4).max(1) as u64;
    match part {
        "div" | "rem" | "div_euclid" | "rem_euclid" if width.float > 0 && width.integer == 0 => {
            if width.float > 4 {
                80
            } else {
                20
            }
        }
        "div" | "rem" | "div_euclid" | "rem_euclid" => match words {
            1 => 20,
            2 => 90,
            _ => 500,
        },
        "by_constant" if words > 2 => 500,
        "by_constant" => 5 * words * words,
        // A comparison usually selects between values.
        "eq" | "lt" | "le" | "gt" | "ge" => 2 * words,
        "clamp" => 4 * words,
        // The array goes to memory, or one of its items is selected by comparisons.
        "anywhere" => 8,
        "gather_packed" if width.gathers_bytes => 1,
        "gather" if width.gathers_bytes => 3,
        "gather" | "gather_packed" => 8 + words,
        "mul" if width.float == 0 => words * words,
        "pow" | "powi" => 40 * words,
        "sqrt" | "recip" => {
            if width.float > 4 {
                60
            } else {
                20
            }
        }
        "exp" | "exp2" | "exp_m1" | "ln" | "ln_1p" | "log2" | "log10" | "tanh" | "cbrt" | "hypot" => {
            if width.float > 4 { 100 } else { 40 }
        }
        "sin" | "cos" | "tan" | "asin" | "acos" | "atan" | "atan2" | "sinh" | "cosh" | "powf" => {
            if width.float > 4 {
                200
            } else {
                120
            }
        }
        // They are part of the operation itself, or take no instruction.
        part if part.ends_with("_assign") || part.starts_with("literal") => 0,
        "float_literal" | "value_of" | "index" | "repeat" | "len" | "range" | "range_inclusive" | "rev" | "panic"
        | "from_bits" | "to_bits" => 0,
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::operator_of;

    fn function(ty: Primitive, uses: &[(&'static str, u64)], calls: &[(usize, u64)]) -> FunctionSource {
        FunctionSource {
            name: "combine".to_owned(),
            parameters: Vec::new(),
            returns: ElementType::primitive(ty),
            body: Vec::new(),
            file: String::new(),
            uses: uses.to_vec(),
            calls: calls.to_vec(),
            cold: false,
        }
    }

    #[test]
    fn light_functions_and_those_with_few_call_sites_are_inlined() {
        let weigh = |uses: &[_], places| {
            let op = OpSource { functions: vec![function(Primitive::U32, uses, &[])], ..operator_of(4) };
            Weights::of(&op, Places::all(places), INLINED).functions[0]
        };
        assert_eq!(weigh(&[("add", 1)], 1000), Weight { instructions: 2, called: false, cold: false });
        assert_eq!(weigh(&[("add", 23)], 100_000), Weight { instructions: 24, called: false, cold: false });
        assert_eq!(weigh(&[("add", 100)], 81), Weight { instructions: 101, called: false, cold: false });
        assert_eq!(weigh(&[("add", 100)], 82), Weight { instructions: 101, called: true, cold: false });
        assert_eq!(weigh(&[("add", u64::MAX), ("mul", 2)], 1).instructions, u64::MAX);
    }

    #[test]
    fn inlined_helpers_count_in_the_weight_of_their_callers() {
        let weights = |uses: u64, calls: u64| {
            let helpers = vec![function(Primitive::U32, &[("add", uses)], &[])];
            let functions = vec![function(Primitive::U32, &[("mul", 1)], &[(0, calls)])];
            Weights::of(&OpSource { functions, helpers, ..operator_of(4) }, Places::all(1), INLINED)
        };
        assert_eq!(weights(9, 3).functions[0], Weight { instructions: 2 + 3 * 10, called: false, cold: false });
        assert_eq!(weights(4095, 1).helpers[0], Weight { instructions: 4096, called: false, cold: false });
        assert_eq!(weights(4095, 3).helpers[0], Weight { instructions: 4096, called: true, cold: false });
        assert_eq!(weights(4095, 3).functions[0], Weight { instructions: 2 + 3 * CALL, called: false, cold: false });
    }

    #[test]
    fn cold_helpers_are_called_and_weigh_nothing_in_their_callers() {
        let helpers = vec![FunctionSource { cold: true, ..function(Primitive::U32, &[("add", 9)], &[]) }];
        let functions = vec![function(Primitive::U32, &[("mul", 1)], &[(0, 3)])];
        let op = OpSource { functions, helpers, ..operator_of(4) };
        let weights = Weights::of(&op, Places::all(1), INLINED);
        assert_eq!(weights.helpers[0], Weight { instructions: 10, called: true, cold: true });
        assert_eq!(weights.functions[0], Weight { instructions: 2, called: false, cold: false });
    }

    #[test]
    fn runs_of_heavy_operators_are_shorter() {
        let run = |uses: &[_]| {
            Weights::longest_run(&OpSource { functions: vec![function(Primitive::U8, uses, &[])], ..operator_of(1) })
        };
        assert_eq!([run(&[("add", 1)]), run(&[("add", 15)]), run(&[("add", 47)])], [1024, 128, 42]);
        // From there on it is called.
        assert_eq!(run(&[("add", 1000)]), run(&[("add", 47)]));
    }

    #[test]
    fn combine_is_called_where_it_is_long_for_its_call_sites() {
        let op = OpSource { functions: vec![function(Primitive::U32, &[("add", 100)], &[])], ..operator_of(4) };
        assert_eq!([81, 82].map(|places| calls_combine(&op, Places::all(places), INLINED)), [false, true]);
        let op = OpSource { functions: vec![function(Primitive::U32, &[("add", 23)], &[])], ..operator_of(4) };
        assert!(!calls_combine(&op, Places::all(100_000), INLINED));
    }

    #[test]
    fn wide_numbers_weigh_more() {
        let of = |ty, part| Weight::of(&function(ty, &[(part, 1)], &[]), &[], 1).instructions;
        for part in ["add", "mul", "rem"] {
            let [narrow, wide, widest] = [Primitive::U32, Primitive::U64, Primitive::U128].map(|ty| of(ty, part));
            assert!(narrow < wide && wide < widest, "{part}: {narrow}, {wide}, {widest}");
        }
        assert!(of(Primitive::F32, "exp") < of(Primitive::F64, "exp"));
        assert!(of(Primitive::U64, "by_constant") < of(Primitive::U64, "rem"));
    }
}
