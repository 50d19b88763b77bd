//! Reads a weekly record: a header, then rows of `date,co2`, oldest first; an empty second field is a missing week.

use std::fmt;
use std::io::Read;

use csv::{Position, ReaderBuilder, StringRecord, Trim};
use jiff::civil::Date;

/// One row of the record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Week {
    pub date: Date,
    /// Parts per million by volume; `None` in a week without an observation.
    pub co2: Option<f64>,
}

/// What is wrong with a record, and on which line.
#[derive(Debug)]
pub struct Malformed {
    line: Option<u64>,
    problem: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for Malformed {}

/// Reads all weeks. There is at least one observation among them, and each is later than the one before.
pub fn read(mut from: impl Read) -> Result<Vec<Week>, Malformed> {
    let mut text = Vec::new();
    from.read_to_end(&mut text).map_err(|error| Malformed { line: None, problem: error.to_string() })?;
    let at = |position: Option<&Position>, problem| Malformed {
        line: position.map(|position| line(&text, position)),
        problem,
    };
    let unreadable = |error: csv::Error| at(error.position(), explain(&error));

    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_slice());
    let header = reader.headers().map_err(unreadable)?;
    if header.len() != 2 || header.get(0).is_some_and(|first| first.parse::<Date>().is_ok()) {
        let problem = "expected a header of two columns, such as `date,co2`";
        return Err(at(Some(&Position::new()), problem.to_owned()));
    }
    let mut weeks: Vec<Week> = Vec::new();
    for row in reader.records() {
        let row = row.map_err(unreadable)?;
        let week = week(&row).map_err(|problem| at(row.position(), problem))?;
        if let Some(previous) = weeks.last().filter(|previous| previous.date >= week.date) {
            let problem = format!("{} does not come after {} of the row before", week.date, previous.date);
            return Err(at(row.position(), problem));
        }
        weeks.push(week);
    }
    if weeks.iter().all(|week| week.co2.is_none()) {
        return Err(at(None, "there is no observation in it".to_owned()));
    }
    Ok(weeks)
}

/// The line of the row at this position. The reader's own count stops before empty lines and inside of CR LF.
fn line(text: &[u8], row: &Position) -> u64 {
    let start = usize::try_from(row.byte()).map_or(text.len(), |start| start.min(text.len()));
    let breaks = text[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    1 + text[..start + breaks].iter().filter(|byte| **byte == b'\n').count() as u64
}

fn explain(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { len, .. } => format!("expected two fields, found {len}"),
        csv::ErrorKind::Utf8 { .. } => "the text is not UTF-8".to_owned(),
        _ => error.to_string(),
    }
}

fn week(row: &StringRecord) -> Result<Week, String> {
    let (date, co2) = (&row[0], &row[1]);
    let date = date.parse().map_err(|_| format!("`{date}` is no date such as 19580329 or 1958-03-29"))?;
    let co2 = match co2 {
        "" => None,
        text => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Some(value),
            _ => return Err(format!("`{text}` is no number; leave the field empty for a missing week")),
        },
    };
    Ok(Week { date, co2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_missing_week_keeps_its_place() {
        let weeks = read("date,co2\n19580329,316.1\n19580405,\n1958-04-12, 317.6\n".as_bytes()).unwrap();
        assert_eq!(weeks.iter().map(|week| week.co2).collect::<Vec<_>>(), [Some(316.1), None, Some(317.6)]);
        assert_eq!(weeks[1].date.to_string(), "1958-04-05");
    }

    #[test]
    fn the_record_of_mauna_loa_is_read_whole() {
        let weeks = read(include_bytes!("../data/mauna_loa_co2.csv").as_slice()).unwrap();
        assert_eq!(weeks.len(), 2284);
        assert_eq!(weeks.iter().filter(|week| week.co2.is_none()).count(), 59);
        assert_eq!(weeks[2283].date.to_string(), "2001-12-29");
    }

    #[test]
    fn a_malformed_row_is_named_by_its_line() {
        assert_eq!(problem("date,co2\n19580329,316.1\n19580405,317,3\n"), "line 3: expected two fields, found 3");
        assert_eq!(
            problem("date,co2\n19580329,high\n"),
            "line 2: `high` is no number; leave the field empty for a missing week"
        );
        assert_eq!(
            problem("date,co2\n19580329,NaN\n"),
            "line 2: `NaN` is no number; leave the field empty for a missing week"
        );
        assert_eq!(
            problem("date,co2\n19581329,316.1\n"),
            "line 2: `19581329` is no date such as 19580329 or 1958-03-29"
        );
        assert_eq!(
            problem("date,co2\n19580405,316.1\n\n19580329,316.1\n"),
            "line 4: 1958-03-29 does not come after 1958-04-05 of the row before"
        );
    }

    #[test]
    fn lines_are_counted_whatever_ends_them() {
        for text in ["date,co2\n\n\n19580329,x\n", "date,co2\r\n\r\n19580329,1\r\n19580405,x\r\n"] {
            assert_eq!(problem(text), "line 4: `x` is no number; leave the field empty for a missing week");
        }
        assert_eq!(problem("date,co2\r\n19580329,1\r\n\r\n1\r\n"), "line 4: expected two fields, found 1");
    }

    #[test]
    fn a_record_needs_a_header_and_an_observation() {
        let header = "line 1: expected a header of two columns, such as `date,co2`";
        assert_eq!(problem(""), header);
        assert_eq!(problem("19580329,316.1\n"), header);
        assert_eq!(problem("date,co2\n"), "there is no observation in it");
        assert_eq!(problem("date,co2\n19580329,\n"), "there is no observation in it");
        assert_eq!(read(b"date,co2\n\xff,1\n".as_slice()).unwrap_err().to_string(), "line 2: the text is not UTF-8");
    }
}
