//! Writes and turns by a page.

use turnmark::codec::row::Stream;
use turnmark::error::Result;
use turnmark::plan::change::Change;
use turnmark::plan::turn::Begin;
use turnmark::plan::write::Metadata;

use super::page::{Own, Shared};
use super::run::Giving;
use super::sent::{Ack, InTurn, Sent, Work};
use crate::contract::chat::{difference, run as run_id};
use crate::contract::kit::{Msg, assistant, body, meta, sid, user};
use crate::histories::model::Whole;

impl Shared {
    /// A message that was never there before: short as a rule, sometimes longer than a row takes, sometimes with a binary.
    fn message(&self, n: usize) -> Msg {
        let name = format!("m{}", self.number());
        let short = if n.is_multiple_of(2) { user(&name) } else { assistant(&name) };
        let message = match n % 64 {
            10 => short.saying(&"ж".repeat(11_000)),
            11 | 12 => short.with(vec![u8::try_from(n % 256).unwrap(); 40]),
            _ => short,
        };
        self.keeps(message)
    }

    /// Makes a message known, so that it can be told from what nobody wrote.
    fn keeps(&self, message: Msg) -> Msg {
        self.texts.borrow_mut().insert(message.encoded(), message.clone());
        message
    }
}

fn change(work: &Work) -> Change<String> {
    let named = |(name, value): (&String, &String)| (name.clone(), body(value, &[]));
    match work {
        Work::Whole(state) => Change::Whole {
            listed: true,
            messages: state.messages.iter().map(Msg::incoming).collect(),
            channels: state.channels.iter().map(named).collect(),
        },
        Work::More { messages, set, remove } => Change::Append {
            keep: None,
            messages: messages.iter().map(Msg::incoming).collect(),
            set: set.iter().map(|(name, value)| named((name, value))).collect(),
            remove: remove.clone(),
            ui: None,
        },
    }
}

