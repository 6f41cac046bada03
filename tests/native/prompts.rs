//! The look-up of prompts against a naive model, which keeps the id list of every prompt checkpoint and compares whole lists.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use turnmark::codec::key::Store;
use turnmark::error::Code;
use turnmark::ids::CheckpointId;
use turnmark::plan::prompt::{self, Place};
use turnmark::plan::restore::Target;
use turnmark::store::{Access, Plan, Storage, View};

use crate::contract::chat::{again, asked};
use crate::contract::kit::{Kit, Msg, T, Tab, assistant, code, meta, more, sid, user, whole};
use crate::random::cases;

#[derive(Clone, Debug)]
enum Op {
    /// A turn with so many answers; `reuse` sends an earlier message's id again.
    Ask {
        answers: u8,
        reuse: Option<usize>,
    },
    /// A message of no turn: of the user's, the assistant's or another role.
    Append(u8),
    /// Back to before a message.
    To(usize),
    Undo,
    Redo,
    /// Another answer.
    Again(usize),
    /// A version that is there is shown.
    Show(usize, usize),
    /// The whole list, with one content changed where there is a number.
    Put(Option<usize>),
    Prune(u8),
    /// The chat goes on in a fork.
    Fork,
    /// The source goes on beside it.
    Beside,
    /// The page is loaded anew.
    Reload,
}

fn op(reuse: bool) -> impl Strategy<Value = Op> {
    let used = if reuse { prop::option::weighted(0.5, any::<usize>()).boxed() } else { Just(None).boxed() };
    prop_oneof![
        8 => (0..3_u8, used).prop_map(|(answers, reuse)| Op::Ask { answers, reuse }),
        2 => (0..3_u8).prop_map(Op::Append),
        4 => any::<usize>().prop_map(Op::To),
        4 => Just(Op::Undo),
        3 => Just(Op::Redo),
        3 => any::<usize>().prop_map(Op::Again),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(message, version)| Op::Show(message, version)),
        1 => prop::option::of(any::<usize>()).prop_map(Op::Put),
        1 => (1..12_u8).prop_map(Op::Prune),
        1 => Just(Op::Fork),
        1 => Just(Op::Beside),
        2 => Just(Op::Reload),
    ]
}

/// A prompt, as a naive implementation keeps it.
#[derive(Clone, Debug)]
struct Prompt {
    checkpoint: CheckpointId,
    /// Ids of users' and assistants' messages at that instant.
    ids: Vec<String>,
    text: String,
}

/// A message as the model knows it, by its content, which no two share.
#[derive(Clone, Debug)]
struct Known {
    message: Msg,
    /// What it was asked with.
    prompt: Option<String>,
}

struct Chat {
    kit: Kit,
    tab: Tab,
    session: String,
    made: usize,
    known: BTreeMap<String, Known>,
    live: Vec<Known>,
    /// Prompts by session, that of the newest fork first, each in the order they were made.
    prompts: Vec<(String, Vec<Prompt>)>,
    /// Whether contents were changed in place: then a message's own prompt may be known or not.
    edited: bool,
}

impl Chat {
    async fn new() -> Chat {
        let kit = Kit::fresh().await;
        let tab = kit.tab().await;
        let (session, known, live, prompts) =
            ("s".to_owned(), BTreeMap::new(), Vec::new(), vec![("s".to_owned(), vec![])]);
        Chat { kit, tab, session, made: 0, known, live, prompts, edited: false }
    }

    fn make(&mut self, message: impl Fn(&str) -> Msg, id: Option<String>, prompt: Option<String>) -> Msg {
        self.made += 1;
        let name = format!("m{}", self.made);
        let made = Msg { id: Some(id.unwrap_or_else(|| name.clone())), ..message(&name) };
        self.known.insert(made.encoded(), Known { message: made.clone(), prompt });
        made
    }

    /// Reads the live list, and what is left of the prompts.
    async fn look(&mut self) {
        let shot = self.tab.load(&self.session).await.unwrap_or_default();
        self.live = shot.messages.iter().map(|(text, _)| self.known[text].clone()).collect();
        for (session, prompts) in &mut self.prompts {
            let left = self.tab.ids(session).await;
            prompts.retain(|prompt| left.contains(&prompt.checkpoint.to_string()));
        }
    }

