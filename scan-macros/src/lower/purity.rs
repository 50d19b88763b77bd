//! What an expression does beside having a value: decides between an expression of C++ and statements.

use crate::language::PRIMITIVES;
use crate::syntax::{asserted, is_assignment};
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Lifetime, Pat, Stmt};

/// Whether the expression becomes a single expression of C++, with no statement before it.
pub(super) fn is_simple(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) | Expr::Path(_) => true,
        Expr::Paren(inner) => is_simple(&inner.expr),
        Expr::Unary(inner) => is_simple(&inner.expr),
        Expr::Cast(inner) => is_simple(&inner.expr),
        Expr::Field(inner) => is_simple(&inner.base),
        Expr::Binary(binary) => !is_assignment(&binary.op) && is_simple(&binary.left) && is_simple(&binary.right),
        Expr::Call(call) => call.args.iter().all(is_simple),
        Expr::MethodCall(call) => is_simple(&call.receiver) && call.args.iter().all(is_simple),
        Expr::Index(index) => is_simple(&index.expr) && is_simple(&index.index),
        Expr::Array(array) => array.elems.iter().all(is_simple),
        Expr::Repeat(repeat) => is_simple(&repeat.expr),
        Expr::Struct(literal) => {
            literal.fields.iter().all(|field| is_simple(&field.expr))
                && literal.rest.as_ref().is_none_or(|rest| matches!(**rest, Expr::Path(_)))
        }
        Expr::Block(block) => block.label.is_none() && simple_block(&block.block),
        Expr::If(branch) => {
            choices(expr) <= CHOICES
                && is_simple(&branch.cond)
                && simple_block(&branch.then_branch)
                && branch.else_branch.as_ref().is_some_and(|(_, other)| is_simple(other))
        }
        Expr::Match(matching) => {
            choices(expr) <= CHOICES
                && is_place(&matching.expr)
                && matching.arms.iter().all(|arm| {
                    let guard = match &arm.pat {
                        Pat::Guard(guard) => is_simple(&guard.guard),
                        _ => true,
                    };
                    guard && is_simple(&arm.body)
                })
        }
        _ => false,
    }
}

/// The most choices inside one another that become an expression: the GPU's compiler needs more stack for each than for an `if`.
const CHOICES: usize = 64;

/// How many choices stand inside one another, the arms of an `else if` and of a `match` among them.
fn choices(expr: &Expr) -> usize {
    let block = |block: &Block| match block.stmts.as_slice() {
        [Stmt::Expr(value, None)] => choices(value),
        _ => 0,
    };
    match expr {
        Expr::Paren(inner) => choices(&inner.expr),
        Expr::Block(inner) => block(&inner.block),
        Expr::If(branch) => {
            let other = branch.else_branch.as_ref().map_or(0, |(_, other)| choices(other));
            1 + block(&branch.then_branch).max(other)
        }
        Expr::Match(matching) => {
            matching.arms.len() + matching.arms.iter().map(|arm| choices(&arm.body)).max().unwrap_or_default()
        }
        _ => 0,
    }
}

/// The most operations in a value that is computed although another one may be chosen.
const CHEAP_OPERATIONS: u32 = 8;

/// Whether the expression is a choice between structs or arrays, all of which may as well be computed: this is little work,
/// and cannot panic. Choosing between their words is faster than a branch, at which the threads of a warp part.
pub(super) fn is_cheap_choice(expr: &Expr) -> bool {
    is_simple(expr)
        && builds(expr)
        && match expr {
            Expr::If(branch) => {
                cheap_block(&branch.then_branch)
                    && branch.else_branch.as_ref().is_some_and(|(_, other)| is_cheap(other))
            }
            Expr::Match(matching) => matching.arms.iter().all(|arm| {
                let guard = match &arm.pat {
                    Pat::Guard(guarded) => is_cheap(&guarded.guard),
                    _ => true,
                };
                guard && is_cheap(&arm.body)
            }),
            _ => false,
        }
}

/// Whether there is a struct or an array among the values of which one is chosen.
fn builds(expr: &Expr) -> bool {
    let block = |block: &Block| matches!(block.stmts.as_slice(), [Stmt::Expr(value, None)] if builds(value));
    match expr {
        Expr::Struct(_) | Expr::Array(_) => true,
        Expr::Call(call) => matches!(&*call.func, Expr::Path(path) if is_capital(path)),
        Expr::Paren(inner) => builds(&inner.expr),
        Expr::Block(inner) => block(&inner.block),
        Expr::If(branch) => {
            block(&branch.then_branch) || branch.else_branch.as_ref().is_some_and(|(_, other)| builds(other))
        }
        Expr::Match(matching) => matching.arms.iter().any(|arm| builds(&arm.body)),
        _ => false,
    }
}

