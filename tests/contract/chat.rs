//! The chat of a tab: turns, growing messages and the way back to a prompt, as a store of the package gives them.

use std::collections::BTreeMap;

use turnmark::codec::row::Stream;
use turnmark::engine::{Event, Stepped};
use turnmark::error::Result;
use turnmark::ids::{CheckpointId, RunId};
use turnmark::model::body::Text;
use turnmark::model::checkpoint::Checkpoint;
use turnmark::plan::change::Change;
use turnmark::plan::restore::{Restored, Target};
use turnmark::plan::turn::Begin;
use turnmark::plan::write::Metadata;

use super::kit::{Msg, T, Tab, assistant, body, meta, more, named, sid, text, user};

/// A run.
pub(crate) fn run(id: &str) -> RunId {
    RunId::parse(id).unwrap()
}

/// The beginning of a turn with a prompt.
pub(crate) fn asking(id: &str, prompt: &str) -> Begin<T> {
    Begin { run: run(id), prompt: Some(body(prompt, &[])), regenerate: None, aside: false }
}

/// The beginning of another answer to a message.
pub(crate) fn again(id: &str, message: &str) -> Begin<T> {
    Begin { run: run(id), prompt: None, regenerate: Some(message.to_owned()), aside: false }
}

/// New messages, and the whole `ui` part.
pub(crate) fn showing(messages: &[Msg], ui: &[(&str, &str)]) -> Change<T> {
    let Change::Append { messages, set, remove, .. } = more(messages) else { unreachable!() };
    Change::Append { keep: None, messages, set, remove, ui: Some(named(ui)) }
}

/// The first messages of the live list, and new ones after them.
pub(crate) fn instead(keep: u32, messages: &[Msg]) -> Change<T> {
    let Change::Append { messages, set, remove, .. } = more(messages) else { unreachable!() };
    Change::Append { keep: Some(keep), messages, set, remove, ui: None }
}

/// What was added to a growing message.
pub(crate) fn addition(id: &str, (head, tail): (usize, usize), more: &str) -> Stream<T> {
    let count = |n: usize| u32::try_from(n).unwrap();
    Stream {
        run: run(id),
        id: Some(text("growing")),
        role: Some(text("assistant")),
        of: 1,
        head: count(head),
        tail: count(tail),
        text: text(more),
    }
}

/// What two texts have in common at the beginning and at the end, in UTF-16 units, and what is between; never half a character.
pub(crate) fn difference(old: &str, new: &str) -> ((usize, usize), String) {
    let (a, b): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(x, y)| x == y).count();
    let units = |chars: &[char]| chars.iter().map(|c| c.len_utf16()).sum();
    ((units(&a[..head]), units(&a[a.len() - tail..])), b[head..b.len() - tail].iter().collect())
}

/// Plain values.
pub(crate) type Plain = BTreeMap<String, String>;

