"""Whom and what the stories are about: the entities that their variables are bound from."""

from __future__ import annotations

from lmcourse.corpora.grammar import Entity, Pool

_SHE = {"kind": "girl", "he": "she", "him": "her", "his": "her"}
_HE = {"kind": "boy", "he": "he", "him": "him", "his": "his"}
_GIRLS = ("Lily", "Anna", "Mia", "Nora", "Rosa", "Ella", "Zoe", "Clara")
_BOYS = ("Tom", "Ben", "Max", "Leo", "Sam", "Finn", "Jack", "Oscar")


def _pool(**columns: str) -> Pool:
    """Entities from columns of values that are separated by commas."""
    split = {name: [value.strip() for value in values.split(",")] for name, values in columns.items()}
    rows = zip(*split.values(), strict=True)
    return Pool(tuple(Entity(dict(zip(split, row, strict=True))) for row in rows))


POOLS = {
    "children": Pool(
        (
            *(Entity({"name": name} | _SHE) for name in _GIRLS),
            *(Entity({"name": name} | _HE) for name in _BOYS),
        )
    ),
    "homes": _pool(
        where="in a white house by the sea, in a wooden house near the forest, on a farm below a green hill,"
        "in a small village by the river, in an old mill in the valley, in a tall house in the town",
        out="the beach, the edge of the forest, the top of the hill, the river bank, the meadow, the park",
    ),
    "elders": _pool(
        word="grandmother, grandfather, mother, father, aunt, uncle",
        call="Grandma, Grandpa, Mama, Papa, Aunt Kate, Uncle Joe",
    ),
    # What a friend does best decides, paragraphs later, how the trouble ends.
    "beasts": _pool(
        noun="dog, fox, hedgehog, crow, owl, sparrow, cat, squirrel, mouse",
        a="a brown dog, a red fox, a round hedgehog, a black crow, a gray owl, a tiny sparrow,"
        "a striped cat, a quick squirrel, a small mouse",
        skill="nose, nose, nose, wings, wings, wings, climb, climb, climb",
    ),
    "pals": _pool(
        name="Pip, Biscuit, Pepper, Hazel, Rusty, Button, Pickle, Olive, Poppy, Ginger, Coco, Teddy"
    ),
    # A weakness of the hero: the first try fails because of it, and the moral comes back to it.
    "traits": _pool(kind="hasty, shy, proud, dreamy"),
    "colors": _pool(word="red, blue, green, yellow, white, purple, pink, brown"),
    "blooms": _pool(word="red, blue, yellow, white, purple, pink"),
    "metals": _pool(word="silver, golden, copper, glass, tin, brass"),
    "foods": _pool(
        word="warm milk, hot soup, apple pie, fresh bread, pancakes, sweet rice, baked potatoes, plum cake"
    ),
    "windy": _pool(noun="kite, hat, scarf, balloon, flag, umbrella"),
    "floating": _pool(noun="boat, ball, doll, basket, bucket, bottle"),
    "shiny": _pool(noun="bell, ring, key, button, spoon, medal"),
    "noises": _pool(kind="branch, kitten, wind", sound="Tap! Tap! Tap!, Scratch! Scratch!, Hooo! Hooo!"),
    "babies": _pool(
        noun="duckling, lamb, kitten, piglet",
        mother="duck, sheep, cat, pig",
        cry="Peep! Peep!, Baa! Baa!, Mew! Mew!, Oink! Oink!",
        where="on the pond, in the meadow, in the hay, behind the barn",
    ),
    "strays": _pool(kind="fog, storm, butterfly"),
    "dishes": _pool(noun="cup, jug, plate, lamp, teapot, vase"),
    "hiding": _pool(
        where="under the bed, behind the stove, in an old boot, under the stairs, in the cellar",
        out="under the bed, behind the stove, the old boot, under the stairs, the cellar",
    ),
    "mishaps": _pool(kind="ball, dance, cookie"),
    "plants": _pool(
        kind="sunflower, pumpkin, strawberry, bean",
        seed="a sunflower seed, a pumpkin seed, a strawberry plant, a magic bean",
    ),
    "pests": _pool(kind="drought, snails"),
}
