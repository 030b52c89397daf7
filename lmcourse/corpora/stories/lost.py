"""Stories of a dear thing that the wind, the water or a bird takes away."""

RULES = {
    "lost": "[{lost_wind}|{lost_water}|{lost_bird}]",
    "lost_sad": """[{hero.Name} [began to cry|sat down and cried|felt very sad|did not know what to do].
        |{tears} ran down {hero.his} [face|cheeks|nose].|{sorry}]""",
    "lost_supper": """[At supper|In the evening|Later|At home], they [ate|had|shared] {food=foods.word} and
        [told {elder.call} all about it|laughed and laughed].""",
    "lost_wind": """{day}, {hero.name} [took|carried] a {color=colors.word} {thing=windy.noun} to {home.out}.
        {suddenly} a [strong|wild|cold|sharp|warm] wind [blew|carried] it [up and away|high into the air],
        and it got caught in {an_old} [tree|oak|pine].[ // {alone} {hero.He} [jumped for|pulled at|climbed
        on] the lowest branch, but it [broke|cracked|bent], and {hero.he} fell into the [dry|soft|deep|wet]
        leaves.|] {lost_sad} // {arrives}[2* {advice}|] {beast.skill?
            nose:{friend_does} sniffed around and found a {strong} ladder, and {hero.name} climbed up
            {slowly} and took the {thing.noun} down.
            |wings:{friend_does} flew up, pulled the {thing.noun} free, and [dropped it|let it fall|laid it]
            {gently} into {hero.name}'s hands.
            |climb:{friend_does} climbed up {slowly} and [shook|pulled] the {thing.noun} free, and
            {hero.name} caught it [with both hands|in {hero.his} arms].}
        // [{thanks} {lost_wind_moral}|{lost_supper} {lost_wind_moral}|{lost_wind_moral}]""",
    "lost_wind_moral": """[2*{moral}[ And when the wind blew, {hero.he} {lost_wind_end}|]
        |When the wind blew [again|now], {hero.name} {lost_wind_end}]""",
    "lost_wind_end": "held the {color.word} {thing.noun} [tight|with both hands|a little tighter].",
    "lost_water": """{day}, {hero.name} was playing with a {color=colors.word} {thing=floating.noun} by the
        [stream|pond|river]. {suddenly} it [fell|slipped] into the water and [floated|drifted] away, until it
        stuck between two [big|gray|round|green|white] stones.[ // {alone} {hero.He} [reached for it|tried to
        get it] with {an_old} [stick|rake|broom], but it was too [far away|short|heavy], and {hero.his} shoes
        filled with [cold|muddy|green] water.|][3* {lost_sad}|] // {arrives}[2* {advice}|] {beast.skill?
            nose:{friend_does} sniffed along the bank and found a {strong} board, and {hero.name} went across
            {slowly} and got the {thing.noun}.
            |wings:{friend_does} flew over the water, picked up the {thing.noun}, and [dropped|laid] it
            {gently} into {hero.name}'s hands.
            |climb:{friend_does} climbed along a branch and [pushed|rolled] the {thing.noun} to the bank, and
                {hero.name} pulled it out [with both hands|of the water].}
        // [{thanks} {lost_water_moral}|{lost_supper} {lost_water_moral}|{lost_water_moral}]""",
    "lost_water_moral": """[2*{moral}[ And by the water, {hero.he} {lost_water_end}|]
        |By the water, {hero.name} {lost_water_end}]""",
    "lost_water_end": "[now|always] tied the {color.word} {thing.noun} to a [long|strong|thick] string.",
    "lost_bird": """{day}, {hero.name} sat by the window with a {metal=metals.word} {thing=shiny.noun}, a
        gift from {elder.call}. A magpie saw it [shine|sparkle]. {suddenly} the bird [flew|came] down, took
        it, and carried it to the roof of the [barn|school|church|mill].[ // {alone} {hero.He}
        [shouted|called|whistled] and [waved|clapped|jumped], but the magpie only [looked down|laughed] at
        {hero.him}.|][3* {lost_sad}|] // {arrives}[2* {advice}|] {beast.skill?
            nose:{friend_does} sniffed in the grass and found a {color=colors.word} bead, and the magpie
            [liked|loved] it so much that it gave the {thing.noun} back.
            |wings:{friend_does} flew up to the roof and [spoke|talked] to the magpie {gently}, until it was
                [ashamed|sorry] and gave the {thing.noun} back.
            |climb:{friend_does} climbed up the wall {slowly}, and when the magpie [fell asleep|flew off to
            drink], the {beast.noun} took the {thing.noun} and brought it down.}
        // [{thanks} {lost_bird_moral}|{lost_supper} {lost_bird_moral}|{lost_bird_moral}]""",
    "lost_bird_moral": "[2*{moral}[ And {hero.he} {lost_bird_end}|]|{hero.Name} {lost_bird_end}]",
    "lost_bird_end": """kept the {metal.word} {thing.noun} in a [box|drawer|bag|shoe], where no magpie could
        see it [shine|sparkle].""",
}
