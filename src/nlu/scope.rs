//! Which noun phrase of a clause narrows which: places that stand apart, exclusions, things shared by several places.

use super::clause::{Clause, Noun, Np};
use super::frame::Frame;
use super::index::{HouseIndex, Target};
use super::vocabulary::{Class, Pred, Word};

/// The noun phrases with a place that stands before the verb put into those after it ("in the kitchen, turn on
/// the light"), and the exclusions. 除了客厅的灯都关掉 excludes a place and names the thing in one phrase.
pub fn scoped(clause: &Clause, frame: &Frame) -> (Vec<Np>, Vec<Np>) {
    let mut nps = frame.nps.clone();
    let mut except = frame.except.clone();
    // 除了灯带客厅的灯都关了: the last phrase is what the verb acts on.
    if nps.is_empty()
        && except.len() > 1
        && let Some(mut thing) = except.pop_if(|last| !last.joined)
    {
        thing.all = true;
        nps.push(thing);
    }
    if nps.is_empty()
        && let [excluded] = except.as_mut_slice()
    {
        let things: Vec<Noun> = excluded.nouns.iter().filter(|noun| !noun.is_place()).cloned().collect();
        let kinds = things.iter().all(|noun| !noun.classes.is_empty());
        if excluded.is_place() || (kinds && things.len() < excluded.nouns.len()) {
            excluded.nouns.retain(Noun::is_place);
            let everything = Noun { classes: vec![Class::Everything], ..Noun::default() };
            let nouns = if things.is_empty() { vec![everything] } else { things };
            nps.push(Np { nouns, all: true, ..Np::default() });
        }
    }
    // "Advance the radio to the next song": the song says nothing more.
    let song =
        |np: &Np| np.nouns.iter().all(|noun| noun.classes == [Class::Music] && noun.targets.is_empty());
    if nps.len() > 1 && nps.iter().any(song) && nps.iter().any(|np| !song(np) && np.unknown.is_empty()) {
        let moves =
            matches!(frame.pred, Pred::Next | Pred::Previous | Pred::Pause | Pred::Resume | Pred::Stop);
        nps.retain(|np| !moves || !song(np));
    }
    let before = |np: &Np| clause.pred_at.is_some_and(|at| np.start < at);
    // 把客厅除了灯带以外的灯都关了: what is excluded stands between the place and the thing.
    // 楼下除了厨房，灯都关了: also where a comma follows.
    let between =
        |first: &Np, next: &Np| except.iter().any(|np| first.start < np.start && np.start < next.start);
    let parted = match nps.as_slice() {
        [first, next, ..] if between(first, next) => {
            nps.iter().skip(1).all(|np| !np.joined || !np.is_place())
        }
        _ => !except.is_empty() && nps.iter().skip(1).all(|np| !np.joined),
    };
    let scopes = nps.len() > 1
        && nps.first().is_some_and(|np| np.is_place() && before(np))
        && (parted || nps.iter().skip(1).all(|np| !before(np)));
    if scopes {
        let place = nps.remove(0);
        for np in &mut nps {
            let placed = !np.places.is_empty() || np.nouns.iter().any(Noun::is_place);
            np.all |= place.places.contains(&Word::House);
            if !placed {
                np.places.extend(place.places.iter().copied().filter(|word| *word != Word::House));
                np.nouns.extend(place.nouns.iter().cloned());
            }
        }
    }
    (nps, except)
}

/// "the kitchen and hallway lights", "the lights in the kitchen and the hall": places take the thing of their
/// neighbours.
pub fn distributed(nps: &[Np]) -> Vec<Np> {
    let mut all = nps.to_vec();
    let heads: Vec<bool> = all.iter().map(|np| !np.is_place() && !np.nouns.is_empty()).collect();
    for position in 0..all.len() {
        if heads.get(position) != Some(&false) || all.get(position).is_none_or(|np| !np.unknown.is_empty()) {
            continue;
        }
        // "The kitchen and hallway lights", and not "the living room and the TV in the bedroom".
        let shared = |np: &Np| match np.nouns.first() {
            Some(first) if np.has_place() => first.is_place() || !np.places.is_empty(),
            Some(_) | None => !np.joined,
        };
        let after = (position + 1..all.len())
            .find(|next| heads.get(*next) == Some(&true))
            .filter(|next| all.get(*next).is_some_and(shared));
        let before = (0..position).rev().find(|earlier| heads.get(*earlier) == Some(&true));
        let Some(source) = before.or(after).and_then(|source| all.get(source)).cloned() else { continue };
        let things: Vec<_> = source
            .nouns
            .iter()
            .filter(|noun| !noun.is_place())
            .cloned()
            .map(|mut noun| {
                noun.targets.retain(|target| matches!(target, Target::Scene(_)));
                noun
            })
            .filter(|noun| !noun.classes.is_empty())
            .collect();
        if let Some(np) = all.get_mut(position)
            && !things.is_empty()
        {
            np.nouns.extend(things);
            np.all |= source.all;
            np.plural |= source.plural;
            np.such = np.such.or(source.such);
        }
    }
    // A place at the very end is for all of them: "the lights and the fan in the bedroom".
    all
}

/// The areas that noun phrases name.
pub fn named_areas(nps: &[Np], index: &HouseIndex) -> Option<Vec<usize>> {
    let mut areas: Vec<usize> = Vec::new();
    for noun in nps.iter().flat_map(|np| &np.nouns).filter(|noun| noun.is_place()) {
        for target in &noun.targets {
            match target {
                Target::Area(area) => areas.push(*area),
                Target::Floor(floor) => {
                    areas.extend((0..index.areas.len()).filter(|area| {
                        index.areas.get(*area).is_some_and(|area| area.floor == Some(*floor))
                    }));
                }
                Target::Entity(_) | Target::Scene(_) => {}
            }
        }
    }
    (!areas.is_empty()).then_some(areas)
}
