"""Stories of a plant that needs care."""

RULES = {
    "garden": """[One day in spring|In April|One sunny morning|In May], {elder.call} gave {hero.name}
        {plant=plants.seed}. {hero.Name} planted it [by the gate|behind the house|under the window|by the
        wall] and [watered it|sang to it|looked at it] every [day|morning|evening]. {pest=pests}{pest.kind?
            drought:But then it did not rain for [three|five|six] weeks, and the leaves [dried up|turned
            brown].
            |snails:But then the snails came, and every [night|morning|day] there was one leaf less.} //
            {alone}
        {pest.kind?
            drought:{hero.He} [ran|walked|hurried] to the [stream|pond|river] with a {color=colors.word}
            bucket, but it had a {big} hole.
            |snails:{hero.He} [shouted at|chased|scolded] the snails, but they only [laughed|fell
            asleep].}[ {lost_sad}|] // {arrives}[2* {advice}|] {pest.kind?
            drought:{beast.skill?
                nose:{friend_does} sniffed at the ground and dug, and [cold|clear|fresh] water came up.
                |wings:{friend_does} flew in a [wide|big|high] circle and saw a spring behind {an_old}
                [hill|wood].
                |climb:{friend_does} climbed up {an_old} tree and saw a spring behind {an_old} [hill|wood].}
                They dug a {small} ditch, and the water ran [right|all the way|{gently}] to the garden.
            |snails:{beast.skill?
                nose:{friend_does} sniffed under every leaf and found
                |wings:{friend_does} flew over the garden and saw
                |climb:{friend_does} climbed from leaf to leaf and found}
                [nine|twelve|twenty|a hundred] snails. They carried the snails {gently} to {home.out}.}
        // {plant.kind?
            sunflower:By August, the sunflower was [taller|higher] than the [house|roof|trees].
            |pumpkin:By autumn, the pumpkin was so [big|heavy|fat] that {elder.call} had to [roll|push] it
            home.
            |strawberry:By June, {elder.call} made jam for [a year|the whole street|all the children].
            |bean:By autumn, the bean had grown up to the [clouds|moon|stars].}[ "What a {fine}
            [garden|plant]!" said
        {elder.call}.| {thanks}|] [2*{moral}[ {garden_end}|]|{garden_end}]""",
    "garden_end": """And {pest.kind?
            drought:the {color.word} bucket? {hero.Name} [mended|closed] the hole.
            |snails:the snails? They [sent their thanks|never came back|grew fat and happy].}""",
}
