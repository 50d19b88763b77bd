//! An operator as the macro provides it: CUDA text in pieces, with the values that only rustc knows filled in.

use std::borrow::Cow;

use crate::{
    element::{ElementType, SHORT_TABLES},
    prelude,
};

/// An operator's CUDA text and types. `#[scan_op]` writes the code that makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct OpSource {
    /// The user's name for the operator (`Largest`, `compose`).
    pub name: String,
    /// Element type that the scan reads.
    pub input: ElementType,
    /// Element type that is combined; the same as `input` unless the operator has a `lift`.
    pub state: ElementType,
    /// Element type that the scan writes; the same as the carry's, or `state`, unless the operator has `project` or
    /// `emit`.
    pub output: ElementType,
    /// The bytes of the identity, evaluated by Rust; `None` if the operator has none.
    pub identity: Option<Vec<u8>>,
    /// The carry that each input moves on, where the operator is stepped: then it has `apply` and `step`.
    pub carry: Option<CarrySource>,
    /// The operator's own fields where it has parameters known only at run time.
    pub parameters: Option<ElementType>,
    /// `combine`, and `lift`, `append`, `prepend`, `apply`, `step`, `emit` and `project` where the operator declares
    /// them.
    pub functions: Vec<FunctionSource>,
    /// The functions that these call, each after its own callees.
    pub helpers: Vec<FunctionSource>,
    /// The values from which it can make outputs.
    pub outputs_of: OutputsOf,
    /// The operator of a reversed scan, where it is not this one with the operands of `combine` exchanged, or a
    /// stepped operator.
    pub backwards: Option<Box<OpSource>>,
}

/// The values from which an operator can make outputs. From `Inputs` on, each variant includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputsOf {
    /// Nothing: it begins within the input, and has no start there.
    NoStart,
    /// Nothing: it needs outputs of carries, of an operator that makes them of inputs only.
    NoProject,
    /// Nothing: it needs outputs of exclusive prefixes, of an operator that needs the key of the input for these.
    NoKey,
    /// An input and the carry before it, by `emit`.
    Inputs,
    /// The total, too: by `project`, or because a carry is an output.
    Totals,
    /// The carry before an input alone, too, as an exclusive scan does.
    Prefixes,
}

/// The carry of a stepped operator: what each input moves on, and what partial results apply to.
#[derive(Clone, Debug, PartialEq)]
pub struct CarrySource {
    /// Its element type.
    pub ty: ElementType,
    /// The bytes of the carry before the first input, evaluated by Rust; `None` where a scan must be given one.
    pub start: Option<Vec<u8>>,
}

impl OpSource {
    /// Bytes of the largest of the element types.
    pub(crate) fn largest_element(&self) -> usize {
        self.elements().map(|element| element.size).max().unwrap_or(0)
    }

