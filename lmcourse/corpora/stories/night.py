"""Stories of a noise in the dark."""

RULES = {
    "night": """[One night|Late one evening|One winter night|In the middle of the night], {hero.name} woke
        up. The [candle|lamp|fire] had gone out, and the [whole room|house|hall] was [black|dark|cold]. Then
        {hero.he} heard a [small|strange|soft|deep|quiet] [noise|sound|voice]: "{noise=noises.sound}" //
        [{alone} {hero.He} {night_hide}|{hero.Name} {night_hide}].[ {hero.His} heart [beat like a drum|jumped
        like a frog].| {tears} wet {hero.his} pillow.|] // [{pal.Name} woke up, too.|At last, {hero.name}
        woke {pal.name}.] "There is a {big} [monster|ghost|giant|witch|bear] [at the window|outside]!"
        [said|whispered|cried] {hero.name}. {advice} {beast.skill?
            nose:{friend_does} went [first|ahead] and sniffed at the [floor|door|wall].
            |wings:{friend_does} flew [ahead|first] and listened at the [window|door].
            |climb:{friend_does} climbed up the [curtain|wall] and looked out.}
        {hero.Name} [took a candle|held {hero.his} breath|followed {slowly}] and opened the window. //
        {noise.kind?
            branch:It was only [an old|a crooked|a dark|a wet] branch of the [apple|cherry|plum] tree,
            knocking at the [glass|wall]. "[Hello|Good evening|Come in], branch," said {hero.name}.
            |kitten:It was only a [wet|thin|lost|cold] kitten that wanted to come in. They [dried it|rubbed
            it dry] {gently} and gave it {food=foods.word}.
            |wind:It was only the wind, singing in the [chimney|roof|gate]. "It has a {fine} voice," said
                {hero.name}, and they [sang along|listened for a while].}
        [2*"{night_wise}," said {elder.call} in the morning. {moral}
        |{moral}
        |2*{moral} And when {hero.he} {night_end}
        |2*When {hero.name} {night_end}]""",
    "night_hide": "[pulled|drew] the blanket over {hero.his} [head|ears|eyes|nose], but it did not help",
    "night_wise": """[The dark is only the day with its eyes closed|Fear is small when you look at it|A
        monster that you look at is often a friend]""",
    "night_end": """heard a noise in the dark [again|now], {noise.kind?
        branch:{hero.he} [smiled|laughed] and said, "Good night, branch."
        |kitten:it was only the kitten, [purring|dreaming] at {hero.his} feet.
        |wind:{hero.he} sang [along with the wind|the song of the wind] and fell asleep.}""",
}
