//! How many checkpoints a policy removes.

use proptest::prelude::*;
use turnmark::model::retention::Retention;

use crate::random::cases;

fn excess(max: u32, share: u32, count: u32) -> u32 {
    Retention { max, share, sessions_only: false }.excess(count)
}

/// M-08, R13
#[test]
fn five_hundred_stay_and_the_next_one_takes_a_fifth_away() {
    assert_eq!(excess(500, 20, 499), 0);
    assert_eq!(excess(500, 20, 500), 0);
    assert_eq!(excess(500, 20, 501), 101);
    assert_eq!(excess(500, 20, 505), 101);
    assert_eq!(excess(500, 20, 506), 102);
}

/// P-04
#[test]
fn zero_keeps_all_and_no_share_removes_just_the_excess() {
    assert_eq!(excess(0, 0, u32::MAX), 0);
    assert_eq!(excess(0, 20, u32::MAX), 0);
    assert_eq!(excess(3, 0, 4), 1);
    assert_eq!(excess(1, 0, 1), 0);
}

/// P-04: a ceiling is a ceiling, also when it is set late or the share is small.
#[test]
fn a_ceiling_that_comes_late_is_reached_at_once() {
    assert_eq!(excess(500, 20, 10_000), 9_500);
    assert_eq!(excess(500, 1, 510), 10);
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn no_numbers_overflow_and_what_is_left_is_under_the_ceiling(max in any::<u32>(), share in any::<u32>(), count in any::<u32>()) {
        let excess = excess(max, share, count);
        prop_assert!(excess <= count);
        prop_assert!(max == 0 || count - excess <= max);
        prop_assert!(excess == 0 || (max > 0 && count > max));
    }
}
