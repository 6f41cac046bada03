//! Which checkpoints a retention policy removes. Pure: headers in, victims out.

use super::checkpoint::{Checkpoint, Kind};
use super::session::Session;

/// How many checkpoints a session keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Retention {
    /// Most checkpoints; 0 keeps all (P-04).
    pub max: u32,
    /// When the ceiling is passed, remove this share of what exists, in percent, rounded up (M-08); 0 removes just the excess.
    pub share: u32,
    /// A new conversation drops all of the one before it but its boundaries.
    pub sessions_only: bool,
}

impl Retention {
    /// How many of `count` checkpoints must go (R13: 500 of 500 none, 501 with 20 percent 101); never fewer than what is
    /// above the ceiling.
    #[must_use]
    pub fn excess(self, count: u32) -> u32 {
        if self.max == 0 || count <= self.max {
            return 0;
        }
        let share = (u64::from(count) * u64::from(self.share)).div_ceil(100).min(u64::from(count));
        u32::try_from(share).unwrap_or(count).max(count - self.max)
    }
}

/// Why a checkpoint stays although it is old; `None` when it may go.
#[must_use]
pub fn protection<T>(session: &Session, checkpoint: &Checkpoint<T>) -> Option<&'static str> {
    if session.head.as_ref().is_some_and(|head| head.seq == checkpoint.seq) {
        return Some("it is the newest of its session");
    }
    if session.run.as_ref().is_some_and(|run| run.before == checkpoint.seq) {
        return Some("undo of the turn that is being answered needs it");
    }
    if session.restore_point == Some(checkpoint.seq) {
        return Some("undo of the newest restore needs it");
    }
    guard(checkpoint).or({
        if checkpoint.provisional {
            Some("its writer has not finished it")
        } else if checkpoint.pending > 0 {
            Some("it has pending writes")
        } else {
            None
        }
    })
}

/// Why a checkpoint may not even be deleted by name.
#[must_use]
pub fn guard<T>(checkpoint: &Checkpoint<T>) -> Option<&'static str> {
    if checkpoint.pinned {
        Some("it is pinned; unpin it first")
    } else if checkpoint.sealed {
        Some("it is sealed")
    } else if checkpoint.kind == Kind::Committed {
        Some("it is linked to a commit")
    } else if checkpoint.forks > 0 {
        Some("another session was forked from it")
    } else {
        None
    }
}
