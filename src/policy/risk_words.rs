//! Words in names that say that something dangerous hangs on a thing, in ten languages.
//!
//! Only whole words count. A word right beside a light word (`garage light`, 车库灯) does not: what is switched is
//! the light. Names can raise a tier in this way and never lower one.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// What a word warns of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    Entry,
    /// What burns or scorches: cooking, ironing, a sauna, a fireplace.
    Fire,
    /// What warms a room or a bed.
    Heat,
    Critical,
    Flow,
    /// Water that runs on purpose: stopping it is the safe direction.
    Irrigation,
    Watch,
    Network,
    Administration,
}

/// English, German, French, Spanish, Italian, Portuguese, Dutch, Russian, Chinese, Japanese; phrases are words with
/// a space between. Accents and case do not matter.
// One line for each language; rustfmt would write one for each word.
#[rustfmt::skip]
const WORDS: &[(Group, &[&str])] = &[
    (
        Group::Entry,
        &[
            "garage", "garagedoor", "gate", "door", "doors", "doorlock", "lock", "deadbolt", "latch", "alarm", "siren",
            "strike", "barrier", "opener", // en
            "garagentor", "garagentur", "tor", "hoftor", "einfahrtstor", "tur", "haustur", "turschloss",
            "turoffner", "schloss", "riegel", "sirene", "alarmanlage", "schranke", // de
            "porte", "portail", "portillon", "serrure", "verrou", "sirene", "alarme", "barriere", // fr
            "garaje", "puerta", "porton", "cerradura", "cerrojo", "alarma", "sirena", "barrera", // es
            "porta", "cancello", "portone", "serratura", "allarme", "box auto", // it
            "garagem", "portao", "fechadura", "tranca", "alarme", // pt
            "poort", "deur", "voordeur", "slot", "garagedeur", "grendel", "slagboom", // nl
            "гараж", "ворота", "калитка", "дверь", "замок", "сигнализация", "сирена", "шлагбаум", // ru
            "车库", "车库门", "门", "大门", "闸门", "卷帘门", "入户门", "防盗门", "电动门", "院门", "门锁", "门禁", "锁",
            "智能锁", "报警", "报警器", "警报", "警号", "警铃", "道闸", // zh
            "ガレージ", "ドア", "玄関", "門", "扉", "ゲート", "シャッター", "鍵", "ロック", "電気錠", "アラーム",
            "警報", "サイレン", // ja
        ],
    ),
    (
        Group::Fire,
        &[
            "oven", "stove", "cooker", "hob", "kettle", "iron", "sauna", "fireplace", "toaster", "grill", "fryer",
            "deep fryer", // en
            "ofen", "backofen", "herd", "kochfeld", "wasserkocher", "bugeleisen", "kamin", // de
            "four encastrable", "cuisiniere", "plaque de cuisson", "bouilloire", "fer a repasser", "cheminee", // fr
            "horno", "cocina electrica", "hervidor", "plancha", "chimenea", // es
            "forno", "fornello", "bollitore", "ferro da stiro", "camino", // it
            "fogao", "chaleira", "ferro de passar", "lareira", // pt
            "fornuis", "kookplaat", "waterkoker", "strijkijzer", "haard", // nl
            "духовка", "плита", "печь", "чайник", "утюг", "сауна", "камин", // ru
            "烤箱", "炉灶", "灶", "电磁炉", "燃气灶", "热水壶", "电水壶", "水壶", "熨斗", "桑拿", "壁炉", "烤炉", // zh
            "オーブン", "コンロ", "ケトル", "アイロン", "サウナ", "暖炉", // ja
        ],
    ),
    (
        Group::Heat,
        &[
            "heater", "boiler", "space heater", "furnace", "electric blanket", "radiator", // en
            "heizlufter", "heizung", "heizer", "heizstab", "heizdecke", // de
            "chauffage", "radiateur", "chaudiere", // fr
            "estufa", "calefactor", "calentador", // es
            "stufa", "riscaldatore", "caldaia", // it
            "aquecedor", "caldeira", // pt
            "kachel", "verwarming", "ketel", // nl
            "обогреватель", "котел", "нагреватель", // ru
            "电暖器", "取暖器", "暖风机", "加热器", "电热毯", "锅炉", "浴霸", // zh
            "ストーブ", "ヒーター", "電気毛布", "ボイラー", // ja
        ],
    ),
    (
        Group::Critical,
        &[
            "fridge", "refrigerator", "freezer", "aquarium", "fish tank", "sump", "sump pump", "nas", "server", "medical",
            "cpap", "ventilator", "oxygen", "oxygen concentrator", "dialysis", "incubator", "terrarium", "ups", // en
            "kuhlschrank", "gefrierschrank", "gefriertruhe", "hebeanlage", "medizin", "beatmung", "sauerstoff", // de
            "refrigerateur", "frigo", "congelateur", "serveur", "medicale", "respirateur", "oxygene", // fr
            "nevera", "refrigerador", "frigorifico", "congelador", "acuario", "servidor", "medico", "respirador",
            "oxigeno", // es
            "frigorifero", "congelatore", "acquario", "medicale", "respiratore", "ossigeno", // it
            "geladeira", "freezer", "aquario", "oxigenio", // pt
            "koelkast", "vriezer", "diepvries", "medisch", "beademing", "zuurstof", // nl
            "холодильник", "морозильник", "аквариум", "сервер", "медицинский", "кислород", // ru
            "冰箱", "冰柜", "冷柜", "冷冻", "鱼缸", "水族箱", "排水泵", "服务器", "医疗", "呼吸机", "制氧机", // zh
            "冷蔵庫", "冷凍庫", "水槽", "サーバー", "医療", "人工呼吸器", "酸素", // ja
        ],
    ),
    (
        Group::Flow,
        &[
            "pump", "valve", "gas", "water main", "main water", "stopcock", // en
            "pumpe", "ventil", "absperrhahn", "hauptwasser", // de
            "pompe", "vanne", "gaz", // fr
            "bomba", "valvula", // es
            "pompa", "valvola", // it
            "valvula", // pt
            "pomp", "klep", "kraan", // nl
            "насос", "клапан", "газ", "вентиль", // ru
            "水泵", "泵", "阀", "阀门", "水阀", "总阀", "燃气", "煤气", "天然气", // zh
            "ポンプ", "バルブ", "弁", "ガス", // ja
        ],
    ),
    (
        Group::Irrigation,
        &[
            "irrigation", "sprinkler", "sprinklers", "drip line", "lawn watering", "garden watering", // en
            "bewasserung", "gartenbewasserung", "rasensprenger", // de
            "arrosage", // fr
            "riego", "aspersor", // es
            "irrigazione", "irrigatore", // it
            "irrigacao", "rega", // pt
            "besproeiing", "tuinsproeier", // nl
            "полив", // ru
            "灌溉", "喷灌", "浇水", "浇花", "洒水器", "喷淋", // zh
            "散水", "灌水", "スプリンクラー", // ja
        ],
    ),
    (
        Group::Watch,
        &[
            "camera", "cam", "doorbell", "privacy", "smoke", "co detector", "carbon monoxide", "leak", "detector",
            "motion detection", "recording", "nvr", "security", "baby monitor", // en
            "kamera", "turklingel", "klingel", "rauchmelder", "melder", "privatsphare", "aufnahme", "sicherheit", // de
            "camera", "sonnette", "fumee", "detecteur", "fuite", "enregistrement", "securite", // fr
            "camara", "timbre", "humo", "detector", "fuga", "grabacion", "seguridad", // es
            "telecamera", "campanello", "fumo", "rilevatore", "perdita", "registrazione", "sicurezza", // it
            "campainha", "fumaca", "vazamento", "gravacao", "seguranca", // pt
            "deurbel", "rook", "rookmelder", "lek", "opname", "beveiliging", // nl
            "камера", "звонок", "дым", "датчик дыма", "утечка", "протечка", "запись", "охрана", // ru
            "摄像头", "摄像机", "监控", "门铃", "烟雾", "烟感", "一氧化碳", "漏水", "探测器", "录像", "安防", "隐私", // zh
            "カメラ", "インターホン", "ドアベル", "煙", "火災", "漏水", "検知器", "録画", "防犯", "プライバシー", // ja
        ],
    ),
    (
        Group::Network,
        &[
            "router", "modem", "wifi", "wi fi", "wlan", "access point", "gateway", "hub", "bridge", "ethernet",
            "firewall", "reboot", "restart", "guest wifi", // en
            "neustart", "netzwerk", // de
            "routeur", "passerelle", "redemarrage", "redemarrer", "reseau", // fr
            "enrutador", "reiniciar", "puente", "red wifi", // es
            "riavvia", "rete", // it
            "roteador", "rede", // pt
            "herstart", "netwerk", // nl
            "роутер", "маршрутизатор", "модем", "шлюз", "перезагрузка", "сеть", // ru
            "路由器", "路由", "光猫", "网关", "网桥", "交换机", "无线网", "重启", // zh
            "ルーター", "モデム", "ゲートウェイ", "ハブ", "再起動", // ja
        ],
    ),
    (
        Group::Administration,
        &[
            "permit join", "factory reset", "backlog", "firmware", "ota", "lock code", "user code", "pin code", "auto lock",
            "autolock", "child lock code", "pairing", // en
            "werkseinstellungen", "anlernen", // de
            "reinitialisation usine", "appairage", // fr
            "restablecer de fabrica", "emparejar", // es
            "ripristino di fabbrica", "abbinamento", // it
            "restaurar de fabrica", "emparelhar", // pt
            "fabrieksinstellingen", "koppelen", // nl
            "сброс настроек", "прошивка", "сопряжение", // ru
            "恢复出厂", "固件", "配网", "入网", "门锁密码", "自动上锁", // zh
            "工場出荷", "ファームウェア", "ペアリング", "オートロック", // ja
        ],
    ),
];

