//! The language-neutral meanings that the data files map words to.

/// Defines an enum of meanings with the words that the data files use for them.
macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$inner])* $variant),+ }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The word in the data files.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }
    };
}

vocabulary! {
    /// What a verb asks for, before the target says which action that is.
    Pred {
        On = "on",
        Off = "off",
        Open = "open",
        Close = "close",
        /// Chinese 开: on or open, as the target takes it.
        OnOrOpen = "on_or_open",
        /// Chinese 关: off or close.
        OffOrClose = "off_or_close",
        Toggle = "toggle",
        Stop = "stop",
        Lock = "lock",
        Unlock = "unlock",
        Arm = "arm",
        ArmHome = "arm_home",
        ArmAway = "arm_away",
        ArmNight = "arm_night",
        ArmVacation = "arm_vacation",
        Disarm = "disarm",
        /// Light verbs: set, make, turn, 调, 把…弄.
        Set = "set",
        Raise = "raise",
        Lower = "lower",
        Brighter = "brighter",
        Dimmer = "dimmer",
        Louder = "louder",
        Quieter = "quieter",
        Warmer = "warmer",
        Colder = "colder",
        Faster = "faster",
        Slower = "slower",
        Play = "play",
        Pause = "pause",
        Resume = "resume",
        Next = "next",
        Previous = "previous",
        Mute = "mute",
        Unmute = "unmute",
        Start = "start",
        Dock = "dock",
        Clean = "clean",
        Locate = "locate",
        Mow = "mow",
        Water = "water",
        Press = "press",
        Run = "run",
        Activate = "activate",
        Cancel = "cancel",
        Add = "add",
        Remove = "remove",
        Broadcast = "broadcast",
        /// Tell me, show me: a question in the form of a command.
        Tell = "tell",
        Wake = "wake",
        Undo = "undo",
    }
}

vocabulary! {
    /// Words for states, in questions, conditions and "kitchen light off".
    StateWord {
        On = "on",
        Off = "off",
        Open = "open",
        Closed = "closed",
        Locked = "locked",
        Unlocked = "unlocked",
        Playing = "playing",
        Paused = "paused",
        Home = "home",
        Away = "away",
        Armed = "armed",
        Disarmed = "disarmed",
        Detected = "detected",
        Clear = "clear",
        Low = "low",
        Running = "running",
        Cleaning = "cleaning",
        Docked = "docked",
        Charging = "charging",
        Jammed = "jammed",
        Available = "available",
        Unavailable = "unavailable",
        Opening = "opening",
        Closing = "closing",
    }
}

vocabulary! {
    /// Kinds of things that people name.
    Class {
        Light = "light",
        Fan = "fan",
        Switch = "switch",
        Plug = "plug",
        Blind = "blind",
        Curtain = "curtain",
        Shade = "shade",
        Shutter = "shutter",
        Awning = "awning",
        Cover = "cover",
        GarageDoor = "garage_door",
        Gate = "gate",
        Door = "door",
        Window = "window",
        Lock = "lock",
        Alarm = "alarm",
        Climate = "climate",
        AirConditioner = "air_conditioner",
        Heating = "heating",
        Media = "media",
        Music = "music",
        Tv = "tv",
        Speaker = "speaker",
        Vacuum = "vacuum",
        Mower = "mower",
        Valve = "valve",
        Sprinkler = "sprinkler",
        Humidifier = "humidifier",
        WaterHeater = "water_heater",
        Siren = "siren",
        Camera = "camera",
        Scene = "scene",
        Script = "script",
        List = "list",
        ShoppingList = "shopping_list",
        TaskList = "task_list",
        Timer = "timer",
        Schedule = "schedule",
        Sensor = "sensor",
        Motion = "motion",
        Presence = "presence",
        Smoke = "smoke",
        Leak = "leak",
        Person = "person",
        Weather = "weather",
        Coffee = "coffee",
        Everything = "everything",
        Device = "device",
    }
}

