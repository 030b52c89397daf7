"""W4.3, which weights decay: matrices and embeddings do, gains, biases and scalars do not."""

from __future__ import annotations

from autograde import expect
from autograde.exercise import Answer, Draw, HiddenExercise

EXERCISE = HiddenExercise("W4.3")


def param_groups(model, weight_decay: float) -> list[dict]:
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0},
    ]


EXERCISE.set_reference(param_groups)


@EXERCISE.variant("pairs with names", "(name, parameter) pairs, the group without decay first")
def _(model, weight_decay):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    plain = [(n, p) for n, p in named if p.ndim <= 1]
    rest = [(n, p) for n, p in named if p.ndim > 1]
    groups = [{"params": plain, "weight_decay": 0}, {"params": rest, "weight_decay": weight_decay}]
    return [g for g in groups if g["params"]]


@EXERCISE.variant("a group for each parameter", "many small groups in the model's order")
def _(model, weight_decay):
    return [
        {"params": [p], "weight_decay": weight_decay if p.dim() > 1 else 0.0}
        for p in model.parameters()
        if p.requires_grad
    ]


def _split(pairs, decays, weight_decay):
    return [
        {"params": [p for n, p in pairs if decays(n, p)], "weight_decay": weight_decay},
        {"params": [p for n, p in pairs if not decays(n, p)], "weight_decay": 0.0},
    ]


def _trained(model):
    return [(n, p) for n, p in model.named_parameters() if p.requires_grad]


@EXERCISE.mutant("bias by name", "Your groups go by the name 'bias' alone; gains of norms are called weight.")
def _(model, weight_decay):
    return _split(_trained(model), lambda n, p: "bias" not in n, weight_decay)


@EXERCISE.mutant("norm by name", "Your groups go by the name 'norm'; a gain may be called anything.")
def _(model, weight_decay):
    return _split(_trained(model), lambda n, p: "bias" not in n and "norm" not in n, weight_decay)


@EXERCISE.mutant("everything decays", "Your biases and gains decay too.")
def _(model, weight_decay):
    return _split(_trained(model), lambda n, p: True, weight_decay)


@EXERCISE.mutant(
    "embedding without decay", "Your embedding does not decay; by this contract it is a matrix like others."
)
def _(model, weight_decay):
    return _split(_trained(model), lambda n, p: p.dim() >= 2 and "embed" not in n, weight_decay)


