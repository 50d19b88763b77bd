//! The nesting depth of code: what the passes have stack for, and what the GPU's compiler accepts.

use crate::errors::Errors;
use crate::syntax::asserted;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprBinary, ExprMethodCall};

/// The stack, in KiB, that rustc gives a macro.
pub(crate) const OF_RUSTC: usize = 8 << 10;
/// The stack, in KiB, that a macro may use, as rustc itself needs some.
const STACK: usize = 6 << 10;
/// The stack, in KiB, that parsing and the passes use at most for a bracket around a token: measured without
/// optimisation, as Cargo compiles macros.
const OF_A_BRACKET: usize = 36;

/// The same for a token of a statement, which what follows it may nest in.
fn of(token: &TokenTree, before: &Before) -> usize {
    match token {
        TokenTree::Punct(punct) => match punct.as_char() {
            // Types within types, `&&&T` and `V<V<V<T>>>`. Two are an operator.
            '<' | '&' if before.alike > 2 => 60,
            '=' | '|' => 8,
            _ => 4,
        },
        TokenTree::Ident(ident) if ident == "else" || ident == "as" => 4,
        TokenTree::Ident(ident) if ident == "if" && before.is_else => 0,
        TokenTree::Ident(ident) if ["break", "if", "in", "match", "return", "while"].iter().any(|of| ident == of) => 16,
        _ => 0,
    }
}

/// Expands a macro, unless its input nests too deep for the stack.
pub(crate) fn expand(
    options: TokenStream,
    item: TokenStream,
    expand: fn(TokenStream, TokenStream) -> TokenStream,
) -> TokenStream {
    match refused(&options).or_else(|| refused(&item)) {
        Some(error) => error.to_compile_error(),
        None => expand(options, item),
    }
}

/// The error of tokens that nest too deep for the stack.
pub(crate) fn refused(tokens: &TokenStream) -> Option<syn::Error> {
    let message = "this code nests too deep for the macro: bind parts of it to names with `let`, or make functions of \
                   parts, marked `#[scan_fn]`";
    too_deep(tokens).map(|token| syn::Error::new(token.span(), message))
}

/// What comes before a token in its statement.
#[derive(Default)]
struct Before {
    /// The stack for all of it.
    stack: usize,
    /// The last punctuation, and how many of it come one after the other, but for names between them.
    last: Option<char>,
    alike: usize,
    is_else: bool,
    is_block: bool,
}

impl Before {
    fn add(&mut self, token: &TokenTree) {
        let is_else = matches!(token, TokenTree::Ident(ident) if ident == "else");
        match token {
            // A statement ends at `;`, an operand of a list at `,`, and a block that is a statement with its braces.
            TokenTree::Punct(punct) if matches!(punct.as_char(), ';' | ',') => *self = Before::default(),
            TokenTree::Ident(_) | TokenTree::Literal(_) | TokenTree::Group(_) if self.is_block && !is_else => {
                *self = Before::default();
            }
            // An attribute belongs to what follows it.
            TokenTree::Punct(punct) if punct.as_char() == '#' && self.is_block => *self = Before::default(),
            // A lifetime.
            TokenTree::Punct(punct) if punct.as_char() == '\'' => (),
            TokenTree::Punct(punct) => {
                let last = self.last.replace(punct.as_char());
                self.alike = if last == self.last { self.alike + 1 } else { 1 };
            }
            TokenTree::Literal(_) | TokenTree::Group(_) => self.last = None,
            TokenTree::Ident(_) => (),
        }
        self.stack += of(token, self);
        self.is_else = is_else;
        self.is_block = matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    }
}