vocabulary! {
    /// Settings and measurements.
    Attribute {
        Brightness = "brightness",
        Color = "color",
        ColorTemperature = "color_temperature",
        Temperature = "temperature",
        TargetTemperature = "target_temperature",
        Humidity = "humidity",
        Volume = "volume",
        Position = "position",
        Tilt = "tilt",
        Speed = "speed",
        Mode = "mode",
        FanMode = "fan_mode",
        Swing = "swing",
        Preset = "preset",
        Source = "source",
        Battery = "battery",
        Power = "power",
        Energy = "energy",
        Illuminance = "illuminance",
        CarbonDioxide = "carbon_dioxide",
        Pm25 = "pm25",
        AirQuality = "air_quality",
        Pressure = "pressure",
        Status = "status",
        Title = "title",
        Name = "name",
        Age = "age",
        Clock = "clock",
        Date = "date",
    }
}

vocabulary! {
    /// Words that shape a sentence.
    Word {
        All = "all",
        Any = "any",
        Both = "both",
        Except = "except",
        /// Chinese 以外, which closes what 除了 opened.
        ExceptEnd = "except_end",
        /// What stands before it is excluded: 书房除外.
        ExceptAfter = "except_after",
        /// Chinese 的话, which makes a condition of what stands before it.
        IfAfter = "if_after",
        /// Who says what he does himself: "I", "wij".
        Speaker = "speaker",
        /// Asks leave, or wishes: "can we", "on peut".
        MayWe = "may_we",
        /// Who tells of himself before a command, and how he begins: "I", "acabo de".
        Teller = "teller",
        /// What follows is only why: "because", "so that we can".
        Because = "because",
        /// A verb that tells what was done in the form of a wish: "set", "shut".
        Unchanging = "unchanging",
        /// "Just", "already", 已经: beside what was done.
        Lately = "lately",
        /// Chinese 被: what follows was done to it.
        Passive = "passive",
        /// Chinese 有 before a measure: it is so warm.
        Has = "has",
        /// "One of": which one is not said.
        OneOf = "one_of",
        /// Words of the house that mean something else together: "light dinner".
        Idiom = "idiom",
        /// Half of what it is now: "halve", 减半.
        Halve = "halve",
        /// What is said before a length of time that passes between two things: "wait five minutes".
        Pause = "pause",
        /// All but what was named: 其他, "the others".
        Others = "others",
        /// Beside a verb: what it names is to stay as it is ("leave the kitchen on").
        Keep = "keep",
        /// Somebody who does or did something: "I", 我.
        Subject = "subject",
        /// Between the two: "I just turned …".
        Already = "already",
        /// A verb that tells what was done: "turned", 关了.
        Past = "past",
        /// Chinese 没 before a verb: it was not done.
        Lacking = "lacking",
        /// Chinese 了 behind a verb: it was done.
        Finished = "finished",
        /// Chinese 着 behind a verb: it lasts.
        Lasting = "lasting",
        /// Chinese 能, 可以: what begins with it and ends like a question asks to do.
        Modal = "modal",
        Now = "now",
        /// After a number: one of the channels of a television, 五台.
        Channel = "channel",
        And = "and",
        Or = "or",
        Then = "then",
        Not = "not",
        To = "to",
        By = "by",
        From = "from",
        /// in, at, of, inside, 里: links a place to a thing.
        Link = "link",
        /// "on" before a place or a list.
        OnLink = "on_link",
        Only = "only",
        Here = "here",
        House = "house",
        Outside = "outside",
        Upstairs = "upstairs",
        Downstairs = "downstairs",
        It = "it",
        Them = "them",
        Other = "other",
        Again = "again",
        Up = "up",
        Down = "down",
        Little = "little",
        Lot = "lot",
        More = "more",
        /// An "and" that adds before a number: "kitchen light plus 10".
        Plus = "plus",
        Above = "above",
        Below = "below",
        If = "if",
        When = "when",
        Unless = "unless",
        Until = "until",
        Which = "which",
        HowMany = "how_many",
        What = "what",
        Where = "where",
        Who = "who",
        Is = "is",
        Did = "did",
        /// Chinese 吗, 没有, 是不是: makes a question of a statement.
        Asks = "asks",
        HowLong = "how_long",
        Polite = "polite",
        Filler = "filler",
        Yes = "yes",
        No = "no",
        NeverMind = "never_mind",
        Noise = "noise",
        Correction = "correction",
        In = "in",
        After = "after",
        Later = "later",
        For = "for",
        At = "at",
        Every = "every",
        /// A day of the week as a habit: "montags". Languages without such words say it in the plural.
        Weekly = "weekly",
        Today = "today",
        Tomorrow = "tomorrow",
        DayAfterTomorrow = "day_after_tomorrow",
        Yesterday = "yesterday",
        Tonight = "tonight",
        Morning = "morning",
        Noon = "noon",
        Afternoon = "afternoon",
        Evening = "evening",
        Midnight = "midnight",
        Workdays = "workdays",
        Weekend = "weekend",
        Monday = "monday",
        Tuesday = "tuesday",
        Wednesday = "wednesday",
        Thursday = "thursday",
        Friday = "friday",
        Saturday = "saturday",
        Sunday = "sunday",
        Am = "am",
        Pm = "pm",
        OClock = "o_clock",
        HalfPast = "half_past",
        QuarterPast = "quarter_past",
        QuarterTo = "quarter_to",
        /// "Ten past seven", "ten to eight": between the minutes and the hour.
        MinutesPast = "minutes_past",
        MinutesTo = "minutes_to",
        /// "Huit heures moins dix", 差五分八点: minutes taken away.
        Less = "less",
        /// A quarter of an hour after the hour: "et quart", 一刻.
        Quarter = "quarter",
        /// Fifteen minutes as a unit: "Viertelstunde", 刻钟.
        QuarterHour = "quarter_hour",
        /// "half eight" of German and Dutch: half an hour before it.
        HalfTo = "half_to",
        Half = "half",
        AndHalf = "and_half",
        Percent = "percent",
        /// Chinese 百分之, 成, 分之.
        PercentOf = "percent_of",
        Tenths = "tenths",
        PartsOf = "parts_of",
        /// The decimal point as it is said.
        Point = "point",
        /// "the", "a", "my": what follows is a thing.
        Article = "article",
        /// The articles that count one before a unit: "a minute".
        One = "one",
        /// What calls the house before a command: "hey", "ok".
        Opening = "opening",
        /// What may end a command and says nothing: "please", 吧.
        Closing = "closing",
        Degree = "degree",
        Fahrenheit = "fahrenheit",
        Kelvin = "kelvin",
        Second = "second",
        Minute = "minute",
        Hour = "hour",
        Day = "day",
        Week = "week",
        Month = "month",
        Year = "year",
        /// Chinese 月, between the month and the day.
        MonthMark = "month_mark",
        /// Chinese 号, 日; "th" of "30th".
        DayMark = "day_mark",
        January = "january",
        February = "february",
        March = "march",
        April = "april",
        May = "may",
        June = "june",
        July = "july",
        August = "august",
        September = "september",
        October = "october",
        November = "november",
        December = "december",
        Max = "max",
        Min = "min",
        Sun = "sun",
        Named = "named",
        /// Chinese 把, 给, 让: marks what the verb acts on.
        Object = "object",
        Normal = "normal",
    }
}

