//! The one primitive for waiting here: a task waits until a condition holds, and whoever changes it notifies.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Wakes every task that waits for a change. It carries no value, so a notification cannot be missed or misdelivered.
#[derive(Debug, Default)]
pub(super) struct Signal {
    waiting: RefCell<Vec<Waker>>,
}

impl Signal {
    /// Says that something changed. Tasks are only queued here; none runs before the caller returns.
    pub(super) fn notify(&self) {
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    /// Waits until `ready` answers.
    pub(super) async fn until<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        poll_fn(|context| {
            if let Some(value) = ready() {
                return Poll::Ready(value);
            }
            let mut waiting = self.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}
