"""Random operators, for drawn.rs and drawn_long.rs. The commands that made them:

    python3 drawn.py 0 20 > drawn.rs && rustfmt --edition 2024 drawn.rs
    python3 drawn.py 20 60 > drawn_long.rs && rustfmt --edition 2024 drawn_long.rs
"""

import random
import sys

DRAWN = range(int(sys.argv[1]), int(sys.argv[2]))


class Body:
    """Statements and expressions over some f64, by a random choice at each place."""

    def __init__(self, draw, names):
        self.draw, self.names, self.mutable, self.arrays, self.lines, self.made = draw, list(names), [], [], [], 0

    def fresh(self):
        self.made += 1
        return f"v{self.made}"

    def leaf(self):
        choice = self.draw.random()
        if self.arrays and choice < 0.15:
            return f"{self.draw.choice(self.arrays)}[{self.draw.randrange(3)}]"
        if choice < 0.85:
            return self.draw.choice(self.names + self.mutable)
        return f"{self.draw.randrange(1, 16) / 8}_f64"

    def name(self):
        return self.draw.choice(self.names + self.mutable)

    def expr(self, depth):
        """A value of moderate size."""
        if depth == 0:
            return self.leaf()
        a, b = self.expr(depth - 1), self.expr(self.draw.randrange(depth))
        name = self.name()
        return self.draw.choice([
            lambda: f"({a} + {b})",
            lambda: f"({a} - {b})",
            lambda: f"({a} * {name}.tanh())",
            lambda: f"({name} + {a}).sin()",
            lambda: f"({name} * {a}).cos()",
            lambda: f"({name} + {a}).tanh()",
            lambda: f"({a} / (1.5 + {name} * {name}))",
            lambda: f"({name} + {a}).tanh().exp()",
            lambda: f"(1.0 + {name} * {name}).sqrt()",
            lambda: f"(2.0 + {name}.cos()).ln()",
            lambda: f"(1.5 + {name}.sin()).powf(1.0 + {self.name()}.tanh())",
            lambda: f"{name}.tanh().powi({self.draw.randrange(1, 4)})",
            lambda: f"{name}.max({a})",
            lambda: f"{name}.min({a})",
            lambda: f"{name}.abs()",
            lambda: f"{name}.mul_add({a}, {b})" if depth < 3 else f"{name}.atan()",
            lambda: f"{name}.clamp(-2.0, 2.0)",
            lambda: f"{name}.hypot(1.0 + {self.name()}.abs())",
            lambda: f"helper({a}, {name})",
            lambda: f"(if {self.condition()} {{ {a} + {name} }} else {{ {b} * {name} }})",
            lambda: f"(-{name})",
        ])()

    def condition(self):
        return f"{self.name()} {self.draw.choice(['<', '>', '<=', '>='])} {self.leaf()}"

    def block(self, depth):
        """Statements that change a variable around them."""
        around = self.lines, list(self.names), list(self.mutable), list(self.arrays)
        self.lines = []
        targets = list(self.mutable)
        for _ in range(self.draw.randrange(1, 3)):
            self.statement(depth - 1)
        self.assign(targets)
        inner = " ".join(self.lines)
        self.lines, self.names, self.mutable, self.arrays = around
        return "{ " + inner + " }"

    def assign(self, targets):
        target, value = self.draw.choice(targets), self.expr(1)
        operator = self.draw.choice(["=", "+=", "-=", "*=", "/="])
        if operator == "*=":
            value = f"({value}).tanh()"
        if operator == "/=":
            value = f"(2.0 + ({value}).sin())"
        self.lines.append(f"{target} {operator} {value};")

    def statement(self, depth):
        kind = self.draw.randrange(8)
        if kind < 2 or not self.mutable:
            name, mutable = self.fresh(), not self.mutable or self.draw.random() < 0.4
            self.lines.append(f"let {'mut ' if mutable else ''}{name}: f64 = {self.expr(2)};")
            (self.mutable if mutable else self.names).append(name)
        elif kind == 2:
            name = self.fresh()
            self.lines.append(f"let mut {name} = [{self.leaf()} + {self.name()}, {self.name()}, {self.expr(1)} * {self.name()}];")
            self.arrays.append(name)
        elif kind == 3 and self.arrays:
            array, counter = self.draw.choice(self.arrays), f"i{self.fresh()}"
            self.lines.append(f"for {counter} in 0..3_usize {{ {array}[{counter}] = {array}[{counter}].tanh() * {self.name()} + {self.leaf()}; }}")
        elif kind == 4 and depth > 0:
            self.lines.append(f"if {self.condition()} {self.block(depth)} else {self.block(depth)}")
        elif kind == 5 and depth > 0:
            self.lines.append(f"for {self.fresh()} in 0..{self.draw.randrange(2, 4)}_u32 {self.block(depth)}")
        elif kind == 6 and self.draw.random() < 0.5:
            first, second = self.fresh(), self.fresh()
            self.lines.append(f"let ({first}, {second}): (f64, f64) = ({self.expr(1)}, {self.expr(1)});")
            self.names += [first, second]
        else:
            self.assign(self.mutable)

    def text(self, statements):
        for _ in range(statements):
            self.statement(2)
        result = self.expr(2)
        if self.draw.random() < 0.5:
            early, other = self.expr(1), self.expr(2)
            return " ".join(self.lines) + f" if {self.condition()} {{ return {early} + {self.name()}; }} {other} + {self.name()}"
        return " ".join(self.lines) + f" {result} + {self.name()}"


def main():
    print("//! Random operators: `drawn.py` made them.\n")
    print("#![allow(unused, clippy::all, reason = \"nobody wrote this\")]\n")
    print("use scan_runtime::{ScanOp, scan_fn, scan_op};\n")
    print("use super::programs::{Drawn, Visitor};\n")
    print("#[scan_fn(gradient)]\nfn helper(a: f64, b: f64) -> f64 { if a > b { (a - b).tanh() * a } else { b.sin() - a } }\n")
    for index in DRAWN:
        draw = random.Random(index)
        lift = Body(draw, ["x", "y", "self.p"]).text(draw.randrange(1, 6))
        project = Body(draw, ["s", "self.p"]).text(draw.randrange(1, 4))
        print(f"""
#[derive(Clone, Copy)]
pub(crate) struct Drawn{index} {{ pub(crate) p: f64 }}

#[scan_op(gradient(p: f64))]
impl ScanOp for Drawn{index} {{
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, input: [f64; 2]) -> f64 {{ let (x, y) = (input[0], input[1]); {lift} }}
    fn combine(a: f64, b: f64) -> f64 {{ a + b }}
    fn project(&self, s: f64) -> f64 {{ {project} }}
}}

impl Drawn for Drawn{index} {{
    fn with(p: f64) -> Self {{ Drawn{index} {{ p }} }}
}}""")
    print("\npub(crate) fn visit(visitor: &mut Visitor) {")
    for index in DRAWN:
        print(f"    visitor.visit::<Drawn{index}>({index});")
    print("}")


main()
