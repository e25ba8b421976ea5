"""PiNet and the other systems of the paper, behind one small interface."""