/// Words for lights. Right beside a risk word they say that the light is meant.
const LIGHTS: &[&str] = &[
    "light",
    "lights",
    "lighting",
    "lamp",
    "lamps",
    "led",
    "leds",
    "bulb",
    "spotlight",
    "licht",
    "lampe",
    "lampen",
    "leuchte",
    "beleuchtung",
    "lumiere",
    "eclairage",
    "luz",
    "luces",
    "lampara",
    "iluminacion",
    "luce",
    "luci",
    "lampada",
    "illuminazione",
    "luzes",
    "iluminacao",
    "verlichting",
    "свет",
    "лампа",
    "светильник",
    "освещение",
    "灯",
    "灯光",
    "照明",
    "台灯",
    "吊灯",
    "吸顶灯",
    "灯带",
    "射灯",
    "壁灯",
    "夜灯",
    "ライト",
    "ランプ",
    "電灯",
];

/// Chinese and Japanese words that contain a risk word and are none; they keep it from being cut out of them.
const HARMLESS: &[&str] = &[
    "门厅",
    "门廊",
    "门口",
    "门外",
    "门前",
    "门边",
    "部门",
    "专门",
    "热门",
    "厦门",
    "澳门",
    "锁屏",
    "ブロック",
];

/// Words that may stand between a risk word and its light word.
const LINKS: &[&str] = &[
    "the", "of", "s", "a", "de", "del", "della", "do", "da", "du", "des", "la", "le", "der", "die", "das",
    "van", "het", "в", "на", "的", "の", "ceiling", "wall", "outdoor", "left", "right", "main",
];