/// Named values as they look when they are read.
pub(crate) fn plain(values: &[(&str, &str)]) -> Plain {
    values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

impl Tab {
    /// Begins a turn, and has seen where it goes on.
    pub(crate) async fn begin_as(
        &self,
        session: &str,
        begin: Begin<T>,
        change: Change<T>,
        metadata: Metadata<T>,
    ) -> Result<Stepped<T>> {
        let begun = self.engine.begin(sid(session), begin, change, metadata, self.expects(session)).await?;
        self.saw(begun.saved.checkpoint.session.as_str(), begun.saved.checkpoint.epoch);
        Ok(begun)
    }

    /// Begins a turn with a prompt; gives its checkpoint.
    pub(crate) async fn begin(&self, session: &str, id: &str, prompt: &str) -> Result<Checkpoint<T>> {
        let begun = self.begin_as(session, asking(id, prompt), more(&[]), meta()).await?;
        assert_eq!(begun.conflict, None);
        Ok(begun.saved.checkpoint)
    }

    pub(crate) async fn step(&self, session: &str, id: &str, ends: bool, change: Change<T>) -> Result<Checkpoint<T>> {
        let saved = self.engine.step(sid(session), run(id), ends, change, meta(), self.expects(session)).await?;
        self.saw(session, saved.checkpoint.epoch);
        Ok(saved.checkpoint)
    }

    /// Goes on with a turn.
    pub(crate) async fn go(&self, session: &str, id: &str, messages: &[Msg]) -> Result<Checkpoint<T>> {
        self.step(session, id, false, more(messages)).await
    }

    /// Ends a turn.
    pub(crate) async fn end(&self, session: &str, id: &str, messages: &[Msg]) -> Result<Checkpoint<T>> {
        self.step(session, id, true, more(messages)).await
    }

    /// A whole turn: a prompt, a message of the user's of that id, and an answer. Gives the prompt's checkpoint.
    pub(crate) async fn ask(&self, session: &str, question: &str, answer: &str) -> Checkpoint<T> {
        let id = format!("run of {question} {answer}");
        let begun = self.begin(session, &id, &format!("prompt of {question}")).await.unwrap();
        self.go(session, &id, &[user(question)]).await.unwrap();
        self.end(session, &id, &[assistant(answer)]).await.unwrap();
        begun
    }

    /// Another answer to a message of the user's.
    pub(crate) async fn answer_again(&self, session: &str, question: &str, answer: &str) -> Checkpoint<T> {
        let id = format!("run of another {question} {answer}");
        let begun = self.begin_as(session, again(&id, question), more(&[]), meta()).await.unwrap();
        assert_eq!(begun.conflict, None);
        self.end(session, &id, &[assistant(answer)]).await.unwrap();
        begun.saved.checkpoint
    }

    /// Goes back to before a message.
    pub(crate) async fn to(&self, session: &str, message: &str) -> Result<Restored<T>> {
        self.restore(session, Target::Message(message.to_owned())).await
    }

    /// Ids of the live messages.
    pub(crate) async fn now(&self, session: &str) -> Vec<String> {
        let shot = self.load(session).await.unwrap_or_default();
        shot.messages.iter().map(|(text, _)| id_of(text)).collect()
    }

    /// Ids of the messages of a checkpoint.
    pub(crate) async fn then(&self, session: &str, id: &CheckpointId) -> Vec<String> {
        let ids = self.engine.message_ids(&sid(session), id).await.unwrap();
        ids.iter().map(|id| id.utf8().into_owned()).collect()
    }

    /// The versions of a message's turn: the ids each holds, and whether it is live.
    pub(crate) async fn versions(&self, session: &str, message: &str) -> Vec<(Vec<String>, bool)> {
        let mut all = Vec::new();
        for version in self.engine.versions(&sid(session), message).await.unwrap() {
            all.push((self.then(session, &version.checkpoint.id).await, version.live));
        }
        all
    }

    /// Makes a version of a message's turn the live one.
    pub(crate) async fn show(&self, session: &str, message: &str, n: usize) -> Restored<T> {
        let versions = self.engine.versions(&sid(session), message).await.unwrap();
        self.rollback(session, &versions[n].checkpoint.id).await.unwrap()
    }

    /// The live `ui` part.
    pub(crate) async fn ui(&self, session: &str) -> Plain {
        let loaded = self.engine.load(&sid(session), None).await.unwrap().unwrap();
        loaded.contents.ui.iter().map(|(name, value)| (name.clone(), value.text.utf8().into_owned())).collect()
    }

    /// What was asked when a turn began.
    pub(crate) async fn prompt(&self, session: &str, id: &CheckpointId) -> Option<String> {
        let loaded = self.engine.load(&sid(session), Some(id)).await.unwrap().unwrap();
        loaded.prompt.map(|prompt| prompt.text.utf8().into_owned())
    }

    /// Saves an addition to a growing message.
    pub(crate) async fn grow(&self, session: &str, n: u32, addition: &Stream<T>) -> Result<()> {
        self.engine.stream(&sid(session), n, addition).await
    }

    /// What was saved of the growing message of a session's run.
    pub(crate) async fn grown(&self, session: &str) -> Option<String> {
        let loaded = self.engine.load(&sid(session), None).await.unwrap().unwrap();
        let (_, message) = loaded.run.expect("the session has a run");
        message.map(|message| message.body.text.utf8().into_owned())
    }

    /// The run of a session.
    pub(crate) async fn running(&self, session: &str) -> Option<String> {
        let session = self.engine.session(&sid(session)).await.unwrap().expect("the session exists");
        session.run.map(|run| run.id.to_string())
    }

    /// Runs that began and ended since this was last called, in words.
    pub(crate) fn runs_heard(&self) -> Vec<String> {
        let word = |event: Event<T>| match event {
            Event::Began(session, run) => Some(format!("{run} began in {session}")),
            Event::Ended(session, run) => Some(format!("{run} ended in {session}")),
            Event::Turned { session, .. } => Some(format!("a turn of {session}")),
            _ => None,
        };
        self.heard().into_iter().filter_map(word).collect()
    }
}

/// The id in an encoded message.
fn id_of(text: &str) -> String {
    let message: serde_json::Value = serde_json::from_str(text).unwrap();
    message["id"].as_str().unwrap_or("none").to_owned()
}

/// What was asked, by a restore to a message.
pub(crate) fn asked(restored: &Restored<T>) -> Option<String> {
    restored.prompt.as_ref().map(|(prompt, _)| prompt.text.utf8().into_owned())
}

/// The ids that a restore to a message took away.
pub(crate) fn removed(restored: &Restored<T>) -> Vec<String> {
    restored.removed.iter().map(|id| id.utf8().into_owned()).collect()
}
