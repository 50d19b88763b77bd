//! The mistakes: what a CUDA programmer gets wrong in one line.

/// A mistake in a line: the rule that makes it, and the line with it.
pub type Change = (&'static str, String);

/// Operators that take each other's place, by rule.
const EXCHANGES: [(&str, &str, &str); 22] = [
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
    ("accumulate", " &= ", " = "),
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

/// Names that are taken for each other: of the input and of the output, and of two axes.
const NAMES: [(&str, &str, &str); 15] = [
    ("side", "input_step", "output_step"),
    ("side", "input_strides", "output_strides"),
    ("side", "first.input", "first.output"),
    ("side", "places.input", "places.output"),
    ("side", "sizeof(Input)", "sizeof(Output)"),
    ("side", "input_address", "output_address"),
    ("axis", "thread.x", "thread.y"),
    ("axis", "thread.across", "thread.down"),
    ("axis", "steps.rows", "steps.columns"),
    ("axis", "steps.down", "steps.right"),
    ("axis", "place.row", "place.column"),
    ("axis", "tile.row", "tile.column"),
    ("axis", "layout.length", "layout.columns"),
    ("axis", "tile_width", "tile_height"),
    ("axis", "TILES", "GROUPS"),
];

/// Integers of 64 bits, of which the upper half gets lost.
const WIDE: [&str; 2] = ["size_t", "unsigned long long"];

/// What ends an operand of a condition, and what ends an addend or a factor as well.
const CONDITION_ENDS: [&str; 7] = [" && ", " || ", " ? ", " : ", " = ", " &= ", "return "];
const ARITHMETIC_ENDS: [&str; 17] = [
    " + ", " - ", " < ", " <= ", " > ", " >= ", " == ", " != ", " += ", " -= ", " << ", " >> ", " & ", " | ", " ^ ",
    " |= ", " *= ",
];
const FACTOR_ENDS: [&str; 3] = [" * ", " / ", " % "];

/// What a statement that orders threads has in it.
const ORDERS: [&str; 9] =
    ["__sync", "wait", "fence(", "arrive", "init_barrier(", "fence_", "launch_dependents", "launch_order", "delay("];

/// Every mistake in a line. `shape` is as long as the line: Tera's expressions are letters in it, its other tags and comments are
/// blanks.
pub fn changes(line: &str, shape: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    if shape.trim_start().starts_with(['#', '}']) && !shape.contains(" if (") {
        return changes;
    }
    let mut replace = |rule, at: usize, length: usize, by: &str| {
        let changed = format!("{}{by}{}", &line[..at], &line[at + length..]);
        // Two rules may make the same mistake.
        if !changes.iter().any(|(_, text)| *text == changed) {
            changes.push((rule, changed));
        }
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
    for (rule, one, other) in NAMES {
        for (from, to) in [(one, other), (other, one)] {
            for at in words(shape, from) {
                replace(rule, at, from.len(), to);
            }
        }
    }
    for wide in WIDE {
        for at in words(shape, wide).filter(|at| !shape[at + wide.len()..].starts_with(['*', '&'])) {
            replace("width", at, wide.len(), "unsigned");
        }
    }
    let of_sums = [&CONDITION_ENDS[..], &ARITHMETIC_ENDS].concat();
    let of_products = [&of_sums[..], &FACTOR_ENDS].concat();
    for (rule, sign, ends) in
        [("check", " && ", &CONDITION_ENDS[..]), ("part", " + ", &of_sums), ("part", " * ", &of_products)]
    {
        for at in places(shape, sign) {
            let second = at + sign.len();
            let (first, end) = (begin_of_operand(shape, at, ends), end_of_operand(shape, second, ends));
            // ` + 1` is left out as an offset.
            if is_whole(&shape[second..end]) && &shape[second..end] != "1" {
                replace(rule, at, end - at, "");
            }
            if is_whole(&shape[first..at]) {
                replace(rule, first, second - first, "");
            }
        }
    }
    for keyword in ["min(", "max("] {
        for at in places(shape, keyword).filter(|&at| !ends_with_word(&shape[..at])) {
            let open = at + keyword.len();
            if let Some(end) = closing(shape, open)
                && let Some(comma) = at_depth_0(&shape[open..end], ", ")
            {
                for part in [&line[open..open + comma], &line[open + comma + 2..end]] {
                    replace("clamp", at, end + 1 - at, &format!("({part})"));
                }
            }
        }
    }
    for at in places(shape, "if (").filter(|&at| !ends_with_word(&shape[..at])) {
        let open = at + "if (".len();
        if let Some(end) = closing(shape, open).filter(|&end| &shape[open..end] != "true") {
            replace("check", open, end - open, "true");
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

/// Names that are taken for each other in Rust.
const NAMES_OF_RUST: [(&str, &str, &str); 7] = [
    ("side", "input", "output"),
    ("side", "inputs", "outputs"),
    ("side", "input_stride", "output_stride"),
    ("side", "input_len", "output_len"),
    ("axis", "rows", "columns"),
    ("axis", "start", "end"),
    ("axis", "first", "last"),
];

/// Every mistake in a line of Rust: those of a template, names that only Rust has, a check that always holds or never
/// does, an argument that is not checked, and a list without one of its items, which may be a key without a part.
pub fn changes_of_rust(line: &str, shape: &str) -> Vec<Change> {
    if ["use ", "pub use ", "mod ", "pub mod ", "#["].iter().any(|start| shape.trim_start().starts_with(start)) {
        return Vec::new();
    }
    let mut changes = changes(line, shape);
    let mut replace = |rule, at: usize, length: usize, by: &str| {
        let changed = format!("{}{by}{}", &line[..at], &line[at + length..]);
        if changed != line && !changes.iter().any(|(_, text)| *text == changed) {
            changes.push((rule, changed));
        }
    };
    for (rule, one, other) in NAMES_OF_RUST {
        for (from, to) in [(one, other), (other, one)] {
            for at in words(shape, from) {
                replace(rule, at, from.len(), to);
            }
        }
    }
    for at in words(shape, "if") {
        let condition = at + "if ".len();
        let end = shape.get(condition..).and_then(|rest| at_depth_0(rest, " {")).map(|length| condition + length);
        if let Some(end) = end.filter(|_| !shape[condition..].starts_with("let ")) {
            replace("check", condition, end - condition, "true");
            replace("check", condition, end - condition, "false");
        }
    }
    for at in places(shape, "[").filter(|&at| !ends_with_word(&shape[..at]) && !shape[..at].ends_with([')', ']', '#']))
    {
        let Some(end) = closing(shape, at + 1) else { continue };
        let mut first = at + 1;
        while let Some(comma) = at_depth_0(&shape[first..end], ", ") {
            replace("key", first, comma + 2, "");
            first += comma + 2;
        }
        if first > at + 1 {
            replace("key", first - 2, end + 2 - first, "");
        }
    }
    changes
}

fn places<'a>(shape: &'a str, part: &'a str) -> impl Iterator<Item = usize> + 'a {
    shape.match_indices(part).map(|(at, _)| at)
}

/// Where `part` stands on its own.
fn words<'a>(shape: &'a str, part: &'a str) -> impl Iterator<Item = usize> + 'a {
    let stands_alone = |at: &usize| !ends_with_word(&shape[..*at]) && !begins_with_word(&shape[at + part.len()..]);
    places(shape, part).filter(stands_alone)
}

/// Where the operand begins that ends at `end`.
fn begin_of_operand(shape: &str, end: usize, ends: &[&str]) -> usize {
    let mut depth = 0;
    for (at, c) in shape[..end].char_indices().rev() {
        match c {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' if depth == 0 => return at + 1,
            '(' | '[' | '{' => depth -= 1,
            ';' | ',' if depth == 0 => return (at + 2).min(end),
            _ => {}
        }
        if depth == 0 && ends.iter().any(|end| shape[..=at].ends_with(end)) {
            return at + 1;
        }
    }
    (shape.len() - shape.trim_start().len()).min(end)
}

/// Where the operand ends that begins at `begin`.
fn end_of_operand(shape: &str, begin: usize, ends: &[&str]) -> usize {
    let length = end_of_expression(&shape[begin..]);
    let operand = &shape[begin..begin + length];
    let end = ends.iter().filter_map(|end| at_depth_0(operand, end)).min().unwrap_or(operand.trim_end().len());
    begin + end
}

/// Whether this is an operand, and not a part of one that goes on in another line.
fn is_whole(operand: &str) -> bool {
    let count = |brackets: [char; 2]| brackets.map(|bracket| operand.matches(bracket).count());
    let balanced = [['(', ')'], ['[', ']'], ['{', '}']].into_iter().all(|pair| count(pair)[0] == count(pair)[1]);
    balanced && !operand.trim().is_empty()
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
