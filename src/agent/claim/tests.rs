use super::*;
use crate::actuate::{Outcome, OutcomeEntry};
use crate::eval::HomeFile;
use crate::home::{Action, Arg, EntityId};
use crate::nlu::Nlu;

fn house() -> House {
    let file: HomeFile = serde_json::from_value(serde_json::json!({"id": "h", "entities": [
        {"id": "light.kitchen", "name": "Kitchen lamp", "state": "on", "attributes": {"brightness": 102}},
        {"id": "light.hall", "name": "Hall lamp", "state": "off"},
        {"id": "lock.front", "name": "Front door", "state": "unlocked"},
        {"id": "cover.blind", "name": "Blind", "state": "closed", "attributes": {"current_position": 0}},
        {"id": "climate.heating", "name": "Heating", "state": "heat", "attributes": {"temperature": 22, "current_temperature": 19.5}},
        {"id": "binary_sensor.window", "name": "Kitchen window", "state": "on", "attributes": {"device_class": "window"}},
        {"id": "light.keting", "name": "客厅灯", "state": "on"},
        {"id": "light.chufang", "name": "厨房灯", "state": "off"},
        {"id": "lock.men", "name": "大门", "state": "unlocked"},
    ]}))
    .expect("a home");
    crate::eval::house(&file, chrono::DateTime::UNIX_EPOCH)
}

fn did(id: &str, verb: Verb, arg: Option<(Arg, f64)>) -> OutcomeEntry {
    let mut action = Action::new(EntityId::parse(id).expect("an id"), verb);
    if let Some((arg, value)) = arg {
        action = action.with(arg, ArgValue::Number(value));
    }
    OutcomeEntry { action, outcome: Outcome::Confirmed, cause: None, reported: None, details: Vec::new() }
}

/// What fails of `rows` (command, sentence): those that do not stand, or do where they must not.
fn check(language: &str, ledger: &[OutcomeEntry], stand: bool, rows: &[(&str, &str)]) -> Vec<String> {
    let nlu = Nlu::new().expect("the lexicons");
    let (lexicon, mut house, ledger) = (nlu.lexicon(language), house(), ledger.to_vec());
    for entry in &ledger {
        crate::eval::apply(&mut house, &entry.action, chrono::DateTime::UNIX_EPOCH);
    }
    let stands = |command: &str, text: &str| {
        let question = asks(command, lexicon);
        agrees(text, &Facts { ledger: &ledger, house: &house, lexicon, household: false, question })
    };
    rows.iter()
        .filter(|(command, text)| stands(command, text) != stand)
        .map(|(command, text)| {
            format!("{language} {command:?} -> {text:?} must{} stand", if stand { "" } else { " not" })
        })
        .collect()
}

