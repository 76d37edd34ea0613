//! What the marks of Chinese verbs tell: 没 that it was not done, 了 that it was, 着 that it lasts.

use crate::nlu::asking::names_something;
use crate::nlu::lattice::Span;
use crate::nlu::lexicon::{Lexicon, Sense};
use crate::nlu::text::{Kind, Token};
use crate::nlu::vocabulary::{Pred, Word};

/// 没锁后门, 后门已经锁上了, 车库门打开了: what begins or ends so tells what is so.
pub fn reports(row: &[Span], tokens: &[Token], lexicon: &Lexicon) -> bool {
    let told = Told { row, tokens, lexicon };
    !told.says(&[Word::If, Word::When, Word::IfAfter])
        && (told.lacks()
            || told.just()
            || told.opened()
            || told.stays()
            || told.began()
            || told.partly()
            || told.only())
}

struct Told<'a> {
    row: &'a [Span],
    tokens: &'a [Token],
    lexicon: &'a Lexicon,
}

impl Told<'_> {
    fn says(&self, words: &[Word]) -> bool {
        self.row.iter().any(|span| words.iter().any(|word| span.word(*word)))
    }

    /// 把…, 请…: what has it asks for something.
    fn wished(&self) -> bool {
        self.says(&[Word::Object, Word::Polite])
    }

    fn means(&self, token: &Token, mark: Word) -> bool {
        self.lexicon.means(&token.key, Sense::Word(mark))
    }

    /// Whether a mark stands at the end of a span.
    fn ends(&self, span: &Span, mark: Word) -> bool {
        let last = span.end.checked_sub(1).and_then(|last| self.tokens.get(last));
        last.is_some_and(|token| self.means(token, mark))
    }

    fn done(&self, span: &Span) -> bool {
        span.is_verb() && self.ends(span, Word::Finished)
    }

    /// What stands behind, without marks.
    fn behind(&self, at: usize) -> Vec<&Span> {
        self.row.iter().skip(at + 1).filter(|span| !span.is_mark()).collect()
    }

    fn named_before(&self, at: usize) -> bool {
        self.row.iter().take(at).any(names_something)
    }

    /// 没锁后门; 没锁的后门 is the one that is not.
    fn lacks(&self) -> bool {
        let begins =
            |span: &Span| self.tokens.get(span.start).is_some_and(|token| self.means(token, Word::Lacking));
        self.row.iter().any(|span| begins(span) && span.such().is_none() && span.is_state())
    }

    /// 后门刚锁上
    fn just(&self) -> bool {
        let tells = |next: &Span| next.is_verb() || next.is_state() || next.word(Word::Object);
        self.row
            .windows(2)
            .any(|pair| matches!(pair, [lately, next] if lately.word(Word::Lately) && tells(next)))
    }

    /// 车库门打开了
    fn opened(&self) -> bool {
        let last = self.tokens.iter().rfind(|token| token.kind != Kind::Mark);
        let ended = last.is_some_and(|token| self.means(token, Word::Finished));
        let Some(verb) = self.row.iter().rposition(Span::is_verb) else { return false };
        ended
            && !self.wished()
            && self.row.get(verb).is_some_and(opens)
            && self.named_before(verb)
            && self.behind(verb).iter().all(|span| span.word(Word::Past))
    }

    /// 厨房灯还开着: how it is.
    fn stays(&self) -> bool {
        let Some(at) = self.row.iter().rposition(|span| span.is_verb() || span.is_state()) else {
            return false;
        };
        let Some(shown) = self.row.get(at) else { return false };
        let lasts = match self.behind(at).as_slice() {
            [] => self.ends(shown, Word::Lasting),
            [one] => self.ends(one, Word::Lasting),
            _ => false,
        };
        let before = self.row.iter().take(at).rev().take_while(|span| !span.is_mark());
        lasts
            && (opens(shown) || shown.is_state())
            && !before.into_iter().any(Span::is_verb)
            && self.named_before(at)
            && !self.wished()
    }

    /// 打开了车库门
    fn began(&self) -> bool {
        let mut row = self.row.iter();
        row.next().is_some_and(|span| opens(span) && self.done(span)) && row.any(names_something)
    }

    /// 窗帘开了一半
    fn partly(&self) -> bool {
        let Some(verb) = self.row.iter().rposition(Span::is_verb) else { return false };
        let level = |span: &Span| span.sense(|sense| matches!(sense, Sense::Level(_)));
        self.row.get(verb).is_some_and(|span| opens(span) && self.done(span))
            && matches!(self.behind(verb).as_slice(), [one] if level(one))
            && self.named_before(verb)
    }

    /// 只开了一半: no more than that.
    fn only(&self) -> bool {
        self.says(&[Word::Only]) && self.row.iter().any(|span| self.done(span)) && !self.wished()
    }
}

fn opens(span: &Span) -> bool {
    let preds = [Pred::On, Pred::Open, Pred::OnOrOpen, Pred::Unlock, Pred::Disarm];
    span.sense(|sense| matches!(sense, Sense::Pred(pred) if preds.contains(pred)))
}
