//! The mistakes: what a CUDA programmer gets wrong in one line.

/// A mistake in a line: the rule that makes it, and the line with it.
pub(super) type Change = (&'static str, String);

/// Operators that take each other's place, by rule.
const EXCHANGES: [(&str, &str, &str); 21] = [
    ("bound", " < ", " <= "),
    ("bound", " <= ", " < "),
    ("bound", " > ", " >= "),
    ("bound", " >= ", " > "),
    ("equality", " == ", " != "),
    ("equality", " != ", " == "),
    ("logic", " && ", " || "),
    ("logic", " || ", " && "),
    ("stride", " *= 2", " *= 4"),
    ("stride", " /= 2", " /= 4"),
    ("stride", " / 2", " / 1"),
    ("stride", "2 * ", "1 * "),
    ("parity", " % 2", " % 2 ^ 1"),
    ("accumulate", " += ", " = "),
    ("accumulate", " |= ", " = "),
    ("shift", " << ", " >> "),
    ("shift", " >> ", " << "),
    ("constant", " = 0;", " = 1;"),
    ("constant", " = false;", " = true;"),
    ("constant", " = true;", " = false;"),
    ("constant", " == 0", " == 1"),
];

/// Words that take each other's place, by rule.
const WORDS: [(&str, &str, &str); 7] = [
    ("block", "blockIdx.x", "(blockIdx.x + 1)"),
    ("block", "gridDim.x", "(gridDim.x + 1)"),
    ("thread", "threadIdx.x", "(threadIdx.x + 1)"),
    ("extreme", "min(", "max("),
    ("extreme", "max(", "min("),
    ("status", "AGGREGATE", "PREFIX"),
    ("status", "PREFIX", "AGGREGATE"),
];

/// What a statement that orders threads has in it.
const ORDERS: [&str; 9] =
    ["__sync", "wait", "fence(", "arrive", "init_barrier(", "fence_", "launch_dependents", "launch_order", "delay("];

/// Every mistake in a line. `shape` is as long as the line: Tera's expressions are letters in it, its other tags and comments are
/// blanks.
pub(super) fn changes(line: &str, shape: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    if shape.trim_start().starts_with(['#', '}']) && !shape.contains(" if (") {
        return changes;
    }
    let mut replace = |rule, at: usize, length: usize, by: &str| {
        changes.push((rule, format!("{}{by}{}", &line[..at], &line[at + length..])));
    };
    for (rule, from, to) in EXCHANGES {
        for at in places(shape, from) {
            // ` / 2` is not the beginning of ` / 256`, nor `2 * ` the end of `32 * `.
            let goes_on = from.ends_with(|c: char| c.is_ascii_digit()) && begins_with_word(&shape[at + from.len()..]);
            let comes_from = from.starts_with('2') && ends_with_word(&shape[..at]);
            if !goes_on && !comes_from {
                replace(rule, at, from.len(), to);
            }
        }
    }
    for (rule, from, to) in WORDS {
        for at in places(shape, from).filter(|&at| !ends_with_word(&shape[..at])) {
            replace(rule, at, from.len(), to);
        }
    }
    for sign in [" + ", " - "] {
        for at in places(shape, sign) {
            let rest = &shape[at + 3..];
            match rest.strip_prefix('1') {
                Some(rest) if !begins_with_word(rest) => replace("offset", at, 4, ""),
                _ => replace("sign", at, 3, if sign == " + " { " - " } else { " + " }),
            }
        }
    }
    for at in places(shape, "epoch").filter(|&at| !ends_with_word(&shape[..at])) {
        let is_argument = shape[at + 5..].starts_with([',', ')']) && !shape[..at].ends_with("unsigned ");
        if is_argument {
            replace("epoch", at, 5, "epoch + 1");
        }
    }
    for at in places(shape, "[") {
        let end = closing(shape, at + 1);
        let is_access = ends_with_word(&shape[..at]) && !shape.contains("__shared__") && !is_declaration(shape, at);
        if let (Some(end), true) = (end, is_access) {
            replace("index", end, 0, " + 1");
        }
    }
    for keyword in ["if (", "while ("] {
        for at in places(shape, keyword).filter(|&at| !ends_with_word(&shape[..at])) {
            let open = at + keyword.len();
            if let Some(end) = closing(shape, open) {
                replace("negate", open, end - open, &format!("!({})", &line[open..end]));
            }
        }
    }
    for at in places(shape, "combine(") {
        let open = at + "combine(".len();
        if let Some(end) = closing(shape, open)
            && let Some(comma) = at_depth_0(&shape[open..end], ", ")
        {
            let (left, right) = (&line[open..open + comma], &line[open + comma + 2..end]);
            replace("operands", open, end - open, &format!("{right}, {left}"));
        }
    }
    for at in places(shape, " ? ") {
        let first = at + 3;
        let Some(colon) = at_depth_0(&shape[first..], " : ").map(|place| first + place) else { continue };
        let second = colon + 3;
        let end = second + end_of_expression(&shape[second..]);
        if !shape[first..end].contains(" ? ") {
            let swapped = format!("{} : {}", &line[second..end], &line[first..colon]);
            replace("select", first, end - first, &swapped);
        }
    }
    if is_statement(shape.trim()) {
        let orders = ORDERS.iter().any(|part| shape.contains(part));
        let indent = shape.len() - shape.trim_start().len();
        let end = shape.trim_end().len();
        replace(if orders { "order" } else { "drop" }, indent, end - indent, "");
    }
    changes
}

fn places<'a>(shape: &'a str, part: &'a str) -> impl Iterator<Item = usize> + 'a {
    shape.match_indices(part).map(|(at, _)| at)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn begins_with_word(text: &str) -> bool {
    text.starts_with(is_word)
}

fn ends_with_word(text: &str) -> bool {
    text.ends_with(is_word)
}

/// The place of the bracket that closes the one before `from`.
fn closing(shape: &str, from: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in shape[from..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return Some(from + at),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The first place outside of brackets at which `part` stands.
fn at_depth_0(shape: &str, part: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in shape.char_indices() {
        if depth == 0 && shape[at..].starts_with(part) {
            return Some(at);
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return None,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The length of the expression that `shape` begins with.
fn end_of_expression(shape: &str) -> usize {
    let mut depth = 0;
    for (at, c) in shape.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' | ';' | ',' if depth == 0 => return at,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    shape.len()
}

/// Whether the bracket at `at` tells the length of an array: a type stands before its name, and nothing before that.
fn is_declaration(shape: &str, at: usize) -> bool {
    let before = shape[..at].trim_start();
    let before = before.strip_prefix("const ").unwrap_or(before);
    let mut words = before.split(' ');
    words.all(|word| !word.is_empty() && word.chars().all(is_word)) && before.contains(' ')
}

/// Whether the line is a statement that can be left out: an assignment, a call or a jump, and no declaration.
fn is_statement(shape: &str) -> bool {
    let Some(statement) = shape.strip_suffix(';') else { return false };
    let balanced = statement.matches('(').count() == statement.matches(')').count();
    let word = statement.chars().take_while(|&c| is_word(c)).count();
    let (first, rest) = statement.split_at(word);
    let is_jump = ["return", "break", "continue"].contains(&first) && rest.is_empty();
    let is_other = ["", "if", "for", "while", "asm", "static_assert", "return"].contains(&first);
    let acts = rest.starts_with(['(', '.', '[', '-', '+'])
        || [" = ", " += ", " -= ", " *= ", " /= ", " |= "].iter().any(|assignment| rest.starts_with(assignment));
    balanced && (is_jump || (acts && !is_other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<(&'static str, String)> {
        changes(line, line)
    }

    #[test]
    fn every_rule_has_its_line() {
        let cases = [
            ("order", "  __syncthreads(); // step", "   // step"),
            ("drop", "  number++;", "  "),
            ("drop", "    break;", "    "),
            ("operands", "x = op.combine(f(a, b), c[1]);", "x = op.combine(c[1], f(a, b));"),
            ("bound", "for (; i < n;) {", "for (; i <= n;) {"),
            ("equality", "while (a == b) {", "while (a != b) {"),
            ("logic", "return a && b;", "return a || b;"),
            ("offset", "return x[i - 1];", "return x[i];"),
            ("sign", "return a + 16;", "return a - 16;"),
            ("stride", "s *= 2;", "s *= 4;"),
            ("parity", "wait(&full[stage], use % 2);", "wait(&full[stage], use % 2 ^ 1);"),
            ("negate", "if (f(a) || b) {", "if (!(f(a) || b)) {"),
            ("select", "return c ? f(a, b) : d;", "return c ? d : f(a, b);"),
            ("epoch", "send(sum, epoch);", "send(sum, epoch + 1);"),
            ("index", "x[i] = 3;", "x[i + 1] = 3;"),
            ("block", "return blockIdx.x;", "return (blockIdx.x + 1);"),
            ("thread", "return threadIdx.x;", "return (threadIdx.x + 1);"),
            ("extreme", "return min(a, b);", "return max(a, b);"),
            ("status", "return PREFIX;", "return AGGREGATE;"),
            ("accumulate", "a += b;", "a = b;"),
            ("shift", "return a << b;", "return a >> b;"),
            ("constant", "unsigned a = 0;", "unsigned a = 1;"),
        ];
        for (rule, line, changed) in cases {
            // What a comment says is blank in the shape.
            let shape = match line.find("//") {
                Some(at) => format!("{}{}", &line[..at], " ".repeat(line.len() - at)),
                None => line.to_owned(),
            };
            let found = changes(line, &shape);
            assert!(found.contains(&(rule, changed.to_owned())), "{line}: {found:?}");
        }
    }

    #[test]
    fn declarations_and_directives_stay() {
        for line in ["#pragma unroll 2", "unsigned word[4];", "Span sums[RUN];", "} else {", "return x;"] {
            assert_eq!(of(line), [], "{line}");
        }
    }
}
