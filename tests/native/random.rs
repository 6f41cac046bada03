//! Random tests that repeat: the same cases in every run, more of them by `PROPTEST_CASES`.

use proptest::test_runner::{Config, RngSeed};

/// A configuration of so many cases. `PROPTEST_RNG_SEED` gives others.
pub(crate) fn cases(cases: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let default = Config::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0x7475_726e_6d61_726b),
        chosen => chosen,
    };
    Config { cases: asked.unwrap_or(cases), rng_seed, failure_persistence: None, max_shrink_iters: 20_000, ..default }
}