vocabulary! {
    /// Named settings of climates, fans and others; the device's own words decide whether it has them.
    Mode {
        Cool = "cool",
        Heat = "heat",
        Auto = "auto",
        Dry = "dry",
        FanOnly = "fan_only",
        Eco = "eco",
        Sleep = "sleep",
        Boost = "boost",
        Comfort = "comfort",
        Away = "away",
        Home = "home",
        Low = "low",
        Medium = "medium",
        High = "high",
        Quiet = "quiet",
        Swing = "swing",
    }
}

vocabulary! {
    /// Occasions that scenes are made for.
    Occasion {
        Sleep = "sleep",
        Leave = "leave",
        Arrive = "arrive",
        Wake = "wake",
        Movie = "movie",
    }
}

vocabulary! {
    /// Remarks that ask for a change.
    Remark {
        Bright = "too_bright",
        Dark = "too_dark",
        Warm = "too_warm",
        Cold = "too_cold",
        Loud = "too_loud",
        Quiet = "too_quiet",
        Humid = "too_humid",
        Dry = "too_dry",
    }
}

vocabulary! {
    /// What people say to a house that is no command: greetings, and questions about itself.
    Talk {
        Hello = "hello",
        Maker = "maker",
        Data = "data",
        Help = "help",
        Listening = "listening",
        Thanks = "thanks",
    }
}