#[test]
fn what_was_not_done_is_not_claimed() {
    let off = [did("light.kitchen", Verb::TurnOff, None)];
    let dimmed = [did("light.kitchen", Verb::TurnOn, Some((Arg::BrightnessPct, 40.0)))];
    let mut failed = check(
        "en",
        &[],
        false,
        &[
            ("turn on the hall lamp", "Done!"),
            ("turn on the hall lamp", "All set."),
            ("lock the front door", "The front door is locked."),
            ("lock up", "The front door is now locked."),
            ("lights off please", "Lights off!"),
            ("turn on the hall lamp", "I've turned on the hall lamp."),
            ("turn on the hall lamp", "I have turned the hall lamp on for you."),
            ("turn on the hall lamp", "Turning on the hall lamp."),
            ("could you turn on the hall lamp?", "Sure, done."),
            ("is the front door locked?", "Yes, the front door is locked."),
            ("hello", "Opened the blind."),
            ("is the hall lamp on? If not, turn it on", "It was off, so I've turned it on."),
            ("is the hall lamp on? If not, turn it on", "It was off, so I turned it on."),
            ("check that everything is locked and lock it", "Done, everything is locked."),
            ("is everything locked?", "Done, I locked everything."),
            ("are the lights on? turn them off", "They are off now."),
            ("is the front door locked? Can you lock it?", "Yes, it is locked now."),
        ],
    );
    failed.extend(check(
        "en",
        &off,
        false,
        &[
            ("x", "I've turned on the kitchen lamp."),
            ("x", "The kitchen lamp is on."),
            ("x", "I turned the kitchen lamp on."),
            ("x", "I've turned off the kitchen lamp and locked the front door."),
            ("x", "I've turned off the hall lamp and the front door is locked."),
            ("x", "I've set the kitchen lamp to 40 %."),
            ("x", "The kitchen lamp is off. The blind is open."),
        ],
    ));
    failed.extend(check(
        "en",
        &dimmed,
        false,
        &[
            ("x", "I've set it to 80 %."),
            ("x", "The kitchen lamp is at 80 percent."),
            ("x", "I've turned off the kitchen lamp."),
            ("x", "Dimmed the hall lamp to 40 %."),
        ],
    ));
    failed.extend(check(
        "zh",
        &[],
        false,
        &[
            ("打开厨房灯", "好的，已打开厨房灯。"),
            ("锁上大门", "大门锁着。"),
            ("打开厨房灯", "好了。"),
            ("打开厨房灯", "帮你把厨房灯打开了"),
            ("大门锁了吗", "大门锁着。"),
            ("哪个灯亮着就关掉", "已经关掉了。"),
            ("窗户关了吗，没关就关上", "好的，已经关上了。"),
        ],
    ));
    let kai = [did("light.keting", Verb::TurnOn, Some((Arg::BrightnessPct, 40.0)))];
    failed.extend(check(
        "zh",
        &kai,
        false,
        &[
            ("x", "客厅灯已关闭。"),
            ("x", "已把客厅灯调到80%。"),
            ("x", "厨房灯已打开。"),
            ("x", "客厅灯打开了，大门也锁好了。"),
        ],
    ));
    failed.extend(check(
        "de",
        &[],
        false,
        &[("mach das Licht an", "Ich habe das Licht eingeschaltet."), ("x", "Erledigt!")],
    ));
    failed.extend(check("fr", &[], false, &[("allume", "J'ai allumé la lampe."), ("x", "C'est fait.")]));
    failed.extend(check("es", &[], false, &[("x", "He encendido la luz."), ("x", "¡Hecho!")]));
    failed.extend(check("nl", &[], false, &[("x", "Ik heb de lamp aangezet."), ("x", "Klaar!")]));
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn honest_sentences_stand() {
    let off = [did("light.kitchen", Verb::TurnOff, None)];
    let dimmed = [did("light.kitchen", Verb::TurnOn, Some((Arg::BrightnessPct, 40.0)))];
    let warm = [did("climate.heating", Verb::SetTemperature, Some((Arg::Temperature, 22.0)))];
    let lock = [did("lock.front", Verb::Lock, None)];
    let mut failed = check(
        "en",
        &[],
        true,
        &[
            ("turn on the sauna", "There is no sauna here."),
            ("turn on the sauna", "I can't turn on the sauna."),
            ("turn on the lamp", "Which lamp should be turned on?"),
            ("hello", "Hello! How can I help?"),
            ("what can you do", "I can have lights turned on or off for you."),
            ("is the kitchen lamp on?", "Yes, the kitchen lamp is on."),
            ("is the front door locked?", "No, the front door is unlocked."),
            ("are any lights on?", "Yes, two lights are on."),
            ("are the lights on in the kitchen and the hall?", "Yes, two lights are on."),
            ("in the kitchen, are any lights on?", "Yes, one is on."),
            ("how long has it been open?", "It has been open for an hour."),
            ("is the washing machine done?", "Yes, it's done."),
            ("when did it finish?", "It has finished 10 minutes ago."),
            ("what is the thermostat set to?", "It's set to 21 degrees."),
            ("when was it turned off?", "It was turned off at nine."),
            ("are any lights on, please?", "Yes, two lights are on."),
            ("can you tell me which lights are on?", "Two lights are on."),
            ("how warm is it?", "It is 19.5 degrees."),
            ("good night", "Good night. The kitchen window is open."),
            ("turn on the hall lamp", "I could not get the hall lamp turned on."),
            ("turn on the kitchen lamp", "The kitchen lamp is already on."),
            ("tell me a joke", "A lamp walks into a bar."),
            ("thanks", "You're welcome."),
        ],
    );
    failed.extend(check(
        "en",
        &off,
        true,
        &[
            ("x", "Done!"),
            ("x", "I've turned off the kitchen lamp."),
            ("x", "Sure, I turned the kitchen lamp off for you."),
            ("x", "The kitchen lamp is off now."),
            ("x", "Lights off!"),
            ("x", "The lamp is now off. The hall lamp is off too."),
            ("x", "It is dark in the kitchen now. Anything else?"),
            ("x", "I turned off the kitchen lamp, but I could not find a sauna."),
        ],
    ));
    failed.extend(check(
        "en",
        &dimmed,
        true,
        &[
            ("x", "I've set the kitchen lamp to 40%."),
            ("x", "The kitchen lamp is at 40 percent."),
            ("x", "Dimmed to 40 %."),
            ("x", "I've turned the kitchen lamp on at 40 % brightness."),
        ],
    ));
    failed.extend(check(
        "en",
        &warm,
        true,
        &[
            ("x", "The heating is set to 22 °C; it is 19.5 °C now."),
            ("x", "I've set the heating to 22 degrees."),
        ],
    ));
    failed.extend(check(
        "en",
        &lock,
        true,
        &[("x", "The front door is locked."), ("x", "I locked the front door.")],
    ));
    let kai = [did("light.keting", Verb::TurnOn, Some((Arg::BrightnessPct, 40.0)))];
    failed.extend(check(
        "zh",
        &kai,
        true,
        &[
            ("x", "好的，客厅灯已打开。"),
            ("x", "已经把客厅灯调到40%了。"),
            ("x", "好了。"),
            ("x", "客厅灯打开了，亮度40%。"),
        ],
    ));
    failed.extend(check(
        "zh",
        &[],
        true,
        &[
            ("客厅灯开着吗", "是的，客厅灯开着。"),
            ("打开桑拿", "这里没有桑拿。"),
            ("打开灯", "要打开哪个灯？"),
            ("你好", "你好，有什么可以帮你的吗？"),
            ("打开桑拿", "抱歉，我无法打开桑拿。"),
        ],
    ));
    failed.extend(check(
        "de",
        &off,
        true,
        &[("x", "Ich habe die Kitchen lamp ausgeschaltet."), ("x", "Erledigt.")],
    ));
    failed.extend(check(
        "de",
        &[],
        true,
        &[("x", "Das kann ich nicht."), ("ist das Licht an?", "Ja, das Licht ist an.")],
    ));
    assert!(failed.is_empty(), "{failed:#?}");
}
