"""What all commands share: options as text, and what is printed."""
