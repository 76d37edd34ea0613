//! The meanings of the words that shape a sentence.

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
        /// A person of whom it says "not": "nobody".
        Nobody = "nobody",
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
