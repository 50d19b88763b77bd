//! The binary operators.

use syn::BinOp;

/// A binary operator, which an assignment may have as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

use Operator::*;

/// How CUDA writes an operator, and what it needs of the prelude.
struct Line {
    symbol: &'static str,
    /// The part that it needs; none where it takes truth values alone.
    part: Option<&'static str>,
    /// The part that an assignment needs in addition.
    assigned: Option<&'static str>,
}

const fn arithmetic(symbol: &'static str, part: &'static str, assigned: &'static str) -> Line {
    Line { symbol, part: Some(part), assigned: Some(assigned) }
}

const fn comparison(symbol: &'static str, part: &'static str) -> Line {
    Line { symbol, part: Some(part), assigned: None }
}

const fn of_truth_values(symbol: &'static str) -> Line {
    Line { symbol, part: None, assigned: None }
}

impl Operator {
    /// The operator of Rust's, and whether it assigns.
    pub(crate) fn of(operator: &BinOp) -> Option<(Operator, bool)> {
        Some(match operator {
            BinOp::Add(_) => (Add, false),
            BinOp::Sub(_) => (Sub, false),
            BinOp::Mul(_) => (Mul, false),
            BinOp::Div(_) => (Div, false),
            BinOp::Rem(_) => (Rem, false),
            BinOp::BitAnd(_) => (BitAnd, false),
            BinOp::BitOr(_) => (BitOr, false),
            BinOp::BitXor(_) => (BitXor, false),
            BinOp::Shl(_) => (Shl, false),
            BinOp::Shr(_) => (Shr, false),
            BinOp::Eq(_) => (Eq, false),
            BinOp::Ne(_) => (Ne, false),
            BinOp::Lt(_) => (Lt, false),
            BinOp::Le(_) => (Le, false),
            BinOp::Gt(_) => (Gt, false),
            BinOp::Ge(_) => (Ge, false),
            BinOp::And(_) => (And, false),
            BinOp::Or(_) => (Or, false),
            BinOp::AddAssign(_) => (Add, true),
            BinOp::SubAssign(_) => (Sub, true),
            BinOp::MulAssign(_) => (Mul, true),
            BinOp::DivAssign(_) => (Div, true),
            BinOp::RemAssign(_) => (Rem, true),
            BinOp::BitAndAssign(_) => (BitAnd, true),
            BinOp::BitOrAssign(_) => (BitOr, true),
            BinOp::BitXorAssign(_) => (BitXor, true),
            BinOp::ShlAssign(_) => (Shl, true),
            BinOp::ShrAssign(_) => (Shr, true),
            _ => return None,
        })
    }

    const fn line(self) -> Line {
        match self {
            Add => arithmetic("+", "add", "add_assign"),
            Sub => arithmetic("-", "sub", "sub_assign"),
            Mul => arithmetic("*", "mul", "mul_assign"),
            Div => arithmetic("/", "div", "div_assign"),
            Rem => arithmetic("%", "rem", "rem_assign"),
            BitAnd => arithmetic("&", "bitand", "bitand_assign"),
            BitOr => arithmetic("|", "bitor", "bitor_assign"),
            BitXor => arithmetic("^", "bitxor", "bitxor_assign"),
            Shl => arithmetic("<<", "shl", "shl_assign"),
            Shr => arithmetic(">>", "shr", "shr_assign"),
            Eq => comparison("==", "eq"),
            Ne => comparison("!=", "eq"),
            Lt => comparison("<", "lt"),
            Le => comparison("<=", "le"),
            Gt => comparison(">", "gt"),
            Ge => comparison(">=", "ge"),
            And => of_truth_values("&&"),
            Or => of_truth_values("||"),
        }
    }

    pub(crate) fn symbol(self) -> &'static str {
        self.line().symbol
    }

    /// The part of the prelude that it needs.
    pub(crate) fn part(self) -> Option<&'static str> {
        self.line().part
    }

    /// The part that an assignment needs in addition.
    pub(crate) fn assigned_part(self) -> Option<&'static str> {
        self.line().assigned
    }

    pub(crate) fn is_bitwise(self) -> bool {
        matches!(self, BitAnd | BitOr | BitXor)
    }

    pub(crate) fn is_shift(self) -> bool {
        matches!(self, Shl | Shr)
    }

    /// Whether its value is a number, whatever it is made of.
    pub(crate) fn is_arithmetic(self) -> bool {
        self.is_shift() || matches!(self, Add | Sub | Mul | Div | Rem)
    }

    /// Whether it is an instruction or two, and does not panic.
    pub(crate) fn is_cheap(self) -> bool {
        !self.is_shift() && !matches!(self, Mul | Div | Rem)
    }
}
