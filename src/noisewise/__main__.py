"""``python -m noisewise`` is the command line."""

from noisewise.cli import main

if __name__ == "__main__":
    main()
