//! The nesting depth of code: the stack that the passes need for it, and the depth that the GPU's compiler accepts.

use crate::errors::Errors;
use crate::syntax::asserted;
use proc_macro2::{TokenStream, TokenTree};
use quote::quote_spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprBinary, ExprMethodCall};

/// The maximum nesting depth of brackets.
const BRACKETS: usize = 4000;

/// Bytes of stack for each nested bracket, for each token (a unary operator before another is parsed by a call of its
/// own), and for everything else; and the maximum. Only the used part takes memory.
const OF_A_BRACKET: usize = 96 << 10;
const OF_A_TOKEN: usize = 8 << 10;
const OF_ALL: usize = 2 << 20;
const MOST: usize = 1 << 30;

/// Runs a macro on a stack that is large enough for its input. A plain function of the same depth compiles, because
/// rustc also grows its stack.
pub(crate) fn with_stack(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
    expand: fn(TokenStream, TokenStream) -> TokenStream,
) -> proc_macro::TokenStream {
    let (options, item) = (TokenStream::from(options), TokenStream::from(item));
    let [of_options, of_item] = [&options, &item].map(measure);
    if let Some(token) = of_options.too_deep.or(of_item.too_deep) {
        let message =
            format!("these brackets are nested in more than {BRACKETS} others: bind parts to names with `let`");
        return quote_spanned!(token.span()=> ::core::compile_error!(#message);).into();
    }
    let brackets = of_options.brackets.max(of_item.brackets) * OF_A_BRACKET;
    let tokens = (of_options.tokens + of_item.tokens) * OF_A_TOKEN;
    let needed = (OF_ALL + brackets + tokens).min(MOST);
    stacker::maybe_grow(needed, needed, || expand(options, item).into())
}

/// Properties of tokens that are known without parsing them.
struct Measure {
    tokens: usize,
    /// The maximum nesting depth of brackets.
    brackets: usize,
    /// The first token that is nested too deep.
    too_deep: Option<TokenTree>,
}

fn measure(tokens: &TokenStream) -> Measure {
    let mut measure = Measure { tokens: 0, brackets: 0, too_deep: None };
    let mut open = vec![tokens.clone().into_iter()];
    while let Some(last) = open.last_mut() {
        let Some(token) = last.next() else {
            open.pop();
            continue;
        };
        measure.tokens += 1;
        if let TokenTree::Group(group) = &token {
            if open.len() > BRACKETS {
                measure.too_deep = Some(token);
                return measure;
            }
            open.push(group.stream().into_iter());
            measure.brackets = measure.brackets.max(open.len());
        }
    }
    measure
}

/// The maximum nesting depth of expressions, each counted twice unless it is the left end of a chain (`a + b + c`), and
/// that of statements. For these NVRTC needs less than 2 MiB of stack, the default of a Rust thread.
const EXPRESSIONS: usize = 512;
const STATEMENTS: usize = 1000;

/// Refuses a body that nests deeper than NVRTC's stack.
pub(crate) fn body(block: &Block, errors: &mut Errors) {
    Depth { errors, expressions: 0, statements: 0, told: false }.visit_block(block);
}

struct Depth<'a> {
    errors: &'a mut Errors,
    expressions: usize,
    statements: usize,
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
        let (expressions, statements) = match expr {
            Expr::Paren(_) | Expr::Block(_) => (0, 0),
            // They start again from zero: as statements, or as a shallow expression.
            Expr::If(_) | Expr::Match(_) | Expr::While(_) | Expr::Loop(_) | Expr::ForLoop(_) => (0, 1),
            _ => (2, 0),
        };
        self.expressions += expressions;
        self.statements += statements;
        if self.expressions > EXPRESSIONS || self.statements > STATEMENTS {
            self.told = true;
            let message = match statements {
                0 => "the expression nests too deep for the GPU's compiler: bind parts of it to names with `let`",
                _ => {
                    "the statements nest too deep for the GPU's compiler: make functions of parts, marked `#[scan_fn]`"
                }
            };
            self.errors.at(expr, message);
        } else {
            visit::visit_expr(self, expr);
        }
        self.expressions -= expressions;
        self.statements -= statements;
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
            let (expressions, statements) = (self.expressions, self.statements);
            Depth { errors: &mut *self.errors, expressions, statements, told: self.told }.visit_expr(&condition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(body: &str) -> Vec<String> {
        let mut errors = Errors::default();
        let text = format!("{{ {body} }}");
        stacker::grow(256 << 20, || super::body(&syn::parse_str(&text).unwrap(), &mut errors));
        errors.messages()
    }

    /// `open` so many times, `a`, and `close` as often.
    fn nested(times: usize, open: &str, close: &str) -> Vec<String> {
        messages(&format!("{}a{}", open.repeat(times), close.repeat(times)))
    }

    #[test]
    fn parentheses_and_blocks_do_not_count() {
        assert_eq!(nested(2000, "(", ")"), [""; 0]);
        assert_eq!(nested(2000, "{", "}"), [""; 0]);
    }

    #[test]
    fn nesting_beyond_the_limit_is_an_error() {
        let shapes = [("-", "", 255), ("a + (", ")", 255), ("f(", ")", 255), ("", ".abs()", 510), ("", " + a", 509)];
        for (open, close, most) in shapes {
            assert_eq!(nested(most, open, close), [""; 0], "{open}");
            assert_eq!(nested(most + 1, open, close).len(), 1, "{open}");
            assert!(nested(most + 1, open, close)[0].contains("bind parts of it to names"), "{open}");
        }
        assert_eq!(nested(1000, "if c { ", " } else { b }"), [""; 0]);
        assert!(nested(1001, "if c { ", " } else { b }")[0].contains("make functions"));
        assert_eq!(messages(&format!("assert!({}a > 1);", "-".repeat(300))).len(), 1);
    }

    #[test]
    fn tokens_are_measured_without_being_parsed() {
        let tokens = |times: usize| -> TokenStream {
            stacker::grow(256 << 20, || format!("{}a b{}", "(".repeat(times), ")".repeat(times)).parse().unwrap())
        };
        let measured = measure(&tokens(3));
        assert_eq!((measured.tokens, measured.brackets, measured.too_deep.is_none()), (5, 4, true));
        assert!(measure(&tokens(BRACKETS)).too_deep.is_none());
        assert!(measure(&tokens(BRACKETS + 1)).too_deep.is_some());
    }
}
