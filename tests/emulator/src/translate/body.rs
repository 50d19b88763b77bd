//! The rules for what stands between a function's braces, and for types anywhere.

use super::{Translator, Unsupported};

/// Words that would escape the emulator's notice, or that it has no meaning for.
const REFUSED: [(&str, &str); 10] = [
    ("asm", "a machine instruction outside of the intrinsics"),
    ("auto", "a variable of this type would hold a place in memory, not the value read from there"),
    ("volatile", "say what is meant: a relaxed, acquire or release access"),
    ("goto", "not in the language of the kernels"),
    ("extern", "dynamic shared memory"),
    ("static", "a variable that all threads share"),
    ("__asm__", "a machine instruction outside of the intrinsics"),
    ("__global__", "a kernel inside of a function"),
    ("new", "not in the language of the kernels"),
    ("union", "bytes that are set without the emulator's notice"),
];

/// Words of CUDA that the host prelude has a meaning for.
const KNOWN: [&str; 9] = [
    "__syncthreads",
    "__syncwarp",
    "__shared__",
    "__trap",
    "__restrict__",
    "__builtin_memcpy",
    "__builtin_unreachable",
    "__builtin_expect",
    "__align__",
];

/// Words that a type of more than one word is made of.
const TYPE_WORDS: [&str; 6] = ["unsigned", "signed", "long", "short", "int", "char"];

/// Words that are no type, though a `*` may follow them.
const NO_TYPE: [&str; 7] = ["return", "else", "case", "sizeof", "const", "throw", "delete"];

