//! Lines that know where they stand in the user's file.

/// Text that knows on which line of the user's file each of its lines stands.
#[derive(Default)]
pub(super) struct Lines {
    done: Vec<(Option<u32>, String)>,
    mark: Option<u32>,
    current: String,
}

impl Lines {
    pub(super) fn mark(&mut self, number: u32) {
        self.mark = Some(number);
    }

    pub(super) fn push(&mut self, text: &str) {
        let mut parts = text.split('\n');
        self.current.push_str(parts.next().unwrap_or_default());
        for part in parts {
            self.done.push((self.mark.take(), std::mem::take(&mut self.current)));
            self.current.push_str(part);
        }
    }

    /// The lines, indented, with a `#line` wherever counting on would be wrong.
    pub(super) fn text(mut self, file: &str) -> String {
        if !self.current.is_empty() {
            self.done.push((self.mark.take(), std::mem::take(&mut self.current)));
        }
        let file = file.replace('\\', "\\\\").replace('"', "\\\"");
        let mut counted: Option<u32> = None;
        let mut text = Vec::new();
        for (mark, line) in self.done {
            if let Some(mark) = mark
                && counted != Some(mark)
            {
                text.push(format!("#line {mark} \"{file}\""));
                counted = Some(mark);
            }
            text.push(if line.is_empty() { line } else { format!("    {line}") });
            counted = counted.map(|counted| counted + 1);
        }
        text.join("\n")
    }
}
