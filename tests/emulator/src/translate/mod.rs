//! Generated CUDA as C++ that calls the emulator: a rewriting of tokens, line by line, that keeps every line where it
//! is.
//!
//! The generated text is regular, so a few rules do (the host prelude, `host.hpp`, has the classes they name):
//!
//! | in the kernels' text | becomes |
//! |---|---|
//! | `extern "C" __global__ void __launch_bounds__(N) name(…)` | a plain function; its parameters' types are kept aside, and how many blocks make a cluster (`__cluster_dims__`) |
//! | `State`, and `Input` and `Output` where they are the same type | `Value<…>`, which carries its past: how many applications deep it is |
//! | `T*` in declarations, fields and casts | `Pointer<T>`, which reads and writes through the emulator |
//! | `*p`, `p->name` | `p[0]`, and a call, because those can tell their line |
//! | `sizeof(variable)` | the size that it has on the GPU |
//! | `__shared__ T name[N];` | a pointer to an array that the emulator keeps for the block |
//! | the same outside of all functions | a variable of the thread of the CPU, which is not checked |
//! | `op.combine(a, b)` | `apply(op, line, a, b)` |
//! | `op.lift(x)` | `lift(op, line, x)` |
//! | `op.append(a, x)`, `op.prepend(x, a)` | `append(op, line, a, x)`, `prepend(op, line, x, a)` |
//! | `threadIdx.x` and its like | a call |
//! | a definition of an intrinsic (`shuffle_up`, `fence`, …) | nothing: the host prelude defines it |
//!
//! The operator's own text stays as it is. What the rules do not know is an error, not a guess.

mod body;
mod tokens;

use std::collections::HashSet;

use tokens::{Kind, Token, join, tokenize};

/// The intrinsics that the host prelude defines.
const INTRINSICS: [&str; 44] = [
    "__syncwarp",
    "shuffle",
    "shuffle_up",
    "shuffle_down",
    "shuffle_xor",
    "ballot",
    "lowest_set_bit",
    "product_high",
    "highest_set_lane",
    "load_relaxed",
    "load_tickets",
    "load_acquire",
    "store_relaxed",
    "store_release",
    "fetch_ticket",
    "add_bits",
    "fence",
    "pause",
    "has_waited_long",
    "dynamic_shared_memory",
    "shared_address",
    "init_barrier",
    "fence_barriers",
    "arrive",
    "arrive_for_warp",
    "arrive_expect_tx",
    "wait",
    "bulk_load",
    "bulk_store",
    "wait_for_bulk_stores",
    "fence_for_copies",
    "cp_async",
    "cp_async_commit_group",
    "cp_async_wait_all",
    "cp_async_wait_group",
    "opaque_place",
    "opaque_word",
    "intrinsic_item",
    "move_table",
    "store_to_block",
    "arrive_in_cluster",
    "wait_for_cluster",
    "wait_for_previous_launch",
    "launch_dependents",
];

/// The C++ text of one generated source.
#[derive(Clone, Debug)]
pub(super) struct Translation {
    /// Lines that must stand before any namespace is opened.
    pub(super) includes: Vec<String>,
    /// The elements and the operator, without comments: the same text for every strategy.
    pub(super) operator: String,
    /// All else, its lines those of the source from this one on.
    pub(super) body: String,
    pub(super) first_line: u32,
    /// The kernels, in the order of the text.
    pub(super) kernels: Vec<Signature>,
}

/// How a kernel is called.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    /// Its name.
    pub(super) name: String,
    /// The types of its parameters.
    pub(super) parameters: Vec<String>,
    /// What stands in `__launch_bounds__` and in `__cluster_dims__`; empty where that is missing.
    pub(super) bound: String,
    pub(super) cluster: String,
}

/// Why a text was not translated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: the emulator does not know what to make of `{construct}` ({reason})")]
pub struct Unsupported {
    /// The line of the generated text.
    pub line: u32,
    /// What stands there.
    pub construct: String,
    /// What is the matter with it.
    pub reason: &'static str,
}

/// Rewrites a generated source.
pub(super) fn translate(text: &str) -> Result<Translation, Unsupported> {
    let mut translator = Translator::new(text)?;
    let includes = translator.take_includes();
    translator.remove_intrinsics()?;
    let kernels_begin = translator.find_operator()?;
    translator.rewrite_kept_constants(kernels_begin);
    let kernels = translator.rewrite_kernels(kernels_begin)?;
    let split = translator.solid.get(kernels_begin).copied().unwrap_or(translator.tokens.len());
    let first_line = translator.tokens.get(split).map_or(1, |token| token.line);
    let (operator, body) = translator.tokens.split_at_mut(split);
    operator.iter_mut().filter(|token| token.kind == Kind::Blank).for_each(Token::remove_comment);
    Ok(Translation { includes, operator: join(operator), body: join(body), first_line, kernels })
}