fn cheap_block(block: &Block) -> bool {
    matches!(block.stmts.as_slice(), [Stmt::Expr(value, None)] if is_cheap(value))
}

/// Whether the expression is computed by a few instructions, and does not panic.
fn is_cheap(expr: &Expr) -> bool {
    fn operations(expr: &Expr) -> Option<u32> {
        let all = |exprs: &mut dyn Iterator<Item = &Expr>| {
            exprs.map(operations).try_fold(0_u32, |sum, count| Some(sum.saturating_add(count?)))
        };
        let block = |block: &Block| match block.stmts.as_slice() {
            [Stmt::Expr(value, None)] => operations(value),
            _ => None,
        };
        match expr {
            Expr::Lit(_) | Expr::Path(_) => Some(0),
            Expr::Paren(inner) => operations(&inner.expr),
            Expr::Field(inner) => operations(&inner.base),
            Expr::Unary(inner) => Some(operations(&inner.expr)? + 1),
            Expr::Cast(inner) => Some(operations(&inner.expr)? + 1),
            Expr::Binary(binary) => match binary.op {
                BinOp::Add(_) | BinOp::Sub(_) | BinOp::BitAnd(_) | BinOp::BitOr(_) | BinOp::BitXor(_) => {
                    Some(all(&mut [&*binary.left, &*binary.right].into_iter())? + 1)
                }
                BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                    Some(all(&mut [&*binary.left, &*binary.right].into_iter())? + 1)
                }
                BinOp::And(_) | BinOp::Or(_) => Some(all(&mut [&*binary.left, &*binary.right].into_iter())? + 1),
                _ => None,
            },
            Expr::MethodCall(call) => {
                let cheap = ["min", "max", "wrapping_add", "wrapping_sub"];
                let known = cheap.iter().any(|name| call.method == name);
                known.then(|| all(&mut std::iter::once(&*call.receiver).chain(&call.args)))?.map(|count| count + 1)
            }
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) if is_capital(path) => all(&mut call.args.iter()),
                _ => None,
            },
            Expr::Struct(literal) => {
                let fields = literal.fields.iter().map(|field| &field.expr);
                all(&mut fields.chain(literal.rest.as_deref()))
            }
            Expr::Array(array) => all(&mut array.elems.iter()),
            Expr::Block(inner) if inner.label.is_none() => block(&inner.block),
            Expr::If(branch) => {
                let (_, other) = branch.else_branch.as_ref()?;
                Some(operations(&branch.cond)? + block(&branch.then_branch)? + operations(other)? + 1)
            }
            _ => None,
        }
    }
    operations(expr).is_some_and(|count| count <= CHEAP_OPERATIONS)
}

fn simple_block(block: &Block) -> bool {
    matches!(block.stmts.as_slice(), [Stmt::Expr(value, None)] if is_simple(value))
}

/// Whether the expression becomes a `?:` that has a struct or an array in braces, or may have: a constant can be either.
pub(super) fn chooses_braces(expr: &Expr) -> bool {
    fn in_braces(expr: &Expr) -> bool {
        match expr {
            Expr::Struct(_) | Expr::Array(_) | Expr::Repeat(_) => true,
            Expr::Call(call) => matches!(&*call.func, Expr::Path(path) if is_capital(path)),
            Expr::Path(path) => is_capital(path),
            Expr::Paren(inner) => in_braces(&inner.expr),
            Expr::Block(block) => last_in_braces(&block.block),
            expr => chooses_braces(expr),
        }
    }
    fn last_in_braces(block: &Block) -> bool {
        matches!(block.stmts.as_slice(), [Stmt::Expr(value, None)] if in_braces(value))
    }
    match expr {
        Expr::Paren(inner) => chooses_braces(&inner.expr),
        Expr::Block(block) => {
            matches!(block.block.stmts.as_slice(), [Stmt::Expr(value, None)] if chooses_braces(value))
        }
        Expr::If(branch) => {
            last_in_braces(&branch.then_branch)
                || branch.else_branch.as_ref().is_some_and(|(_, other)| in_braces(other))
        }
        Expr::Match(matching) => matching.arms.iter().any(|arm| in_braces(&arm.body)),
        _ => false,
    }
}

