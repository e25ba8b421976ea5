"""minipinet: PiNet with hand-written forward and backward passes."""
