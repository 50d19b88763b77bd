//! Tables of text.

use std::io::{self, Write};

/// Writes columns as wide as they need to be: the first and the last one to the left, numbers to the right.
pub(crate) fn write(header: &[&str], rows: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
    let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    let width = |column: usize| {
        let cells = [&header].into_iter().chain(rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    for row in [&header].into_iter().chain(rows) {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            let cell = match column {
                0 => format!("{cell:<width$}"),
                _ if column + 1 == widths.len() => cell.clone(),
                _ => format!("{cell:>width$}"),
            };
            line.push_str(gap);
            line.push_str(&cell);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