/// Something of the user's own: not a local, not `f32::MAX`.
fn is_capital(path: &syn::ExprPath) -> bool {
    let capital = |ident: &syn::Ident| ident.to_string().starts_with(|first: char| first.is_uppercase());
    let of_primitive =
        path.path.segments.first().is_some_and(|first| PRIMITIVES.iter().any(|name| first.ident == name));
    path.path.segments.last().is_some_and(|last| capital(&last.ident)) && !of_primitive
}

/// Whether the expression shows that it is a number and no truth value.
pub(super) fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(literal) => !matches!(literal.lit, syn::Lit::Bool(_)),
        Expr::Paren(inner) => is_number(&inner.expr),
        Expr::Cast(cast) => !matches!(&*cast.ty, syn::Type::Path(path) if path.path.is_ident("bool")),
        Expr::Unary(unary) => matches!(unary.op, syn::UnOp::Neg(_)) || is_number(&unary.expr),
        Expr::Binary(binary) => match binary.op {
            BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_) => true,
            BinOp::Shl(_) | BinOp::Shr(_) => true,
            BinOp::BitAnd(_) | BinOp::BitOr(_) | BinOp::BitXor(_) => {
                is_number(&binary.left) || is_number(&binary.right)
            }
            _ => false,
        },
        Expr::MethodCall(call) => !call.method.to_string().starts_with("is_"),
        _ => false,
    }
}

/// A local, or a field of one: reading it twice is reading it once.
pub(super) fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(path) => path.path.get_ident().is_some(),
        Expr::Field(field) => is_place(&field.base),
        Expr::Paren(inner) => is_place(&inner.expr),
        _ => false,
    }
}

/// Whether the expression changes a variable, or leaves.
pub(super) fn has_effects(expr: &Expr) -> bool {
    struct Effects(bool);
    impl<'ast> Visit<'ast> for Effects {
        fn visit_expr(&mut self, expr: &'ast Expr) {
            match expr {
                Expr::Assign(_) | Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => self.0 = true,
                Expr::Binary(binary) if is_assignment(&binary.op) => self.0 = true,
                _ => visit::visit_expr(self, expr),
            }
        }
    }
    let mut effects = Effects(false);
    effects.visit_expr(expr);
    effects.0
}

/// Whether control can leave the expression: by `return`, or by a `break` or `continue` of a loop around it.
pub(super) fn can_leave(expr: &Expr) -> bool {
    #[derive(Default)]
    struct Leaves {
        found: bool,
        loops: Vec<Option<String>>,
    }
    impl Leaves {
        fn jump(&mut self, label: Option<&Lifetime>) {
            self.found |= match label {
                None => self.loops.is_empty(),
                Some(label) => !self.loops.iter().flatten().any(|known| label.ident == known.as_str()),
            };
        }
    }
    impl<'ast> Visit<'ast> for Leaves {
        fn visit_expr(&mut self, expr: &'ast Expr) {
            let label = match expr {
                Expr::Return(_) => {
                    self.found = true;
                    return;
                }
                Expr::Break(leave) => {
                    self.jump(leave.label.as_ref());
                    return visit::visit_expr(self, expr);
                }
                Expr::Continue(next) => return self.jump(next.label.as_ref()),
                Expr::Loop(inner) => &inner.label,
                Expr::While(inner) => &inner.label,
                Expr::ForLoop(inner) => &inner.label,
                _ => return visit::visit_expr(self, expr),
            };
            self.loops.push(label.as_ref().map(|label| label.name.ident.to_string()));
            visit::visit_expr(self, expr);
            self.loops.pop();
        }
    }
    let mut leaves = Leaves::default();
    leaves.visit_expr(expr);
    leaves.found
}

/// Whether control never comes to the end of the expression.
pub(super) fn diverges(expr: &Expr) -> bool {
    match expr {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Paren(inner) => diverges(&inner.expr),
        Expr::Block(block) => block.label.is_none() && block_diverges(&block.block),
        Expr::If(branch) => {
            block_diverges(&branch.then_branch) && branch.else_branch.as_ref().is_some_and(|(_, other)| diverges(other))
        }
        Expr::Match(matching) => !matching.arms.is_empty() && matching.arms.iter().all(|arm| diverges(&arm.body)),
        Expr::Loop(endless) => !breaks(&endless.body, endless.label.as_ref()),
        _ => false,
    }
}

