//! Writes of new content: a whole state is put, or messages are appended. Either makes one checkpoint.

use crate::codec::key::Key;
use crate::error::{Branch, Code, Error};
use crate::ids::{CheckpointId, ScopeId, SessionId, Stamp};
use crate::model::body::Text;
use crate::model::checkpoint::{Action, Checkpoint, Kind, Operation, Origin, Source, Usage};
use crate::model::retention::Retention;
use crate::model::session::Session;
use crate::plan::base::{Base, base};
use crate::plan::change::{Change, Known, Learned, next_state};
use crate::plan::head::{self, Header};
use crate::plan::parts;
use crate::plan::prune;
use crate::plan::turn::{self, Step};
use crate::store::{Op, Plan, Planned, View};

/// Longest checkpoint name, in characters.
pub const MAX_LABEL: usize = 200;
/// Longest reference of a host's own files, in characters.
pub const MAX_COMMIT: usize = 500;
/// Most bytes of what a writer says about a checkpoint.
const MAX_METADATA: usize = 8 * 1024;
/// Most spans of a list before its messages should be written again as one run: headers must stay small.
pub const MAX_SPANS: usize = 128;

/// What the writer says about the checkpoint.
#[derive(Clone, Debug)]
pub struct Metadata<T> {
    /// Its trigger.
    pub source: Source,
    /// Its role; by default `turn-after` for messages and jobs, else `manual`.
    pub kind: Option<Kind>,
    /// What wrote it.
    pub writes: Vec<String>,
    /// A name for people.
    pub name: Option<String>,
    /// The checkpoint this state continues from, if the writer says so.
    pub parent: Option<CheckpointId>,
    /// Where a fork made by other means comes from.
    pub forked_from: Option<Origin>,
    /// Tokens used.
    pub usage: Option<Usage>,
    /// The host's reference of its own files.
    pub commit: Option<String>,
    /// Whether the writer has not finished it.
    pub provisional: bool,
    /// Whether a state without messages may replace one that has some.
    pub allow_empty: bool,
    /// Further keys.
    pub extra: Vec<(String, T)>,
}

impl<T> Metadata<T> {
    /// Metadata that says nothing but the trigger.
    #[must_use]
    pub fn of(source: Source) -> Self {
        Metadata {
            source,
            kind: None,
            writes: Vec::new(),
            name: None,
            parent: None,
            forked_from: None,
            usage: None,
            commit: None,
            provisional: false,
            allow_empty: false,
            extra: Vec::new(),
        }
    }
}

/// One write.
#[derive(Clone, Debug)]
pub struct Write<T> {
    /// The scope.
    pub scope: ScopeId,
    /// The session.
    pub session: SessionId,
    /// What is new.
    pub change: Change<T>,
    /// What the writer says about it.
    pub metadata: Metadata<T>,
    /// What it is within a turn.
    pub step: Option<Step<T>>,
    /// Epoch the writer has last seen; `None` when it has seen nothing of this session.
    pub expect: Option<u64>,
    /// When and by whom.
    pub stamp: Stamp,
    /// What is pruned afterwards.
    pub retention: Retention,
}

/// What a write did.
#[derive(Clone, Debug)]
pub struct Written<T> {
    /// The new checkpoint.
    pub checkpoint: Checkpoint<T>,
    /// The session's row as it was written.
    pub session: Session,
    /// The messages of the new head, where they are known anyway.
    pub learned: Option<Learned<T>>,
    /// Set when the writer was not first: its work is in this branch, and the call must fail with `Conflict`.
    pub conflict: Option<Branch>,
    /// What should be done in transactions of their own, soon.
    pub upkeep: Upkeep,
}

/// Housekeeping that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Upkeep {
    /// Enough was pruned that unreachable records should be collected.
    pub collect: bool,
    /// The list has become so many spans that its messages should be written again as one run.
    pub compact: bool,
}

/// How many prunings may leave unreachable records before a collection is due.
pub const COLLECT_AFTER: u32 = 256;

/// Refuses a reference of the host's own files that is too long.
///
/// # Errors
/// `TooLarge`.
pub fn check_commit(commit: Option<&str>) -> Result<(), Error> {
    if commit.is_some_and(|commit| commit.chars().count() > MAX_COMMIT) {
        let why = format!("a reference of the host's own files may have at most {MAX_COMMIT} characters");
        return Err(Error::new(Code::TooLarge, why));
    }
    Ok(())
}

