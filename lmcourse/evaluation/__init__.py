"""What a model is worth: its loss over a whole set, and text that it writes."""

from lmcourse.evaluation.loss import Evaluation, evaluate, target_nats
from lmcourse.evaluation.sampling import generate

__all__ = ["Evaluation", "evaluate", "generate", "target_nats"]
