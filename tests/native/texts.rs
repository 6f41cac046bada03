//! Texts, hashes, bodies.

use proptest::prelude::*;
use turnmark::model::body::{Binary, Body, content_hash, cut, weight};
use turnmark::model::hash::Hash;

use crate::random::cases;

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn pieces_of_a_text_join_to_it_and_none_is_over_the_limit(text in ".{0,60}", limit in 0..30_usize) {
        let pieces = cut(&text, limit);
        prop_assert_eq!(pieces.concat(), text.clone());
        prop_assert!(!pieces.is_empty());
        for piece in pieces {
            prop_assert!(weight(piece) <= limit.max(4) || piece.chars().count() == 1);
            prop_assert!(text.is_empty() || !piece.is_empty());
        }
    }

    #[test]
    fn hashes_pack_and_read_back(seeds in prop::collection::vec(any::<u64>(), 0..20)) {
        let hashes: Vec<Hash> = seeds.iter().map(|seed| Hash::of("x", &[&seed.to_le_bytes()])).collect();
        let packed = Hash::pack(&hashes);
        prop_assert_eq!(packed.len(), hashes.len() * 32);
        prop_assert_eq!(Hash::unpack(&packed), Some(hashes.clone()));
        for hash in hashes {
            prop_assert_eq!(Hash::from_hex(&hash.to_hex()), Some(hash));
        }
    }
}

#[test]
fn a_text_weighs_a_byte_a_character_or_two_a_unit() {
    assert_eq!(weight(""), 0);
    assert_eq!(weight("abc"), 3);
    assert_eq!(weight("é\u{ff}"), 2);
    assert_eq!(weight("aж"), 4);
    assert_eq!(weight("a\u{1F600}"), 6);
}

#[test]
fn a_hash_reads_only_hex_of_its_length_and_lists_only_whole_hashes() {
    for text in ["", "00", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64), &"é".repeat(32)] {
        assert_eq!(Hash::from_hex(text), None, "{text}");
    }
    assert_eq!(Hash::unpack(&[0; 33]), None);
    assert_eq!(Hash::unpack(&[]), Some(Vec::new()));
}

/// Contents that are not the same never share a hash, however their parts are cut.
#[test]
fn hashes_tell_apart_what_only_looks_alike_when_joined() {
    let of = |domain: &str, pieces: &[&str]| {
        Hash::of(domain, &pieces.iter().map(|piece| piece.as_bytes()).collect::<Vec<_>>())
    };
    let all = [
        of("a", &["bc"]),
        of("a", &["b", "c"]),
        of("a", &["bc", ""]),
        of("a", &["", "bc"]),
        of("ab", &["c"]),
        of("a", &[]),
    ];
    for (at, hash) in all.iter().enumerate() {
        assert!(!all[..at].contains(hash), "{at}");
    }
    assert_ne!(content_hash("x", &[]), Hash::of("bytes", &[b"x"]));
}

#[test]
fn a_body_is_its_text_and_its_binaries() {
    let picture = || Binary::new(vec![1, 2, 3]);
    let body = |text: &str, binaries: Vec<Binary>| Body::new(text.to_owned(), binaries);
    assert_eq!(body("x", vec![picture()]).hash(), body("x", vec![picture()]).hash());
    assert_ne!(body("x", vec![picture()]).hash(), body("x", vec![]).hash());
    assert_ne!(
        body("x", vec![picture(), Binary::new(vec![])]).hash(),
        body("x", vec![Binary::new(vec![]), picture()]).hash()
    );
    assert_eq!((body("жx", vec![]).size(), body("éx", vec![]).size()), (4, 2));
}
