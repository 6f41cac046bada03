//! Random histories: any commands, by two tabs that know different things, with aborts, crashes and reloads. The engine must
//! do what a naive model does, and keep each rule R1 to R13 at every step.

mod mirrored;
pub(crate) mod model;
mod ops;
mod rules;
mod turns;
mod world;
mod writing;

use model::Line;
use ops::Turn;
use proptest::prelude::*;
use turnmark::model::retention::Retention;
use world::World;

use crate::contract::kit::{Shot, sid};
use crate::random::cases;

type Held = (Shot, Vec<(String, i64, String, String)>);

impl World {
    /// Every checkpoint of a session as the engine reads it, oldest first.
    async fn read(&self, tab: usize, session: &str) -> Vec<(u32, String, Held)> {
        let tab = &self.tabs[tab];
        let mut all = Vec::new();
        for cp in tab.all(session).await.into_iter().rev() {
            let held = (tab.at(session, &cp.id).await, tab.pending(session, Some(&cp.id)).await);
            all.push((cp.seq, cp.id.to_string(), held));
        }
        all
    }

    /// Checks that the engine and the model hold the same.
    async fn agree(&self, tab: usize) {
        let engine = &self.tabs[tab].engine;
        let mut names: Vec<String> =
            engine.sessions().await.unwrap().iter().map(|session| session.id.to_string()).collect();
        names.sort();
        assert_eq!(names, self.model.lines.keys().cloned().collect::<Vec<_>>());
        for (session, line) in &self.model.lines {
            assert_eq!(self.read(tab, session).await, expected(line), "checkpoints of {session}");
            let live = engine.load(&sid(session), None).await.unwrap();
            assert_eq!(live.is_some(), line.head().is_some());
            if let Some(live) = live {
                assert_eq!(
                    crate::contract::kit::Tab::shot(live.checkpoint.state.listed, &live.contents),
                    line.live.shot()
                );
                assert_eq!(live.checkpoint.provisional, line.head().unwrap().provisional);
                let saved =
                    line.run.as_ref().map(|run| (run.id.clone(), run.saved.as_ref().map(|(text, _)| text.clone())));
                let run = live.run.map(|(run, message)| (run.id.to_string(), message.map(|message| message.body.text)));
                assert_eq!(run, saved, "the run of {session}");
            }
        }
    }
}

fn expected(line: &Line) -> Vec<(u32, String, Held)> {
    let pending = |cp: &model::Cp| {
        let write = |((task, at), (channel, value)): (&(String, i64), &(String, String))| {
            (task.clone(), *at, channel.clone(), value.clone())
        };
        cp.pending.iter().map(write).collect()
    };
    line.cps.iter().map(|cp| (cp.seq, cp.id.to_string(), (cp.state.shot(), pending(cp)))).collect()
}

fn retentions() -> impl Strategy<Value = Retention> {
    prop_oneof![
        4 => Just(Retention::default()),
        1 => Just(Retention { max: 1, share: 0, ..Retention::default() }),
        1 => Just(Retention { max: 4, share: 0, ..Retention::default() }),
        1 => Just(Retention { max: 6, share: 50, ..Retention::default() }),
    ]
}

/// Plays a history; `each` looks at the world before and after each command.
fn play(retention: Retention, history: &[Turn], mut check: impl AsyncFnMut(&mut World, &Turn)) {
    pollster::block_on(async {
        let mut world = World::new(retention).await;
        for turn in history {
            check(&mut world, turn).await;
        }
    });
}

proptest! {
    #![proptest_config(cases(500))]

    /// What is read is what a naive model holds, after every command, by either tab.
    #[test]
    fn any_history_ends_as_the_naive_model_says(retention in retentions(), history in ops::history(1..40)) {
        play(retention, &history, async |world, turn| {
            world.take(turn).await;
            world.agree(turn.tab).await;
        });
    }
}