/// The text at work. Positions count the tokens that are neither blank nor preprocessor lines.
struct Translator<'a> {
    tokens: Vec<Token<'a>>,
    /// The token at each position.
    solid: Vec<usize>,
    /// The position of the bracket that closes or opens the one at this position.
    partner: Vec<usize>,
    /// Whether the token at this position has been taken out.
    gone: Vec<bool>,
    /// The names that the kernels have for the operator's state type.
    states: Vec<&'a str>,
    /// The names of types: what follows `struct`, `class`, `typename` and their like.
    types: HashSet<&'a str>,
    /// Shared arrays found so far.
    shared: u32,
}

impl<'a> Translator<'a> {
    fn new(text: &'a str) -> Result<Self, Unsupported> {
        let tokens = tokenize(text);
        let is_solid = |token: &Token<'_>| !matches!(token.kind, Kind::Blank | Kind::Directive);
        let solid: Vec<usize> = (0..tokens.len()).filter(|&index| is_solid(&tokens[index])).collect();
        let gone = vec![false; solid.len()];
        let mut translator = Translator {
            tokens,
            partner: vec![usize::MAX; solid.len()],
            solid,
            gone,
            states: Vec::new(),
            types: HashSet::new(),
            shared: 0,
        };
        translator.match_brackets()?;
        translator.find_types();
        Ok(translator)
    }

    fn match_brackets(&mut self) -> Result<(), Unsupported> {
        let mut open: Vec<(usize, &str)> = Vec::new();
        for position in 0..self.solid.len() {
            let closes = match self.text(position) {
                "(" => ")",
                "[" => "]",
                "{" => "}",
                ")" | "]" | "}" => {
                    match open.pop() {
                        Some((opened, closes)) if closes == self.text(position) => {
                            self.partner[position] = opened;
                            self.partner[opened] = position;
                        }
                        _ => return Err(self.unsupported(position, "a bracket that none opens")),
                    }
                    continue;
                }
                _ => continue,
            };
            open.push((position, closes));
        }
        match open.pop() {
            Some((position, _)) => Err(self.unsupported(position, "a bracket that none closes")),
            None => Ok(()),
        }
    }

    fn find_types(&mut self) {
        for position in 0..self.solid.len() {
            if matches!(self.text(position), "struct" | "class" | "union" | "enum" | "typename" | "using") {
                let name = match self.text(position + 1) {
                    "alignas" => self.partner[position + 2] + 1,
                    _ => position + 1,
                };
                self.types.insert(self.text(name));
            }
            if ["Array<", "RunUnit<"].iter().any(|template| self.text(position).starts_with(template)) {
                self.types.insert(self.text(position));
            }
        }
        self.types.extend(["unsigned", "signed", "long", "short", "int", "char", "float", "double", "bool", "size_t"]);
    }

