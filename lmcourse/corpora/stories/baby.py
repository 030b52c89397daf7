"""Stories of a little animal that has lost its mother."""

RULES = {
    "baby": """{day}, {hero.name} [heard|suddenly heard] a {small} voice: "{baby=babies.cry}" Behind {an_old}
        [bush|tree|fence|wall] sat a [little|tiny|small|brown] {baby.noun}, all alone.
        {stray=strays}{stray.kind?
            fog:It had lost its mother in the [thick|gray|white|cold] fog.
            |storm:It had lost its mother in the [storm|heavy rain|thunder].
            |butterfly:It had run after a {color=colors.word} butterfly until it was lost.}
        // [{alone} {hero.He} [picked up|carried|took] the {baby.noun} and [walked|ran|hurried] to
        {home.out}, but there was [no mother|nobody] [there|to be seen].[ "{baby.cry}" cried the
        {baby.noun}.| {sorry}|]
        |{baby_comfort}] // {arrives}[2* {advice}|] {beast.skill?
            nose:{friend_does} sniffed at the {baby.noun}'s [feet|ears] and followed [the smell|its steps]
            {slowly}.
            |wings:{friend_does} flew [high|over the trees|up to the clouds] and soon saw the mother.
            |climb:{friend_does} climbed up {an_old} [tree|barn|wall] and soon saw the mother.}
        There she was, {baby.where}, a [big|fat|good|sad] {baby.mother}. "Thank you for my {baby.noun}," she
        [said|called|cried]. // [{thanks} {baby_moral}|{lost_supper} {baby_moral}|{baby_moral}]""",
    "baby_comfort": """"Do not [cry|be afraid|worry], little one," said {hero.name}.""",
    "baby_moral": "[2*{moral}[ {baby_end}|]|{baby_end}]",
    "baby_end": """And the {baby.noun}? {stray.kind?
            fog:On foggy days, it [stayed|kept] [close|very close] to its mother.
            |storm:When it rained, it [hid|slept] under its mother, [warm|safe] and dry.
            |butterfly:It let the butterflies fly [alone|away] and [stayed|played] at home.}""",
}
