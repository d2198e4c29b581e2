"""Every operation on studies, declared once; command line, HTTP, client and assistant are made from it."""