/// Whether `name` holds a word of `group` that is no lamp's.
pub fn holds(name: &str, group: Group) -> bool {
    let words = words_of(name);
    let lexicon = &*LEXICON;
    let mut at = 0;
    while at < words.len() {
        let Some((found, length)) = lexicon.longest(&words, at) else {
            at += 1;
            continue;
        };
        if found == group && !lit(&words, at, at + length) {
            return true;
        }
        // A longer phrase of another group must not hide the words inside it.
        at += 1;
    }
    false
}

/// Whether a light word stands beside the risk words around `from..to`.
fn lit(words: &[String], from: usize, to: usize) -> bool {
    let light = |word: &&String| LEXICON.is_light(word);
    let passed = |word: &&String| {
        LINKS.contains(&word.as_str()) || LEXICON.longest(std::slice::from_ref(*word), 0).is_some()
    };
    let after = words.iter().skip(to).find(|word| !passed(word));
    let before = words.iter().take(from).rev().find(|word| !passed(word));
    after.as_ref().is_some_and(light) || before.as_ref().is_some_and(light)
}

struct Lexicon {
    /// First word to the phrases that begin with it.
    phrases: HashMap<String, Vec<(Vec<String>, Group)>>,
    lights: Vec<String>,
    /// Every word in a script without spaces, for cutting.
    unspaced: Vec<String>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::new);