impl Translator<'_> {
    /// Makes the state type at this position one that carries its past.
    pub(super) fn rewrite_state(&mut self, position: usize) {
        let named = self.is_word(position) && self.states.contains(&self.text(position));
        let measured =
            self.before(position) == "(" && position >= 2 && matches!(self.text(position - 2), "sizeof" | "alignof");
        // What is a template of the state, as `Words<State>`, is made of its bytes.
        let part = self.before(position) == "<" && self.text(position + 1) == ">";
        if named && !measured && !part && !matches!(self.before(position), "." | "->" | "::") {
            self.replace(position, format!("::emulator::Value<{}>", self.text(position)));
        }
    }

    /// The position of the `*` of a pointer type that begins here, if one does.
    pub(super) fn pointer_type(&self, start: usize) -> Option<usize> {
        let mut position = start;
        if self.text(position) == "const" {
            position += 1;
        }
        if !self.is_word(position) || NO_TYPE.contains(&self.text(position)) {
            return None;
        }
        if TYPE_WORDS.contains(&self.text(position)) {
            while TYPE_WORDS.contains(&self.text(position)) {
                position += 1;
            }
        } else {
            position += 1;
            while self.text(position) == "::" {
                position += 2;
            }
        }
        if self.text(position) == "const" {
            position += 1;
        }
        (self.text(position) == "*").then_some(position)
    }

    /// Rewrites a pointer type that begins at this position; the position after it. The caller knows that a type can stand
    /// here, so that `*` is no multiplication.
    pub(super) fn rewrite_pointer(&mut self, start: usize) -> Result<Option<usize>, Unsupported> {
        let Some(star) = self.pointer_type(start) else { return Ok(None) };
        if self.text(star + 1) == "*" {
            return Err(self.unsupported(star, "a pointer to a pointer"));
        }
        let first = format!("::emulator::Pointer<{}", self.current(start));
        self.replace(start, first);
        self.replace(star, ">");
        Ok(Some(star + 1))
    }

    pub(super) fn rewrite_body(&mut self, open: usize, close: usize) -> Result<(), Unsupported> {
        let mut position = open + 1;
        while position < close {
            if matches!(self.text(position), "struct" | "class" | "enum") {
                return Err(self.unsupported(position, "a type inside of a function"));
            }
            self.rewrite_state(position);
            position += 1;
        }
        position = open + 1;
        while position < close {
            position = self.rewrite_at(position, close)?;
        }
        Ok(())
    }

    /// Applies the rule that fits this position; the position after what it rewrote.
    fn rewrite_at(&mut self, position: usize, close: usize) -> Result<usize, Unsupported> {
        if self.gone[position] {
            return Ok(position + 1);
        }
        let text = self.text(position);
        // A reference to an array is one; a reference to a place in memory cannot be made of it.
        let names_array = text == "auto" && self.text(position + 1) == "&" && self.before(position) != "const";
        if names_array {
            return Ok(position + 1);
        }
        if let Some((_, reason)) = REFUSED.iter().find(|(word, _)| *word == text) {
            return Err(self.unsupported(position, reason));
        }
        if text.starts_with("__") && !KNOWN.contains(&text) || text.starts_with("atomic") {
            return Err(self.unsupported(position, "a machine instruction that the intrinsics do not name"));
        }
        match text {
            "__shared__" => return self.rewrite_shared(position, close),
            "threadIdx" | "blockIdx" | "blockDim" | "gridDim" => return self.rewrite_index(position),
            "__builtin_memcpy" | "memcpy" => self.replace(position, "::emulator::copy_bytes"),
            "identity" if matches!(self.before(position), ".") => self.rewrite_identity(position)?,
            "lift" | "combine" | "append" | "prepend" if matches!(self.before(position), "." | "->") => {
                self.rewrite_applied(position)?
            }
            "*" => self.rewrite_dereference(position)?,
            "->" => self.rewrite_member(position)?,
            "sizeof" => return self.rewrite_size(position),
            "__restrict__" => self.remove(position),
            "[" => self.rewrite_array_type(position),
            "reinterpret_cast" | "static_cast" if self.text(position + 1) == "<" => {
                if let Some(star) = self.pointer_type(position + 2) {
                    self.remove(position);
                    self.remove(position + 1);
                    self.rewrite_pointer(position + 2)?;
                    self.remove(star + 1);
                    return Ok(star + 2);
                }
            }
            _ => {}
        }
        self.rewrite_declared_pointer(position)
    }

    /// A pointer type inside a body: at the start of a statement, or alone between brackets (a cast).
    fn rewrite_declared_pointer(&mut self, position: usize) -> Result<usize, Unsupported> {
        let begins_statement = matches!(self.before(position), ";" | "{" | "}")
            || (self.before(position) == "(" && position >= 2 && self.text(position - 2) == "for");
        let Some(star) = self.pointer_type(position) else { return Ok(position + 1) };
        let mut name = star + 1;
        while matches!(self.text(name), "const" | "__restrict__") {
            name += 1;
        }
        let declares = begins_statement && self.is_word(name) && matches!(self.text(name + 1), "=" | ";" | "{" | "(");
        let casts = self.before(position) == "(" && self.text(star + 1) == ")";
        if declares || casts || (begins_statement && self.text(star + 1) == "*") {
            return Ok(self.rewrite_pointer(position)?.unwrap_or(position + 1));
        }
        Ok(position + 1)
    }

    fn rewrite_index(&mut self, position: usize) -> Result<usize, Unsupported> {
        if self.text(position + 1) != "." || self.text(position + 2) != "x" {
            return Err(self.unsupported(position, "blocks and grids have one dimension, `x`"));
        }
        let call = match self.text(position) {
            "threadIdx" => "thread_index",
            "blockIdx" => "block_index",
            "blockDim" => "block_size",
            _ => "grid_size",
        };
        self.replace(position, format!("::emulator::host->{call}()"));
        self.remove(position + 1);
        self.remove(position + 2);
        Ok(position + 3)
    }

    /// `op.identity()`
    fn rewrite_identity(&mut self, position: usize) -> Result<(), Unsupported> {
        let operator = position - 2;
        if !self.is_word(operator)
            || matches!(self.before(operator), "." | "->" | "::")
            || self.text(position + 1) != "("
        {
            return Err(self.unsupported(position, "expected `operator.identity()`"));
        }
        let close = self.partner[position + 1];
        let made = format!("::emulator::Value<State>({}", self.current(operator));
        self.replace(operator, made);
        self.replace(close, "))");
        Ok(())
    }

    /// `op.combine(a, b)`, `op.lift(x)`, `op.append(a, x)` and `op.prepend(x, a)`
    fn rewrite_applied(&mut self, position: usize) -> Result<(), Unsupported> {
        let operator = position.wrapping_sub(2);
        let plain = self.is_word(operator)
            && self.before(position) == "."
            && !matches!(self.before(operator), "." | "->" | "::")
            && self.text(position + 1) == "(";
        if !plain {
            let expected = "expected `operator.combine(left, right)`, or `lift`, `append` or `prepend` of an input";
            return Err(self.unsupported(position, expected));
        }
        let applied = match self.text(position) {
            "combine" => "apply",
            by_input => by_input,
        };
        let call = format!("::emulator::{applied}({}, {}, ", self.current(operator), self.line(position));
        self.replace(operator, call);
        self.remove(position - 1);
        self.remove(position);
        self.remove(position + 1);
        Ok(())
    }

    /// `sizeof(variable)` and `sizeof(*pointer)`; a type's size is what it is.
    fn rewrite_size(&mut self, position: usize) -> Result<usize, Unsupported> {
        if self.text(position + 1) != "(" {
            return Err(self.unsupported(position, "expected `sizeof(…)`"));
        }
        let close = self.partner[position + 1];
        let points = self.text(position + 2) == "*";
        let name = if points { position + 3 } else { position + 2 };
        if self.is_word(name) && name + 1 == close && !self.types.contains(self.text(name)) {
            self.replace(position, if points { "EMULATOR_POINTEE_SIZE" } else { "EMULATOR_SIZE" });
            if points {
                self.remove(position + 2);
            }
        }
        Ok(close + 1)
    }

    /// `p->name`
    fn rewrite_member(&mut self, position: usize) -> Result<(), Unsupported> {
        let pointer = position - 1;
        let plain =
            self.is_word(pointer) && self.is_word(position + 1) && !matches!(self.before(pointer), "." | "->" | "::");
        if !plain || self.text(position + 2) == "(" {
            return Err(self.unsupported(position, "expected `pointer->member`"));
        }
        let member =
            format!("EMULATOR_FIELD({}, {}, {})", self.current(pointer), self.text(position + 1), self.line(position));
        self.replace(pointer, member);
        self.remove(position);
        self.remove(position + 1);
        Ok(())
    }

    /// `<T[N]>`, the type of a shared array as an argument of a template.
    fn rewrite_array_type(&mut self, position: usize) {
        let (element, close) = (position - 1, self.partner[position]);
        if self.is_word(element) && self.before(element) == "<" && self.text(close + 1) == ">" {
            let pointer = format!("const ::emulator::Pointer<{}>", self.current(element));
            self.replace(element, pointer);
            (position..=close).for_each(|at| self.remove(at));
        }
    }

    /// `*p` and `*(p + 1)`, where `*` cannot be a multiplication.
    fn rewrite_dereference(&mut self, position: usize) -> Result<(), Unsupported> {
        let operand_before = self.is_word(position - 1) && !matches!(self.before(position), "return" | "else")
            || matches!(self.before(position), ")" | "]")
            || self.token(position - 1).is_some_and(|token| token.kind == super::Kind::Number);
        if operand_before {
            return Ok(());
        }
        let next = position + 1;
        if self.text(next) == "(" {
            let close = self.partner[next];
            self.replace(close, ")[0]");
        } else if self.is_word(next) && !matches!(self.text(next + 1), "[" | "(" | "." | "->" | "++" | "--" | "::") {
            let element = format!("{}[0]", self.current(next));
            self.replace(next, element);
        } else {
            return Err(self.unsupported(position, "expected `*pointer` or `*(pointer + …)`"));
        }
        self.remove(position);
        Ok(())
    }

    /// `__shared__ T name[N];`, `__shared__ T name[M][N];` or `__shared__ T name;`
    fn rewrite_shared(&mut self, start: usize, close: usize) -> Result<usize, Unsupported> {
        let Some(end) = (start..close).find(|&at| self.text(at) == ";") else {
            return Err(self.unsupported(start, "a shared variable without an end"));
        };
        let mut position = start + 1;
        let mut align = "0".to_owned();
        if matches!(self.text(position), "alignas" | "__align__") {
            let bracket = self.partner[position + 1];
            align = self.join(position + 2, bracket);
            position = bracket + 1;
        }
        let Some(name) = (position + 1..=end).find(|&at| matches!(self.text(at), "[" | ";")).map(|after| after - 1)
        else {
            return Err(self.unsupported(start, "expected `__shared__ type name[length];`"));
        };
        if !self.is_word(name) || name == position || (position..name).any(|at| self.text(at) == "*") {
            return Err(self.unsupported(start, "expected `__shared__ type name[length];`"));
        }
        let ty = self.join(position, name);
        let mut extents = Vec::new();
        let mut bracket = name + 1;
        while self.text(bracket) == "[" {
            extents.push(self.join(bracket + 1, self.partner[bracket]));
            bracket = self.partner[bracket] + 1;
        }
        if bracket != end {
            return Err(self.unsupported(bracket, "shared memory cannot be initialised where it is declared"));
        }
        let (id, line, name_text) = (self.shared, self.line(start), self.text(name).to_owned());
        self.shared += 1;
        let array = |length: &str| {
            format!("::emulator::shared<{ty}>({id}, \"{name_text}\", {length}, (std::size_t)({align}), {line})")
        };
        let declaration = match extents.as_slice() {
            [] => format!("const ::emulator::Pointer<{ty}> {name_text} = {}", array("1")),
            [length] => format!("const ::emulator::Pointer<{ty}> {name_text} = {}", array(length)),
            [rows, columns] => format!(
                "const ::emulator::Rows<{ty}, ({columns})> {name_text}{{{}}}",
                array(&format!("({rows}) * ({columns})"))
            ),
            _ => return Err(self.unsupported(start, "a shared array of more than two dimensions")),
        };
        for at in start..end {
            self.remove(at);
        }
        self.replace(start, declaration);
        self.check_uses(end, close, &name_text, extents.is_empty())?;
        Ok(end)
    }

    /// A shared variable that is no array is element 0 of one; the size of a shared array is not that of a pointer.
    fn check_uses(&mut self, start: usize, close: usize, name: &str, scalar: bool) -> Result<(), Unsupported> {
        for position in start..close {
            if self.text(position) != name || matches!(self.before(position), "." | "->") {
                continue;
            }
            if self.before(position) == "sizeof"
                || (self.before(position) == "(" && self.text(position - 2) == "sizeof")
            {
                return Err(self.unsupported(position - 1, "the size of a shared variable"));
            }
            if scalar {
                self.replace(position, format!("{name}[0]"));
            }
        }
        Ok(())
    }
}
