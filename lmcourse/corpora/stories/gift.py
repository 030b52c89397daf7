"""Stories of a present for someone dear."""

RULES = {
    "gift": """[The next day was|It was almost|Soon it would be] {elder.call}'s birthday, and {hero.name}
        wanted to [{gift_cake}|{gift_flowers}|{gift_scarf}]""",
    "gift_cake": """bake a {fine} honey cake. But the honey [pot|jar|glass] was empty. // {alone} {hero.He}
        [mixed|stirred] flour and water, but the cake came out [hard as a stone|black as coal|flat as a
        plate].[ Nobody could eat it.| {sorry}|] // {arrives}[2* {advice}|] {beast.skill?
            nose:{friend_does} sniffed the air and followed the {fine} smell to {an_old} tree full of honey.
            |wings:{friend_does} flew over the [meadow|fields] and followed the bees to {an_old} tree full of
            honey.
            |climb:{friend_does} climbed up {an_old} tree and found a {big} hole full of honey.}
        They [took|borrowed|asked the bees for] [one spoon|a little|one cup] and baked a new cake,
        [golden|soft|warm] and sweet. // {gift_party} [2*{moral}[ And every {gift_cake_end}|]|Every
        {gift_cake_end}]""",
    "gift_cake_end": "[spring|summer|year], they planted {bloom=blooms.word} flowers for the bees.",
    "gift_flowers": """[find|pick] some {bloom=blooms.word} flowers. But it was [a dry summer|still cold|late
        in autumn], and [the garden was empty|nothing grew in the garden]. // {alone} {hero.He}
        [picked|pulled up|grabbed] the first {small} plant by the road, but it was a nettle, and it
        [burned|hurt|stung] {hero.his} [fingers|hands].[ {sorry}|] // {arrives}[2* {advice}|] {beast.skill?
            nose:{friend_does} sniffed the wind {slowly}. "I smell flowers," said {friend_name}.
            |wings:{friend_does} flew in a [wide|big|high] circle. "I see flowers," said {friend_name}.
            |climb:{friend_does} climbed onto a {big} rock. "I see flowers," said {friend_name}.}
        There they [were|stood|grew], {bloom.word} [and {fine}|as a dream], behind {an_old}
        [mill|wall|bridge|barn]. // {gift_party} [2*{moral}[ And {hero.he} {gift_flowers_end}|]|{hero.Name}
        {gift_flowers_end}]""",
    "gift_flowers_end": "never [touched|picked] a nettle again.",
    "gift_scarf": """make a {color=colors.word} scarf. But there was no wool in the house. // {alone}
        {hero.He} [pulled|took] the threads out of {hero.his} own [blanket|coat|socks|pillow], but they
        [turned into|became] a {big} knot.[ {sorry}|] // {arrives}[2* {advice}|] {friend_does} {beast.skill?
            nose:sniffed|wings:flew|climb:climbed}
        along the fence and found [soft|fine|thick|warm] wool that the sheep had left there. {hero.Name}
        [spun|knitted] [until late|all night|for hours] while {pal.name} held the {color.word} thread. //
        {gift_party} [2*{moral}[ {gift_scarf_end}|]|{gift_scarf_end}]""",
    "gift_scarf_end": "And the knot? It became a {fine} [ball|bed|pillow] for {pal.name}.",
    "gift_party": """[In the morning|The next day|On the birthday], {elder.call} [laughed with joy|cried for
        joy|danced around the table|ate {food=foods.word} and sang]. "[This is the best birthday of my
        life|What a {fine} present|How beautiful|I love it]!" said {elder.call}.[ "{pal.Name} helped me,"
        said {hero.name}.| {thanks}|]""",
}
