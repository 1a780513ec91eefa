"""Gradient flows; `lib.flow.gradient` says how the flow of a two-layer network is computed.

Words of this package, beside those of the field:

* *share* of a datum: what its loss counts in the total one; *force* ``F_i``: minus its derivative in the
  output, times the share
* *gate* ``phi'`` of a pair of a neuron and a datum; *drive* ``D_j``: the sum of ``gate_ji F_i x_i``, the
  velocity of w_j per unit of a_j; *pull*: a force or a drive times the sign of the neuron
* *boundary*: where a pre-activation is zero; a pair is *on*, *off*, or *held* there by a *share* of its force
* *settle*: choose what pairs on their boundaries do; *turn*: settle the neurons of an event
* *still*: the rate of a pre-activation below which it counts as zero; *grip*: how far a held pair is from
  being let go; *steady*: without what rounding has moved across a boundary
* *contact* of units: the boundaries that they are at, and what pulls on them there
* *kink* of a loss: a datum is *beyond* its margin, *short* of it, or *held* there; *push*: minus the slope
  of its loss in the margin
* *stage*: a piece of the early phase, in closed form; *stretch*: the steps of one solver
* *outgrown*: coordinates in which a neuron is no longer of order one; *vanished*: a neuron at ``w = 0``
* *rest*: the drives of all neurons balance; *faint*: a force that is too small now, and may act later
"""

from lib.flow.gradient import gradient_flow

__all__ = ["gradient_flow"]