/// The first token, if there is one, whose place needs more stack than there is. Tokens are not parsed for this, as that
/// would need the stack.
fn too_deep(tokens: &TokenStream) -> Option<TokenTree> {
    // Of each open bracket its tokens, the stack for what is around it, and what is read of its last statement.
    let mut open = vec![(tokens.clone().into_iter(), 0, Before::default())];
    while let Some((tokens, around, before)) = open.last_mut() {
        let Some(token) = tokens.next() else {
            open.pop();
            continue;
        };
        before.add(&token);
        let stack = *around + before.stack;
        if stack > STACK {
            return Some(token);
        }
        if let TokenTree::Group(group) = token {
            open.push((group.stream().into_iter(), stack + OF_A_BRACKET, Before::default()));
        }
    }
    None
}

/// The maximum nesting depth of expressions, each counted twice unless it is the left end of a chain (`a + b + c`). For
/// these NVRTC needs less than 2 MiB of stack, the default of a Rust thread.
const EXPRESSIONS: usize = 512;

/// Refuses a body that nests deeper than NVRTC's stack.
pub(crate) fn body(block: &Block, errors: &mut Errors) {
    Depth { errors, expressions: 0, told: false }.visit_block(block);
}

struct Depth<'a> {
    errors: &'a mut Errors,
    expressions: usize,
    told: bool,
}

impl Depth<'_> {
    /// The left end of a chain, which is one less deep than the chain itself.
    fn chained(&mut self, left: &Expr) {
        self.expressions -= 1;
        self.visit_expr(left);
        self.expressions += 1;
    }
}

