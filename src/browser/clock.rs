//! Time and chance, as the page has them.

use std::cell::Cell;
use std::rc::Rc;

use gloo::timers::callback::Timeout;

use super::signal::Signal;
use crate::error::{Code, Error, Result};

/// The latest time that a `Date` can be. Later ones, of a clock that a page has replaced, would fit into no row.
const LATEST: f64 = 8.64e15;

/// The page's clock, in epoch milliseconds. It may jump, so nothing is ordered by it.
#[must_use]
pub fn now() -> u64 {
    // A clock set before 1970 reads as 0, and so does one that gives no number, by the cast.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let now = js_sys::Date::now().clamp(0.0, LATEST) as u64;
    now
}

/// 32 bytes from the browser's cryptographic generator.
///
/// # Errors
/// `Unavailable` when the page has none.
pub fn random() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(
            Code::Unavailable,
            "the browser gives no random numbers (crypto.getRandomValues), which fresh ids need",
        )
        .caused_by(error.to_string())
    })?;
    Ok(bytes)
}

/// Waits.
pub async fn sleep(milliseconds: u32) {
    let over = Rc::new((Cell::new(false), Signal::default()));
    let _timer = after(milliseconds, {
        let over = over.clone();
        move || {
            over.0.set(true);
            over.1.notify();
        }
    });
    over.1.until(|| over.0.get().then_some(())).await;
}

/// Calls back once, unless the timer is dropped before.
pub(super) fn after(milliseconds: u32, then: impl FnOnce() + 'static) -> Timeout {
    // Browsers keep delays as signed 32-bit numbers and take a larger one as zero.
    Timeout::new(milliseconds.min(i32::MAX.unsigned_abs()), then)
}