@EXERCISE.mutant("tied twice", "Your tied weight is listed twice: it would be updated twice.")
def _(model, weight_decay):
    named = [(n, p) for n, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    return _split(named, lambda n, p: p.dim() >= 2, weight_decay)


@EXERCISE.mutant("frozen included", "Your groups hold frozen parameters.")
def _(model, weight_decay):
    return _split(list(model.named_parameters()), lambda n, p: p.dim() >= 2, weight_decay)


@EXERCISE.mutant("scalars forgotten", "Your groups forget parameters without a dimension.")
def _(model, weight_decay):
    return _split([(n, p) for n, p in _trained(model) if p.dim()], lambda n, p: p.dim() >= 2, weight_decay)


@EXERCISE.mutant("scalars decay", "Your scalars decay: one number is no matrix.")
def _(model, weight_decay):
    return _split(_trained(model), lambda n, p: p.dim() != 1, weight_decay)


@EXERCISE.mutant(
    "exactly two dimensions", "Your kernels of convolutions do not decay: two dimensions or more."
)
def _(model, weight_decay):
    return _split(_trained(model), lambda n, p: p.dim() == 2, weight_decay)


@EXERCISE.mutant("decay swapped", "Your two groups are swapped: vectors decay and matrices do not.")
def _(model, weight_decay):
    return _split(_trained(model), lambda n, p: p.dim() < 2, weight_decay)


@EXERCISE.mutant(
    "sorted by name", "Your parameters are sorted by name; keep the model's order, which checkpoints rely on."
)
def _(model, weight_decay):
    return _split(sorted(_trained(model), key=lambda pair: pair[0]), lambda n, p: p.dim() >= 2, weight_decay)


@EXERCISE.mutant("decay fixed", "Your decay is a fixed number; take the one that is given.")
def _(model, weight_decay):
    return _split(_trained(model), lambda n, p: p.dim() >= 2, 0.01)


@EXERCISE.mutant("names instead of parameters", "Your groups hold names; an optimizer needs the parameters.")
def _(model, weight_decay):
    groups = param_groups(model, weight_decay)
    return [{**g, "params": [str(tuple(p.shape)) for p in g["params"]]} for g in groups]


@EXERCISE.mutant(
    "top level only", "Your function looks at the top level alone; named_parameters() goes into modules."
)
def _(model, weight_decay):
    pairs = [(n, p) for n, p in model.named_parameters(recurse=False) if p.requires_grad]
    return _split(pairs, lambda n, p: p.dim() >= 2, weight_decay)


@EXERCISE.mutant("unfreezes", "Your function makes frozen parameters trainable.")
def _(model, weight_decay):
    groups = param_groups(model, weight_decay)
    model.requires_grad_(True)
    return groups


PLAIN = [
    ("embed.weight", (9, 4), True),
    ("blocks.0.norm.weight", (4,), True),
    ("blocks.0.qkv.weight", (12, 4), True),
    ("blocks.0.qkv.bias", (12,), True),
    ("blocks.0.a.weight", (4, 4), True),
    ("head.weight", (9, 4), True),
]
ODD = [
    ("zeta.kernel", (3, 2, 5), True),
    ("scale", (), True),
    ("mix.gain", (7,), True),
    ("mix.bias_matrix", (2, 7), True),
    ("mix.shift", (7,), True),
    ("alpha.weight", (5, 1), True),
    ("temperature", (1,), True),
    ("norm_projection.weight", (3, 3), True),
]
FROZEN = [
    ("frozen.weight", (3, 3), False),
    ("frozen.bias", (3,), False),
    ("zz.weight", (3, 3), True),
    ("aa.bias", (3,), True),
]


@EXERCISE.property("an ordinary model", 2)
def _(answer: Answer, draw: Draw) -> None:
    _judge(answer, draw, "an ordinary model", PLAIN)


@EXERCISE.property("names that say nothing", 2)
def _(answer: Answer, draw: Draw) -> None:
    _judge(answer, draw, "names that say nothing, kernels and scalars", ODD)


@EXERCISE.property("frozen parameters", 2)
def _(answer: Answer, draw: Draw) -> None:
    _judge(answer, draw, "some frozen", FROZEN)


@EXERCISE.property("tied weights", 2)
def _(answer: Answer, draw: Draw) -> None:
    _judge(answer, draw, "head tied to embedding", PLAIN[:-1], [("head.weight", "embed.weight")])


@EXERCISE.property("the model's order", 2)
def _(answer: Answer, draw: Draw) -> None:
    order = draw.rng.permutation(len(ODD))
    _judge(answer, draw, "in the model's order", [ODD[i] for i in order] + FROZEN, order=True)


def _judge(answer: Answer, draw: Draw, words: str, parameters, tied=(), order: bool = False) -> None:
    decay = round(float(draw.rng.uniform(0.02, 0.4)), 3)
    case = expect.case(draw, words, decay=decay)
    came = answer.drive("week04.groups", parameters, list(tied), decay)
    # the order in which a model lists parameters goes by module, its own first
    wanted = _order_of(parameters)
    trained = [n for n in wanted if dict((name, t) for name, _, t in parameters)[n]]
    shapes = {name: shape for name, shape, _ in parameters}
    if came["trained"] != trained:
        raise expect.wrong("your function changes which parameters are trained", case)
    seen = [n for group in came["groups"] for n in group["names"]]
    for name in trained:
        if seen.count(name) != 1:
            raise expect.wrong(f"{name} stands in your groups {seen.count(name)} times, not once", case)
    if len(seen) != len(trained):
        raise expect.wrong("your groups hold something that is not to be trained", case)
    for group in came["groups"]:
        own = expect.number(group["weight_decay"], what="weight_decay", case=case)
        for name in group["names"]:
            right = decay if len(shapes[name]) >= 2 else 0.0
            if abs(own - right) > 1e-9:
                raise expect.wrong(
                    f"{name}, of shape {shapes[name]}, has a decay of {own:g} instead of {right:g}", case
                )
        if order and group["names"] != [n for n in trained if n in group["names"]]:
            raise expect.wrong("a group is not in the order of model.named_parameters()", case)


def _order_of(parameters) -> list[str]:
    """Names as `named_parameters` gives them: of a module first its own, then those of its children."""
    own = [name for name, _, _ in parameters if "." not in name]
    children: dict[str, list] = {}
    for name, shape, trained in parameters:
        head, dot, rest = name.partition(".")
        if dot:
            children.setdefault(head, []).append((rest, shape, trained))
    return own + [f"{head}.{rest}" for head, inner in children.items() for rest in _order_of(inner)]
