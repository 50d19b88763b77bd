//! stub
use crate::*;
/// t
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// c
    Cuda,
    /// h
    Host,
}
pub(crate) struct OperatorText {
    pub text: String,
    pub operator: String,
    pub value: String,
    pub input: String,
    pub state: String,
    pub output: String,
    pub lifts: bool,
    pub projects: bool,
    #[allow(dead_code)]
    pub has_identity: bool,
}
pub(crate) fn operator_text(op: &OpSource, _t: Target) -> Result<OperatorText, RenderError> {
    Ok(OperatorText {
        text: String::new(),
        operator: op.name.clone(),
        value: op.name.to_lowercase(),
        input: op.input.name.clone(),
        state: op.state.name.clone(),
        output: op.output.name.clone(),
        lifts: false,
        projects: false,
        has_identity: true,
    })
}