impl<'ast> Visit<'ast> for Depth<'_> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        if self.told {
            return;
        }
        let expressions = match expr {
            // These start again from zero: as statements, or as a shallow expression.
            Expr::If(_) | Expr::Match(_) | Expr::While(_) | Expr::Loop(_) | Expr::ForLoop(_) => 0,
            Expr::Paren(_) | Expr::Block(_) => 0,
            _ => 2,
        };
        self.expressions += expressions;
        if self.expressions > EXPRESSIONS {
            self.told = true;
            let message = "the expression nests too deep for the GPU's compiler: bind parts of it to names with `let`";
            self.errors.at(expr, message);
        } else {
            visit::visit_expr(self, expr);
        }
        self.expressions -= expressions;
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        self.chained(&binary.left);
        self.visit_expr(&binary.right);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.chained(&call.receiver);
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        if let Ok(condition) = asserted(mac) {
            Depth { errors: &mut *self.errors, expressions: self.expressions, told: self.told }.visit_expr(&condition);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::*;

    /// On a thread as large as the one on which rustc runs macros.
    fn on_stack_of_rustc<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::Builder::new().stack_size(8 << 20).spawn(run).unwrap().join().unwrap()
    }

    fn messages(body: &str) -> Vec<String> {
        let text = format!("{{ {body} }}");
        on_stack_of_rustc(move || {
            let mut errors = Errors::default();
            super::body(&syn::parse_str(&text).unwrap(), &mut errors);
            errors.messages()
        })
    }

    /// `open` so many times, `a`, and `close` as often.
    fn nested(times: usize, open: &str, close: &str) -> String {
        format!("{}a{}", open.repeat(times), close.repeat(times))
    }

    #[test]
    fn parentheses_and_blocks_do_not_count() {
        assert_eq!(messages(&nested(100, "(", ")")), [""; 0]);
        assert_eq!(messages(&nested(100, "{", "}")), [""; 0]);
    }

    #[test]
    fn expressions_that_nest_beyond_the_limit_are_errors() {
        for (open, close, max) in [("-", "", 255), ("", ".abs()", 510), ("", " + a", 509)] {
            assert_eq!(messages(&nested(max, open, close)), [""; 0], "{open}");
            let messages = messages(&nested(max + 1, open, close));
            assert!(messages.len() == 1 && messages[0].contains("bind parts of it to names"), "{open}: {messages:?}");
        }
        assert_eq!(messages(&format!("assert!({}a > 1);", "-".repeat(300))).len(), 1);
    }

    /// A function whose code nests so many times.
    type Nested = Box<dyn Fn(usize) -> String + Send>;

    /// Functions whose code nests so many times: in each way, what is before the innermost, it, and what is after it.
    fn shapes() -> Vec<(&'static str, Nested)> {
        let shapes: [(&str, [&str; 5]); 28] = [
            ("(a)", ["", "(", "a", ")", ""]),
            ("a + (a)", ["", "a + (", "a", ")", ""]),
            ("{ a }", ["", "{", "a", "}", ""]),
            ("a.max(a)", ["", "a.max(", "a", ")", ""]),
            ("-(a)", ["", "-(", "a", ")", ""]),
            ("if", ["", "if a > b { ", "a", "} else { b }", ""]),
            ("match", ["", "match a { 0 => b, _ => ", "a", "}", ""]),
            ("[a]", ["", "[", "a", "]", ""]),
            ("-a", ["", "-", "a", "", ""]),
            ("&mut a", ["", "&mut ", "a", "", ""]),
            ("|a| a", ["", "|a| ", "a", "", ""]),
            ("return a", ["", "return ", "a", "", ""]),
            ("if if", ["", "if ", "a", " { b } else { c }", ""]),
            ("a + a", ["", "", "a", " + a", ""]),
            ("a.abs()", ["", "", "a", ".abs()", ""]),
            ("a as i32", ["", "", "a", " as i32", ""]),
            ("a?", ["", "", "a", "?", ""]),
            ("else if", ["", "if a { b } else ", "{ c }", "", ""]),
            ("a = a", ["", "a = ", "a", "", ""]),
            ("a == b || a", ["", "a == b || ", "a", "", ""]),
            ("type [T; 1]", ["let x: ", "[", "i32", "; 1]", " = a; a"]),
            ("type (T,)", ["let x: ", "(", "i32", ",)", " = a; a"]),
            ("type V<T>", ["let x: ", "V<", "i32", ">", " = a; a"]),
            ("type &T", ["let x: ", "& ", "i32", "", " = a; a"]),
            ("type &'a T", ["let x: ", "&'a ", "i32", "", " = a; a"]),
            ("pattern (x,)", ["let ", "(", "x", ",)", " = a; a"]),
            ("pattern &x", ["let ", "& ", "x", "", " = a; a"]),
            ("pattern y @ x", ["let ", "y @ ", "x", "", " = a; a"]),
        ];
        let item = |[before, open, inner, close, after]: [&'static str; 5]| {
            Box::new(move |times: usize| {
                let (open, close) = (open.repeat(times), close.repeat(times));
                format!("fn f(a: i32, b: i32) -> i32 {{ {before}{open}{inner}{close}{after} }}")
            }) as Nested
        };
        shapes.into_iter().map(|(name, parts)| (name, item(parts))).collect()
    }

    /// The deepest code of each shape that is not refused fits on the stack that rustc gives a macro.
    #[test]
    fn what_is_not_refused_has_enough_stack() {
        for (name, item) in shapes() {
            println!("{name}");
            on_stack_of_rustc(move || {
                let (mut max, mut refused) = (1, 2000);
                while refused - max > 1 {
                    let times = usize::midpoint(max, refused);
                    let is_refused = too_deep(&item(times).parse().unwrap()).is_some();
                    *(if is_refused { &mut refused } else { &mut max }) = times;
                }
                let expanded = crate::passes::scan_op(TokenStream::new(), item(max).parse().unwrap());
                assert!(!expanded.is_empty());
            });
        }
    }

    #[test]
    fn statements_operands_and_blocks_one_after_the_other_do_not_nest() {
        for part in [
            "#[inline] fn f() -> u32 { a }",
            "let x = -a + b;",
            "f(-a, b);",
            "if a > b { c }",
            "match a { 0 => b, _ => c }",
            "x += 1;",
        ] {
            assert!(too_deep(&part.repeat(10_000).parse().unwrap()).is_none(), "{part}");
        }
        assert!(too_deep(&format!("[{}]", "-1, ".repeat(10_000)).parse().unwrap()).is_none());
        assert!(too_deep(&"if a > b { c } else ".repeat(1000).parse().unwrap()).is_some());
    }
}
