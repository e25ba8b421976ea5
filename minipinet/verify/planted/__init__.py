"""The test of the tests: faults planted into copies of the package, and which check catches which."""

from __future__ import annotations

from minipinet.verify.planted.plant import Edit, PlantedBug, plant, with_bug

__all__ = ["Edit", "PlantedBug", "plant", "with_bug"]
