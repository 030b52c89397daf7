"""Stories of something broken, hidden, and owned up to."""

RULES = {
    "broken": """{day}, {hero.name} {mishap=mishaps}{mishap.kind?
            ball:threw a {color=colors.word} ball [up and up|against the wall] in the [kitchen|hall|house].
            |dance:danced on the [kitchen|long|old] table, [round and round|faster and faster].
            |cookie:[reached for|wanted] a [honey|nut|plum] cookie on the [top|highest] shelf.}
        [Crash|Bang|Oh no]! {elder.call}'s [best|old|blue|white] {dish=dishes.noun} lay on the floor, in
        [five|seven|nine|many] pieces. // {alone} {hero.He} tried to [mend|fix] it with
        [honey|jam|mud|water], but it [fell apart|broke] again, so {hero.he} hid the pieces
        {hiding=hiding.where}. [{sorry}|At supper, {hero.he} could not eat {food=foods.word}.] //
        {goes}
        [2*{broken_piece}|{advice} {friend_does} went along to {elder.call}.]
        "I broke your {dish.noun}," {hero.name} [said|told {elder.call}]. "{mishap.kind?
            ball:I was throwing my ball|dance:I was dancing on the table|cookie:I wanted a cookie}.
        I am [so|very|really] sorry." // "[A {dish.noun} is only a {dish.noun}|I can live without a
        {dish.noun}]," said {elder.call}. "But I [need|like|love] a child who tells the truth."[ They mended
        it [together|carefully|with good glue].|] [2*{moral}[ And {broken_end}|]|{broken_now}]""",
    "broken_piece": """They got the pieces from {hiding.out}, but one was missing. {beast.skill?
            nose:{friend_does} sniffed [everywhere|in every corner] and found it behind the
                [door|clock|lamp].
            |wings:{friend_does} flew [up|around] and found it on top of the [door|clock|lamp].
            |climb:{friend_does} climbed up the [curtain|wall] and found it behind the
            [window|clock|lamp].}""",
    "broken_end": """{mishap.kind?
            ball:the {color.word} ball {broken_ball}|dance:{hero.he} {broken_dance}|cookie:{hero.he}
            {broken_cookie}}
        """,
    "broken_now": """Now {mishap.kind?
            ball:the {color.word} ball {broken_ball}
            |dance:{hero.name} {broken_dance}
            |cookie:{hero.name} {broken_cookie}}""",
    "broken_ball": "[stayed|lived] in the [garden|yard].",
    "broken_dance": "only danced [outside|on the grass|on the floor].",
    "broken_cookie": "[always|politely] asked for [cookies|a cookie].",
}