impl Lexicon {
    fn new() -> Self {
        let mut phrases: HashMap<String, Vec<(Vec<String>, Group)>> = HashMap::new();
        let mut unspaced: Vec<String> = Vec::new();
        let all = WORDS.iter().flat_map(|(_, words)| words.iter()).chain(LIGHTS).chain(HARMLESS);
        for word in all.map(|word| folded(word)).filter(|word| word.chars().all(is_unspaced)) {
            unspaced.push(word);
        }
        for (group, words) in WORDS {
            for word in *words {
                let parts: Vec<String> = folded(word).split(' ').map(str::to_owned).collect();
                if let Some(first) = parts.first() {
                    phrases.entry(first.clone()).or_default().push((parts, *group));
                }
            }
        }
        for list in phrases.values_mut() {
            list.sort_by_key(|(parts, _)| std::cmp::Reverse(parts.len()));
        }
        Self { phrases, lights: LIGHTS.iter().map(|word| folded(word)).collect(), unspaced }
    }

    /// The longest phrase that begins at `at`, with the number of its words. English plurals count as their singular.
    fn longest(&self, words: &[String], at: usize) -> Option<(Group, usize)> {
        let first = words.get(at)?;
        let listed = self.phrases.get(first).or_else(|| self.phrases.get(first.strip_suffix('s')?))?;
        listed
            .iter()
            .find(|(parts, _)| parts.iter().skip(1).eq(words.iter().skip(at + 1).take(parts.len() - 1)))
            .map(|(parts, group)| (*group, parts.len()))
    }

    fn is_light(&self, word: &str) -> bool {
        self.lights.iter().any(|light| light == word)
    }
}

/// Lower case, compatibility forms unified, accents and invisible characters removed.
pub(super) fn folded(text: &str) -> String {
    text.nfkd()
        .filter(|c| !is_combining_mark(*c) || is_kana_mark(*c))
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_lowercase)
        .nfc()
        .collect()
}

/// The marks that make か into が: another letter, not an accent.
fn is_kana_mark(c: char) -> bool {
    matches!(c, '\u{3099}' | '\u{309a}')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Letters of scripts that write words without spaces.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// The words of a name: cut at everything that is no letter, between letters and digits, and at inner capitals.
fn words_of(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in name.chars().filter(|c| !is_invisible(*c)) {
        let inner_capital = c.is_uppercase() && before.is_lowercase();
        let script_change = is_unspaced(c) != is_unspaced(before);
        if !(c.is_alphabetic() || is_combining_mark(c)) || inner_capital || script_change {
            push_word(&mut words, std::mem::take(&mut word));
        }
        if c.is_alphabetic() || is_combining_mark(c) || is_unspaced(c) {
            word.push(c);
        }
        before = c;
    }
    push_word(&mut words, word);
    words
}

fn push_word(words: &mut Vec<String>, word: String) {
    if word.is_empty() {
        return;
    }
    let word = unmixed(folded(&word));
    if word.chars().all(is_unspaced) {
        segment(words, &word);
    } else {
        words.push(word);
    }
}

/// Cuts text without spaces at the longest known words; what is unknown becomes single letters.
fn segment(words: &mut Vec<String>, text: &str) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let known = LEXICON
            .unspaced
            .iter()
            .filter(|word| rest.starts_with(word.as_str()))
            .max_by_key(|word| word.len());
        let length = known.map_or(first.len_utf8(), String::len);
        let (word, after) = rest.split_at(length);
        words.push(word.to_owned());
        rest = after;
    }
}

/// Cyrillic letters that look like Latin ones.
pub(super) const TWINS: &[(char, char)] = &[
    ('а', 'a'),
    ('е', 'e'),
    ('о', 'o'),
    ('р', 'p'),
    ('с', 'c'),
    ('у', 'y'),
    ('х', 'x'),
    ('і', 'i'),
    ('ѕ', 's'),
    ('ј', 'j'),
    ('к', 'k'),
    ('м', 'm'),
    ('т', 't'),
    ('в', 'b'),
    ('н', 'h'),
    ('ԁ', 'd'),
    ('ѵ', 'v'),
];

/// Puts Latin letters for their Cyrillic twins in a word that mixes both, as only a disguise does.
fn unmixed(word: String) -> String {
    let latin = word.chars().any(|c| c.is_ascii_alphabetic());
    let cyrillic = word.chars().any(|c| matches!(c, '\u{400}'..='\u{4ff}'));
    if !(latin && cyrillic) {
        return word;
    }
    let latin_of = |c: char| TWINS.iter().find(|(cyrillic, _)| *cyrillic == c).map_or(c, |(_, latin)| *latin);
    word.chars().map(latin_of).collect()
}

#[cfg(test)]
mod tests;