    /// The types of all that kernels keep of it.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &ElementType> {
        [&self.input, &self.state, &self.output].into_iter().chain(self.carry.as_ref().map(|carry| &carry.ty))
    }

    /// Whether the operator declares a function.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function.name == name)
    }

    /// The bytes of shared memory that hold its short tables and constant arrays, if there is so little that kernels
    /// for long inputs keep them there; else 0.
    pub(crate) fn table_bytes(&self) -> u32 {
        let tables = self.parameters.iter().flat_map(ElementType::short_tables).map(|(_, _, short)| short.room);
        let constants = self.constants().into_iter().filter_map(|(ty, _)| ty.kept_constant()).map(|(_, bytes)| bytes);
        let bytes = tables.chain(constants).fold(0, u32::saturating_add);
        if bytes > SHORT_TABLES { 0 } else { bytes }
    }

    /// The constants that its functions name, each once: types and bytes.
    fn constants(&self) -> Vec<(&ElementType, &[u8])> {
        let mut constants = Vec::new();
        for function in self.functions.iter().chain(&self.helpers) {
            function.body.iter().for_each(|piece| piece.add_constants(&mut constants));
        }
        constants
    }

    /// Whether runs of inputs are folded, and scanned, input by input, and not lifted element by lifted element.
    pub(crate) fn takes_inputs(&self) -> bool {
        self.carry.is_some() || self.has("append")
    }

    /// Whether runs are folded from their ends, input by input: those of a stepped operator that says how.
    pub(crate) fn folds_backwards(&self) -> bool {
        self.carry.is_some() && self.has("prepend")
    }

    /// Whether the result of a reduction is the total: no function makes it of that.
    #[doc(hidden)]
    pub fn totals_are_results(&self) -> bool {
        self.carry.is_none() && self.output == self.state && self.outputs_are_carries()
    }

    /// Whether no function makes outputs of carries.
    #[doc(hidden)]
    pub fn outputs_are_carries(&self) -> bool {
        !self.has("project") && !self.has("emit")
    }

    /// What initial values and totals are of: the carry, or else the state.
    pub fn initial(&self) -> &ElementType {
        self.carry.as_ref().map_or(&self.state, |carry| &carry.ty)
    }

    /// Whether it works with floats, in its elements or within its functions. Where it only may, it does.
    #[doc(hidden)]
    pub fn has_floats(&self) -> bool {
        let functions = || self.functions.iter().chain(&self.helpers);
        let types = functions().flat_map(|function| function.parameters.iter().map(|(_, ty)| ty));
        self.elements().chain(&self.parameters).chain(types).any(ElementType::has_floats)
            || functions().flat_map(|function| &function.uses).any(|(part, _)| *part == "float_literal")
            || functions().flat_map(|function| &function.body).any(Piece::has_floats)
    }

    /// Whether it may be applied to zeros in place of elements, if the results are not used: zeros are an element, and
    /// its functions terminate, do not panic, and read only their arguments.
    pub(crate) fn takes_zeros(&self) -> bool {
        let functions = || self.functions.iter().chain(&self.helpers);
        let loops =
            |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains("while (") || text.contains("for ("));
        self.input.has_zero()
            && !prelude::may_panic(functions().flat_map(|function| &function.uses).map(|(name, _)| *name))
            && !functions().flat_map(|function| &function.body).any(loops)
    }
}

/// One function of an operator, or one that it calls.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionSource {
    /// `combine`, `lift`, …; of a helper, its own name, generic arguments joined by `_`.
    pub name: String,
    /// The parameters after `self`, in order: name (as in [`Piece::Name`]), type.
    pub parameters: Vec<(String, ElementType)>,
    /// The type of the result.
    pub returns: ElementType,
    /// The statements between the braces.
    pub body: Vec<Piece>,
    /// The user's file, as a path that is the same on every machine (see [`source_path`]).
    pub file: String,
    /// Parts of the Rust-semantics prelude that the body needs: the names of the numeric methods it calls
    /// (`max`, `sqrt`) and of the operators it applies (`add`, `shl`, `lt`, `cast`, `index`). Each has the number of
    /// uses per call: a use in a loop counts for each iteration, as far as their number is known, and every branch
    /// counts. A division by a constant counts as `by_constant`, an index that depends on the data as `anywhere`.
    pub uses: Vec<(&'static str, u64)>,
    /// The helpers that the body calls, by index, and the number of calls.
    pub calls: Vec<(usize, u64)>,
    /// Whether it is rarely called: `#[cold]`. It is not inlined, and its callers do not weigh more for it.
    pub cold: bool,
}