impl Giving<'_> {
    fn messages(&self, most: usize) -> Vec<Msg> {
        (0..self.cmd.n % (most + 1)).map(|at| self.shared.message(self.cmd.n / 7 + at)).collect()
    }

    /// New messages, now and then with a change of the channels.
    fn more(&self, most: usize) -> Work {
        let m = self.cmd.m;
        let set = if m % 4 == 1 { vec![(format!("c{}", m % 3), m.to_string())] } else { Vec::new() };
        let remove = if m % 8 == 2 { vec![format!("c{}", m % 3)] } else { Vec::new() };
        Work::More { messages: self.messages(most), set, remove }
    }

    /// The state that this page has seen, where it knows it.
    fn seen(&self) -> Option<Whole> {
        let seen = self.page.seen.borrow();
        seen.get(&self.session).map_or_else(|| Some(Whole::default()), |seen| seen.state.clone())
    }

    /// Notes the state after a write.
    fn wrote(&self, work: &Work, epoch: u64) {
        let state = match work {
            Work::Whole(state) => Some(state.clone()),
            Work::More { messages, set, remove } => self.seen().map(|mut state| {
                state.listed |= !messages.is_empty();
                state.messages.extend(messages.iter().cloned());
                state.channels.retain(|name, _| !remove.contains(name));
                state.channels.extend(set.iter().cloned());
                state
            }),
        };
        self.saw(&self.session, epoch, state);
    }

    async fn write(&self, work: Work, provisional: bool) -> Result<()> {
        let expect = self.expects();
        let sent = Sent::Write { work: work.clone(), provisional, turn: InTurn::No, expect };
        let metadata = Metadata { provisional, ..meta() };
        let act = self.page.engine.write(sid(&self.session), change(&work), metadata, expect);
        let saved = self.give(sent, act, |saved| Ack::Cp(saved.checkpoint.id.clone())).await?;
        self.made(&self.session, &saved.checkpoint.id);
        self.wrote(&work, saved.checkpoint.epoch);
        self.keep(&saved).await;
        Ok(())
    }

    pub(super) async fn append(&self) -> Result<()> {
        self.look_first().await?;
        self.write(self.more(3), self.cmd.m.is_multiple_of(7)).await
    }

    /// Puts a whole state, made of the one that was seen.
    pub(super) async fn put(&self) -> Result<()> {
        self.look_first().await?;
        if self.seen().is_none() {
            self.look().await?;
        }
        let Some(mut state) = self.seen() else { return Ok(()) };
        let (n, m) = (self.cmd.n, self.cmd.m);
        let list = &mut state.messages;
        let at = n % list.len().max(1);
        match m % 8 {
            0 => list.insert(at.min(list.len()), self.shared.message(n)),
            1 if !list.is_empty() => drop(list.remove(at)),
            2 => list.truncate(at),
            3 => list.reverse(),
            4 if !list.is_empty() => {
                let text = format!("{} +{n}", list[at].text.chars().take(20).collect::<String>());
                list[at] = self.shared.keeps(list[at].clone().saying(&text));
            }
            _ => list.extend(self.messages(3)),
        }
        state.listed = true;
        if m % 5 == 0 {
            state.channels.insert(format!("c{}", n % 3), n.to_string());
        }
        self.write(Work::Whole(state), m.is_multiple_of(11)).await
    }

    /// Begins a turn; where another was first, the turn goes on in the branch that has its prompt.
    pub(super) async fn begin(&self, again: Option<String>) -> Result<()> {
        self.look_first().await?;
        let (expect, run) = (self.expects(), format!("run{}", self.shared.number()));
        let prompt = again.is_none().then(|| body(&run, &[]));
        let begin = Begin { run: run_id(&run), prompt, regenerate: again.clone(), aside: false };
        let work = Work::More { messages: Vec::new(), set: Vec::new(), remove: Vec::new() };
        let turn = InTurn::Begin { run: run.clone(), again: again.clone() };
        let sent = Sent::Write { work: work.clone(), provisional: false, turn, expect };
        let act = async {
            let begun = self.page.engine.begin(sid(&self.session), begin, change(&work), meta(), expect).await?;
            match begun.conflict {
                Some(conflict) => {
                    let cp = &begun.saved.checkpoint;
                    self.began(cp.session.as_str(), &run);
                    self.saw(cp.session.as_str(), cp.epoch, None);
                    Err(conflict)
                }
                None => Ok(begun.saved),
            }
        };
        let saved = self.give(sent, act, |saved| Ack::Cp(saved.checkpoint.id.clone())).await?;
        self.made(&self.session, &saved.checkpoint.id);
        self.began(&self.session, &run);
        match again {
            Some(_) => self.saw(&self.session, saved.checkpoint.epoch, None),
            None => self.wrote(&work, saved.checkpoint.epoch),
        }
        self.keep(&saved).await;
        Ok(())
    }

    fn began(&self, session: &str, run: &str) {
        let own = Own { run: run.to_owned(), saved: String::new(), count: 0, grown: 0 };
        self.page.own.borrow_mut().insert(session.to_owned(), own);
    }

    /// Goes on with the page's own turn, or ends it.
    pub(super) async fn go(&self, ends: bool) -> Result<()> {
        let Some(run) = self.own_run() else { return self.append().await };
        let (expect, mut work) = (self.expects(), self.more(2));
        // The growing message may be among those it has now.
        if let Work::More { messages, .. } = &mut work
            && self.cmd.m.is_multiple_of(3)
        {
            messages.push(self.growing(&run, self.cmd.n % 12));
        }
        let turn = if ends { InTurn::End(run.clone()) } else { InTurn::Go(run.clone()) };
        let sent = Sent::Write { work: work.clone(), provisional: false, turn, expect };
        let act = self.page.engine.step(sid(&self.session), run_id(&run), ends, change(&work), meta(), expect);
        let saved = self.give(sent, act, |saved| Ack::Cp(saved.checkpoint.id.clone())).await?;
        self.made(&self.session, &saved.checkpoint.id);
        self.wrote(&work, saved.checkpoint.epoch);
        if ends {
            self.page.own.borrow_mut().remove(&self.session);
        } else if let Some(own) = self.page.own.borrow_mut().get_mut(&self.session) {
            own.count = 0;
        }
        self.keep(&saved).await;
        Ok(())
    }

    /// The growing message of a run.
    fn growing(&self, run: &str, size: usize) -> Msg {
        let letter = ["x", "ж", "\u{1F600}"][size % 3];
        let message = Msg { id: Some(format!("g of {run}")), ..assistant("").saying(&letter.repeat(size * size)) };
        self.shared.keeps(message)
    }

    /// Saves what was added to the growing message of the page's own turn.
    pub(super) async fn stream(&self) -> Result<()> {
        let Some(own) = self.page.own.borrow().get(&self.session).cloned() else { return self.begin(None).await };
        let grown = if self.cmd.m.is_multiple_of(6) { self.cmd.n % 20 } else { own.grown + 1 + self.cmd.n % 3 };
        let message = self.growing(&own.run, grown);
        let text = message.encoded();
        let (count, old) = if own.count == 0 { (0, "") } else { (own.count, own.saved.as_str()) };
        let ((head, tail), between) = difference(old, &text);
        let units = |n: usize| u32::try_from(n).unwrap();
        let row = Stream {
            run: run_id(&own.run),
            id: message.id.clone(),
            role: message.role.clone(),
            of: 1,
            head: units(head),
            tail: units(tail),
            text: between,
        };
        let sent = Sent::Stream { run: own.run.clone(), text: text.clone(), message };
        let session = sid(&self.session);
        self.give(sent, self.page.engine.stream(&session, count, &row), |()| Ack::Done).await?;
        if let Some(own) = self.page.own.borrow_mut().get_mut(&self.session) {
            (own.saved, own.count, own.grown) = (text, count + 1, grown);
        }
        Ok(())
    }
}
