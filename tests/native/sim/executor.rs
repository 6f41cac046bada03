//! A single-threaded executor without time: who goes on next is for the caller to choose.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task {
    name: usize,
    future: Pin<Box<dyn Future<Output = ()>>>,
    ready: Arc<Flag>,
}

/// Tasks that have not ended.
#[derive(Default)]
pub(crate) struct Executor {
    tasks: Vec<Task>,
}

impl Executor {
    /// Adds a task. Several may have one name; they end together.
    pub(crate) fn spawn(&mut self, name: usize, future: impl Future<Output = ()> + 'static) {
        self.tasks.push(Task { name, future: Box::pin(future), ready: Arc::new(Flag(AtomicBool::new(true))) });
    }

    /// How many could go on.
    pub(crate) fn ready(&self) -> usize {
        self.tasks.iter().filter(|task| task.ready.0.load(Ordering::Relaxed)).count()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Lets the `n`-th of those that can go on do so.
    pub(crate) fn step(&mut self, n: usize) {
        let ready = self.tasks.iter().enumerate().filter(|(_, task)| task.ready.0.load(Ordering::Relaxed));
        let Some(at) = ready.map(|(at, _)| at).nth(n) else { return };
        let task = &mut self.tasks[at];
        task.ready.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(task.ready.clone());
        if let Poll::Ready(()) = task.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            drop(self.tasks.remove(at));
        }
    }

    /// The page of some tasks is gone in the middle of whatever they were doing.
    pub(crate) fn kill(&mut self, name: Option<usize>) {
        self.tasks.retain(|task| name.is_some_and(|name| name != task.name));
    }
}

/// Gives way once: others may go first.
pub(crate) async fn give_way() {
    let mut gave = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut gave, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
