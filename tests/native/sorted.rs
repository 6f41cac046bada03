//! The sorted map and set of this crate, against those of the standard library.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use turnmark::model::sorted::{Map, Set};

use crate::random::cases;

#[derive(Clone, Debug)]
enum Act {
    Insert(u16, u8),
    Slot(u16, u8),
    Change(u16, u8),
    Remove(u16),
}

fn acts(keys: u16, length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0..keys, any::<u8>()).prop_map(|(key, value)| Act::Insert(key, value)),
        1 => (0..keys, any::<u8>()).prop_map(|(key, value)| Act::Slot(key, value)),
        1 => (0..keys, any::<u8>()).prop_map(|(key, value)| Act::Change(key, value)),
        2 => (0..keys).prop_map(Act::Remove),
    ];
    prop::collection::vec(act, length)
}

/// Checks that both hold the same, whichever way they are asked.
fn same(map: &Map<u16, u8>, expected: &BTreeMap<u16, u8>, keys: impl Iterator<Item = u16>) {
    assert_eq!((map.len(), map.is_empty()), (expected.len(), expected.is_empty()));
    assert!(map.iter().eq(expected.iter()));
    assert!(map.keys().eq(expected.keys()) && map.values().eq(expected.values()));
    for key in keys {
        assert_eq!((map.get(&key), map.contains_key(&key)), (expected.get(&key), expected.contains_key(&key)));
        assert_eq!(map.up_to(&key), expected.range(..=key).next_back());
        assert!(map.from(&key).eq(expected.range(key..)));
    }
}

fn act(map: &mut Map<u16, u8>, expected: &mut BTreeMap<u16, u8>, act: &Act) {
    match *act {
        Act::Insert(key, value) => assert_eq!(map.insert(key, value), expected.insert(key, value)),
        Act::Slot(key, value) => {
            let (slot, other) = (map.slot(key), expected.entry(key).or_default());
            assert_eq!(slot, other);
            (*slot, *other) = (value, value);
        }
        Act::Change(key, value) => match (map.get_mut(&key), expected.get_mut(&key)) {
            (Some(a), Some(b)) => (*a, *b) = (value, value),
            (a, b) => assert_eq!(a, b),
        },
        Act::Remove(key) => assert_eq!(map.remove(&key), expected.remove(&key)),
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_map_is_a_map(list in acts(20, 0..80)) {
        let (mut map, mut expected) = (Map::new(), BTreeMap::new());
        for one in &list {
            act(&mut map, &mut expected, one);
            same(&map, &expected, 0..21);
        }
        let again: Map<u16, u8> = expected.iter().rev().map(|(key, value)| (*key, *value)).collect();
        prop_assert_eq!(&again, &map);
        prop_assert_eq!(map.cmp(&again), std::cmp::Ordering::Equal);
        let text = serde_json::to_string(&map).unwrap();
        prop_assert_eq!(&text, &serde_json::to_string(&expected).unwrap());
        prop_assert_eq!(&serde_json::from_str::<Map<u16, u8>>(&text).unwrap(), &map);
        map.values_mut().zip(expected.values_mut()).for_each(|(a, b)| (*a, *b) = (a.wrapping_add(1), b.wrapping_add(1)));
        prop_assert!(map.clone().into_values().eq(expected.clone().into_values()));
        prop_assert!(map.into_iter().eq(expected));
    }

    #[test]
    fn maps_compare_as_their_entries_do(a in acts(4, 0..6), b in acts(4, 0..6)) {
        let build = |list: &[Act]| {
            let (mut map, mut expected) = (Map::new(), BTreeMap::new());
            list.iter().for_each(|one| act(&mut map, &mut expected, one));
            (map, expected)
        };
        let ((a, x), (b, y)) = (build(&a), build(&b));
        prop_assert_eq!((a == b, a.cmp(&b)), (x == y, x.cmp(&y)));
    }

    #[test]
    fn a_set_holds_each_member_once(members in prop::collection::vec(0..600_u16, 0..900)) {
        let (mut set, mut expected) = (Set::new(), BTreeSet::new());
        for member in &members {
            prop_assert_eq!(set.insert(*member), expected.insert(*member));
        }
        prop_assert!(set.iter().eq(expected.iter()));
        prop_assert_eq!((set.len(), set.is_empty()), (expected.len(), expected.is_empty()));
        prop_assert!((0..600).all(|member| set.contains(&member) == expected.contains(&member)));
        prop_assert!(members.iter().copied().collect::<Set<u16>>() == set);
    }
}

proptest! {
    #![proptest_config(cases(20))]

    /// Many pages, which split and vanish.
    #[test]
    fn a_large_map_is_a_map(list in acts(3000, 1000..3000), step in 1..2999_u16) {
        let (mut map, mut expected) = (Map::new(), BTreeMap::new());
        for key in 0..3000_u16 {
            let key = (u32::from(key) * u32::from(step) % 3000).try_into().unwrap();
            act(&mut map, &mut expected, &Act::Insert(key, 1));
        }
        list.iter().for_each(|one| act(&mut map, &mut expected, one));
        same(&map, &expected, (0..3001).step_by(97));
    }
}

#[test]
fn a_map_filled_in_order_and_emptied_from_either_end_is_a_map() {
    for backwards in [false, true] {
        let (mut map, mut expected) = (Map::new(), BTreeMap::new());
        for key in 0..2000_u16 {
            act(&mut map, &mut expected, &Act::Insert(if backwards { 1999 - key } else { key }, 7));
        }
        same(&map, &expected, (0..2001).step_by(101));
        for key in 0..2000_u16 {
            act(&mut map, &mut expected, &Act::Remove(if key % 2 == 0 { key / 2 } else { 1999 - key / 2 }));
            if key % 97 == 0 {
                same(&map, &expected, (0..2001).step_by(501));
            }
        }
        assert!(map.is_empty() && map.up_to(&0).is_none() && map.from(&0).next().is_none());
    }
}
