"""The command line as ``python -m synthesizer``."""

from synthesizer.cli import main

if __name__ == "__main__":
    main()
