//! The aggregate of a part as the result, and the operator over aggregates.

use crate::operator::{OpSource, OutputsOf};

impl OpSource {
    /// The operator whose carry and output are the state.
    #[must_use]
    pub fn aggregate(&self) -> Self {
        let backwards = Some(Box::new(self.read_backwards().without_carry()));
        OpSource { backwards, ..self.without_carry() }
    }

    fn without_carry(&self) -> Self {
        let mut source = OpSource {
            output: self.state.clone(),
            carry: None,
            outputs_of: OutputsOf::Prefixes,
            backwards: None,
            ..self.clone()
        };
        source.functions.retain(|function| matches!(&*function.name, "lift" | "combine" | "append" | "prepend"));
        source
    }

    /// The operator whose inputs are states, and whose output is the carry.
    #[must_use]
    pub fn over_aggregates(&self) -> Self {
        let backwards = Some(Box::new(self.read_backwards().of_states()));
        OpSource { backwards, ..self.of_states() }
    }

    fn of_states(&self) -> Self {
        let mut source = OpSource {
            input: self.state.clone(),
            output: self.initial().clone(),
            outputs_of: OutputsOf::Prefixes,
            backwards: None,
            ..self.clone()
        };
        source.functions.retain(|function| matches!(&*function.name, "combine" | "apply"));
        // A step past an input, which is a state, is that past all of its part.
        let mut steps: Vec<_> = source.functions.iter().filter(|function| function.name == "apply").cloned().collect();
        for step in &mut steps {
            step.name = "step".to_owned();
            step.parameters.reverse();
        }
        source.functions.extend(steps);
        source
    }
}