pub(super) fn block_diverges(block: &Block) -> bool {
    block.stmts.iter().any(|statement| match statement {
        Stmt::Expr(expr, _) => diverges(expr),
        _ => false,
    })
}

/// The label of a loop.
fn label_of(expr: &Expr) -> Option<&syn::Label> {
    match expr {
        Expr::Loop(endless) => endless.label.as_ref(),
        Expr::While(looping) => looping.label.as_ref(),
        Expr::ForLoop(looping) => looping.label.as_ref(),
        _ => None,
    }
}

/// Whether a loop's own body breaks out of it.
fn breaks(body: &Block, label: Option<&syn::Label>) -> bool {
    struct Breaks {
        found: bool,
        depth: usize,
        label: Option<String>,
    }
    impl<'ast> Visit<'ast> for Breaks {
        fn visit_expr(&mut self, expr: &'ast Expr) {
            match expr {
                Expr::Break(leave) => {
                    self.found |= match &leave.label {
                        None => self.depth == 0,
                        Some(label) => self.label.as_ref().is_some_and(|own| label.ident == own.as_str()),
                    };
                }
                Expr::Loop(_) | Expr::While(_) | Expr::ForLoop(_) => {
                    // Inside a loop of the same label, the label means that one.
                    let outer = self.label.take_if(|own| label_of(expr).is_some_and(|label| label.name.ident == *own));
                    self.depth += 1;
                    visit::visit_expr(self, expr);
                    self.depth -= 1;
                    self.label = self.label.take().or(outer);
                }
                _ => visit::visit_expr(self, expr),
            }
        }
    }
    let mut breaks = Breaks { found: false, depth: 0, label: label.map(|label| label.name.ident.to_string()) };
    breaks.visit_block(body);
    breaks.found
}

/// Whether a loop inside the body breaks out of, or continues, the loop of this label.
pub(super) fn jumps_from_within(body: &Block, label: &str) -> (bool, bool) {
    struct Jumps<'a> {
        label: &'a str,
        depth: usize,
        breaks: bool,
        continues: bool,
    }
    impl<'ast> Visit<'ast> for Jumps<'_> {
        fn visit_expr(&mut self, expr: &'ast Expr) {
            let means = |label: &Option<Lifetime>| label.as_ref().is_some_and(|label| label.ident == self.label);
            match expr {
                Expr::Break(leave) => self.breaks |= self.depth > 0 && means(&leave.label),
                Expr::Continue(next) => self.continues |= self.depth > 0 && means(&next.label),
                _ => {}
            }
            if label_of(expr).is_some_and(|own| own.name.ident == self.label) {
                // Inside, the label means this loop.
                return;
            }
            let inner = usize::from(matches!(expr, Expr::Loop(_) | Expr::While(_) | Expr::ForLoop(_)));
            self.depth += inner;
            visit::visit_expr(self, expr);
            self.depth -= inner;
        }
    }
    let mut jumps = Jumps { label, depth: 0, breaks: false, continues: false };
    jumps.visit_block(body);
    (jumps.breaks, jumps.continues)
}

/// Whether the body uses the name as an index into an array, and never binds it anew: then it is a `usize`.
pub(super) fn is_index(name: &syn::Ident, body: &Block) -> bool {
    struct Indexes<'a> {
        name: &'a syn::Ident,
        indexes: bool,
        rebound: bool,
    }
    impl<'ast> Visit<'ast> for Indexes<'_> {
        fn visit_expr_index(&mut self, index: &'ast syn::ExprIndex) {
            self.indexes |= matches!(&*index.index, Expr::Path(path) if path.path.is_ident(self.name));
            visit::visit_expr_index(self, index);
        }
        fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
            self.rebound |= pat.ident == *self.name;
            visit::visit_pat_ident(self, pat);
        }
        fn visit_macro(&mut self, mac: &'ast syn::Macro) {
            if let Ok(condition) = asserted(mac) {
                self.visit_condition(&condition);
            }
        }
    }
    impl Indexes<'_> {
        fn visit_condition(&mut self, condition: &Expr) {
            let mut inner = Indexes { name: self.name, indexes: false, rebound: false };
            inner.visit_expr(condition);
            self.indexes |= inner.indexes;
        }
    }
    let mut indexes = Indexes { name, indexes: false, rebound: false };
    indexes.visit_block(body);
    indexes.indexes && !indexes.rebound
}