    fn ids_before(&self, at: usize) -> Vec<String> {
        let counts = |known: &&Known| matches!(known.message.role.as_deref(), Some("user" | "assistant"));
        self.live[..at].iter().filter(counts).filter_map(|known| known.message.id.clone()).collect()
    }

    /// The newest prompt after exactly that history, own ones before those of a source.
    fn find(&self, ids: &[String]) -> Option<&Prompt> {
        self.prompts.iter().find_map(|(_, prompts)| prompts.iter().rev().find(|prompt| prompt.ids == ids))
    }

    /// The users' messages of the live list, by place.
    fn questions(&self) -> Vec<usize> {
        let users = |at: &usize| self.live[*at].message.role.as_deref() == Some("user");
        (0..self.live.len()).filter(users).collect()
    }

    fn pick(&self, n: usize) -> Option<(usize, String)> {
        let questions = self.questions();
        let at = *questions.get(n % questions.len().max(1))?;
        Some((at, self.live[at].message.id.clone().unwrap()))
    }

    async fn take(&mut self, op: &Op) {
        let session = self.session.clone();
        match op {
            Op::Ask { answers, reuse } => {
                let text = format!("prompt {}", self.made);
                let begun = self.tab.begin(&session, &text, &text).await.unwrap();
                let ids = self.ids_before(self.live.len());
                self.prompts[0].1.push(Prompt { checkpoint: begun.id, ids, text: text.clone() });
                let free = |known: &&Known| {
                    known.message.role.as_deref() == Some("user")
                        && !self.live.iter().any(|live| live.message.id == known.message.id)
                };
                let used: Vec<String> =
                    self.known.values().filter(free).filter_map(|known| known.message.id.clone()).collect();
                let id = reuse.and_then(|n| used.get(n % used.len().max(1)).cloned());
                let question = self.make(user, id, Some(text.clone()));
                self.tab.go(&session, &text, &[question]).await.unwrap();
                let answers: Vec<Msg> = (0..*answers).map(|_| self.make(assistant, None, None)).collect();
                self.tab.end(&session, &text, &answers).await.unwrap();
            }
            Op::Append(role) => {
                let role = ["user", "assistant", "system"][usize::from(*role)];
                let message = self.make(|text| Msg { role: Some(role.to_owned()), ..user(text) }, None, None);
                self.tab.append(&session, &[message]).await.unwrap();
            }
            Op::To(n) => {
                let Some((at, id)) = self.pick(*n) else { return };
                let last = self.find(&self.ids_before(at)).cloned();
                let alive =
                    |text: &&String| self.prompts.iter().flat_map(|(_, all)| all).any(|prompt| prompt.text == **text);
                let own = self.live[at].prompt.as_ref().filter(alive).cloned();
                let restored = self.tab.to(&session, &id).await.unwrap();
                assert_eq!(restored.target, last.as_ref().map(|prompt| prompt.checkpoint.clone()));
                let words = own.or(last.as_ref().map(|prompt| prompt.text.clone()));
                if !self.edited || asked(&restored) != last.map(|prompt| prompt.text) {
                    assert_eq!(asked(&restored), words, "what {id} was asked with");
                }
                let left: Vec<String> = self.live[..at].iter().map(|known| known.message.encoded()).collect();
                self.look().await;
                assert_eq!(self.live.iter().map(|known| known.message.encoded()).collect::<Vec<_>>(), left);
            }
            Op::Undo | Op::Redo => {
                let target = if matches!(op, Op::Undo) { Target::Undo } else { Target::Redo };
                if let Err(error) = self.tab.restore(&session, target).await {
                    assert!(matches!(error.code, Code::NothingToUndo | Code::NothingToRedo | Code::UnknownSession));
                }
            }
            Op::Again(n) => {
                let Some((at, id)) = self.pick(*n) else { return };
                let run = format!("another {}", self.made);
                self.tab.begin_as(&session, again(&run, &id), more(&[]), meta()).await.unwrap();
                let answer = self.make(assistant, None, None);
                self.tab.end(&session, &run, std::slice::from_ref(&answer)).await.unwrap();
                let mut left: Vec<String> = self.live[..=at].iter().map(|known| known.message.encoded()).collect();
                left.push(answer.encoded());
                self.look().await;
                assert_eq!(self.live.iter().map(|known| known.message.encoded()).collect::<Vec<_>>(), left);
            }
            Op::Show(n, version) => {
                let Some((_, id)) = self.pick(*n) else { return };
                let count = self.tab.engine.versions(&sid(&session), &id).await.unwrap().len();
                if count > 0 {
                    self.tab.show(&session, &id, version % count).await;
                }
            }
            Op::Put(edit) => {
                let mut list: Vec<Msg> = self.live.iter().map(|known| known.message.clone()).collect();
                if let Some(at) = edit.and_then(|n| n.checked_rem(list.len())) {
                    self.made += 1;
                    list[at] = list[at].clone().saying(&format!("edit {}", self.made));
                    let known = Known { message: list[at].clone(), prompt: self.live[at].prompt.clone() };
                    self.known.insert(list[at].encoded(), known);
                    self.edited = true;
                }
                if !list.is_empty() {
                    self.tab.write(&session, whole(&list, &[]), meta()).await.unwrap();
                }
            }
            Op::Prune(keep) => drop(self.tab.engine.prune(sid(&session), u32::from(*keep)).await.unwrap()),
            Op::Fork => {
                let Some(newest) = self.tab.all(&session).await.into_iter().next() else { return };
                self.made += 1;
                self.session = format!("f{}", self.made);
                self.tab.fork(&session, &newest.id, &self.session).await.unwrap();
                self.prompts.insert(0, (self.session.clone(), Vec::new()));
            }
            Op::Beside => {
                let Some((source, _)) = self.prompts.get(1).cloned() else { return };
                self.tab.load(&source).await;
                let run = format!("beside {}", self.made);
                self.tab.begin(&source, &run, "beside").await.unwrap();
                self.tab.end(&source, &run, &[]).await.unwrap();
            }
            Op::Reload => self.tab = self.kit.tab().await,
        }
        self.look().await;
    }

