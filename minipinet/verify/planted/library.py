"""All planted bugs."""

from __future__ import annotations

from minipinet.verify.planted.adam import ADAM_BUGS
from minipinet.verify.planted.backward_attention import ATTENTION_BUGS
from minipinet.verify.planted.backward_layers import LAYER_BUGS
from minipinet.verify.planted.backward_model import MODEL_BUGS
from minipinet.verify.planted.backward_readout import READOUT_BUGS
from minipinet.verify.planted.forward import FORWARD_BUGS
from minipinet.verify.planted.forward_quotient import QUOTIENT_BUGS
from minipinet.verify.planted.plant import PlantedBug

#: In the order of the tables in docs/planted-bugs.md.
PARTS: dict[str, tuple[PlantedBug, ...]] = {
    "Backward: message passing, ReLU, gate": LAYER_BUGS,
    "Backward: softmax, pooling, dense layer, loss": ATTENTION_BUGS,
    "Backward: from the stacks to the scores": READOUT_BUGS,
    "Backward: the whole network": MODEL_BUGS,
    "Forward": FORWARD_BUGS,
    "Forward: batches of colours": QUOTIENT_BUGS,
    "Adam": ADAM_BUGS,
}
BUGS: tuple[PlantedBug, ...] = tuple(bug for bugs in PARTS.values() for bug in bugs)
#: Modules every line of whose backward passes has a bug.
COVERED = tuple(
    f"minipinet.{name}" for name in ("propagation", "params", "attention", "attention_readout", "readout", "model")
)
