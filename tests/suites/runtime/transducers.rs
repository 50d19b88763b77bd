//! Programs that give up to two results for an input, on the CPU: documents that begin anew while the places of the
//! results go on, and decoders that tell how many results there are and where the first error is.

use scan_runtime::{Scanner, arrays, laws, ops};
use scan_tests::transducers::{
    Decoded, IndexedByte, Leb128, OfDocument, Utf8, Utf16, documents, leb128, numbers_of, units_of,
    where_documents_change,
};

const LENGTHS: [usize; 6] = [0, 1, 2, 70, 5_000, 60_001];

fn bytes_and_flags(documents: &[Utf8]) -> (Vec<u8>, Vec<bool>) {
    documents.iter().map(|x| (x.byte, x.begins)).unzip()
}

/// The words of Apache Arrow's bitmaps: bytes, the least significant bit first.
fn bitmap(flags: &[bool]) -> Vec<u8> {
    let byte = |flags: &[bool]| flags.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag));
    flags.chunks(8).map(byte).collect()
}

/// Where documents begin is a part of the input, as flags, bits or keys. So the operator itself begins anew: it forgets
/// the character that has begun, and keeps the count of the units.
#[test]
fn documents_of_utf8_begin_anew_and_their_units_go_on() {
    let scanner = Scanner::cpu();
    for len in LENGTHS {
        let documents = documents(len, len as u64);
        let expected = units_of(&documents);
        let (bytes, flags) = bytes_and_flags(&documents);
        let check = |units: Vec<u16>, total: Option<Decoded>| {
            assert_eq!(total.map_or(0, |total| total.units) as usize, expected.len(), "{len}");
            assert!(units == expected, "{len}");
        };

        let mut units = vec![0; expected.len()];
        let outputs = arrays::scatter_by_output((&mut units,));
        let total = scanner.scan(Utf16).with_total().run_into((&bytes, &flags), outputs).unwrap();
        check(units, total);

        let (bits, mut units) = (bitmap(&flags), vec![0; expected.len()]);
        let outputs = arrays::scatter_by_output((&mut units,));
        let input = (&bytes, arrays::bits(&bits, 0));
        let total = scanner.scan(Utf16).with_total().run_into(input, outputs).unwrap();
        check(units, total);

        let document = |document: &mut u32, &begins: &bool| {
            *document += u32::from(begins);
            Some(*document)
        };
        let keys: Vec<u32> = flags.iter().scan(5, document).collect();
        let mut units = vec![0; expected.len()];
        let outputs = arrays::scatter_by_output((&mut units,));
        let before = arrays::previous(&keys, 5);
        let scan = scanner.scan(ops::map::<where_documents_change, _>(Utf16));
        let total = scan.with_total().run_into((&bytes, &keys, before), outputs).unwrap();
        check(units, total);
    }
}

/// Chunks of a stream end anywhere: within a document, and within a character.
#[test]
fn documents_go_on_in_the_next_chunk() {
    let documents = documents(10_007, 3);
    let expected = units_of(&documents);
    let (bytes, flags) = bytes_and_flags(&documents);
    for chunk in [1, 7, 1_000, 4_099] {
        let mut units = vec![0; expected.len()];
        let mut carry = Decoded::default();
        for (bytes, flags) in bytes.chunks(chunk).zip(flags.chunks(chunk)) {
            let outputs = arrays::scatter_by_output((&mut units,));
            let scan = Scanner::cpu().scan(Utf16).init(carry);
            carry = scan.with_total().run_into((bytes, flags), outputs).unwrap().unwrap();
        }
        assert!(carry.units as usize == expected.len() && units == expected, "chunks of {chunk}");
    }
}

/// One call writes the numbers, one after the other, counts them, and finds the first byte that is in no number of 32
/// bits.
#[test]
fn a_decoder_counts_its_results_and_finds_the_first_error() {
    let scan = Scanner::cpu().scan(Leb128);
    let mut errors = 0;
    for len in LENGTHS {
        for wrong_from in [len, len / 2, 0] {
            let bytes = leb128(len, len as u64, wrong_from);
            let (expected, first_error) = numbers_of(&bytes);
            let mut numbers = vec![0; expected.len()];
            let outputs = arrays::scatter_by_output((&mut numbers,));
            let total = scan.with_total().run_into((&bytes, arrays::indices()), outputs).unwrap();
            let found = total.map_or((0, u32::MAX), |total| (total.numbers as usize, total.first_error));
            assert_eq!(found, (expected.len(), first_error), "{len} bytes, wrong from {wrong_from}");
            assert!(numbers == expected, "{len} bytes, wrong from {wrong_from}");
            errors += u32::from(first_error != u32::MAX);
            assert!(wrong_from < len || first_error == u32::MAX);
        }
    }
    assert!(errors >= 6, "{errors} inputs are wrong");
    // Of the fifth byte, four bits; of the sixth, none.
    for (bytes, error) in [(&[0xff_u8, 0xff, 0xff, 0xff, 0x0f][..], u32::MAX), (&[1, 0xff, 0xff, 0xff, 0xff, 0x1f], 5)]
    {
        assert_eq!(numbers_of(bytes).1, error);
    }
    assert_eq!(numbers_of(&[0x80, 0x80, 0x80, 0x80, 0x80, 0]).1, 5);
}

#[test]
fn the_laws_hold() {
    laws::check(&Utf16, documents(300, 1)).unwrap();
    let wrong = leb128(300, 1, 0).into_iter().zip(0..);
    laws::check(&Leb128, wrong.map(|(byte, index)| IndexedByte { byte, index }).collect::<Vec<_>>()).unwrap();
    let of_document = |(x, index): (Utf8, u32)| OfDocument { byte: x.byte, document: index / 7, before: index / 6 };
    let samples: Vec<_> = documents(300, 2).into_iter().zip(0..).map(of_document).collect();
    laws::check(&ops::map::<where_documents_change, _>(Utf16), samples).unwrap();
}