    async fn place(&self, id: &str) -> Place<T> {
        let engine = &self.tab.engine;
        let state = engine.session(&sid(&self.session)).await.unwrap().unwrap().state;
        let plan =
            |view: &View<T>| Ok(Plan::read(prompt::place(view, engine.scope(), &sid(&self.session), &state, id)?));
        engine.storage().run(Access::read(Store::ALL), plan).await.unwrap()
    }

    /// Every question finds what the naive model finds.
    async fn agree(&self) {
        for at in self.questions() {
            let id = self.live[at].message.id.clone().unwrap();
            let found = self.tab.engine.find_prompt(&sid(&self.session), &id).await.unwrap();
            let last = self.find(&self.ids_before(at)).map(|prompt| prompt.checkpoint.clone());
            assert_eq!(found.map(|found| found.checkpoint), last, "the prompt before {id}");
            // What it was itself asked with, where that is still there.
            let mut all = self.prompts.iter().flat_map(|(_, all)| all);
            let own = all.rfind(|prompt| Some(&prompt.text) == self.live[at].prompt.as_ref());
            let expected = own.map(|own| own.checkpoint.clone()).or_else(|| last.clone());
            let place = self.place(&id).await;
            let asked = place.own.or(place.prompt).map(|prompt| prompt.id);
            assert!(
                asked == expected || self.edited && asked == last,
                "{id} was asked with {expected:?}, not {asked:?}"
            );
            let versions = self.tab.engine.versions(&sid(&self.session), &id).await.unwrap();
            assert!(versions.iter().filter(|version| version.live).count() <= 1);
        }
        let last = self.live.iter().rev().find(|known| known.message.role.as_deref() != Some("user"));
        if let Some(id) = last.and_then(|known| known.message.id.clone()) {
            assert_eq!(code(self.tab.engine.find_prompt(&sid(&self.session), &id).await), Code::InvalidArgument);
        }
    }
}

fn play(history: &[Op]) {
    pollster::block_on(async {
        let mut chat = Chat::new().await;
        for op in history {
            chat.take(op).await;
            chat.agree().await;
        }
        chat.tab.clean().await;
    });
}

proptest! {
    #![proptest_config(cases(300))]

    ///
    #[test]
    fn a_message_finds_the_prompt_that_a_comparison_of_whole_id_lists_finds(history in vec(op(false), 1..40)) {
        play(&history);
    }

    /// where a message is sent again under the id it had.
    #[test]
    fn the_same_holds_where_ids_are_used_again(history in vec(op(true), 1..40)) {
        play(&history);
    }
}
