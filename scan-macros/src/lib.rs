//! stub
use proc_macro::TokenStream;
/// stub
#[proc_macro_attribute]
pub fn scan_op(_a: TokenStream, item: TokenStream) -> TokenStream {
    item
}
/// stub
#[proc_macro_attribute]
pub fn scan_element(_a: TokenStream, item: TokenStream) -> TokenStream {
    item
}
