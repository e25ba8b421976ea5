"""``python -m minipinet`` is the command ``minipinet``."""

from minipinet.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
