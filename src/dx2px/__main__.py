"""`python -m dx2px` is the command line."""

from dx2px.cli import main

main()