fn check<T: Text>(command: &Write<T>) -> Result<(), Error> {
    let metadata = &command.metadata;
    if metadata.name.as_ref().is_some_and(|name| name.chars().count() > MAX_LABEL) {
        return Err(Error::new(Code::TooLarge, format!("a checkpoint name may have at most {MAX_LABEL} characters")));
    }
    check_commit(metadata.commit.as_deref())?;
    // Each entry takes room in the header beside its text.
    let entry = |text: &str| text.len() + 16;
    let usage = || metadata.usage.iter().flat_map(|usage| usage.total.keys().chain(usage.delta.keys()));
    if let Some(name) = usage().find(|name| name.as_str() == "__proto__") {
        return Err(Error::new(Code::InvalidArgument, format!("a token counter cannot be named \"{name}\"")));
    }
    let weight = metadata.extra.iter().map(|(key, text)| entry(key) + text.utf8().len()).sum::<usize>()
        + metadata.writes.iter().chain(usage()).map(|text| entry(text)).sum::<usize>();
    if weight > MAX_METADATA {
        return Err(Error::new(
            Code::TooLarge,
            "the metadata of a checkpoint may have at most 8 KB; put larger values into a channel",
        ));
    }
    match &command.change {
        Change::Whole { channels, .. } => channels.iter().try_for_each(|(name, _)| parts::check_name(name)),
        Change::Append { set, remove, ui, .. } => {
            let names = set.iter().chain(ui.iter().flatten()).map(|(name, _)| name);
            names.chain(remove).try_for_each(|name| parts::check_name(name))
        }
    }
}

/// Plans a write: bodies, header, head and retention, all in one transaction.
///
/// # Errors
/// `Need`; `NotLoaded`, `EmptyOverNonEmpty`, `UnknownParent`, `TooLarge`. A writer that was not first is no error here: its
/// work is planned as a branch, and the answer says so.
pub fn plan<T: Text>(view: &View<T>, command: &Write<T>, known: Option<&Known<T>>) -> Planned<Plan<T, Written<T>>> {
    check(command)?;
    let mut base = base(view, command)?;
    let debt = base.session.debt;
    let mut writes = Vec::new();
    let turn = turn::enter(view, command, &mut base, &mut writes)?;
    let (mut state, learned) = next_state(view, command, &mut base, known, &mut writes)?;
    let Base { mut session, parent, conflict_of, .. } = base;
    let Write { metadata, stamp, retention, change, .. } = command;

    let action = if matches!(change, Change::Whole { .. }) { Action::Put } else { Action::Append };
    let default_kind = match metadata.source {
        Source::Message | Source::JobComplete => Kind::TurnAfter,
        Source::Fork => Kind::BranchPoint,
        _ => Kind::Manual,
    };
    let mut header = Header {
        id: stamp.checkpoint(0),
        parent,
        kind: metadata.kind.unwrap_or(default_kind),
        source: metadata.source,
        writes: metadata.writes.clone(),
        forked_from: metadata.forked_from.clone(),
        extra: metadata.extra.clone(),
        name: metadata.name.clone(),
        usage: metadata.usage.clone(),
        turn: None,
        commit: metadata.commit.clone(),
        prompt: None,
        lookup: None,
        opens: None,
        provisional: metadata.provisional,
        sealed: false,
        operation: Operation {
            action,
            before: session.head.as_ref().map(|head| head.seq),
            undo: session.undo,
            redo: None,
        },
    };
    let replaced = replace_provisional(view, &mut session, &mut header, &mut writes)?;
    if let Some(turn) = turn {
        turn.mark(command, replaced, &mut session, &mut state, &mut header, &mut writes);
    }
    if let (Some(of), Some(from)) = (&conflict_of, &session.forked_from) {
        if let Some(mut found) =
            head::if_readable(head::find_checkpoint(view, &command.scope, of, &from.checkpoint_id))?
        {
            found.forks += 1;
            head::put(&found, &mut writes);
        }
        header.forked_from = session.forked_from.clone();
    }
    if header.commit.is_some() {
        session.commit.clone_from(&header.commit);
    }
    session.bump(&stamp.device);
    let checkpoint = head::advance(&mut session, state, header, stamp, &mut writes);
    (session.undo, session.redo) = checkpoint.links();
    prune::automatic(view, &mut session, *retention, &mut writes)?;
    head::put_session(&session, &mut writes);

    let conflict = conflict_of.map(|_| Branch { session: session.id.clone(), checkpoint: checkpoint.id.clone() });
    let learned = learned.filter(|_| conflict.is_none()).map(|learned| Learned { epoch: session.epoch, ..learned });
    // Due once each time so many more have gone: where a damaged record keeps it from being done, it is not tried every time.
    let upkeep = Upkeep {
        collect: session.debt / COLLECT_AFTER > debt / COLLECT_AFTER,
        compact: session.state.spans.parts() > MAX_SPANS,
    };
    Ok(Plan { writes, answer: Written { checkpoint, session, learned, conflict, upkeep } })
}

/// A provisional checkpoint is replaced by the next write: the stages of one streaming answer are not history. Whether
/// there was one.
fn replace_provisional<T: Text>(
    view: &View<T>,
    session: &mut Session,
    header: &mut Header<T>,
    writes: &mut Vec<Op<T>>,
) -> Planned<bool> {
    let Some(head) = session.head.clone().filter(|head| head.provisional) else { return Ok(false) };
    let Some(old) = head::if_readable(head::at::<T>(view, session, head.seq))? else { return Ok(false) };
    if old.pinned || old.forks > 0 || old.pending > 0 {
        return Ok(false);
    }
    writes.push(Op::Delete(Key::checkpoint(&session.scope, &session.id, old.seq)));
    prune::forget(session, &old);
    // A streamed answer grows the same message; what the stage before it holds is unreachable now.
    header.parent = old.parent.clone();
    header.operation.before = old.operation.before;
    header.operation.undo = old.operation.undo;
    Ok(true)
}