    fn token(&self, position: usize) -> Option<&Token<'a>> {
        self.solid.get(position).map(|&index| &self.tokens[index])
    }

    /// The text at a position; empty past the end. Strings are not taken for what they contain.
    fn text(&self, position: usize) -> &'a str {
        match self.token(position) {
            Some(token) if token.kind != Kind::Text => token.text,
            _ => "",
        }
    }

    fn before(&self, position: usize) -> &'a str {
        if position == 0 { "" } else { self.text(position - 1) }
    }

    fn is_word(&self, position: usize) -> bool {
        self.token(position).is_some_and(|token| token.kind == Kind::Word)
    }

    fn line(&self, position: usize) -> u32 {
        self.token(position).map_or(0, |token| token.line)
    }

    /// What stands at a position by now.
    fn current(&self, position: usize) -> String {
        self.token(position)
            .map(|token| token.replacement.clone().unwrap_or_else(|| token.text.to_owned()))
            .unwrap_or_default()
    }

    fn replace(&mut self, position: usize, text: impl Into<String>) {
        let index = self.solid[position];
        self.tokens[index].replace(text);
    }

    fn remove(&mut self, position: usize) {
        let index = self.solid[position];
        self.tokens[index].remove();
        self.gone[position] = true;
    }

    fn unsupported(&self, position: usize, reason: &'static str) -> Unsupported {
        let construct = self.token(position).map_or_else(String::new, |token| token.text.to_owned());
        Unsupported { line: self.line(position), construct, reason }
    }

    fn take_includes(&mut self) -> Vec<String> {
        let mut includes = Vec::new();
        for token in &mut self.tokens {
            if token.kind == Kind::Directive && token.text.starts_with("#include") {
                includes.push(token.text.to_owned());
                token.remove();
            }
        }
        includes
    }

    /// The positions that stand outside all braces, from `start` on.
    fn outermost(&self, start: usize) -> impl Iterator<Item = usize> {
        let mut position = start;
        std::iter::from_fn(move || {
            let here = (position < self.solid.len()).then_some(position)?;
            position = if self.text(here) == "{" { self.partner[here] } else { here + 1 };
            Some(here)
        })
    }

    fn remove_intrinsics(&mut self) -> Result<(), Unsupported> {
        let mut item = 0;
        let mut removals = Vec::new();
        for position in self.outermost(0) {
            let names_function = INTRINSICS.contains(&self.text(position)) && self.text(position + 1) == "(";
            if names_function {
                let body = self.partner[position + 1] + 1;
                if self.text(body) != "{" {
                    return Err(self.unsupported(position, "an intrinsic, but not its definition"));
                }
                removals.push(item..=self.partner[body]);
            }
            if matches!(self.text(position), ";" | "}") {
                item = position + 1;
            }
        }
        for range in removals {
            for position in range {
                self.remove(position);
            }
        }
        Ok(())
    }

    /// Finds the operator's struct by its `combine`, and after it the names of the element types. The kernels begin
    /// after the struct.
    fn find_operator(&mut self) -> Result<usize, Unsupported> {
        let structs: Vec<usize> = self.outermost(0).filter(|&at| self.text(at) == "{").collect();
        for open in structs {
            let close = self.partner[open];
            for position in open + 1..close {
                if self.text(position) == "combine" && self.text(position + 1) == "(" {
                    if self.text(close + 1) != ";" {
                        return Err(self.unsupported(position, "expected `struct Operator { … };`"));
                    }
                    self.find_states(close + 2)?;
                    return Ok(close + 2);
                }
            }
        }
        Err(self.unsupported(0, "there is no struct with a `combine`"))
    }

    /// Constants that a block copies to shared memory are variables of the thread that executes all of its threads.
    fn rewrite_kept_constants(&mut self, end: usize) {
        let shared: Vec<_> = self.outermost(0).filter(|&at| at < end && self.text(at) == "__shared__").collect();
        shared.into_iter().for_each(|at| self.replace(at, "static thread_local"));
    }

    /// Reads `using State = …;` and its like: which names are the state type. A head flag is a `bool` that
    /// is no partial result, whatever the state is.
    fn find_states(&mut self, start: usize) -> Result<(), Unsupported> {
        let mut names = Vec::new();
        for position in self.outermost(start).filter(|&at| self.text(at) == "using").collect::<Vec<_>>() {
            let end = self.outermost(position).find(|&at| self.text(at) == ";").unwrap_or(position);
            names.push((self.text(position + 1), self.join(position + 3, end)));
        }
        let Some((_, state)) = names.iter().find(|(name, _)| *name == "State") else {
            return Err(self.unsupported(start, "expected `using State = …;` after the operator's struct"));
        };
        self.states =
            names.iter().filter(|(name, ty)| ty == state && *name != "HeadFlag").map(|(name, _)| *name).collect();
        Ok(())
    }

    fn rewrite_kernels(&mut self, start: usize) -> Result<Vec<Signature>, Unsupported> {
        let mut kernels = Vec::new();
        let mut position = start;
        while position < self.solid.len() {
            if self.gone[position] {
                position += 1;
                continue;
            }
            let Some(end) = self.outermost(position).find(|&at| matches!(self.text(at), "{" | ";")) else { break };
            let declares_type =
                matches!(self.text(self.after_template(position)), "struct" | "union" | "enum" | "class");
            if self.text(end) == "{" && !declares_type && self.before(end) != "=" {
                kernels.extend(self.rewrite_function(position, end)?);
                position = self.partner[end] + 1;
            } else {
                if !declares_type && (position..end).any(|at| matches!(self.text(at), "__device__" | "__constant__")) {
                    return Err(self.unsupported(position, "a variable that all threads share"));
                }
                if declares_type {
                    self.rewrite_indexing(position, end);
                    self.rewrite_fields(end)?;
                } else if self.text(position) == "using" {
                    self.rewrite_pointer(position + 3)?;
                }
                let end = if self.text(end) == "{" { self.partner[end] + 1 } else { end };
                position = end + 1;
            }
        }
        Ok(kernels)
    }

    /// The position after `template <…>`, if that stands here.
    fn after_template(&self, position: usize) -> usize {
        if self.text(position) != "template" {
            return position;
        }
        let mut depth = 0;
        for at in position + 1..self.solid.len() {
            match self.text(at) {
                "<" => depth += 1,
                ">" if depth == 1 => return at + 1,
                ">" => depth -= 1,
                _ => {}
            }
        }
        self.solid.len()
    }

    /// Has a type's own `operator[]` pass on the line on which it is used.
    fn rewrite_indexing(&mut self, start: usize, open: usize) {
        let close = if self.text(open) == "{" { self.partner[open] } else { open };
        for position in start..close {
            let indexes = ["operator", "[", "]", "("].iter().enumerate();
            if indexes.into_iter().all(|(offset, text)| self.text(position + offset) == *text)
                && matches!(self.text(position + 4), "unsigned" | "size_t")
            {
                self.replace(position + 4, "::emulator::Index");
            }
        }
    }

    /// Rewrites the fields of a type that lives in registers: partial results, and pointers. What lies in memory is
    /// made of words.
    fn rewrite_fields(&mut self, open: usize) -> Result<(), Unsupported> {
        if self.text(open) != "{" {
            return Ok(());
        }
        for position in open + 1..self.partner[open] {
            if !matches!(self.before(position), "{" | ";") {
                continue;
            }
            if let Some(star) = self.pointer_type(position) {
                (position..star).for_each(|at| self.rewrite_state(at));
                self.rewrite_pointer(position)?;
            } else if self.text(position) == "State" {
                self.rewrite_state(position);
            }
        }
        Ok(())
    }

    /// Rewrites the function whose text begins at `start` and whose body opens at `open`; tells how to call it if it
    /// is a kernel.
    fn rewrite_function(&mut self, start: usize, open: usize) -> Result<Option<Signature>, Unsupported> {
        for position in start..open {
            self.rewrite_state(position);
        }
        let mut position = start;
        while position < open {
            position = self.rewrite_pointer(position)?.unwrap_or(position + 1);
        }
        (start..open)
            .filter(|&at| self.text(at) == "__restrict__")
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|at| self.remove(at));
        self.rewrite_body(open, self.partner[open])?;
        let is_kernel = (start..open).any(|at| self.text(at) == "__global__");
        if is_kernel { self.kernel_signature(start, open).map(Some) } else { Ok(None) }
    }

    fn kernel_signature(&mut self, start: usize, open: usize) -> Result<Signature, Unsupported> {
        let (mut bound, mut cluster) = (String::new(), String::new());
        let mut position = start;
        let mut returns_nothing = false;
        while position < open {
            match self.text(position) {
                "__global__" => self.replace(position, "static"),
                "extern" => self.remove(position),
                "" => self.remove(position), // the "C" after it
                "__launch_bounds__" | "__cluster_dims__" => {
                    let close = self.partner[position + 1];
                    // How many blocks a multiprocessor is to have registers for is no matter here.
                    let end = (position + 2..close).find(|&at| self.text(at) == ",").unwrap_or(close);
                    let number = self.join(position + 2, end);
                    *(if self.text(position) == "__launch_bounds__" { &mut bound } else { &mut cluster }) = number;
                    (position..=close).for_each(|at| self.remove(at));
                    position = close;
                }
                "void" => returns_nothing = true,
                "(" => break,
                _ => {}
            }
            position += 1;
        }
        if !returns_nothing {
            return Err(self.unsupported(start, "expected a kernel that returns `void`"));
        }
        let parameters = self.parameter_types(position + 1, self.partner[position])?;
        Ok(Signature { name: self.before(position).to_owned(), parameters, bound, cluster })
    }

    /// The types between the brackets of a parameter list: each parameter without its name.
    fn parameter_types(&self, start: usize, end: usize) -> Result<Vec<String>, Unsupported> {
        let mut types = Vec::new();
        let mut first = start;
        let mut angles = 0;
        for position in start..=end {
            match self.text(position) {
                "<" => angles += 1,
                ">" => angles -= 1,
                _ => {}
            }
            let ends = position == end || (angles == 0 && self.text(position) == ",");
            if ends && position > first {
                if !self.is_word(position - 1) {
                    return Err(self.unsupported(position - 1, "expected a parameter's name"));
                }
                types.push(self.join(first, position - 1));
                first = position + 1;
            }
        }
        Ok(types)
    }

    /// What stands from one position to before another by now, on one line.
    fn join(&self, start: usize, end: usize) -> String {
        (start..end).map(|position| self.current(position)).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_of_the_dialect_names_every_intrinsic() {
        let page = include_str!("../../dialect.md");
        let (_, header) = page.split_once("# Intrinsics").unwrap_or_default();
        for name in super::INTRINSICS {
            assert!(header.contains(&format!("`{name}(")), "{name}");
        }
    }
}
