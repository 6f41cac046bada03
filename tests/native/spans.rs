//! Lists of spans and coverage, against lists and sets of single places.

use std::collections::BTreeSet;

use proptest::prelude::*;
use turnmark::ids::LogId;
use turnmark::model::span::{Coverage, Span, Spans};

use crate::random::cases;

type Place = (u8, u32);

fn log(n: u8) -> LogId {
    LogId::parse(&format!("l{n}")).unwrap()
}

fn spans(list: &[(u8, u32, u32)]) -> Spans {
    let mut spans = Spans::default();
    for (name, from, length) in list {
        spans.push(Span(log(*name), *from, from + length));
    }
    spans
}

fn places(list: &[(u8, u32, u32)]) -> Vec<Place> {
    list.iter().flat_map(|(name, from, length)| (*from..from + length).map(|seq| (*name, seq))).collect()
}

fn seen(spans: &Spans) -> Vec<Place> {
    spans.places().map(|(log, seq)| (log.as_str()[1..].parse().unwrap(), seq)).collect()
}

fn lists() -> impl Strategy<Value = Vec<(u8, u32, u32)>> {
    prop::collection::vec((0..2_u8, 0..12_u32, 0..6_u32), 0..8)
}

fn common<'a>(a: impl Iterator<Item = &'a Place>, b: impl Iterator<Item = &'a Place>) -> u32 {
    u32::try_from(a.zip(b).take_while(|(a, b)| a == b).count()).unwrap()
}

fn coverage(list: &[(u8, u32, u32)]) -> Coverage {
    let mut coverage = Coverage::default();
    coverage.add(&spans(list));
    coverage
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn spans_hold_the_places_that_were_pushed_and_are_merged_where_they_touch(list in lists()) {
        let spans = spans(&list);
        let places = places(&list);
        prop_assert_eq!(seen(&spans), places.clone());
        prop_assert_eq!(spans.count() as usize, places.len());
        let list: Vec<&Span> = spans.iter().collect();
        prop_assert_eq!(list.len(), spans.parts());
        prop_assert!(list.iter().all(|span| !span.is_empty()));
        prop_assert!(list.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].2 != pair[1].1));
    }

    #[test]
    fn a_slice_is_the_slice_of_the_places(list in lists(), from in 0..40_u32, to in 0..40_u32) {
        let all = places(&list);
        let end = (to as usize).min(all.len());
        let expected = all.get(from as usize..end).map_or_else(Vec::new, <[Place]>::to_vec);
        prop_assert_eq!(seen(&spans(&list).slice(from, to)), expected);
    }

    #[test]
    fn a_message_is_found_at_its_index(list in lists(), index in 0..50_u32) {
        let found = spans(&list).at(index).map(|(log, seq)| (log.as_str()[1..].parse::<u8>().unwrap(), seq));
        prop_assert_eq!(found, places(&list).get(index as usize).copied());
    }

    #[test]
    fn what_two_lists_begin_and_end_with_is_counted_by_place(shared in lists(), a in lists(), b in lists()) {
        for join in [true, false] {
            let with = |own: &[(u8, u32, u32)]| if join { [&shared, own].concat() } else { [own, &shared].concat() };
            let (a, b) = (with(&a), with(&b));
            let (left, right) = (places(&a), places(&b));
            prop_assert_eq!(spans(&a).common_prefix(&spans(&b)), common(left.iter(), right.iter()));
            prop_assert_eq!(spans(&a).common_suffix(&spans(&b)), common(left.iter().rev(), right.iter().rev()));
        }
    }

    #[test]
    fn joining_two_lists_joins_their_places(a in lists(), b in lists()) {
        let mut joined = spans(&a);
        joined.extend(&spans(&b));
        prop_assert_eq!(seen(&joined), [places(&a), places(&b)].concat());
    }

    #[test]
    fn coverage_is_the_set_of_places(a in lists(), b in lists(), from in 0..20_u32, to in 0..20_u32) {
        let mut coverage = coverage(&a);
        coverage.add(&spans(&b));
        let set: BTreeSet<Place> = places(&a).into_iter().chain(places(&b)).collect();
        for name in 0..3 {
            let log = log(name);
            let ranges: Vec<(u32, u32)> = coverage.ranges(&log).collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:?} are disjoint and apart");
            let covered: BTreeSet<Place> = ranges.iter().flat_map(|(from, to)| (*from..*to).map(|seq| (name, seq))).collect();
            prop_assert_eq!(&covered, &set.iter().copied().filter(|place| place.0 == name).collect());
            prop_assert_eq!(coverage.touches(&log, from, to), (from..to).any(|seq| set.contains(&(name, seq))));
        }
        prop_assert_eq!(coverage.holds(&spans(&a)), true);
    }

    #[test]
    fn a_list_covers_another_when_it_has_all_its_places(a in lists(), b in lists()) {
        let set: BTreeSet<Place> = places(&a).into_iter().collect();
        let covered = places(&b).iter().all(|place| set.contains(place));
        prop_assert_eq!(spans(&a).covers(&spans(&b)), covered);
        prop_assert_eq!(coverage(&a).holds(&spans(&b)), covered);
    }
}

/// Lists that were read are not trusted: what holds nothing, or ends before it begins, reaches nothing.
#[test]
fn spans_that_hold_nothing_reach_nothing() {
    let read = |text: &str| serde_json::from_str::<Spans>(text).unwrap();
    let odd = read(r#"[["l0",5,5],["l0",9,2],["l1",4294967295,0]]"#);
    assert_eq!((odd.count(), odd.places().count(), odd.slice(0, 9).parts()), (0, 0, 0));
    let mut coverage = Coverage::default();
    coverage.add(&odd);
    assert_eq!(coverage, Coverage::default());
    assert!(!coverage.holds(&odd));
    assert!(coverage.holds(&read("[[\"l0\",5,5]]")));
    assert_eq!(read("[[\"l0\",0,4294967295]]").count(), u32::MAX);
}