/// A piece of a function's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Literal CUDA text.
    Text(Cow<'static, str>),
    /// A local or a field. It keeps its name in CUDA unless C++ needs the word itself (`int`, `register`).
    Name(&'static str),
    /// The CUDA name of a type.
    Type(ElementType),
    /// A value that Rust computed, written as a CUDA expression.
    Constant {
        /// Its type.
        ty: ElementType,
        /// Its bytes, in the host's (little-endian) order.
        bytes: Vec<u8>,
        /// The name of the constant. A named array is written once in the text and indexed in memory.
        name: Option<&'static str>,
    },
    /// The name of the helper with this index.
    Helper(usize),
    /// A struct expression. Its fields are written in the order of declaration, which the macro cannot see.
    Struct {
        /// The struct; `None` for the type of the field that it initializes.
        ty: Option<ElementType>,
        /// Rust field name and value, in the order in which the user wrote them.
        fields: Vec<(&'static str, Vec<Piece>)>,
        /// The struct that the other fields are copied from (`..base`).
        base: Option<Vec<Piece>>,
    },
    /// A divisor that is one of the operator's parameters, or a part of one, converted or not: all elements share it.
    Divisor(Vec<Piece>),
    /// The text that follows is from this line of the user's file. Occurs only between statements, at the start of a
    /// line.
    Line(u32),
}

impl Piece {
    /// Whether it names a type of floats.
    fn has_floats(&self) -> bool {
        match self {
            Piece::Text(text) => ["f16", "f32", "f64"].iter().any(|float| text.contains(float)),
            Piece::Type(ty) | Piece::Constant { ty, .. } => ty.has_floats(),
            Piece::Struct { ty, fields, base } => {
                ty.as_ref().is_some_and(ElementType::has_floats)
                    || fields.iter().map(|(_, value)| value).chain(base).flatten().any(Piece::has_floats)
            }
            Piece::Divisor(value) => value.iter().any(Piece::has_floats),
            Piece::Name(_) | Piece::Helper(_) | Piece::Line(_) => false,
        }
    }

    /// Adds the constants with names that it holds, but for those that are there already.
    fn add_constants<'p>(&'p self, constants: &mut Vec<(&'p ElementType, &'p [u8])>) {
        match self {
            Piece::Constant { ty, bytes, name: Some(_) } if !constants.contains(&(ty, bytes)) => {
                constants.push((ty, bytes));
            }
            Piece::Struct { fields, base, .. } => {
                let values = fields.iter().map(|(_, value)| value).chain(base);
                values.flatten().for_each(|piece| piece.add_constants(constants));
            }
            Piece::Divisor(value) => value.iter().for_each(|piece| piece.add_constants(constants)),
            _ => {}
        }
    }
}

/// A name of the user's source file that is the same on every machine: a path relative to the workspace is unchanged,
/// an absolute one is shortened to begin with the folder of its crate.
///
/// ```
/// # use scan_codegen::source_path;
/// assert_eq!(source_path("app/src/main.rs", Some("/home/me/app")), "app/src/main.rs");
/// assert_eq!(source_path("/home/me/app/src/main.rs", Some("/home/me/app")), "app/src/main.rs");
/// assert_eq!(source_path(r"C:\me\app\src\main.rs", Some(r"C:\me\app")), "app/src/main.rs");
/// ```
pub fn source_path(file: &str, manifest_dir: Option<&str>) -> String {
    let file = file.replace('\\', "/");
    let Some(dir) = manifest_dir.map(|dir| dir.replace('\\', "/")) else { return file };
    match file.strip_prefix(&format!("{}/", dir.trim_end_matches('/'))) {
        Some(inside) => {
            let package = dir.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            format!("{package}/{inside}")
        }
        None => file,
    }
}

/// An operator without text or identity, on elements of these sizes, which are all that a planner uses.
#[cfg(test)]
pub(crate) fn operator_of(bytes: usize) -> OpSource {
    let element = ElementType::array(ElementType::primitive(crate::Primitive::U8), bytes);
    OpSource {
        name: "Op".to_owned(),
        input: element.clone(),
        state: element.clone(),
        output: element,
        identity: None,
        carry: None,
        parameters: None,
        functions: Vec::new(),
        helpers: Vec::new(),
        outputs_of: OutputsOf::Prefixes,
        backwards: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Primitive;

    /// A function that names a constant of `bytes` bytes, as a field of a struct expression and by itself.
    fn naming(bytes: usize) -> FunctionSource {
        let ty = ElementType::array(ElementType::primitive(Primitive::U8), bytes);
        let constant = Piece::Constant { bytes: vec![0; bytes], name: Some("ROWS"), ty: ty.clone() };
        let fields = vec![("next", vec![constant.clone()])];
        FunctionSource {
            name: "combine".to_owned(),
            parameters: Vec::new(),
            returns: ty,
            body: vec![Piece::Struct { ty: None, fields, base: None }, constant],
            file: String::new(),
            uses: Vec::new(),
            calls: Vec::new(),
            cold: false,
        }
    }

    #[test]
    fn constants_take_shared_memory_once_if_all_fit() {
        let bytes = |functions, helpers| OpSource { functions, helpers, ..operator_of(1) }.table_bytes();
        assert_eq!(bytes(vec![naming(512), naming(512)], vec![naming(512)]), 512);
        assert_eq!(bytes(vec![naming(512)], vec![naming(2048), naming(16)]), 2560);
        assert_eq!(bytes(vec![naming(512)], vec![naming(8192)]), 0);
    }
}
