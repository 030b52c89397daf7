"""What all stories share: the opening, the weakness, the friend's advice, the moral, some adjectives."""

RULES = {
    "story": "{opening} // [6*{lost}|4*{night}|6*{gift}|4*{baby}|4*{broken}|4*{garden}]",
    "opening": """[5*Once upon a time, there was|2*Once there was|2*Long ago, there was|Far away, there once
        was] a [little|young|small|kind|cheerful|curious|friendly|merry] {hero=children.kind}
        [3*named|called] {hero.name}. {hero.He} lived {home=homes.where} with {hero.his}
        {elder=elders.word}[3* {pet}|2*. {friend}] {weakness}""",
    "pet": "and {beast=beasts.a} [3*named|called] {pal=pals.name}.",
    "friend": """[{hero.His} best friend was|{hero.He} had [a good|one dear] friend,|Next door lived
        {hero.his} [dear|best] friend,] {beast=beasts.a} [3*named|called] {pal=pals.name}.""",
    "weakness": """{trait=traits}{trait.kind?
        hasty:{hero.Name} was [quick|lively|bright|funny|clever], but always in [a|too much of a|a great]
        hurry.
        |shy:{hero.Name} was [gentle|quiet|good|polite|clever], but [very|much too|a little] shy.
        |proud:{hero.Name} was [strong|brave|clever|busy|bright], but [too|much too] proud to ask for help.
        |dreamy:{hero.Name} was [sweet|gentle|bright|calm|good], but [full of dreams|lost in dreams|often in
        a dream].}""",
    # Why the hero first tries without help.
    "alone": """{trait.kind?
        hasty:{hero.Name} did not stop to think[ for a moment|].
        |shy:{hero.Name} [wanted|wished] to call [someone|a neighbor|for help], but {hero.he} did not dare.
        |proud:"I [do not need [any help|anyone]|can do it alone]," [said {hero.name}|{hero.he} said].
        |dreamy:{hero.Name} had been dreaming[ again| as always|].}""",
    "sorry": """{trait.kind?
        hasty:"I was too [quick|fast] again," [said {hero.name}|{hero.he} sighed].
        |shy:"If only I were not so shy," [whispered {hero.name}|{hero.he} sighed].
        |proud:"So I [cannot do it alone|need help after all]," [said {hero.name}|{hero.he} sighed].
        |dreamy:"Why did I not [look|listen|think]?" [asked {hero.name}|{hero.he} sighed].}""",
    "arrives": "[{comes}|2*{goes}]",
    "comes": """[Just then|At that moment|Soon|A little later|After a while], {pal.name} came by. "[What is
        wrong|Why are you so sad|Can I help you|Are you all right]?" asked {friend_name}. {hero.Name}
        {tells}.""",
    "goes": "[At last,|In the end,|Finally,|So] {hero.name} [went|ran|hurried] to {pal.name} and {tells}.",
    "tells": "told {hero.his} friend [everything|the whole story|what had happened|all about it]",
    "friend_name": "[2*{pal.name}|the {beast.noun}]",
    "friend_does": "[{pal.name}|Then {pal.name}|The {beast.noun}]",
    "advice": """{trait.kind?
        hasty:"[Slow down|Take your time|Wait|Not so fast]," said {friend_name}.[ "First we [think|look],
        then we [act|run]."|]
        |shy:"[I am glad that you told me|It was right to tell me|Of course I will help you]," said
        {friend_name}.
        |proud:"[Two are better than one|Nobody can do everything alone|Let us do it together]," said
            {friend_name}.
        |dreamy:"[Open your eyes|Look and listen|Wake up|Look around]," said {friend_name}.[ "[We will|Then
        we can] find a way."|]}""",
    "thanks": """[{hero.Name} [laughed|danced|jumped|sang|clapped] for joy.
        |"[Thank you|You are the best friend in the world|Hurrah|Well done], {pal.name}!" [said|cried|called]
            {hero.name}.
        |"We did it!" they [cried|shouted|sang|called] together.]""",
    "moral": """[From that day on|After that day|After that|From then on], {hero.name} {trait.kind?
        hasty:[counted to three|took a deep breath|stopped for a moment] before {hero.he} ran.
        |shy:[dared to ask for help|was not so shy anymore|spoke up when {hero.he} needed help].
        |proud:[liked to work with a friend|was not too proud to ask|let others help].
        |dreamy:kept {hero.his} eyes open[ and {hero.his} ears too| and dreamed only at night|].}""",
    "tears": "[Big|Hot|Bitter|Salty] tears",
    "big": "[big|great|huge|large]",
    "strong": "[strong|long|heavy|good|wooden]",
    "small": "[small|little|tiny|thin]",
    "fine": "[fine|lovely|nice|beautiful|wonderful|pretty]",
    "an_old": "[an old|a gray|a crooked|a dark|a tall|a green]",
    "slowly": "[slowly|carefully|gently|quietly|bravely|step by step]",
    "gently": "[gently|slowly|carefully|quietly]",
    "day": """[One day|One morning|One afternoon|On Sunday|After breakfast|After lunch|In the holidays|Last
        summer]""",
    "suddenly": "[Suddenly,|All at once,|In a moment,|Then]",
}
